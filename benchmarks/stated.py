"""What a cleaning says beside what the recordings prove: ``python -m benchmarks.stated``.

The recordings beside the checkout that have a table of events, EOG, ECG and EMG channels hidden.
True is the same figure as stated, at the tabled events: the reduction of the average in windows of
250 ms (heartbeats: 150 ms) on either side, relative to its mean, at the five channels that see most
of it, between 1 and 40 Hz, where it exceeds twice that at random times. Saccades are
weighed by their size in the EOG channel that tells their direction.
"""

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import mne
import numpy as np
from numpy.typing import NDArray

from benchmarks.results import show
from benchmarks.truth import DATA
from mne_otica import clean_raw
from mne_otica.cleaning.result import Cleaned

HALF = {"blink": 0.25, "eye movement": 0.25, "heartbeat": 0.15}  # s on either side
KINDS = ["blink", "eye movement", "heartbeat"]
NAMES = {"blink": "blink", "saccade": "eye movement", "heartbeat": "heartbeat"}
EYES = {"oset22": "EOG2", "biocalib": "EOG"}  # what tells the direction of a saccade
TOP = 5  # channels


def average(
    x: NDArray[np.float64], at: NDArray[np.int64], half: int, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    mean = np.mean(
        [w * x[:, k - half : k + half] for k, w in zip(at, weights, strict=True)], axis=0
    )
    return mean - mean.mean(axis=1, keepdims=True)


def true_reduction(
    raws: list[mne.io.BaseRaw],
    full: mne.io.BaseRaw,
    name: str,
    kind: str,
    onsets: list[float],
) -> float | None:
    """Return the reduction at the tabled events; None if they do not show."""
    sfreq = full.info["sfreq"]
    half = int(HALF[kind] * sfreq)
    at = (np.array(onsets) * sfreq).astype(int)
    at = at[(at >= half) & (at < full.n_times - half)]
    if len(at) < 4 or (kind == "eye movement" and name not in EYES):
        return None
    weights = np.ones(len(at))
    if kind == "eye movement":
        eog = mne.filter.filter_data(full.get_data([EYES[name]])[0], sfreq, 0.5, 20)
        away = int(0.08 * sfreq)
        last = len(eog) - 1
        weights = eog[(at + away).clip(0, last)] - eog[(at - away).clip(0, last)]
        weights /= np.sqrt(np.mean(weights**2))
    band = 1, min(40, sfreq / 2 - 1)
    before, after = (mne.filter.filter_data(raw.get_data(), sfreq, *band) for raw in raws)
    one, other = (average(x, at, half, weights) for x in (before, after))
    top = np.argsort(-np.abs(one).max(axis=1))[:TOP]
    rng = np.random.default_rng(1)
    chance = [
        average(before, rng.integers(half, full.n_times - half, len(at)), half, weights)[top].std()
        for _ in range(10)
    ]
    size = one[top].std()
    return 1 - other[top].std() / size if size > 2 * np.mean(chance) else None


def rows(path: Path) -> Iterator[str]:
    name = path.name.split("_raw")[0]
    table = path.with_name(f"{name}_events.tsv")
    full = mne.io.read_raw_fif(path, preload=True)
    raw = full.copy().pick("eeg")
    lines = [line.split("\t") for line in table.read_text().splitlines()[1:] if line]
    result: Cleaned = clean_raw(raw, artifacts=KINDS)
    for label, kind in NAMES.items():
        onsets = [float(onset) for onset, what in lines if what.startswith(label)]
        true = true_reduction([raw, result.raw], full, name, kind, onsets)
        one = result.kinds[kind]
        if true is None and not one.components:
            continue
        stated = "nothing removed" if one.gone is None else f"{one.gone:.2f}"
        where = "" if one.cost is None else f"{one.cost:.3f}"
        where += " in total" if where and one.harm.margin is None else ""
        yield (
            f"| {name} | {kind} | {stated} | {'not visible' if true is None else f'{true:.2f}'} | "
            f"{where} | {one.how} |"
        )


def lines(only: list[str]) -> Iterator[str]:
    yield "| recording | kind | stated | true | stated elsewhere | what is removed |"
    yield "|---|---|---|---|---|---|"
    for path in sorted(DATA.glob("*_raw.fif*")):
        name = path.name.split("_raw")[0]
        if path.with_name(f"{name}_events.tsv").exists() and (not only or name in only):
            yield from rows(path)
    yield ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these recordings")
    parser.add_argument("--write", action="store_true", help="keep the table in RESULTS.md")
    args = parser.parse_args()
    mne.set_log_level("ERROR")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        title = "Stated and true reduction: `python -m benchmarks.stated`"
        show(title, lines(args.names), args.write)


if __name__ == "__main__":
    main()
