"""Studies as the README has them: two workers, a cluster, a run that is killed and goes on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_study import contents

from mne_otica.simulation import simulate_raw

study = pytest.importorskip("benchmarks.study", reason="run from the top of a checkout")

# mne-bids warns of much that is not the matter here, and Dask of its ports.
pytestmark = pytest.mark.filterwarnings("ignore")
COMMAND = [sys.executable, "-m", "mne_otica"]


def run(*arguments):
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def results(folder):
    """Return the results that are in their places, not what is being written."""
    found = []
    for parent, folders, files in os.walk(folder):
        # What a worker removes meanwhile is not looked into.
        folders[:] = [name for name in folders if name != ".mne_otica"]
        found += [Path(parent, name) for name in files]
    return found


def killed_after_a_result(folder, command, delay=0.0, before_it=()):
    """Start a run, kill it a little after it wrote a result, and return whether it was running."""
    before = len(results(folder / "killed"))
    return _killed(
        folder, command, lambda: len(results(folder / "killed")) > before, delay, before_it
    )


def killed_while_writing(folder, command, delay=0.0, before_it=()):
    """Start a run, kill it as a result is being written, and return whether one was left so."""

    def written():
        return list((folder / "killed").glob(".mne_otica/tmp/*/*"))

    old = set(written())
    _killed(folder, command, lambda: not old.issuperset(written()), delay, before_it)
    return not old.issuperset(written())


def _killed(folder, command, due, delay, before_it):
    """Start a run and kill it: what is there must be whole, the same as if it had not been."""
    process = subprocess.Popen(
        [*before_it, *COMMAND, *command], start_new_session=True, stdout=subprocess.DEVNULL
    )
    while process.poll() is None and not due():
        time.sleep(0.001)
    time.sleep(delay)
    running = process.poll() is None
    if running:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for path in results(folder / "killed"):
        if path.suffix == ".fif":
            assert path.read_bytes() == (folder / "whole" / path.name).read_bytes()
    return running


def assert_resumed(folder, command):
    """Run to the end; the results must be those of a run that was not killed."""
    ended = run(*command)
    assert ended.returncode == 0, ended.stderr
    killed, whole = folder / "killed", folder / "whole"
    assert contents(killed) == contents(whole)
    assert not list((killed / ".mne_otica" / "tmp").glob("*"))
    names = {path.relative_to(killed) for path in killed.rglob("*")}
    assert names == {path.relative_to(whole) for path in whole.rglob("*")}


@pytest.fixture(scope="module")
def one_by_one(tmp_path_factory):
    """Three recordings, and what one worker makes of them."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "in").mkdir()
    paths = study.make_files(folder / "in", 3, 20.0)
    assert run("run", *paths, "-o", folder / "whole").returncode == 0
    return folder, paths


def test_two_workers_give_the_same(one_by_one):
    folder, paths = one_by_one
    ended = run("run", *paths, "-o", folder / "two", "--n-jobs", 2)
    assert ended.returncode == 0, ended.stderr
    assert contents(folder / "whole") == contents(folder / "two")


def test_a_run_that_was_killed_goes_on(one_by_one):
    folder, paths = one_by_one
    command = ["run", *paths, "-o", folder / "killed"]
    assert killed_after_a_result(folder, list(map(str, command)))
    assert_resumed(folder, command)


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


def test_a_cluster_gives_the_same(one_by_one, tmp_path):
    pytest.importorskip("distributed")
    folder, paths = one_by_one
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
    assert contents(folder / "whole") == contents(tmp_path / "cluster")


@pytest.mark.slow
def test_results_do_not_depend_on_workers_or_threads(tmp_path):
    """Also if the number of threads is not set, with recordings large enough for several."""
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    for k in range(2):
        raw = simulate_raw(32, 60, 250.0, n_blinks=9, random_state=k).raw
        raw.save(tmp_path / f"{k}_raw.fif", verbose="error")
    inputs = [str(path) for path in sorted(tmp_path.glob("*_raw.fif"))]
    for n_jobs in ("1", "2"):
        command = [*COMMAND, "run", *inputs, "-o", str(tmp_path / n_jobs), "--n-jobs", n_jobs]
        subprocess.run(command, env=environment, capture_output=True, check=True)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
