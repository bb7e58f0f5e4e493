"""Mixtures with seeds that no parameter of the solver was chosen on.

    python -m benchmarks.unseen [--first SEED] [--write]

The table of the paper's regimes has seeds 0 to 9, and some parameters of the solver were chosen
with a look at it. Here are the same regimes with other seeds, beside the bound of any
estimator, and discrete sources, where the solver can end in a wrong optimum.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported

import argparse
from collections.abc import Iterator, Sequence

import mne
import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.bound import expected_amari
from benchmarks.paper.methods import separate
from benchmarks.paper.table import CLIP, LABELS, N_SAMPLES
from benchmarks.results import PAGE, markdown, show
from mne_otica.simulation import mixture

FIRST_SEED = 1900
N_SEEDS, N_DISCRETE = 10, 12
N_SOURCES = 20
DISCRETE_SOURCES = (20, 30)
METHODS = {"otica": "OT-ICA", "fastica": "FastICA"}
FAILED = 0.5  # Amari index; separated mixtures of these sizes have less than half of it


def errors(regime: str, d: int, seeds: Sequence[int]) -> NDArray[np.float64]:
    """Return the Amari index of each seed (rows) and method."""
    mixtures = (mixture(regime, d, N_SAMPLES, seed=seed) for seed in seeds)
    return np.array([[separate(one, method)["amari"] for method in METHODS] for one in mixtures])


def regimes(seeds: Sequence[int]) -> Iterator[list[str]]:
    """Yield the rows of the first table."""
    for regime, label in LABELS.items():
        means = np.minimum(errors(regime, N_SOURCES, seeds), CLIP).mean(axis=0)
        bound = expected_amari(regime, N_SOURCES, N_SAMPLES, whitened=False)
        ratio = f"{means[0] / bound:.2f}" if bound else "infinite"
        yield [label, *(f"{mean:.4f}" for mean in means), f"{bound:.4f}", ratio]


def failures(seeds: Sequence[int]) -> Iterator[list[str]]:
    """Yield the rows of the second table."""
    for d in DISCRETE_SOURCES:
        failed = (errors("discrete", d, seeds) > FAILED).sum(axis=0)
        yield [LABELS["discrete"], str(d), *(f"{n} of {len(seeds)}" for n in failed)]


def lines(first: int) -> Iterator[str]:
    yield (
        f"Mean Amari index, clipped at {CLIP}, of {N_SOURCES} sources, N = {N_SAMPLES}, seeds "
        f"{first} to {first + N_SEEDS - 1}.\n"
    )
    header = ["regime", *METHODS.values(), "bound, any estimator", "OT-ICA over the bound"]
    yield markdown(header, regimes(range(first, first + N_SEEDS)))
    yield (
        f"\nFits that failed (an index above {FAILED}), seeds {first} to "
        f"{first + N_DISCRETE - 1}.\n"
    )
    header = ["regime", "d", *METHODS.values()]
    yield markdown(header, failures(range(first, first + N_DISCRETE)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="the first seed")
    parser.add_argument("--write", action="store_true", help=f"keep the result in {PAGE.name}")
    args = parser.parse_args()
    mne.set_log_level("error")
    show("Seeds not used before: `python -m benchmarks.unseen`", lines(args.first), args.write)


if __name__ == "__main__":
    main()
