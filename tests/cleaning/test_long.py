"""Recordings as long and as dense as they get: minutes each, and some gigabytes."""

import sys

import pytest

from benchmarks import long

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc"),
]
BOUND = 2.5  # peak above the recording, in units of the recording


@pytest.mark.parametrize("case", long.CASES)
def test_memory_is_bounded_and_progress_is_shown(case):
    found, shown = long.whole(*long.CASES[case])
    assert found["converged"]
    assert found["peak"] < BOUND * found["data"]
    assert "OT-ICA" in shown


@pytest.mark.parametrize("case", long.CASES)
def test_interrupt_ends_the_fit(case):
    assert long.interrupted(*long.CASES[case]) < 60  # a hang; the benchmark tells the seconds
