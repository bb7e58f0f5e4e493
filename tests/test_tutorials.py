"""Tutorials run, as scripts and as notebooks, and what they say about their numbers is true."""

import copy
import re
import runpy
import warnings
from pathlib import Path

import mne
import numpy as np
import pytest

import mne_otica

ROOT = Path(__file__).parents[1]
TUTORIALS = sorted((ROOT / "tutorials").glob("[0-9][0-9]_*.py"))
QUICK = "80_price_discovery.py"  # the everyday tests run one as a notebook, the slow ones all


@pytest.fixture
def tutorial(monkeypatch):
    """Return a function that runs a tutorial and returns the variables it leaves."""
    monkeypatch.syspath_prepend(ROOT / "tutorials")  # where modules of a tutorial are
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # for the command line, which runs elsewhere

    def run(name):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive")
            return runpy.run_path(str(ROOT / "tutorials" / f"{name}.py"))

    return run


def quoted(name, phrase):
    """Return the number of a phrase that a tutorial has, give or take one of its last digit.

    That is its rounding, and as much for another processor, on which the value may round otherwise.
    """
    (path,) = (one for one in TUTORIALS if one.stem == name)
    assert phrase in re.sub(r"\n# ?", " ", path.read_text(encoding="utf-8"))
    number = re.search(r"\d+(\.\d+)?", phrase)[0]
    whole, _, decimals = number.partition(".")
    last = -len(decimals) if decimals else len(whole) - len(whole.rstrip("0"))
    scale = 0.01 if "%" in phrase else 1
    return pytest.approx(scale * float(number), rel=0, abs=scale * 10**last)


def test_first_clean_recording(tutorial):
    found = tutorial("10_first_clean_recording")
    raw, result = found["raw"], found["result"]
    assert result.status == "cleaned"
    assert len(mne_otica.find_blink_events(raw)) == 4
    assert len(result.ica.exclude) == 1
    assert result.benefit.average == quoted("10_first_clean_recording", "93 % are gone")
    assert result.harm.taken_out == quoted("10_first_clean_recording", "about 1 % of the signal")
    assert 0 < found["changed"].mean() < 0.3
    assert result.raw.ch_names == raw.ch_names
    np.testing.assert_array_equal(result.raw.get_data("eog"), raw.get_data("eog"))
    assert len(found["written"]) == 4


@pytest.mark.slow
def test_what_ica_did(tutorial):
    found = tutorial("20_what_ica_did")
    assert len(found["sim"].blink_events) == 15
    assert found["ica"].converged_
    assert sorted(np.argsort(found["ica"].contrast_)[-2:]) == [0, 1]
    assert found["by_kurtosis"] == [0]
    assert found["kurtosis"][0] == quoted("20_what_ica_did", "of the pops is about 90,")
    assert found["kurtosis"][1] == quoted("20_what_ica_did", "of the blinks about 17.")
    assert found["indices"] == [1]
    assert 0 in found["reasons"]
    assert found["correlation"] > 0.99
    assert len(found["events"]) == 15
    assert found["errors"].max() < 0.03
    assert found["result"].status == "none"


def test_judging_the_cleaning(tutorial):
    name = "30_judging_the_cleaning"
    found = tutorial(name)
    result, whole, worst, errors = (found[k] for k in ("result", "whole", "worst", "errors"))
    assert result.benefit.average == quoted(name, "removes 95 % of the average blink")
    assert whole.benefit.average == quoted(name, "the second 94 %.")
    assert result.harm.taken_out == quoted(name, "about 1 % of the signal")
    assert whole.harm.taken_out == quoted(name, "about 11 %")
    most = np.argmax(whole.harm.taken_out_per_channel)
    assert whole.harm.ch_names[most] == "Fp1"
    assert round(1 / whole.harm.taken_out_per_channel[most]) == 3  # about a third
    assert found["ceiling"].overall == quoted(name, "58 % over all channels")
    assert found["ceiling"].over(worst) == quoted(name, "79 % at these channels")
    assert found["ceiling"].average == quoted(name, "the value is 94 %")
    assert found["floor"].taken_out == quoted(name, "0.9 % by this measure")
    assert abs(whole.harm.rms_change) < 0.02
    assert result.harm.sham < 0.005
    assert result.harm.rank_after == result.harm.rank_before > whole.harm.rank_after
    assert found["benefits"][0].overall == quoted(name, "instead of 59 %")
    assert found["benefits"][-1].overall == quoted(name, "is reduced by about 77 %")
    assert found["harms"][-1].taken_out == quoted(name, "about 80 % of the signal")
    assert np.argmin(errors) == 0
    assert errors[0] == quoted(name, "from 1.3 to")
    assert found["by_events"] == quoted(name, "to 0.6 µV")
    assert found["distance"](found["before"]) == quoted(name, "it was 8.7 µV")
    assert [found["harms"][k].over_cleaned for k in (0, -1)] == [False, True]
    assert result.blinks.source == "frontal"


@pytest.mark.slow
def test_drop_in(tutorial):
    found = tutorial("40_drop_in")
    assert isinstance(found["ica"], mne.preprocessing.ICA)
    assert list(found["by_eog"]) == found["by_evidence"] == [0]
    assert found["peak_after"] < found["peak_before"]
    assert type(found["opened"]) is mne.preprocessing.ICA
    assert found["opened"].exclude == [0]
    assert found["same"]
    if "labels" in found:
        assert found["labels"][found["indices"][0]] == "eye blink"


@pytest.mark.slow
def test_a_study(tutorial):
    found = tutorial("50_a_study")
    table, good, edited = found["table"], found["good"], found["edited"].set_index("recording")
    assert found["status"] == 1
    assert table["status"].value_counts().to_dict() == {"cleaned": 2, "none": 1, "failed": 1}
    assert (good["benefit"] > 0.9).all()
    assert (good["harm"] < 0.02).all()
    assert edited.loc["sub-01", "removed"] == "ICA000 ICA003"
    assert edited.loc["sub-01", "harm"] == quoted("50_a_study", "about 30 % of the signal")
    assert found["cleaned"].times[-1] > 59


@pytest.mark.slow
def test_from_bids_to_averages(tutorial):
    found = tutorial("55_from_bids_to_averages")
    rows, errors = found["study"].rows, found["errors"]
    assert [row["status"] for row in rows] == ["cleaned"] * 4
    assert all(row["benefit"] > 0.9 and row["harm"] < 0.05 for row in rows)
    assert errors["with blinks", "Fz"] == quoted("55_from_bids_to_averages", "by 19 µV at Fz")
    assert errors["cleaned", "Fz"] < 1
    assert 1 < errors["cleaned", "Pz"] < 2


@pytest.mark.slow
def test_comparing(tutorial):
    name = "60_comparing"
    found = tutorial(name)
    real, errors = found["real"], found["errors"]
    for method in found["ICAS"]:
        benefit, harm = (round(100 * share) for share in real[method])
        assert benefit in (93, 94)
        assert harm in (27, 28)
        assert round(errors[method], 1) in (1.3, 1.4)
    benefit, harm = real["OT-ICA, blinks only"]
    assert round(100 * benefit) in (93, 94)  # "the same"
    assert harm == quoted(name, "the harm is 1.4 %")
    assert errors["OT-ICA, blinks only"] == quoted(name, "taken out it is 0.7 µV")
    benefit, harm = real["regression"]
    assert benefit == quoted(name, "Regression removes 91 %")
    assert harm == quoted(name, "18 % of the signal away from blinks")
    assert errors["regression on Fp1"] == quoted(name, "ends at 3.5 µV")
    assert found["distance"](found["before"]) == quoted(name, "from 8.7 µV")
    assert min(found["left"], key=found["left"].get) == "OT-ICA"


def test_any_mixture(tutorial):
    found = tutorial("70_any_mixture")
    assert found["index"] < 0.05 < found["fast_index"] < 0.2
    assert found["correlation"] > 0.99
    assert found["ours"] < 0.05
    assert found["theirs"] > 0.5
    assert found["match"][:7].min() > 0.99
    assert found["match"][7:].min() < 0.9
    np.testing.assert_array_equal(found["Y"], found["again"])


def test_price_discovery(tutorial):
    found = tutorial("80_price_discovery")
    assert found["rotated"] @ found["rotated"].T == pytest.approx(found["covariance"])
    estimates, truth = found["estimates"], found["TRUE_SHARES"]
    np.testing.assert_allclose(estimates.mean(axis=0), truth, atol=0.02)
    assert estimates.std(axis=0).max() < 0.04


def _parameters():
    for path in TUTORIALS:
        marks = () if path.name == QUICK else pytest.mark.slow
        yield pytest.param(path, id=path.stem, marks=marks)


@pytest.mark.filterwarnings("ignore")  # of notebook software; those of the cells are in the kernel
@pytest.mark.parametrize("path", list(_parameters()))
def test_runs_as_a_notebook(path, tmp_path, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import nbformat
        from nbclient import NotebookClient
        from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF
        from sphinx_gallery.notebook import jupyter_notebook, save_notebook
        from sphinx_gallery.py_source_parser import split_code_and_text_blocks

    _, blocks = split_code_and_text_blocks(str(path))
    settings = copy.deepcopy(DEFAULT_GALLERY_CONF)
    written = tmp_path / f"{path.stem}.ipynb"
    save_notebook(jupyter_notebook(blocks, settings, str(tmp_path)), written)
    notebook = nbformat.read(written, as_version=4)
    monkeypatch.setenv("PYTHONWARNINGS", "error::RuntimeWarning,error::FutureWarning")
    monkeypatch.setenv("MPLBACKEND", "agg")
    beside = {"metadata": {"path": str(path.parent)}}
    executed = NotebookClient(notebook, timeout=300, resources=beside).execute()
    assert any(cell.cell_type == "code" and cell.execution_count for cell in executed.cells)


@pytest.mark.parametrize("path", TUTORIALS, ids=[path.stem for path in TUTORIALS])
def test_needs_no_download_and_shows_its_numbers(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith('"""\n.. _tut-')
    assert f"\n{path.name[:2]}. " in text
    assert "fetch" not in text
    assert "data_path" not in text
    assert not re.search(r"^\s*assert ", text, re.MULTILINE)  # readers see values, tests check them
    assert "print(" in text


def test_first_lines_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = re.search(
        r"<!-- example -->\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S
    )
    lines = [line for line in example[1].splitlines() if line]
    assert len(lines) <= 6
    promised = int(re.search(r"# removed (\d+) %", example[1])[1])
    variables = {}
    exec(example[1], variables)
    assert abs(100 * variables["result"].benefit.average - promised) < 2
    assert len(list((tmp_path / "cleaned").iterdir())) == 4


def test_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text()
    for address in re.findall(r"\]\((.*?)\)", text):
        assert address.startswith("https://") or (ROOT / address).exists(), address
