"""Whole EEG recordings in which every source is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import mne
import numpy as np
from mne.utils import verbose
from numpy.typing import NDArray

from mne_otica._checks import (
    RandomState,
    _check_option,
    _validate_flag,
    _validate_number,
    _validate_type,
    as_generator,
)
from mne_otica.simulation import _sources

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
    eye_rotation: float = 0.0,
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
    eye_rotation : float
        How far the eyes turn with each blink, as a share of ``blink_amplitude``. The turn
        has a map and a course of its own, so that blinks take two components.
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
        Whether the subject sleeps: slow waves, K-complexes and spindles. Choose ``n_blinks=0`` and
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
    _check_amplitudes(
        blink_amplitude=blink_amplitude,
        eye_rotation=eye_rotation,
        brain_amplitude=brain_amplitude,
        noise_amplitude=noise_amplitude,
        pop_amplitude=pop_amplitude,
        line_freq=0 if line_freq is None else line_freq,
    )
    _check_switches(saccades=saccades, muscle=muscle, heartbeat=heartbeat, sleep=sleep)
    _check_counts(len(names), pops=pops, movements=movements, noisy_channels=noisy_channels)
    rng = as_generator(random_state)
    n_times = int(round(duration * sfreq))
    info, montage = _make_info(names, sfreq)
    head = _sources.Head(montage)

    maps, signals, kinds = _sources.brain(head, n_times, sfreq, rng)
    brain = maps @ signals
    subtract = _reference_operator(names, reference)
    scale = brain_amplitude / np.median((subtract @ brain).std(axis=1))
    brain *= scale
    brain += noise_amplitude * rng.standard_normal(brain.shape)

    peaks = _sources.blink_times(n_blinks, duration, rng)
    blink_map, blink_signal = _sources.blinks(head, peaks, n_times, sfreq, rng)
    if eye_rotation:
        turn_map, turn_signal = _sources.rotations(head, peaks, n_times, sfreq, rng)
        blink_map = np.hstack([blink_map, turn_map])
        blink_signal = np.vstack([blink_signal, eye_rotation * turn_signal])
    # The height asked for is what the recording shows, so it is set after referencing.
    blink_map *= blink_amplitude / np.abs(subtract @ blink_map).max(axis=0)
    parts = [(blink_map, blink_signal, "blink")]
    if saccades:
        parts.append((*_sources.saccades(head, n_times, sfreq, rng), "saccade"))
    if muscle:
        parts.append((*_sources.muscle(head, n_times, sfreq, rng), "muscle"))
    if heartbeat:
        parts.append((*_sources.heartbeat(head, n_times, sfreq, rng), "heartbeat"))
    if line_freq is not None:
        parts.append((*_sources.line(head, n_times, sfreq, line_freq, rng), "line"))
    if pops:
        parts.append((*_sources.pops(head, pops, pop_amplitude, n_times, sfreq, rng), "pop"))
    if noisy_channels:
        parts.append((*_sources.noisy(head, noisy_channels, n_times, sfreq, rng), "noisy"))
    if sleep:
        parts.append((*_sources.sleep(head, n_times, sfreq, rng), "sleep"))
    if movements:
        parts.append((*_sources.movements(head, movements, n_times, sfreq, rng), "movement"))

    rest = brain.copy()
    for one_map, signal, kind in parts[1:]:
        rest += one_map @ signal
        kinds += [kind] * one_map.shape[1]
    mixing = np.hstack([maps * scale] + [part[0] for part in parts])
    n_brain = maps.shape[1]
    kinds = kinds[:n_brain] + ["blink"] * blink_map.shape[1] + kinds[n_brain:]
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
        if not channels:
            raise ValueError("channels names no channel; pass at least one, or a number.")
        return list(channels)
    if not 4 <= channels <= len(CHANNELS):
        raise ValueError(
            f"channels ({channels}) must be between 4 and {len(CHANNELS)}; pass a list of "
            "10-20 names for another cap."
        )
    return CHANNELS[: int(channels)]


def _check_blinks(n_blinks, duration, sfreq):
    _validate_number(duration, "duration")
    _validate_number(sfreq, "sfreq")
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


def _check_amplitudes(**amplitudes):
    for name, value in amplitudes.items():
        _validate_number(value, name, at_least=0)


def _check_switches(**switches):
    for name, value in switches.items():
        _validate_flag(value, name)


def _check_counts(n_channels, **counts):
    for name, count in counts.items():
        _validate_type(count, "int-like", name)
        _validate_number(count, name, at_least=0)
    if counts["noisy_channels"] > n_channels:
        raise ValueError(
            f"noisy_channels ({counts['noisy_channels']}) must not be more than the "
            f"{n_channels} channels."
        )


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
        _validate_type(reference, (list, tuple), "reference", "a name or a list of channels")
        missing = [ch for ch in reference if ch not in names]
        if missing or not len(reference):
            raise ValueError(
                f"reference {list(reference)} must name simulated channels; "
                f"{missing or 'nothing'} is not among them."
            )
        weights[[names.index(ch) for ch in reference]] = 1
    return np.eye(n, n + 2) - weights / weights.sum()
