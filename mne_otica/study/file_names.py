"""The names of the files of a study."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mne_bids import BIDSPath

# Processing, suffix and extension of each result; its sidecar has the extension .json.
_RESULTS = {
    "fit": ("icafit", "ica", ".fif"),
    "find": ("ica", "ica", ".fif"),
    "components": ("ica", "components", ".tsv"),
    "apply": ("clean", "raw", ".fif"),
    "evaluate": ("clean", "artifacts", ".json"),
    "report": ("clean", "report", ".html"),
    "averages": ("clean", "ave", ".fif"),
}
# Bytes; "_proc-ica_components_edited-01234567.tsv" is the longest ending of a result.
_LONGEST_NAME = 255 - 41


@dataclass(frozen=True)
class Name:
    """The name of output files: ``folder/head_proc-...tail_suffix.extension``."""

    folder: Path
    head: str
    tail: str = ""

    @property
    def label(self) -> str:
        """The name shown to people."""
        return self.head + self.tail


def result_path(what: str, unit: Name, recording: Name | None = None) -> Path:
    """Return the path of a result of a recording or of its ICA, relative to the output folder."""
    processing, suffix, extension = _RESULTS[what]
    name = recording if recording is not None and processing == "clean" else unit
    return name.folder / f"{name.head}_proc-{processing}{name.tail}_{suffix}{extension}"


def distinct_names(paths: list[Path], known: Mapping[Path, str]) -> list[str]:
    """Return known names of paths, or their stems after as many folders as make them unique."""
    beside = Counter((path.parent, _stem(path).casefold()) for path in paths)
    stems = [
        path.name.replace(".", "_") if beside[path.parent, _stem(path).casefold()] > 1 else stem
        for path, stem in zip(paths, map(_stem, paths), strict=True)
    ]
    # Files that were moved keep the names of their results.
    others = [x.casefold() for path, x in known.items() if path not in paths and path.exists()]
    names = [known.get(path, shortened(stem)) for path, stem in zip(paths, stems, strict=True)]
    for depth in range(1, max((len(path.parts) for path in paths), default=0) + 1):
        counts = Counter([*(name.casefold() for name in names), *others])
        if max(counts.values(), default=0) <= 1:  # file systems may ignore case
            break
        names = [
            name
            if counts[name.casefold()] == 1 or path in known
            else shortened("_".join([*path.parent.parts[1:][-depth:], stem]))
            for path, name, stem in zip(paths, names, stems, strict=True)
        ]
    return names


def shortened(name: str) -> str:
    """Return a name with which all results have file names of at most 255 bytes."""
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    mark = f"-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return name.encode()[: _LONGEST_NAME - len(mark)].decode(errors="ignore") + mark


def _stem(path: Path) -> str:
    stem = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    for ending in ("_raw", "-raw", "_eeg", "_meg"):
        stem = stem.removesuffix(ending)
    return stem or "recording"


def bids_name(path: "BIDSPath") -> Name:
    """Return the name of output files, with a slot for the processing entity."""
    bare = path.copy().update(suffix=None, extension=None, split=None, check=False)
    head, tail = bare.update(processing="X").basename.split("_proc-X")
    return Name(path.directory.relative_to(path.root), shortened(head), tail)


def name_without_run(name: Name, path: "BIDSPath | None") -> Name:
    """Return the name without run, and in BIDS without task, as in mne-bids-pipeline."""
    if path is None:
        return Name(name.folder, re.sub(r"[_-]run-[A-Za-z0-9]+", "", name.head))
    return replace(bids_name(path.update(task=None, run=None, check=False)), folder=name.folder)
