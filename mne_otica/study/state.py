"""The state of one unit of a study: the files of its stages, and which are pending."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mne_otica import __version__
from mne_otica.artifacts import kinds
from mne_otica.study import storage as files
from mne_otica.study.components_table import bad_components, cells, read_table, table_source
from mne_otica.study.inputs import Recording, Unit, sources

STAGES = ("fit", "find", "apply", "evaluate")
PARAMETERS = {
    "fit": (
        *("events", "n_components", "l_freq", "h_freq", "random_state", "reject_by_annotation"),
        "find_bad_channels",
    ),
    "find": ("artifacts", "max_components", "stability"),
    "apply": ("removal",),
    "evaluate": (),
}
# Processing and suffix in the names of the files of each stage.
_FILES = {
    "fit": ("icafit", "ica"),
    "find": ("ica", "ica"),
    "apply": ("clean", "raw"),
    "evaluate": ("clean", "artifacts"),
}


@dataclass(frozen=True)
class Options:
    """The options of a run."""

    parameters: dict[str, Any]
    stages: tuple[str, ...] = STAGES
    overwrite: bool = False


class UnitState:
    """The state of the recordings that share one ICA.

    A stage writes its files and a JSON sidecar with its key: a hash of the package
    version, the parameters of the stage and the key of the stage before. The first key
    includes the hashes of the input files. A stage whose key and files are unchanged is not
    run again.
    """

    def __init__(self, unit: Unit, out: Path, options: Options) -> None:
        self.unit, self.out, self.options = unit, out, options
        self.notes = files.Notes(out, unit.name.label)
        self._sources: dict[str, str] | None = None
        # Sidecars that were read, with the state of their files
        self._sidecars: dict[Path, tuple[tuple[int, ...], dict[str, Any]]] = {}

    # What is where

    def path(self, stage: str, extension: str, recording: Recording | None = None) -> Path:
        """Return the path of a file of a stage."""
        name = self.unit.name if recording is None else recording.name
        return self.out / name.file(*_FILES[stage], extension)

    @property
    def table(self) -> Path:
        """The table of components."""
        return self.out / self.unit.name.file("ica", "components", ".tsv")

    def report(self, recording: Recording) -> Path:
        """Return the path of the report."""
        return self.out / recording.name.file("clean", "report", ".html")

    def sidecar(self, stage: str, recording: Recording | None = None) -> dict[str, Any]:
        """Return the content of the sidecar of a stage, empty if it is missing or was changed."""
        path = self.path(stage, ".json", recording)
        try:
            stat = path.stat()
        except OSError:
            return {}
        state = stat.st_ino, stat.st_size, stat.st_mtime_ns
        if self._sidecars.get(path, ((),))[0] != state:
            self._sidecars[path] = state, files.unsealed(files.read_json(path))
        return self._sidecars[path][1]

    def source_hashes(self) -> dict[str, str]:
        """Return the hash of every file of every recording, by its name in sidecars."""
        if self._sources is None:
            self._sources = {
                _source_name(path, recording): self.notes.hash_of(path)
                for recording in self.unit.recordings
                for path in sources(recording)
            }
        return self._sources

    # What is to be done

    def parameters(self, stage: str, recording: Recording | None = None) -> dict[str, Any]:
        """Return the parameters of a stage: those given, or those of its last run."""
        if stage not in self.options.stages:
            return self.sidecar(stage, recording)["Parameters"]
        return {name: self.options.parameters[name] for name in PARAMETERS[stage]}

    def upstream(self, stage: str, recording: Recording | None = None) -> str:
        """Return the hash of the inputs of a stage."""
        if stage == "fit":
            return files.digest(self.source_hashes())
        if stage == "find":
            return self.key("fit")
        if stage == "apply":
            return files.digest([self.key("find"), self.excluded(), *self.kinds_by_hand().items()])
        return self.key("apply", recording)

    def key(self, stage: str, recording: Recording | None = None) -> str:
        """Return the key of a stage; raise if a stage before it is missing."""
        upstream = self.upstream(stage, recording)
        if stage in self.options.stages:
            return files.digest([stage, __version__, self.parameters(stage, recording), upstream])
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
        folder, outputs = self.path(stage, ".json", recording).parent, sidecar.get("Outputs")
        return isinstance(outputs, dict) and all(
            self.notes.hash_of(folder / Path(name).name) == value for name, value in outputs.items()
        )

    def pending(self) -> list[str]:
        """Return the pending stages."""
        if self.options.overwrite:
            return list(self.options.stages)
        for position, stage in enumerate(self.options.stages):
            each = self.unit.recordings if stage in STAGES[2:] else [None]
            if not all(self.is_done(stage, recording) for recording in each):
                return list(self.options.stages[position:])
        return []

    def excluded(self) -> list[int]:
        """Return the components to remove, according to the table."""
        n_components = self.sidecar("fit")["Results"]["n_components"]
        return bad_components(read_table(self.table, n_components))

    def kinds_by_hand(self) -> dict[int, str]:
        """Return the kinds of components to remove that a person named in the table."""
        rows = cells(table_source(self.table))
        named = {one: row.get("kind") for one, row in rows.items() if row["status"] == "bad"}
        return {one: kind for one, kind in named.items() if kind in kinds()}


def _source_name(path: Path, recording: Recording) -> str:
    """Return the name of an input in sidecars: a BIDS URI, or the name of the file."""
    if recording.bids_root is None:
        inside = path.is_relative_to(recording.path.parent)
        return path.relative_to(recording.path.parent).as_posix() if inside else path.name
    return f"bids:raw:{path.relative_to(recording.bids_root).as_posix()}"
