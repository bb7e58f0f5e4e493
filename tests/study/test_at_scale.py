"""Forty recordings, runs that are killed, two workers, a cluster, and disks that are full."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import mne
import pytest
from test_study import contents, redone, state, summary

study = pytest.importorskip("benchmarks.study", reason="run from the top of a checkout")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3000),
    # mne-bids warns of much that is not the matter here, and Dask of its ports.
    pytest.mark.filterwarnings("ignore"),
]
COMMAND = [sys.executable, "-m", "mne_otica.cli"]


def run(*arguments):
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


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
    assert found.count("ok") >= 27, "30 of them blink"
    assert found.count("no-blink") >= 8, "10 of them do not"


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


def test_results_do_not_depend_on_how_many_work(tmp_path):
    (tmp_path / "in").mkdir()
    paths = study.make_files(tmp_path / "in", 6, 30.0)
    for n_jobs in (1, 2):
        assert run("run", *paths, "-o", tmp_path / str(n_jobs), "--n-jobs", n_jobs).returncode == 0
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


CLUSTER = """
import sys

from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()  # until it is closed
"""


def test_a_cluster_gives_the_same(tmp_path):
    pytest.importorskip("distributed")
    (tmp_path / "in").mkdir()
    paths = study.make_files(tmp_path / "in", 6, 30.0)
    assert run("run", *paths, "-o", tmp_path / "one").returncode == 0
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    with subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as cluster:
        address = cluster.stdout.readline().strip()
        assert address.startswith("tcp://")
        ended = run("run", *paths, "-o", tmp_path / "cluster", "--dask", address)
        cluster.stdin.close()
        cluster.wait()
    assert ended.returncode == 0, ended.stderr
    assert contents(tmp_path / "one") == contents(tmp_path / "cluster")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_killed_ten_times(tmp_path, n_jobs):
    (tmp_path / "in").mkdir()
    paths = study.make_files(tmp_path / "in", 8, 30.0)
    inputs = {path: path.read_bytes() for path in (tmp_path / "in").iterdir()}
    started = time.perf_counter()
    assert run("run", *paths, "-o", tmp_path / "whole").returncode == 0
    seconds = time.perf_counter() - started
    killed = tmp_path / "killed"
    command = [*COMMAND, "run", *map(str, paths), "-o", str(killed), "--n-jobs", str(n_jobs)]
    rng = random.Random(0)
    n_killed = 0
    for _ in range(10):
        process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
        time.sleep(2 + rng.uniform(0, seconds / 4))
        if process.poll() is None:
            n_killed += 1
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for path in killed.rglob("*.fif"):
            if ".mne_otica" not in path.parts:
                assert path.read_bytes() == (tmp_path / "whole" / path.name).read_bytes()
    assert n_killed >= 5
    ended = run(*command[3:])
    assert ended.returncode == 0, ended.stderr
    assert contents(killed) == contents(tmp_path / "whole")
    assert not list((killed / ".mne_otica" / "tmp").glob("*"))
    names = {path.relative_to(killed) for path in killed.rglob("*")}
    assert names == {
        path.relative_to(tmp_path / "whole") for path in tmp_path.glob("whole/**/*")
    } - {Path()}
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
