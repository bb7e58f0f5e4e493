"""Artifacts other than blinks: topographies, time courses and event onsets.

Those with a parameter of their own in :func:`~mne_otica.simulation.simulate_raw` have their usual
size in volts. Those in ``ARTIFACTS``, which are added by name, have a typical height of one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mne_otica.simulation.sources import Contribution, Head, bump, coloured, envelope

# Positions of muscles (temples, jaw, brow, neck), as right, front, up
_MUSCLES = np.array(
    [
        [-0.85, 0.35, -0.1],
        [0.85, 0.35, -0.1],
        [-0.95, -0.1, -0.25],
        [0.95, -0.1, -0.25],
        [-0.3, 0.95, 0.05],
        [0.3, 0.95, 0.05],
        [-0.4, -0.9, -0.3],
        [0.4, -0.9, -0.3],
    ]
)
_TEMPLES_AND_NECK = np.array([[-0.85, 0.35, -0.1], [0.85, 0.35, -0.1], [0, -0.9, -0.3]])


def saccades(
    head: Head, n_times: int, sfreq: float, rng: np.random.Generator, amplitude: float = 30e-6
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
    return Contribution(maps, amplitude * _ramped(signal, sfreq), np.array(starts[1:]) / sfreq)


def _ramped(steps: NDArray[np.float64], sfreq: float) -> NDArray[np.float64]:
    """Return steps that take the 50 ms of a saccade."""
    ramp = np.hanning(max(3, int(0.05 * sfreq)))
    return np.array([np.convolve(row, ramp / ramp.sum(), mode="same") for row in steps])


def muscle(
    head: Head, n_times: int, sfreq: float, rng: np.random.Generator, amplitude: float = 15e-6
) -> Contribution:
    """Return bursts of both temples and the neck, strongest above 20 Hz."""
    maps = head.radial(_TEMPLES_AND_NECK, 0.88)
    signal = coloured(3, n_times, sfreq, np.full(3, -1.0), rng)
    gate = np.zeros((3, n_times))
    starts = []
    for row in gate:
        for _ in range(1 + rng.poisson(n_times / sfreq / 15)):
            start = int(rng.uniform(0, n_times))
            row[start : start + int(sfreq * rng.uniform(0.3, 2.0))] = rng.uniform(0.5, 2)
            starts.append(start)
    return Contribution(maps, amplitude * signal * gate, np.sort(starts) / sfreq)


def heartbeat(
    head: Head, n_times: int, sfreq: float, rng: np.random.Generator, amplitude: float = 3e-6
) -> Contribution:
    """Return the field of the heart: a gradient across the head, as the heart is far away."""
    slope = (head.positions - head.centre) @ np.array([-0.6, 0.1, -0.8])
    beats = np.cumsum(rng.normal(0.85, 0.05, int(n_times / sfreq / 0.6) + 2))
    beats = beats[beats < (n_times - 1) / sfreq]
    signal = amplitude * _heart_course(beats, n_times, sfreq)
    return Contribution((slope / np.abs(slope).max())[:, np.newaxis], signal[np.newaxis], beats)


def _heart_course(
    beats: NDArray[np.float64], n_times: int, sfreq: float, qrs: float = 0.012
) -> NDArray[np.float64]:
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


def line(
    head: Head,
    n_times: int,
    sfreq: float,
    freq: float,
    rng: np.random.Generator,
    amplitude: float = 2e-6,
) -> Contribution:
    """Return line noise, with a different amplitude at each electrode."""
    hum = np.cos(2 * np.pi * freq * np.arange(n_times) / sfreq)
    return Contribution(amplitude * rng.uniform(0.3, 1.5, (head.n_channels, 1)), hum[np.newaxis])


def pops(
    head: Head,
    n_pops: int,
    amplitude: float,
    n_times: int,
    sfreq: float,
    rng: np.random.Generator,
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
    return Contribution(one_map, signal[np.newaxis], np.sort(starts) / sfreq)


def noisy(
    head: Head,
    n_noisy: int,
    n_times: int,
    sfreq: float,
    rng: np.random.Generator,
    amplitude: float = 40e-6,
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
    return Contribution(maps, amplitude * signal)


def movements(
    head: Head,
    n_movements: int,
    n_times: int,
    sfreq: float,
    rng: np.random.Generator,
    amplitude: float = 200e-6,
) -> Contribution:
    """Return movements: slow, large, each one different."""
    maps = rng.standard_normal((head.n_channels, n_movements))
    maps = (maps + maps.mean(axis=0)) / np.abs(maps).max(axis=0)
    signal = np.zeros((n_movements, n_times))
    for row in signal:
        length = min(n_times, int(sfreq * rng.uniform(0.5, 3.0)))
        start = rng.integers(n_times - length + 1)
        shape = coloured(1, length, sfreq, np.array([2.0]), rng)[0]
        row[start : start + length] = amplitude * shape * np.hanning(length)
    return Contribution(maps, signal)


def _beats(duration: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the beats of a heart with a varying rate; one heart in four is arrhythmic."""
    interval = 60 / np.exp(rng.uniform(np.log(45), np.log(150)))
    breathing, phase = rng.uniform(0.15, 0.35), rng.uniform(0, 2 * np.pi)
    depth, jitter = rng.uniform(0.01, 0.06), rng.uniform(0.005, 0.03)
    ectopic = rng.uniform(0.03, 0.15) if rng.random() < 0.25 else 0.0
    beats, late, wander = [rng.uniform(0, interval)], 0.0, 0.0
    while beats[-1] < duration:
        wander = 0.95 * wander + jitter * rng.standard_normal()
        breath = depth * np.sin(2 * np.pi * breathing * beats[-1] + phase)
        step = interval * np.exp(breath + wander) + late
        # A premature beat, and the pause after it.
        late = rng.uniform(0.15, 0.35) * interval if rng.random() < ectopic else 0.0
        beats.append(beats[-1] + step - late)
    return np.array(beats[:-1])


def _variable_heartbeat(
    head: Head, n_times: int, sfreq: float, rng: np.random.Generator
) -> Contribution:
    """Return the field of a heart with a random rate, sometimes arrhythmic."""
    direction = np.array([-0.6, 0.1, -0.8]) + 0.4 * rng.standard_normal(3)
    offset = (head.positions - head.centre) / head.radius
    field_ = offset @ direction + 0.15 * offset[:, 0] * offset[:, 2] * rng.standard_normal()
    beats = _beats(n_times / sfreq, rng)
    signal = _heart_course(beats, n_times, sfreq, rng.uniform(0.009, 0.018))
    signal *= envelope(1, n_times, sfreq, rng, freq=0.2, depth=0.1)[0]
    return Contribution((field_ / np.abs(field_).max())[:, np.newaxis], signal[np.newaxis], beats)


def _pulse(head: Head, n_times: int, sfreq: float, rng: np.random.Generator) -> Contribution:
    """Return an electrode over a vessel that moves with each beat, slower than a QRS complex."""
    at = rng.integers(head.n_channels - 2)
    distance = np.linalg.norm(head.positions - head.positions[at], axis=1) / head.radius
    one_map = np.exp(-0.5 * (distance / rng.uniform(0.1, 0.3)) ** 2)[:, np.newaxis]
    beats = _beats(n_times / sfreq, rng)
    rise = rng.uniform(0.08, 0.14)
    signal = sum(bump(n_times, sfreq, beat, rise, 2 * rise) for beat in beats)
    return Contribution(one_map, signal[np.newaxis], beats)


def _looking(head: Head, n_times: int, sfreq: float, rng: np.random.Generator) -> Contribution:
    """Return saccades with the spike potential of the eye muscles at each onset."""
    gaze = saccades(head, n_times, sfreq, rng, amplitude=1.0)
    spike = np.zeros(n_times)
    size = np.abs(np.diff(gaze.signals, axis=1, prepend=0)).max(axis=0)
    for onset in gaze.onsets:
        start = int(onset * sfreq)
        height = size[max(0, start - 3) : start + 4].max() * sfreq * 0.02
        # A positive spike of 20 ms just before the eyes move
        spike += 0.3 * height * bump(n_times, sfreq, onset - 0.01, 0.01, 0.01)
    maps = np.hstack([gaze.maps, head.eyes([0, 1, 0])])
    return Contribution(maps, np.vstack([gaze.signals, spike]), gaze.onsets)


def _pursuit(head: Head, n_times: int, sfreq: float, rng: np.random.Generator) -> Contribution:
    """Return periods of smooth pursuit from side to side."""
    freq, times = rng.uniform(0.2, 0.6), np.arange(n_times) / sfreq
    gate = np.zeros(n_times)
    start, starts = rng.uniform(0, 3), []
    while start < times[-1]:
        length = rng.uniform(4, 12)
        gate[(times >= start) & (times < start + length)] = 1.0
        starts.append(start)
        start += length + rng.uniform(2, 8)
    edge = np.hanning(max(3, int(0.3 * sfreq)))
    gate = np.convolve(gate, edge / edge.sum(), mode="same")
    signal = gate * np.sin(2 * np.pi * freq * times + rng.uniform(0, 2 * np.pi))
    direction = [1, 0.1, 0] if rng.random() < 0.7 else [0, 0.6, 1]
    return Contribution(head.eyes(direction), signal[np.newaxis], np.array(starts))


def _electromyogram(
    n: int, n_times: int, sfreq: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the EMG of motor units: little power below 20 Hz, flat or rising above."""
    spectrum = np.fft.rfft(coloured(n, n_times, sfreq, rng.uniform(-0.8, 0.5, n), rng))
    freqs = np.fft.rfftfreq(n_times, 1 / sfreq)
    signal = np.fft.irfft(spectrum * freqs**2 / (freqs**2 + 18.0**2), n_times)
    return signal / signal.std(axis=1, keepdims=True)


def _muscle_maps(head: Head, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the topographies of one or two muscles of a region, focal or broad."""
    chosen = _MUSCLES[rng.choice(len(_MUSCLES), rng.integers(1, 3), replace=False)]
    chosen = chosen + 0.1 * rng.standard_normal(chosen.shape)
    return head.radial(chosen, rng.uniform(0.78, 0.89))


def _muscle_bursts(
    head: Head, n_times: int, sfreq: float, rng: np.random.Generator
) -> Contribution:
    """Return a muscle that tightens now and then."""
    maps = _muscle_maps(head, rng)
    signal = _electromyogram(maps.shape[1], n_times, sfreq, rng)
    gate, starts = np.zeros(n_times), []
    for _ in range(2 + rng.poisson(n_times / sfreq / 12)):
        start = int(rng.uniform(0, n_times))
        gate[start : start + int(sfreq * rng.uniform(0.3, 3.0))] = rng.uniform(0.5, 2)
        starts.append(start)
    edge = np.hanning(max(3, int(0.1 * sfreq)))
    gate = np.convolve(gate, edge / edge.sum(), mode="same")
    return Contribution(maps, signal * gate, np.sort(starts) / sfreq)


def _tonic_muscle(head: Head, n_times: int, sfreq: float, rng: np.random.Generator) -> Contribution:
    """Return a muscle that is tense all the time."""
    maps = _muscle_maps(head, rng)
    signal = _electromyogram(maps.shape[1], n_times, sfreq, rng)
    return Contribution(maps, signal * envelope(maps.shape[1], n_times, sfreq, rng, depth=0.3))


def _one_electrode(head: Head, rng: np.random.Generator) -> NDArray[np.float64]:
    one_map = np.zeros((head.n_channels, 1))
    one_map[rng.integers(head.n_channels - 2)] = 1
    return one_map


def _drift(head: Head, n_times: int, sfreq: float, rng: np.random.Generator) -> Contribution:
    """Return an electrode that drifts and jumps as it dries."""
    signal = coloured(1, n_times, sfreq, np.array([2.0]), rng)[0]
    starts = np.sort(rng.integers(n_times, size=1 + rng.poisson(3)))
    for start in starts:
        signal[start:] += rng.choice([-2, 2]) * np.exp(0.4 * rng.standard_normal())
    signal = (signal - signal.mean()) / np.abs(signal - signal.mean()).max()
    return Contribution(_one_electrode(head, rng), signal[np.newaxis], starts / sfreq)


def _lead_hum(head: Head, n_times: int, sfreq: float, rng: np.random.Generator) -> Contribution:
    """Return line noise at one electrode, whose amplitude changes with the contact."""
    freq = float(rng.choice([50.0, 60.0] if sfreq > 130 else [50.0]))
    hum = np.cos(2 * np.pi * freq * np.arange(n_times) / sfreq + rng.uniform(0, 2 * np.pi))
    hum *= envelope(1, n_times, sfreq, rng, freq=0.1, depth=0.3)[0]
    return Contribution(_one_electrode(head, rng), hum[np.newaxis])


def _crackle(head: Head, n_times: int, sfreq: float, rng: np.random.Generator) -> Contribution:
    """Return an electrode with a poor contact: crackle that comes and goes, and jumps."""
    part = noisy(head, 1, n_times, sfreq, rng, amplitude=1.0)
    return Contribution(part.maps, part.signals / part.signals.std(), part.onsets)


def _single_pops(head: Head, n_times: int, sfreq: float, rng: np.random.Generator) -> Contribution:
    return pops(head, 2 + rng.poisson(n_times / sfreq / 10), 1.0, n_times, sfreq, rng)


Source = Callable[[Head, int, float, np.random.Generator], Contribution]
ARTIFACTS: dict[str, tuple[str, Source]] = {
    "heartbeat": ("heartbeat", _variable_heartbeat),
    "pulse": ("heartbeat", _pulse),
    "saccade": ("eye movement", _looking),
    "pursuit": ("eye movement", _pursuit),
    "muscle": ("muscle", _muscle_bursts),
    "tonic muscle": ("muscle", _tonic_muscle),
    "pop": ("electrode", _single_pops),
    "noisy": ("electrode", _crackle),
    "drift": ("electrode", _drift),
    "lead hum": ("electrode", _lead_hum),
}
