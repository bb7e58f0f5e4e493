"""Whole EEG recordings in which every source is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import mne
import numpy as np
from mne.utils import verbose
from numpy.typing import NDArray

from mne_otica._checks import RandomState, _check_option, _validate_type, as_generator

if TYPE_CHECKING:
    from mne.io import RawArray

# Ordered so that the first n make a sensible cap for any n: the hobbyist's eight, the
# clinical nineteen, the usual 32, then the rest of a 64-channel cap.
CHANNELS = (
    "Fp1 Fp2 C3 C4 P7 P8 O1 O2 F7 F8 F3 F4 T7 T8 P3 P4 Fz Cz Pz FC5 FC1 FC2 FC6 CP5 CP1 "
    "CP2 CP6 Oz PO3 PO4 AF3 AF4 Fpz AF7 AF8 F1 F2 F5 F6 FT7 FT8 FC3 FC4 FCz C1 C2 C5 C6 "
    "TP7 TP8 CP3 CP4 CPz P1 P2 P5 P6 PO7 PO8 POz AFz P9 P10 Iz"
).split()


@dataclass(frozen=True)
class SimulatedRecording:
    """A simulated recording and the truth behind it.

    Attributes
    ----------
    raw : instance of Raw
        What an amplifier would have recorded.
    clean : instance of Raw
        Brain activity and sensor noise only.
    without_blinks : instance of Raw
        Everything but the blinks, the best that a perfect blink remover could return.
    blink_events : ndarray, shape (n_blinks, 3)
        The peaks of the blinks as MNE events.
    mixing : ndarray, shape (n_channels, n_sources)
        The map of each source, in volts at one unit of source activity.
    source_names : list of str
        One name per column of ``mixing``: ``"brain"`` many times, then ``"blink"``,
        ``"saccade"``, ``"muscle"``, ``"heartbeat"``, ``"line"``, ``"pop"``, ``"noisy"``,
        ``"sleep"`` and ``"movement"`` where switched on.
    """

    raw: RawArray
    clean: RawArray
    without_blinks: RawArray
    blink_events: NDArray[np.int64]
    mixing: NDArray[np.float64] = field(repr=False)
    source_names: list[str] = field(repr=False)

    def map_of(self, name: str) -> NDArray[np.float64]:
        """Return the maps of the sources of one kind.

        Parameters
        ----------
        name : str
            A name in ``source_names``.

        Returns
        -------
        maps : ndarray, shape (n_channels, n_of_that_kind)
            Their columns of ``mixing``.
        """
        return self.mixing[:, [kind == name for kind in self.source_names]]


@verbose
def simulate_raw(
    channels: int | Sequence[str] = 32,
    duration: float = 60.0,
    sfreq: float = 250.0,
    *,
    n_blinks: int | None = None,
    blink_amplitude: float = 150e-6,
    brain_amplitude: float = 12e-6,
    noise_amplitude: float = 0.5e-6,
    saccades: bool = True,
    muscle: bool = True,
    heartbeat: bool = True,
    pops: int = 0,
    pop_amplitude: float = 1e-3,
    movements: int = 0,
    noisy_channels: int = 0,
    sleep: bool = False,
    line_freq: float | None = 50.0,
    reference: str | Sequence[str] = "mastoids",
    random_state: RandomState = None,
    verbose: bool | str | int | None = None,
) -> SimulatedRecording:
    """Simulate an EEG recording with eye blinks and other artefacts.

    Brain sources with a 1/f spectrum, some with an alpha rhythm, and the eyes are current
    dipoles in a spherical head of four shells; nothing is downloaded.

    Parameters
    ----------
    channels : int | sequence of str
        How many channels of a 10-10 cap (4 to 64), or their names.
    duration : float
        Length in seconds.
    sfreq : float
        Sampling rate in hertz.
    n_blinks : int | None
        How many blinks; None means 15 a minute. At most one fits in 0.6 s.
    blink_amplitude : float
        Typical height of a blink, in volts, at the channel that sees it best.
    brain_amplitude : float
        Median over channels of the standard deviation of the brain's signal, in volts.
    noise_amplitude : float
        Standard deviation of the white noise of each sensor, in volts.
    saccades, muscle, heartbeat : bool
        Whether to add gaze shifts, bursts of jaw and neck muscle, and heartbeats.
    pops : int
        How many electrode pops, all on one channel: a jump that decays.
    pop_amplitude : float
        Typical height of a pop in volts.
    movements : int
        How many movements, each with its own map and shape.
    noisy_channels : int
        How many channels have a poor contact: they drift, crackle and jump.
    sleep : bool
        Whether the subject sleeps: slow waves and K-complexes. Choose ``n_blinks=0`` and
        ``saccades=False`` with it.
    line_freq : float | None
        Frequency of the mains hum, or None for none.
    reference : "mastoids" | "average" | sequence of str
        The reference. Channel names must be among the simulated channels, which then
        become flat, as in a recording.
    %(random_state)s
        None is a fixed seed here: the same call gives the same recording.
    %(verbose)s

    Returns
    -------
    recording : instance of SimulatedRecording
        The recording, its clean version, the blink times and the mixing matrix.

    Examples
    --------
    >>> sim = simulate_raw(19, duration=30, n_blinks=8, pops=3)  # doctest: +SKIP
    >>> sim.raw.plot(events=sim.blink_events)  # doctest: +SKIP
    """
    names = _check_channels(channels)
    n_blinks = _check_blinks(n_blinks, duration, sfreq)
    rng = as_generator(random_state)
    n_times = int(round(duration * sfreq))
    info, montage = _make_info(names, sfreq)
    head = _Head(montage)

    maps, signals, kinds = _brain(head, n_times, sfreq, rng)
    brain = maps @ signals
    subtract = _reference_operator(names, reference)
    scale = brain_amplitude / np.median((subtract @ brain).std(axis=1))
    brain *= scale
    brain += noise_amplitude * rng.standard_normal(brain.shape)

    peaks = _blink_times(n_blinks, duration, rng)
    blink_map, blink_signal = _blinks(head, peaks, n_times, sfreq, rng)
    # The height asked for is what the recording shows, so it is set after referencing.
    blink_map *= blink_amplitude / np.abs(subtract @ blink_map).max()
    parts = [(blink_map, blink_signal, "blink")]
    if saccades:
        parts.append((*_saccades(head, n_times, sfreq, rng), "saccade"))
    if muscle:
        parts.append((*_muscle(head, n_times, sfreq, rng), "muscle"))
    if heartbeat:
        parts.append((*_heartbeat(head, n_times, sfreq, rng), "heartbeat"))
    if line_freq is not None:
        parts.append((*_line(head, n_times, sfreq, line_freq, rng), "line"))
    if pops:
        parts.append((*_pops(head, pops, pop_amplitude, n_times, sfreq, rng), "pop"))
    if noisy_channels:
        parts.append((*_noisy(head, noisy_channels, n_times, sfreq, rng), "noisy"))
    if sleep:
        parts.append((*_sleep(head, n_times, sfreq, rng), "sleep"))
    if movements:
        parts.append((*_movements(head, movements, n_times, sfreq, rng), "movement"))

    rest = brain.copy()
    for one_map, signal, kind in parts[1:]:
        rest += one_map @ signal
        kinds += [kind] * one_map.shape[1]
    mixing = np.hstack([maps * scale] + [part[0] for part in parts])
    kinds = kinds[: maps.shape[1]] + ["blink"] + kinds[maps.shape[1] :]
    raws = [
        mne.io.RawArray(subtract @ data, info.copy())
        for data in (rest + blink_map @ blink_signal, brain, rest)
    ]
    samples = np.round(peaks * sfreq).astype(int)
    events = np.column_stack([samples, np.zeros_like(samples), np.ones_like(samples)])
    return SimulatedRecording(*raws, events, subtract @ mixing, kinds)


def _check_channels(channels):
    _validate_type(channels, ("int-like", list, tuple), "channels")
    if isinstance(channels, list | tuple):
        return list(channels)
    if not 4 <= channels <= len(CHANNELS):
        raise ValueError(
            f"channels ({channels}) must be between 4 and {len(CHANNELS)}; pass a list of "
            "10-20 names for another cap."
        )
    return CHANNELS[: int(channels)]


def _check_blinks(n_blinks, duration, sfreq):
    if duration < 2 or sfreq < 60:
        raise ValueError(
            f"duration ({duration} s) must be at least 2 s and sfreq ({sfreq} Hz) at least "
            "60 Hz to hold a blink."
        )
    _validate_type(n_blinks, ("int-like", None), "n_blinks")
    room = int((duration - 1) / 0.6)
    if n_blinks is None:
        return min(room, int(round(duration / 4)))
    if not 0 <= n_blinks <= room:
        raise ValueError(
            f"n_blinks ({n_blinks}) must be between 0 and {room} in {duration} s; a blink "
            "and its pause take 0.6 s."
        )
    return int(n_blinks)


def _make_info(names, sfreq):
    """Return the info with positions, from whichever name MNE has for the montage."""
    builtin = mne.channels.get_builtin_montages()
    # MNE 1.13 renamed the montage; older versions know only the old name.
    name = "colin27_1005" if "colin27_1005" in builtin else "standard_1005"
    montage = mne.channels.make_standard_montage(name)
    unknown = [ch for ch in names if ch not in montage.ch_names]
    if unknown:
        raise ValueError(
            f"channels {unknown} are not in the 10-05 system; use names such as "
            f"{', '.join(CHANNELS[:4])}."
        )
    info = mne.create_info(names, sfreq, "eeg")
    info.set_montage(montage)
    # The reference sensors are simulated too, so that a reference can be subtracted.
    full = mne.create_info([*names, "M1", "M2"], sfreq, "eeg")
    full.set_montage(montage)
    return info, full


def _reference_operator(names, reference):
    """Return the matrix that takes sensors and mastoids to referenced channels."""
    n = len(names)
    weights = np.zeros(n + 2)
    if isinstance(reference, str):
        _check_option("reference", reference, ("mastoids", "average"))
        weights[slice(n, None) if reference == "mastoids" else slice(n)] = 1
    else:
        missing = [ch for ch in reference if ch not in names]
        if missing or not len(reference):
            raise ValueError(
                f"reference {list(reference)} must name simulated channels; "
                f"{missing or 'nothing'} is not among them."
            )
        weights[[names.index(ch) for ch in reference]] = 1
    return np.eye(n, n + 2) - weights / weights.sum()


class _Head:
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


def _brain(head, n_times, sfreq, rng, n_sources=60, n_alpha=8):
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


def _blink_times(n_blinks, duration, rng, pause=0.6):
    """Return blink times: at random, but never closer than the pause."""
    slack = duration - 1 - pause * n_blinks
    gaps = np.sort(rng.uniform(0, max(slack, 0), n_blinks))
    return 0.5 + pause * (np.arange(n_blinks) + 0.5) + gaps


def _blinks(head, peaks, n_times, sfreq, rng):
    """Return the map and the time course of the blinks.

    The lid closes in about 0.1 s and opens about twice as slowly, with a smooth turn at
    both ends; height and speed vary from blink to blink.
    """
    times = np.arange(n_times) / sfreq
    signal = np.zeros(n_times)
    for peak in peaks:
        closing = 0.11 * np.exp(0.12 * rng.standard_normal())
        opening = 2.1 * closing * np.exp(0.12 * rng.standard_normal())
        height = np.exp(0.25 * rng.standard_normal())
        phase = np.where(times < peak, (times - peak) / closing, (times - peak) / opening)
        signal += height * np.where(np.abs(phase) < 1, (1 + np.cos(np.pi * phase)) / 2, 0)
    return head.eyes([0, 1, 0.2]), signal[np.newaxis]


def _saccades(head, n_times, sfreq, rng, amplitude=30e-6):
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


def _muscle(head, n_times, sfreq, rng, amplitude=15e-6):
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


def _heartbeat(head, n_times, sfreq, rng, amplitude=3e-6):
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


def _line(head, n_times, sfreq, freq, rng, amplitude=2e-6):
    """Return the mains hum, which every electrode picks up to its own degree."""
    hum = np.cos(2 * np.pi * freq * np.arange(n_times) / sfreq)
    return amplitude * rng.uniform(0.3, 1.5, (head.n_channels, 1)), hum[np.newaxis]


def _pops(head, n_pops, amplitude, n_times, sfreq, rng):
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


def _movements(head, n_movements, n_times, sfreq, rng, amplitude=200e-6):
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


def _noisy(head, n_noisy, n_times, sfreq, rng, amplitude=40e-6):
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


def _sleep(head, n_times, sfreq, rng, amplitude=90e-6):
    """Return K-complexes over the frontal midline, and slow waves around them."""
    directions = np.array([[0.0, 0.5, 0.85], [-0.35, 0.45, 0.8], [0.35, 0.45, 0.8]])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    maps = head.project(head.centre + 0.7 * head.radius * directions, directions)
    maps /= np.abs(maps).max(axis=0)
    signal = 0.12 * _coloured(3, n_times, sfreq, np.full(3, 2.5), rng)
    signal *= _envelope(3, n_times, sfreq, rng, freq=0.1)
    times = np.arange(n_times) / sfreq
    for at in rng.uniform(1, times[-1] - 1, rng.poisson(times[-1] / 25)):
        late = times - at
        speed = np.exp(0.2 * rng.standard_normal(2))
        wave = -np.exp(-0.5 * (late / 0.1 / speed[0]) ** 2)
        wave += 0.7 * np.exp(-0.5 * ((late - 0.4) / 0.18 / speed[1]) ** 2)
        signal[0] += np.exp(0.3 * rng.standard_normal()) * wave
    return maps, amplitude * signal
