"""Studies in BIDS: which recordings, under which names, and what others make of them."""

import json

import mne
import numpy as np
import pytest
from numpy.testing import assert_allclose
from reviewing import decided

from mne_otica import clean_study
from mne_otica.simulation import simulate_raw
from mne_otica.study.file_names import result_path
from mne_otica.study.inputs import find_bids, group

mne_bids = pytest.importorskip("mne_bids")
# mne-bids warns of much that is not the matter here: no birthday, no line frequency, ...
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Two runs of one subject, with different channels marked bad, and a run of another."""
    root = tmp_path_factory.mktemp("bids")
    for seed, (subject, run) in enumerate((("01", "01"), ("01", "02"), ("02", "01"))):
        raw = simulate_raw(10, 30, 100.0, n_blinks=8, random_state=seed, verbose="error").raw
        raw.info["line_freq"] = 50
        raw.info["bads"] = [["C3"], ["C4"], []][seed]
        raw.set_annotations(mne.Annotations([3.0, 9.0], [0.0, 0.0], ["tone", "tone"]))
        path = mne_bids.BIDSPath(
            subject=subject, session="a", task="rest", run=run, datatype="eeg", root=root
        )
        mne_bids.write_raw_bids(
            raw, path, format="BrainVision", allow_preload=True, verbose="error"
        )
    return root


@pytest.fixture(scope="module")
def derivatives(root):
    """The runs of the first subject, cleaned with one ICA."""
    study = clean_study(bids_root=root, subject="sub-01", concatenate_runs=True, verbose="error")
    assert [row["status"] for row in study.rows] == ["cleaned", "cleaned"]
    return study.out


def test_choice_of_recordings(root):
    def labels(**choice):
        return [recording.name.label for recording in find_bids(root, **choice)]

    assert labels() == [
        "sub-01_ses-a_task-rest_run-01",
        "sub-01_ses-a_task-rest_run-02",
        "sub-02_ses-a_task-rest_run-01",
    ]
    assert labels(subject=["02"]) == labels(subject=["sub-02"]) == ["sub-02_ses-a_task-rest_run-01"]
    assert labels(run=["02"], task=["rest"]) == ["sub-01_ses-a_task-rest_run-02"]
    assert labels(session=["b"]) == []
    with pytest.raises(FileNotFoundError, match=r"No recordings .* for subject \['99'\]"):
        clean_study(bids_root=root, subject="99")


def test_names_are_those_of_mne_bids(root, tmp_path):
    # Early mne-bids spelt this entity otherwise.
    part = "_recording-y" if "recording" in mne_bids.config.ALLOWED_PATH_ENTITIES_SHORT else ""
    name = f"sub-01_ses-a_task-rest_acq-x_run-01_space-CapTrak{part}_desc-w_eeg.edf"
    folder = tmp_path / "sub-01" / "ses-a" / "eeg"
    folder.mkdir(parents=True)
    (tmp_path / "dataset_description.json").write_text("{}")
    (folder / name).touch()
    (folder / "sub-01_task-..%2f_eeg.edf").touch()  # no BIDS name
    (recording,) = find_bids(tmp_path)
    expected = mne_bids.get_bids_path_from_fname(folder / name).update(
        processing="clean", suffix="raw", extension=".fif", root=tmp_path, check=False
    )
    assert tmp_path / result_path("apply", recording.name, recording.name) == expected.fpath
    (folder / name.replace(".edf", ".set")).touch()
    with pytest.raises(ValueError, match="more than one format"):
        group(find_bids(tmp_path), concatenate_runs=False)


def test_eeg_in_meg_files_is_found(tmp_path):
    (tmp_path / "dataset_description.json").write_text("{}")
    for name in (
        "sub-01/meg/sub-01_task-x_split-01_meg.fif",
        "sub-01/meg/sub-01_task-x_split-02_meg.fif",
        "sub-02/meg/sub-02_task-x_meg.fif",
        "sub-02/eeg/sub-02_task-x_eeg.edf",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = {recording.path.name for recording in find_bids(tmp_path)}
    assert found == {"sub-01_task-x_split-01_meg.fif", "sub-02_task-x_eeg.edf"}


def test_mne_bids_finds_the_results(root, derivatives):
    base = mne_bids.BIDSPath(
        subject="01", session="a", datatype="eeg", root=derivatives, check=False
    )
    cleaned = base.copy().update(processing="clean", suffix="raw", extension=".fif").match()
    assert [path.run for path in cleaned] == ["01", "02"]
    for path, bad in zip(cleaned, ("C3", "C4"), strict=True):
        raw = mne.io.read_raw(path.fpath)
        assert raw.info["bads"] == [bad], "each run keeps its own"
        source = path.copy().update(
            root=root, processing=None, suffix="eeg", extension=".vhdr", check=True
        )
        source = mne_bids.read_raw_bids(source, verbose="error")
        assert raw.ch_names == source.ch_names
        assert list(raw.annotations.description) == ["tone", "tone"]
        assert np.abs(raw.get_data("Fp1") - source.get_data("Fp1")).max() > 50e-6
        assert_allclose(raw.get_data(bad), source.get_data(bad), rtol=1e-6)


def test_runs_share_the_files_that_the_pipeline_looks_for(derivatives):
    """mne-bids-pipeline has one ICA for each session, without task and run in its name."""
    base = mne_bids.BIDSPath(
        subject="01", session="a", datatype="eeg", root=derivatives, check=False
    )
    for processing, suffix, extension in (
        ("icafit", "ica", ".fif"),
        ("ica", "ica", ".fif"),
        ("ica", "components", ".tsv"),
    ):
        path = base.copy().update(processing=processing, suffix=suffix, extension=extension)
        assert path.fpath.is_file()
    # The way in which its apply step reads them.
    pd = pytest.importorskip("pandas")
    table = pd.read_csv(path.fpath, sep="\t")
    exclude = table.loc[table["status"] == "bad", "component"].to_list()
    path = base.copy().update(processing="ica", suffix="ica", extension=".fif")
    ica = mne.preprocessing.read_ica(path.fpath)
    assert exclude == ica.exclude != []
    assert "C3" not in ica.ch_names
    assert "C4" not in ica.ch_names


def test_icalabel_reads_and_edits_the_table(derivatives, tmp_path):
    annotation = pytest.importorskip("mne_icalabel.annotation")
    pytest.importorskip("pandas")
    path = mne_bids.BIDSPath(
        subject="01",
        session="a",
        datatype="eeg",
        processing="ica",
        suffix="components",
        extension=".tsv",
        root=derivatives,
        check=False,
    )
    text = path.fpath.read_text(encoding="utf-8")
    copy = path.copy().update(root=tmp_path)
    copy.fpath.parent.mkdir(parents=True)
    copy.fpath.write_text(text, encoding="utf-8")
    annotation.mark_component(1, copy, method="manual", label="muscle artifact", author="me")
    rows = decided(copy.fpath, len(text.splitlines()) - 1)
    assert rows[1] == ("bad", "Manually-annotated: muscle artifact")
    before = decided(path.fpath, len(rows))
    assert {k: rows[k][0] for k in rows if k != 1} == {k: before[k][0] for k in before if k != 1}


def test_sidecars_name_the_sources_as_bids_does(derivatives):
    description = json.loads((derivatives / "dataset_description.json").read_text())
    assert description["DatasetType"] == "derivative"
    assert description["DatasetLinks"] == {"raw": "../.."}
    path = derivatives / "sub-01/ses-a/eeg/sub-01_ses-a_proc-icafit_ica.json"
    sources = json.loads(path.read_text())["Sources"]
    assert "bids:raw:sub-01/ses-a/eeg/sub-01_ses-a_task-rest_run-02_eeg.eeg" in sources
    assert "bids:raw:sub-01/ses-a/eeg/sub-01_ses-a_task-rest_run-01_channels.tsv" in sources


def test_bad_channels_of_the_study_count(root, derivatives):
    """Marking a channel bad in channels.tsv is a change of the recording."""
    path = root / "sub-01/ses-a/eeg/sub-01_ses-a_task-rest_run-01_channels.tsv"
    before = path.read_bytes()
    fitted = derivatives / "sub-01/ses-a/eeg/sub-01_ses-a_proc-icafit_ica.fif"
    options = dict(bids_root=root, subject="01", concatenate_runs=True)
    try:
        lines = [
            line.replace("good", "bad") if line.startswith("O1") else line
            for line in before.decode().splitlines(keepends=True)
        ]
        path.write_bytes("".join(lines).encode())
        clean_study(**options, stages=["fit"])
        assert "O1" not in mne.preprocessing.read_ica(fitted).ch_names
    finally:
        path.write_bytes(before)
    study = clean_study(**options, stages=["find"])
    assert "'fit' is out of date" in study.rows[0]["message"]
