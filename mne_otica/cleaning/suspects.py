"""Channels that look broken: much larger than the others, flat, or clipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from mne.utils import logger
from numpy.typing import NDArray

from mne_otica.artifacts.eyes import FRONTAL, eye_map
from mne_otica.evaluation.text import listed
from mne_otica.signals.low_rate import robust_scale
from mne_otica.signals.reading import excerpt
from mne_otica.signals.recording import annotated_bad

if TYPE_CHECKING:
    from mne.io import BaseRaw

# Robust deviation in the band of the fit over that of the median channel (test_suspects.py):
# at most 2.1 in good channels of 23 real recordings and 3.6 in 130 simulated ones, where a blink
# comes every second; 5.4 in the weakest broken channel.
LARGE = 4.5
FLAT = 0.01  # the same; the least of a good channel is 0.3
CLIPPED = 0.01  # share of samples that stay at the largest or smallest value; good ones: 0.001
KEPT = "kept, as no other channel is frontal"


def leave_out_suspects(raw: BaseRaw, filtered: BaseRaw, reject: bool) -> dict[str, str]:
    """Mark suspects as bad in a recording and drop them from its filtered copy, both in place.

    Return all of them with the reason. Those without which no frontal channel is left are kept.
    """
    suspects = _suspects(raw, filtered, reject)
    values = dict(zip(filtered.ch_names, eye_map(filtered.info, filtered.ch_names)[0], strict=True))
    frontal = [name for name, value in values.items() if value >= FRONTAL]
    if set(frontal) <= set(suspects):
        for name in frontal:
            if suspects[name] != "flat":
                suspects[name] += f", {KEPT}"
    left_out = [name for name, why in suspects.items() if not why.endswith(KEPT)]
    if len(filtered.ch_names) - len(left_out) < 2:
        raise ValueError(
            f"Fewer than 2 EEG channels are left: {told_suspects(suspects)}. Check the channels, "
            "or pass find_bad_channels=False."
        )
    if suspects:
        logger.info(f"Channels: {told_suspects(suspects)}.")
    raw.info["bads"] = raw.info["bads"] + left_out
    filtered.drop_channels(left_out)
    return suspects


def told_suspects(suspects: dict[str, str]) -> str:
    """Return which channels were left out, and why, as text."""
    return f"suspect channels: {listed([f'{name} ({why})' for name, why in suspects.items()])}"


def _suspects(raw: BaseRaw, filtered: BaseRaw, reject: bool) -> dict[str, str]:
    """Return the channels of the filtered copy that look broken, with the reason.

    MNE's local outlier factor would need scikit-learn. At its defaults it names frontal channels
    for their blinks in 6 of 23 recordings, and no channel where there are fewer than 21.
    """
    good = ~annotated_bad(filtered) if reject else np.ones(filtered.n_times, bool)
    if not good.any():
        return {}
    rows = excerpt(raw, filtered.ch_names, reject)
    samples = {name: _finite(row) for name, row in zip(filtered.ch_names, rows, strict=True)}
    flat = {name for name, x in samples.items() if not len(x) or not np.ptp(x)}
    if flat == set(samples):
        raise ValueError(
            f"All eeg channels are constant ({listed(list(samples))}); check the recording."
        )
    scales = {
        name: 0.0 if name in flat else robust_scale(row[good])
        for name, row in zip(samples, filtered.get_data(), strict=True)
    }
    typical, found = np.median([scales[name] for name in samples if name not in flat]), {}
    for name, x in samples.items():
        if name in flat or scales[name] < FLAT * typical:
            found[name] = "flat"
        elif scales[name] > LARGE * typical:
            found[name] = f"{scales[name] / typical:.0f} times the median amplitude"
        elif (share := _clipped(x)) > CLIPPED:
            found[name] = f"clipped in {100 * share:.0f} % of the samples"
    return found


def _finite(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return x[np.isfinite(x)]


def _clipped(x: NDArray[np.float64]) -> float:
    """Return the share of samples that, like their neighbour, have an extreme value."""
    extreme = (x == x.max()) | (x == x.min())
    return float(np.mean(extreme[1:] & extreme[:-1]))
