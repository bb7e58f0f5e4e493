"""The muscle activity in a time course, by frequency and over time. Arrays only.

The spectrum of brain activity falls with frequency. Above a given frequency it is taken to be the
power law that continues the spectrum below; this part and rhythms are kept. What exceeds them is
muscle activity, estimated over time since muscles tense and relax. Below that frequency muscle
activity is weak and masked by the brain, so nothing is removed.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import median_filter, uniform_filter
from scipy.signal import ShortTimeFFT
from scipy.signal.windows import hann

from mne_otica.removal.linear_estimate import Array, Mask, bridged

_WINDOW = 0.5  # s, length of the windows for spectra
_BELOW = 4.0  # Hz, from where the spectrum below the band is used
_STEEPEST = 2.0  # exponent of the brain's power law, at least half of it
_SMOOTH = (9.0, 3)  # Hz and windows over which the momentary power is averaged
_BROAD, _PEAK = 17.0, 2.0  # Hz around a peak, and its least ratio to their median


def band_part(course: Array, sfreq: float, l_freq: float, bad: Mask) -> Array:
    """Return the muscle activity above ``l_freq``."""
    length = max(8, round(_WINDOW * sfreq))
    if bad.all() or len(course) < 4 * length or l_freq >= sfreq / 2 or not course[~bad].any():
        return np.zeros_like(course)
    x = bridged(course, bad)
    frames = ShortTimeFFT(hann(length, sym=False), max(1, length // 4), sfreq)
    transform = frames.stft(x - np.median(x))
    power, freqs = np.abs(transform) ** 2, frames.f
    broad = _broad_share(power.mean(axis=1), freqs, l_freq)[:, np.newaxis]
    power *= broad
    brain = _brain(np.median(power, axis=1) / np.log(2), freqs, l_freq)[:, np.newaxis]
    width = max(1, round(_SMOOTH[0] / (freqs[1] - freqs[0])))
    now = uniform_filter(power, (width, _SMOOTH[1]), mode="nearest")
    with np.errstate(over="ignore"):  # where nothing is now, nothing exceeds the brain's share
        gain = broad * (1 - brain / np.maximum(now, np.finfo(float).tiny)).clip(0)
    gain[freqs < l_freq] = 0
    return np.where(bad, 0.0, frames.istft(gain * transform, k1=len(x)))


def _brain(power: Array, freqs: Array, l_freq: float) -> Array:
    """Return the spectrum below a frequency continued as a power law."""
    below = (freqs >= min(_BELOW, l_freq / 2)) & (freqs <= l_freq)
    x, y = np.log(freqs[below]), np.log(np.maximum(power[below], np.finfo(float).tiny))
    fall = np.clip(-np.polyfit(x, y, 1)[0], _STEEPEST / 2, _STEEPEST)
    level = np.mean(y + fall * x)
    return np.exp(level - fall * np.log(np.maximum(freqs, freqs[1])))


def _broad_share(power: Array, freqs: Array, l_freq: float) -> Array:
    """Return the share of a spectrum outside peaks, which rhythms and line noise have, not muscle.

    The spectrum is a mean over time, so that intermittent rhythms count, too.
    """
    above = freqs >= l_freq
    width = max(1, round(_BROAD / (freqs[1] - freqs[0])))
    share = np.ones_like(power)
    around = np.maximum(median_filter(power[above], width, mode="nearest"), np.finfo(float).tiny)
    share[above] = 1 / np.where(power[above] > _PEAK * around, power[above] / around, 1.0)
    return share
