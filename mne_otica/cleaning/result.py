"""The result of cleaning a recording."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mne
import numpy as np
from mne.utils import logger
from numpy.typing import NDArray

from mne_otica.artifacts import ArtifactScores
from mne_otica.cleaning.blink_tables import BlinkScores, BlinkTimes
from mne_otica.evaluation.evaluate import KindResult, Preservation, RMSReduction, kind_line, plain
from mne_otica.ica import ICA, maps_in_volts
from mne_otica.signals.recording import quiet
from mne_otica.trust.stability import Stability
from mne_otica.utils.docs import fill_doc

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from mne import BaseEpochs
    from mne.io import BaseRaw

    from mne_otica.viz import ComponentReview


@dataclass(frozen=True, repr=False, eq=False)
class Cleaned:
    """A cleaned recording, the ICA, and what was found, removed and measured.

    Attributes
    ----------
    raw : instance of Raw | None
        A copy of the recording, cleaned; unchanged unless ``status`` is ``"ok"``. None if
        epochs were cleaned without their recording.
    ica : instance of ICA
        The fitted ICA; its ``exclude`` holds the components removed.
    events : ndarray, shape (n_events, 3)
        MNE events of the artifacts removed, with one id per kind (998 for blinks and 999 for
        heartbeats, as in MNE, 997 for eye movements, 995 for electrodes), and of blinks that
        were found but not removed. They can be passed to :class:`mne.Epochs`. Muscle
        activity has no events.
    blinks : instance of BlinkTimes
        The blinks, and the channels they were found in.
    scores : instance of BlinkScores
        The evidence for blinks in each component.
    artifacts : instance of ArtifactScores
        Probability, answer and reason for each component and each kind of artifact, also for
        kinds that were not to be removed.
    kinds : dict
        For each kind in ``artifacts``, an instance of KindResult: components, events, benefit
        and harm.
    benefit : instance of RMSReduction | None
        How much of the blinks was removed, or of the first other kind removed by events; None
        if there is no such kind.
    harm : instance of Preservation | None
        How much of the signal away from these events was removed.
    removed : ndarray, shape (n_removed, n_times)
        The time course that was removed from each component in ``ica.exclude``, without
        filtering: zero between the blinks, or with ``removal="component"`` the whole component.
    settings : dict
        The parameters, with the values that were used for the automatic ones.
    versions : dict
        Versions of Python and the packages used.
    verdict : str
        One line: benefit and harm, or why nothing was removed.
    status : str
        ``"ok"`` if anything was removed, ``"unsure"`` if nothing was removed because the
        evidence was not sufficient, and ``"no-blink"`` if no artifact was found.
    epochs : instance of Epochs | None
        The cleaned epochs, of :func:`mne_otica.clean_epochs`.
    stability : instance of Stability | None
        How reproducible the components are, with ``stability=True``.
    """

    raw: BaseRaw | None
    ica: ICA
    events: NDArray[np.int64]
    blinks: BlinkTimes
    scores: BlinkScores
    artifacts: ArtifactScores
    kinds: dict[str, KindResult]
    benefit: RMSReduction | None
    harm: Preservation | None
    removed: NDArray[np.float64]
    settings: dict[str, Any]
    versions: dict[str, str]
    verdict: str
    status: str
    # The EEG before cleaning and the time courses removed, both in the band of the fit: figures
    # use them, so that nothing has to be filtered again.
    _filtered: BaseRaw
    _taken: NDArray[np.float64]
    epochs: BaseEpochs | None = None
    stability: Stability | None = None

    def filtered(self) -> BaseRaw:
        """Return the EEG that the ICA was fitted on, before cleaning.

        Returns
        -------
        raw : instance of Raw
            The good EEG channels before cleaning, filtered.
        """
        return self._filtered.copy()

    def before_and_after(
        self, ch_names: Sequence[str] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return channels in the band of the fit, before and after cleaning.

        Parameters
        ----------
        ch_names : sequence of str | None
            The channels; None uses all that were cleaned.

        Returns
        -------
        before, after : ndarray, shape (n_channels, n_times)
            In volts.
        """
        names = self._filtered.ch_names if ch_names is None else ch_names
        picks = [self._filtered.ch_names.index(name) for name in names]
        before = self._filtered.get_data(picks)
        return before, before - maps_in_volts(self.ica)[picks][:, self.ica.exclude] @ self._taken

    # The modules of figures and reports import this class, so the methods that draw import them
    # when called, as MNE's do.

    @fill_doc
    def plot(self, *, show: bool = True) -> Figure:
        """Plot the artifact before and after, the component, and the reduction per channel.

        Parameters
        ----------
        %(show)s

        Returns
        -------
        figure : instance of Figure
            The figure.
        """
        from mne_otica import viz

        return viz.plot_cleaned(self, show=show)

    @fill_doc
    def plot_components(self, *, show: bool = True) -> Figure:
        """Plot the topographies of all components, with the artifact each one holds.

        Parameters
        ----------
        %(show)s

        Returns
        -------
        figure : instance of Figure
            The figure.
        """
        from mne_otica import viz

        return viz.plot_components(self, show=show)

    @fill_doc
    def review(self, *, show: bool = True) -> ComponentReview:
        """Choose components by clicking them, and see the effect.

        Parameters
        ----------
        %(show)s

        Returns
        -------
        review : instance of ComponentReview
            The figures and the choice; ``review.result()`` returns the recording cleaned with it.
        """
        from mne_otica.viz import ComponentReview

        return ComponentReview(self, show=show)

    def with_components(self, components: Sequence[int]) -> Cleaned:
        """Return the same recording cleaned of other components.

        Parameters
        ----------
        components : sequence of int
            The components to remove. If a component was found to hold an artifact, only the
            artifact is removed from it; all others are removed entirely.

        Returns
        -------
        result : instance of Cleaned
            A new result with everything measured again.
        """
        from mne_otica.cleaning.by_hand import rechosen

        return rechosen(self, components)

    def report(self, *, title: str | None = None) -> mne.Report:
        """Make a report of figures and a table.

        Parameters
        ----------
        title : str | None
            The title of the report; None uses the name of the recording.

        Returns
        -------
        report : instance of Report
            The report; save it or add to it.
        """
        from mne_otica.viz.report import new_report

        return new_report(self, f"{self.name}: artifacts" if title is None else title)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the recordings and the matrices, for JSON.

        Returns
        -------
        facts : dict
            Verdict, settings, versions, blinks, scores, kinds, benefit and harm.
        """
        return {
            "status": self.status,
            "verdict": self.verdict,
            "components": [int(k) for k in self.ica.exclude],
            "settings": self.settings,
            "versions": self.versions,
            "blinks": {
                "source": self.blinks.source,
                "channels": self.blinks.channels,
                "samples": self.blinks.events[:, 0].tolist(),
            },
            "scores": self.scores.to_dict(),
            "artifacts": self.artifacts.to_dict(),
            "kinds": {kind: one.to_dict() for kind, one in self.kinds.items()},
            "benefit": None if self.benefit is None else self.benefit.to_dict(),
            "harm": None if self.harm is None else self.harm.to_dict(),
            "stability": None if self.stability is None else plain(self.stability.to_dict()),
        }

    def save(self, folder: str | Path, *, overwrite: bool = False) -> dict[str, Path]:
        """Write the recording, the ICA, a JSON sidecar and the report.

        Parameters
        ----------
        folder : path-like
            The folder to write to; it is created if it does not exist.
        overwrite : bool
            Whether to replace files that exist.

        Returns
        -------
        paths : dict
            The files: ``"raw"`` or ``"epochs"``, ``"ica"``, ``"sidecar"`` and ``"report"``.
        """
        folder, stem = Path(folder), self.name
        data = {"raw": self.raw, "epochs": self.epochs}
        data = {name: inst for name, inst in data.items() if inst is not None}
        endings = {"raw": "raw", "epochs": "epo"}
        paths = {name: folder / f"{stem}_clean_{endings[name]}.fif" for name in data} | {
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
        with quiet():
            for name, inst in data.items():
                inst.save(paths[name], overwrite=overwrite)
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
        removed = [self.ica._ica_names[index] for index in self.ica.exclude]
        rows = [
            ("Blinks", self._told_by()),
            ("Components removed", ", ".join(removed) or "none"),
            ("Components fitted", f"{self.ica.n_components_} by {self.ica.method}"),
        ]
        rows += [
            (kind.capitalize(), line)
            for kind, one in self.kinds.items()
            if kind != "blink" and (line := kind_line(one))
        ]
        if self.stability is not None:
            told = [self.stability.describe(component) for component in self.ica.exclude]
            told.append(f"{self.stability.stable.sum()} components are stable")
            rows.append(("Trust", "; ".join(told) + ". Stable does not mean brain."))
        if self.benefit is None or self.harm is None:
            return rows
        benefit, harm = self.benefit, self.harm
        # Benefit and harm of the first kind that was measured at its events
        event = next(one.event for one in self.kinds.values() if one.benefit is benefit)
        many, names = f"{event}s", benefit.most_affected()
        taken = ", ".join(f"{name} {share:.1%}" for name, share in harm.taken_out_per_band.items())
        power = ", ".join(f"{name} {change:+z.1%}" for name, change in harm.band_power.items())
        return [
            *rows,
            (
                f"Reduction of the average {event} at {', '.join(names)}",
                f"{benefit.average:.0%}{_over_events(benefit.average_interval, many)}",
            ),
            (f"Reduction of the RMS at {many} there", f"{benefit.over(names):.0%}"),
            (
                f"Reduction of the RMS at {many}, all channels",
                f"{benefit.overall:.0%}{_over_events(benefit.interval, many)}",
            ),
            ("Samples changed", self._changed()),
            (f"Taken out away from {many}", f"{harm.taken_out:.1%} of the signal ({taken})"),
            *(
                []
                if harm.sham is None
                else [("Taken out for as many sham events", f"{harm.sham:.1%} of the signal")]
            ),
            (f"Change of power away from {many}", power),
            ("Rank", f"{harm.rank_before} before, {harm.rank_after} after"),
        ]

    @property
    def name(self) -> str:
        """The file name of the recording, without suffixes such as ``_raw.fif``."""
        files = () if self.raw is None else self.raw.filenames
        source = files[0] if files else None
        stem = "" if source is None else Path(source).name.split(".")[0]
        return stem.removesuffix("_raw").removesuffix("-raw") or "recording"

    def _changed(self) -> str:
        """Return the share of the samples that changed, as text."""
        changed = self.removed.any(axis=0)
        if changed.all():
            return "all"
        n_windows = np.count_nonzero(np.diff(np.r_[0, changed]) > 0)
        return f"{changed.mean():.1%}, in {n_windows} windows; the others are as recorded"

    def _told_by(self) -> str:
        """Return the number of blinks and the channels they were found in, as text."""
        names = self.blinks.channels
        if not names:
            return "none"
        told = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        circular = " (the component itself, so the reduction flatters)"
        return f"{len(self.blinks.events)} from {told}" + (
            circular if self.blinks.source == "component" else ""
        )

    def __repr__(self) -> str:
        return f"<Cleaned | {self.status}: {self.verdict}>"

    def _repr_html_(self) -> str:
        from mne_otica.viz.html import head

        return head(self)


def _over_events(interval: tuple[float, float], events: str) -> str:
    low, high = interval
    return "" if np.isnan(low) else f" ({low:.0%} to {high:.0%} over {events})"
