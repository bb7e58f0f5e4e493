"""Atomic writing of files, so that a run killed at any moment leaves no partial results."""

import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

WORK = ".mne_otica"  # folder of rows, cached hashes, and files being written
_NOT_PERMITTED = "writing is not permitted; change the permissions or the output folder"
_REMEDIES = {
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "the disk quota is used up; free some space",
    errno.EFBIG: "the largest file size allowed is exceeded; raise the limit",
    errno.EROFS: "the file system is read-only; choose another output folder",
    errno.EACCES: _NOT_PERMITTED,
    errno.EPERM: _NOT_PERMITTED,
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

    JSON sidecars certify the other files: old ones are deleted first, new ones are moved last.
    """
    with explained(out), _scratch(out) as scratch:
        yield scratch
        files = sorted(scratch.iterdir(), key=lambda path: path.suffix == ".json")
        for path in files:
            with open(path, "rb+") as file:
                os.fsync(file.fileno())
        folder.mkdir(parents=True, exist_ok=True)
        for path in files:
            if path.suffix == ".json":
                (folder / path.name).unlink(missing_ok=True)
        for path in files:
            os.replace(path, folder / path.name)


def write_text(out: Path, path: Path, text: str) -> None:
    """Write one small file, with the line ends of the text."""
    with staged(out, path.parent) as scratch:
        (scratch / path.name).write_bytes(text.encode())


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
    scratch = root / secrets.token_hex(8)
    lock = scratch.with_suffix(".lock")
    try:
        with _opened(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL) as file:
            with suppress(OSError):  # a file system without locks, on which nothing is discarded
                _hold(file)
            if lock.exists():
                scratch.mkdir()
                yield scratch
                return
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        lock.unlink(missing_ok=True)
    with _scratch(out) as scratch:  # another run discarded the lock before it was held
        yield scratch


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
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | flags)


@contextmanager
def locked(out: Path, name: str) -> Iterator[None]:
    """Wait for the lock of this name and hold it; it is released when the process ends."""
    path = out / WORK / "locks" / hashlib.sha256(name.encode()).hexdigest()[:16]
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab") as file:
        _hold(file)
        yield
