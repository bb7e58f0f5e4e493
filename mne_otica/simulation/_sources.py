"""What a simulated recording is made of: each source as maps and time courses.

Every function returns the maps, shape (n_channels, n_sources), and the signals, shape
(n_sources, n_times), of one kind of source.
"""

import mne
import numpy as np


class Head:
    """A spherical head with sensors on it: from a current dipole to a map."""

    def __init__(self, info):
        self.info = info
        self.n_channels = len(info["ch_names"])
        self.positions = np.array([ch["loc"][:3] for ch in info["chs"]])
        # One fixed sphere, not one fitted to the sensors at hand: four sensors fit badly.
        self.centre, self.radius = np.array([0.0, 0.015, 0.038]), 0.1
        self.sphere = mne.make_sphere_model(self.centre, self.radius, verbose="error")

    def project(self, positions, orientations):
        """Return the maps of unit dipoles, in volts per ampere metre."""
        orientations = orientations / np.linalg.norm(orientations, axis=1, keepdims=True)
        n = len(positions)
        dipoles = mne.Dipole(np.zeros(n), positions, np.ones(n), orientations, np.full(n, 100.0))
        forward, _ = mne.make_forward_dipole(dipoles, self.sphere, self.info, verbose="error")
        return forward["sol"]["data"].astype(float)

    def eyes(self, direction):
        """Return the map of both eyes, which move together, with a maximum of one."""
        offset = np.array([[-0.3, 0.68, -0.48], [0.3, 0.68, -0.48]])
        direction = np.array([direction, direction], dtype=float)
        total = self.project(self.centre + self.radius * offset, direction).sum(axis=1)
        return (total / np.abs(total).max())[:, np.newaxis]


def _coloured(n, n_times, sfreq, exponent, rng):
    """Return noise whose power falls as frequency to the exponent, unit variance."""
    n_fft = n_times + (n_times % 2)
    freqs = np.fft.rfftfreq(n_fft, 1 / sfreq)
    # Level below 0.3 Hz: amplifiers and skin drifts are not part of the brain.
    gain = np.maximum(freqs, 0.3) ** (-np.asarray(exponent)[..., np.newaxis] / 2)
    gain[..., 0] = 0
    shape = (n, freqs.size)
    spectrum = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    signal = np.fft.irfft(spectrum * gain, n_fft, axis=1)[:, :n_times]
    return signal / signal.std(axis=1, keepdims=True)


def _envelope(n, n_times, sfreq, rng, freq=0.3, depth=0.6):
    """Return slow positive modulations around one."""
    n_knots = max(4, int(n_times / sfreq * freq * 2) + 2)
    knots = np.exp(depth * rng.standard_normal((n, n_knots)))
    at = np.linspace(0, n_knots - 1, n_times)
    return np.array([np.interp(at, np.arange(n_knots), row) for row in knots])


def brain(head, n_times, sfreq, rng, n_sources=60, n_alpha=8):
    """Return maps, signals and names of the brain's sources."""
    directions = rng.standard_normal((n_sources, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    directions[:, 2] = np.abs(directions[:, 2]) - 0.2  # the cortex is in the upper half
    # Alpha comes from the back of the head.
    directions[:n_alpha, 1] = -np.abs(directions[:n_alpha, 1]) - 0.5
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    depth = rng.uniform(0.5, 0.8, n_sources)[:, np.newaxis]
    positions = head.centre + head.radius * depth * directions
    tilt = directions + 0.7 * rng.standard_normal((n_sources, 3))
    maps = head.project(positions, tilt)
    signals = _coloured(n_sources, n_times, sfreq, rng.uniform(0.8, 1.8, n_sources), rng)
    signals *= _envelope(n_sources, n_times, sfreq, rng, depth=0.3)
    times = np.arange(n_times) / sfreq
    for k in range(n_alpha):
        # A random walk of the phase gives the rhythm its natural width of about 1 Hz.
        phase = np.cumsum(rng.standard_normal(n_times)) * np.sqrt(2 * np.pi / sfreq)
        rhythm = np.cos(2 * np.pi * rng.uniform(9, 11) * times + phase)
        signals[k] += 1.5 * rhythm * _envelope(1, n_times, sfreq, rng)[0]
    return maps, signals, ["brain"] * n_sources


def blink_times(n_blinks, duration, rng, pause=0.6):
    """Return blink times: at random, but never closer than the pause."""
    slack = duration - 1 - pause * n_blinks
    gaps = np.sort(rng.uniform(0, max(slack, 0), n_blinks))
    return 0.5 + pause * (np.arange(n_blinks) + 0.5) + gaps


def blinks(head, peaks, n_times, sfreq, rng):
    """Return the map and the time course of the blinks.

    The lid closes in about 0.1 s and opens about twice as slowly, with a smooth turn at
    both ends; height and speed vary from blink to blink.
    """
    signal = np.zeros(n_times)
    for peak in peaks:
        closing = 0.11 * np.exp(0.12 * rng.standard_normal())
        opening = 2.1 * closing * np.exp(0.12 * rng.standard_normal())
        height = np.exp(0.25 * rng.standard_normal())
        signal += height * _bump(n_times, sfreq, peak, closing, opening)
    return head.eyes([0, 1, 0.2]), signal[np.newaxis]


def rotations(head, peaks, n_times, sfreq, rng):
    """Return the turn of the eyes with each blink: after it, slower, and of any height."""
    signal = np.zeros(n_times)
    for peak in peaks:
        late, height = (
            0.06 * np.exp(0.2 * rng.standard_normal()),
            np.exp(0.5 * rng.standard_normal()),
        )
        signal += height * _bump(n_times, sfreq, peak + late, 0.15, 0.3)
    return head.eyes([0, 0.3, -1]), signal[np.newaxis]


def _bump(n_times, sfreq, peak, rise, fall):
    """Return one smooth deflection of height one."""
    late = np.arange(n_times) / sfreq - peak
    phase = late / np.where(late < 0, rise, fall)
    return np.where(np.abs(phase) < 1, (1 + np.cos(np.pi * phase)) / 2, 0)


def saccades(head, n_times, sfreq, rng, amplitude=30e-6):
    """Return horizontal and vertical gaze shifts: fast steps held for a while."""
    maps = np.hstack([head.eyes([1, 0.1, 0]), head.eyes([0, 0.6, 1])])
    signal = np.zeros((2, n_times))
    start = 0
    while start < n_times:
        stop = start + max(1, int(sfreq * rng.uniform(0.25, 2.5)))
        signal[:, start:stop] = rng.standard_normal((2, 1)) * [[1.0], [0.3]]
        start = stop
    ramp = np.hanning(max(3, int(0.05 * sfreq)))
    ramp /= ramp.sum()
    signal = np.array([np.convolve(row, ramp, mode="same") for row in signal])
    return maps, amplitude * signal


def muscle(head, n_times, sfreq, rng, amplitude=15e-6):
    """Return bursts of both temples and the neck, strongest above 20 Hz."""
    directions = np.array([[-0.85, 0.35, -0.1], [0.85, 0.35, -0.1], [0, -0.9, -0.3]])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    maps = head.project(head.centre + 0.88 * head.radius * directions, directions)
    maps /= np.abs(maps).max(axis=0)
    signal = _coloured(3, n_times, sfreq, np.full(3, -1.0), rng)
    gate = np.zeros((3, n_times))
    for row in gate:
        for _ in range(1 + rng.poisson(n_times / sfreq / 15)):
            start = int(rng.uniform(0, n_times))
            row[start : start + int(sfreq * rng.uniform(0.3, 2.0))] = rng.uniform(0.5, 2)
    return maps, amplitude * signal * gate


def heartbeat(head, n_times, sfreq, rng, amplitude=3e-6):
    """Return the field of the heart: from far away, so a mere slope across the head."""
    slope = (head.positions - head.centre) @ np.array([-0.6, 0.1, -0.8])
    slope = (slope / np.abs(slope).max())[:, np.newaxis]
    beats = np.cumsum(rng.normal(0.85, 0.05, int(n_times / sfreq / 0.6) + 2))
    times = np.arange(n_times) / sfreq
    signal = np.zeros(n_times)
    for beat in beats[beats < times[-1]]:
        near = slice(max(0, int((beat - 0.2) * sfreq)), min(n_times, int((beat + 0.6) * sfreq)))
        late = times[near] - beat
        signal[near] += np.exp(-0.5 * (late / 0.012) ** 2)
        signal[near] -= 0.25 * np.exp(-0.5 * ((late - 0.03) / 0.012) ** 2)
        signal[near] += 0.2 * np.exp(-0.5 * ((late - 0.25) / 0.045) ** 2)
    return slope, amplitude * signal[np.newaxis]


def line(head, n_times, sfreq, freq, rng, amplitude=2e-6):
    """Return the mains hum, which every electrode picks up to its own degree."""
    hum = np.cos(2 * np.pi * freq * np.arange(n_times) / sfreq)
    return amplitude * rng.uniform(0.3, 1.5, (head.n_channels, 1)), hum[np.newaxis]


def pops(head, n_pops, amplitude, n_times, sfreq, rng):
    """Return pops of one electrode: it jumps, then creeps back."""
    one_map = np.zeros((head.n_channels, 1))
    one_map[rng.integers(head.n_channels - 2)] = 1
    signal = np.zeros(n_times)
    sign = rng.choice([-1, 1])
    tau = rng.uniform(0.1, 0.6) * sfreq
    for start in rng.integers(n_times, size=n_pops):
        height = sign * amplitude * np.exp(0.4 * rng.standard_normal())
        signal[start:] += height * np.exp(-np.arange(n_times - start) / tau)
    return one_map, signal[np.newaxis]


def movements(head, n_movements, n_times, sfreq, rng, amplitude=200e-6):
    """Return movements: slow, large, each one different."""
    maps = rng.standard_normal((head.n_channels, n_movements))
    maps = (maps + maps.mean(axis=0)) / np.abs(maps).max(axis=0)
    signal = np.zeros((n_movements, n_times))
    for row in signal:
        length = min(n_times, int(sfreq * rng.uniform(0.5, 3.0)))
        start = rng.integers(n_times - length + 1)
        shape = _coloured(1, length, sfreq, np.array([2.0]), rng)[0]
        row[start : start + length] = amplitude * shape * np.hanning(length)
    return maps, signal


def noisy(head, n_noisy, n_times, sfreq, rng, amplitude=40e-6):
    """Return electrodes with a poor contact: drift, crackle, and a few jumps."""
    maps = np.zeros((head.n_channels, n_noisy))
    where = rng.choice(head.n_channels - 2, n_noisy, replace=False)
    maps[where, np.arange(n_noisy)] = 1
    signal = _coloured(n_noisy, n_times, sfreq, rng.uniform(0, 2, n_noisy), rng)
    signal *= _envelope(n_noisy, n_times, sfreq, rng, depth=1.0)
    for row in signal:
        for start in rng.integers(n_times, size=rng.poisson(2)):
            row[start:] += 5 * rng.standard_normal()
    return maps, amplitude * signal


def sleep(head, n_times, sfreq, rng, amplitude=90e-6):
    """Return K-complexes over the frontal midline, slow waves around them, and spindles."""
    directions = np.array([[0.0, 0.5, 0.85], [-0.35, 0.45, 0.8], [0.35, 0.45, 0.8], [0, 0.1, 1]])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    maps = head.project(head.centre + 0.7 * head.radius * directions, directions)
    maps /= np.abs(maps).max(axis=0)
    signal = np.zeros((4, n_times))
    signal[:3] = 0.12 * _coloured(3, n_times, sfreq, np.full(3, 2.5), rng)
    signal[:3] *= _envelope(3, n_times, sfreq, rng, freq=0.1)
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
    return maps, amplitude * signal
