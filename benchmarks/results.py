"""The page that keeps what the benchmarks printed."""

import datetime
import os
import platform
import re
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

PAGE = Path(__file__).parent / "RESULTS.md"
PACKAGES = ("mne-otica", "mne", "numpy", "scipy", "scikit-learn", "python-picard", "jamica")


def environment() -> str:
    """Return the date, the machine and the versions in one sentence."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
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
        page = PAGE.read_text() if PAGE.exists() else "# Benchmark results\n"
        section = "\n".join(shown).rstrip() + "\n"
        others = re.sub(rf"\n## {re.escape(title)}\n.*?(?=\n## |\Z)", "", page, flags=re.DOTALL)
        PAGE.write_text(f"{others.rstrip()}\n\n{section}")
