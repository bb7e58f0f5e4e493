"""The part of a course that lies above a frequency and beyond what a brain has there. Arrays only.

The spectrum of the brain's share falls: its course below the band, continued as a power law, is
what stays in it. What is beyond goes, moment by moment, as a muscle tightens and rests.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import uniform_filter
from scipy.signal import ShortTimeFFT
from scipy.signal.windows import hann

from mne_otica.removal._model import Array, Mask

_WINDOW = 0.5  # s of the stretches that spectra are taken of
_BELOW = 4.0  # Hz, from where on the spectrum below the band is looked at
_ALPHA = (7.5, 13.5)  # Hz that a rhythm may fill
_FALL = (1.0, 2.0)  # exponents of the fall of a brain's spectrum, at least and at most
_EDGE = 3.0  # Hz over which the removal sets in
_SMOOTH = (9.0, 3)  # Hz and stretches that the power of the moment is averaged over


def band_part(course: Array, sfreq: float, l_freq: float, bad: Mask) -> Array:
    """Return what lies above ``l_freq`` beyond the spectrum that continues that below it."""
    length = max(8, round(_WINDOW * sfreq))
    if not course.any() or len(course) < 4 * length or l_freq + _EDGE >= sfreq / 2:
        return np.zeros_like(course)
    at = np.arange(len(course))
    x = np.interp(at, at[~bad], course[~bad]) if bad.any() else course
    hop = max(1, length // 4)
    frames = ShortTimeFFT(hann(length, sym=False), hop, sfreq)
    transform = frames.stft(x - np.median(x))
    power, freqs = np.abs(transform) ** 2, frames.f
    rest = _brain(np.median(power, axis=1) / np.log(2), freqs, l_freq)
    width = max(1, round(_SMOOTH[0] / (freqs[1] - freqs[0])))
    now = uniform_filter(power, (width, _SMOOTH[1]), mode="nearest")
    gain = np.clip(1 - rest[:, np.newaxis] / np.maximum(now, np.finfo(float).tiny), 0, 1)
    gain *= np.clip((freqs - l_freq) / _EDGE, 0, 1)[:, np.newaxis]
    part = frames.istft(gain * transform, k1=len(x))
    return np.where(bad, 0.0, part)


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
