"""The result of cleaning a recording."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mne
import numpy as np
from mne.io import BaseRaw
from mne.utils import logger
from numpy.typing import NDArray

from mne_otica.artifacts import ArtifactScores
from mne_otica.evaluation.audit import Audited
from mne_otica.evaluation.measures import KindResult, plain
from mne_otica.evaluation.methods_section import methods_text
from mne_otica.evaluation.sentences import component_names, kind_line, suspects_line
from mne_otica.ica import ICA
from mne_otica.removal.remove import put_back
from mne_otica.signals.recording import quiet
from mne_otica.signals.unmixing import maps_in_volts
from mne_otica.utils.docs import fill_doc

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mne_otica.trust.stability import Stability


@dataclass(frozen=True, repr=False, eq=False)
class Cleaned:
    """A cleaned recording, the ICA, and what was found, removed and measured.

    Attributes
    ----------
    raw : instance of Raw | None
        A copy of the recording, cleaned; unchanged unless ``status`` is ``"cleaned"`` or
        ``"poor"``. None if epochs were cleaned without their recording.
    ica : instance of ICA
        The fitted ICA; its ``exclude`` holds the components removed.
    events : ndarray, shape (n_events, 3)
        MNE events of the artifacts, with one id per kind (998 for blinks and 999 for heartbeats, as
        in MNE, 997 for eye movements, 995 for electrodes); muscle activity has none. They can be
        passed to :class:`mne.Epochs`. The second column is 1 for events that only the removal
        found, at which the benefit is not measured, and 2 for events that were not removed.
    artifacts : instance of ArtifactScores
        Probability, answer and reason for each component and each kind of artifact, also for
        kinds that were not to be removed.
    kinds : dict
        For each kind in ``artifacts``, an instance of KindResult: components, events, benefit
        and harm.
    removed : ndarray, shape (n_removed, n_times)
        The time course that was removed from each component in ``ica.exclude``, without
        filtering: zero between the blinks, or with ``removal="component"`` the whole component.
    settings : dict
        The parameters, with the values that were used for the automatic ones.
    versions : dict
        Versions of Python and the packages used.
    verdict : str
        One sentence for each kind that was found: the share removed, events, components, and
        the share of the signal removed elsewhere, or of the whole signal; or why nothing was.
    status : str
        ``"cleaned"``; ``"poor"`` if of any kind removed (but muscle) less than half was removed,
        or more than 30 percent of the signal elsewhere, for muscle in total (the verdict says which
        and what to try; of heartbeats, which are everywhere, at sham beats);
        ``"unsure"`` if nothing was removed because the evidence was not sufficient; ``"none"``
        if no artifact was found, or none whose removal does measurable good.
    epochs : instance of Epochs | None
        The cleaned epochs, of :func:`mne_otica.clean_epochs`.
    suspects : dict
        EEG channels that look bad but were not marked, with the reason; see
        ``find_bad_channels`` of :func:`mne_otica.clean_raw`.
    stability : instance of Stability | None
        How reproducible the components are, with ``stability=True``.
    """

    raw: BaseRaw | None
    ica: ICA
    events: NDArray[np.int64]
    artifacts: ArtifactScores
    kinds: dict[str, KindResult]
    removed: NDArray[np.float64]
    settings: dict[str, Any]
    versions: dict[str, str]
    verdict: str
    status: str
    # The EEG before cleaning and the time courses removed, in the band of the fit, for figures
    _filtered: BaseRaw
    _taken: NDArray[np.float64]
    epochs: mne.BaseEpochs | None = None
    suspects: dict[str, str] = field(default_factory=dict)
    stability: Stability | None = None

    def filtered(self) -> BaseRaw:
        """Return the EEG that the ICA was fitted on, before cleaning.

        Returns
        -------
        raw : instance of Raw
            The good EEG channels before cleaning, filtered, at a sampling rate of about three times
            ``h_freq`` if the recording has a higher one.
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

    def to_audit(self) -> list[Audited]:
        """Return the recording before and after cleaning, for :func:`mne_otica.audit`.

        Returns
        -------
        recordings : list
            One entry.
        """
        if self.raw is None:
            raise ValueError("Only epochs were cleaned; clean them with their recording to audit.")
        before = put_back(self.raw.copy().load_data(verbose="error"), self.ica, self.removed)
        found = {kind: one.events[:, 0] for kind, one in self.kinds.items() if len(one.events)}
        samples = {kind: some - before.first_samp for kind, some in found.items()}
        return [Audited(self.name, before, self.raw, samples, self.ica.ch_names)]

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

    def with_components(self, components: Sequence[int], kind: str | None = None) -> Cleaned:
        """Return the same recording cleaned of other components.

        Parameters
        ----------
        components : sequence of int
            The components to remove. If a component was found to hold an artifact, only the
            artifact is removed from it; all others are removed entirely.
        kind : str | None
            What the others hold. Then they are removed and measured as this kind.

        Returns
        -------
        result : instance of Cleaned
            A new result with everything measured again.
        """
        from mne_otica.cleaning.conclude import rechosen

        return rechosen(self, components, kind)

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
            Verdict, settings, versions, blinks, artifacts and kinds with benefit and harm.
        """
        return {
            "status": self.status,
            "verdict": self.verdict,
            "components": [int(k) for k in self.ica.exclude],
            "suspects": self.suspects,
            "settings": self.settings,
            "versions": self.versions,
            "sources": dict(self.artifacts.sources),
            "sensors": dict(self.artifacts.sensors),
            "samples": {kind: part.events[:, 0].tolist() for kind, part in self.kinds.items()},
            "artifacts": self.artifacts.to_dict(),
            "kinds": {kind: one.to_dict() for kind, one in self.kinds.items()},
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
        files = {
            "raw": "_clean_raw.fif",
            "epochs": "_clean_epo.fif",
            "ica": "-ica.fif",
            "sidecar": "_artifacts.json",
            "report": "_artifacts.html",
        }
        for name in ("raw", "epochs"):
            if getattr(self, name) is None:
                del files[name]
        paths = {name: folder / f"{stem}{end}" for name, end in files.items()}
        present = ", ".join(str(path) for path in paths.values() if path.exists())
        if present and not overwrite:
            raise FileExistsError(f"{present} exist(s); pass overwrite=True or another folder.")
        folder.mkdir(parents=True, exist_ok=True)
        # The files are moved when all are written, so that an interrupt leaves no part of one.
        with quiet(), tempfile.TemporaryDirectory(prefix=".", dir=folder) as scratch:
            aside = {name: Path(scratch) / path.name for name, path in paths.items()}
            for name in list(paths)[:-2]:
                getattr(self, name).save(aside[name])
            facts = json.dumps(self.to_dict(), indent=2, allow_nan=False)
            aside["sidecar"].write_text(facts + "\n", encoding="utf-8")
            self.report().save(aside["report"], open_browser=False)
            for path in Path(scratch).iterdir():  # long recordings are split
                path.replace(folder / path.name)
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
            ("Blinks", self._told_by()),
            ("Components removed", ", ".join(component_names(self.ica.exclude)) or "none"),
            ("Components fitted", f"{self.ica.n_components_} by {self.ica.method}"),
            ("Samples changed", self._changed()),
            ("Suspect channels", suspects_line(self.suspects).partition(": ")[2] or "none"),
        ]
        if seen := [f"{name} {what}" for name, what in self.artifacts.sensors.items()]:
            rows.insert(1, ("Sensors", "; ".join(seen)))
        for kind, one in self.kinds.items():
            if line := kind_line(one):
                rows += [(kind.capitalize(), line.partition(": ")[2]), *_figures(one)]
        if self.stability is not None:
            told = [self.stability.describe(component) for component in self.ica.exclude]
            told.append(f"{self.stability.stable.sum()} components are stable")
            rows.append(("Trust", "; ".join(told) + ". Stable does not mean brain."))
        return rows

    def methods(self) -> str:
        """Return a paragraph for the methods section, with the figures of this result.

        Returns
        -------
        text : str
            The paragraph. ``mne_otica methods`` writes that of a study, and the references.
        """
        return methods_text([plain(self.to_dict())])

    @property
    def name(self) -> str:
        """The file name of the recording, without suffixes such as ``_raw.fif``."""
        files = () if self.raw is None else self.raw.filenames
        stem = Path(files[0]).name.split(".")[0] if files and files[0] else ""
        return stem.removesuffix("_raw").removesuffix("-raw") or "recording"

    def _changed(self) -> str:
        """Return the share of the samples that changed, as text."""
        changed = self.removed.any(axis=0)
        if changed.all() or not changed.any():
            return "all" if changed.any() else "none"
        n_windows = np.count_nonzero(np.diff(np.r_[0, changed]) > 0)
        return f"{changed.mean():.1%}, in {n_windows} windows; the others are as recorded"

    def _told_by(self) -> str:
        """Return the number of blinks and where their times come from, as text."""
        source = self.artifacts.sources.get("blink", "none")
        if source.startswith("component"):
            source += " (the removed component: the reduction is biased upwards)"
        n_blinks = len(self.artifacts.events("blink"))
        return source if source == "none" else f"{n_blinks} from {source}"

    def __repr__(self) -> str:
        return f"<Cleaned | {self.status}: {self.verdict}>"

    def _repr_html_(self) -> str:
        from mne_otica.viz.html import head

        return head(self)


def _figures(one: KindResult) -> list[tuple[str, str]]:
    """Return the figures of one kind that was measured at its events."""
    if one.benefit is None or one.harm is None:
        return []
    benefit, harm, many = one.benefit, one.harm, f"{one.event}s"
    names = benefit.most_affected()
    where = "in total" if harm.margin is None else f"away from {many}"
    average = f"{benefit.average:.0%}{_over_events(benefit.average_interval, many)}"
    overall = f"{benefit.overall:.0%}{_over_events(benefit.interval, many)}"
    bands = _bands(harm.taken_out_per_band, ".1%")
    rows = {
        f"Reduction of the average {one.event} at {', '.join(names)}": average,
        f"Reduction of the RMS at {many} there": f"{benefit.over(names):.0%}",
        f"Reduction of the RMS at {many}, all channels": overall,
        f"Removed {where}": f"{harm.taken_out:.1%} of the signal{bands and f' ({bands})'}",
        f"Removed for sham {many}": "" if harm.sham is None else f"{harm.sham:.1%} of the signal",
        f"Change of power {where}": _bands(harm.band_power, "+z.1%"),
        "Rank": f"{harm.rank_before} before, {harm.rank_after} after",
    }
    return [(name, text) for name, text in rows.items() if text]


def _bands(shares: dict[str, float], form: str) -> str:
    # A recording of 32 Hz has no gamma.
    return ", ".join(f"{name} {x:{form}}" for name, x in shares.items() if not np.isnan(x))


def _over_events(interval: tuple[float, float], events: str) -> str:
    low, high = interval
    return "" if np.isnan(low) else f" ({low:.0%} to {high:.0%} over {events})"
