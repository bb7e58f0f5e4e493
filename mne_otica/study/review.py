"""Review of a study: its recordings, worst first, and the decisions of people."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from mne_otica.artifacts import kinds
from mne_otica.study.components_table import by_hand, edited_text, table_source
from mne_otica.study.results import read_study
from mne_otica.study.review_data import Opened, Refusal, topographies
from mne_otica.study.scratch_and_locks import locked, write_text
from mne_otica.study.sidecars import Options, digest
from mne_otica.study.stages import UnitStages
from mne_otica.study.summary_table import Kept, badness, kept_rows

_LONGEST_NOTE = 2000
# One at a time, as MNE's log level is global. Decisions do not wait for it.
_COMPUTING = threading.Lock()


class Review:
    """A study under review by ``who``; recordings are indices among those found at the start."""

    def __init__(self, out: Path, who: str) -> None:
        self.out, self.who = out.absolute(), _one_line(who, "name")
        read_study(self.out)  # raises if there is none
        self.items = sorted(kept_rows(self.out).values(), key=lambda item: badness(item.row))
        self._opened: tuple[tuple[int, str], Opened] | None = None
        self._writing = threading.Lock()

    def study(self) -> dict[str, Any]:
        """Return the recordings, worst first."""
        rows, items = kept_rows(self.out), []
        shown = ("status", "message", "kinds", "harm", "stability", "removed", "warnings")
        for item in self.items:
            row = rows.get(item.row["recording"], item).row
            facts = {"label": item.row["recording"], "changed": self._is_changed(item)}
            items.append(facts | {name: row[name] for name in shown})
        name = (self.items[0].recording.bids_root or self.out).name
        return {"name": name, "who": self.who, "recordings": items}

    def _is_changed(self, item: Kept) -> bool:
        """Return whether a run would clean a recording again because of a new decision."""
        work = self._work(item)
        applied = work.sidecar("apply", item.recording).get("Results")
        try:
            named = [list(one) for one in work.kinds_by_hand().items()]
            chosen = {"components": work.excluded(), "kinds": named}
            return applied is not None and applied != chosen
        except (OSError, ValueError, KeyError):
            return False

    def recording(self, index: int) -> dict[str, Any]:
        """Return the components of a recording with topographies, or why there are none."""
        item, work = self._at(index)
        shown = {
            "label": item.row["recording"],
            "has_signals": item.recording.path.exists(),
            "has_report": work.path("report", item.recording).is_file(),
            "changed": self._is_changed(item),
            "kinds": list(kinds()),
            "shared": [one.name.label for one in item.unit.recordings if one != item.recording],
            "components": [],
            "problem": "No ICA was fitted, so there are no components to show.",
        }
        if not work.path("find").exists():
            return shown
        try:
            with _COMPUTING:
                ica = work.fitted_ica()
                shown |= {"channels": ica.ch_names, "topographies": topographies(ica)}
            return shown | self._components(work) | {"problem": None}
        except (OSError, ValueError, KeyError) as error:
            return shown | {"problem": f"The components cannot be shown: {error}"}

    def _components(self, work: UnitStages) -> dict[str, Any]:
        rows = work.rows_of_table()
        n_components = work.sidecar("fit")["Results"]["n_components"]
        # A component that is missing from the table is kept.
        kept = {"status": "good", "status_description": "n/a"}
        rows = [rows.get(one, kept | {"component": str(one)}) for one in range(n_components)]
        return {"version": digest(table_source(work.table)), "components": rows}

    def component(self, index: int, component: int) -> dict[str, Any]:
        """Return the time course and the spectrum of a component."""
        with self._open(index, component) as opened:
            return opened.component(component)

    def effect(
        self, index: int, component: int, channel: int | None = None, start: float | None = None
    ) -> dict[str, Any]:
        """Return the effect of the current decisions on a recording."""
        work = self._at(index)[1]
        with self._open(index, component) as opened:
            if channel is not None:
                _check_number(channel, len(opened.filtered.ch_names), "channel")
            return opened.effect(work.excluded(), channel, start, component)

    def report(self, index: int) -> bytes:
        """Return the report of a recording."""
        item, work = self._at(index)
        path = work.path("report", item.recording)
        with suppress(OSError):  # a symbolic link may lead to any file of the user
            if path.resolve(strict=True) == self.out.resolve() / path.relative_to(self.out):
                return path.read_bytes()
        raise Refusal(HTTPStatus.NOT_FOUND, f"{item.row['recording']} has no report.")

    @contextmanager
    def _open(self, index: int, component: int) -> Iterator[Opened]:
        item, work = self._at(index)
        key = index, str(work.sidecar("find").get("Key"))
        with _COMPUTING:
            if self._opened is None or self._opened[0] != key:
                self._opened = None  # frees its memory first
                try:
                    self._opened = key, Opened(work, item.recording)
                except (OSError, ValueError, KeyError) as error:
                    raise Refusal(HTTPStatus.NOT_FOUND, f"It cannot be shown: {error}") from error
            _check_number(component, self._opened[1].ica.n_components_, "component")
            yield self._opened[1]

    def decide(
        self,
        index: int,
        component: int,
        version: str,
        status: str | None = None,
        note: str | None = None,
        kind: str | None = None,
    ) -> dict[str, Any]:
        """Write to the table, of which a person saw this version, what is not None; return it."""
        item, work = self._at(index)
        note = None if note is None else _one_line(note, "note")
        with self._writing, locked(self.out, "review"):
            try:
                present, text = self._components(work), table_source(work.table)
            except (OSError, ValueError, KeyError) as error:
                raise Refusal(HTTPStatus.CONFLICT, str(error), components=[]) from error
            if version != digest(text):
                told = "Someone else has changed this table."
                raise Refusal(HTTPStatus.CONFLICT, told, **present)
            _check_number(component, len(present["components"]), "component")
            row = present["components"][component]
            changes = {"status": row["status"], "who": self.who, "when": _now()}
            changes["note"] = row.get("note", "n/a") if note is None else note or "n/a"
            if status is not None and status != row["status"]:
                why = by_hand(status, row["status_description"])
                changes |= {"status": status, "status_description": why}
            if kind is not None:
                changes["kind"] = kind or "n/a"
            write_text(self.out, work.table, edited_text(text, {component: changes}))
            return self._components(work) | {"changed": self._is_changed(item)}

    def _at(self, index: int) -> tuple[Kept, UnitStages]:
        _check_number(index, len(self.items), "recording")
        return self.items[index], self._work(self.items[index])

    def _work(self, item: Kept) -> UnitStages:
        return UnitStages(item.unit, self.out, Options({}, ()))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _one_line(text: str, what: str) -> str:
    if len(text) > _LONGEST_NOTE:
        told = f"A {what} has at most {_LONGEST_NOTE} characters, not {len(text)}; shorten it."
        raise ValueError(told)
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def _check_number(number: int, count: int, what: str) -> None:
    if not 0 <= number < count:
        raise Refusal(HTTPStatus.NOT_FOUND, f"There is no {what} {number}; there are {count}.")
