"""Artifacts other than blinks: topographies, time courses in volts and event onsets."""

import numpy as np
from numpy.random import Generator

from mne_otica.simulation.sources import Contribution, Head, coloured, envelope
from mne_otica.utils.arrays import Array


def saccades(
    head: Head, n_times: int, sfreq: float, rng: Generator, amplitude: float = 30e-6
) -> Contribution:
    """Return horizontal and vertical gaze shifts: fast steps held for a while."""
    maps = np.hstack([head.eyes([1, 0.1, 0]), head.eyes([0, 0.6, 1])])
    signal = np.zeros((2, n_times))
    start, starts = 0, []
    while start < n_times:
        stop = start + max(1, int(sfreq * rng.uniform(0.25, 2.5)))
        signal[:, start:stop] = rng.standard_normal((2, 1)) * [[1.0], [0.3]]
        starts.append(start)
        start = stop
    onsets = np.array(starts[1:]) / sfreq
    ramp = np.hanning(max(3, int(0.05 * sfreq)))  # a saccade takes 50 ms
    steps = np.array([np.convolve(row, ramp / ramp.sum(), mode="same") for row in signal])
    return Contribution(maps, amplitude * steps, onsets, "eye movement")


def muscle(head: Head, n_times: int, sfreq: float, rng: Generator) -> Contribution:
    """Return bursts of both temples and the neck, strongest above 20 Hz."""
    maps = head.radial([[-0.85, 0.35, -0.1], [0.85, 0.35, -0.1], [0, -0.9, -0.3]], 0.88)
    signal = coloured(3, n_times, sfreq, np.full(3, -1.0), rng)
    gate = np.zeros((3, n_times))
    starts = []
    for row in gate:
        for _ in range(1 + rng.poisson(n_times / sfreq / 15)):
            start = int(rng.uniform(0, n_times))
            row[start : start + int(sfreq * rng.uniform(0.3, 2.0))] = rng.uniform(0.5, 2)
            starts.append(start)
    return Contribution(maps, 15e-6 * signal * gate, np.sort(starts) / sfreq, "muscle")


def heartbeat(head: Head, n_times: int, sfreq: float, rng: Generator) -> Contribution:
    """Return the field of the heart: a gradient across the head, as the heart is far away."""
    slope = (head.positions - head.centre) @ np.array([-0.6, 0.1, -0.8])
    beats = np.cumsum(rng.normal(0.85, 0.05, int(n_times / sfreq / 0.6) + 2))
    beats = beats[beats < (n_times - 1) / sfreq]
    signal = 3e-6 * heart_course(beats, n_times, sfreq)
    one_map = (slope / np.abs(slope).max())[:, np.newaxis]
    return Contribution(one_map, signal[np.newaxis], beats, "heartbeat")


def heart_course(beats: Array, n_times: int, sfreq: float, qrs: float = 0.012) -> Array:
    """Return R, S and T waves at the beats; ``qrs`` is the standard deviation of R in seconds."""
    times = np.arange(n_times) / sfreq
    signal = np.zeros(n_times)
    for beat in beats:
        near = slice(max(0, int((beat - 0.2) * sfreq)), min(n_times, int((beat + 0.6) * sfreq)))
        late = times[near] - beat
        signal[near] += np.exp(-0.5 * (late / qrs) ** 2)
        signal[near] -= 0.25 * np.exp(-0.5 * ((late - 2.5 * qrs) / qrs) ** 2)
        signal[near] += 0.2 * np.exp(-0.5 * ((late - 0.25) / 0.045) ** 2)
    return signal


def line(head: Head, n_times: int, sfreq: float, freq: float, rng: Generator) -> Contribution:
    """Return line noise, with a different amplitude at each electrode."""
    hum = np.cos(2 * np.pi * freq * np.arange(n_times) / sfreq)
    return Contribution(2e-6 * rng.uniform(0.3, 1.5, (head.n_channels, 1)), hum[np.newaxis])


def pops(
    head: Head, n_pops: int, amplitude: float, n_times: int, sfreq: float, rng: Generator
) -> Contribution:
    """Return pops of one electrode: jumps that decay."""
    one_map = np.zeros((head.n_channels, 1))
    one_map[rng.integers(head.n_channels - 2)] = 1
    signal = np.zeros(n_times)
    sign = rng.choice([-1, 1])
    tau = rng.uniform(0.1, 0.6) * sfreq
    starts = rng.integers(n_times, size=n_pops)
    for start in starts:
        height = sign * amplitude * np.exp(0.4 * rng.standard_normal())
        signal[start:] += height * np.exp(-np.arange(n_times - start) / tau)
    return Contribution(one_map, signal[np.newaxis], np.sort(starts) / sfreq, "electrode")


def noisy(
    head: Head, n_noisy: int, n_times: int, sfreq: float, rng: Generator, amplitude: float = 40e-6
) -> Contribution:
    """Return electrodes with a poor contact: drift, crackle, and a few jumps."""
    maps = np.zeros((head.n_channels, n_noisy))
    where = rng.choice(head.n_channels - 2, n_noisy, replace=False)
    maps[where, np.arange(n_noisy)] = 1
    signal = coloured(n_noisy, n_times, sfreq, rng.uniform(0, 2, n_noisy), rng)
    signal *= envelope(n_noisy, n_times, sfreq, rng, depth=1.0)
    for row in signal:
        for start in rng.integers(n_times, size=rng.poisson(2)):
            row[start:] += 5 * rng.standard_normal()
    return Contribution(maps, amplitude * signal, kind="electrode")


def movements(
    head: Head, n_movements: int, n_times: int, sfreq: float, rng: Generator
) -> Contribution:
    """Return movements: slow, large, each one different."""
    maps = rng.standard_normal((head.n_channels, n_movements))
    maps = (maps + maps.mean(axis=0)) / np.abs(maps).max(axis=0)
    signal = np.zeros((n_movements, n_times))
    for row in signal:
        length = min(n_times, int(sfreq * rng.uniform(0.5, 3.0)))
        start = rng.integers(n_times - length + 1)
        shape = coloured(1, length, sfreq, np.array([2.0]), rng)[0]
        row[start : start + length] = 200e-6 * shape * np.hanning(length)
    return Contribution(maps, signal)
