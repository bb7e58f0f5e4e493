"""Atomic writing of files, so that a run killed at any moment leaves no partial results."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

WORK = ".mne_otica"  # folder of rows, cached hashes, and files being written
_SEAL = "Checksum"
_A_DAY = 24 * 3600
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
    with explained(out):
        scratch = _scratch(out)
        try:
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
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


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
    """Remove the partial files of runs that were killed."""
    for scratch in (out / WORK / "tmp").glob("*-*-*"):
        host, pid, _ = scratch.name.rsplit("-", 2)
        with suppress(FileNotFoundError):  # another run may remove them, too
            if host == _host():
                over = not _alive(int(pid))
            else:  # another machine, or a container that is gone
                over = time.time() - scratch.stat().st_mtime > _A_DAY
            if over:
                shutil.rmtree(scratch, ignore_errors=True)


def _scratch(out: Path) -> Path:
    folder = out / WORK / "tmp"
    folder.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{_host()}-{os.getpid()}-", dir=folder))


def _host() -> str:
    return socket.gethostname() or "localhost"


def _alive(pid: int) -> bool:
    if os.name != "posix":  # where signal 0 is not a question
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


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
    """Notes about a unit between runs; all but the run times can be computed again.

    SHA-256 hashes of files are valid until their size or modification time changes.
    """

    def __init__(self, out: Path, label: str) -> None:
        self._out, self._path = out, out / WORK / "notes" / f"{label}.json"
        self.content = {"hashes": {}, "seconds": {}, "tables": [], "table_of_fit": ""}
        known = unsealed(read_json(self._path))
        for name, empty in self.content.items():
            if isinstance(known.get(name), type(empty)):
                self.content[name] = known[name]
        self._saved = json.dumps(self.content)

    def hash_of(self, path: Path) -> str | None:
        """Return the hash of a file, None if it does not exist."""
        if not path.is_file():
            return None
        stat = path.stat()
        state = [stat.st_size, stat.st_mtime_ns]
        known = self.content["hashes"].get(str(path))
        if isinstance(known, list) and known[:2] == state:
            return known[2]
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        self.content["hashes"][str(path)] = [*state, found]
        return found

    def moved(self, old: Path, new: Path) -> None:
        """Keep the hash of a file that was renamed."""
        known = self.content["hashes"].pop(str(old), None)
        if known is not None and new.exists():
            self.content["hashes"][str(new)] = known

    def save(self) -> None:
        """Save the notes for the next run."""
        text = json.dumps(self.content)
        if text != self._saved:
            write_text(self._out, self._path, json.dumps(sealed(self.content)))
            self._saved = text


def digest(content: Any) -> str:
    """Return the hash of any JSON content."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
