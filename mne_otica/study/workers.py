"""Parallel processing of units, by as many workers as fit into memory."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from pathlib import Path

import mne
from mne.utils import logger

from mne_otica.study.inputs import Unit, read_header, sources
from mne_otica.study.rows import Row

_COPIES = 8.0  # peak memory of a unit relative to its samples in double precision, measured
_WORKER = 400e6  # bytes of a worker with libraries and figures, measured

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
    """Return the number of workers: at most n_jobs, the number of units, and what memory allows."""
    if n_jobs == 1 or len(units) < 2:
        return 1
    try:
        from joblib import effective_n_jobs
    except ImportError as error:
        raise ImportError(
            f"n_jobs={n_jobs} needs the package joblib; install mne-otica[parallel], or use 1."
        ) from error
    wanted = min(effective_n_jobs(n_jobs), len(units))
    need, free = memory_needed(units), memory_free()
    allowed = max(1, int(free // need)) if need and free else wanted
    if allowed < wanted:
        logger.info(
            f"{allowed} of {wanted} workers: each may need {need / 1e9:.1f} GB of memory, and "
            f"{free / 1e9:.1f} GB are free."
        )
    return min(wanted, allowed)


def memory_needed(units: Iterable[Unit]) -> float:
    """Return the bytes that the largest unit needs; 0 if none can be read."""
    largest = sorted(units, key=_size_on_disk, reverse=True)[:3]
    sizes = []
    for unit in largest:
        with suppress(Exception):  # a unit that cannot be read needs no memory
            headers = [read_header(recording) for recording in unit.recordings]
            sizes.append(sum(8 * raw.n_times * len(raw.ch_names) for raw in headers))
    return _WORKER + _COPIES * max(sizes) if sizes else 0.0


def _size_on_disk(unit: Unit) -> int:
    paths = [recording for recording in unit.recordings if recording.path.exists()]
    return sum(path.stat().st_size for recording in paths for path in sources(recording))


def memory_free() -> float | None:
    """Return the bytes of free memory, or of the limit of the job; None if unknown."""
    found = [
        *(1024 * int(kilobytes) for kilobytes in _numbers("/proc/meminfo", r"MemAvailable:\s+")),
        *_numbers("/sys/fs/cgroup/memory.max", ""),  # of a container
    ]
    if (allotted := os.environ.get("SLURM_MEM_PER_NODE", "")).isdecimal():
        found.append(int(allotted) * 1024**2)
    return min(found, default=None)


def _numbers(path: str, before: str) -> list[int]:
    """Return the numbers in a file that follow this pattern at the start of a line."""
    with suppress(OSError):
        text = Path(path).read_text(encoding="utf-8")
        return [int(number) for number in re.findall(rf"^{before}(\d+)", text, re.MULTILINE)]
    return []
