"""Parallel processing of units, by several workers or a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor

import mne
from mne.utils import logger

from mne_otica.study.inputs import Unit
from mne_otica.study.rows import Row

Process = Callable[[Unit], list[Row]]


def run_units(
    units: Sequence[Unit], process: Process, *, n_jobs: int = 1, dask: str | None = None
) -> Iterator[list[Row]]:
    """Process units and yield their rows as they finish."""
    if dask is not None:
        yield from _on_cluster(units, process, dask)
    elif (n_workers := _n_workers(units, n_jobs)) == 1:
        yield from map(process, units)
    else:
        from joblib import parallel_config

        # One thread each, as more would compete for the cores.
        with parallel_config("loky", n_jobs=n_workers, inner_max_num_threads=1):
            try:
                yield from _parallel(units, process)
            except BrokenExecutor as error:
                raise RuntimeError(
                    "A worker was killed, perhaps because memory ran out. Run again with fewer "
                    "jobs; finished stages are not repeated."
                ) from error


def _parallel(units: Sequence[Unit], process: Process) -> Iterator[list[Row]]:
    from joblib import Parallel, delayed

    task = delayed(_in_worker)
    yield from Parallel(return_as="generator_unordered")(
        task(process, unit, logger.level) for unit in units
    )


def _in_worker(process: Process, unit: Unit, level: int) -> list[Row]:
    import matplotlib

    matplotlib.use("agg")
    with mne.use_log_level(level):
        return process(unit)


def _on_cluster(units: Sequence[Unit], process: Process, address: str) -> Iterator[list[Row]]:
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            "A Dask cluster needs the package distributed; install mne-otica[dask]."
        ) from error
    from joblib import parallel_config

    with Client(address), parallel_config("dask"):
        yield from _parallel(units, process)


def _n_workers(units: Sequence[Unit], n_jobs: int) -> int:
    """Return the number of workers: at most n_jobs and the number of units."""
    if n_jobs == 1 or len(units) < 2:
        return 1
    try:
        from joblib import effective_n_jobs
    except ImportError as error:
        raise ImportError(
            f"n_jobs={n_jobs} needs the package joblib; install mne-otica[parallel], or use 1."
        ) from error
    return min(effective_n_jobs(n_jobs), len(units))
