"""Two contrasts of five distributions: how far they are from a Gaussian."""

from argparse import Namespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from benchmarks.paper.contrasts import Values, of_population, of_sample
from benchmarks.paper.output import Output, beside
from benchmarks.results import markdown

DISTRIBUTIONS = {
    "Laplace": stats.laplace(),
    "Binomial, n = 10": stats.binom(10, 0.5),
    "Poisson, λ = 3": stats.poisson(3),
    "Binomial, n = 2": stats.binom(2, 0.5),
    "Poisson, λ = 0.5": stats.poisson(0.5),
}
PAPER = {
    "Laplace": Values(0.0398, 0.001214),
    "Binomial, n = 10": Values(0.0344, 0.000031),
    "Poisson, λ = 3": Values(0.0513, 0.0),
    "Binomial, n = 2": Values(0.2022, 0.000267),
    "Poisson, λ = 0.5": Values(0.3384, 0.000085),
}
N_SAMPLES = 10_000
N_SEEDS = 200


def plot(rows: pd.DataFrame) -> Figure:
    """Draw both contrasts of each distribution as bars."""
    figure, axis = plt.subplots(figsize=(8, 3.5), layout="constrained")
    place = np.arange(len(rows))
    axis.bar(place - 0.2, rows["w2"], 0.4, color="0.3", label="W2²")
    axis.bar(
        place + 0.2,
        rows["log_cosh"],
        0.4,
        color="white",
        edgecolor="k",
        hatch="//",
        label="log cosh",
    )
    axis.set(yscale="log", ylabel="contrast", xticks=place)
    axis.set_xticks(place, rows["distribution"])
    axis.legend()
    return figure


def contrasts(name: str, seeds: range) -> dict:
    """Return the contrasts of a distribution, and mean and deviation of those of its samples."""
    distribution = DISTRIBUTIONS[name]
    samples = np.array([of_sample(distribution, N_SAMPLES, seed) for seed in seeds])
    return {
        "distribution": name,
        **of_population(distribution)._asdict(),
        "w2_sample": samples[:, 0].mean(),
        "w2_sample_sd": samples[:, 0].std(ddof=1),
        "log_cosh_sample": samples[:, 1].mean(),
        "log_cosh_sample_sd": samples[:, 1].std(ddof=1),
    }


def run(output: Output, options: Namespace) -> None:
    """Compute and write the section."""
    seeds = range(20 if options.quick else N_SEEDS)
    rows = output.write_rows((contrasts(name, seeds) for name in DISTRIBUTIONS), options.report)
    figure = output.figure(plot(rows), "W2² and log cosh negentropy of five distributions.")
    table = [
        [
            row.distribution,
            *beside(row.w2, PAPER[row.distribution].w2, 4),
            f"{row.w2_sample:.4f} ± {row.w2_sample_sd:.4f}",
            *beside(row.log_cosh, PAPER[row.distribution].log_cosh, 6),
            f"{row.log_cosh_sample:.6f} ± {row.log_cosh_sample_sd:.6f}",
        ]
        for row in rows.itertuples()
    ]
    header = [
        "distribution",
        *("W2², paper", "ours", "difference", "samples"),
        *("log cosh, paper", "ours", "difference", "samples"),
    ]
    output.section(
        "Sensitivity: W2² and log cosh",
        "Our values are those of the distributions, without sampling; the columns "
        f'"samples" have mean and standard deviation over {len(seeds)} samples of size '
        f"{N_SAMPLES}. The values of the paper are from one sample, which explains differences of "
        "two or three standard deviations; those of log cosh are larger for binomial sources, as "
        "they would be if the mean for a Gaussian had been estimated from a sample, too.",
        figure,
        markdown(header, table),
    )
