"""From a study in BIDS to a grand average, tables and a paragraph."""

import re
from pathlib import Path

import mne
import numpy as np
import pytest

from mne_otica import audit, clean_study, read_study
from mne_otica.cli import main
from mne_otica.simulation import simulate_raw

mne_bids = pytest.importorskip("mne_bids")
pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:mne_bids", "ignore:.*:Warning:pybv")

ONSETS = np.arange(1.0, 38.0, 1.5)


def subject(seed):
    """Return 40 s of eight channels with blinks, and a response of 30 µV at targets at C3."""
    raw = simulate_raw(8, 40, 100.0, n_blinks=8, random_state=seed).raw
    names = np.where(np.arange(len(ONSETS)) % 2, "target", "standard")
    targets = ONSETS[names == "target"]
    course = sum(np.exp(-((raw.times - onset - 0.4) ** 2) / (2 * 0.05**2)) for onset in targets)
    raw._data[raw.ch_names.index("C3")] += 30e-6 * course
    raw.info["line_freq"] = 50
    return raw.set_annotations(mne.Annotations(ONSETS, 0.1, names))


def write(root, n_subjects):
    for number in range(1, n_subjects + 1):
        path = mne_bids.BIDSPath(subject=f"{number:02}", task="odd", datatype="eeg", root=root)
        mne_bids.write_raw_bids(
            subject(number), path, format="BrainVision", allow_preload=True, verbose="error"
        )
    table = pd.read_csv(root / "participants.tsv", sep="\t", dtype=str, keep_default_na=False)
    table["age"] = [str(20 + k) for k in range(n_subjects)]
    table.to_csv(root / "participants.tsv", sep="\t", index=False)
    return root


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Three subjects, of whom the last has a recording that cannot be cleaned."""
    root = write(tmp_path_factory.mktemp("bids"), 3)
    (root / "sub-03/eeg/sub-03_task-odd_eeg.eeg").write_bytes(b"")
    with mne.use_log_level("error"):
        assert main(["run", "--bids-root", str(root)]) == 1
    return root


def from_run_to_group(root):
    """Run what docs/studies.md shows after ``mne_otica run``; return what users want."""
    page = Path(__file__).parents[2] / "docs" / "studies.md"
    (code,) = re.findall(r"```python\n(import mne\n.*?)```", page.read_text("utf-8"), re.DOTALL)
    assert len([line for line in code.splitlines() if line]) <= 12
    assert '"my_study/' in code
    assert '"Pz"' in code
    found = {}
    exec(code.replace('"my_study/', f'"{root.as_posix()}/').replace('"Pz"', '"C3"'), found)
    return found["table"], found["grand"], found["scores"]


def assert_group(root, n_subjects, n_cleaned):
    table, grand, scores = from_run_to_group(root)
    assert len(table) == n_subjects
    assert table.age.dtype.kind == "i"
    assert set(scores.participant_id) == {f"sub-{k:02}" for k in range(1, n_cleaned + 1)}
    assert len(scores) == 2 * n_cleaned
    assert (scores.sme > 0).all()
    assert (scores.n_trials >= 10).all()
    for name, evoked in grand.items():
        mean = scores.amplitude[scores.condition == name].mean()
        data = evoked.copy().crop(0.35, 0.45).get_data("C3")
        assert 1e6 * data.mean() == pytest.approx(mean, abs=0.01)
    means = scores.groupby("condition").amplitude.mean()
    error = np.sqrt((scores.sme**2).sum()) / n_cleaned
    # The mean of the response over a standard deviation on either side of its peak
    assert abs(means["target"] - means["standard"] - 0.856 * 30) < 3 * error


def test_from_the_command_to_a_group(root):
    assert_group(root, 3, 2)


@pytest.mark.slow
def test_twelve_recordings(tmp_path):
    root = write(tmp_path, 12)
    with mne.use_log_level("error"):
        assert main(["run", "--bids-root", str(root), "--n-jobs", "2"]) == 0
    assert_group(root, 12, 12)


def test_one_row_per_recording_and_kind(root):
    study = read_study(root / "derivatives" / "mne-otica")
    assert study.failed == ["sub-03_task-odd"]
    table = study.to_data_frame("kind").set_index(["participant_id", "kind"])
    row = study.to_data_frame().set_index("participant_id").loc["sub-01"]
    assert table.benefit["sub-01", "blink"] == row.benefit > 0.8
    assert row.task == "odd"
    # Warnings of readers, such as of mne-bids on places of EOG channels, are not ours.
    assert row.isna().warnings


def test_page_shows_the_mean_topography_of_what_was_removed(root):
    page = (root / "derivatives" / "mne-otica" / "summary.html").read_text(encoding="utf-8")
    assert "</svg>blinks, mean of 2</li>" in page


def test_files_of_a_recording(root):
    study = read_study(root / "derivatives" / "mne-otica")
    assert study.cleaned == ["sub-01_task-odd", "sub-02_task-odd"]
    name = study.cleaned[0]
    raw, ica = study.raw(name), study.ica(name)
    assert "cleaned by mne-otica" in raw.info["description"]
    assert f"ICA{ica.exclude[0]:03d}" in raw.info["description"]
    epochs = study.epochs(name, {"target": 7}, tmin=-0.1, tmax=0.5)
    assert epochs.event_id == {"target": 7}
    assert len(epochs) == np.sum(raw.annotations.description == "target")
    with pytest.raises(ValueError, match="sub-03_task-odd was not cleaned: sub-03_task-odd_eeg"):
        study.raw("sub-03_task-odd")
    with pytest.raises(ValueError, match="No recording 'sub-09' in this study"):
        study.ica("sub-09")
    with pytest.raises(ValueError, match="no event dance; its annotations are: standard, target"):
        study.epochs(name, "dance")
    with pytest.warns(RuntimeWarning, match="no event dance.* It is left out"):
        assert study.evokeds("dance") == {}
    with pytest.warns(RuntimeWarning, match="no event dance"):
        empty = study.amplitudes("dance", "C3", (0.3, 0.5))
    assert {"participant_id", "condition", "n_trials"} <= set(empty.columns)  # can be merged
    with pytest.warns(RuntimeWarning, match="No trial of target of sub-0[12] was kept"):
        study.evokeds("target", reject=dict(eeg=1e-9))
    with pytest.raises(ValueError, match="holds no sample of the epochs, which are from -0.2"):
        study.amplitudes("target", "C3", (3, 5))


def test_other_rates_and_conditions_per_subject(tmp_path):
    for number, rate, name in ((1, 100.0, "target"), (2, 200.0, "other")):
        raw = subject(number).resample(rate)
        raw.annotations.rename({"target": name})
        raw.save(tmp_path / f"sub-{number}_raw.fif", verbose="error")
    files = sorted(tmp_path.glob("*.fif"))
    study = clean_study(files, tmp_path / "out", events=["standard", "target"])
    assert not study.failed
    told = {row["recording"]: f"{row['warnings']}" for row in study.rows}
    assert "No trials of target" in told["sub-2"]
    with pytest.warns(RuntimeWarning, match=r"several sampling rates \(100, 200 Hz\)"):
        evokeds = study.evokeds(["standard", "target"], tmin=-0.2, tmax=0.5)
    assert {name: len(some) for name, some in evokeds.items()} == {"standard": 2, "target": 1}
    with pytest.warns(RuntimeWarning, match="No trials of target"):
        found = audit(study, ["standard", "target"], picks="C3", window=(0.3, 0.5))
    assert "mean of 1" in found.effects[-1]["recording"]
    assert "unsure: too few for an interval" in str(found)
    assert "nan" not in str(found)
    with pytest.raises(ValueError, match=r"\(100, 200 Hz\).* pass the names of annotations"):
        audit(study, np.array([[500, 0, 1]]))
    # The page has the averages where the response is, of the recordings with the condition.
    page = (study.out / "summary.html").read_text(encoding="utf-8")
    assert "standard, C3, mean of 2<" in page
    assert "target, C3, mean of 1<" in page
    paths = {row["recording"]: study.out / row["averages"] for row in study.rows}
    for side in ("before", "after"):
        average = mne.read_evokeds(paths["sub-1"], f"target, {side}", verbose="error")
        assert average.nave == np.sum(study.raw("sub-1").annotations.description == "target")
        assert average.copy().pick(["C3"]).get_peak()[1] == pytest.approx(0.4, abs=0.02)
    clean_study(files, study.out)
    page = (study.out / "summary.html").read_text(encoding="utf-8")
    assert "<polyline" not in page, "events that are not given any more"


def test_runs_of_a_participant_are_averaged_together(tmp_path):
    for run in ("1", "2"):
        subject(int(run)).save(tmp_path / f"sub-x_run-{run}_raw.fif", verbose="error")
    study = clean_study(sorted(tmp_path.glob("*.fif")), tmp_path / "out")
    (evoked,) = study.evokeds("target", tmin=-0.2, tmax=0.5)["target"]
    each = [study.epochs(name, "target", tmin=-0.2, tmax=0.5) for name in study.cleaned]
    assert evoked.nave == sum(map(len, each))
    assert evoked.comment == "sub-x"
    table = study.amplitudes("target", ["C3"], (0.3, 0.5), tmin=-0.2, tmax=0.5)
    assert list(table.n_trials) == [evoked.nave]


def test_methods_say_what_was_done(root, capsys):
    out = root / "derivatives" / "mne-otica"
    assert main(["methods", str(out)]) == 0
    text = capsys.readouterr().out
    for told in (
        "EEG of 2 recordings was cleaned with mne-otica",
        "MNE-BIDS",
        "8 good EEG channels (0 marked bad), sampled at 100 Hz, filtered between 1 Hz and 40 Hz (",
        "rank 8",
        "blinks 0.7",
        "Blinks: removed from 2 of 2 (1 component(s)",
        "1 could not be processed",
    ):
        assert told in text, told
    references = (out / "methods.bib").read_text()
    for key in ("Jha2026", "Gramfort2013", "Appelhoff2019"):
        assert f"@{key}]" in text
        assert f"{{{key}," in references
    assert "nan" not in text
    assert main(["methods", str(root)]) == 1
    assert "holds no study" in capsys.readouterr().err
