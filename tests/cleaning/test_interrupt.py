"""Ctrl-C while half an hour of 64 channels is cleaned and saved."""

import shutil
import signal
import time

import numpy as np
import pytest

from benchmarks.hours import recording
from mne_otica import clean_raw

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of processor time"),
]
SOON = 2.0  # s


def interrupted(function, seconds):
    """Return how long a call goes on after an interrupt that comes then, or None if it was done."""
    previous = signal.signal(signal.SIGPROF, signal.default_int_handler)
    started = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        function()
        signal.setitimer(signal.ITIMER_PROF, 0)
    except KeyboardInterrupt:
        return time.process_time() - started - seconds
    finally:
        signal.signal(signal.SIGPROF, previous)
    return None


@pytest.fixture(scope="module")
def raw():
    return recording(64, 30, 500.0)


def test_an_interrupt_ends_the_cleaning_soon(raw):
    before = raw.get_data(stop=100_000)
    started = time.process_time()
    clean_raw(raw)
    whole = time.process_time() - started
    rng = np.random.default_rng(0)
    late = [interrupted(lambda: clean_raw(raw), t) for t in rng.uniform(0, 0.8 * whole, 8)]
    late = [seconds for seconds in late if seconds is not None]
    assert len(late) > 4
    assert max(late) < SOON
    np.testing.assert_array_equal(raw.get_data(stop=100_000), before)


def test_an_interrupt_leaves_no_part_of_a_file(raw, tmp_path):
    result, rng = clean_raw(raw), np.random.default_rng(0)
    started = time.process_time()
    old = result.save(tmp_path)
    whole = time.process_time() - started

    def sizes_and_times():
        return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in old.values()}

    kept = sizes_and_times()
    for t in rng.uniform(0, 0.8 * whole, 6):
        late = interrupted(lambda: result.save(tmp_path / "new"), t)
        if late is not None:
            assert late < SOON
            assert not list((tmp_path / "new").iterdir())
            if interrupted(lambda: result.save(tmp_path, overwrite=True), t) is None:
                kept = sizes_and_times()  # it was faster this time
            assert sizes_and_times() == kept
        shutil.rmtree(tmp_path / "new", ignore_errors=True)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in kept}
