"""Files of all kinds: what is read, what is written, and what files of others can do."""

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import mne
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import mne_otica
from mne_otica import clean_raw, clean_study
from mne_otica.simulation import simulate_raw
from mne_otica.study import scratch_and_locks as files
from mne_otica.study import sidecars
from mne_otica.study.sidecars import STAGES

ODD_NAMES = ["two words_raw.fif", "Übung-日本_raw.fif", "50%&more;$HOME_raw.fif", "-o_raw.fif"]
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod")
_watched = {}  # hooks cannot be taken back, so one is put in for all


def _watch(event, arguments):
    if "paths" not in _watched:
        return
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES:
        _watched["paths"].append(arguments[0])
    elif event in CHANGES:
        _watched["paths"] += arguments[: 2 if event == "os.rename" else 1]


sys.addaudithook(_watch)


@pytest.fixture
def written(monkeypatch, tmp_path_factory):
    """Return a list that every path goes to that is opened for writing, moved or removed.

    MNE's progress bar uses the system's folder for such things, and must leave nothing in it.
    """
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    _watched["paths"] = paths = []
    yield paths
    del _watched["paths"]
    assert list(temporary.iterdir()) == []


def outside(paths, folder):
    """Return the paths that are neither in the folder nor temporary nor no file."""
    named = [Path(os.fsdecode(path)) for path in paths if isinstance(path, str | bytes | Path)]
    allowed = (folder, Path(tempfile.gettempdir()), Path(os.devnull))
    return [p for p in named if not any(p.absolute().is_relative_to(one) for one in allowed)]


def tree(folder):
    """Return the hash of every file below a folder."""
    return {
        path.relative_to(folder): hashlib.sha256(path.read_bytes()).digest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def small(seed=0):
    """Return eight channels with a few blinks."""
    return simulate_raw(8, 20, 128.0, n_blinks=6, random_state=seed).raw


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("recording") / "one_raw.fif"
    small().save(path, verbose="error")
    return path


@pytest.fixture(scope="module")
def done(recording, tmp_path_factory):
    """The results of one recording."""
    out = tmp_path_factory.mktemp("done") / "out"
    with mne.use_log_level("error"):
        assert not clean_study([recording], out).failed
    return out


@pytest.fixture
def out(done, tmp_path):
    return Path(shutil.copytree(done, tmp_path / "out"))


def statuses(study):
    return {row["recording"]: row["status"] for row in study.rows}


# %% Inputs


def test_odd_names_and_links(recording, tmp_path, written):
    folder, out = tmp_path / "in put", tmp_path / "out put"
    folder.mkdir()
    for name in ODD_NAMES:
        shutil.copyfile(recording, folder / name)
    (folder / "link_raw.fif").symlink_to(recording)
    before = tree(folder)
    written.clear()
    study = clean_study(sorted(folder.iterdir()), out, stages=STAGES[:3])
    labels = [name.removesuffix("_raw.fif") for name in (*ODD_NAMES, "link_raw.fif")]
    assert statuses(study) == dict.fromkeys(labels, "cleaned")
    assert outside(written, out) == []
    assert tree(folder) == before
    for label in labels:
        saved = mne.io.read_raw_fif(out / f"{label}_proc-clean_raw.fif")
        assert saved.n_times == 20 * 128


def test_longest_names(recording, tmp_path):
    names = [f"{'a' * 246}{k}_raw.fif" for k in range(2)] + ["é" * 123 + "_raw.fif"]
    for name in names:
        shutil.copyfile(recording, tmp_path / name)
    study = clean_study(sorted(tmp_path.glob("*_raw.fif")), tmp_path / "out")
    assert set(statuses(study).values()) == {"cleaned"}
    assert len(statuses(study)) == 3


def test_names_do_not_change_when_others_appear(recording, tmp_path):
    paths = [tmp_path / folder / "dup_raw.fif" for folder in "ab"]
    for path in paths:
        path.parent.mkdir()
        shutil.copyfile(recording, path)
    out = tmp_path / "out"
    assert set(statuses(clean_study(paths[:1], out, stages=["fit"]))) == {"dup"}
    assert set(statuses(clean_study(paths[::-1], out, stages=["fit"]))) == {
        "dup",
        f"{'_'.join(paths[1].parent.parts[-1:])}_dup",
    }
    assert len((out / "summary.tsv").read_text().splitlines()) == 3
    # A recording that was moved is the same.
    (tmp_path / "c").mkdir()
    moved = paths[0].rename(tmp_path / "c" / "dup_raw.fif")
    assert set(statuses(clean_study([moved], out, stages=["fit"]))) == {"dup"}


def test_names_that_differ_in_their_suffix_only(recording, tmp_path):
    for name in ("x_raw.fif", "x_eeg.fif"):
        shutil.copyfile(recording, tmp_path / name)
    study = clean_study(sorted(tmp_path.glob("*.fif")), tmp_path / "out", stages=["fit"])
    assert statuses(study) == {"x_raw_fif": "none", "x_eeg_fif": "none"}


def test_channel_names_that_cannot_be_saved(recording, tmp_path, monkeypatch):
    raw = small()
    raw.rename_channels({raw.ch_names[0]: "Fp1é"})
    monkeypatch.setattr(mne.io, "read_raw", lambda path: raw.copy())
    (row,) = clean_study([recording], tmp_path).rows
    assert row["status"] == "failed"
    assert "must be ASCII to be saved as FIF, not Fp1é; rename" in row["message"]


def test_content_replaced_with_equal_size_and_time(recording, out, tmp_path):
    """Only the time of the last change, which programs cannot set, tells."""
    copy = tmp_path / recording.name
    shutil.copyfile(recording, copy)
    notes = sidecars.Notes(out, "one")
    before, stat = notes.hash_of(copy), copy.stat()
    content = bytearray(copy.read_bytes())
    content[-100] ^= 1
    copy.write_bytes(content)
    os.utime(copy, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert notes.hash_of(copy) != before


def test_two_runs_at_once(recording, tmp_path):
    command = [sys.executable, "-m", "mne_otica", "run", str(recording), "-o", str(tmp_path)]
    runs = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(3)]
    assert [run.wait() for run in runs] == [0, 0, 0]


def test_files_that_are_not_what_they_should_be(recording, tmp_path):
    whole = recording.read_bytes()
    broken = {
        "half_raw.fif": whole[: len(whole) // 2],
        "head_raw.fif": whole[:500],
        "nothing_raw.fif": b"",
        "other.edf": whole,
        "text.set": b"no EEG at all",
        "unknown.xyz": whole,
    }
    for name, content in broken.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder_raw.fif").mkdir()
    (tmp_path / "loop_raw.fif").symlink_to("loop_raw.fif")
    study = clean_study(sorted(tmp_path.iterdir()), tmp_path / "out")
    assert set(statuses(study).values()) == {"failed"}
    for row in study.rows:
        assert row["message"]
        assert "Traceback" not in row["message"]
    assert {name: (tmp_path / name).read_bytes() for name in broken} == broken
    assert not list((tmp_path / "out").glob("*.fif"))


def test_permissions(recording, tmp_path):
    hidden = tmp_path / "hidden_raw.fif"
    shutil.copyfile(recording, hidden)
    hidden.chmod(0)
    if os.access(hidden, os.R_OK):
        pytest.skip("this user may read and write everything")
    (row,) = clean_study([hidden], tmp_path / "out").rows
    assert row["status"] == "failed"
    assert "Permission denied" in row["message"]
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o555)
    with pytest.raises(OSError, match="writing is not permitted; change the permissions"):
        clean_study([recording], folder / "out")


def test_parts_of_long_recordings(recording, tmp_path, monkeypatch):
    """What MNE splits at 2 GB is read as one, is written in parts, and is known when done."""
    info = mne.io.read_info(recording)
    samples = np.tile(mne.io.read_raw_fif(recording).get_data(), (1, 40))
    raw = mne.io.RawArray(samples, info)
    raw.save(tmp_path / "long_raw.fif", split_size="2MB")
    assert (tmp_path / "long_raw-1.fif").exists()
    save = mne.io.BaseRaw.save

    def save_in_parts(self, *args, **kwargs):
        return save(self, *args, **kwargs, split_size="2MB")

    monkeypatch.setattr(mne.io.BaseRaw, "save", save_in_parts)
    out = tmp_path / "out"
    (row,) = clean_study([tmp_path / "long_raw.fif"], out, stages=STAGES[:3]).rows
    assert row["status"] == "cleaned"
    parts = sorted(path.name for path in out.glob("*raw.fif"))
    assert parts[:2] == ["long_proc-clean_split-01_raw.fif", "long_proc-clean_split-02_raw.fif"]
    assert mne.io.read_raw_fif(out / parts[0]).n_times == raw.n_times
    before = {path: path.stat().st_mtime_ns for path in out.glob("*raw*")}
    clean_study([tmp_path / "long_raw.fif"], out, stages=STAGES[:3])
    assert {path: path.stat().st_mtime_ns for path in out.glob("*raw*")} == before


# %% Outputs


def test_nothing_is_written_but_where_asked(recording, tmp_path, monkeypatch, written):
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("HOME", str(elsewhere))
    before = recording.read_bytes(), recording.stat().st_mtime_ns
    written.clear()
    assert not clean_study([recording], out).failed
    raw = mne.io.read_raw_fif(recording, preload=True)
    clean_raw(raw).save(out / "by hand")
    assert len(written) > 10
    assert outside(written, out) == []
    assert list(elsewhere.iterdir()) == []
    assert (recording.read_bytes(), recording.stat().st_mtime_ns) == before


def test_results_are_never_put_in_place_of_a_recording(recording, tmp_path):
    for name in ("a_raw.fif", "a_clean_raw.fif"):
        shutil.copyfile(recording, tmp_path / name)
        before = tree(tmp_path)
        raw = mne.io.read_raw_fif(tmp_path / name)
        saved = clean_raw(raw).save(tmp_path)
        assert before.items() <= tree(tmp_path).items()
        for path in saved.values():
            path.unlink()


# %% Files of others


def test_the_package_runs_no_code_that_comes_from_a_file():
    modules = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "yaml", "runpy"}
    calls = {"eval", "exec", "compile", "__import__", "system", "popen", "load_module"}
    paths = sorted(Path(mne_otica.__file__).parent.rglob("*.py"))
    assert len(paths) > 30
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            where = f"{path.name}, line {getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name.split(".")[0] for alias in node.names}
                names.add((getattr(node, "module", None) or "").split(".")[0])
                assert not names & modules, where
            elif isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                # A regular expression is compiled, too.
                of = getattr(getattr(node.func, "value", None), "id", "")
                assert name not in calls or (of, name) == ("re", "compile"), where
                assert (of, name) not in {("np", "load"), ("joblib", "load")}, where


JUNK = [[], "x", -1, 10**400, {"../../x": "../../x"}]


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: str(junk)[:12])
def test_sidecars_with_wrong_values_are_made_anew(recording, out, junk):
    expected = tree(out)
    for path in out.glob("one_*.json"):
        content = json.loads(path.read_text())
        for name in ("Results", "Parameters", "Warnings", "Outputs"):
            path.write_text(json.dumps(content | {name: junk}))
            assert content[name] == junk or sidecars.unsealed(sidecars.read_json(path)) == {}
    for path in (out / files.WORK).rglob("*.json"):
        content = json.loads(path.read_text())
        path.write_text(json.dumps(dict.fromkeys(content, junk)))
    assert statuses(clean_study([recording], out, stages=STAGES[:3])) == {"one": "cleaned"}
    found = tree(out)
    assert {name: found[name] for name in expected if name.suffix == ".fif"} == {
        name: expected[name] for name in expected if name.suffix == ".fif"
    }


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "1" * 5000, "\0", '{"a": 1e999}'], ids=["deep", "long", "nul", "huge"]
)
def test_what_is_not_a_sidecar_is_none(recording, out, text):
    for path in out.rglob("*.json"):
        if path.name != "dataset_description.json":
            path.write_text(text)
    assert statuses(clean_study([recording], out, stages=["fit"])) == {"one": "none"}
    (out / "dataset_description.json").write_text(text)
    with pytest.raises(ValueError, match="holds another data set"):
        clean_study([recording], out)


@pytest.mark.parametrize(
    ("name", "stages"), [("..", STAGES[:3]), ("../../escape", STAGES), ("/escape", STAGES[:3])]
)
def test_names_in_sidecars_lead_nowhere(recording, out, name, stages, written):
    """Even where someone has sealed them anew."""
    (out.parent / "escape").write_text("mine")
    for path in out.glob("one_*.json"):
        content = sidecars.unsealed(json.loads(path.read_text()))
        content["Outputs"] = {name: "0" * 64}
        content["Results"]["report"] = name
        path.write_text(json.dumps(sidecars.sealed(content)))
    written.clear()
    clean_study([recording], out, stages=stages)
    assert outside(written, out) == []
    assert (out.parent / "escape").read_text() == "mine"
    assert ".." not in (out / "summary.tsv").read_text()


@pytest.mark.parametrize(
    "cell", ["1" * 5000, "-1", "1e3", "0x1", "٣", "__import__('os')", "=1+1", "../0", " ", "\0"]
)
def test_numbers_in_tables_are_numbers_or_refused(recording, out, cell):
    table = out / "one_proc-ica_components.tsv"
    lines = table.read_text().splitlines()
    lines[1] = "\t".join([cell, *lines[1].split("\t")[1:]])
    table.write_text("\n".join(lines))
    before = (out / "one_proc-clean_raw.fif").read_bytes()
    (row,) = clean_study([recording], out).rows
    assert row["status"] == "failed"
    assert "line 2: component" in row["message"]
    assert (out / "one_proc-clean_raw.fif").read_bytes() == before


def test_interrupted_save_can_be_repeated(recording, tmp_path, monkeypatch):
    """A save that could not finish leaves no file, and can be repeated."""
    result = clean_raw(mne.io.read_raw_fif(recording))

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(type(result), "report", interrupt)
        with pytest.raises(KeyboardInterrupt):
            result.save(tmp_path / "new")
    assert not list((tmp_path / "new").iterdir())
    paths = result.save(tmp_path / "new")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        result.save(tmp_path / "new")
    assert_array_equal(
        mne.io.read_raw_fif(paths["raw"]).get_data().shape, result.raw.get_data().shape
    )
