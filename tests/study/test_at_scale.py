"""Forty recordings, runs that are killed again and again, and disks that are full."""

import random
import shutil
import subprocess
from pathlib import Path

import mne
import pytest
from test_study import contents, redone, state, summary
from test_workers import (
    COMMAND,
    assert_resumed,
    killed_after_a_result,
    killed_while_writing,
    run,
)

study = pytest.importorskip("benchmarks.study", reason="run from the top of a checkout")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3000),
    # mne-bids warns of much that is not the matter here, and Dask of its ports.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module", params=["plain", "bids"])
def forty(request, tmp_path_factory):
    """Forty recordings in four formats and four that are broken, done by two workers."""
    folder = tmp_path_factory.mktemp(request.param)
    root, out = folder / "in", folder / "out"
    root.mkdir()
    if request.param == "plain":
        good = study.make_files(root, duration=30.0)
        eeg, ends = root, {"cut": ".edf", "empty": ".set", "text": "_raw.fif", "misc": "_raw.fif"}
        edf = good[1].read_bytes()
        assert good[1].suffix == ".edf"
    else:
        pytest.importorskip("mne_bids")
        study.make_bids(root, duration=30.0)
        eeg = root / "sub-90" / "eeg"
        eeg.mkdir(parents=True)
        ends = dict.fromkeys(("cut", "empty", "text", "misc"), "_eeg.edf")
        edf = (root / "sub-01/eeg/sub-01_task-rest_eeg.edf").read_bytes()
    broken = {
        name: eeg / (f"{name}{end}" if eeg == root else f"sub-90_task-{name}{end}")
        for name, end in ends.items()
    }
    broken["cut"].write_bytes(edf[: len(edf) // 2])
    broken["empty"].touch()
    broken["text"].write_text("no EEG at all")
    raw = study.simulated(0, 10.0)
    raw.set_channel_types(dict.fromkeys(raw.ch_names, "misc"), on_unit_change="ignore")
    if eeg == root:
        raw.save(broken["misc"])
        arguments = [*good, *broken.values(), "--out", out]
    else:
        mne.export.export_raw(broken["misc"], raw, physical_range="channelwise")
        channels = "\n".join(["name\ttype\tunits", *(f"{n}\tMISC\tn/a" for n in raw.ch_names)])
        path = broken["misc"].with_name("sub-90_task-misc_channels.tsv")
        path.write_text(channels + "\n")
        arguments = ["--bids-root", root, "--out", out]
    ended = run("run", *arguments, "--n-jobs", 2)
    return arguments, out, ended


def test_all_but_the_broken_are_done(forty):
    _, out, ended = forty
    assert ended.returncode == 1, ended.stderr
    rows = summary(out)
    assert len(rows) == 44
    failed = {name for name, row in rows.items() if row["status"] == "failed"}
    assert len(failed) == 4
    assert all(any(kind in name for kind in ("cut", "empty", "text", "misc")) for name in failed)
    found = [row["status"] for name, row in rows.items() if name not in failed]
    assert found.count("cleaned") >= 27, "30 of them blink"
    assert found.count("none") >= 8, "10 of them do not"


def test_second_run_does_nothing(forty):
    arguments, out, _ = forty
    before = state(out)
    assert run("run", *arguments).returncode == 1
    assert state(out) == before


def test_another_parameter_of_find(forty, tmp_path):
    arguments, out, _ = forty
    copy = Path(shutil.copytree(out, tmp_path / "out"))
    arguments = [copy if argument == out else argument for argument in arguments]
    before = state(copy)
    run("run", *arguments, "--max-components", 1, "--n-jobs", 2)
    after = state(copy)
    fitted = [name for name in before if "icafit" in name]
    assert len(fitted) == 80
    assert all(before[name] == after[name] for name in fitted)
    if "--bids-root" not in arguments:
        assert redone(before, after, "s00") == ["find", "apply", "evaluate"]


@pytest.fixture(scope="module")
def twelve(tmp_path_factory):
    """Twelve recordings, and what an undisturbed run makes of them."""
    folder = tmp_path_factory.mktemp("twelve")
    (folder / "in").mkdir()
    paths = study.make_files(folder / "in", 12, 20.0)
    assert run("run", *paths, "-o", folder / "whole").returncode == 0
    return folder, paths


def disturbed(twelve, folder):
    """Return the command of a run with two workers in another folder, and the inputs' bytes."""
    source, paths = twelve
    (folder / "whole").symlink_to(source / "whole")
    command = ["run", *map(str, paths), "-o", str(folder / "killed"), "--n-jobs", "2"]
    return command, {path: path.read_bytes() for path in (source / "in").iterdir()}


def test_killed_thirty_times(twelve, tmp_path):
    command, inputs = disturbed(twelve, tmp_path)
    rng = random.Random(0)
    ways = [killed_while_writing] * 18 + [killed_after_a_result] * 12
    rng.shuffle(ways)
    hit = [(way, way(tmp_path, command, rng.choice([0, rng.uniform(0, 0.1)]))) for way in ways]
    assert sum(reached for way, reached in hit if way is killed_while_writing) >= 10
    assert sum(reached for way, reached in hit if way is killed_after_a_result) >= 10
    assert_resumed(tmp_path, command)
    assert {path: path.read_bytes() for path in inputs} == inputs


def test_two_containers_on_one_folder(twelve, tmp_path):
    """Two namespaces of processes, where the same numbers name others; one is killed ten times."""
    apart = ["unshare", "--pid", "--fork", "--mount-proc"]
    if shutil.which("unshare") is None or subprocess.run([*apart, "true"], check=False).returncode:
        pytest.skip("cannot make a namespace of processes")
    command, inputs = disturbed(twelve, tmp_path)
    options = dict(stdout=subprocess.DEVNULL, start_new_session=True)
    survivor = subprocess.Popen([*apart, *COMMAND, *command], **options)
    for k in range(10):
        (killed_while_writing, killed_after_a_result)[k % 2](tmp_path, command, 0.0, apart)
    assert survivor.wait() == 0
    assert_resumed(tmp_path, command)
    assert {path: path.read_bytes() for path in inputs} == inputs


@pytest.fixture
def mount(tmp_path):
    """Return a function that mounts a file system, for whoever may."""
    mounted = []

    def make(*options):
        folder = tmp_path / f"mounted{len(mounted)}"
        folder.mkdir()
        command = ["mount", *options, str(folder)]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            pytest.skip("no mount command")
        if ended.returncode:
            pytest.skip(f"cannot mount: {ended.stderr.strip()}")
        mounted.append(folder)
        return folder

    yield make
    for folder in mounted:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("size", ["600k", "3m"])
def test_full_disk(tmp_path, mount, size, n_jobs):
    (tmp_path / "in").mkdir()
    paths = study.make_files(tmp_path / "in", 4, 30.0)
    inputs = {path: path.read_bytes() for path in (tmp_path / "in").iterdir()}
    assert run("run", *paths, "-o", tmp_path / "whole").returncode == 0
    out = mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs")
    ended = run("run", *paths, "-o", out, "--n-jobs", n_jobs)
    assert ended.returncode == 1
    assert f"Cannot write to {out}: the disk is full; free some space" in ended.stderr
    assert "Traceback" not in ended.stderr
    whole = contents(tmp_path / "whole")
    assert all(whole[name] == content for name, content in contents(out).items())
    assert not list((out / ".mne_otica" / "tmp").glob("*"))
    assert {path: path.read_bytes() for path in inputs} == inputs
    subprocess.run(["mount", "-o", "remount,size=100m", str(out)], check=True)
    assert run("run", *paths, "-o", out).returncode == 0
    assert contents(out) == whole


def test_read_only_folder(tmp_path, mount):
    (tmp_path / "in").mkdir()
    paths = study.make_files(tmp_path / "in", 1, 30.0)
    out = mount("-t", "tmpfs", "-o", "ro", "tmpfs")
    ended = run("run", *paths, "-o", out / "study")
    assert ended.returncode == 1
    assert "the file system is read-only; choose another output folder" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not list(out.iterdir())
