"""Simulated EEG recordings with known sources."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import mne
import numpy as np
from mne.io import RawArray
from mne.utils import verbose
from numpy.random import Generator
from numpy.typing import ArrayLike

from mne_otica.simulation import artifact_courses as _artifacts
from mne_otica.simulation import sources as _sources
from mne_otica.simulation.caps import check_channels, make_info, reference_operator
from mne_otica.simulation.sources import Contribution, Head
from mne_otica.utils.arrays import Array, Samples
from mne_otica.utils.checks import (
    RandomState,
    _check_option,
    _validate_flag,
    _validate_number,
    _validate_type,
    as_generator,
)

Source = Callable[[Head, int, float, Generator], Contribution]
_PAUSE = 0.6  # s, a blink and the pause after it


@dataclass(frozen=True)
class SimulatedRecording:
    """A simulated recording and its sources.

    Attributes
    ----------
    raw : instance of Raw
        The recording with all artifacts. Evoked responses are annotated by condition.
    clean : instance of Raw
        Brain activity, evoked responses and sensor noise only.
    without_blinks : instance of Raw
        Everything except the blinks: the result of a perfect removal of blinks.
    blink_events : ndarray, shape (n_blinks, 3)
        The peaks of the blinks as MNE events.
    mixing : ndarray, shape (n_channels, n_sources)
        The topography of each source, in volts per unit of source activity.
    source_names : list of str
        One name per column of ``mixing``: ``"brain"`` many times, ``"evoked"``, ``"blink"``,
        ``"saccade"``, ``"muscle"``, ``"heartbeat"``, ``"line"``, ``"pop"``, ``"noisy"`` and
        ``"movement"`` if simulated, and those of ``extra``.
    signals : ndarray, shape (n_sources, n_times)
        The activity of each source.
    events : dict
        The events of each kind of artifact, as MNE events: the peaks of blinks and heartbeats, the
        onsets of saccades, bursts of muscle, and pops.
    """

    raw: RawArray
    clean: RawArray
    without_blinks: RawArray
    blink_events: Samples
    mixing: Array = field(repr=False)
    source_names: list[str] = field(repr=False)
    signals: Array = field(repr=False)
    events: dict[str, Samples] = field(repr=False)
    _kinds: list[str | None] = field(repr=False)  # of each source

    def map_of(self, name: str) -> Array:
        """Return the topographies of the sources of one kind.

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

    def part(self, kind: str) -> Array:
        """Return what the artifacts of one kind add to the recording.

        Parameters
        ----------
        kind : str
            ``"blink"``, ``"eye movement"``, ``"heartbeat"``, ``"muscle"`` or ``"electrode"``.

        Returns
        -------
        data : ndarray, shape (n_channels, n_times)
            In volts; zero if the recording has no artifact of this kind.
        """
        known = ("blink", "eye movement", "heartbeat", "muscle", "electrode")
        _check_option("kind", kind, known)
        chosen = [one == kind for one in self._kinds]
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
            The result of a perfect removal of this kind.
        """
        raw = self.raw.copy()
        raw._data -= self.part(kind)
        return raw


@verbose
def simulate_raw(
    channels: int | Sequence[str] = 32,
    duration: float = 60.0,
    sfreq: float = 250.0,
    *,
    n_blinks: int | None = None,
    blink_times: ArrayLike | None = None,
    blink_amplitude: float = 150e-6,
    eye_rotation: float = 0.0,
    brain_amplitude: float = 12e-6,
    saccades: bool = True,
    muscle: bool = True,
    heartbeat: bool = True,
    pops: int = 0,
    pop_amplitude: float = 1e-3,
    movements: int = 0,
    noisy_channels: int = 0,
    line_freq: float | None = 50.0,
    evoked: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
    extra: Mapping[str, tuple[Source, float]] | None = None,
    reference: str | Sequence[str] = "mastoids",
    random_state: RandomState = 0,
    verbose: bool | str | int | None = None,
) -> SimulatedRecording:
    """Simulate an EEG recording with blinks and other artifacts.

    Brain sources with a 1/f spectrum, some with an alpha rhythm, and the eyes are current
    dipoles in a spherical head of four shells; nothing is downloaded.

    Parameters
    ----------
    channels : int | sequence of str
        The number of channels (4 to 256), or their names.
    duration : float
        The length in seconds.
    sfreq : float
        The sampling rate in hertz.
    n_blinks : int | None
        The number of blinks; None means 15 per minute. They are at least 0.6 s apart.
    blink_times : array-like, shape (n_blinks,) | None
        The peaks of the blinks in seconds, in place of ``n_blinks``.
    blink_amplitude : float
        Typical height of a blink, in volts, at the channel where it is largest.
    eye_rotation : float
        Rotation of the eyes with each blink, as a share of ``blink_amplitude``. It has its own
        topography and time course, so that blinks need two components.
    brain_amplitude : float
        Standard deviation of the brain activity in volts, median over channels.
    saccades, muscle, heartbeat : bool
        Whether to add gaze shifts, bursts of jaw and neck muscle, and heartbeats.
    pops : int
        The number of electrode pops, all on one channel: jumps that decay.
    pop_amplitude : float
        Typical height of a pop in volts.
    movements : int
        The number of movements, each with its own topography and time course.
    noisy_channels : int
        The number of channels with poor contact: they drift, crackle and jump.
    line_freq : float | None
        Frequency of line noise; None for no line noise.
    evoked : dict | None
        Evoked responses: for each condition the onsets of its stimuli in seconds, and the
        amplitude of the response in volts, one or one for each stimulus. The response is parietal,
        with a peak 0.35 s after the stimulus. The stimuli are annotated with the condition.
    extra : dict | None
        More sources by name: for each a function, and the height in volts at the channel where the
        source is largest; see ``benchmarks/artifact_sources.py`` of the repository.
    reference : "mastoids" | "average" | sequence of str
        The reference. Channel names must be among the simulated channels. A single reference
        channel becomes flat, as in a recording.
    %(random_state)s
    %(verbose)s

    Returns
    -------
    recording : instance of SimulatedRecording
        The recording, its clean version, the blink times and the mixing matrix.

    Examples
    --------
    >>> sim = simulate_raw(19, duration=30, n_blinks=8, pops=3)  # doctest: +SKIP
    >>> sim.raw.plot(events=sim.blink_events)  # doctest: +SKIP
    >>> odd = [1, 5, 9]
    >>> sim = simulate_raw(19, 12, evoked={"odd": (odd, 5e-6)}, blink_times=[1.4, 5.4])
    """
    names = check_channels(channels)
    n_blinks = _check_blinks(n_blinks, duration, sfreq)
    if blink_times is not None:
        blink_times = _check_times(blink_times, "blink_times", duration)
    for name, switch in dict(saccades=saccades, muscle=muscle, heartbeat=heartbeat).items():
        _validate_flag(switch, name)
    counts = dict(pops=pops, movements=movements, noisy_channels=noisy_channels)
    for name, count in counts.items():
        _validate_type(count, "int-like", name)
    evoked = {
        name: np.broadcast_arrays(_check_times(onsets, f"evoked[{name!r}]", duration), heights)
        for name, (onsets, heights) in (evoked or {}).items()
    }
    extra = dict(extra or {})
    sizes = counts | dict(
        blink_amplitude=blink_amplitude,
        eye_rotation=eye_rotation,
        brain_amplitude=brain_amplitude,
        pop_amplitude=pop_amplitude,
        line_freq=line_freq or 0,
    )
    sizes |= {f"extra[{name!r}]": height for name, (_, height) in extra.items()}
    for name, value in sizes.items():
        _validate_number(value, name, at_least=0)
    if noisy_channels > len(names):
        raise ValueError(
            f"noisy_channels ({noisy_channels}) must not be more than the {len(names)} channels."
        )
    rng = as_generator(random_state)
    n_times = int(round(duration * sfreq))
    info, montage = make_info(names, sfreq)
    head, size = Head(montage), (n_times, sfreq, rng)
    subtract = reference_operator(names, reference)

    brain = _sources.brain(head, *size)
    scale = brain_amplitude / np.median((subtract @ brain.maps @ brain.signals).std(axis=1))
    parts = [("brain", replace(brain, maps=scale * brain.maps))]
    noise = 0.5e-6 * rng.standard_normal((head.n_channels, n_times))
    if blink_times is None:
        blink_times = _sources.blink_times(n_blinks, duration, rng, _PAUSE)
    if evoked:
        times, signal = np.arange(n_times) / sfreq, np.zeros(n_times)
        for onset, height in np.concatenate([np.transpose(one) for one in evoked.values()]):
            signal += height * np.exp(-0.5 * ((times - onset - 0.35) / 0.06) ** 2)
        near_pz = Contribution(head.radial([[0.0, -0.45, 0.9]], 0.65), signal[np.newaxis])
        parts.append(("evoked", _scaled(near_pz, subtract, 1.0)))
    blinks = [_sources.blinks(head, blink_times, *size)]
    if eye_rotation:
        turn = _sources.rotations(head, blink_times, *size)
        blinks.append(replace(turn, signals=eye_rotation * turn.signals))
    parts += [("blink", _scaled(part, subtract, blink_amplitude)) for part in blinks]
    if saccades:
        parts.append(("saccade", _artifacts.saccades(head, *size)))
    if muscle:
        parts.append(("muscle", _artifacts.muscle(head, *size)))
    if heartbeat:
        parts.append(("heartbeat", _artifacts.heartbeat(head, *size)))
    if line_freq is not None:
        parts.append(("line", _artifacts.line(head, n_times, sfreq, line_freq, rng)))
    if pops:
        parts.append(("pop", _artifacts.pops(head, pops, pop_amplitude, *size)))
    if noisy_channels:
        parts.append(("noisy", _artifacts.noisy(head, noisy_channels, *size)))
    if movements:
        parts.append(("movement", _artifacts.movements(head, movements, *size)))
    for name, (source, height) in extra.items():
        parts.append((name, _scaled(source(head, *size), subtract, height)))
    sim = _recorded(parts, noise, subtract, info)
    for name, (onsets, _) in evoked.items():
        for raw in (sim.raw, sim.clean, sim.without_blinks):
            raw.annotations.append(onsets, 0.0, name)
    return sim


def _scaled(part: Contribution, subtract: Array, amplitude: float) -> Contribution:
    """Return sources whose largest topography in the recording, referenced, is the amplitude."""
    return replace(part, maps=part.maps * amplitude / np.abs(subtract @ part.maps).max())


def _recorded(
    parts: list[tuple[str, Contribution]], noise: Array, subtract: Array, info: mne.Info
) -> SimulatedRecording:
    """Mix all parts, apply the reference, and keep the sources."""
    mixing = np.hstack([part.maps for _, part in parts])
    signals = np.vstack([part.signals for _, part in parts])
    names = [name for name, part in parts for _ in part.signals]
    kinds = [part.kind for _, part in parts for _ in part.signals]
    is_brain, is_blink = (np.isin(names, some) for some in (("brain", "evoked"), ("blink",)))
    clean = mixing[:, is_brain] @ signals[is_brain] + noise
    rest = clean + mixing[:, ~is_brain & ~is_blink] @ signals[~is_brain & ~is_blink]
    raws = [
        mne.io.RawArray(subtract @ data, info.copy())
        for data in (rest + mixing[:, is_blink] @ signals[is_blink], clean, rest)
    ]
    events = {
        kind: _as_events([part.onsets for _, part in parts if part.kind == kind], info["sfreq"])
        for kind in dict.fromkeys(filter(None, kinds))
    }
    mixing = subtract @ mixing
    return SimulatedRecording(*raws, events["blink"], mixing, names, signals, events, kinds)


def _as_events(seconds: list[Array], sfreq: float) -> Samples:
    samples = np.unique(np.round(np.concatenate(seconds) * sfreq).astype(int))
    return np.column_stack([samples, np.zeros_like(samples), np.ones_like(samples)])


def _check_blinks(n_blinks: int | None, duration: float, sfreq: float) -> int:
    # Less does not hold a blink.
    _validate_number(duration, "duration", at_least=2)
    _validate_number(sfreq, "sfreq", at_least=60)
    _validate_type(n_blinks, ("int-like", None), "n_blinks")
    room = int((duration - 1) / _PAUSE)
    if n_blinks is None:
        return min(room, int(round(duration / 4)))
    if not 0 <= n_blinks <= room:
        raise ValueError(
            f"n_blinks ({n_blinks}) must be between 0 and {room} in {duration} s; a blink "
            f"and its pause take {_PAUSE} s."
        )
    return int(n_blinks)


def _check_times(times: ArrayLike, name: str, duration: float) -> Array:
    times = np.atleast_1d(np.asarray(times, float))
    outside = ~((times >= 0) & (times < duration))
    if times.ndim != 1 or outside.any():
        raise ValueError(
            f"{name} must be seconds from 0 to {duration} in one row, got the shape {times.shape} "
            f"with {outside.sum()} outside."
        )
    return times
