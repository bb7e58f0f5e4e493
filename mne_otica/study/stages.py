"""The stages of a unit of a study (fit, find, apply, evaluate), each run only if needed."""

from __future__ import annotations

import copy
import logging
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mne
import numpy as np
from mne.utils import logger
from numpy.typing import NDArray

from mne_otica.cleaning import clean as cleaning
from mne_otica.cleaning.conclude import conclude, versions
from mne_otica.cleaning.decide import find
from mne_otica.cleaning.evoked_free import fit_evoked_free, onsets_of
from mne_otica.cleaning.found import Found, add_choice, found_again, found_content
from mne_otica.cleaning.suspects import find_suspects
from mne_otica.evaluation.measures import plain
from mne_otica.evaluation.methods_section import mark_cleaned
from mne_otica.evaluation.sentences import BY_HAND, component_names
from mne_otica.removal.remove import Taken, take_out, to_take
from mne_otica.signals.conditions import conditions_of
from mne_otica.signals.reading import LowRateRaw, filtered_copy
from mne_otica.solver._linalg import one_blas_thread
from mne_otica.study import storage as files
from mne_otica.study.components_table import (
    edited_text,
    edits,
    read_table,
    reworded,
    table_text,
)
from mne_otica.study.inputs import Recording, Unit, read
from mne_otica.study.rows import Row, failed_row, keep_row, row_of, sentence_of
from mne_otica.study.state import STAGES, Options, UnitState
from mne_otica.trust.stability import stability as find_stability

if TYPE_CHECKING:
    from mne.io import BaseRaw
    from mne.preprocessing import ICA


class UnitStages(UnitState):
    """The stages of the recordings that share one ICA."""

    def __init__(self, unit: Unit, out: Path, options: Options) -> None:
        super().__init__(unit, out, options)
        # Results passed on to later stages, by recording
        self._raws: dict[Recording, tuple[BaseRaw, list[str]]] = {}
        self._bads: dict[Recording, list[str]] = {}
        self._filtered: dict[Recording, LowRateRaw] = {}
        self._suspects: dict[str, str] | None = None
        self._cleaned: dict[Recording, tuple[BaseRaw, Taken]] = {}

    def do(self, stage: str, recording: Recording | None = None) -> None:
        """Run a stage unless it is done."""
        key = self.key(stage, recording)  # raises if the stage before is missing
        if not self.options.overwrite and self.is_done(stage, recording):
            return
        sidecar = self.path(stage, ".json", recording)
        with (
            files.staged(self.out, sidecar.parent) as scratch,
            warnings.catch_warnings(record=True) as caught,
            mne.use_log_level("info" if logger.level <= logging.DEBUG else "warning"),
        ):
            warnings.simplefilter("always")
            results = getattr(self, f"_{stage}")(scratch, *([recording] if recording else []))
            written = sorted(scratch.iterdir())
            outputs = {path.name: self.notes.hash_of(path) for path in written}
            outputs.pop(self.table.name, None)  # people may edit it
            content = {
                "Stage": stage,
                "Sources": list(self.source_hashes()),
                "SHA256": self.source_hashes(),
                "Outputs": outputs,
                "Parameters": self.parameters(stage, recording),
                "Versions": self._versions(),
                "Upstream": self.upstream(stage, recording),
                "Key": key,
                "Warnings": list(dict.fromkeys(str(warning.message) for warning in caught)),
                "ReaderWarnings": self._reader_warnings(recording),
                "Results": files.rounded(plain(results)),
            }
            files.write_json(scratch / sidecar.name, files.sealed(content))
        for path in written:
            self.notes.moved(path, sidecar.parent / path.name)

    def _versions(self) -> dict[str, str]:
        found = versions()
        if self.unit.recordings[0].bids_root is not None:
            found["mne_bids"] = version("mne_bids")
        return found

    # The recordings

    def _raw(self, recording: Recording) -> BaseRaw:
        """Return a recording in which channels that are bad in any run are marked bad."""
        if not self._raws:
            for one in self.unit.recordings:
                self._raws[one] = read(one)
                self._bads[one] = list(self._raws[one][0].info["bads"])
            union = {name for bads in self._bads.values() for name in bads}
            for raw, _ in self._raws.values():
                raw.info["bads"] = [name for name in raw.ch_names if name in union]
            if self._suspects is None:
                fitted = self.sidecar("fit")["Results"]
                self._leave_out(fitted["suspects"], fitted["left_out"])
        return self._raws[recording][0]

    def _find_suspects(self) -> dict[str, Any]:
        """Find the channels that look broken in any recording, and leave them out of all."""
        self._suspects, left_out = {}, []
        fit = self.parameters("fit")
        for recording in self.unit.recordings if fit["find_bad_channels"] else ():
            filtered = self._copy_to_fit(recording)
            suspects, own = find_suspects(
                self._raw(recording), filtered, fit["reject_by_annotation"]
            )
            self._suspects |= suspects
            left_out += own
        self._leave_out(self._suspects, left_out)
        return {"suspects": self._suspects, "left_out": left_out}

    def _leave_out(self, suspects: dict[str, str], names: list[str]) -> None:
        self._suspects = suspects
        for recording, (raw, _) in self._raws.items():
            more = [name for name in dict.fromkeys(names) if name not in raw.info["bads"]]
            raw.info["bads"] = raw.info["bads"] + more
            self._bads[recording] = self._bads[recording] + more
        for filtered in self._filtered.values():
            filtered.drop_channels([name for name in names if name in filtered.ch_names])

    def _reader_warnings(self, recording: Recording | None) -> list[str]:
        chosen = self.unit.recordings if recording is None else [recording]
        return [told for one in chosen if one in self._raws for told in self._raws[one][1]]

    def _copy_to_fit(self, recording: Recording) -> LowRateRaw:
        if recording not in self._filtered:
            fit = self.parameters("fit")
            self._filtered[recording] = filtered_copy(
                self._raw(recording), fit["l_freq"], fit["h_freq"]
            )
        return self._filtered[recording]

    def _together(self, get: Callable[[Recording], BaseRaw]) -> BaseRaw:
        """Return all recordings of the unit, concatenated."""
        each = [get(recording) for recording in self.unit.recordings]
        if len(each) == 1:
            return each[0]
        try:
            return mne.concatenate_raws([_as_array(raw) for raw in each], verbose="error")
        except ValueError as error:
            raise ValueError(
                f"The runs do not go together ({error}); fit them one by one, or make their "
                "channels and sampling rates alike."
            ) from error

    # The stages

    def _fit(self, scratch: Path) -> dict[str, Any]:
        fit = self.parameters("fit")
        reject = fit["reject_by_annotation"]
        suspects = self._find_suspects()
        data = self._together(self._copy_to_fit)
        sfreq = self._raw(self.unit.recordings[0]).info["sfreq"]
        fit_ica = partial(
            cleaning.fit_ica,
            n_components=fit["n_components"],
            random_state=fit["random_state"],
            reject=reject,
            step=round(sfreq / data.info["sfreq"]),
        )
        trials = conditions_of(data, fit["events"])
        ica, evoked_free = fit_evoked_free(fit_ica, data, data, trials, reject=reject)
        if ica.n_components_ < 2:  # of which MNE cannot read the file
            raise ValueError(
                f"The EEG has rank {ica.rank_}, so there is nothing to separate; more channels are "
                "needed."
            )
        ica.save(scratch / self.path("fit", ".fif").name)
        return {
            "n_components": ica.n_components_,
            "n_iter": ica.n_iter_,
            "converged": ica.converged_,
            "rank": ica.rank_,
            "evoked_free": evoked_free,
            **suspects,
            "seconds": data.n_times / data.info["sfreq"],
            "seconds_fitted": ica.n_samples_ / data.info["sfreq"],
        }

    def _find(self, scratch: Path) -> dict[str, Any]:
        ica = mne.preprocessing.read_ica(self.path("fit", ".fif"), verbose="error")
        raw = self._together(self._raw)
        find_parameters, fit = self.parameters("find"), self.parameters("fit")
        first = self.unit.recordings[0]
        found = find(
            raw,
            ica,
            find_parameters["artifacts"],
            find_parameters["max_components"],
            fit["reject_by_annotation"],
            band=(fit["l_freq"], fit["h_freq"]),
            filtered=self._copy_to_fit(first) if len(self.unit.recordings) == 1 else None,
        )
        removed = {kind: one.components for kind, one in found.decisions.items()}
        ica.save(scratch / self.path("find", ".fif").name)
        trusted = self._stability(ica)
        text = table_text(found.artifacts, removed, trusted)
        edited = self._keep_edits(text, ica.n_components_)
        text = edited_text(text, edited)
        (scratch / self.table.name).write_text(text, encoding="utf-8", newline="\n")
        if not edited:
            self._recognise(scratch / self.table.name)
        return found_content(found) | {
            "samples": {
                kind: self._by_recording(one.known[:, 0] - raw.first_samp)
                for kind, one in found.decisions.items()
            },
            "stability": trusted,
        }

    def _stability(self, ica: ICA) -> dict[str, Any] | None:
        """Return the stability of the components, if requested."""
        if not self.parameters("find")["stability"]:
            return None
        data = self._together(self._copy_to_fit)
        seed = self.parameters("fit")["random_state"]
        trusted = find_stability(ica, data, random_state=seed, n_jobs=1).to_dict()
        return {name: trusted[name] for name in ("index", "n_returns", "n_fits", "summary")}

    def _by_recording(self, samples: NDArray[np.int64]) -> dict[str, list[int]]:
        """Split samples of the concatenated recordings into events of each recording."""
        events, start = {}, 0
        for recording in self.unit.recordings:
            raw = self._raw(recording)
            inside = samples[(samples >= start) & (samples < start + raw.n_times)]
            events[recording.name.label] = (inside - start + raw.first_samp).tolist()
            start += raw.n_times
        return events

    def _recognise(self, table: Path) -> None:
        """Store the hash of a table as written, before anyone can edit it."""
        notes = self.notes.content
        notes["tables"] = sorted({*notes["tables"], self.notes.hash_of(table)})
        notes["table_of_fit"] = self.key("fit")
        self.notes.save()

    def _keep_edits(self, automatic: str, n_components: int) -> dict[int, dict[str, str]]:
        """Back up an edited table; return the edits if they are still valid."""
        present = self.notes.hash_of(self.table)
        if present is None or present in self.notes.content["tables"]:
            return {}
        text = self.table.read_bytes()
        if text == automatic.encode():
            return {}
        aside = self.table.with_name(f"{self.table.stem}_edited-{present[:8]}.tsv")
        with files.staged(self.out, aside.parent) as scratch:
            (scratch / aside.name).write_bytes(text)
        if self.notes.content["table_of_fit"] == self.key("fit"):
            return edits(self.table, n_components)
        # The components have changed, so the edits do not apply any more.
        self.table.unlink()
        return {}

    def _ica(self) -> ICA:
        """Return the ICA with the components to remove, and update its file."""
        ica, excluded = self.fitted_ica(), self.excluded()
        if sorted(ica.exclude) != excluded:  # by hand
            _choose(ica, excluded)
            self._follow_table(ica, self.path("find", ".fif"))
        return ica

    def _follow_table(self, ica: ICA, path: Path) -> None:
        """Update the file of the ICA and the reasons in the table after an edited status."""
        sidecar = copy.deepcopy(self.sidecar("find"))
        rows = read_table(self.table, ica.n_components_)
        text = reworded(self.table, rows, sidecar["Results"]["components"])
        with files.staged(self.out, path.parent) as scratch:
            ica.save(scratch / path.name)
            if text is not None:
                (scratch / self.table.name).write_text(text, encoding="utf-8", newline="\n")
            sidecar["Outputs"][path.name] = self.notes.hash_of(scratch / path.name)
            files.write_json(scratch / self.path("find", ".json").name, files.sealed(sidecar))
        self.notes.moved(scratch / path.name, path)

    def _apply(self, scratch: Path, recording: Recording) -> dict[str, Any]:
        ica = self._ica()
        cleaned, taken = self._clean(recording, ica)
        mark_cleaned(cleaned.info, taken)
        path = scratch / self.path("apply", ".fif", recording).name
        cleaned.save(path, split_naming="bids")
        return {"components": sorted(ica.exclude), "kinds": list(self.kinds_by_hand().items())}

    def _clean(self, recording: Recording, ica: ICA) -> tuple[BaseRaw, Taken]:
        """Return the cleaned recording, and what was removed."""
        if recording not in self._cleaned:
            settings = self.parameters("fit") | self.parameters("apply", recording)
            cleaned = self._raw(recording).copy()
            cleaned.info["bads"] = self._bads[recording]
            decisions = self._found(recording, ica).decisions
            taken = take_out(cleaned, ica, decisions, settings)
            self._cleaned[recording] = cleaned, taken
        return self._cleaned[recording]

    def _evaluate(self, scratch: Path, recording: Recording) -> dict[str, Any]:
        result = self._result(recording, self._ica())
        report = scratch / self.report(recording).name
        result.report(title=recording.name.label).save(report, open_browser=False)
        _take_out_date(report)
        facts = result.to_dict()
        facts["versions"] = self._versions()
        return facts | {"seconds": facts["settings"]["seconds"], "report": report.name}

    def preview(self, recording: Recording, exclude: Sequence[int]) -> cleaning.Cleaned:
        """Return the result for a recording without these components; nothing is written."""
        ica = self.fitted_ica()
        _choose(ica, exclude)
        settings = self.parameters("fit") | self.parameters("apply", recording)
        raw = self._raw(recording)
        taken = to_take(raw, ica, self._found(recording, ica).decisions, settings)
        # The cleaned recording is not needed.
        self._cleaned[recording] = raw, taken
        try:
            return self._result(recording, ica, brief=True)
        finally:
            del self._cleaned[recording]

    def fitted_ica(self) -> ICA:
        """Return the ICA as saved, regardless of the table."""
        return mne.preprocessing.read_ica(self.path("find", ".fif"), verbose="error")

    def signals(self, recording: Recording) -> tuple[BaseRaw, BaseRaw]:
        """Return a recording and the copy that the ICA is fitted on; do not change them."""
        return self._raw(recording), self._copy_to_fit(recording)

    def _result(self, recording: Recording, ica: ICA, brief: bool = False) -> cleaning.Cleaned:
        """Return the result that `mne_otica.clean_raw` would, with the ICA's ``exclude``."""
        settings = {
            name: value
            for stage, of in (("fit", None), ("find", None), ("apply", recording))
            for name, value in self.parameters(stage, of).items()
        }
        fitted = self.sidecar("fit")["Results"]
        filtered = self._copy_to_fit(recording)
        cleaned, taken = self._clean(recording, ica)
        settings |= {"n_components_used": fitted["n_components"]}
        settings |= {name: fitted[name] for name in ("converged", "rank", "seconds_fitted")}
        settings |= {"seconds": cleaned.n_times / cleaned.info["sfreq"]}
        if free := fitted["evoked_free"]:
            trials = conditions_of(cleaned, list(free["trials"]))
            settings["evoked_free"] = free | {"onsets": onsets_of(trials, cleaned.info["sfreq"])}
        found = self._found(recording, ica)
        options = dict(suspects=self._suspects, brief=brief)
        result = conclude(cleaned, filtered, ica, found, taken, settings, **options)
        named = self.kinds_by_hand()
        idle = [k for k, kind in named.items() if k not in result.kinds[kind].components]
        told = [result.verdict]
        if named and BY_HAND not in result.verdict:
            told.append(BY_HAND)
        if idle:
            told.append(f"Nothing of the kind named in {', '.join(component_names(idle))}")
        return replace(result, verdict=". ".join(told))

    def _found(self, recording: Recording, ica: ICA) -> Found:
        """Return what was found, with the events in one recording."""
        content = self.sidecar("find")["Results"]
        samples = {kind: one[recording.name.label] for kind, one in content["samples"].items()}
        reject = self.parameters("fit")["reject_by_annotation"]
        raw = self._raw(recording)
        found = found_again(content, samples, raw, ica, reject)
        named = {k: kind for k, kind in self.kinds_by_hand().items() if k in ica.exclude}
        for kind, one in found.decisions.items():
            kept = [k for k in one.components if named.get(k, kind) == kind]
            found.decisions[kind] = replace(one, components=kept)
        for kind in dict.fromkeys(named.values()):
            chosen = [k for k in named if named[k] == kind]
            add_choice(found.decisions, kind, chosen, raw, ica, reject)
        return found


def process(unit: Unit, out: Path, options: Options) -> list[Row]:
    """Run all pending stages of a unit; return one row per recording, also if it failed.

    Raises only if the output folder cannot be written to, as all other units would fail, too.
    Another run on the same unit waits, and then finds it done.
    """
    # With one thread of BLAS, the last digits do not depend on the number of workers.
    with files.explained(out), files.locked(out, unit.name.label), one_blas_thread():
        work = UnitStages(unit, out, options)
        try:
            for stage in options.stages:
                if stage in STAGES[:2]:
                    work.do(stage)
        except files.OutputError:
            raise
        except Exception as error:
            rows = [failed_row(recording, error) for recording in unit.recordings]
        else:
            rows = [_finish(work, recording) for recording in unit.recordings]
        for recording, row in zip(unit.recordings, rows, strict=True):
            keep_row(out, recording, row)
        work.notes.save()
        return rows


def _finish(work: UnitStages, recording: Recording) -> Row:
    """Run the stages of a single recording."""
    try:
        for stage in work.options.stages:
            if stage in STAGES[2:]:
                work.do(stage, recording)
        return row_of(work, recording)
    except files.OutputError:
        raise
    except Exception as error:
        return failed_row(recording, error)


def finished(unit: Unit, out: Path, options: Options) -> list[Row] | None:
    """Return the rows of a unit without pending stages, else None."""
    work = UnitStages(unit, out, options)
    try:
        if work.pending():
            return None
        rows = [row_of(work, recording) for recording in unit.recordings]
        for recording, row in zip(unit.recordings, rows, strict=True):
            keep_row(out, recording, row)
        return rows
    except Exception:  # the error is raised again, and reported, when the unit is processed
        return None
    finally:
        work.notes.save()


def planned(unit: Unit, out: Path, options: Options) -> str:
    """Return the pending stages as text."""
    try:
        return ", ".join(UnitStages(unit, out, options).pending()) or "nothing"
    except Exception as error:
        return f"will fail: {sentence_of(error)}"


def _choose(ica: ICA, exclude: Sequence[int]) -> None:
    """Set ``exclude`` to the components that a person chose."""
    ica.exclude = list(exclude)
    ica.labels_["blink"] = list(exclude)


def _as_array(raw: BaseRaw) -> BaseRaw:
    """Return a copy without information about the original file format."""
    info = raw.info.copy()
    for channel in info["chs"]:
        channel["cal"] = channel["range"] = 1.0
    copy = mne.io.RawArray(raw.get_data(), info, first_samp=raw.first_samp, verbose="error")
    return copy.set_annotations(raw.annotations, verbose="error")


def _take_out_date(report: Path) -> None:
    """Remove the date from a report, so that the same results give the same file."""
    text = report.read_text(encoding="utf-8")
    text = re.sub(r"(<span>Created )on \d[-:\d ]+(?=via )", r"\1", text)
    report.write_text(text, encoding="utf-8", newline="\n")
