"""Real recordings, changed in ways that should not matter, and how far the answer moves.

    python -m benchmarks.perturbed FOLDER --write

Each recording in FOLDER is cleaned of all kinds as it is, with its channels in another order, twice
as large, with the average as reference, and without its last tenth. A decision is whether a kind of
artifact is removed from a recording.
"""

import argparse
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported

import mne
import numpy as np

import mne_otica
from benchmarks.results import markdown, show

HEAD = (
    "change, recordings, blink decisions changed, other decisions changed, "
    "blinks removed: median change, blinks removed: largest change, elsewhere: largest change, "
    "blinks counted: median change, blinks counted: largest change"
)


def permuted(raw: mne.io.BaseRaw) -> None:
    names = np.random.default_rng(0).permutation(raw.ch_names)
    raw.reorder_channels(list(names))


def scaled(raw: mne.io.BaseRaw) -> None:
    raw.apply_function(lambda x: 2 * x, picks="eeg")


def referenced(raw: mne.io.BaseRaw) -> None:
    raw.set_eeg_reference("average")


def cropped(raw: mne.io.BaseRaw) -> None:
    raw.crop(0, 0.9 * raw.times[-1])


CHANGES = {
    "order of channels": permuted,
    "twice as large": scaled,
    "average reference": referenced,
    "last tenth missing": cropped,
}


def answers(raw: mne.io.BaseRaw) -> dict:
    """Return what was removed of each kind: share, share elsewhere, and events."""
    kinds = mne_otica.clean_raw(raw, artifacts="all").kinds
    return {
        kind: (one.gone, one.harm.taken_out if one.harm else 0.0, len(one.events))
        if one.components
        else None
        for kind, one in kinds.items()
    }


def summary(label: str, pairs: list[tuple[dict, dict]]) -> list[str]:
    """Return the row of one change, from the answers before and after it."""
    flips = {
        kind: sum((one[kind] is None) != (other[kind] is None) for one, other in pairs)
        for kind in pairs[0][0]
    }
    both = [(a["blink"], b["blink"]) for a, b in pairs if a["blink"] and b["blink"]]
    gone, elsewhere, events = np.abs(np.diff(np.array(both, float), axis=1))[:, 0].T
    others = sum(flips.values()) - flips["blink"]
    return [
        label,
        str(len(pairs)),
        str(flips["blink"]),
        f"{others} of {len(pairs) * (len(flips) - 1)}",
        f"{100 * np.median(gone):.1f} %",
        f"{100 * gone.max():.1f} %",
        f"{100 * elsewhere.max():.1f} %",
        f"{np.median(events):g}",
        f"{events.max():g}",
    ]


def lines(folder: Path) -> Iterator[str]:
    """Yield the table."""
    pairs: dict[str, list] = {label: [] for label in CHANGES}
    for path in sorted([*folder.glob("*_raw.fif*"), *folder.glob("*.set")]):
        raw = mne.io.read_raw(path, preload=True)
        before = answers(raw)
        for label, change in CHANGES.items():
            other = raw.copy()
            change(other)
            pairs[label].append((before, answers(other)))
    yield markdown(HEAD.split(", "), [summary(label, found) for label, found in pairs.items()])


def main() -> None:
    """Print the table, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--write", action="store_true", help="keep the tables in benchmarks/results"
    )
    args = parser.parse_args()
    mne.set_log_level("error")
    warnings.simplefilter("ignore")
    show(
        "Changes that should not matter: `python -m benchmarks.perturbed FOLDER`",
        lines(args.folder),
        args.write,
    )


if __name__ == "__main__":
    main()
