"""What cleaning a recording gives back: the result and all that is known about it."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mne
import numpy as np
from mne.utils import logger
from numpy.typing import NDArray

import mne_otica
from mne_otica._docs import fill_doc
from mne_otica._recording import filtered_copy, quiet
from mne_otica.artifacts import BlinkScores, BlinkTimes
from mne_otica.evaluation import Preservation, RMSReduction
from mne_otica.ica import ICA, maps_in_volts

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from mne.io import BaseRaw


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
    removed : ndarray, shape (n_removed, n_times)
        The time courses of the components removed, from the recording as it was passed.
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
    removed: NDArray[np.float64]
    settings: dict[str, Any]
    versions: dict[str, str]
    verdict: str
    status: str

    def filtered(self) -> BaseRaw:
        """Return the EEG as the ICA was fitted on it, blinks and all.

        Returns
        -------
        raw : instance of Raw
            The good EEG channels before cleaning, filtered.
        """
        raw = self.raw.copy().load_data(verbose="error")
        if self.ica.exclude:
            picks = [raw.ch_names.index(name) for name in self.ica.ch_names]
            raw._data[picks] += maps_in_volts(self.ica)[:, self.ica.exclude] @ self.removed
        with quiet():
            return filtered_copy(raw, self.settings["l_freq"], self.settings["h_freq"])

    # Figures and reports are drawn from this class, so their modules lie above this one. The
    # next two methods call them the way a user does, by the public names of the package.

    @fill_doc
    def plot(self, *, show: bool = True) -> Figure:
        """Draw the blinks before and after, the component, and the reduction per channel.

        Parameters
        ----------
        %(show)s

        Returns
        -------
        figure : instance of Figure
            The figure.
        """
        return mne_otica.viz.plot_cleaned(self, show=show)

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
        return mne_otica.add_blink_report(mne.Report(title=title, verbose="error"), self)

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
        with quiet():
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
        removed = [self.ica._ica_names[index] for index in self.ica.exclude]
        rows = [
            ("Blinks", f"{len(self.events.events)} from {self._source()}"),
            ("Components removed", ", ".join(removed) or "none"),
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
            f"<table class='table table-sm'>{rows}</table>"
            f"<details><summary>Candidates</summary>{self.scores._repr_html_()}</details>"
        )


def _stem(raw):
    """Return the name of the recording without what formats add to it."""
    source = raw.filenames[0] if raw.filenames else None
    if source is None:
        return "recording"
    stem = Path(source).name.split(".")[0]
    for ending in ("_raw", "-raw"):
        stem = stem.removesuffix(ending)
    return stem or "recording"
