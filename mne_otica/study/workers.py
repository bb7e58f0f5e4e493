"""Processing of units, one by one, by several workers or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import mne
from mne.utils import logger

from mne_otica.solver._linalg import one_blas_thread
from mne_otica.study.inputs import Unit
from mne_otica.study.scratch_and_locks import OutputError, explained, locked
from mne_otica.study.sidecars import STAGES, Options
from mne_otica.study.stages import UnitStages
from mne_otica.study.summary_table import Row, failed_row, keep_row, row_of


def process(unit: Unit, out: Path, options: Options) -> list[Row]:
    """Run all pending stages of a unit; return one row per recording, also if it failed.

    Raises only if the output folder cannot be written to, as all other units would fail, too.
    Another run on the same unit waits, and then finds it done.
    """
    # With one thread of BLAS, the last digits do not depend on the number of workers.
    with explained(out), locked(out, unit.name.label), one_blas_thread():
        work, failed, rows = UnitStages(unit, out, options), None, []
        shared = [stage for stage in options.stages if stage in STAGES[:2]]
        try:
            for stage in shared:
                work.do(stage)
        except OutputError:
            raise
        except Exception as error:
            failed = error
        for recording in unit.recordings:
            try:
                if failed is not None:
                    raise failed
                for stage in options.stages[len(shared) :]:
                    work.do(stage, recording)
                row = row_of(work, recording)
            except OutputError:
                raise
            except Exception as error:
                row = failed_row(recording, error)
            keep_row(out, recording, unit, row)
            rows.append(row)
        work.notes.save()
        return rows


def run_units(
    units: Sequence[Unit], out: Path, options: Options, n_jobs: int = 1, dask: str | None = None
) -> Iterator[list[Row]]:
    """Process units and yield their rows as they finish."""
    if dask is None and (n_jobs == 1 or len(units) < 2):
        yield from (process(unit, out, options) for unit in units)
        return
    try:
        from joblib import Parallel, delayed, effective_n_jobs, parallel_config
    except ImportError as error:
        raise ImportError(
            f"n_jobs={n_jobs} needs the package joblib; install mne-otica[parallel], or use 1."
        ) from error
    tasks = [delayed(_in_worker)(unit, out, options, logger.level) for unit in units]
    # One thread each, as more would compete for the cores.
    n_workers = min(effective_n_jobs(n_jobs), len(units))
    local = partial(parallel_config, "loky", n_jobs=n_workers, inner_max_num_threads=1)
    with local() if dask is None else _on_cluster(dask):
        try:
            yield from Parallel(return_as="generator_unordered")(tasks)
        except BrokenExecutor as error:
            raise RuntimeError(
                "A worker was killed, perhaps because memory ran out. Run again with fewer jobs; "
                "finished stages are not repeated."
            ) from error


def _in_worker(unit: Unit, out: Path, options: Options, level: int) -> list[Row]:
    import matplotlib

    matplotlib.use("agg")
    with mne.use_log_level(level):
        return process(unit, out, options)


@contextmanager
def _on_cluster(address: str) -> Iterator[None]:
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            "A Dask cluster needs the package distributed; install mne-otica[dask]."
        ) from error
    from joblib import parallel_config

    with Client(address), parallel_config("dask"):
        yield
