"""Run one experiment of the paper: ``python -m benchmarks.paper NAME [--quick]``.

The full run writes benchmarks/results/NAME.csv, docs/_static/results/NAME.png and its section
of benchmarks/PAPER.md; with --quick the same goes below build/paper, unless --out says otherwise.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported

import argparse
from importlib import import_module
from pathlib import Path

import matplotlib
import mne

from benchmarks.paper.output import ROOT, Output

NAMES = (
    "validation",
    "table",
    "failure-modes",
    "sensitivity",
    "landscapes",
    "scaling",
    "price-discovery",
    "eeg",
    "peers",
)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--quick", action="store_true", help="fewer trials: minutes, not hours")
    parser.add_argument("--out", type=Path, help="folder to write to")
    parser.add_argument("--methods", nargs="+", help="only these methods")
    parser.add_argument("--trials", type=int, default=10, help="most trials of a cell")
    parser.add_argument("--redo", action="store_true", help="measure again what has been measured")
    parser.add_argument("--report", action="store_true", help="only write what was measured")
    parser.add_argument("--data", type=Path, help="folder of eeglab_data.set, for peers")
    given = parser.parse_args(arguments)
    matplotlib.use("Agg")
    root = given.out or (ROOT / "build" / "paper" if given.quick else ROOT)
    experiment = import_module(f"benchmarks.paper.{given.name.replace('-', '_')}")
    with mne.use_log_level("error"):
        experiment.run(Output(given.name, root), given)


if __name__ == "__main__":
    main()
