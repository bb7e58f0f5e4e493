"""Channels that look broken: much larger than the others, flat, or clipped."""

import numpy as np
from mne.io import BaseRaw
from mne.utils import logger
from numpy.typing import NDArray

from mne_otica.artifacts.maps import FRONTAL, eye_map
from mne_otica.evaluation.sentences import listed, suspects_line
from mne_otica.signals.low_rate import robust_scale
from mne_otica.signals.recording import annotated_bad

# Robust deviation in the band of the fit over that of the median channel (test_suspects.py):
# at most 2.1 in good channels of 23 real recordings and 3.6 in 130 simulated ones, where a blink
# comes every second; 5.4 in the weakest broken channel.
LARGE = 4.5
FLAT = 0.01  # the same; the least of a good channel is 0.3
CLIPPED = 0.01  # share of samples that stay at the largest or smallest value; good ones: 0.001
KEPT = "kept, as no other channel is frontal"


def find_suspects(raw: BaseRaw, filtered: BaseRaw, reject: bool) -> tuple[dict[str, str], list]:
    """Return the suspects with the reason, and those to leave out: not the only frontal ones."""
    suspects, names = _suspects(raw, filtered, reject), filtered.ch_names
    frontal = list(np.array(names)[eye_map(filtered.info, names)[0] >= FRONTAL])
    for name in frontal if set(frontal) <= set(suspects) else ():
        if suspects[name] != "flat":
            suspects[name] += f", {KEPT}"
    left_out = [name for name, why in suspects.items() if not why.endswith(KEPT)]
    if len(names) - len(left_out) < 2:
        told = f"Fewer than 2 EEG channels are left: {suspects_line(suspects)}"
        raise ValueError(f"{told}. Check the channels, or pass find_bad_channels=False.")
    if suspects:
        logger.info(f"Channels: {suspects_line(suspects)}.")
    return suspects, left_out


def _suspects(raw: BaseRaw, filtered: BaseRaw, reject: bool) -> dict[str, str]:
    """Return the channels of the filtered copy that look broken, with the reason."""
    # MNE's local outlier factor would name frontal channels for their blinks in 6 of 23 recordings.
    good = ~(annotated_bad(filtered, reject))
    if not good.any():
        return {}
    names = filtered.ch_names
    spans, clipped = _spans(raw, names, reject)
    if not spans.any():
        raise ValueError(f"All eeg channels are constant ({listed(names)}); check the recording.")
    some = np.flatnonzero(good)[::4]  # neighbours are alike: the deviation is that of all
    scales = np.array([robust_scale(row[some]) for row in filtered._data])
    typical, found = np.median(scales[spans > 0]), {}
    for name, span, scale, share in zip(names, spans, scales, clipped, strict=True):
        if span == 0 or scale < FLAT * typical:
            found[name] = "flat"
        elif scale > LARGE * typical:
            found[name] = f"{scale / typical:.0f} times the median amplitude"
        elif share > CLIPPED:
            found[name] = f"clipped in {100 * share:.0f} % of the samples"
    return found


def _spans(raw: BaseRaw, names: list[str], reject: bool) -> tuple[NDArray, NDArray]:
    """Return the range of channels, and the share of samples that stay at either end of it."""
    picks = [raw.ch_names.index(name) for name in names]
    good = ~(annotated_bad(raw, reject))
    ends = np.tile([[-np.inf], [np.inf]], len(names))  # the largest and the smallest value
    # The recording may be a file: it is read in pieces that stay in the cache.
    stays, size = np.zeros((2, len(names)), int), max(2, 2**18 // len(names))
    for start in range(0, raw.n_times, size):
        piece = raw[picks, start : start + size][0]
        fine = good[start : start + size] & np.isfinite(piece.sum(axis=0))
        piece = piece if fine.all() else piece[:, fine]
        if not piece.size:
            continue
        for k, extreme in enumerate((np.max, np.min)):
            new = extreme([extreme(piece, axis=1), ends[k]], axis=0)
            there = piece == new[:, np.newaxis]
            stays[k, new != ends[k]] = 0
            stays[k] += np.count_nonzero(there[:, 1:] & there[:, :-1], axis=1)
            ends[k] = new
    ranges = np.where(np.isfinite(ends[0]), ends[0] - ends[1], 0.0)
    return ranges, stays.sum(axis=0) / max(np.sum(good), 1)
