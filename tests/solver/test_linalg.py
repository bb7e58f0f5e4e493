"""Work on several threads gives the same numbers as on one."""

import os
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mne_otica import otica, simulation
from mne_otica.solver._linalg import in_threads, n_threads, one_blas_thread


def test_environment_limits_the_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert n_threads() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "100000")
    assert 1 <= n_threads() <= os.cpu_count()
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert 1 <= n_threads() <= os.cpu_count()


def test_results_come_in_order(monkeypatch):
    monkeypatch.setattr("mne_otica.solver._linalg.n_threads", lambda: 3)
    assert list(in_threads(lambda x: x**2, range(50))) == [x**2 for x in range(50)]


def test_errors_are_raised(monkeypatch):
    monkeypatch.setattr("mne_otica.solver._linalg.n_threads", lambda: 2)
    with pytest.raises(ZeroDivisionError):
        list(in_threads(lambda x: 1 / x, [1, 0]))


def blas_threads():
    controller = pytest.importorskip("threadpoolctl").ThreadpoolController()
    return [pool["num_threads"] for pool in controller.select(user_api="blas").info()]


def test_blas_has_its_threads_back_when_the_last_of_overlapping_fits_ends():
    before = blas_threads()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    assert set(blas_threads()) <= {1}
    first.__exit__(None, None, None)
    assert set(blas_threads()) <= {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


def test_blas_has_its_threads_back_after_an_error():
    before = blas_threads()
    with pytest.raises(ValueError, match="max_iter"):
        otica(np.zeros((2, 100)) + np.arange(100) ** [[1], [2]], max_iter=0)
    assert blas_threads() == before


def test_without_threadpoolctl_there_is_one_thread(monkeypatch):
    monkeypatch.setattr("mne_otica.solver._linalg._blas", lambda: None)
    monkeypatch.setattr("mne_otica.solver._linalg.n_threads", lambda: 2)
    with one_blas_thread():
        threads = set(in_threads(lambda _: threading.get_ident(), range(20)))
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize("refine", ["none", "full"])
def test_numbers_do_not_depend_on_the_threads(monkeypatch, refine):
    X = simulation.mixture("continuous", 8, 40_000, seed=0).X
    found = []
    for n in (1, 2, 5):
        monkeypatch.setattr("mne_otica.solver._linalg.n_threads", lambda n=n: n)
        found.append(otica(X, refine=refine)[1])
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])
    assert np.isfinite(found[0]).all()
