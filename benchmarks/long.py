"""Long and dense recordings: time, memory, and how fast an interrupt ends a fit.

Run ``python -m benchmarks.long``; ``--write`` keeps the result. The largest case takes a few
minutes and 3 GB.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import mne

from benchmarks.isolated import watched
from benchmarks.memory import recording
from benchmarks.results import PAGE, show
from mne_otica import ICA

CASES = {"dense": (256, 30.0), "long": (64, 60.0)}  # channels, minutes
SFREQ = 250.0
INTERRUPT_AFTER = 2.0  # seconds into the fit


def fit(n_channels: int, minutes: float) -> dict[str, float]:
    """Fit as a user would, with a progress bar, and measure it."""
    raw = recording(n_channels, minutes, SFREQ)
    ICA(max_iter=1).fit(recording(n_channels, 0.2, SFREQ), verbose="error")  # loads what is late
    print("fitting", flush=True)
    ica, seconds, extra = watched(lambda: ICA().fit(raw, verbose="info"))
    return {
        "data": raw._data.nbytes,
        "peak": extra,
        "seconds": seconds,
        "iterations": ica.n_iter_,
        "converged": ica.converged_,
    }


def start(n_channels: int, minutes: float) -> subprocess.Popen:
    """Start a fit in a process of its own; return when its data are there."""
    command = [sys.executable, "-m", "benchmarks.long", "--fit", str(n_channels), str(minutes)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    while process.stdout.readline() not in ("fitting\n", ""):
        pass
    return process


def whole(n_channels: int, minutes: float) -> tuple[dict[str, float], str]:
    """Return what a fit took, and what it showed meanwhile."""
    out, shown = start(n_channels, minutes).communicate()
    return json.loads(out.splitlines()[-1]), shown + out


def interrupted(n_channels: int, minutes: float, after: float = INTERRUPT_AFTER) -> float:
    """Return the seconds from an interrupt to the end of the process."""
    process = start(n_channels, minutes)
    time.sleep(after)
    if process.poll() is not None:
        raise RuntimeError(f"The fit ended within {after} s, before it could be interrupted.")
    process.send_signal(signal.SIGINT)
    sent = time.perf_counter()
    process.communicate()
    return time.perf_counter() - sent


def lines() -> Iterator[str]:
    yield "| recording | data, MB | peak above it, times the data | s | iterations | interrupt, s |"
    yield "|---|---|---|---|---|---|"
    for n_channels, minutes in CASES.values():
        found, _ = whole(n_channels, minutes)
        seconds = interrupted(n_channels, minutes)
        yield (
            f"| {n_channels} channels, {minutes:g} min at {SFREQ:g} Hz | {found['data'] / 1e6:.0f} "
            f"| {found['peak'] / found['data']:.2f} | {found['seconds']:.0f} "
            f"| {found['iterations']:.0f} | {seconds:.1f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fit", nargs=2, type=float, help="channels and minutes, as JSON")
    parser.add_argument("--write", action="store_true", help=f"keep the result in {PAGE.name}")
    args = parser.parse_args()
    mne.set_log_level("error")
    if args.fit:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # shells may have it ignored
        print(json.dumps(fit(int(args.fit[0]), args.fit[1])))
    else:
        show("Long and dense recordings: `python -m benchmarks.long`", lines(), args.write)


if __name__ == "__main__":
    main()
