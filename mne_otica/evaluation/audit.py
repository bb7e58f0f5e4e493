"""Artifacts and effects by condition, before and after cleaning."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from mne.io import BaseRaw
from numpy.typing import NDArray
from scipy import stats

from mne_otica.evaluation import shares
from mne_otica.evaluation.measures import MOST_AFFECTED
from mne_otica.evaluation.sentences import PLURALS
from mne_otica.evaluation.shares import LEVEL, Row
from mne_otica.signals.windows import HALF_WINDOW, Events, conditions_of
from mne_otica.utils.arrays import Array, Samples
from mne_otica.utils.checks import _picks_to_idx, _validate_number, _validate_type
from mne_otica.utils.docs import fill_doc

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Limits = tuple[float, float]
FEWEST = 10  # artifacts of a condition from which it is told what is left of them; agreed on


@dataclass(frozen=True)
class Audited:
    """A recording before and after cleaning, and the samples of its artifacts, from 0."""

    name: str
    before: BaseRaw
    after: BaseRaw
    artifacts: dict[str, NDArray[np.int64]]  # only kinds that have events
    ch_names: list[str]  # that were cleaned


@dataclass(frozen=True, repr=False, eq=False)
class Audit:
    """What cleaning did to the conditions of an experiment.

    Attributes
    ----------
    artifacts : list of dict
        One row for each recording, kind and condition: the number of ``trials`` and of
        ``artifacts`` in them, the ``rate`` per trial, the ``share`` of trials with an artifact
        with its interval, and the share ``left`` of the average artifact after cleaning with its
        interval. ``answer`` is ``"gone"`` if this interval holds 0, ``"left"`` if not, and
        ``"unsure"`` for fewer than ten artifacts or fewer than two trials without, and for eye
        movements, of which opposite directions cancel in the average.
    differences : list of dict
        One row for each recording and kind: the p-value of equal shares of trials in all
        conditions, and whether they ``differ`` with an error rate of 5 percent over all kinds.
    amplitudes : list of dict
        One row for each recording and condition: the mean amplitude before and after, its
        standardized measurement error (``sme``) with interval, and the bootstrapped one
        (``bsme``, of infinitely many resamples), in microvolts.
    effects : list of dict
        One row for each recording and pair of conditions: the difference ``before`` and ``after``
        cleaning, and the ``change``, with intervals, in microvolts. With several recordings, the
        last rows have the mean over them.
    """

    artifacts: list[Row]
    differences: list[Row]
    amplitudes: list[Row] = field(default_factory=list)
    effects: list[Row] = field(default_factory=list)

    @property
    def sentences(self) -> list[str]:
        """The result in words: artifacts that differ or are left, and effects."""
        differ = [row for row in self.differences if row["differ"]]
        told = [shares.difference_line(row, self.artifacts) for row in differ]
        told += [
            f"{row['recording']}: {100 * row['left']:.0f} % of the {PLURALS[row['kind']]} of "
            f"{row['condition']} left "
            f"({100 * row['left_low']:.0f} to {100 * row['left_high']:.0f} %)"
            for row in self.artifacts
            if row["answer"] == "left"
        ]
        if n_unsure := sum(row["answer"] == "unsure" for row in self.artifacts):
            told.append(f"unsure what is left in {n_unsure} of {len(self.artifacts)} rows")
        told += [_effect_line(row) for row in self.effects]
        return told or ["no artifacts and no effects to compare"]

    def to_data_frame(self, table: str = "artifacts") -> "pd.DataFrame":
        """Return one of the tables.

        Parameters
        ----------
        table : "artifacts" | "differences" | "amplitudes" | "effects"
            The table to return.

        Returns
        -------
        table : instance of pandas.DataFrame
            One row for each entry, see the attributes.
        """
        import pandas as pd

        return pd.DataFrame(getattr(self, table))

    @fill_doc
    def plot(self, *, show: bool = True) -> "Figure":
        """Plot artifacts by condition, what is left of them, and the effects.

        Parameters
        ----------
        %(show)s

        Returns
        -------
        figure : instance of Figure
            The figure.
        """
        from mne_otica.viz.measure_figures import plot_audit

        return plot_audit(self, show=show)

    def __repr__(self) -> str:
        return "<Audit | " + "\n  ".join(self.sentences) + ">"


def audit(
    results: Any,
    events: Events,
    event_id: Mapping[str, int] | None = None,
    *,
    picks: str | Sequence[str] | None = None,
    window: tuple[float, float] | None = None,
    tmin: float = -0.2,
    tmax: float = 1.0,
) -> Audit:
    """Compare artifacts, and an effect, between conditions before and after cleaning.

    Parameters
    ----------
    results : instance of Cleaned | instance of Study | list
        The result of a cleaning, or several, for instance one for each participant.
    events : ndarray, shape (n_events, 3) | str | sequence of str
        The stimuli, as MNE events or as names of annotations; of several results the latter.
    event_id : dict | None
        The conditions in ``events``; None uses all that occur.
    picks : str | sequence of str | None
        The channels of the effect, of which the mean is taken.
    window : tuple of float | None
        The time of the effect in seconds after the stimulus. None compares only the artifacts.
    tmin, tmax : float
        The trials, in seconds around the stimulus. The time before it is the baseline.

    Returns
    -------
    audit : instance of Audit
        The tables; ``print`` it for sentences, ``audit.plot()`` for a figure.

    Notes
    -----
    What is left of an artifact is measured against trials of the same condition without it, at
    the same times after the stimulus, so that the response to the stimulus does not count: the
    projection of the cleaned data on the average artifact at the five channels where it is
    largest, with Welch's interval. All intervals are those of 95 percent, and are over the trials
    of a recording, or over recordings where there are several.
    """
    _validate_number(tmin, "tmin")
    _validate_number(tmax, "tmax")
    _validate_type(window, (tuple, list, None), "window", "two times in seconds, or None")
    if tmin >= 0 or tmax <= 0:
        raise ValueError(f"tmin ({tmin}) must be before 0 and tmax ({tmax}) after it, in seconds.")
    if (window is None) != (picks is None):
        raise ValueError("An effect needs both picks and a window; pass both or neither.")
    found = Audit([], [])
    several = results if isinstance(results, list | tuple) else [results]
    if wrong := [type(one).__name__ for one in several if not hasattr(one, "to_audit")]:
        raise TypeError(
            f"results must be a Cleaned, a Study or a list of Cleaned, got {', '.join(wrong)}; "
            "pass what clean_raw, clean_study or read_study returned."
        )
    recordings = _named_apart([one for result in several for one in result.to_audit()])
    rates = {one.after.info["sfreq"] for one in recordings}
    if isinstance(events, np.ndarray) and len(rates) > 1:
        told = ", ".join(f"{rate:g}" for rate in sorted(rates))
        raise ValueError(
            f"The recordings have several sampling rates ({told} Hz), so that events are not at "
            "the same samples; pass the names of annotations."
        )
    for one in recordings:
        conditions = conditions_of(one.after, events, event_id)
        n_tests = len(one.artifacts) * len(recordings)
        for kind, samples in one.artifacts.items():
            rows = list(_kind_rows(one, kind, samples, conditions, (tmin, tmax)))
            found.artifacts.extend(rows)
            found.differences.append(shares.difference(one.name, kind, rows, n_tests))
        if window is not None:
            measure = partial(_scores, one, picks, window, tmin)
            scores = {name: measure(trials) for name, trials in conditions.items()}
            found.amplitudes.extend(_amplitude_row(one.name, *item) for item in scores.items())
            for pair in combinations(scores, 2):
                found.effects.append(_effect_row(one.name, *pair, scores))
    if len(recordings) > 1:
        found.effects.extend(list(_mean_rows(found.effects)))
        found.differences.extend(shares.mean_differences(found.artifacts))
    return found


def _named_apart(recordings: list[Audited]) -> list[Audited]:
    """Return the recordings, numbered if their names are the same, as of several results."""
    counts = Counter(one.name for one in recordings)
    return [
        replace(one, name=f"{one.name} {number}".strip()) if counts[one.name] > 1 else one
        for number, one in enumerate(recordings, 1)
    ]


def _effect_line(row: Row) -> str:
    """Return the sentence about an effect, with the interval if there is one."""
    if not np.isfinite(row["change"]):
        return f"{row['recording']}: {row['effect']} unsure: no trials with the whole window"
    limits = f"{row['change_low']:+.2f} to {row['change_high']:+.2f}"
    return (
        f"{row['recording']}: {row['effect']} {row['before']:.2f} µV before, "
        f"{row['after']:.2f} after, change {row['change']:+.2f} "
        f"({limits if np.isfinite(row['change_low']) else 'unsure: too few for an interval'})"
    )


def _kind_rows(
    one: Audited, kind: str, samples: Samples, conditions: dict[str, Samples], limits: Limits
) -> Iterator[Row]:
    """Yield a row for each condition."""
    bounds = tuple(int(round(limit * one.after.info["sfreq"])) for limit in limits)
    left = _left(one, samples, conditions, bounds)
    for condition, trials in conditions.items():
        counts = shares.trials_with(samples, trials, bounds)
        row = shares.share_row(one.name, kind, condition, counts)
        interval = (np.nan, np.nan, np.nan)
        # Eye movements in opposite directions would cancel in the average.
        if row["artifacts"] >= FEWEST and left is not None and kind != "eye movement":
            interval = left(trials)
        row |= dict(zip(("left", "left_low", "left_high"), map(float, interval), strict=True))
        answer = "gone" if row["left_low"] <= 0 <= row["left_high"] else "left"
        yield row | {"answer": "unsure" if np.isnan(row["left_low"]) else answer}


def _left(
    one: Audited, samples: Samples, conditions: dict[str, Samples], bounds: Limits
) -> Callable[[Samples], tuple[float, float, float]] | None:
    """Return a function for the share left in trials, and its interval; None if nothing went."""
    sfreq, after = one.after.info["sfreq"], one.after.get_data(one.ch_names)
    at, _ = _within(samples, np.concatenate([np.zeros(0, int), *conditions.values()]), bounds)
    gone = _windows(one.before.get_data(one.ch_names) - after, at, sfreq)
    if not len(gone) or not gone.any():
        return None
    average = gone.mean(axis=0)
    most = np.argsort(-np.sum(average**2, axis=1))[:MOST_AFFECTED]
    # Scaled, so that its projection on itself is one
    after, template = after[most], average[most] / np.sum(average[most] ** 2)

    def projected(at: Samples) -> Array:
        return np.einsum("nct,ct->n", _windows(after, at, sfreq), template)

    def in_trials(trials: Samples) -> tuple[float, float, float]:
        reach = int(sfreq)  # other artifacts should not be in the windows, either
        wide = bounds[0] - reach, bounds[1] + reach
        at, lags = _within(samples, trials, bounds)
        own = projected(at)
        free = trials[shares.trials_with(samples, trials, wide) == 0]
        other = [projected(trial + lags) for trial in free]
        other = np.array([one.mean() for one in other if len(one)])
        if len(own) < FEWEST or len(other) < 2:
            return (np.nan,) * 3
        interval = stats.ttest_ind(own, other, equal_var=False).confidence_interval(1 - LEVEL)
        left = np.r_[own.mean() - other.mean(), interval]
        return tuple(left / (1 + left))  # one was removed of the template

    return in_trials


def _within(samples: Samples, trials: Samples, bounds: Limits) -> tuple[Samples, Samples]:
    """Return the artifacts in trials, one trial after the other, and their times in them."""
    lags = samples - trials[:, np.newaxis]
    rows, columns = np.nonzero((lags >= bounds[0]) & (lags < bounds[1]))
    return samples[columns], lags[rows, columns]


def _windows(data: Array, at: Samples, sfreq: float) -> Array:
    """Return the windows around samples, on the baseline of the window's length before them."""
    half = int(round(HALF_WINDOW * sfreq))
    at = at[(at >= 3 * half) & (at < data.shape[1] - half)]
    cut = np.array([data[:, k - 3 * half : k + half] for k in at])
    if not len(cut):
        return np.zeros((0, len(data), 2 * half))
    return cut[..., 2 * half :] - cut[..., :half].mean(axis=2, keepdims=True)


def _scores(one: Audited, picks: Any, window: Limits, tmin: float, trials: Samples) -> Array:
    """Return the amplitude of each trial in microvolts, before and after."""
    sfreq, found = one.after.info["sfreq"], []
    start, stop, base = (int(round(limit * sfreq)) for limit in (*window, tmin))
    if stop - start < 1:
        raise ValueError(f"The window {window} s has no samples; pass a later end.")
    trials = trials[(trials + min(start, base) >= 0) & (trials + stop <= one.after.n_times)]
    for raw in (one.before, one.after):
        data = 1e6 * raw.get_data(_picks_to_idx(raw.info, picks)).mean(axis=0)
        late = data[trials[:, np.newaxis] + np.arange(start, stop)].mean(axis=1)
        found.append(late - data[trials[:, np.newaxis] + np.arange(base, 0)].mean(axis=1))
    return np.array(found)


def _amplitude_row(name: str, condition: str, scores: Array) -> Row:
    """Return the mean amplitude of a condition, and its standardized measurement error."""
    row = {"recording": name, "condition": condition, "trials": scores.shape[1]}
    for side, some in zip(("before", "after"), scores, strict=True):
        row[side] = float(some.mean()) if len(some) else np.nan
        values = np.full(4, np.nan)
        if len(some) >= FEWEST:
            # The bootstrap of a mean, of infinitely many resamples, has no correction for the mean.
            values = np.r_[stats.sem(some), _sme_limits(some), stats.sem(some, ddof=0)]
        names = f"sme_{side}", f"sme_{side}_low", f"sme_{side}_high", f"bsme_{side}"
        row |= dict(zip(names, values.tolist(), strict=True))
    return row


def _sme_limits(some: Array) -> Array:
    """Return Bonett's interval of a standard error, for amplitudes of any kurtosis."""
    # The variance of the logarithm of a variance grows with the kurtosis, which a few trials with
    # blinks make large; chi-square's interval is that of normal amplitudes. The kurtosis is taken
    # about a trimmed mean, as amplitudes may be skewed (doi:10.1016/j.csda.2004.10.003).
    n, quantile = len(some), stats.norm.ppf(1 - LEVEL / 2)
    if not np.ptp(some):
        return np.zeros(2)
    middle = stats.trim_mean(some, 1 / (2 * np.sqrt(n - 4)))
    kurtosis = n * np.sum((some - middle) ** 4) / np.sum((some - some.mean()) ** 2) ** 2
    scale = n / (n - quantile)
    error = scale * np.sqrt((kurtosis - (n - 3) / n) / (n - 1))
    return stats.sem(some) * np.sqrt(scale * np.exp(np.array([-1, 1]) * quantile * error))


def _effect_row(name: str, one: str, other: str, scores: Mapping[str, NDArray]) -> Row:
    """Return the difference of two conditions before and after, and how it changed."""
    row = {"recording": name, "effect": f"{one} - {other}"}
    sides = {"before": lambda x: x[0], "after": lambda x: x[1], "change": lambda x: x[1] - x[0]}
    for side, of in sides.items():
        a, b = of(scores[one]), of(scores[other])
        row[side] = float(a.mean() - b.mean()) if len(a) and len(b) else np.nan
        limits = (np.nan, np.nan)
        if min(len(a), len(b)) >= FEWEST:
            limits = (row[side], row[side])  # if nothing was removed
            if np.ptp(np.r_[a, b]):
                limits = stats.ttest_ind(a, b, equal_var=False).confidence_interval(1 - LEVEL)
        row |= {f"{side}_low": float(limits[0]), f"{side}_high": float(limits[1])}
    return row


def _mean_rows(effects: Sequence[Row]) -> Iterator[Row]:
    """Yield the mean of each effect over recordings, with its interval."""
    for effect in dict.fromkeys(row["effect"] for row in effects):
        own = [row for row in effects if row["effect"] == effect]
        mean: Row = {"recording": f"mean of {len(own)}", "effect": effect}
        for side in ("before", "after", "change"):
            values = np.array([row[side] for row in own])
            values = values[np.isfinite(values)]
            limits = (np.nan, np.nan)
            if len(values) > 1 and np.ptp(values):
                limits = stats.ttest_1samp(values, 0.0).confidence_interval(1 - LEVEL)
            mean[side] = float(values.mean()) if len(values) else np.nan
            mean |= {f"{side}_low": float(limits[0]), f"{side}_high": float(limits[1])}
        yield mean
