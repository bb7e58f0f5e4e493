"""Atomic writing of files, so that a run killed at any moment leaves no partial results."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

WORK = ".mne_otica"  # folder of rows, cached hashes, and files being written
_SEAL = "Checksum"
_REMEDIES = {
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "the disk quota is used up; free some space",
    errno.EFBIG: "the largest file size allowed is exceeded; raise the limit",
    errno.EROFS: "the file system is read-only; choose another output folder",
    errno.EACCES: "writing is not permitted; change the permissions or the output folder",
    errno.EPERM: "writing is not permitted; change the permissions or the output folder",
}


class OutputError(OSError):
    """Nothing can be written to the output folder."""


@contextmanager
def explained(out: Path) -> Iterator[None]:
    """Explain errors of writing to the output folder."""
    try:
        yield
    except OSError as error:
        if error.errno not in _REMEDIES:
            raise
        remedy = _REMEDIES[error.errno]
        raise OutputError(f"Cannot write to {out}: {remedy}, and run again.") from error


@contextmanager
def staged(out: Path, folder: Path) -> Iterator[Path]:
    """Yield an empty folder, whose files are moved to ``folder`` together if there is no error.

    JSON sidecars certify the other files. So the old ones are deleted before the other files are
    moved, and the new ones are moved last.
    """
    with explained(out), _scratch(out) as scratch:
        yield scratch
        files = sorted(scratch.iterdir(), key=lambda path: path.suffix == ".json")
        for path in files:
            _flush(path)
        folder.mkdir(parents=True, exist_ok=True)
        for path in files:
            if path.suffix == ".json":
                (folder / path.name).unlink(missing_ok=True)
        for path in files:
            os.replace(path, folder / path.name)


def write_text(out: Path, path: Path, text: str) -> None:
    """Write one small file."""
    with staged(out, path.parent) as scratch:
        (scratch / path.name).write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, content: Any) -> None:
    """Write a sidecar to a path in a staged folder."""
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def read_json(path: Path) -> dict[str, Any]:
    """Return the content of a sidecar; empty if it is missing or not valid."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):  # the last for deeply nested lists
        return {}
    return content if isinstance(content, dict) else {}


def discard_leftovers(out: Path) -> None:
    """Remove the scratch folders of runs that were killed: those whose lock nobody holds."""
    for lock in _scratch_root(out).glob("*.lock"):
        with suppress(OSError), _opened(lock, os.O_RDWR) as file:
            if fcntl is not None:
                _hold(file, fcntl.LOCK_NB)  # raises if another process holds it
                shutil.rmtree(lock.with_suffix(""), ignore_errors=True)  # not through a link
                lock.unlink()


@contextmanager
def _scratch(out: Path) -> Iterator[Path]:
    """Yield a new folder with a random name, and hold its lock until it is removed."""
    root = _scratch_root(out)
    root.mkdir(parents=True, exist_ok=True)
    while True:
        scratch = root / secrets.token_hex(8)
        lock = scratch.with_suffix(".lock")
        with _opened(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL) as file:
            with suppress(OSError):  # a file system without locks, on which nothing is discarded
                _hold(file)
            if not lock.exists():  # another run discarded it before it was held
                continue
            try:
                scratch.mkdir()
                yield scratch
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
                if fcntl is not None:
                    lock.unlink(missing_ok=True)
        lock.unlink(missing_ok=True)
        return


def _scratch_root(out: Path) -> Path:
    """Return the folder of scratch folders; raise if it may lie outside the output folder."""
    for folder in (out / WORK, out / WORK / "tmp"):
        if folder.is_symlink():
            raise OutputError(f"{folder} is a symbolic link; remove it, and run again.")
    return out / WORK / "tmp"


def _opened(path: Path, flags: int) -> BinaryIO:
    """Open a file, but not through a symbolic link."""
    return open(os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666), "rb+")


def _hold(file: BinaryIO, flags: int = 0) -> None:
    """Lock a file until it is closed or the process ends."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | flags)


@contextmanager
def locked(out: Path, name: str) -> Iterator[None]:
    """Wait for the lock of this name and hold it; it is released when the process ends."""
    path = out / WORK / "locks" / digest(name)[:16]
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab") as file:
        _hold(file)
        yield


def _flush(path: Path) -> None:
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def rounded(value: Any) -> Any:
    """Round the numbers in JSON content.

    Their last digits depend on the memory alignment of arrays, and the same study should give the
    same files.
    """
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def sealed(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content with its hash added."""
    return content | {_SEAL: digest(content)}


def unsealed(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content without its hash, or nothing if it does not match."""
    content = content.copy()
    return content if content.pop(_SEAL, None) == digest(content) else {}


class Notes:
    """Notes about a unit between runs, which can be computed again.

    SHA-256 hashes of files are valid until the size of a file or the time of its last change
    differs.
    """

    def __init__(self, out: Path, label: str) -> None:
        self._out, self._path = out, out / WORK / "notes" / f"{label}.json"
        self.content = {"hashes": {}, "tables": [], "table_of_fit": ""}
        known = unsealed(read_json(self._path))
        for name, empty in self.content.items():
            if isinstance(known.get(name), type(empty)):
                self.content[name] = known[name]
        self._saved = json.dumps(self.content)

    def hash_of(self, path: Path) -> str | None:
        """Return the hash of a file, None if it does not exist."""
        if not path.is_file():
            return None
        state = _state(path)
        known = self.content["hashes"].get(str(path))
        if isinstance(known, list) and known[:-1] == state:
            return known[-1]
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        self.content["hashes"][str(path)] = [*state, found]
        return found

    def moved(self, old: Path, new: Path) -> None:
        """Keep the hash of a file that was renamed."""
        known = self.content["hashes"].pop(str(old), None)
        if known is not None and new.exists():
            self.content["hashes"][str(new)] = [*_state(new), known[-1]]

    def save(self) -> None:
        """Save the notes for the next run."""
        text = json.dumps(self.content)
        if text != self._saved:
            write_text(self._out, self._path, json.dumps(sealed(self.content)))
            self._saved = text


def _state(path: Path) -> list[int]:
    """Return what changes with the content: also the time that programs cannot set."""
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


def digest(content: Any) -> str:
    """Return the hash of any JSON content."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
