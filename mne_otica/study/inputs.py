"""The recordings of a study: finding, grouping and reading them."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import mne

if TYPE_CHECKING:
    from mne_bids import BIDSPath

_BIDS_EXTENSIONS = {
    "eeg": (".bdf", ".edf", ".set", ".vhdr"),
    "meg": (".fif",),
}
# Bytes; "_proc-ica_components_edited-01234567.tsv" is the longest ending of a result.
_LONGEST_NAME = 255 - 41
_RUN = re.compile(r"[_-]run-[A-Za-z0-9]+")
# A warning of MNE that means that the recording is incomplete
_CUT_SHORT = "does not match the file size"


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

    def file(self, processing: str, suffix: str, extension: str) -> Path:
        """Return the path of one file, relative to the output folder."""
        name = f"{self.head}_proc-{processing}{self.tail}_{suffix}{extension}"
        return self.folder / name


@dataclass(frozen=True)
class Recording:
    """One recording, and the name of its results."""

    path: Path
    name: Name
    bids_root: Path | None = None


@dataclass(frozen=True)
class Unit:
    """The recordings that share one ICA, usually a single one."""

    name: Name
    recordings: tuple[Recording, ...]


def find_files(
    inputs: Iterable[str | Path], known: Mapping[Path, str] | None = None
) -> list[Recording]:
    """Return the recordings of a list of files, with unique names.

    ``known`` are the names of files in earlier runs, which are kept.
    """
    paths = [Path(path).absolute() for path in inputs]
    twice = [str(path) for path, count in Counter(paths).items() if count > 1]
    if twice:
        raise ValueError(f"{', '.join(twice)} was given more than once; give each file once.")
    names = _distinct_names(paths, known or {})
    return [Recording(path, Name(Path(), name)) for path, name in zip(paths, names, strict=True)]


def _distinct_names(paths: list[Path], known: Mapping[Path, str]) -> list[str]:
    """Return the stem of each path, preceded by as many folders as make it unique."""
    beside = Counter((path.parent, _stem(path).casefold()) for path in paths)
    stems = [
        path.name.replace(".", "_") if beside[path.parent, stem.casefold()] > 1 else stem
        for path, stem in zip(paths, map(_stem, paths), strict=True)
    ]
    # Files that were moved keep the names of their results.
    others = [
        name.casefold() for path, name in known.items() if path not in paths and path.exists()
    ]
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
    """Return the name without the suffix of its format."""
    stem = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    for ending in ("_raw", "-raw", "_eeg", "_meg"):
        stem = stem.removesuffix(ending)
    return stem or "recording"


def find_bids(
    root: str | Path, *, datatype: str | None = None, **entities: Sequence[str] | None
) -> list[Recording]:
    """Return the recordings of a BIDS study; ``entities`` names the wanted values of each."""
    from mne_bids import find_matching_paths

    root = Path(root).absolute()
    if not (root / "dataset_description.json").is_file():
        raise FileNotFoundError(
            f"{root} has no dataset_description.json, so it is no BIDS study; give its top folder, "
            "or a list of files."
        )
    datatypes = [datatype] if datatype else list(_BIDS_EXTENSIONS)
    paths = find_matching_paths(
        root,
        **{f"{name}s": _without_key(values) for name, values in entities.items()},
        suffixes=datatypes,
        extensions=[extension for kind in datatypes for extension in _BIDS_EXTENSIONS[kind]],
        ignore_nosub=True,
        check=True,
    )
    # MEG files are searched for EEG channels if a subject has no EEG folder.
    with_eeg = {path.subject for path in paths if path.datatype == "eeg"}
    return [
        Recording(path.fpath, _bids_name(path), root)
        for path in sorted(paths, key=lambda path: path.fpath)
        if path.fpath.exists()  # a name that is not valid BIDS may be parsed as another
        and path.datatype in datatypes
        and path.extension in _BIDS_EXTENSIONS[path.datatype]
        and (path.datatype == "eeg" or path.subject not in with_eeg)
        and (path.split or "1").lstrip("0") == "1"  # MNE reads the other parts by itself
    ]


def bids_recording(path: Path, root: Path) -> Recording:
    """Return the recording of a file of a BIDS study, which need not exist any more."""
    return Recording(path, _bids_name(_bids_path(path)), root)


def _without_key(values: Sequence[str] | None) -> list[str] | None:
    """Return values of an entity without the key that people may write, as in sub-01."""
    return values and [re.sub(r"^[a-z]+-", "", value) for value in values]


def _bids_name(path: BIDSPath) -> Name:
    """Return the name of output files, with a slot for the processing entity."""
    bare = path.copy().update(suffix=None, extension=None, split=None, check=False)
    head, tail = bare.update(processing="X").basename.split("_proc-X")
    return Name(path.directory.relative_to(path.root), shortened(head), tail)


def group(recordings: Sequence[Recording], concatenate_runs: bool) -> list[Unit]:
    """Group recordings that share an ICA: each by itself, or the runs of a session."""
    counts = Counter(recording.name for recording in recordings)
    twice = [name.label for name, count in counts.items() if count > 1]
    if twice:
        raise ValueError(
            f"{', '.join(twice)} is there in more than one format; leave one of them out."
        )
    if not concatenate_runs:
        return [Unit(recording.name, (recording,)) for recording in recordings]
    units = {}
    for recording in recordings:
        units.setdefault(_shared_name(recording), []).append(recording)
    return [Unit(name, tuple(members)) for name, members in units.items()]


def _shared_name(recording: Recording) -> Name:
    """Return the name without run, and in BIDS without task, as in mne-bids-pipeline."""
    if recording.bids_root is None:
        return Name(recording.name.folder, _RUN.sub("", recording.name.head))
    path = _bids_path(recording.path).update(task=None, run=None, check=False)
    return replace(_bids_name(path), folder=recording.name.folder)


def sources(recording: Recording) -> list[Path]:
    """Return the files of a recording, starting with the one passed."""
    path = recording.path
    if path.is_dir():  # some formats are folders
        return [part for part in sorted(path.rglob("*")) if part.is_file()]
    stem = re.escape(path.name.removesuffix(".gz").rpartition(".")[0])
    if recording.bids_root is None:
        pattern = re.compile(rf"{stem}(-\d+)?\.\w+(\.gz)?")
    else:
        prefix = re.escape(re.sub(r"(_split-\d+)?_(eeg|meg)\.\w+$", "", path.name))
        pattern = re.compile(rf"{prefix}_.+|.*_(electrodes\.tsv|coordsystem\.json)")
    found = [other for other in sorted(path.parent.iterdir()) if pattern.fullmatch(other.name)]
    if path.suffix == ".vhdr":
        found += _named_in_header(path)
    others = [other for other in dict.fromkeys(found) if other != path and other.is_file()]
    return [path, *others]


def _named_in_header(path: Path) -> list[Path]:
    """Return the files named in a BrainVision header."""
    text = path.read_text(encoding="latin-1")
    names = re.findall(r"^(?:DataFile|MarkerFile)=(.+?)\s*$", text, re.MULTILINE)
    return [path.parent / name.replace("$b", path.stem) for name in names]


def read(recording: Recording) -> tuple[mne.io.BaseRaw, list[str]]:
    """Read a recording; also return the warnings of its reader."""
    if not recording.path.exists():
        raise FileNotFoundError(f"{recording.path} does not exist.")
    if recording.path.is_file() and not recording.path.stat().st_size:
        raise ValueError(f"{recording.path.name} is empty (0 bytes).")
    with warnings.catch_warnings(record=True) as caught, mne.use_log_level("warning"):
        warnings.simplefilter("always")
        try:
            raw = _read(recording).load_data()
        except (ImportError, MemoryError):
            raise
        except Exception as error:
            raise ValueError(
                f"{recording.path.name} cannot be read ({type(error).__name__}: {error}); it may "
                "be damaged, or not what its name says."
            ) from error
    told = list(dict.fromkeys(str(warning.message) for warning in caught))
    if any(_CUT_SHORT in message for message in told):
        raise ValueError(f"{recording.path.name} is cut short: its header promises more data.")
    if odd := [name for name in raw.ch_names if not name.isascii()]:
        raise ValueError(
            f"Channel names must be ASCII to be saved as FIF, not {', '.join(odd)}; rename them."
        )
    return raw, told


def _read(recording: Recording) -> mne.io.BaseRaw:
    if recording.bids_root is None:
        return mne.io.read_raw(recording.path)
    from mne_bids import read_raw_bids

    return read_raw_bids(_bids_path(recording.path))


def _bids_path(path: Path) -> BIDSPath:
    from mne_bids import get_bids_path_from_fname

    return get_bids_path_from_fname(path)
