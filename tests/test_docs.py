"""Code in the documentation runs, commands are valid, and files for releases can be read."""

import re
import shlex
import tomllib
import warnings
from pathlib import Path

import jinja2
import matplotlib.pyplot as plt
import mne
import pytest
import yaml

import mne_otica
from mne_otica.cli import _parser

ROOT = Path(__file__).parents[1]
SLOW = ("studies",)  # it starts processes
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(<!-- not run: [^\n]+ -->\n)?^ *```python\n(.*?)^ *```$", re.M | re.S)


def python_blocks(page):
    """Return the blocks of a page that are to be run."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [code for not_run, code in found if not not_run]


@pytest.fixture(scope="session")
def simulated():
    """Return a recording with blinks."""
    return mne_otica.simulation.simulate_raw(19, duration=40, random_state=1, verbose="error").raw


def prepare(text, folder, raw):
    """Write the files of a user that a page reads."""
    for ending in ("edf", "set"):
        if f"my_recording.{ending}" in text:
            mne.export.export_raw(folder / f"my_recording.{ending}", raw, verbose="error")
    if "data/my_study" in text:
        mne_bids = pytest.importorskip("mne_bids")
        for subject in ("01", "02"):
            path = mne_bids.BIDSPath(
                subject=subject, task="rest", datatype="eeg", root=folder / "data" / "my_study"
            )
            mne_bids.write_raw_bids(
                raw, path, format="BrainVision", allow_preload=True, verbose="error"
            )


def _pages_with_code():
    # test_tutorials.py runs the example of the README, and checks its number.
    for page in PAGES[1:]:
        if python_blocks(page):
            marks = pytest.mark.slow if page.stem in SLOW else ()
            yield pytest.param(page, id=page.stem, marks=marks)


@pytest.mark.parametrize("page", list(_pages_with_code()))
def test_python_blocks_run(page, tmp_path, monkeypatch, simulated):
    blocks = python_blocks(page)
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the writers of files, not of the page
        prepare("".join(blocks), tmp_path, simulated)
    variables = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive")
        # The simulated head is a sphere that is larger than most heads.
        warnings.filterwarnings("ignore", message="Estimated head radius")
        for block in blocks:
            exec(compile(block, page.name, "exec"), variables)
    plt.close("all")
    # No page keeps the result of a call that returns nothing.
    assert not [name for name, value in variables.items() if value is None]


def commands():
    """Return the calls of the command line in the blocks of all pages."""
    for page in PAGES:
        for block in re.findall(r"```bash\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
            for line in re.split(r"\n|&&", block):
                if line.strip().startswith("mne_otica "):
                    yield pytest.param(line.strip(), id=f"{page.stem}: {line.strip()}")


@pytest.mark.parametrize("command", list(commands()))
def test_commands_are_valid(command):
    arguments = shlex.split(command.replace("$(", "").replace(")", ""), comments=True)[1:]
    assert _parser().parse_args(arguments).command == arguments[0]


def test_every_page_is_in_a_table_of_contents():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    listed = "\n".join(re.findall(r"```\{toctree\}\n(.*?)```", text, re.S))
    names = {page.stem for page in PAGES[1:]} - {"index"}
    assert names <= set(re.findall(r"[\w-]+", listed))


def test_conda_recipe_agrees_with_the_package():
    template = jinja2.Template((ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8"))
    recipe = yaml.safe_load(template.render(PYTHON="python"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {"matplotlib-base": "matplotlib", "mne-base": "mne"}
    run = [one.split() for one in recipe["requirements"]["run"]]
    needed = {names.get(name, name): floor for name, floor in run}
    assert needed.pop("python") == project["requires-python"]
    assert needed == {
        name: floor.replace(" ", "")
        for name, floor in (one.split(" ", 1) for one in project["dependencies"])
    }
    assert recipe["package"]["name"] == project["name"]
    assert mne_otica.__version__.startswith(recipe["package"]["version"])
    script = next(iter(project["scripts"].items()))
    assert recipe["build"]["entry_points"] == [" = ".join(script)]
    assert recipe["about"]["license"] == project["license"]
    assert all((ROOT / path).exists() for path in recipe["about"]["license_file"])


def test_citation_and_issue_templates_can_be_read():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert mne_otica.__version__.startswith(citation["version"])
    # A version that is not being developed any more has a date, the same everywhere.
    if mne_otica.__version__ == citation["version"]:
        heading = f"## {citation['version']} ({citation['date-released']})"
        assert heading in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        template = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert path.name == "config.yml" or {"name", "description", "body"} <= set(template)


def test_workflow_and_paper_can_be_read():
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    assert ".ci/run" in [step.get("run") for step in workflow["jobs"]["everything"]["steps"]]
    oldest = workflow["jobs"]["tests"]["strategy"]["matrix"]["python"][0]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == f">={oldest}"
    paper = (ROOT / "paper.md").read_text(encoding="utf-8")
    header = yaml.safe_load(paper.split("---", 2)[1])
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= set(header)
    known = (ROOT / header["bibliography"]).read_text(encoding="utf-8")
    for key in re.findall(r"@(\w+)", paper.split("---", 2)[2]):
        assert f"{{{key}," in known
