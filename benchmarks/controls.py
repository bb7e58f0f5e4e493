"""Simulated signals that must not be taken for an artifact that ICA can remove.

Each function returns sources with a typical height of one. ``with_controls`` adds them, and
artifacts, to a simulated recording by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.artifact_sources import ARTIFACTS
from mne_otica.simulation.recordings import Source
from mne_otica.simulation.sources import Contribution, Head, coloured, envelope

SLEEP = 90e-6  # V, the height of K-complexes


def with_controls(
    extra: Mapping[str, float] | None = None, sleep: bool = False
) -> dict[str, tuple[Source, float]]:
    """Return artifacts and controls by name for the parameter ``extra`` of simulate_raw.

    ``sleep`` adds slow waves, K-complexes and spindles.
    """
    extra = {"sleep": SLEEP, **(extra or {})} if sleep else extra or {}
    return {name: (_source(name), height) for name, height in extra.items()}


def _source(name: str) -> Source:
    """Return the source of this name; artifacts know their kind."""
    if name in CONTROLS:
        return CONTROLS[name]
    kind, source = ARTIFACTS[name]
    return lambda *args: replace(source(*args), kind=kind)


def rhythm(
    freq: float, n_times: int, sfreq: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return an oscillation with a random walk of the phase, so that it is about 1 Hz wide."""
    phase = np.cumsum(rng.standard_normal(n_times)) * np.sqrt(2 * np.pi / sfreq)
    return np.cos(2 * np.pi * freq * np.arange(n_times) / sfreq + phase)


def _sleep(head: Head, n_times: int, sfreq: float, rng: np.random.Generator) -> Contribution:
    """Return K-complexes over the frontal midline, slow waves around them, and spindles."""
    directions = [[0.0, 0.5, 0.85], [-0.35, 0.45, 0.8], [0.35, 0.45, 0.8], [0, 0.1, 1]]
    maps = head.radial(directions, 0.7)
    signal = np.zeros((4, n_times))
    signal[:3] = 0.12 * coloured(3, n_times, sfreq, np.full(3, 2.5), rng)
    signal[:3] *= envelope(3, n_times, sfreq, rng, freq=0.1)
    times = np.arange(n_times) / sfreq
    for at in rng.uniform(1, times[-1] - 1, rng.poisson(times[-1] / 25)):
        late = times - at
        speed = np.exp(0.2 * rng.standard_normal(2))
        wave = -np.exp(-0.5 * (late / 0.1 / speed[0]) ** 2)
        wave += 0.7 * np.exp(-0.5 * ((late - 0.4) / 0.18 / speed[1]) ** 2)
        signal[0] += np.exp(0.3 * rng.standard_normal()) * wave
    for at in rng.uniform(1, times[-1] - 1, rng.poisson(times[-1] / 12)):
        swell = 0.4 * np.exp(-0.5 * ((times - at) / 0.3) ** 2 + 0.3 * rng.standard_normal())
        signal[3] += swell * np.cos(2 * np.pi * rng.uniform(11.5, 14.5) * times)
    return Contribution(maps, signal)


def _trains(
    n_times: int, sfreq: float, rng: np.random.Generator, length: tuple[float, float], gap: float
) -> NDArray[np.float64]:
    """Return smooth on-off envelopes for bursts of activity."""
    times, gate = np.arange(n_times) / sfreq, np.zeros(n_times)
    start = rng.uniform(0, gap)
    while start < times[-1]:
        stop = start + rng.uniform(*length)
        gate[(times >= start) & (times < stop)] = np.exp(0.2 * rng.standard_normal())
        start = stop + rng.exponential(gap)
    edge = np.hanning(max(3, int(0.4 * sfreq)))
    return np.convolve(gate, edge / edge.sum(), mode="same")


def _alpha(head: Head, n_times: int, sfreq: float, rng: np.random.Generator) -> Contribution:
    """Return a strong posterior rhythm."""
    maps = head.radial([[rng.uniform(-0.4, 0.4), -0.85, 0.4]], 0.65)
    signal = rhythm(rng.uniform(8, 12), n_times, sfreq, rng)
    return Contribution(maps, (signal * envelope(1, n_times, sfreq, rng)[0])[np.newaxis])


def _mu(head: Head, n_times: int, sfreq: float, rng: np.random.Generator) -> Contribution:
    """Return the arch-shaped mu rhythm over the hand areas: 10 Hz with its harmonic."""
    maps = head.radial([[-0.55, 0, 0.8], [0.55, 0, 0.8]], 0.75)
    signals = np.zeros((2, n_times))
    for row in signals:
        phase = np.cumsum(rng.standard_normal(n_times)) * np.sqrt(np.pi / sfreq)
        phase += 2 * np.pi * rng.uniform(9, 11) * np.arange(n_times) / sfreq
        row += (np.cos(phase) + 0.5 * np.cos(2 * phase)) * envelope(1, n_times, sfreq, rng)[0]
    return Contribution(maps, signals)


def _frontal_delta(
    head: Head, n_times: int, sfreq: float, rng: np.random.Generator
) -> Contribution:
    """Return frontal intermittent rhythmic delta activity."""
    maps = head.radial([[0, 0.75, 0.6]], 0.65)
    signal = rhythm(rng.uniform(1.5, 3), n_times, sfreq, rng)
    return Contribution(maps, (signal * _trains(n_times, sfreq, rng, (2, 6), 8))[np.newaxis])


def _photic_driving(
    head: Head, n_times: int, sfreq: float, rng: np.random.Generator
) -> Contribution:
    """Return occipital responses to flashes: exactly periodic, in trains."""
    maps = head.radial([[-0.25, -0.95, 0.15], [0.25, -0.95, 0.15]], 0.7)
    phase = 2 * np.pi * rng.uniform(4, 20) * np.arange(n_times) / sfreq
    wave = np.cos(phase) + 0.6 * np.cos(2 * phase + 1) + 0.3 * np.cos(3 * phase + 2)
    gate = _trains(n_times, sfreq, rng, (5, 10), 6)
    return Contribution(maps, np.array([wave * gate, 0.8 * np.roll(wave, 2) * gate]))


def _swings(
    freq: float, n_times: int, sfreq: float, rng: np.random.Generator
) -> Iterator[NDArray[np.float64]]:
    """Yield the time course of the same movement at different electrodes."""
    phase = 2 * np.pi * freq * np.arange(n_times) / sfreq
    phase += 0.03 * np.cumsum(rng.standard_normal(n_times)) * np.sqrt(100 / sfreq)
    while True:
        turn = rng.uniform(0, 2 * np.pi, 3)
        yield (
            np.cos(phase + turn[0])
            + 0.6 * np.cos(2 * phase + turn[1])
            + 0.3 * np.cos(3 * phase + turn[2])
        )


def _shaking(
    head: Head, n_times: int, sfreq: float, rng: np.random.Generator, freqs: tuple[float, float]
) -> Contribution:
    """Return cable movements while the head is shaken, for one stretch of the recording."""
    times = np.arange(n_times) / sfreq
    length = min(rng.uniform(8, 25), 0.5 * times[-1])
    start = rng.uniform(0, times[-1] - length)
    gate = np.exp(-0.5 * ((times - start - length / 2) / (0.35 * length)) ** 4)
    swings = _swings(rng.uniform(*freqs), n_times, sfreq, rng)
    maps = np.hstack([_patch(head, rng) for _ in range(2)])
    heights = envelope(2, n_times, sfreq, rng, freq=1.0, depth=0.3)
    return Contribution(maps, np.array([next(swings), next(swings)]) * gate * heights)


def _patch(head: Head, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the topography of cables that move together: a few electrodes, or one."""
    at = rng.integers(head.n_channels - 2)
    distance = np.linalg.norm(head.positions - head.positions[at], axis=1) / head.radius
    return np.exp(-0.5 * (distance / rng.uniform(0.15, 0.8)) ** 2)[:, np.newaxis]


def _head_shaking(head: Head, n_times: int, sfreq: float, rng: np.random.Generator) -> Contribution:
    return _shaking(head, n_times, sfreq, rng, (1.2, 3.5))


def _chest_percussion(
    head: Head, n_times: int, sfreq: float, rng: np.random.Generator
) -> Contribution:
    return _shaking(head, n_times, sfreq, rng, (2.0, 5.0))


def _breathing(head: Head, n_times: int, sfreq: float, rng: np.random.Generator) -> Contribution:
    """Return slow movements of the head with breathing."""
    freq, times = rng.uniform(0.15, 0.4), np.arange(n_times) / sfreq
    wander = 0.1 * np.cumsum(rng.standard_normal(n_times)) / np.sqrt(sfreq)
    signal = np.sin(2 * np.pi * freq * times + wander)
    return Contribution(_patch(head, rng), signal[np.newaxis])


def _sweat(head: Head, n_times: int, sfreq: float, rng: np.random.Generator) -> Contribution:
    """Return skin that dries or sweats: slow drifts that neighbouring electrodes share."""
    signal = coloured(2, n_times, sfreq, rng.uniform(2.0, 3.0, 2), rng)
    # Most of it subsides soon after the electrodes are attached.
    settling = np.exp(-np.arange(n_times) / (sfreq * rng.uniform(3, 15)))
    signal += rng.uniform(0, 4, (2, 1)) * settling
    signal -= signal.mean(axis=1, keepdims=True)
    signal /= np.abs(signal).max(axis=1, keepdims=True)
    return Contribution(np.hstack([_patch(head, rng) for _ in signal]), signal)


CONTROLS: dict[str, Source] = {
    "sleep": _sleep,
    "alpha": _alpha,
    "mu": _mu,
    "frontal delta": _frontal_delta,
    "photic driving": _photic_driving,
    "head shaking": _head_shaking,
    "chest percussion": _chest_percussion,
    "breathing": _breathing,
    "sweat": _sweat,
}
