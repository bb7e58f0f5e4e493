"""The recordings of a study: which there are, what they consist of, and how to read them."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import mne

# The order in which BIDS wants entities; ``proc`` goes between ``run`` and ``space``.
_BEFORE_PROC = ("sub", "ses", "task", "acq", "run")
_AFTER_PROC = ("space", "recording", "desc")
_BIDS_EXTENSIONS = {
    "eeg": (".bdf", ".edf", ".set", ".vhdr"),
    "meg": (".fif",),
}
_BIDS_NAME = re.compile(r"(?:[a-z]+-[A-Za-z0-9+]+_)+(?:eeg|meg)\.[a-z]+")
_RUN = re.compile(r"[_-]run-[A-Za-z0-9]+")
# What MNE only warns of, but leaves a recording that is not the one that was made.
_CUT_SHORT = "does not match the file size"


@dataclass(frozen=True)
class Name:
    """The name of what is written: ``folder/head_proc-...tail_suffix.extension``."""

    folder: Path
    head: str
    tail: str = ""

    @property
    def label(self) -> str:
        """The name by which people know it."""
        return self.head + self.tail

    def file(self, processing: str, suffix: str, extension: str) -> Path:
        """Return the path of one file, relative to the output folder."""
        name = f"{self.head}_proc-{processing}{self.tail}_{suffix}{extension}"
        return self.folder / name


@dataclass(frozen=True)
class Recording:
    """One recording, and the name that its results get."""

    path: Path
    name: Name
    bids_root: Path | None = None


@dataclass(frozen=True)
class Unit:
    """The recordings that share one ICA, mostly a single one."""

    name: Name
    recordings: tuple[Recording, ...]


def find_files(inputs: Iterable[str | Path]) -> list[Recording]:
    """Return the recordings of a list of files, under names that are all different."""
    paths = [Path(path).absolute() for path in inputs]
    twice = [str(path) for path, count in Counter(paths).items() if count > 1]
    if twice:
        raise ValueError(f"{', '.join(twice)} was given more than once; give each file once.")
    return [
        Recording(path, Name(Path(), name))
        for path, name in zip(paths, _distinct_names(paths), strict=True)
    ]


def _distinct_names(paths):
    """Return the stem of each path, with as many folders before it as it takes to tell apart."""
    names = [_stem(path) for path in paths]
    for depth in range(max((len(path.parts) for path in paths), default=0)):
        counts = Counter(name.casefold() for name in names)  # not all file systems heed case
        if max(counts.values(), default=0) <= 1:
            return names
        names = [
            name if counts[name.casefold()] == 1 else "_".join([*_parents(path, depth + 1), name])
            for path, name in zip(paths, map(_stem, paths), strict=True)
        ]
    # The same file name in two formats, in one folder.
    return ["_".join([_stem(path), path.suffix.lstrip(".")]) for path in paths]


def _parents(path, depth):
    return path.parent.parts[1:][-depth:]


def _stem(path):
    """Return the name without what formats add to it."""
    stem = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    for ending in ("_raw", "-raw", "_eeg", "_meg"):
        stem = stem.removesuffix(ending)
    return stem or "recording"


def find_bids(
    root: str | Path, *, datatype: str | None = None, **entities: Sequence[str] | None
) -> list[Recording]:
    """Return the recordings of a BIDS study; ``entities`` names the wanted values of each."""
    root = Path(root).absolute()
    if not (root / "dataset_description.json").is_file():
        raise FileNotFoundError(
            f"{root} has no dataset_description.json, so it is no BIDS study; give its top folder, "
            "or a list of files."
        )
    recordings = []
    for subject in sorted(root.glob("sub-*")):
        kinds = [datatype] if datatype else list(_BIDS_EXTENSIONS)
        for kind in kinds:
            found = _in_subject(root, subject, kind)
            recordings += [recording for recording in found if _wanted(recording, entities)]
            if found:
                break  # EEG within MEG files is looked for where there is no EEG folder
    return recordings


def _in_subject(root, subject, datatype):
    paths = [
        path
        for pattern in (f"{datatype}/*", f"ses-*/{datatype}/*")
        for path in subject.glob(pattern)
        if path.suffix in _BIDS_EXTENSIONS[datatype]
        and _BIDS_NAME.fullmatch(path.name)
        and path.stem.endswith(f"_{datatype}")
    ]
    names = {path: _entities(path) for path in sorted(paths)}
    return [
        Recording(path, _bids_name(path.parent.relative_to(root), parts), root)
        for path, parts in names.items()
        if parts.get("split", "01").lstrip("0") == "1"  # MNE goes on to the other parts by itself
    ]


def _entities(path):
    return dict(part.split("-", 1) for part in path.stem.split("_")[:-1])


def _bids_name(folder, entities):
    head, tail = (
        [f"{key}-{entities[key]}" for key in keys if key in entities]
        for keys in (_BEFORE_PROC, _AFTER_PROC)
    )
    return Name(folder, "_".join(head), "".join(f"_{part}" for part in tail))


def _wanted(recording, wanted):
    entities = _entities(recording.path)
    for key, values in wanted.items():
        if values and entities.get(key) not in {value.removeprefix(f"{key}-") for value in values}:
            return False
    return True


def group(recordings: Sequence[Recording], concatenate_runs: bool) -> list[Unit]:
    """Return what is fitted together: each recording by itself, or the runs of a session."""
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


def _shared_name(recording):
    """Return the name without its run; in BIDS without its task, too, as the pipeline has it."""
    if recording.bids_root is None:
        return Name(recording.name.folder, _RUN.sub("", recording.name.head))
    entities = _entities(recording.path)
    kept = {key: value for key, value in entities.items() if key not in ("task", "run")}
    return _bids_name(recording.name.folder, kept)


def sources(recording: Recording) -> list[Path]:
    """Return the files that a recording consists of, itself first."""
    path = recording.path
    if path.is_dir():  # as some makers' recordings are
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


def _named_in_header(path):
    """Return the files that a BrainVision header points to."""
    text = path.read_text(encoding="latin-1")
    names = re.findall(r"^(?:DataFile|MarkerFile)=(.+?)\s*$", text, re.MULTILINE)
    return [path.parent / name.replace("$b", path.stem) for name in names]


def read_header(recording: Recording) -> mne.io.BaseRaw:
    """Read all but the samples, and let no warning out."""
    with warnings.catch_warnings(), mne.use_log_level("error"):
        warnings.simplefilter("ignore")
        return mne.io.read_raw(recording.path)


def read(recording: Recording) -> tuple[mne.io.BaseRaw, list[str]]:
    """Read a recording; also return what its reader warned of."""
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
    return raw, told


def _read(recording):
    if recording.bids_root is None:
        return mne.io.read_raw(recording.path)
    from mne_bids import get_bids_path_from_fname, read_raw_bids

    return read_raw_bids(get_bids_path_from_fname(recording.path))
