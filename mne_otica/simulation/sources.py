"""The parts of a simulated recording: head model, brain activity and blinks."""

from dataclasses import dataclass, field

import mne
import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from mne_otica.utils.arrays import Array


@dataclass(frozen=True)
class Contribution:
    """Sources of one kind."""

    maps: Array  # shape (n_channels, n_sources)
    signals: Array  # shape (n_sources, n_times)
    onsets: Array = field(default_factory=lambda: np.zeros(0))  # s, of events if there are any
    kind: str | None = None  # of the artifact


class Head:
    """A spherical head model with sensors: topographies of current dipoles."""

    def __init__(self, info: mne.Info) -> None:
        self.info = info
        self.n_channels = len(info["ch_names"])
        self.positions = np.array([ch["loc"][:3] for ch in info["chs"]])
        # One fixed sphere: a fit to few sensors would be poor.
        self.centre, self.radius = np.array([0.0, 0.015, 0.038]), 0.1
        self.sphere = mne.make_sphere_model(self.centre, self.radius, verbose="error")

    def project(self, positions: Array, orientations: Array) -> Array:
        """Return the topographies of unit dipoles, in volts per ampere metre."""
        orientations = orientations / np.linalg.norm(orientations, axis=1, keepdims=True)
        n = len(positions)
        dipoles = mne.Dipole(np.zeros(n), positions, np.ones(n), orientations, np.full(n, 100.0))
        forward, _ = mne.make_forward_dipole(dipoles, self.sphere, self.info, verbose="error")
        return forward["sol"]["data"].astype(float)

    def radial(self, directions: ArrayLike, depth: float) -> Array:
        """Return the topographies of radial dipoles, with a maximum of one."""
        directions = np.atleast_2d(np.asarray(directions, dtype=float))
        directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        maps = self.project(self.centre + depth * self.radius * directions, directions)
        return maps / np.abs(maps).max(axis=0)

    def eyes(self, direction: ArrayLike) -> Array:
        """Return the topography of both eyes, which move together, with a maximum of one."""
        offset = np.array([[-0.3, 0.68, -0.48], [0.3, 0.68, -0.48]])
        direction = np.array([direction, direction], dtype=float)
        total = self.project(self.centre + self.radius * offset, direction).sum(axis=1)
        return (total / np.abs(total).max())[:, np.newaxis]


def coloured(n: int, n_times: int, sfreq: float, exponent: ArrayLike, rng: Generator) -> Array:
    """Return noise of unit variance whose power is proportional to 1 / frequency**exponent."""
    n_fft = n_times + (n_times % 2)
    freqs = np.fft.rfftfreq(n_fft, 1 / sfreq)
    # Flat below 0.3 Hz: slower drifts come from amplifiers and skin, not from the brain.
    gain = np.maximum(freqs, 0.3) ** (-np.asarray(exponent)[..., np.newaxis] / 2)
    gain[..., 0] = 0
    shape = (n, freqs.size)
    spectrum = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    signal = np.fft.irfft(spectrum * gain, n_fft, axis=1)[:, :n_times]
    return signal / signal.std(axis=1, keepdims=True)


def envelope(
    n: int, n_times: int, sfreq: float, rng: Generator, freq: float = 0.3, depth: float = 0.6
) -> Array:
    """Return slow positive modulations around one."""
    n_knots = max(4, int(n_times / sfreq * freq * 2) + 2)
    knots = np.exp(depth * rng.standard_normal((n, n_knots)))
    at = np.linspace(0, n_knots - 1, n_times)
    return np.array([np.interp(at, np.arange(n_knots), row) for row in knots])


def bump(n_times: int, sfreq: float, peak: float, rise: float, fall: float) -> Array:
    """Return one smooth deflection of height one."""
    late = np.arange(n_times) / sfreq - peak
    phase = late / np.where(late < 0, rise, fall)
    return np.where(np.abs(phase) < 1, (1 + np.cos(np.pi * phase)) / 2, 0)


def brain(head: Head, n_times: int, sfreq: float, rng: Generator) -> Contribution:
    """Return the brain's sources, some with an alpha rhythm."""
    n_sources, n_alpha = 60, 8
    directions = rng.standard_normal((n_sources, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    directions[:, 2] = np.abs(directions[:, 2]) - 0.2  # the cortex is in the upper half
    # Alpha sources are posterior.
    directions[:n_alpha, 1] = -np.abs(directions[:n_alpha, 1]) - 0.5
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    depth = rng.uniform(0.5, 0.8, n_sources)[:, np.newaxis]
    positions = head.centre + head.radius * depth * directions
    tilt = directions + 0.7 * rng.standard_normal((n_sources, 3))
    maps = head.project(positions, tilt)
    signals = coloured(n_sources, n_times, sfreq, rng.uniform(0.8, 1.8, n_sources), rng)
    signals *= envelope(n_sources, n_times, sfreq, rng, depth=0.3)
    times = np.arange(n_times) / sfreq
    for k in range(n_alpha):
        # A random walk of the phase gives the rhythm its natural width of about 1 Hz.
        phase = np.cumsum(rng.standard_normal(n_times)) * np.sqrt(2 * np.pi / sfreq)
        wave = np.cos(2 * np.pi * rng.uniform(9, 11) * times + phase)
        signals[k] += 1.5 * wave * envelope(1, n_times, sfreq, rng)[0]
    return Contribution(maps, signals)


def blink_times(n_blinks: int, duration: float, rng: Generator, pause: float) -> Array:
    """Return random blink times that are at least a pause apart."""
    slack = duration - 1 - pause * n_blinks
    gaps = np.sort(rng.uniform(0, max(slack, 0), n_blinks))
    return 0.5 + pause * (np.arange(n_blinks) + 0.5) + gaps


def blinks(head: Head, peaks: Array, n_times: int, sfreq: float, rng: Generator) -> Contribution:
    """Return the blinks: the lid closes in about 0.1 s and opens about twice as slowly."""
    signal = np.zeros(n_times)
    for peak in peaks:
        closing = 0.11 * np.exp(0.12 * rng.standard_normal())
        opening = 2.1 * closing * np.exp(0.12 * rng.standard_normal())
        height = np.exp(0.25 * rng.standard_normal())
        signal += height * bump(n_times, sfreq, peak, closing, opening)
    return Contribution(head.eyes([0, 1, 0.2]), signal[np.newaxis], peaks, "blink")


def rotations(head: Head, peaks: Array, n_times: int, sfreq: float, rng: Generator) -> Contribution:
    """Return eye rotations with each blink: later, slower, and of independent height."""
    signal = np.zeros(n_times)
    for peak in peaks:
        late = 0.06 * np.exp(0.2 * rng.standard_normal())
        height = np.exp(0.5 * rng.standard_normal())
        signal += height * bump(n_times, sfreq, peak + late, 0.15, 0.3)
    return Contribution(head.eyes([0, 0.3, -1]), signal[np.newaxis], kind="blink")
