"""Error and time against the number of sources, and of samples (Laplace sources)."""

from argparse import Namespace

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from benchmarks.paper.bound import expected_amari
from benchmarks.paper.methods import METHODS, separate
from benchmarks.paper.output import LINES, MARKERS, Output
from benchmarks.results import markdown
from mne_otica.simulation import mixture

DIMENSIONS = (5, 10, 20, 30, 40)
SAMPLES = (1_000, 10_000, 100_000, 1_000_000)
FEW = 10  # sources while the samples grow
MANY = 10_000  # samples while the sources grow
PEERS = ("otica", "fastica", "picard")
EXPLANATION = """\
Laplace sources; mean Amari index and seconds of processor time (one thread) of a fit with its
whitening: five trials, and one for a million samples and for the paper's algorithm. The paper
shows curves without numbers: at d = 40 with N = 10 000 the errors of both methods increase,
which it calls the curse of dimensionality, and the time of OT-ICA increases faster than that of
FastICA. Here, every error is within 10 % of the same multiple of the bound for all d: it
increases because the index sums d - 1 errors per row, each of them as small as with few
sources, and it decreases with the square root of N. One-dimensional Wasserstein distances have
no curse of dimensionality."""


def cells(quick: bool, methods: tuple[str, ...]) -> list[dict]:
    """Return what is to be measured; one trial of what takes long."""
    dimensions = DIMENSIONS[:3] if quick else DIMENSIONS
    samples = SAMPLES[:3] if quick else SAMPLES
    shapes = [(d, MANY) for d in dimensions] + [(FEW, n) for n in samples if n != MANY]
    trials = 2 if quick else 5
    return [
        {"d": d, "n_samples": n, "trial": trial, "method": method}
        for d, n in shapes
        for method in methods
        for trial in range(1 if n == SAMPLES[-1] or method.startswith("riemannian") else trials)
    ]


def plot(means: pd.DataFrame) -> Figure:
    """Draw error and seconds, over sources and over samples."""
    figure, axes = plt.subplots(2, 2, figsize=(9, 6.5), sharex="col", layout="constrained")
    methods = [method for method in METHODS if method in means.index.levels[2]]
    for column, fixed, level, label in (
        (axes[:, 0], ("n_samples", MANY), "d", f"sources (N = {MANY})"),
        (axes[:, 1], ("d", FEW), "n_samples", f"samples (d = {FEW})"),
    ):
        part = means.xs(fixed[1], level=fixed[0])
        for k, method in enumerate(methods):
            if method not in part.index.get_level_values("method"):
                continue
            line = part.xs(method, level="method")
            style = dict(marker=MARKERS[k], linestyle=LINES[k], label=METHODS[method].label)
            column[0].plot(line.index, line["amari"], markerfacecolor="white", **style)
            column[1].plot(line.index, line["seconds"], markerfacecolor="white", **style)
        places = part.index.get_level_values(level).unique()
        bound = [
            expected_amari(
                "laplace",
                place if level == "d" else FEW,
                MANY if level == "d" else place,
                whitened=True,
            )
            for place in places
        ]
        column[0].plot(places, bound, "k-", linewidth=2, alpha=0.6, label="bound, whitened")
        column[0].set(yscale="log", xscale="log")
        column[1].set(yscale="log", xlabel=label)
    axes[0, 0].set_ylabel("Amari index")
    axes[1, 0].set_ylabel("seconds")
    axes[0, 0].legend(fontsize=8)
    return figure


def run(output: Output, options: Namespace) -> None:
    """Measure what is missing and write the section."""
    if not options.report:
        chosen = tuple(options.methods or PEERS + (() if options.quick else ("riemannian",)))
        for cell in output.missing(cells(options.quick, chosen), options.redo):
            mixed = mixture("laplace", cell["d"], cell["n_samples"], seed=cell["trial"])
            output.append({**cell, **separate(mixed, cell["method"])})
            print(cell, flush=True)
    means = output.rows().groupby(["d", "n_samples", "method"])[["amari", "seconds"]].mean()
    figure = output.figure(plot(means), "Error and time of Laplace mixtures as they grow.")
    methods = [method for method in METHODS if method in means.index.levels[2]]
    table = []
    for d, n in means.index.droplevel("method").unique():
        found = means.loc[d, n]
        entries = [
            f"{found.at[method, 'amari']:.4f}, {found.at[method, 'seconds']:.2f} s"
            if method in found.index
            else "not run"
            for method in methods
        ]
        table.append([f"{d} x {n}", *entries])
    output.section(
        "Scaling",
        EXPLANATION,
        figure,
        markdown(["d x N", *(METHODS[method].label for method in methods)], table),
    )
