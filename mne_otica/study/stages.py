"""The stages of a unit of a study (fit, find, apply, evaluate), each run only if needed."""

import json
import logging
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mne
import numpy as np
from mne.io import BaseRaw
from mne.preprocessing import ICA, read_ica
from mne.utils import logger

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
from mne_otica.signals.reading import LowRateRaw, filtered_copy
from mne_otica.signals.recording import annotated_bad
from mne_otica.signals.windows import conditions_of, whole_windows
from mne_otica.study import components_table as tables
from mne_otica.study.inputs import Recording, Unit, read
from mne_otica.study.scratch_and_locks import staged
from mne_otica.study.sidecars import Options, UnitState, file_hash, json_text, sealed
from mne_otica.trust.stability import stability as find_stability
from mne_otica.utils.arrays import Samples


class UnitStages(UnitState):
    """The stages of the recordings that share one ICA."""

    def __init__(self, unit: Unit, out: Path, options: Options) -> None:
        super().__init__(unit, out, options)
        # Results passed on to later stages, by recording
        self._raws: dict[Recording, BaseRaw] = {}
        self._told: list[str] = []  # the warnings of their readers
        self._bads: dict[Recording, list[str]] = {}
        self._filtered: dict[Recording, LowRateRaw] = {}
        self._suspects: dict[str, str] | None = None
        self._cleaned: dict[Recording, tuple[BaseRaw, Taken]] = {}

    def do(self, stage: str, recording: Recording | None = None) -> None:
        """Run a stage unless it is done."""
        key = self.key(stage, recording)  # raises if the stage before is missing
        if not self.options.overwrite and self.is_done(stage, recording):
            return
        path = self.path(stage, recording)
        with (
            staged(self.out, path.parent) as scratch,
            warnings.catch_warnings(record=True) as caught,
            mne.use_log_level("info" if logger.level <= logging.DEBUG else "warning"),
        ):
            warnings.simplefilter("always")
            results = getattr(self, f"_{stage}")(scratch, *([recording] if recording else []))
            outputs = {one.name: file_hash(one) for one in sorted(scratch.iterdir())}
            outputs.pop(self.table.name, None)  # people may edit it
            content = {
                "Stage": stage,
                "Sources": list(self.source_hashes),
                "SHA256": self.source_hashes,
                "Outputs": outputs,
                "Parameters": self.parameters(stage),
                "Versions": self._versions(),
                "Upstream": self.upstream(stage, recording),
                "Key": key,
                "Warnings": list(dict.fromkeys(str(warning.message) for warning in caught)),
                "ReaderWarnings": self._told,
                "Results": _rounded(plain(results)),
            }
            _write_sidecar(scratch / path.name, content)

    def _versions(self) -> dict[str, str]:
        in_bids = self.unit.recordings[0].bids_root is not None
        return versions() | ({"mne_bids": version("mne_bids")} if in_bids else {})

    def _raw(self, recording: Recording) -> BaseRaw:
        """Return a recording in which channels that are bad in any run are marked bad."""
        if not self._raws:
            for one in self.unit.recordings:
                self._raws[one], told = read(one)
                self._told += told
                self._bads[one] = list(self._raws[one].info["bads"])
            union = {name for bads in self._bads.values() for name in bads}
            for raw in self._raws.values():
                raw.info["bads"] = [name for name in raw.ch_names if name in union]
            if self._suspects is None:
                fitted = self.sidecar("fit")["Results"]
                self._leave_out(fitted["suspects"], fitted["left_out"])
        return self._raws[recording]

    def _find_suspects(self) -> dict[str, Any]:
        """Find the channels that look broken in any recording, and leave them out of all."""
        self._suspects, left_out = {}, []
        fit = self.parameters("fit")
        for one in self.unit.recordings if fit["find_bad_channels"] else ():
            options = self._copy_to_fit(one), fit["reject_by_annotation"]
            suspects, own = find_suspects(self._raw(one), *options)
            self._suspects |= suspects
            left_out += own
        self._leave_out(self._suspects, left_out)
        return {"suspects": self._suspects, "left_out": left_out}

    def _leave_out(self, suspects: dict[str, str], names: list[str]) -> None:
        self._suspects = suspects
        for recording, raw in self._raws.items():
            more = [name for name in dict.fromkeys(names) if name not in raw.info["bads"]]
            raw.info["bads"] = raw.info["bads"] + more
            self._bads[recording] = self._bads[recording] + more
        for filtered in self._filtered.values():
            filtered.drop_channels([name for name in names if name in filtered.ch_names])

    def _copy_to_fit(self, recording: Recording) -> LowRateRaw:
        if recording not in self._filtered:
            fit = self.parameters("fit")
            filtered = filtered_copy(self._raw(recording), fit["l_freq"], fit["h_freq"])
            self._filtered[recording] = filtered
        return self._filtered[recording]

    def _together(self, get: Callable[[Recording], BaseRaw]) -> BaseRaw:
        each = [get(recording) for recording in self.unit.recordings]
        if len(each) == 1:
            return each[0]
        try:
            return mne.concatenate_raws([_as_array(raw) for raw in each], verbose="error")
        except ValueError as error:
            told = "fit them separately, or give them the same channels and sampling rate."
            raise ValueError(f"The runs cannot be concatenated ({error}); {told}") from error

    def _fit(self, scratch: Path) -> dict[str, Any]:
        fit = self.parameters("fit")
        reject = fit["reject_by_annotation"]
        suspects = self._find_suspects()
        data = self._together(self._copy_to_fit)
        sfreq = self._raw(self.unit.recordings[0]).info["sfreq"]
        options = {name: fit[name] for name in ("n_components", "random_state")}
        options |= {"reject": reject, "step": round(sfreq / data.info["sfreq"])}
        fit_ica = partial(cleaning.fit_ica, **options)
        trials = conditions_of(data, fit["events"])
        ica, evoked_free = fit_evoked_free(fit_ica, data, data, trials, reject=reject)
        ica.save(scratch / self.path("fit").name)
        names, rate = ("n_components", "n_iter", "converged", "rank"), data.info["sfreq"]
        facts = {name: getattr(ica, f"{name}_") for name in names}
        facts |= {"evoked_free": evoked_free} | suspects
        return facts | {"seconds": data.n_times / rate, "seconds_fitted": ica.n_samples_ / rate}

    def _find(self, scratch: Path) -> dict[str, Any]:
        ica = read_ica(self.path("fit"), verbose="error")
        raw, settings = self._together(self._raw), self._settings()
        alone = len(self.unit.recordings) == 1
        options = {name: settings[name] for name in ("artifacts", "max_components", "removal")}
        options |= {"reject": settings["reject_by_annotation"]}
        options |= {"band": (settings["l_freq"], settings["h_freq"])}
        filtered = self._copy_to_fit(self.unit.recordings[0]) if alone else None
        found = find(raw, ica, filtered=filtered, **options)
        removed = {kind: one.components for kind, one in found.decisions.items()}
        ica.save(scratch / self.path("find").name)
        trusted = None
        if settings["stability"]:
            data, seed = self._together(self._copy_to_fit), settings["random_state"]
            trusted = plain(find_stability(ica, data, random_state=seed, n_jobs=1).to_dict())
        text = tables.table_text(found.artifacts, removed, trusted)
        edited = self._keep_edits(text, ica.n_components_)
        table = scratch / self.table.name
        table.write_bytes(tables.edited_text(text, edited).encode())
        if not edited:  # recognise it later: nobody could edit it yet
            notes = self.notes.content
            notes["tables"] = sorted({*notes["tables"], file_hash(table)})
            notes["table_of_fit"] = self.key("fit")
            self.notes.save()
        known = {kind: one.known[:, 0] - raw.first_samp for kind, one in found.decisions.items()}
        samples = {kind: self._by_recording(some) for kind, some in known.items()}
        return found_content(found) | {"samples": samples, "stability": trusted}

    def _by_recording(self, samples: Samples) -> dict[str, list[int]]:
        """Split samples of the concatenated recordings into events of each recording."""
        events, start = {}, 0
        for recording in self.unit.recordings:
            raw = self._raw(recording)
            inside = samples[(samples >= start) & (samples < start + raw.n_times)]
            events[recording.name.label] = (inside - start + raw.first_samp).tolist()
            start += raw.n_times
        return events

    def _keep_edits(self, automatic: str, n_components: int) -> tables.Table:
        """Back up an edited table; return the edits if they are still valid."""
        present, known = self.notes.hash_of(self.table), [None, *self.notes.content["tables"]]
        if present in known or (text := self.table.read_bytes()) == automatic.encode():
            return {}
        aside = self.table.with_name(f"{self.table.stem}_edited-{present[:8]}.tsv")
        with staged(self.out, aside.parent) as scratch:
            (scratch / aside.name).write_bytes(text)
        if self.notes.content["table_of_fit"] == self.key("fit"):
            rows = tables.read_table(self.table, n_components).items()
            return {k: {one: row[one] for one in tables.EDITED if one in row} for k, row in rows}
        self.table.unlink()  # of other components, so the edits do not apply any more
        return {}

    def _ica(self) -> ICA:
        """Return the ICA; after an edited status, update its file and reasons in the table."""
        ica, excluded, path = self.fitted_ica(), self.excluded(), self.path("find")
        if sorted(ica.exclude) == excluded:
            return ica
        _choose(ica, excluded)
        sidecar, source = self.sidecar("find"), tables.table_source(self.table)
        text = tables.reworded(source, self.rows_of_table(), sidecar["Results"]["components"])
        with staged(self.out, path.parent) as scratch:
            ica.save(scratch / path.name)
            if text != source:
                (scratch / self.table.name).write_bytes(text.encode())
            sidecar["Outputs"][path.name] = file_hash(scratch / path.name)
            _write_sidecar(scratch / path.name, sidecar)
        return ica

    def _apply(self, scratch: Path, recording: Recording) -> dict[str, Any]:
        ica = self._ica()
        cleaned, taken = self._clean(recording, ica)
        mark_cleaned(cleaned.info, taken)
        cleaned.save(scratch / self.path("apply", recording).name, split_naming="bids")
        return {"components": sorted(ica.exclude), "kinds": list(self.kinds_by_hand().items())}

    def _clean(self, recording: Recording, ica: ICA) -> tuple[BaseRaw, Taken]:
        if recording not in self._cleaned:
            cleaned = self._raw(recording).copy()
            cleaned.info["bads"] = self._bads[recording]
            taken = take_out(cleaned, ica, self._found(recording, ica).decisions, self._settings())
            self._cleaned[recording] = cleaned, taken
        return self._cleaned[recording]

    def _evaluate(self, scratch: Path, recording: Recording) -> dict[str, Any]:
        ica = self._ica()
        result = self._result(recording, ica, *self._clean(recording, ica))
        report = scratch / self.path("report", recording).name
        result.report(title=recording.name.label).save(report, open_browser=False)
        text = report.read_text(encoding="utf-8")
        # Without the date, the same results give the same file.
        text = re.sub(r"(<span>Created )on \d[-:\d ]+(?=via )", r"\1", text)
        report.write_text(text, encoding="utf-8", newline="\n")
        if averages := _averages(result):
            path = scratch / self.path("averages", recording).name
            mne.write_evokeds(path, averages, verbose="error")
        facts = result.to_dict() | {"versions": self._versions(), "averages": bool(averages)}
        return facts | {"seconds": facts["settings"]["seconds"], "report": report.name}

    def preview(self, recording: Recording, exclude: Sequence[int]) -> cleaning.Cleaned:
        """Return the result for a recording without these components; nothing is written."""
        ica, raw = self.fitted_ica(), self._raw(recording)
        _choose(ica, exclude)
        taken = to_take(raw, ica, self._found(recording, ica).decisions, self._settings())
        return self._result(recording, ica, raw, taken, brief=True)

    def fitted_ica(self) -> ICA:
        """Return the ICA as saved, regardless of the table."""
        return read_ica(self.path("find"), verbose="error")

    def signals(self, recording: Recording) -> tuple[BaseRaw, BaseRaw]:
        """Return a recording and the copy that the ICA is fitted on; do not change them."""
        return self._raw(recording), self._copy_to_fit(recording)

    def _settings(self) -> dict[str, Any]:
        return self.parameters("fit") | self.parameters("find")

    def _result(
        self, recording: Recording, ica: ICA, cleaned: BaseRaw, taken: Taken, brief: bool = False
    ) -> cleaning.Cleaned:
        """Return the result that `mne_otica.clean_raw` would, with the ICA's ``exclude``."""
        fitted = self.sidecar("fit")["Results"]
        settings = self._settings() | {
            "n_components_used": fitted["n_components"],
            **{name: fitted[name] for name in ("converged", "rank", "seconds_fitted")},
            "seconds": cleaned.n_times / cleaned.info["sfreq"],
        }
        if free := fitted["evoked_free"]:
            trials = conditions_of(cleaned, list(free["trials"]))
            settings["evoked_free"] = free | {"onsets": onsets_of(trials, cleaned.info["sfreq"])}
        found, filtered = self._found(recording, ica), self._copy_to_fit(recording)
        options = dict(suspects=self._suspects, brief=brief)
        result = conclude(cleaned, filtered, ica, found, taken, settings, **options)
        named, told = self.kinds_by_hand(), [result.verdict]
        if named and BY_HAND not in result.verdict:
            told.append(BY_HAND)
        if idle := [k for k, kind in named.items() if k not in result.kinds[kind].components]:
            names = ", ".join(component_names(idle))
            told.append(f"Nothing of the kind given in the table was found in {names}")
        return replace(result, verdict=". ".join(told))

    def _found(self, recording: Recording, ica: ICA) -> Found:
        """Return what was found, with the events in one recording."""
        content = self.sidecar("find")["Results"]
        samples = {kind: one[recording.name.label] for kind, one in content["samples"].items()}
        raw, reject = self._raw(recording), self.parameters("fit")["reject_by_annotation"]
        found = found_again(content, samples, raw, ica, reject)
        named = {k: kind for k, kind in self.kinds_by_hand().items() if k in ica.exclude}
        for kind, one in found.decisions.items():
            kept = [k for k in one.components if named.get(k, kind) == kind]
            found.decisions[kind] = replace(one, components=kept)
        for kind in dict.fromkeys(named.values()):
            chosen = [k for k in named if named[k] == kind]
            add_choice(found.decisions, kind, chosen, raw, ica, reject)
        return found


def _averages(result: cleaning.Cleaned) -> list[mne.Evoked]:
    """Return the averages of each condition before and after, in the band of the fit."""
    facts, raw, averages = result.settings.get("evoked_free"), result._filtered, []
    if not facts:
        return averages
    sfreq, bad = raw.info["sfreq"], annotated_bad(raw, result.settings["reject_by_annotation"])
    start, stop = (int(round(limit * sfreq)) for limit in facts["window"])
    sides = dict(zip(("before", "after"), result.before_and_after(), strict=True))
    for name, seconds in facts["onsets"].items():
        samples = np.round(np.multiply(seconds, sfreq)).astype(int)
        used, _, _ = whole_windows(samples, bad, (start, stop))
        for side, data in sides.items() if len(used) else ():
            mean = sum(data[:, k + start : k + stop] for k in used) / len(used)
            told = dict(comment=f"{name}, {side}", nave=len(used), baseline=(None, 0))
            averages.append(mne.EvokedArray(mean, raw.info, start / sfreq, **told, verbose="error"))
    return averages


def _write_sidecar(result: Path, content: dict[str, Any]) -> None:
    result.with_suffix(".json").write_bytes(json_text(sealed(content)).encode())


def _rounded(content: Any) -> Any:
    """Round the numbers in JSON content: their last digits depend on the alignment of arrays."""
    return json.loads(json.dumps(content), parse_float=lambda text: float(f"{float(text):.12g}"))


def _choose(ica: ICA, exclude: Sequence[int]) -> None:
    ica.exclude = list(exclude)
    ica.labels_["blink"] = list(exclude)


def _as_array(raw: BaseRaw) -> BaseRaw:
    """Return a copy without information about the original file format."""
    info = raw.info.copy()
    for channel in info["chs"]:
        channel["cal"] = channel["range"] = 1.0
    copy = mne.io.RawArray(raw.get_data(), info, first_samp=raw.first_samp, verbose="error")
    return copy.set_annotations(raw.annotations, verbose="error")
