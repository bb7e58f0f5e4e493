"""The recordings of a study: finding, grouping and reading them."""

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mne

from mne_otica.study.file_names import Name, bids_name, distinct_names, name_without_run

_BIDS_EXTENSIONS = {"eeg": (".bdf", ".edf", ".set", ".vhdr"), "meg": (".fif",)}


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
    """Return the recordings of a list of files, with unique names."""
    paths = [Path(path).absolute() for path in inputs]
    if twice := ", ".join(str(path) for path, count in Counter(paths).items() if count > 1):
        raise ValueError(f"{twice} was given more than once; give each file once.")
    names = distinct_names(paths, known or {})
    return [Recording(path, Name(Path(), name)) for path, name in zip(paths, names, strict=True)]


def find_bids(root: str | Path, **entities: Sequence[str] | None) -> list[Recording]:
    """Return the recordings of a BIDS study; ``entities`` names the wanted values of each."""
    from mne_bids import find_matching_paths

    root = Path(root).absolute()
    if not (root / "dataset_description.json").is_file():
        told = "so it is no BIDS study; give its top folder, or a list of files."
        raise FileNotFoundError(f"{root} has no dataset_description.json, {told}")
    paths = find_matching_paths(
        root,
        # People may write the key of an entity, too, as in sub-01.
        **{
            f"{name}s": values and [re.sub(r"^[a-z]+-", "", value) for value in values]
            for name, values in entities.items()
        },
        suffixes=list(_BIDS_EXTENSIONS),
        extensions=[extension for some in _BIDS_EXTENSIONS.values() for extension in some],
        ignore_nosub=True,
        check=True,
    )
    # MEG files are searched for EEG channels if a subject has no EEG folder.
    with_eeg = {path.subject for path in paths if path.datatype == "eeg"}
    return [
        Recording(path.fpath, bids_name(path), root)
        for path in sorted(paths, key=lambda path: path.fpath)
        if path.fpath.exists()  # a name that is not valid BIDS may be parsed as another
        and path.extension in _BIDS_EXTENSIONS.get(path.datatype, ())
        and (path.datatype == "eeg" or path.subject not in with_eeg)
        and (path.split or "1").lstrip("0") == "1"  # MNE reads the other parts by itself
    ]


def group(recordings: Sequence[Recording], concatenate_runs: bool) -> list[Unit]:
    """Group recordings that share an ICA: each by itself, or the runs of a session."""
    counts = Counter(recording.name for recording in recordings).items()
    if twice := ", ".join(name.label for name, count in counts if count > 1):
        raise ValueError(f"{twice} exists in more than one format; leave one of them out.")
    units: dict[Name, list[Recording]] = {}
    for one in recordings:
        name = name_without_run(one.name, _bids_path(one)) if concatenate_runs else one.name
        units.setdefault(name, []).append(one)
    return [Unit(name, tuple(members)) for name, members in units.items()]


def sources(recording: Recording) -> list[Path]:
    """Return the files of a recording, starting with the one passed."""
    path = recording.path
    if path.is_dir():  # some formats are folders
        return [part for part in sorted(path.rglob("*")) if part.is_file()]
    if recording.bids_root is None:
        stem = re.escape(path.name.removesuffix(".gz").rpartition(".")[0])
        pattern = re.compile(rf"{stem}(-\d+)?\.\w+(\.gz)?")
    else:
        prefix = re.escape(re.sub(r"(_split-\d+)?_(eeg|meg)\.\w+$", "", path.name))
        pattern = re.compile(rf"{prefix}_.+|.*_(electrodes\.tsv|coordsystem\.json)")
    found = [other for other in sorted(path.parent.iterdir()) if pattern.fullmatch(other.name)]
    if path.suffix == ".vhdr":  # whose header names the other files
        text = path.read_text(encoding="latin-1")
        names = re.findall(r"^(?:DataFile|MarkerFile)=(.+?)\s*$", text, re.MULTILINE)
        found += [path.parent / name.replace("$b", path.stem) for name in names]
    others = [other for other in dict.fromkeys(found) if other != path and other.is_file()]
    return [path, *others]


def read(recording: Recording) -> tuple[mne.io.BaseRaw, list[str]]:
    """Read a recording; also return the warnings of its reader."""
    name = recording.path.name
    if not recording.path.exists():
        raise FileNotFoundError(f"{recording.path} does not exist.")
    if recording.path.is_file() and not recording.path.stat().st_size:
        raise ValueError(f"{name} is empty (0 bytes).")
    with warnings.catch_warnings(record=True) as caught, mne.use_log_level("warning"):
        warnings.simplefilter("always")
        try:
            if recording.bids_root is None:
                raw = mne.io.read_raw(recording.path).load_data()
            else:
                from mne_bids import read_raw_bids

                raw = read_raw_bids(_bids_path(recording)).load_data()
        except (ImportError, MemoryError):
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            told = "it may be damaged, or have the wrong extension."
            raise ValueError(f"{name} cannot be read ({why}); {told}") from error
    told = list(dict.fromkeys(str(warning.message) for warning in caught))
    if any("does not match the file size" in message for message in told):
        raise ValueError(f"{name} is cut short: it has less data than its header says.")
    if odd := ", ".join(name for name in raw.ch_names if not name.isascii()):
        raise ValueError(f"Channel names must be ASCII to be saved as FIF, not {odd}; rename them.")
    return raw, told


def _bids_path(recording: Recording) -> Any:
    if recording.bids_root is None:
        return None
    from mne_bids import get_bids_path_from_fname

    return get_bids_path_from_fname(recording.path)
