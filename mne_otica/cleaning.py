"""Remove blinks from a recording, and know what that did."""

from __future__ import annotations

import html
import json
import logging
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mne
import numpy as np
from mne.utils import logger, use_log_level, verbose

from mne_otica import __version__, evaluation
from mne_otica._checks import RandomState, _validate_type
from mne_otica._whitening import Channels
from mne_otica.blinks import BlinkScores, BlinkTimes, find_bads_blink, locate_blinks
from mne_otica.evaluation import Preservation, RMSReduction, preservation, rms_reduction
from mne_otica.ica import ICA, SAMPLES_PER_SQUARED_COMPONENT

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from mne.io import BaseRaw

__all__ = ["Cleaned", "clean_raw"]

_STATUS = {"blink": "ok", "none present": "no-blink", "unsure": "unsure"}
_FEWEST_COMPONENTS = 4


@dataclass(frozen=True, repr=False, eq=False)
class Cleaned:
    """A recording without blinks, and all that is known about how it came to be.

    Attributes
    ----------
    raw : instance of Raw
        A copy of the recording, cleaned; untouched unless ``status`` is ``"ok"``.
    ica : instance of ICA
        The fitted ICA; its ``exclude`` holds the components removed.
    events : instance of BlinkTimes
        When the subject blinked, and which channels told.
    scores : instance of BlinkScores
        The evidence for each component.
    benefit : instance of RMSReduction | None
        How much of the blinks went; None where nothing was removed.
    harm : instance of Preservation | None
        What changed elsewhere; None where nothing was removed.
    filtered : instance of Raw
        The EEG channels as the ICA was fitted on them.
    settings : dict
        The parameters, and what became of them.
    versions : dict
        Versions of Python and the packages used.
    verdict : str
        One line: what went and what it cost, or why nothing was removed.
    status : str
        ``"ok"``, ``"no-blink"`` or ``"unsure"``.
    """

    raw: BaseRaw
    ica: ICA
    events: BlinkTimes
    scores: BlinkScores
    benefit: RMSReduction | None
    harm: Preservation | None
    filtered: BaseRaw
    settings: dict[str, Any]
    versions: dict[str, str]
    verdict: str
    status: str

    # Figures and reports are drawn from a Cleaned, so their modules import this one. The
    # methods below import them when called, the only imports that point upwards.

    def plot(self, *, show: bool = True) -> Figure:
        """Draw the blinks before and after, the component, and the reduction per channel.

        Parameters
        ----------
        show : bool
            Whether to show the figure.

        Returns
        -------
        figure : instance of Figure
            The figure.
        """
        from mne_otica.viz import plot_cleaned

        return plot_cleaned(self, show=show)

    def report(self, *, title: str = "Eye blinks") -> mne.Report:
        """Make a report of three figures and one table.

        Parameters
        ----------
        title : str
            The title of the report.

        Returns
        -------
        report : instance of Report
            The report; save it or add to it.
        """
        from mne_otica.report import add_blink_report

        return add_blink_report(mne.Report(title=title, verbose="error"), self)

    def to_dict(self) -> dict[str, Any]:
        """Return all but the recordings and the matrices, for JSON.

        Returns
        -------
        facts : dict
            Verdict, settings, versions, events, scores, benefit and harm.
        """
        return {
            "status": self.status,
            "verdict": self.verdict,
            "components": [int(k) for k in self.ica.exclude],
            "settings": self.settings,
            "versions": self.versions,
            "blinks": {
                "source": self.events.source,
                "channels": self.events.channels,
                "samples": self.events.events[:, 0].tolist(),
            },
            "scores": self.scores.to_dict(),
            "benefit": None if self.benefit is None else self.benefit.to_dict(),
            "harm": None if self.harm is None else self.harm.to_dict(),
        }

    def save(self, folder: str | Path, *, overwrite: bool = False) -> dict[str, Path]:
        """Write the recording, the ICA, a JSON sidecar and the report.

        Parameters
        ----------
        folder : path-like
            Where to; it is made if need be.
        overwrite : bool
            Whether to replace files that exist.

        Returns
        -------
        paths : dict
            The files: ``"raw"``, ``"ica"``, ``"sidecar"`` and ``"report"``.
        """
        folder, stem = Path(folder), _stem(self.raw)
        paths = {
            "raw": folder / f"{stem}_clean_raw.fif",
            "ica": folder / f"{stem}_blink-ica.fif",
            "sidecar": folder / f"{stem}_blink.json",
            "report": folder / f"{stem}_blink.html",
        }
        present = [str(path) for path in paths.values() if path.exists()]
        if present and not overwrite:
            raise FileExistsError(
                f"{', '.join(present)} exist(s); pass overwrite=True or another folder."
            )
        folder.mkdir(parents=True, exist_ok=True)
        with _quiet():
            self.raw.save(paths["raw"], overwrite=overwrite)
            self.ica.save(paths["ica"], overwrite=overwrite)
            facts = json.dumps(self.to_dict(), indent=2, allow_nan=False)
            paths["sidecar"].write_text(facts + "\n", encoding="utf-8")
            self.report().save(paths["report"], open_browser=False, overwrite=overwrite)
        logger.info(f"Saved {len(paths)} files in {folder}.")
        return paths

    def summary(self) -> list[tuple[str, str]]:
        """Return the key figures with their names, as text.

        Returns
        -------
        rows : list of tuple of str
            Name and value of each.
        """
        rows = [
            ("Blinks", f"{len(self.events.events)} from {self._source()}"),
            ("Components removed", ", ".join(map(str, self.ica.exclude)) or "none"),
            ("Components fitted", f"{self.ica.n_components_} by {self.ica.method}"),
        ]
        if self.benefit is None or self.harm is None:
            return rows
        names, (low, high) = self.benefit.most_affected(), self.benefit.interval
        interval = "" if np.isnan(low) else f" ({low:.0%} to {high:.0%} over blinks)"
        bands = ", ".join(f"{name} {change:+.1%}" for name, change in self.harm.band_power.items())
        return [
            *rows,
            (f"Reduction at {', '.join(names)}", f"{self.benefit.over(names):.0%}"),
            ("Reduction, all channels", f"{self.benefit.overall:.0%}{interval}"),
            ("Change of RMS without blinks", f"{self.harm.rms_change:+.1%}"),
            ("Correlation without blinks", f"{self.harm.correlation:.3f}"),
            ("Change of power without blinks", bands),
            ("Rank", f"{self.harm.rank_before} before, {self.harm.rank_after} after"),
        ]

    def _source(self):
        names = self.events.channels
        told = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        circular = " (the component itself, so the reduction flatters)"
        return (told or "no channel") + (circular if self.events.source == "component" else "")

    def __repr__(self) -> str:
        return f"<Cleaned | {self.status}: {self.verdict}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in self.summary()
        )
        return (
            f"<p><b>{html.escape(self.status)}</b>: {html.escape(self.verdict)}</p>"
            f"<table>{rows}</table><details><summary>Candidates</summary>"
            f"{self.scores._repr_html_()}</details>"
        )


@verbose
def clean_raw(
    raw: BaseRaw,
    *,
    n_components: int | float | None = None,
    l_freq: float | None = 1.0,
    h_freq: float | None = 40.0,
    random_state: RandomState = 0,
    max_components: int = 2,
    reject_by_annotation: bool = True,
    verbose: bool | str | int | None = None,
) -> Cleaned:
    """Remove eye blinks; no EOG channel is needed.

    An ICA is fitted on a filtered copy of the EEG channels, the components that hold blinks
    are found, and a copy of the recording as it was passed is cleaned of them. Where no
    blink is found, or the evidence is not enough, the copy is untouched.

    Parameters
    ----------
    raw : instance of Raw
        The recording. It is not changed.
    n_components : int | float | None
        As for :class:`mne.preprocessing.ICA`. None takes the rank of the data, or as many
        as their length allows to be found well.
    l_freq, h_freq : float | None
        The band of the copy that the ICA is fitted on, in Hz.
    random_state : int | instance of RandomState | instance of Generator | None
        The seed.
    max_components : int
        The most components to remove.
    reject_by_annotation : bool
        Whether to leave spans annotated as bad out of the fit, the search for blinks and
        the evaluation. They are cleaned all the same.
    %(verbose)s

    Returns
    -------
    cleaned : instance of Cleaned
        The cleaned recording, with the evidence, the benefit and the harm.

    Notes
    -----
    Benefit and harm are measured between ``l_freq`` and ``h_freq``.
    """
    _validate_type(raw, mne.io.BaseRaw, "raw", "Raw")
    filtered = _filtered_copy(raw, l_freq, h_freq)
    ica = _fit(filtered, n_components, random_state, reject_by_annotation)
    with _quiet():
        indices, scores = find_bads_blink(
            ica, raw, max_components=max_components, reject_by_annotation=reject_by_annotation
        )
        events = locate_blinks(raw, ica=ica, reject_by_annotation=reject_by_annotation)
    logger.info(
        f"Find: {scores.verdict}, components {indices}; {len(events.events)} blinks from "
        f"{events.source}."
    )
    ica.exclude = [int(k) for k in indices]
    benefit, harm = _evaluate(filtered, ica, events, reject_by_annotation)
    status = _STATUS[scores.verdict]
    if status == "ok" and benefit is None:
        # Blinks that cannot be timed cannot be checked, so nothing is removed on their account.
        status, ica.exclude = "unsure", []
    line = _verdict(status, scores, benefit, harm)
    cleaned = _apply(raw, ica)
    logger.info(f"Clean: {line}.")
    settings = {
        "n_components": n_components,
        "n_components_used": int(ica.n_components_),
        "l_freq": l_freq,
        "h_freq": h_freq,
        "random_state": _seed(random_state),
        "max_components": max_components,
        "reject_by_annotation": reject_by_annotation,
        "converged": ica.converged_,
        "seconds": raw.n_times / raw.info["sfreq"],
        "seconds_fitted": ica.n_samples_ / raw.info["sfreq"],
    }
    return Cleaned(
        cleaned,
        ica,
        events,
        scores,
        benefit,
        harm,
        filtered,
        evaluation.plain(settings),
        _versions(),
        line,
        status,
    )


def _quiet():
    """Silence the details of a stage, but no warning, and nothing that the user has silenced."""
    return use_log_level(max(logger.level, logging.WARNING))


def _filtered_copy(raw, l_freq, h_freq):
    """Return the good EEG channels in the band to fit on, with NaN spans marked as bad."""
    picks = mne.pick_types(raw.info, eeg=True, exclude="bads")
    if len(picks) < 2:
        kinds = sorted(set(raw.get_channel_types()))
        raise ValueError(
            f"{len(picks)} EEG channels are left to clean: the channels are of type {kinds}, and "
            f"{len(raw.info['bads'])} are marked bad. At least 2 are needed; set the channel "
            "types, or unmark some."
        )
    data = raw.get_data(picks)
    broken = _broken(data)
    data[:, broken] = 0.0  # a filter would spread them over the recording
    info = mne.pick_info(raw.info, picks)
    copy = mne.io.RawArray(data, info, first_samp=raw.first_samp, verbose="error")
    copy.set_annotations(raw.annotations, verbose="error")
    _annotate(copy, broken)
    nyquist = raw.info["sfreq"] / 2
    if h_freq is not None and h_freq >= nyquist:
        h_freq = None
    with _quiet():
        copy.filter(l_freq, h_freq)
    logger.info(
        f"Filter: a copy of {len(picks)} EEG channels, {raw.times[-1]:.0f} s, {l_freq} to "
        f"{h_freq} Hz."
    )
    return copy


def _broken(data):
    """Return which samples are not finite in any channel."""
    return ~np.isfinite(data.sum(axis=0))


def _annotate(raw, broken):
    """Mark these samples as bad."""
    edges = np.flatnonzero(np.diff(np.r_[False, broken, False].astype(int)))
    sfreq = raw.info["sfreq"]
    onset, stop = edges[::2] / sfreq, edges[1::2] / sfreq
    if raw.annotations.orig_time is not None:
        onset = onset + raw.first_samp / sfreq
    raw.annotations.append(onset, stop - (edges[::2] / sfreq), ["BAD_nan"] * len(onset))


def _fit(filtered, n_components, random_state, reject):
    with _quiet():
        if n_components is None:
            n_components = _affordable(filtered, reject)
        ica = ICA(n_components=n_components, random_state=random_state)
        ica.fit(filtered, reject_by_annotation=reject)
    logger.info(
        f"Fit: {ica.n_components_} components in {ica.n_iter_} iterations on {ica.n_samples_} of "
        f"{filtered.n_times} samples; {ica.n_samples_ / ica.n_components_**2:.0f} for each "
        f"squared component, {SAMPLES_PER_SQUARED_COMPONENT} are enough."
    )
    return ica


def _affordable(filtered, reject):
    """Return the rank, or as many components as the length of the recording allows."""
    data = filtered.get_data(reject_by_annotation="omit" if reject else None)
    n_samples = data.shape[1]
    rank = Channels(data).rank if n_samples else 0
    if rank == 0:
        return None  # the fit says what is wrong
    enough = int(np.sqrt(n_samples / SAMPLES_PER_SQUARED_COMPONENT))
    return min(rank, max(enough, _FEWEST_COMPONENTS))


def _evaluate(filtered, ica, events, reject):
    """Return benefit and harm, both None where there is nothing to measure."""
    if not ica.exclude or not len(events.events):
        return None, None
    with _quiet():
        # Cleaning and filtering are linear, so this is the cleaned recording, filtered.
        after = ica.apply(filtered.copy())
        try:
            benefit = rms_reduction(filtered, after, events.events, reject_by_annotation=reject)
        except ValueError:  # the edges or bad spans cut every window
            return None, None
        harm = preservation(filtered, after, events.events, reject_by_annotation=reject)
    logger.info(f"Evaluate: {benefit.n_events} blinks and {harm.n_windows} windows without.")
    return benefit, harm


def _verdict(status, scores, benefit, harm):
    if status == "ok":
        return evaluation.verdict(benefit, harm)
    if status == "no-blink":
        return "no blink found, nothing removed"
    best = scores.rows[0]
    if best.decision == "blink":
        return "unsure, nothing removed: no whole blink was found to check the result by"
    return f"unsure, nothing removed: component {best.component}, {best.reason}"


def _apply(raw, ica):
    """Return a copy of the recording without the excluded components."""
    copy = raw.copy().load_data(verbose="error")
    if not ica.exclude:
        return copy
    picks = [copy.ch_names.index(name) for name in ica.ch_names]
    broken = _broken(copy.get_data(picks))
    with _quiet():
        ica.apply(copy)
    if broken.any():
        # There, one channel that is no number would make all of them none.
        for pick in picks:
            copy._data[pick, broken] = raw.get_data([pick])[0, broken]
    return copy


def _seed(random_state):
    """Return a seed as it is, and the kind of anything else."""
    if random_state is None or np.isscalar(random_state):
        return random_state
    return type(random_state).__name__


def _versions():
    found = {"python": platform.python_version(), "mne_otica": __version__}
    return found | {name: version(name) for name in ("mne", "numpy", "scipy")}


def _stem(raw):
    """Return the name of the recording without what formats add to it."""
    source = raw.filenames[0] if raw.filenames else None
    if source is None:
        return "recording"
    stem = Path(source).name.split(".")[0]
    for ending in ("_raw", "-raw"):
        stem = stem.removesuffix(ending)
    return stem or "recording"
