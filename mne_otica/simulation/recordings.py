"""Whole EEG recordings in which every source is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from mne_otica.simulation import _artifacts, _controls, _sources
from mne_otica.simulation._caps import check_channels, make_info, reference_operator
from mne_otica.simulation._sources import Head, Part

if TYPE_CHECKING:
    from mne.io import RawArray

# Which kind of artifact a source is; the others are brain, or nothing that has a kind.
KIND_OF = {"blink": "blink"} | {name: kind for name, (kind, _) in _artifacts.ARTIFACTS.items()}
_EXTRA = {name: make for name, (_, make) in _artifacts.ARTIFACTS.items()} | _controls.CONTROLS


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
        ``"sleep"`` and ``"movement"`` where switched on, and those of ``extra``.
    signals : ndarray, shape (n_sources, n_times)
        The activity of each source.
    events : dict
        The events of each kind of artifact, as MNE events: the peaks of blinks and heartbeats, the
        onsets of saccades, pursuits, bursts of muscle, pops and jumps.
    """

    raw: RawArray
    clean: RawArray
    without_blinks: RawArray
    blink_events: NDArray[np.int64]
    mixing: NDArray[np.float64] = field(repr=False)
    source_names: list[str] = field(repr=False)
    signals: NDArray[np.float64] = field(repr=False)
    events: dict[str, NDArray[np.int64]] = field(repr=False)

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
        return self.mixing[:, [source == name for source in self.source_names]]

    def part(self, kind: str) -> NDArray[np.float64]:
        """Return what the artifacts of one kind add to the recording.

        Parameters
        ----------
        kind : str
            ``"blink"``, ``"eye movement"``, ``"heartbeat"``, ``"muscle"`` or ``"electrode"``.

        Returns
        -------
        data : ndarray, shape (n_channels, n_times)
            In volts; zero where the recording has no artifact of this kind.
        """
        _check_option("kind", kind, sorted(set(KIND_OF.values())))
        chosen = [KIND_OF.get(name) == kind for name in self.source_names]
        return self.mixing[:, chosen] @ self.signals[chosen]

    def without(self, kind: str) -> RawArray:
        """Return the recording without the artifacts of one kind.

        Parameters
        ----------
        kind : str
            As in :meth:`part`.

        Returns
        -------
        raw : instance of Raw
            The best that a perfect remover of this kind could return.
        """
        data = self.raw.get_data() - self.part(kind)
        return mne.io.RawArray(data, self.raw.info.copy(), verbose="error")


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
    extra: Mapping[str, float] | None = None,
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
        How many channels of a cap (4 to 256), or their names.
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
    extra : dict | None
        More sources by name, with their typical height in volts at the channel that sees them
        best. Artifacts: ``"heartbeat"`` (a rate of its own, some with arrhythmia), ``"pulse"``,
        ``"saccade"`` (with the spike potential), ``"pursuit"``, ``"muscle"`` (bursts),
        ``"tonic muscle"``, ``"pop"``, ``"noisy"``, ``"drift"`` and ``"lead hum"`` (of one
        electrode). What must not be taken for them: ``"alpha"``, ``"mu"``, ``"frontal delta"``,
        ``"photic driving"``, ``"head shaking"``, ``"chest percussion"``, ``"breathing"``,
        ``"sweat"``.
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
    names = check_channels(channels)
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
    extra = {} if extra is None else dict(extra)
    for name, amplitude in extra.items():
        _check_option("extra", name, sorted(_EXTRA))
        _validate_number(amplitude, f"extra[{name!r}]", at_least=0)
    rng = as_generator(random_state)
    n_times = int(round(duration * sfreq))
    info, montage = make_info(names, sfreq)
    head, size = Head(montage), (n_times, sfreq, rng)
    subtract = reference_operator(names, reference)

    brain = _scaled_brain(head, size, subtract, brain_amplitude)
    noise = noise_amplitude * rng.standard_normal((head.n_channels, n_times))
    peaks = _sources.blink_times(n_blinks, duration, rng)
    parts = {"brain": [brain]}
    parts["blink"] = _blink_parts(head, peaks, size, subtract, blink_amplitude, eye_rotation)
    if saccades:
        parts["saccade"] = [_artifacts.saccades(head, *size)]
    if muscle:
        parts["muscle"] = [_artifacts.muscle(head, *size)]
    if heartbeat:
        parts["heartbeat"] = [_artifacts.heartbeat(head, *size)]
    if line_freq is not None:
        parts["line"] = [_artifacts.line(head, n_times, sfreq, line_freq, rng)]
    if pops:
        parts["pop"] = [_artifacts.pops(head, pops, pop_amplitude, *size)]
    if noisy_channels:
        parts["noisy"] = [_artifacts.noisy(head, noisy_channels, *size)]
    if sleep:
        parts["sleep"] = [_controls.sleep(head, *size)]
    if movements:
        parts["movement"] = [_controls.movements(head, movements, *size)]
    for name, amplitude in extra.items():
        one = _EXTRA[name](head, *size)
        maps = one.maps * amplitude / np.abs(subtract @ one.maps).max()
        parts.setdefault(name, []).append(replace(one, maps=maps))
    return _recorded(parts, noise, subtract, info)


def _scaled_brain(head: Head, size: tuple, subtract: NDArray[np.float64], amplitude: float) -> Part:
    """Return the brain so that the median channel has the standard deviation asked for."""
    brain = _sources.brain(head, *size)
    scale = amplitude / np.median((subtract @ brain.maps @ brain.signals).std(axis=1))
    return replace(brain, maps=scale * brain.maps)


def _blink_parts(
    head: Head,
    peaks: NDArray[np.float64],
    size: tuple,
    subtract: NDArray[np.float64],
    amplitude: float,
    rotation: float,
) -> list[Part]:
    """Return lids and, if asked for, eyes that turn with them."""
    parts = [_sources.blinks(head, peaks, *size)]
    if rotation:
        turn = _sources.rotations(head, peaks, *size)
        parts.append(replace(turn, signals=rotation * turn.signals))
    # The height asked for is what the recording shows, so it is set after referencing.
    return [
        replace(part, maps=part.maps * amplitude / np.abs(subtract @ part.maps).max())
        for part in parts
    ]


def _recorded(
    parts: dict[str, list[Part]],
    noise: NDArray[np.float64],
    subtract: NDArray[np.float64],
    info: mne.Info,
) -> SimulatedRecording:
    """Mix all parts, refer them to the reference, and keep the truth."""
    mixing = np.hstack([part.maps for group in parts.values() for part in group])
    signals = np.vstack([part.signals for group in parts.values() for part in group])
    names = [n for n, group in parts.items() for part in group for _ in part.signals]
    is_brain, is_blink = (np.array([n == name for n in names]) for name in ("brain", "blink"))
    clean = mixing[:, is_brain] @ signals[is_brain] + noise
    rest = clean + mixing[:, ~is_brain & ~is_blink] @ signals[~is_brain & ~is_blink]
    raws = [
        mne.io.RawArray(subtract @ data, info.copy())
        for data in (rest + mixing[:, is_blink] @ signals[is_blink], clean, rest)
    ]
    events = {}
    for name, group in parts.items():
        if name in KIND_OF:
            onsets = [part.onsets for part in group]
            events.setdefault(KIND_OF[name], []).extend(onsets)
    events = {kind: _as_events(np.concatenate(o), info["sfreq"]) for kind, o in events.items()}
    return SimulatedRecording(*raws, events["blink"], subtract @ mixing, names, signals, events)


def _as_events(seconds: NDArray[np.float64], sfreq: float) -> NDArray[np.int64]:
    samples = np.unique(np.round(seconds * sfreq).astype(int))
    return np.column_stack([samples, np.zeros_like(samples), np.ones_like(samples)])


def _check_blinks(n_blinks: int | None, duration: float, sfreq: float) -> int:
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


def _check_amplitudes(**amplitudes: float) -> None:
    for name, value in amplitudes.items():
        _validate_number(value, name, at_least=0)


def _check_switches(**switches: bool) -> None:
    for name, value in switches.items():
        _validate_flag(value, name)


def _check_counts(n_channels: int, **counts: int) -> None:
    for name, count in counts.items():
        _validate_type(count, "int-like", name)
        _validate_number(count, name, at_least=0)
    if counts["noisy_channels"] > n_channels:
        raise ValueError(
            f"noisy_channels ({counts['noisy_channels']}) must not be more than the "
            f"{n_channels} channels."
        )
