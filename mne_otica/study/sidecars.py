"""Sidecars: what each result was made from, and with it which stages of a unit are pending."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mne_otica import __version__
from mne_otica.artifacts import kinds
from mne_otica.study.components_table import bad_components, read_table
from mne_otica.study.file_names import result_path
from mne_otica.study.inputs import Recording, Unit, sources
from mne_otica.study.scratch_and_locks import WORK, write_text

STAGES = ("fit", "find", "apply", "evaluate")
PARAMETERS = {
    "fit": (
        *("events", "n_components", "l_freq", "h_freq", "random_state", "reject_by_annotation"),
        "find_bad_channels",
    ),
    "find": ("artifacts", "max_components", "removal", "stability"),
}
_SEAL = "Checksum"


def json_text(content: Any) -> str:
    """Return the text of a sidecar."""
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def read_json(path: Path) -> dict[str, Any]:
    """Return the content of a sidecar; empty if it is missing or not valid."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):  # the last for deeply nested lists
        return {}
    return content if isinstance(content, dict) else {}


def digest(content: Any) -> str:
    """Return the hash of any JSON content."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def sealed(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content with its hash added."""
    return content | {_SEAL: digest(content)}


def unsealed(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content without its hash, or nothing if it does not match."""
    content = content.copy()
    return content if content.pop(_SEAL, None) == digest(content) else {}


def file_hash(path: Path) -> str:
    """Return the SHA-256 hash of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Notes:
    """Hashes of files and tables of a unit, kept between runs; they can be computed again."""

    def __init__(self, out: Path, label: str) -> None:
        self._out, self._path = out, out / WORK / "notes" / f"{label}.json"
        empty = {"hashes": {}, "tables": [], "table_of_fit": ""}
        self.content = empty | unsealed(read_json(self._path))

    def hash_of(self, path: Path) -> str | None:
        """Return the hash of a file, None if it does not exist."""
        if not path.is_file():
            return None
        stat = path.stat()
        # What changes with the content: also the time that programs cannot set
        state = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]
        *known, found = self.content["hashes"].get(str(path), [None])
        if known != state:
            found = file_hash(path)
            self.content["hashes"][str(path)] = [*state, found]
        return found

    def save(self) -> None:
        """Save the notes for the next run."""
        if unsealed(read_json(self._path)) != self.content:
            write_text(self._out, self._path, json.dumps(sealed(self.content)))


@dataclass(frozen=True)
class Options:
    """The options of a run."""

    parameters: dict[str, Any]
    stages: tuple[str, ...] = STAGES
    overwrite: bool = False


class UnitState:
    """The state of the recordings that share one ICA.

    A stage writes a JSON sidecar with its key: a hash of the version, the parameters and the key of
    the stage before, at first of the inputs. It is not run again if key and files are unchanged.
    """

    def __init__(self, unit: Unit, out: Path, options: Options) -> None:
        self.unit, self.out, self.options = unit, out, options
        self.notes = Notes(out, unit.name.label)
        self.table = self.path("components")

    def path(self, what: str, recording: Recording | None = None) -> Path:
        """Return the path of a result: of this recording, or of all that share the ICA."""
        return self.out / result_path(what, self.unit.name, recording and recording.name)

    def sidecar(self, stage: str, recording: Recording | None = None) -> dict[str, Any]:
        """Return the content of the sidecar of a stage, empty if it is missing or was changed."""
        return unsealed(read_json(self.path(stage, recording).with_suffix(".json")))

    @cached_property
    def source_hashes(self) -> dict[str, str]:
        """The hash of every file of every recording, by its name in sidecars."""
        return {
            _source_name(path, recording): self.notes.hash_of(path)
            for recording in self.unit.recordings
            for path in sources(recording)
        }

    def parameters(self, stage: str) -> dict[str, Any]:
        """Return the parameters of a stage: those given, or those of its last run."""
        names = PARAMETERS.get(stage, ())
        if names and stage not in self.options.stages:
            return self.sidecar(stage)["Parameters"]
        return {name: self.options.parameters[name] for name in names}

    def upstream(self, stage: str, recording: Recording | None = None) -> str:
        """Return the hash of the inputs of a stage."""
        if stage == "fit":
            return digest(self.source_hashes)
        if stage == "find":
            return self.key("fit")
        if stage == "apply":
            return digest([self.key("find"), self.excluded(), *self.kinds_by_hand().items()])
        return self.key("apply", recording)

    def key(self, stage: str, recording: Recording | None = None) -> str:
        """Return the key of a stage; raise if a stage before it is missing."""
        upstream = self.upstream(stage, recording)
        if stage in self.options.stages:
            return digest([stage, __version__, self.parameters(stage), upstream])
        sidecar = self.sidecar(stage, recording)
        if sidecar.get("Upstream") != upstream:
            state = "is out of date" if sidecar else "has not been done"
            raise ValueError(f"The stage {stage!r} {state}; do it first: mne_otica {stage}.")
        return sidecar["Key"]

    def is_done(self, stage: str, recording: Recording | None = None) -> bool:
        """Return whether the files of a stage exist, are complete and up to date."""
        sidecar = self.sidecar(stage, recording)
        # Without a sidecar, no input needs to be read.
        if not sidecar or sidecar.get("Key") != self.key(stage, recording):
            return False
        if stage == "find" and not self.table.exists():
            return False
        folder, outputs = self.path(stage, recording).parent, sidecar.get("Outputs")
        return isinstance(outputs, dict) and all(
            self.notes.hash_of(folder / Path(name).name) == value for name, value in outputs.items()
        )

    def pending(self) -> list[str]:
        """Return the pending stages."""
        if self.options.overwrite:
            return list(self.options.stages)
        for position, stage in enumerate(self.options.stages):
            if not all(self.is_done(stage, recording) for recording in self.unit.recordings):
                return list(self.options.stages[position:])
        return []

    def rows_of_table(self) -> dict[int, dict[str, str]]:
        """Return the rows of the table of components; raise if it is not valid."""
        return read_table(self.table, self.sidecar("fit")["Results"]["n_components"])

    def excluded(self) -> list[int]:
        """Return the components to remove, according to the table."""
        return bad_components(self.rows_of_table())

    def kinds_by_hand(self) -> dict[int, str]:
        """Return the kinds of components to remove that a person named in the table."""
        rows = self.rows_of_table()
        named = {one: rows[one].get("kind") for one in bad_components(rows)}
        return {one: kind for one, kind in named.items() if kind in kinds()}


def _source_name(path: Path, recording: Recording) -> str:
    """Return the name of an input in sidecars: a BIDS URI, or the name of the file."""
    if recording.bids_root is not None:
        return f"bids:raw:{path.relative_to(recording.bids_root).as_posix()}"
    inside = path.is_relative_to(recording.path.parent)
    return path.relative_to(recording.path.parent).as_posix() if inside else path.name
