"""Real recordings whose blinks, saccades and heartbeats are listed: how much of them is removed.

    python -m benchmarks.real FOLDER --write

FOLDER has NAME_raw.fif(.gz) with NAME_events.tsv (onset, type) or NAME_blinks.tsv, made from EOG
and ECG without this package. Those channels are hidden from the cleaning. The share is that of the
average over the listed events, at the five channels where it is largest. An artifact whose average
does not exceed twice that of random times counts as not visible. "Elsewhere" is
RMS(before - after) / RMS(before), 1 to 40 Hz, at least 1 s from blinks, 0.6 s from saccades and
0.12 s from beats.
"""

import argparse
import csv
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported

import mne
import numpy as np
from numpy.typing import NDArray

import mne_otica
from benchmarks.results import markdown, show

HALF = {"blink": 0.25, "saccade": 0.25, "heartbeat": 0.15}  # of a window, in seconds
FAR = {"blink": 1.0, "saccade": 0.6, "heartbeat": 0.12}  # "elsewhere" is further from an event
# The channel that tells the direction of a saccade; elsewhere the list of them is not complete.
DIRECTION = {"oset22": "EOG2", "biocalib": "EOG"}
ASKED = {"blinks only": "blink", "all kinds": "all"}
N_CHANNELS, N_RANDOM, FEWEST = 5, 10, 4


def listed(raw: mne.io.BaseRaw, path: Path) -> dict[str, NDArray[np.int64]]:
    """Return the samples of the events in the table of a recording, by kind."""
    found: dict[str, list[float]] = {kind: [] for kind in HALF}
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            kind = next((kind for kind in found if row.get("type", "blink").startswith(kind)), None)
            if kind:
                found[kind].append(float(row["onset"]))
    return {kind: raw.time_as_index(onsets) for kind, onsets in found.items() if onsets}


def signs(full: mne.io.BaseRaw, name: str, samples: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the direction of each saccade in the EOG, so that opposite ones do not cancel."""
    eog = full.copy().pick([DIRECTION[name]]).filter(0.5, 20, picks="all").get_data()[0]
    step = int(0.12 * full.info["sfreq"])
    return np.array([np.sign(eog[k : k + step].mean() - eog[k - step : k].mean()) for k in samples])


def average(data: NDArray, samples: NDArray, half: int, turn: NDArray | float = 1) -> NDArray:
    """Return the average of windows around samples, without its mean."""
    windows = np.stack([data[:, k - half : k + half] for k in samples]) * np.reshape(
        turn, (-1, 1, 1)
    )
    mean = windows.mean(axis=0)
    return mean - mean.mean(axis=1, keepdims=True)


def removed(before: NDArray, after: NDArray, samples: NDArray, half: int, turn: NDArray) -> float:
    """Return the share of the average that is removed; NaN if the artifact is not visible."""
    rng = np.random.default_rng(1)
    first = average(before, samples, half, turn)
    top = np.argsort(-np.abs(first).max(axis=1))[:N_CHANNELS]

    def size(mean: NDArray) -> float:
        return float(np.sqrt(np.mean(mean[top] ** 2)))

    by_chance = [
        size(average(before, rng.integers(half, before.shape[1] - half, len(samples)), half))
        for _ in range(N_RANDOM)
    ]
    if size(first) < 2 * np.mean(by_chance):
        return np.nan
    return 1 - size(average(after, samples, half, turn)) / size(first)


def measure(path: Path, table: Path, artifacts: str) -> dict[str, float]:
    """Clean a recording without its EOG and ECG, and return what was removed."""
    full = mne.io.read_raw_fif(path, preload=True)
    raw = full.copy().pick("eeg")
    sfreq, name = raw.info["sfreq"], table.stem.rsplit("_", 1)[0]
    cleaned = mne_otica.clean_raw(raw, artifacts=artifacts).raw
    band = 1, min(40, sfreq / 2 - 1)
    before, after = (inst.copy().filter(*band).get_data() for inst in (raw, cleaned))
    far, shares = np.ones(before.shape[1], bool), {}
    for kind, samples in listed(full, table).items():
        for sample in samples:
            far[max(0, sample - int(FAR[kind] * sfreq)) : sample + int(FAR[kind] * sfreq)] = False
        half = int(HALF[kind] * sfreq)
        samples = samples[(samples > half) & (samples < before.shape[1] - half)]
        if len(samples) >= FEWEST and (kind != "saccade" or name in DIRECTION):
            turn = signs(full, name, samples) if kind == "saccade" else np.ones(len(samples))
            shares[kind] = removed(before, after, samples, half, turn)
    if far.sum() > sfreq:
        difference = (after - before)[:, far]
        shares["elsewhere"] = np.sqrt(np.mean(difference**2) / np.mean(before[:, far] ** 2))
    return shares


def lines(folder: Path) -> Iterator[str]:
    """Yield the tables."""
    columns = [*HALF, "elsewhere"]
    for asked, artifacts in ASKED.items():
        found = {}
        for table in sorted([*folder.glob("*_events.tsv"), *folder.glob("*_blinks.tsv")]):
            name = table.stem.rsplit("_", 1)[0]
            (path,) = folder.glob(f"{name}_raw.fif*")
            found[name] = measure(path, table, artifacts)
        rows = [[name, *(_share(of.get(key)) for key in columns)] for name, of in found.items()]
        summary = [["median", *(_middle(found, key, np.median) for key in columns)]]
        summary += [["worst", *(_middle(found, key, np.min) for key in HALF), _worst_harm(found)]]
        yield f"### {asked}\n"
        yield markdown(["recording", *columns], rows + summary)
        yield ""


def _share(value: float | None) -> str:
    return "" if value is None else "not visible" if np.isnan(value) else f"{100 * value:.1f} %"


def _values(found: dict[str, dict[str, float]], key: str) -> list[float]:
    return [of[key] for of in found.values() if np.isfinite(of.get(key, np.nan))]


def _middle(found: dict, key: str, how: object) -> str:
    values = _values(found, key)
    return f"{_share(how(values))} of {len(values)}" if values else ""


def _worst_harm(found: dict) -> str:
    return _share(max(_values(found, "elsewhere")))


def main() -> None:
    """Print the tables, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--write", action="store_true", help="keep the tables in benchmarks/results"
    )
    args = parser.parse_args()
    mne.set_log_level("error")
    warnings.simplefilter("ignore")
    show("Real recordings: `python -m benchmarks.real FOLDER`", lines(args.folder), args.write)


if __name__ == "__main__":
    main()
