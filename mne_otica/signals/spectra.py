"""Spectra of channels and, unmixed, of components, from stretches of a second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import rfft
from scipy.ndimage import median_filter

from mne_otica.utils.arrays import Array, Mask, Samples, Single

MOST_TILES = 300  # stretches used, spread evenly over a long recording
HIGHEST = 100.0  # Hz; enough to recognise muscle and mains
LINES = (50.0, 60.0)  # Hz; the mains of the world


@dataclass(frozen=True)
class Spectra:
    """Fourier coefficients, shape (n_signals, n_tiles, n_freqs), of 1 to 100 Hz at most."""

    coefficients: NDArray[np.complex64]
    freqs: Array
    starts: Samples  # the first sample of each tile, of the recording

    @classmethod
    def read(
        cls, read: Callable[[int, int], NDArray], bad: Mask, sfreq: float, step: int
    ) -> Spectra:
        """Read tiles of a multiple of ``step`` samples, finite and not bad, spread evenly."""
        length = step * max(1, round(sfreq / step))
        n_tiles = bad.size // length
        good = ~bad[: n_tiles * length].reshape(n_tiles, length).any(axis=1)
        starts = length * np.flatnonzero(good)
        if len(starts) > MOST_TILES:
            starts = starts[np.linspace(0, len(starts) - 1, MOST_TILES).astype(int)]
        freqs = np.fft.rfftfreq(length, 1 / sfreq)
        freqs = freqs[(freqs > 0.5) & (freqs <= min(HIGHEST, 0.47 * sfreq))]
        window = np.hanning(length)
        window *= np.sqrt(2 / (sfreq * (window @ window)))
        found = np.zeros((len(read(0, 1)), len(starts), len(freqs)), np.complex64)
        for k, first in enumerate(starts):
            tile = read(first, first + length)
            with np.errstate(invalid="ignore"):
                tile = tile - tile.mean(axis=1, keepdims=True)
                found[:, k] = rfft(tile * window, axis=1)[:, 1 : len(freqs) + 1]
        finite = np.isfinite(found.sum(axis=(0, 2)))
        return cls(found[:, finite], freqs, starts[finite])

    def pick(self, rows: list[int]) -> Spectra:
        """Return some of the signals."""
        return Spectra(self.coefficients[rows], self.freqs, self.starts)

    def mixed(self, weights: Array) -> Spectra:
        """Return weighted sums of the signals, a row of weights for each."""
        mixed = np.tensordot(weights.astype(np.float32), self.coefficients, 1)
        return Spectra(mixed, self.freqs, self.starts)

    @property
    def power(self) -> Single:
        """Power density in units squared per hertz, shape (n_signals, n_tiles, n_freqs)."""
        return self.coefficients.real**2 + self.coefficients.imag**2


def usable_top(spectra: Spectra) -> float:
    """Return the highest frequency that was not removed by a low-pass filter."""
    freqs = spectra.freqs
    if not len(freqs) or not spectra.coefficients.size:
        return np.nan
    density = np.median(np.median(spectra.power, axis=1), axis=0)
    clear = without_lines(freqs)
    density = np.interp(freqs, freqs[clear], density[clear])
    # Not of a single rhythm, such as the answer to flashes, but of all that is around it.
    density = median_filter(density, 7, mode="nearest")
    ten = int(np.searchsorted(freqs, freqs[0] + 10))
    # No recording is filtered below 25 Hz, or there is nothing to see of muscle.
    for k in np.flatnonzero(freqs >= 25):
        beyond = density[k + ten :]
        if len(beyond) and beyond.max() < 0.15 * density[k]:
            return float(freqs[k])
    return float(freqs[-1])


def without_lines(freqs: Array) -> Mask:
    """Tell which frequencies are away from the mains."""
    return np.all([np.abs(freqs - line) > 2.5 for line in LINES], axis=0)


def spectral_figures(spectra: Spectra, top: float) -> dict[str, Array]:
    """Return figures of the spectrum of each signal; NaN where there is none."""
    names = "slope high low hum hum_share unsteadiness density".split()
    names += "loud_slope loud_density loud_high".split()
    n_signals = len(spectra.coefficients)
    if not spectra.coefficients.size or not np.isfinite(top):
        return {name: np.full(n_signals, np.nan) for name in names}
    freqs, power = spectra.freqs, spectra.power + np.finfo(np.float32).tiny
    density = np.median(power, axis=1).astype(float)
    high = (freqs >= 20) & (freqs <= top) & without_lines(freqs)
    # The loudest tenth above 20 Hz, which is all there is of a muscle that is seldom tense
    order = np.argsort(-_mean(power[:, :, high]), axis=1)[:, : max(2, power.shape[1] // 10)]
    loud = np.take_along_axis(power, order[:, :, np.newaxis], axis=1).mean(axis=1).astype(float)
    added = np.maximum(loud - density, 0.1 * density)  # that much is added by chance
    hum, hum_share = _hum(freqs, density, power.mean(axis=1).astype(float))
    figures = dict(
        slope=_slope(freqs[high], density[:, high]),  # exponent of the power density
        high=_ratio(density, high, _between(freqs, 3, 12)),
        low=_ratio(density, _between(freqs, 0.9, 2.1), _between(freqs, 4, 12)),
        hum=hum,
        hum_share=hum_share,
        # In nepers; each frequency over its own median, so that none outweighs the others
        unsteadiness=_unsteadiness(_mean(power[:, :, high] / density[:, np.newaxis, high]), high),
        density=_mean(density[:, high]),
        loud_slope=_slope(freqs[high], loud[:, high]),
        loud_density=_mean(loud[:, high]),
        loud_high=_ratio(added, high, _between(freqs, 3, 12)),
    )
    return {name: np.where(density.max(axis=1) > 0, figures[name], np.nan) for name in names}


def _mean(values: NDArray) -> NDArray:
    """Return the mean over frequencies; NaN without a warning where a low rate leaves none."""
    with np.errstate(invalid="ignore"):
        return values.sum(axis=-1) / np.float64(values.shape[-1])


def _between(freqs: Array, low: float, high: float) -> Mask:
    return (freqs >= low) & (freqs <= high)


def _ratio(density: Array, above: Mask, below: Mask) -> Array:
    """Return the decimal logarithm of the density in one band over that in another."""
    return np.log10(_mean(density[:, above]) / _mean(density[:, below]))


def _slope(freqs: Array, density: Array) -> Array:
    x = np.log10(freqs) - _mean(np.log10(freqs))
    y = np.log10(density)
    with np.errstate(invalid="ignore"):
        return (y - _mean(y)[:, np.newaxis]) @ x / (x @ x)


def _hum(freqs: Array, density: Array, mean: Array) -> tuple[Array, Array]:
    """Return the mains over their neighbours, and over all up to 40 Hz: the louder of them."""
    found = np.full((2, 1, len(density)), np.nan)
    for line in LINES:
        if line + 3 <= freqs[-1]:
            away = np.abs(freqs - line)
            nearest = away <= freqs[0] / 2  # as the first frequency is their distance
            over = _ratio(density, nearest, (away > 2.5) & (away < 7))
            hum = mean[:, nearest].sum(axis=1)
            share = np.log10(hum / mean[:, freqs <= 40].sum(axis=1))
            found = np.append(found, [[over], [share]], axis=1)
    return tuple(np.fmax.reduce(found, axis=1))


def _unsteadiness(power: Single, high: Mask) -> Array:
    low, top = np.quantile(np.log(power), [0.1, 0.9], axis=1)
    width = (top - low) / 2.563  # of a normal distribution, in deviations
    # A Hann window makes neighbouring frequencies depend on each other.
    chance = 1.5 / max(int(high.sum()), 1)
    return np.sqrt(np.maximum(width**2 - chance, 0))


def high_levels(spectra: Spectra) -> Array:
    """Return the logarithm of the power above 20 Hz of each signal in each tile."""
    high = (spectra.freqs >= 20) & without_lines(spectra.freqs)
    power = spectra.power[:, :, high].mean(axis=2)
    return np.log(power.astype(float) + 1e-30)
