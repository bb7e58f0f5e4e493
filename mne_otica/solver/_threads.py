"""Pieces of work on a few threads: NumPy lets go of the interpreter in most of what it does.

The threads of BLAS would compete with them, so BLAS is kept to one thread meanwhile. That needs
threadpoolctl; without it, there is one thread here, and BLAS has as many as it likes.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def n_threads() -> int:
    """Return how many threads to use: as many as cores, or as ``OMP_NUM_THREADS`` allows."""
    if hasattr(os, "sched_getaffinity"):
        available = len(os.sched_getaffinity(0))
    else:
        available = os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(int(asked), available) if asked.isdecimal() and int(asked) > 0 else available


@cache
def _blas() -> Any:
    """Return what controls the threads of BLAS, or None if nothing does."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    controller = ThreadpoolController().select(user_api="blas")
    return controller if len(controller) else None


class _Limit:
    """One thread for BLAS for as long as anybody asks for it: fits in threads may overlap."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.n_asking = 0
        self.limiter: Any = None

    def add(self, n: int) -> None:
        """Count those who ask, and act when the first comes or the last goes."""
        with self.lock:
            self.n_asking += n
            if self.n_asking and self.limiter is None:
                self.limiter = _blas().limit(limits=1)
            elif not self.n_asking:
                self.limiter.restore_original_limits()
                self.limiter = None


_LIMIT = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread, where that can be done."""
    if _blas() is None:
        yield
        return
    _LIMIT.add(1)
    try:
        yield
    finally:
        _LIMIT.add(-1)


@cache
def _pool(n_workers: int, process: int) -> ThreadPoolExecutor:
    """Return a pool of this process: threads do not outlive a fork."""
    return ThreadPoolExecutor(n_workers, thread_name_prefix="mne_otica")


def in_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return the results in the order of the items, whatever the number of threads."""
    n_workers = min(n_threads(), len(items)) if _blas() else 1
    if n_workers < 2:
        return [function(item) for item in items]
    left = deque(enumerate(items))
    results: dict[int, Result] = {}

    def work() -> None:
        while left:
            try:
                number, item = left.popleft()
            except IndexError:  # another thread was faster
                return
            results[number] = function(item)

    # The thread that calls does its share: it need not be woken up.
    helping = [_pool(n_workers - 1, os.getpid()).submit(work) for _ in range(n_workers - 1)]
    try:
        work()
    finally:
        for future in helping:
            if not future.cancel():
                future.result()
    return [results[number] for number in range(len(items))]
