"""The results of measuring benefit and harm."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

MOST_AFFECTED = 5  # channels at which blinks are measured: others hardly see them
# Limits of a result that is called poor: share of the signal removed away from the artifact, and
# share of the artifact removed. Agreed in the design, not tuned.
OVER_CLEANED = 0.3
LEAST_REMOVED = 0.5
MISSED = 2  # second column of events that the channels show, but that were not removed


@dataclass(frozen=True, eq=False)
class RMSReduction:
    """The benefit: how much of the signal in the windows around events was removed.

    Attributes
    ----------
    overall : float
        1 - RMS(after) / RMS(before), pooled over channels and events.
    interval : tuple of float
        The 95 percent jackknife interval of ``overall`` over events; NaN for one event.
    per_channel : ndarray, shape (n_channels,)
        The same for each channel, pooled over events; NaN for a flat channel.
    rms_before, rms_after : ndarray, shape (n_channels,)
        The RMS in the windows, in volts.
    blink_size : ndarray, shape (n_channels,)
        RMS of the average window before cleaning, relative to its mean: the size of the artifact
        at each channel.
    average : float
        Reduction of the average over events: 1 - RMS(after) / RMS(before) of the average
        window, relative to its mean, at the channels of `most_affected`.
        Brain activity that is not locked to the events cancels in the average.
    average_interval : tuple of float
        The 95 percent jackknife interval of ``average`` over events; NaN for one event.
    average_per_channel : ndarray, shape (n_channels,)
        ``average`` of each channel.
    ch_names : list of str
        The channels.
    samples : ndarray, shape (n_events,)
        The events used, as in the first column of MNE's events.
    weights : ndarray, shape (n_events,)
        The weight of each event in ``average``: 1, or the size of an eye movement over the RMS of
        all, negative in the opposite direction.
    n_edge, n_bad : int
        Events left out because their windows reach beyond the recording, or overlap spans
        annotated as bad.
    """

    overall: float
    interval: tuple[float, float]
    per_channel: NDArray[np.float64]
    rms_before: NDArray[np.float64]
    rms_after: NDArray[np.float64]
    blink_size: NDArray[np.float64]
    average: float
    average_interval: tuple[float, float]
    average_per_channel: NDArray[np.float64]
    ch_names: list[str]
    samples: NDArray[np.int64]
    weights: NDArray[np.float64]
    n_edge: int
    n_bad: int

    @property
    def n_events(self) -> int:
        """The number of events used."""
        return len(self.samples)

    def most_affected(self, n_channels: int = MOST_AFFECTED) -> list[str]:
        """Return the channels where the artifact is largest.

        Parameters
        ----------
        n_channels : int
            How many.

        Returns
        -------
        ch_names : list of str
            The channels with the largest average before cleaning, largest first.
        """
        return [self.ch_names[k] for k in np.argsort(-self.blink_size)[:n_channels]]

    def over(self, ch_names: Sequence[str]) -> float:
        """Return the reduction pooled over some of the channels.

        Parameters
        ----------
        ch_names : sequence of str
            The channels.

        Returns
        -------
        reduction : float
            1 - RMS(after) / RMS(before).
        """
        picks = [self.ch_names.index(name) for name in ch_names]
        return reduction(np.sum(self.rms_before[picks] ** 2), np.sum(self.rms_after[picks] ** 2))


@dataclass(frozen=True, eq=False)
class Preservation:
    """The harm: how much of the signal away from events was removed.

    Attributes
    ----------
    taken_out : float
        RMS(before - after) / RMS(before) away from events, pooled over channels.
    taken_out_per_channel : ndarray, shape (n_channels,)
        The same for each channel; NaN for a flat one.
    taken_out_per_band : dict
        The same for each frequency band.
    sham : float | None
        The same for sham events: what the procedure removes at random times without an
        artifact. None if it was not tried.
    rms_change : float
        RMS(after) / RMS(before) - 1 away from events. Losses and gains cancel, so it does not
        measure the harm.
    band_power : dict
        The relative change of the power in each band away from events.
    freqs, power_before, power_after : ndarray, shape (n_freqs,)
        The spectra behind ``band_power``: frequencies, and the mean power over channels.
    rank_before, rank_after : int
        The rank of the channels.
    ch_names : list of str
        The channels.
    seconds : float
        The length of the data away from events and bad spans.
    margin : float | None
        The minimum distance of these data from the windows of events, in seconds; None for the
        whole recording.
    """

    taken_out: float
    taken_out_per_channel: NDArray[np.float64]
    taken_out_per_band: dict[str, float]
    sham: float | None
    rms_change: float
    band_power: dict[str, float]
    freqs: NDArray[np.float64]
    power_before: NDArray[np.float64]
    power_after: NDArray[np.float64]
    rank_before: int
    rank_after: int
    ch_names: list[str]
    seconds: float
    margin: float | None


@dataclass(frozen=True, eq=False, repr=False)
class KindResult:
    """The result for one kind of artifact.

    Attributes
    ----------
    kind : str
        The kind.
    answer : str
        That of the component that most probably holds it: ``"yes"`` if it is probable enough to be
        removed, ``"unsure"`` if the evidence is not sufficient, else ``"no"``.
    components : list of int
        The components that were changed.
    events : ndarray, shape (n_events, 3)
        The MNE events, or those of the best candidate if nothing was removed. The second column
        is 1 for events that were found during the removal, at which the benefit is not measured,
        and 2 for events that were found, or that the channels show, but were not removed.
    how : str
        What was removed from the components: the part that belongs to the ``"events"`` (of eye
        movements, what exceeds the power at rest, at all times), the part in a frequency
        ``"band"``, the whole ``"component"`` (always of electrodes), or ``"nothing"``.
    reason : str
        The best candidate and the evidence for or against it; empty if there is none.
    gone : float | None
        The share that was removed: ``benefit.average``, or of the RMS above ``l_freq`` for
        muscle, at the five channels where it is largest; of electrodes at ``own_channels``. None
        if nothing was removed or measured.
    benefit : instance of RMSReduction | None
        The benefit in full, if there are events: the recording, compared with the cleaned one.
    harm : instance of Preservation | None
        What was removed for this kind away from its events. Of muscle and heartbeats, which are
        everywhere, and of events that are too frequent, it is what was removed in total.
    not_removed : list of int
        The components that hold the artifact, but were left as they are.
    why : str
        Why they were not removed.
    l_freq : float | None
        The lower limit of the band of the artifact, if it has one instead of events.
    own_channels : list of str
        The electrodes that are the artifact, if it is of electrodes.
    """

    kind: str
    answer: str
    components: list[int]
    events: NDArray[np.int64]
    how: str
    reason: str
    gone: float | None = None
    benefit: RMSReduction | None = None
    harm: Preservation | None = None
    not_removed: list[int] = field(default_factory=list)
    why: str = ""
    l_freq: float | None = None
    own_channels: list[str] = field(default_factory=list)

    @property
    def event(self) -> str:
        """The name of one event."""
        return "electrode pop" if self.kind == "electrode" else self.kind

    @property
    def cost(self) -> float | None:
        """The share of the signal removed away from the artifact, or in total: see ``harm``."""
        return None if self.harm is None else self.harm.taken_out

    @property
    def n_removed(self) -> int:
        """The number of events that were removed."""
        return int(np.sum(self.events[:, 1] != MISSED))

    @property
    def little(self) -> bool:
        """Whether less than half was removed; never of muscle, as its band holds brain activity."""
        return self.gone is not None and self.l_freq is None and round(self.gone, 2) < LEAST_REMOVED

    @property
    def much_else(self) -> bool:
        """Whether more than 30 percent was removed elsewhere, or for muscle in total."""
        share = self.cost
        if share is not None and self.harm.margin is None and self.l_freq is None:
            # The waves of a heart are everywhere: what goes at sham beats is not the heart.
            share = self.harm.sham if self.kind == "heartbeat" else None
        return share is not None and round(share, 3) > OVER_CLEANED

    @property
    def poor(self) -> bool:
        """Whether little of the artifact was removed, or much else."""
        return self.little or self.much_else

    def __repr__(self) -> str:
        gone = "" if self.gone is None else f", gone={self.gone:.2f}"
        cost = "" if self.cost is None else f", elsewhere={self.cost:.3f}"
        told = f"{self.answer}, components={self.components}, {len(self.events)} events{gone}{cost}"
        return f"<KindResult | {told}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as numbers and lists, for JSON.

        Returns
        -------
        figures : dict
            All attributes; of the events the samples, and of the harm no spectra.
        """
        names = "answer components n_removed how reason gone not_removed why poor cost".split()
        facts = {name: getattr(self, name) for name in names} | {"samples": self.events[:, 0]}
        for name in ("benefit", "harm"):
            facts[name] = getattr(self, name) and asdict(getattr(self, name))
        for spectrum in ("freqs", "power_before", "power_after") if self.harm else ():
            del facts["harm"][spectrum]
        return plain(facts)


def rms_ratio(one: ArrayLike, other: ArrayLike) -> Any:
    """Return the ratio of the RMS of two signals from their powers; NaN if the second is zero."""
    one, other = np.asarray(one, float), np.asarray(other, float)
    ratio = np.sqrt(np.divide(one, other, out=np.full(other.shape, np.nan), where=other > 0))
    return ratio if ratio.ndim else float(ratio)


def reduction(before: ArrayLike, after: ArrayLike) -> Any:
    """Return 1 - RMS(after) / RMS(before) from powers; NaN if the power before is zero."""
    return 1 - rms_ratio(after, before)


def plain(value: Any) -> Any:
    """Return a value as plain numbers, lists and dictionaries for JSON; NaN becomes None."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
