"""Run one fit in a separate process and measure its time and memory."""

import hashlib
import multiprocessing
import pickle
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mne
import numpy as np
from numpy.typing import NDArray

from benchmarks.results import environment
from mne_otica.metrics import residual_dependence

Fit = Callable[[NDArray], tuple[NDArray, int]]  # whitened data -> unmixing, passes or iterations


@dataclass
class Measurement:
    """Time, memory and residual dependence of a fit."""

    seconds: float  # of processor time
    elapsed: float  # by the clock
    passes: int
    dependence: float
    extra_memory: float  # peak, relative to the data in float64
    W: NDArray  # what was found


def _memory(field: str) -> float:
    """Return VmRSS (held now) or VmHWM (peak since the last reset) of this process, in bytes."""
    status = Path("/proc/self/status").read_text().split()
    return 1024 * int(status[status.index(f"{field}:") + 1])


def watched(function: Callable, *args) -> tuple[Any, float, float]:
    """Call a function; return its result, its seconds and the bytes it held at its peak.

    The seconds are processor time, which does not depend on other processes on the machine.
    """
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    started = time.process_time()
    result = function(*args)
    return result, time.process_time() - started, _memory("VmHWM") - before


def _run(fit: Fit, path: Path, connection) -> None:
    mne.set_log_level("error")
    X = np.load(path)
    with warnings.catch_warnings():
        # Methods warn when they reach their maximum of iterations; the table shows the number.
        warnings.simplefilter("ignore")
        fit(X[:4, :2000])  # imports, caches and thread pools are not part of a fit
        started = time.perf_counter()
        (W, passes), seconds, extra = watched(fit, X)
        elapsed = time.perf_counter() - started
    dependence = residual_dependence(W @ X, W)
    connection.send(Measurement(seconds, elapsed, passes, dependence, extra / X.nbytes, W))


ENOUGH_SECONDS = 15  # of fitting: longer runs vary little


def measure(fit: Fit, path: Path, repeats: int = 1) -> Measurement:
    """Fit the whitened data stored in a file; of several runs, report the median time."""
    context = multiprocessing.get_context("spawn")
    runs: list[Measurement] = []
    while len(runs) < repeats and sum(run.seconds for run in runs) < ENOUGH_SECONDS:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fit, path, sender))
        process.start()
        sender.close()
        runs.append(receiver.recv())
        process.join()
    return sorted(runs, key=lambda run: run.seconds)[len(runs) // 2]


def measure_once(fit: Fit, path: Path, folder: Path | None) -> Measurement:
    """Fit once, or take the same fit from a folder of measurements.

    The same is: of the same function to the same samples, on this machine, today, with these
    versions. For peers only, whose results do not depend on the code that is measured here.
    """
    if folder is None:
        return measure(fit, path)
    now = environment()
    peers = {name: one for name, one in now.versions.items() if name != "mne-otica"}
    conditions = f"{fit.__qualname__} {now.date} {now.cores} {now.threads} {peers}"
    key = hashlib.sha256(path.read_bytes() + conditions.encode()).hexdigest()
    kept = folder / f"{fit.__qualname__}-{key[:16]}.pickle"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(pickle.dumps(measure(fit, path)))
    return pickle.loads(kept.read_bytes())
