"""Many fits at once, few threads, and interrupts: nothing leaks from one into another."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import mne
import pytest
from numpy.testing import assert_array_equal

from mne_otica import clean_raw, otica
from mne_otica.simulation import mixture, simulate_raw

SEEDS = range(8)


def unmixing(seed):
    """Return the matrix of a mixture that this seed makes."""
    return otica(mixture("continuous", 6, 4000, seed).X, random_state=seed)[1]


def cleaned_samples(seed):
    raw = simulate_raw(8, 20, 128.0, n_blinks=6, random_state=seed).raw
    return clean_raw(raw).raw.get_data()


@pytest.fixture(scope="module")
def one_by_one():
    return [unmixing(seed) for seed in SEEDS]


@pytest.mark.parametrize(
    "workers",
    [
        ThreadPoolExecutor,
        lambda n: ProcessPoolExecutor(n, multiprocessing.get_context("spawn")),
    ],
    ids=["threads", "processes"],
)
def test_fits_at_once_are_those_one_by_one(one_by_one, workers):
    with workers(2) as pool:
        at_once = list(pool.map(unmixing, SEEDS))
    for one, other in zip(one_by_one, at_once, strict=True):
        assert_array_equal(one, other)


def test_cleaning_in_threads_gives_the_same():
    seeds = range(4)
    expected = [cleaned_samples(seed) for seed in seeds]
    # The log level is MNE's and one for all threads: calls that overlap can leave it changed.
    with mne.use_log_level("warning"), ThreadPoolExecutor(4) as pool:
        found = list(pool.map(cleaned_samples, seeds))
    for one, other in zip(expected, found, strict=True):
        assert_array_equal(one, other)


COUNT_THREADS = """
import json, os, threading
import numpy as np
from threadpoolctl import threadpool_info
from mne_otica import otica
def threads():
    return sorted(pool["num_threads"] for pool in threadpool_info())
before = threads()
otica(np.random.default_rng(0).laplace(size=(16, 100_000)), verbose="error")
own = len(os.listdir("/proc/self/task")) - threading.active_count()  # of no Python thread
print(json.dumps({"before": before, "after": threads(), "own": own}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_omp_num_threads_is_respected():
    alone = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-c", COUNT_THREADS], env=alone, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found["after"] == found["before"]
    assert set(found["before"]) <= {1}
    assert found["own"] == 0


INTERRUPTED = """
import signal
import mne, numpy as np
import mne_otica
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells may have it ignored
mne.set_log_level("error")
rng = np.random.default_rng(0)
info = mne.create_info(24, 250.0, "eeg")
with info._unlock():
    info["highpass"] = 1.0
raw = mne.io.RawArray(1e-5 * rng.laplace(size=(24, 150_000)), info)
before = raw.get_data().tobytes()
ica = mne_otica.ICA(max_iter=10**6, fit_params=dict(tol=1e-12))
print("fitting", flush=True)
try:
    while True:  # whichever fit the interrupt meets
        ica.fit(raw)
except KeyboardInterrupt:
    assert ica.current_fit in ("unfitted", "raw")
    assert hasattr(ica, "unmixing_matrix_") == (ica.current_fit == "raw")
    assert raw.get_data().tobytes() == before
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_interrupt_ends_a_fit_and_leaves_nothing(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout.readline() == "fitting\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1)  # it is at work
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert rest == "interrupted\n"
    assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []
