"""The page that keeps what the benchmarks printed."""

import datetime
import os
import platform
import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PAGE = Path(__file__).parent / "RESULTS.md"
PACKAGES = ("mne-otica", "mne", "numpy", "scipy", "scikit-learn", "python-picard", "jamica")


def _installed(name: str) -> str | None:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:  # not every benchmark needs all the peers
        return None


def environment() -> str:
    """Return the date, the machine and the versions in one sentence."""
    versions = ", ".join(filter(None, map(_installed, PACKAGES)))
    threads = os.environ.get("OMP_NUM_THREADS", "all")
    return (
        f"{datetime.date.today()}, {os.cpu_count()} cores, BLAS threads: {threads}, "
        f"Python {platform.python_version()}, {versions}."
    )


def show(title: str, lines: Iterable[str], write: bool) -> None:
    """Print the lines as they come, and keep them as a section of the page if asked to."""
    shown = [f"## {title}\n", f"{environment()}\n"]
    print("\n".join(shown))
    for line in lines:
        print(line, flush=True)
        shown.append(line)
    if write:
        replace_section(PAGE, title, "\n".join(shown[1:]), "# Benchmark results\n")


def replace_section(page: Path, title: str, text: str, heading: str) -> None:
    """Put a section in the place of the one with its title, or at the end of the page."""
    content = page.read_text(encoding="utf-8") if page.exists() else heading
    section = f"## {title}\n\n{text.strip()}\n"
    # A section ends where the next one begins; a function, so that backslashes stay as they are.
    pattern = re.compile(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    content, n_found = pattern.subn(lambda _: f"{section}\n", content)
    if not n_found:
        content = f"{content.rstrip()}\n\n{section}"
    page.write_text(f"{content.rstrip()}\n", encoding="utf-8")
