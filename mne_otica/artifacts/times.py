"""Blink times from channels: which channels to use, and which of their events are blinks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mne_otica.artifacts import events as ev
from mne_otica.artifacts.blink import KIND, course_figures, upright
from mne_otica.artifacts.eyes import eye_map, frontal_channels, has_front
from mne_otica.artifacts.maps import event_maps, focality, frontality, same_map
from mne_otica.artifacts.model import probability, weigh
from mne_otica.signals.low_rate import LARGE, Prepared, Signals, eog_names

if TYPE_CHECKING:
    from mne import Info

_CLEARLY = 5.0  # standard errors above which an average is not noise


class Times(NamedTuple):
    """Peaks at the low rate, the channels they come from, and the evidence for blinks."""

    score: float
    names: list[str]
    polarity: int
    peaks: NDArray[np.float64]


def blink_sources(
    info: Info, signals: Signals, ch_name: str | Sequence[str] | None
) -> dict[str, list[list[int]]]:
    """Return the sources to try in turn: a name, and groups of signals."""
    names = signals.names
    if ch_name is not None:
        return {"channel": [[k] for k in range(len(names))]}
    sources = {}
    eog = [names.index(ch) for ch in eog_names(info, by_name=True)]
    if eog:
        sources["eog"] = [[k] for k in eog]
    eeg = [k for k in range(len(names)) if k not in eog]
    expected, _ = eye_map(info, [names[k] for k in eeg])
    frontal = [eeg[k] for k in frontal_channels(expected)]
    if frontal:
        # The median of all is robust to one bad electrode; single channels are the fallback.
        sources["frontal"] = [frontal, *[[k] for k in frontal if len(frontal) > 1]]
    elif eeg and not np.isfinite(expected).any():
        sources["channel"] = [[k] for k in eeg]
    return sources


def best_group(info: Info, signals: Signals, groups: list[list[int]]) -> Times:
    """Return the times of the group with the best evidence for blinks."""
    prepared = signals.prepared
    expected, _ = eye_map(info, signals.names)
    if not has_front(expected):
        expected = np.full(len(signals.names), np.nan)
    best = None
    for group in groups:
        score, found = _events(signals, prepared.middle(group), expected)
        # The first group is the most robust; another has to be clearly better.
        if best is None or score > best.score + 0.05:
            names = [signals.names[j] for j in group]
            best = Times(score, names, found.polarity, found.typical_peaks)
    return best


def with_one_map(signals: Signals, peaks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the peaks that share the topography of most of them."""
    if len(signals.names) < 4 or len(peaks) < 3:
        return peaks
    prepared = signals.prepared
    return peaks[same_map(event_maps(prepared, peaks), prepared.noise)]


def with_confirmed(
    signals: Signals, found: Times, candidates: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the peaks of channels, and candidates of a component that these channels confirm.

    Small blinks may be visible in a channel only on average: if the average of the candidates
    is significant, all of them are confirmed.
    """
    one = signals.prepared.middle([signals.names.index(name) for name in found.names])
    apart = ev.REFRACTORY * one.sfreq
    new = np.array([c for c in candidates if np.all(np.abs(found.peaks - c) > apart)])
    scale = one.background[0]
    if not len(new) or not scale > 0:
        return found.peaks
    heights = found.polarity * one.band[0][np.round(new).astype(int)] / scale
    on_average = heights.mean() * np.sqrt(len(new)) > _CLEARLY
    return np.sort(np.r_[found.peaks, new[(heights > LARGE) | on_average]])


def _events(
    signals: Signals, one: Prepared, expected: NDArray[np.float64]
) -> tuple[float, ev.Evidence]:
    """Return the score and the evidence of one prepared signal."""
    scales = signals.prepared.noise
    found = ev.evidence(one, 0)
    maps = event_maps(signals.prepared, found.peaks)
    if found.n_events and len(maps) >= 4:
        # A blink has the topography of the other blinks; a pop or a movement does not.
        keep = same_map(maps, scales)
        whole = np.round(found.peaks[keep]).astype(int)
        found = ev.describe(one, 0, whole, found.polarity)
        maps = maps[:, keep]
    if not found.n_events:
        return 0.0, found
    one_map = np.median(maps, axis=1)
    figures = course_figures(found, signals.prepared.duration)
    if signals.plausible_volts:
        figures["amplitude"] = found.height * found.scale
    if len(one_map) >= 4:
        figures["frontality"] = upright(frontality(one_map, expected))
        # A noisy channel is large at all times, so deflections are measured relative to the noise.
        figures["focality"] = focality(one_map[scales > 0] / scales[scales > 0])
    return probability(weigh(KIND.name, figures)), found
