"""Every public object documents exactly the parameters and attributes that it has."""

import dataclasses
import doctest
import inspect
import re
import tomllib
from pathlib import Path

import pytest
from numpydoc.docscrape import ClassDoc
from numpydoc.validate import validate

import mne_otica
from mne_otica import datasets, metrics, simulation, viz
from mne_otica.artifacts import ArtifactRow, ArtifactScores
from mne_otica.cleaning.clean import Cleaned
from mne_otica.evaluation.measures import Preservation, RMSReduction
from mne_otica.study.results import Study
from mne_otica.trust.stability import Stability

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "numpydoc_validation"
]
RESULTS = (ArtifactRow, ArtifactScores, Cleaned, Preservation, RMSReduction)
RESULTS += (simulation.SimulatedRecording, Stability, Study)


def _public():
    """Return the public functions, classes and methods by their full names."""
    found = {}
    for module in (mne_otica, datasets, metrics, simulation, viz):
        names = getattr(module, "__all__", [n for n in vars(module) if not n.startswith("_")])
        for name in names:
            thing = getattr(module, name)
            inside = getattr(thing, "__module__", "").startswith("mne_otica")
            if inside and (inspect.isfunction(thing) or inspect.isclass(thing)):
                found[f"{thing.__module__}.{name}"] = thing
    for kind in RESULTS:
        found[f"{kind.__module__}.{kind.__name__}"] = kind
        for name, method in vars(kind).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                found[f"{kind.__module__}.{kind.__name__}.{name}"] = method
    return sorted(found)


@pytest.mark.parametrize("name", _public())
def test_docstring_is_complete(name):
    allowed = set(SETTINGS["checks"])
    excluded = any(re.search(pattern, name) for pattern in SETTINGS["exclude"])
    found = [(code, text) for code, text in validate(name)["errors"] if code not in allowed]
    assert excluded or not found, found


@pytest.mark.parametrize("kind", RESULTS)
def test_attributes_of_results_are_documented(kind):
    documented = [
        name.strip() for one in ClassDoc(kind)["Attributes"] for name in one.name.split(",")
    ]
    fields = [one.name for one in dataclasses.fields(kind) if not one.name.startswith("_")]
    assert sorted(set(documented) & set(fields)) == sorted(fields)
    assert all(hasattr(kind, name) for name in set(documented) - set(fields))


@pytest.mark.parametrize("function", [mne_otica.clean_raw, mne_otica.otica])
def test_examples_of_docstrings_hold(function):
    found = doctest.DocTestFinder(recurse=False).find(function, function.__name__, globs={})
    runner = doctest.DocTestRunner()
    for one in found:
        runner.run(one)
    results = runner.summarize(verbose=False)
    assert results.attempted
    assert not results.failed


def test_public_names_are_on_the_api_page():
    page = (ROOT / "docs" / "api.rst").read_text(encoding="utf-8")
    for name in mne_otica.__all__:
        if not inspect.ismodule(getattr(mne_otica, name)):
            assert re.search(rf"^   {name}$", page, re.MULTILINE), name
    for function in viz.__all__:
        assert f"viz.{function}\n" in page
