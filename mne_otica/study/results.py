"""A cleaned study as tables, recordings, epochs and averages."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mne
import numpy as np
from mne import BaseEpochs, Evoked
from mne.io import BaseRaw
from mne.preprocessing import ICA, read_ica
from mne.utils import warn

from mne_otica.evaluation.audit import Audited
from mne_otica.evaluation.methods_section import methods_text, references
from mne_otica.study.sidecars import read_json
from mne_otica.study.summary_table import COLUMNS, KIND_COLUMNS, Row, badness, kept_rows
from mne_otica.utils.checks import _check_option

if TYPE_CHECKING:
    import pandas as pd


Names = str | Sequence[str]
Events = Names | Mapping[str, int]


class _NoEventsError(ValueError):
    """A recording has none of the events."""


@dataclass(frozen=True, repr=False)
class Study:
    """The result of cleaning a study.

    Attributes
    ----------
    rows : list of dict
        One row per recording, worst first; those of this run, or with `read_study` of all.
    out : pathlib.Path
        The output folder.
    """

    rows: list[dict[str, Any]]
    out: Path

    @property
    def failed(self) -> list[str]:
        """The recordings that failed."""
        return [row["recording"] for row in self.rows if row["status"] == "failed"]

    @property
    def cleaned(self) -> list[str]:
        """The recordings with a cleaned file, in alphabetical order."""
        return sorted(row["recording"] for row in self.rows if row["file"])

    def to_data_frame(self, by: str = "recording") -> "pd.DataFrame | list[dict[str, Any]]":
        """Return the results as a table.

        Parameters
        ----------
        by : "recording" | "kind"
            Whether the table has one row per recording, or per recording and kind of artifact.

        Returns
        -------
        table : instance of pandas.DataFrame | list of dict
            The rows, worst first, with ``participant_id`` as in ``participants.tsv``. The types
            of the columns do not depend on missing values. A list if pandas is not installed.
        """
        _check_option("by", by, ("recording", "kind"))
        if by == "recording":
            return _frame(self.rows, COLUMNS)
        return _frame([row | one for row in self.rows for one in row["kinds"]], KIND_COLUMNS)

    def raw(self, recording: str) -> BaseRaw:
        """Read a cleaned recording.

        Parameters
        ----------
        recording : str
            Its name in the table.

        Returns
        -------
        raw : instance of Raw
            The recording, not loaded.
        """
        return mne.io.read_raw_fif(self._file(recording, "file"), verbose="error")

    def ica(self, recording: str) -> ICA:
        """Read the ICA of a recording, with the components removed in ``exclude``.

        Parameters
        ----------
        recording : str
            Its name in the table.

        Returns
        -------
        ica : instance of ICA
            The ICA.
        """
        return read_ica(self._file(recording, "ica"), verbose="error")

    def _file(self, recording: str, column: str) -> Path:
        row = next((row for row in self.rows if row["recording"] == recording), None)
        if row is None:
            raise ValueError(f"No recording {recording!r} in this study; see study.cleaned.")
        if not row[column]:
            raise ValueError(f"{recording} was not cleaned: {row['message']}")
        return self.out / row[column]

    def epochs(
        self,
        recording: str,
        event_id: Events,
        *,
        l_freq: float | None = None,
        h_freq: float | None = None,
        **options: Any,
    ) -> BaseEpochs:
        """Return the epochs of a cleaned recording at its annotations.

        Parameters
        ----------
        recording : str
            Its name in the table.
        event_id : str | sequence of str | dict
            The annotations to use as events, in BIDS the ``trial_type``. Those that the recording
            does not have are ignored.
        l_freq, h_freq : float | None
            The limits of the filter applied before cutting the epochs, in Hz.
        **options : dict
            Other parameters of :class:`mne.Epochs`, such as ``tmin``, ``tmax``, ``baseline`` and
            ``reject``.

        Returns
        -------
        epochs : instance of Epochs
            The epochs, loaded; ``epochs.drop_log`` has those rejected.
        """
        names = [event_id] if isinstance(event_id, str) else list(event_id)
        ids = event_id if isinstance(event_id, Mapping) else {n: k for k, n in enumerate(names, 1)}
        raw = self.raw(recording).load_data(verbose="error")
        present = {name: ids[name] for name in names if name in set(raw.annotations.description)}
        if not present:
            told = ", ".join(sorted(set(raw.annotations.description))) or "none"
            lacks = f"{recording} has no event {' or '.join(names)}"
            raise _NoEventsError(f"{lacks}; its annotations are: {told}.")
        if l_freq is not None or h_freq is not None:
            raw.filter(l_freq, h_freq, verbose="error")
        events, _ = mne.events_from_annotations(raw, present, verbose="error")
        return mne.Epochs(raw, events, present, preload=True, verbose="error", **options)

    def _by_participant(
        self, event_id: Events, options: dict[str, Any]
    ) -> Iterator[tuple[str, list[BaseEpochs]]]:
        people = {row["recording"]: row["participant_id"] or row["recording"] for row in self.rows}
        for participant, names in groupby(sorted(self.cleaned, key=people.get), people.get):
            found = []
            for name in names:
                try:
                    found.append(self.epochs(name, event_id, **options))
                except _NoEventsError as error:
                    warn(f"{error} It is left out.")
            if found:
                yield participant, found

    def evokeds(self, event_id: Events, **options: Any) -> dict[str, list[Evoked]]:
        """Return the averages of each participant, by condition.

        Parameters
        ----------
        event_id : str | sequence of str | dict
            The conditions, see :meth:`epochs`.
        **options : dict
            Parameters of :meth:`epochs`.

        Returns
        -------
        evokeds : dict of list of Evoked
            For each condition one average per participant, over the trials of all their
            recordings, for :func:`mne.grand_average` or
            :func:`mne.viz.plot_compare_evokeds`. ``evoked.comment`` is the participant, and
            ``evoked.nave`` the number of trials that were kept.
        """
        found = {}
        for participant, runs in self._by_participant(event_id, options):
            for name in dict.fromkeys(name for epochs in runs for name in epochs.event_id):
                own = [epochs[name].average() for epochs in runs if len(epochs[name])]
                if not own:
                    warn(f"No trial of {name} of {participant} was kept; this average is left out.")
                else:
                    evoked = mne.combine_evoked(own, "nave") if len(own) > 1 else own[0]
                    evoked.comment = participant
                    found.setdefault(name, []).append(evoked)
        rates = {one.info["sfreq"] for every in found.values() for one in every}
        if len(rates) > 1:
            told = ", ".join(f"{rate:g}" for rate in sorted(rates))
            warn(
                f"The recordings have several sampling rates ({told} Hz); resample the averages "
                "before mne.grand_average."
            )
        return found

    def amplitudes(
        self, event_id: Events, picks: Names, window: tuple[float, float], **options: Any
    ) -> "pd.DataFrame | list[dict[str, Any]]":
        """Return the mean amplitude in a window for each participant and condition.

        Parameters
        ----------
        event_id : str | sequence of str | dict
            The conditions, see :meth:`epochs`.
        picks : str | sequence of str
            The channels, of which the mean is taken.
        window : tuple of float
            Start and end of the window, in seconds.
        **options : dict
            Parameters of :meth:`epochs`.

        Returns
        -------
        table : instance of pandas.DataFrame | list of dict
            One row per participant and condition: the mean ``amplitude`` in microvolts, its
            standardized measurement error ``sme`` (the standard deviation over trials, divided by
            the root of their number), and the number of trials that were kept.
        """
        rows = []
        for participant, runs in self._by_participant(event_id, options):
            scores: dict[str, list[float]] = {}
            for epochs in runs:
                times = (epochs.times >= window[0]) & (epochs.times <= window[1])
                if not times.any():
                    raise ValueError(
                        f"The window {window} s holds no sample of the epochs, which are from "
                        f"{epochs.tmin:g} to {epochs.tmax:g} s; pass tmin and tmax around it."
                    )
                for name in epochs.event_id:
                    data = epochs[name].get_data(picks)[..., times]
                    scores.setdefault(name, []).extend(1e6 * data.mean(axis=(1, 2)))
            for name, own in scores.items():
                row = {"participant_id": participant, "condition": name}
                row["amplitude"] = float(np.mean(own)) if own else None
                error = float(np.std(own, ddof=1) / len(own) ** 0.5) if len(own) > 1 else None
                rows.append(row | {"sme": error, "n_trials": len(own)})
        return _frame(rows, ("participant_id", "condition", "amplitude", "sme", "n_trials"))

    def to_audit(self) -> list[Audited]:
        """Return the recordings before and after cleaning, for :func:`mne_otica.audit`.

        Returns
        -------
        recordings : list
            Those that were cleaned and evaluated.
        """
        kept, found = kept_rows(self.out), []
        for row in [row for row in self.rows if row["file"] and row["report"]]:
            name, after = row["recording"], self.raw(row["recording"])
            path = kept[name].recording.path
            before = mne.io.read_raw(path, preload=True, verbose="error")
            found_in = self._facts(row)["samples"].items()
            samples = {kind: np.array(some) - after.first_samp for kind, some in found_in if some}
            found.append(Audited(name, before, after, samples, self.ica(name).ch_names))
        return found

    def _facts(self, row: dict[str, Any]) -> dict[str, Any]:
        report = self.out / row["report"]
        path = report.with_name(report.name.replace("_report.html", "_artifacts.json"))
        return read_json(path)["Results"]

    def methods(self) -> tuple[str, str]:
        """Return a paragraph for the methods section, with the figures of this study.

        Returns
        -------
        text, references : str
            The paragraph, and the references it cites, in BibTeX.
        """
        each = [self._facts(row) for row in self.rows if row["report"]]
        if not each:
            raise ValueError(f"No recording of {self.out} was cleaned and evaluated.")
        return methods_text(each, len(self.failed)), references()

    def __repr__(self) -> str:
        return f"<Study | {len(self.rows)} recordings: {counted(self.rows)}>"


def read_study(out: str | Path) -> Study:
    """Open a study that was cleaned before, by ``mne_otica run`` or :func:`clean_study`.

    Parameters
    ----------
    out : path-like
        The output folder, for BIDS ``derivatives/mne-otica`` of the study.

    Returns
    -------
    study : instance of Study
        All recordings of the study.
    """
    out = Path(out).absolute()
    description = read_json(out / "dataset_description.json")
    rows = [kept.row for kept in kept_rows(out).values()]
    if "mne-otica" not in str(description.get("GeneratedBy")) or not rows:
        told = "give the folder that it wrote to, or run the study again."
        raise ValueError(f"{out} holds no study that this version of mne_otica has run; {told}")
    return Study(sorted(rows, key=badness), out)


def counted(rows: Sequence[Row]) -> str:
    """Return the number of recordings of each status."""
    counts = Counter(row["status"] for row in rows)
    return ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))


def _frame(rows: list[Row], columns: Sequence[str]) -> "pd.DataFrame | list[Row]":
    rows = [{name: row[name] for name in columns} for row in rows]
    try:
        import pandas as pd
    except ImportError:
        return rows
    return pd.DataFrame(rows, columns=columns).convert_dtypes()
