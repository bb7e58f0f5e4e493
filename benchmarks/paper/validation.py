"""The four-source mixture with the paper's mixing matrix: transfer matrices and densities."""

from argparse import Namespace

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import gaussian_kde

from benchmarks.paper.methods import METHODS, unmixing
from benchmarks.paper.output import Output, beside
from benchmarks.results import markdown
from mne_otica.metrics import amari_index
from mne_otica.simulation.mixtures import Mixture

MIXING = np.array(
    [
        [1.058, 1.520, -0.249, 1.012],
        [0.042, -0.486, 0.388, -0.523],
        [-0.154, -1.572, -0.304, -1.234],
        [-0.006, 0.503, 0.053, 0.928],
    ]
)
KINDS = ("Laplace", "Uniform", "Student-t(3)", "Beta(0.5, 0.5)")
PAPER = {"otica": 0.0155, "fastica": 0.0188}
N_SAMPLES = 10_000
N_TRIALS = 100
ENTRIES = [f"p{i}{j}" for i in range(1, 5) for j in range(1, 5)]


def four_sources(seed: int) -> Mixture:
    """Mix standardised sources of the four kinds with the paper's matrix."""
    rng = np.random.default_rng(seed)
    sources = np.array(
        [
            rng.laplace(size=N_SAMPLES),
            rng.uniform(-1, 1, N_SAMPLES),
            rng.standard_t(3, N_SAMPLES),
            rng.beta(0.5, 0.5, N_SAMPLES),
        ]
    )
    sources -= sources.mean(axis=1, keepdims=True)
    sources /= sources.std(axis=1, keepdims=True)
    return Mixture(MIXING @ sources, MIXING, sources)


def transfer(mixture: Mixture, method: str) -> NDArray[np.float64]:
    """Return W A, in the order of the sources, the largest entry of each row being 1."""
    P = unmixing(mixture, method) @ mixture.mixing
    P /= np.take_along_axis(P, np.abs(P).argmax(axis=1)[:, np.newaxis], axis=1)
    return P[np.abs(P).argmax(axis=1).argsort()]


def measure(method: str, seed: int) -> dict:
    """Return the error of a draw, and its transfer matrix."""
    P = transfer(four_sources(seed), method)
    error = amari_index(P, np.eye(4))
    return {
        "method": method,
        "seed": seed,
        "amari": error,
        **dict(zip(ENTRIES, P.flat, strict=True)),
    }


def plot(mixture: Mixture) -> Figure:
    """Draw the density of each source and of the component that OT-ICA finds for it."""
    P = transfer(mixture, "otica")
    figure, axes = plt.subplots(1, 4, figsize=(11, 2.8), layout="constrained")
    for axis, kind, source, row in zip(axes, KINDS, mixture.sources, P, strict=True):
        x = np.linspace(*np.quantile(source, [0.002, 0.998]), 200)
        axis.plot(x, gaussian_kde(source)(x), color="0.6", linewidth=4, label="source")
        component = row @ mixture.sources
        axis.plot(x, gaussian_kde(component)(x), "k--", label="component")
        axis.set(title=kind, yticks=[], xlabel="standard deviations")
    axes[0].set_ylabel("density")
    axes[0].legend(fontsize=8)
    return figure


def _matrix(P: NDArray) -> str:
    lines = "\n".join("  ".join(f"{entry:6.3f}" for entry in row) for row in P)
    return f"```text\n{lines}\n```"


def run(output: Output, options: Namespace) -> None:
    """Measure and write the section."""
    trials = 10 if options.quick else N_TRIALS
    rows = output.write_rows(
        (measure(method, seed) for seed in range(trials) for method in PAPER), options.report
    )
    figure = output.figure(
        plot(four_sources(0)), "Densities of the four sources and of the components OT-ICA finds."
    )
    table, matrices = [], []
    for method, printed in PAPER.items():
        errors = rows.loc[rows["method"] == method, "amari"]
        low, high = np.quantile(errors, [0.05, 0.95])
        numbers = beside(errors.mean(), printed, 4)
        table.append([METHODS[method].label, *numbers, f"{low:.4f} to {high:.4f}"])
        first = rows[(rows["method"] == method) & (rows["seed"] == 0)]
        label = f"Transfer matrix of {METHODS[method].label}, seed 0:"
        matrices += [label, _matrix(first[ENTRIES].to_numpy().reshape(4, 4))]
    output.section(
        "Validation: four sources",
        "Laplace, uniform, Student-t(3) and Beta(0.5, 0.5) sources, N = 10 000, mixed by the "
        f"paper's matrix. The paper shows one draw; ours are means of {trials} draws with an "
        "interval that contains 90 % of them, so that the errors of the paper are typical if they "
        "lie in it.",
        figure,
        markdown(["method", "paper", "ours, mean", "difference", "90 % of draws"], table),
        *matrices,
    )
