"""Sources that the log cosh contrast cannot see: zero negentropy and vanishing curvature."""

from argparse import Namespace
from itertools import product

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from benchmarks.paper.methods import METHODS
from benchmarks.paper.output import LINES, MARKERS, Output
from benchmarks.paper.table import CLIP, measure
from benchmarks.results import markdown
from mne_otica.simulation.mixtures import VANISHING_CURVATURE, ZERO_NEGENTROPY

MODES = {"zero_negentropy": "Zero negentropy", "vanishing_curvature": "Vanishing curvature"}
DIMENSIONS = (5, 10, 15, 20)
N_TRIALS = 5
CHEAP = ("otica", "fastica", "picard", "jade")
LOW = ("riemannian", "fastica50")
HIGH = ("riemannian_high", "fastica50_high")
GOOD = 0.3  # the paper's limit of good separation


def cells(methods: tuple[str, ...], dimensions: tuple[int, ...], n_trials: int) -> list[dict]:
    """Return what is to be measured, method by method, small dimensions first."""
    return [
        {"regime": mode, "d": d, "trial": trial, "method": method}
        for trial, method, d, mode in product(range(n_trials), methods, dimensions, MODES)
    ]


def plot(means: pd.Series) -> Figure:
    """Draw one panel per mode: error against dimension."""
    methods = [method for method in METHODS if method in means.index.levels[2]]
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), sharey=True, layout="constrained")
    for axis, (mode, label) in zip(axes, MODES.items(), strict=True):
        for k, method in enumerate(methods):
            line = means.xs((mode, method), level=("regime", "method"))
            axis.plot(
                line.index,
                line,
                marker=MARKERS[k],
                linestyle=LINES[k],
                markerfacecolor="white" if k else None,
                label=METHODS[method].label,
            )
        axis.axhline(GOOD, color="0.5", linewidth=1)
        axis.set(title=label, xlabel="sources", xticks=DIMENSIONS, yscale="log")
    axes[0].set_ylabel("Amari index")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
    return figure


def run(output: Output, options: Namespace) -> None:
    """Measure what is missing and write the section."""
    if not options.report:
        chosen = tuple(options.methods or (CHEAP if options.quick else CHEAP + LOW + HIGH))
        dimensions = DIMENSIONS[:2] if options.quick else DIMENSIONS
        todo = cells(chosen, dimensions, 2 if options.quick else min(options.trials, N_TRIALS))
        measure(output, output.missing(todo, options.redo))
    rows = output.rows()
    groups = rows.assign(amari=rows["amari"].clip(upper=CLIP)).groupby(["regime", "d", "method"])
    means, counts = groups["amari"].mean(), groups["amari"].count()
    figure = output.figure(
        plot(means), "Errors on sources for which log cosh fails; the line is good separation, 0.3."
    )
    methods = [method for method in METHODS if method in means.index.levels[2]]
    table = []
    for mode, d in product(MODES, means.index.levels[1]):
        entries = [
            f"{means[mode, d, method]:.3f} ({counts[mode, d, method]})"
            if (mode, d, method) in means
            else "not run"
            for method in methods
        ]
        table.append([MODES[mode], str(d), *entries])
    output.section(
        "Failure modes of log cosh",
        "Three Gaussian bumps of width 0.15 at -b, 0 and b with unit variance. With "
        f"b = {ZERO_NEGENTROPY:.4f} (paper: 1.5434) log cosh has the mean it has for a "
        "Gaussian; with "
        f"b = {VANISHING_CURVATURE:.4f} (paper: near 1.44) the denominator of "
        "FastICA's Newton step is zero. N = 10 000; mean Amari index, clipped at 1.5, and in "
        "brackets the number of trials. Low compute is 50 starts of FastICA with 1000 iterations "
        "and 4 d starts of the paper's algorithm; high compute 5000 iterations and 15 d starts.",
        figure,
        markdown(["mode", "d", *(METHODS[method].label for method in methods)], table),
        "The paper has figures without numbers: the error of FastICA increases with d beyond 0.3, "
        "and OT-ICA separates up to a d that depends on the number of starts and steps. The "
        "quasi-Newton solver has no such parameters.",
    )
