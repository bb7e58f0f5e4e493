"""Work on several threads gives the same numbers as on one."""

import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mne_otica import otica, simulation
from mne_otica.solver._threads import in_threads, n_threads


def test_environment_limits_the_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert n_threads() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "100000")
    assert 1 <= n_threads() <= os.cpu_count()
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert 1 <= n_threads() <= os.cpu_count()


def test_results_come_in_order(monkeypatch):
    monkeypatch.setattr("mne_otica.solver._threads.n_threads", lambda: 3)
    assert list(in_threads(lambda x: x**2, range(50))) == [x**2 for x in range(50)]


def test_errors_are_raised(monkeypatch):
    monkeypatch.setattr("mne_otica.solver._threads.n_threads", lambda: 2)
    with pytest.raises(ZeroDivisionError):
        list(in_threads(lambda x: 1 / x, [1, 0]))


@pytest.mark.parametrize("refine", ["none", "full"])
def test_numbers_do_not_depend_on_the_threads(monkeypatch, refine):
    X = simulation.mixture("continuous", 8, 40_000, seed=0).X
    found = []
    for n in (1, 2, 5):
        monkeypatch.setattr("mne_otica.solver._threads.n_threads", lambda n=n: n)
        found.append(otica(X, refine=refine)[1])
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])
    assert np.isfinite(found[0]).all()
