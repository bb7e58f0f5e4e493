"""Harm: how much of the signal away from the artifact was removed."""

from collections.abc import Sequence

import numpy as np
from mne.io import BaseRaw
from mne.utils import logger, verbose
from numpy.typing import ArrayLike, NDArray

from mne_otica.evaluation.measures import Preservation, reduction, rms_ratio
from mne_otica.signals import windows
from mne_otica.signals.recording import runs
from mne_otica.signals.windows import HALF_WINDOW, Pair
from mne_otica.utils.checks import warn
from mne_otica.utils.docs import fill_doc

BANDS = {
    "delta": (1.0, 4.0),
    "theta": (4.0, 8.0),
    "alpha": (8.0, 13.0),
    "beta": (13.0, 30.0),
    "gamma": (30.0, 45.0),
}
# Distance from the windows of events, in seconds: the same for all kinds and recordings, so that
# their figures can be compared. Removal reaches 0.7 s from the peak of a blink, unless a
# high-pass filter prolongs it, so 1.25 s is beyond it.
MARGIN = 1.0


@verbose
@fill_doc
def preservation(
    before: BaseRaw,
    after: BaseRaw,
    events: ArrayLike,
    *,
    picks: str | Sequence[str | int] | None = None,
    reject_by_annotation: bool = True,
    verbose: bool | str | int | None = None,
) -> Preservation:
    """Measure how much of the signal away from blinks was removed.

    Parameters
    ----------
    %(before_after)s
    events : array-like, shape (n_events, 3)
        MNE events at the blinks. The harm is measured in all samples at least a second away
        from their windows, which are those of :func:`mne_otica.rms_reduction`.
    %(picks_eeg)s
    %(reject_spans)s
    %(verbose)s

    Returns
    -------
    harm : instance of Preservation
        What was removed, overall, per channel and per band; band power and rank.
    """
    return harm_of(Pair.of(before, after, picks, reject_by_annotation), events)


def harm_of(
    pair: Pair,
    events: ArrayLike,
    sham: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    brief: bool = False,
    margin: float | None = MARGIN,
) -> Preservation:
    """Measure the harm on arrays; ``sham`` are maps and courses removed at sham events."""
    samples, free = pair.samples(events), ~pair.bad
    if margin is not None:
        bounds = windows.window_bounds(-HALF_WINDOW, HALF_WINDOW, pair.sfreq)
        free = windows.free_samples(pair, samples, bounds, margin)
    if free.sum() < 2 * pair.sfreq:
        warn(
            f"Only {free.sum() / pair.sfreq:.1f} s of the recording are away from its "
            f"{len(samples)} events and bad spans; at least 2 s are needed to measure the harm."
        )
        free[:] = False
    power = np.zeros((3, len(pair.before)))  # of before, after and their difference
    for start, stop in runs(free):
        one, other = pair.before[:, start:stop], pair.after[:, start:stop]
        power += [np.einsum("ct,ct->c", x, x) for x in (one, other, other - one)]
    freqs, spectra = (np.zeros(0), np.zeros((3, 0))) if brief else windows.free_spectra(pair, free)
    in_band = {
        name: spectra[:, (freqs >= low) & (freqs < high)].sum(axis=1)
        for name, (low, high) in BANDS.items()
    }
    result = Preservation(
        taken_out=rms_ratio(power[2].sum(), power[0].sum()),
        taken_out_per_channel=rms_ratio(power[2], power[0]),
        taken_out_per_band={name: rms_ratio(each[2], each[0]) for name, each in in_band.items()},
        sham=sham and rms_ratio(power_of(sham[0], sham[1][:, free]), power[0].sum()),
        rms_change=-reduction(*power[:2].sum(axis=1)),
        band_power={name: rms_ratio(each[1], each[0]) ** 2 - 1 for name, each in in_band.items()},
        freqs=freqs,
        power_before=spectra[0],
        power_after=spectra[1],
        rank_before=0 if brief else windows.rank_of(pair.before, pair.info),
        rank_after=0 if brief else windows.rank_of(pair.after, pair.info),
        ch_names=pair.ch_names,
        seconds=float(free.sum() / pair.sfreq),
        margin=margin,
    )
    logger.info(
        f"{result.taken_out:.1%} of the signal removed in {result.seconds:.0f} s away from "
        f"events; rank {result.rank_before} before, {result.rank_after} after."
    )
    return result


def power_of(maps: NDArray[np.float64], courses: NDArray[np.float64]) -> float:
    """Return the sum of squares over channels of courses with these maps."""
    return float(np.sum((maps.T @ maps) * (courses @ courses.T)))
