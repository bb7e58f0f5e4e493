"""The part of a component against all of it: real courses put into real EEG, components by truth.

``python -m benchmarks.parts KIND`` takes the pairs of `benchmarks.put_in`. The component is the one
that follows what was put in best, so that only the removal is judged, not the finder. Errors are
RMS between 1 and 40 Hz over all channels, relative to what was put in: with nothing removed, 1.
Pairs whose best component has a correlation of 0.8 or less with the course are only counted.
"""

import argparse
import warnings
from collections.abc import Iterator

import mne
import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, sosfiltfilt

from benchmarks.put_in import Pair, pairs
from benchmarks.results import show
from mne_otica.artifacts import kinds
from mne_otica.cleaning.clean import fit_ica
from mne_otica.removal.by_kind import kind_part
from mne_otica.signals.reading import filtered_copy
from mne_otica.signals.recording import annotated_bad
from mne_otica.signals.unmixing import maps_in_volts, unmixing_in_volts

LEAST = 0.8  # correlation of the best component with the course
WHOLE, PART = "whole component", "part"


def in_band(x: NDArray[np.float64], sfreq: float) -> NDArray[np.float64]:
    return sosfiltfilt(butter(4, (1, min(40, 0.45 * sfreq)), "band", fs=sfreq, output="sos"), x)


def errors(pair: Pair) -> dict[str, float] | None:
    """Return the error of both ways; None if no component follows the course."""
    sfreq = pair.raw.info["sfreq"]
    ica = fit_ica(filtered_copy(pair.raw, 1.0, 40.0), None, 0, True)
    picks = [pair.raw.ch_names.index(name) for name in ica.ch_names]
    truth = in_band(pair.part[picks], sfreq)
    course = truth[np.argmax(truth.std(axis=1))]
    unmixing, maps = unmixing_in_volts(ica), maps_in_volts(ica)
    sources = in_band(unmixing @ pair.raw.get_data(picks), sfreq)
    follows = [abs(np.corrcoef(x, course)[0, 1]) for x in sources]
    best = int(np.argmax(follows))
    if follows[best] <= LEAST:
        return None
    own = unmixing[best] @ pair.raw.get_data(picks)
    removal = kinds()[pair.kind].removal
    bad = annotated_bad(pair.raw)
    part = kind_part(removal, own[np.newaxis], sfreq, pair.events, bad).part[0]
    return {
        name: float(np.std(np.outer(maps[:, best], in_band(x, sfreq)) - truth) / np.std(truth))
        for name, x in ((WHOLE, own), (PART, part))
    }


def table(kind: str, every: int) -> Iterator[str]:
    rows, lost = [], 0
    for k, pair in enumerate(pairs(kind, repeats=1)):
        if k % every:
            continue
        found = errors(pair)
        lost += found is None
        if found is not None:
            rows.append([found[WHOLE], found[PART]])
    whole, part = np.array(rows).T
    yield (
        "| pairs | not held | whole, median | part, median | ratio, median | largest | "
        "worse than 1.05 of whole | under 0.7 of nothing, whole | part |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    ratio = part / whole
    yield (
        f"| {len(rows)} | {lost} | {np.median(whole):.3f} | {np.median(part):.3f} | "
        f"{np.median(ratio):.2f} | {ratio.max():.2f} | {np.mean(ratio > 1.05):.1%} | "
        f"{np.mean(whole < 0.7):.1%} | {np.mean(part < 0.7):.1%} |"
    )
    yield ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["eye movement", "heartbeat", "muscle", "electrode"])
    parser.add_argument("--every", type=int, default=1, help="only every so many pairs")
    parser.add_argument("--write", action="store_true", help="keep the table in RESULTS.md")
    args = parser.parse_args()
    mne.set_log_level("ERROR")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        title = f"Part of a component, {args.kind}: `python -m benchmarks.parts '{args.kind}'`"
        show(title, table(args.kind, args.every), args.write)


if __name__ == "__main__":
    main()
