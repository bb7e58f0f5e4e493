"""Mixtures with seeds that no parameter of the solver was chosen on.

    python -m benchmarks.unseen [--write]

The table of the paper's regimes has seeds 0 to 9, and some parameters of the solver were chosen
with a look at it. Here are Student-t sources, where the refinement gains least, and discrete
sources, where the solver can end in a wrong optimum.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported

import argparse
from collections.abc import Iterator

import mne
import numpy as np

from benchmarks.paper.methods import separate
from benchmarks.paper.table import CLIP, LABELS, N_SAMPLES
from benchmarks.results import PAGE, markdown, show
from mne_otica.simulation import mixture

FIRST_SEED = 200
N_SEEDS = 20
CASES = (("student_t", 10), ("student_t", 20), ("discrete", 20), ("discrete", 30))
METHODS = ("otica", "fastica")
FAILED = 0.5  # Amari index; separated mixtures of these sizes have less than half of it


def lines(seeds: range) -> Iterator[str]:
    yield (
        f"Mean Amari index, clipped at {CLIP}; a fit has failed where the index is above {FAILED}. "
        f"N = {N_SAMPLES}, seeds {seeds[0]} to {seeds[-1]}.\n"
    )
    header = ["regime", "d", "OT-ICA", "FastICA", "OT-ICA failed", "FastICA failed"]
    rows = []
    for regime, d in CASES:
        mixtures = (mixture(regime, d, N_SAMPLES, seed=seed) for seed in seeds)
        errors = np.array(
            [
                [separate(one, method)["amari"] for method in ("otica", "fastica")]
                for one in mixtures
            ]
        )
        means = np.minimum(errors, CLIP).mean(axis=1)
        failed = (errors > FAILED).sum(axis=1)
        counts = [f"{n} of {len(seeds)}" for n in failed]
        rows.append([LABELS[regime], str(d), *(f"{mean:.4f}" for mean in means), *counts])
    yield markdown(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=N_SEEDS, help="how many seeds")
    parser.add_argument("--write", action="store_true", help=f"keep the result in {PAGE.name}")
    args = parser.parse_args()
    mne.set_log_level("error")
    seeds = range(FIRST_SEED, FIRST_SEED + args.n)
    show("Seeds not used before: `python -m benchmarks.unseen`", lines(seeds), args.write)


if __name__ == "__main__":
    main()
