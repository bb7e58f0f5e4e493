"""Eye movements and muscle: what exceeds the power expected of the brain. Arrays only."""

from collections.abc import Callable

import numpy as np
from scipy.ndimage import median_filter, uniform_filter, uniform_filter1d
from scipy.signal import ShortTimeFFT
from scipy.signal.windows import hann

from mne_otica.removal.linear_estimate import bridged
from mne_otica.utils.arrays import Array, Mask

# Chosen on about a third of 102 pairs of recordings, the course of an EOG put into other EEG: with
# quantiles of 0.1 and more, the part is worse than the whole component where the eyes never rest.
# `benchmarks.parts` was only the check: in 10 pairs, the median error is 0.230, that of the whole
# component 0.243, and no part is worse than 1.05 times the whole component.
_WINDOW = 0.5  # s, length of the windows for spectra
_REST = 0.05  # quantile of the power over windows: the brain's
_STEEPEST = 2.0  # exponent of the brain's power law, at least half of it
_SMOOTH = (9.0, 3)  # Hz and windows over which the momentary power of muscle is averaged
_BROAD, _PEAK = 17.0, 2.0  # Hz around a peak, and its least ratio to their median


def gaze_part(course: Array, sfreq: float, bad: Mask) -> Array:
    """Return what exceeds the power of the windows in which the eyes rest, zero in bad samples."""

    def gain(power: Array, freqs: Array, times: Array) -> Array:
        spoilt = uniform_filter1d(bad.astype(float), round(_WINDOW * sfreq))
        spoilt = spoilt[np.round(times * sfreq).astype(int).clip(0, len(bad) - 1)]
        rest = np.quantile(power[:, spoilt <= spoilt.min()], _REST, axis=1)[:, np.newaxis]
        found = 1 - rest / np.maximum(power, np.finfo(float).tiny)
        # Above 20 Hz, eye movements have no power.
        return np.where(freqs[:, np.newaxis] > 20, 0.0, found.clip(0))

    return _part(course, sfreq, bad, gain)


def band_part(course: Array, sfreq: float, l_freq: float, bad: Mask) -> Array:
    """Return what exceeds the brain's power law and rhythms above ``l_freq``, zero where bad."""

    def gain(power: Array, freqs: Array, times: Array) -> Array:
        broad = _broad_share(power.mean(axis=1), freqs, l_freq)[:, np.newaxis]
        power = power * broad
        brain = _brain(np.median(power, axis=1) / np.log(2), freqs, l_freq)[:, np.newaxis]
        width = max(1, round(_SMOOTH[0] / (freqs[1] - freqs[0])))
        now = uniform_filter(power, (width, _SMOOTH[1]), mode="nearest")
        with np.errstate(over="ignore"):  # where nothing is now, nothing exceeds the brain's share
            found = broad * (1 - brain / np.maximum(now, np.finfo(float).tiny)).clip(0)
        return np.where(freqs[:, np.newaxis] < l_freq, 0.0, found)

    return _part(course, sfreq, bad, gain) if l_freq < sfreq / 2 else np.zeros_like(course)


def _part(course: Array, sfreq: float, bad: Mask, gain: Callable[..., Array]) -> Array:
    """Return a time course times a gain that depends on power, frequencies and times."""
    length = max(8, round(_WINDOW * sfreq))
    if len(course) < 4 * length or not course[~bad].any():
        return np.zeros_like(course)
    x = bridged(course, bad)
    # Without this continuation, an offset would be a step at either end.
    x = np.pad(x - np.median(x[~bad]), length, mode="reflect", reflect_type="odd")
    frames = ShortTimeFFT(hann(length, sym=False), max(1, length // 4), sfreq)
    transform = frames.stft(x)
    times = frames.t(len(x)) - length / sfreq
    part = frames.istft(gain(np.abs(transform) ** 2, frames.f, times) * transform, k1=len(x))
    return np.where(bad, 0.0, part[length:-length])


def _brain(power: Array, freqs: Array, l_freq: float) -> Array:
    """Return the spectrum below a frequency continued as a power law."""
    below = (freqs >= l_freq / 4) & (freqs <= l_freq)
    x, y = np.log(freqs[below]), np.log(np.maximum(power[below], np.finfo(float).tiny))
    fall = np.clip(-np.polyfit(x, y, 1)[0], _STEEPEST / 2, _STEEPEST)
    return np.exp(np.mean(y + fall * x) - fall * np.log(np.maximum(freqs, freqs[1])))


def _broad_share(power: Array, freqs: Array, l_freq: float) -> Array:
    """Return the share of a mean spectrum outside peaks, which rhythms and line noise have."""
    above = freqs >= l_freq
    width = max(1, round(_BROAD / (freqs[1] - freqs[0])))
    share = np.ones_like(power)
    around = np.maximum(median_filter(power[above], width, mode="nearest"), np.finfo(float).tiny)
    share[above] = 1 / np.where(power[above] > _PEAK * around, power[above] / around, 1.0)
    return share
