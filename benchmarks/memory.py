"""Peak memory of a fit, compared with stock MNE.

    python -m benchmarks.memory

Simulates a 64-channel recording of an hour at 250 Hz and fits it in a fresh process for each
method. The peak is that of the resident set during the fit, minus what was held before it, with the
recording loaded; it is given in units of the picked data in float64. Few iterations suffice,
because they only change the time. With active projectors and with Epochs the peak is higher for all
methods: MNE then computes the sources to sort the components.
"""

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Iterator

import mne
import numpy as np

from benchmarks.isolated import watched
from benchmarks.results import PAGE, show
from mne_otica import ICA

METHODS = ("otica", "picard", "fastica")


def recording(n_channels: int, minutes: float, sfreq: float) -> mne.io.RawArray:
    """Mix Laplace sources, in place as far as possible."""
    rng = np.random.default_rng(0)
    n_samples = int(minutes * 60 * sfreq)
    data = np.empty((n_channels, n_samples))
    mixing = rng.standard_normal((n_channels, n_channels)) * 1e-5
    for start in range(0, n_samples, 10_000):
        size = min(10_000, n_samples - start)
        data[:, start : start + size] = mixing @ rng.laplace(size=(n_channels, size))
    info = mne.create_info(n_channels, sfreq, "eeg")
    with info._unlock():
        info["highpass"] = 1.0
    return mne.io.RawArray(data, info, copy=None)


def measure(method: str, n_channels: int, minutes: float, sfreq: float, max_iter: int) -> dict:
    raw = recording(n_channels, minutes, sfreq)
    warnings.simplefilter("ignore")  # the iterations are few on purpose
    # A first fit loads what is imported late.
    ICA(method=method, max_iter=max_iter).fit(recording(n_channels, 0.2, sfreq))
    _, seconds, extra = watched(ICA(method=method, max_iter=max_iter).fit, raw)
    return {"picked": raw._data.nbytes, "peak": extra, "seconds": seconds}


def lines(args: argparse.Namespace) -> Iterator[str]:
    yield f"{args.channels} channels, {args.minutes:g} min at {args.sfreq:g} Hz\n"
    yield "| method | picked data, MB | peak above it, MB | times the picked data | seconds |"
    yield "|---|---|---|---|---|"
    for method in METHODS:
        command = [sys.executable, "-m", "benchmarks.memory", *sys.argv[1:], "--method", method]
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        result = json.loads(answer)
        yield (
            f"| {method} | {result['picked'] / 1e6:.0f} | {result['peak'] / 1e6:.0f} "
            f"| {result['peak'] / result['picked']:.2f} | {result['seconds']:.1f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--sfreq", type=float, default=250)
    parser.add_argument("--max-iter", type=int, default=2)
    parser.add_argument("--method", choices=METHODS, help="measure one in this process, as JSON")
    parser.add_argument("--write", action="store_true", help=f"keep the result in {PAGE.name}")
    args = parser.parse_args()
    mne.set_log_level("ERROR")
    if args.method:
        case = (args.method, args.channels, args.minutes, args.sfreq, args.max_iter)
        print(json.dumps(measure(*case)))
        return
    show("Memory of a fit: `python -m benchmarks.memory`", lines(args), args.write)


if __name__ == "__main__":
    main()
