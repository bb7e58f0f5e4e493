"""The part of a course that is a muscle's, by frequency and moment by moment. Arrays only.

The spectrum of the brain's share falls: its course below a frequency, continued as a power law, is
what stays above it, and so do its rhythms. What is beyond goes, as the muscle tightens and rests.
Below that frequency a muscle has little and the brain has much. There the muscle's share is not
seen, but follows from how strong it is above: hardly anything of a weak muscle, and more of one
that is far stronger than the brain.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import median_filter, uniform_filter, uniform_filter1d
from scipy.signal import ShortTimeFFT
from scipy.signal.windows import hann

from mne_otica.removal._model import Array, Mask, bridged

_WINDOW = 0.5  # s of the stretches that spectra are taken of
_BELOW = 4.0  # Hz, from where on the spectrum below the band is looked at
_ALPHA = (7.5, 13.5)  # Hz that a rhythm may fill
_FALL = (1.0, 2.0)  # exponents of the fall of a brain's spectrum, at least and at most
_EDGE = 3.0  # Hz over which what is seen takes over from what follows
_SMOOTH = (9.0, 3)  # Hz and stretches that the power of the moment is averaged over
_NEXT = 10.0  # Hz above the edge, in which it is seen how strong the muscle is
_BROAD, _PEAK = 17.0, 2.0  # Hz round a peak, and how many times their median it is at least
_FURTHER = 20.0  # Hz above the edge, up to where a muscle is at most frequencies
_STRONGER = 2.0  # times a brain's power: what is less at most frequencies there is no muscle
_FEWER = 18.0  # Hz, below which a muscle has less and less: with the fourth power


def band_part(course: Array, sfreq: float, l_freq: float, bad: Mask) -> Array:
    """Return the muscle's part: what is seen of it above ``l_freq``, and what follows below."""
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
    # Rhythms below the band are the brain's, as is all that is more than the muscle would have.
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
    """Return the share of a spectrum that is in no peak: rhythms and hum have some, muscles none.

    The spectrum is a mean over time, so that a rhythm may come and go.
    """
    above = freqs >= l_freq - _EDGE
    width = max(1, round(_BROAD / (freqs[1] - freqs[0])))
    share = np.ones_like(power)
    round_it = median_filter(power[above], width, mode="nearest")
    peak = power[above] > _PEAK * round_it
    share[above] = np.where(peak, _share(round_it, power[above]), 1.0)
    return share


def _muscle(power: Array, brain: Array, freqs: Array, l_freq: float) -> Array:
    """Return the spectrum of the muscle at each moment, as strong as it is seen to be."""
    shape = (freqs**2 / (freqs**2 + _FEWER**2)) ** 2
    at = (freqs >= l_freq) & (freqs <= l_freq + _NEXT)
    level = uniform_filter1d(power[at].mean(axis=0), _SMOOTH[1], mode="nearest")
    level = np.maximum(level - brain[at].mean(), 0) / shape[at].mean()
    return shape[:, np.newaxis] * level
