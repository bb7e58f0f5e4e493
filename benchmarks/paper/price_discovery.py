"""Information shares of three markets, by the functions of the tutorial."""

from argparse import Namespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks.paper.bound import student_information
from benchmarks.paper.market_shares import (
    DEGREES_OF_FREEDOM,
    TRUE_SHARES,
    estimate_impacts,
    information_shares,
    simulate_residuals,
)
from benchmarks.paper.output import Output, beside
from benchmarks.results import markdown

N_RUNS = 500
PAPER_MEAN = (0.1212, 0.2399, 0.6389)
PAPER_SD = (0.0161, 0.0245, 0.0260)
MARKETS = ("market_1", "market_2", "market_3")


def estimate(seed: int) -> dict:
    """Simulate one run and return the estimated shares; the covariance is known, as there."""
    residuals, B = simulate_residuals(seed=seed)
    shares = information_shares(estimate_impacts(residuals, B @ B.T))
    return {"seed": seed, **dict(zip(MARKETS, shares, strict=True))}


def smallest_deviations(n_observations: int = 5000) -> NDArray[np.float64]:
    """Return the standard deviations that an efficient estimator of the rotation would have.

    With known covariance only the angles of the rotation are estimated, each with the information
    N (κ_i + κ_j - 2), and a share moves by 2 sqrt(share_i share_j) with each of its angles.
    """
    kappa = student_information(np.array(DEGREES_OF_FREEDOM))
    angle = kappa[:, np.newaxis] + kappa - 2
    np.fill_diagonal(angle, np.inf)
    variance = 4 * np.outer(TRUE_SHARES, TRUE_SHARES) / angle / n_observations
    return np.sqrt(variance.sum(axis=1))


def plot(rows: pd.DataFrame) -> Figure:
    """Draw the histograms of the estimated shares."""
    figure, axis = plt.subplots(figsize=(8, 3.5), layout="constrained")
    styles = zip(MARKETS, TRUE_SHARES, ("////", "....", ""), strict=True)
    for number, (market, truth, hatch) in enumerate(styles, 1):
        shares = rows[market]
        axis.hist(shares, 30, color="0.85", edgecolor="k", hatch=hatch, label=f"market {number}")
        axis.axvline(truth, color="k", linestyle="--")
    axis.set(xlabel="estimated information share (dashed: true)", ylabel="runs")
    axis.legend()
    return figure


def run(output: Output, options: Namespace) -> None:
    """Simulate and write the section."""
    n_runs = 50 if options.quick else N_RUNS
    rows = output.write_rows((estimate(seed) for seed in range(n_runs)), options.report)
    figure = output.figure(plot(rows), f"Information shares in {n_runs} runs.")
    shares = rows[list(MARKETS)]
    columns = zip(MARKETS, TRUE_SHARES, PAPER_MEAN, PAPER_SD, smallest_deviations(), strict=True)
    table = [
        [
            market.replace("_", " "),
            f"{truth:.2f}",
            *beside(shares[market].mean(), paper_mean, 4),
            f"{shares[market].mean() - truth:+.4f}",
            *beside(shares[market].std(), paper_sd, 4),
            f"{smallest:.4f}",
        ]
        for market, truth, paper_mean, paper_sd, smallest in columns
    ]
    header = ["", "true", "mean, paper", "ours", "difference", "ours less the truth"]
    header += ["sd, paper", "ours", "difference", "sd, bound"]
    output.section(
        "Price discovery",
        f"Three markets, T = 5000, {n_runs} runs (seeds from 0), Student-t innovations with 5, 6 "
        "and 7 degrees of freedom, covariance known as in the paper; no order among the "
        "markets is assumed. The standard error of a standard deviation of "
        f"{n_runs} runs is {100 / np.sqrt(2 * n_runs):.0f} %, so that smaller differences are "
        "within chance. The bound is that of an efficient estimator of the rotation that knows the "
        "score functions of the t distributions.",
        figure,
        markdown(header, table),
    )
