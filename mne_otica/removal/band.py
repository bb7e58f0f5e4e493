"""The muscle activity in a time course, by frequency and over time. Arrays only.

The spectrum of brain activity falls with frequency. Above a given frequency it is taken to be the
power law that continues the spectrum below; this part and rhythms are kept. What exceeds them is
muscle activity, estimated over time since muscles tense and relax. Below that frequency muscle
activity is weak and masked by the brain, so it is inferred from its strength above: hardly anything
for a weak muscle, and more for one that is much stronger than the brain.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import median_filter, uniform_filter, uniform_filter1d
from scipy.signal import ShortTimeFFT
from scipy.signal.windows import hann

from mne_otica.removal.linear_estimate import Array, Mask, bridged

_WINDOW = 0.5  # s, length of the windows for spectra
_BELOW = 4.0  # Hz, from where the spectrum below the band is used
_ALPHA = (7.5, 13.5)  # Hz, left out of the fit as they may hold a rhythm
_FALL = (1.0, 2.0)  # smallest and largest exponent of the brain's power law
_EDGE = 3.0  # Hz, width of the transition from the inferred to the measured part
_SMOOTH = (9.0, 3)  # Hz and windows over which the momentary power is averaged
_NEXT = 10.0  # Hz above the edge, where the strength of the muscle is measured
_BROAD, _PEAK = 17.0, 2.0  # Hz around a peak, and its least ratio to their median
_FURTHER = 20.0  # Hz above the edge, up to which a muscle has power at most frequencies
_STRONGER = 2.0  # times the brain's power: if less at most frequencies, there is no muscle
_FEWER = 18.0  # Hz, below which the power of a muscle falls with the fourth power


def band_part(course: Array, sfreq: float, l_freq: float, bad: Mask) -> Array:
    """Return the muscle activity: measured above ``l_freq``, and inferred below."""
    length = max(8, round(_WINDOW * sfreq))
    if not course.any() or len(course) < 4 * length or l_freq + _EDGE >= sfreq / 2:
        return np.zeros_like(course)
    x = bridged(course, bad)
    hop = max(1, length // 4)
    frames = ShortTimeFFT(hann(length, sym=False), hop, sfreq)
    transform = frames.stft(x - np.median(x))
    power, freqs = np.abs(transform) ** 2, frames.f
    broad = _broad_share(power.mean(axis=1), freqs, l_freq)[:, np.newaxis]
    power *= broad
    typical = np.median(power, axis=1) / np.log(2)
    brain = _brain(typical, freqs, l_freq)[:, np.newaxis]
    most = (freqs >= l_freq + _EDGE) & (freqs <= l_freq + _FURTHER)
    if np.median(_share(power.mean(axis=1), brain[:, 0])[most]) <= _STRONGER:
        return np.zeros_like(course)
    width = max(1, round(_SMOOTH[0] / (freqs[1] - freqs[0])))
    now = uniform_filter(power, (width, _SMOOTH[1]), mode="nearest")
    seen = _share(np.maximum(now - brain, 0), now)
    muscle = _muscle(power, brain, freqs, l_freq)
    # Below the band, rhythms and all power beyond that expected of the muscle are the brain's.
    more = typical[:, np.newaxis] - np.median(muscle, axis=1, keepdims=True)
    follows = _share(muscle, muscle + np.maximum(brain, more))
    above = np.clip((freqs - l_freq) / _EDGE, 0, 1)[:, np.newaxis]
    gain = broad * (above * seen + (1 - above) * follows)
    part = frames.istft(gain * transform, k1=len(x))
    return np.where(bad, 0.0, part)


def _share(one: Array, whole: Array) -> Array:
    return one / np.maximum(whole, np.finfo(float).tiny)


def _brain(power: Array, freqs: Array, l_freq: float) -> Array:
    """Return the spectrum below a frequency continued as a power law."""
    below = (freqs >= _BELOW) & (freqs <= l_freq)
    below &= (freqs < _ALPHA[0]) | (freqs > _ALPHA[1])
    if below.sum() < 2:
        below = (freqs > 0) & (freqs <= l_freq)
    x, y = np.log(freqs[below]), np.log(np.maximum(power[below], np.finfo(float).tiny))
    fall = np.clip(-np.polyfit(x, y, 1)[0], *_FALL)
    level = np.mean(y + fall * x)
    return np.exp(level - fall * np.log(np.maximum(freqs, freqs[1])))


def _broad_share(power: Array, freqs: Array, l_freq: float) -> Array:
    """Return the share of a spectrum outside peaks, which rhythms and line noise have, not muscle.

    The spectrum is a mean over time, so that intermittent rhythms count, too.
    """
    above = freqs >= l_freq - _EDGE
    width = max(1, round(_BROAD / (freqs[1] - freqs[0])))
    share = np.ones_like(power)
    round_it = median_filter(power[above], width, mode="nearest")
    peak = power[above] > _PEAK * round_it
    share[above] = np.where(peak, _share(round_it, power[above]), 1.0)
    return share


def _muscle(power: Array, brain: Array, freqs: Array, l_freq: float) -> Array:
    """Return the expected spectrum of a muscle of the measured strength, over time."""
    shape = (freqs**2 / (freqs**2 + _FEWER**2)) ** 2
    at = (freqs >= l_freq) & (freqs <= l_freq + _NEXT)
    level = uniform_filter1d(power[at].mean(axis=0), _SMOOTH[1], mode="nearest")
    level = np.maximum(level - brain[at].mean(), 0) / shape[at].mean()
    return shape[:, np.newaxis] * level
