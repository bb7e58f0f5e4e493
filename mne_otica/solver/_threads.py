"""Work on a few threads, since NumPy releases the GIL in most operations.

The threads of BLAS would compete with them, so BLAS is limited to one thread meanwhile. This needs
threadpoolctl; without it only one thread is used here, and BLAS is not limited.
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
    """Return the number of threads: the number of cores, or ``OMP_NUM_THREADS`` if set."""
    if hasattr(os, "sched_getaffinity"):
        available = len(os.sched_getaffinity(0))
    else:
        available = os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(int(asked), available) if asked.isdecimal() and int(asked) > 0 else available


@cache
def _blas() -> Any:
    """Return the controller of the threads of BLAS, or None if there is none."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    controller = ThreadpoolController().select(user_api="blas")
    return controller if len(controller) else None


class _Limit:
    """Limit BLAS to one thread as long as any fit needs it: fits in threads may overlap."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.n_asking = 0
        self.limiter: Any = None

    def add(self, n: int) -> None:
        """Count the fits that run, and set or lift the limit with the first and the last."""
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
    """Limit BLAS to one thread, if possible."""
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
    """Return the thread pool of this process: threads do not survive a fork."""
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
