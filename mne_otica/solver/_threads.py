"""Pieces of work on a few threads: NumPy lets go of the interpreter in most of what it does."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

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
def _pool(n_workers: int, process: int) -> ThreadPoolExecutor:
    """Return a pool of this process: threads do not outlive a fork."""
    return ThreadPoolExecutor(n_workers, thread_name_prefix="mne_otica")


def in_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Yield the results in the order of the items, whatever the number of threads."""
    n_workers = min(n_threads(), len(items))
    if n_workers < 2:
        return map(function, items)
    return _pool(n_workers, os.getpid()).map(function, items)
