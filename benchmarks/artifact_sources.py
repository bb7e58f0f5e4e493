"""Simulated artifacts of all kinds, with a typical height of one and random properties.

``benchmarks.controls.with_controls`` adds them to a simulated recording by name.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mne_otica.simulation.artifact_courses import heart_course, noisy, pops, saccades
from mne_otica.simulation.recordings import Source
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
    signal = heart_course(beats, n_times, sfreq, rng.uniform(0.009, 0.018))
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
