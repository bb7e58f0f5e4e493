"""Draw the figures that are in version control: ``python docs/figures.py docs/_static``."""

import argparse
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import mne
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import norm

import mne_otica

matplotlib.use("Agg")
BEFORE, AFTER = dict(color="0.55", linestyle="--"), dict(color="C0")


def blink() -> Figure:
    """Draw a frontal channel with blinks, before and after."""
    raw = mne_otica.datasets.sample()
    result = mne_otica.clean_raw(raw)
    name = result.kinds["blink"].benefit.most_affected()[0]
    before_and_after = result.before_and_after([name])
    figure, axes = plt.subplots(
        1, 2, figsize=(10, 3), width_ratios=[2.6, 1], sharey=True, layout="constrained"
    )
    for data, label, style in zip(
        before_and_after, ("before", "after"), (BEFORE, AFTER), strict=True
    ):
        times = result.filtered().times
        axes[0].plot(times, 1e6 * data[0], label=label, linewidth=1.1, **style)
        axes[1].plot(times, 1e6 * data[0], linewidth=1.8, **style)
    last = (mne_otica.find_artifact_events(raw)[-1, 0] - raw.first_samp) / raw.info["sfreq"]
    axes[0].set(xlim=(0, 16), xlabel="Time (s)", ylabel=f"{name} (µV)")
    axes[0].set_title("Four blinks in the recording that comes with the package", loc="left")
    axes[0].legend(frameon=False, loc="upper center", ncols=2)
    axes[1].set(xlim=(last - 0.5, last + 0.5), xlabel="Time (s)")
    axes[1].set_title("The last one", loc="left")
    return figure


def removal() -> Figure:
    """Draw a blink component: what is taken out of it, and what stays."""
    result = mne_otica.clean_raw(mne_otica.datasets.sample())
    filtered = result.filtered()
    course = result.ica.get_sources(filtered).get_data([result.ica.exclude[0]])[0]
    stays = course - filtered.like(result.removed[:1])[0]
    figure, axes = plt.subplots(2, 1, figsize=(10, 4), sharex=True, layout="constrained")
    axes[0].plot(filtered.times, course, color="0.3", linewidth=0.8)
    changed = filtered.of_steps(result.removed.any(axis=0))
    low, high = axes[0].get_ylim()
    axes[0].fill_between(filtered.times, low, high, changed, color="C3", alpha=0.15, linewidth=0)
    axes[0].set(ylabel="Component", ylim=(low, high), xlim=(0, filtered.times[-1]))
    axes[0].set_title("The blink component; only the shaded windows are changed", loc="left")
    axes[1].plot(filtered.times, stays, color="C0", linewidth=0.8)
    axes[1].set(ylabel="What stays", xlabel="Time (s)", ylim=(-2, 2))
    return figure


def _quantile_panel(ax: Axes, sample: NDArray, name: str) -> None:
    """Draw the sorted values of a signal against those of a Gaussian."""
    ordered = np.sort((sample - sample.mean()) / sample.std())
    share = (np.arange(len(ordered)) + 0.5) / len(ordered)
    target = norm.ppf(share)
    distance = np.mean((ordered - target) ** 2)
    ax.plot(100 * share, target, "--", color="0.4", label="Gaussian")
    ax.plot(100 * share, ordered, color="C0", label="signal")
    ax.fill_between(100 * share, target, ordered, color="C3", alpha=0.25, linewidth=0)
    ax.set(
        title=f"{name}: $W_2^2$ = {distance:.2f}", xlabel="Share of samples below (%)", ylim=(-6, 6)
    )


def transport() -> Figure:
    """Draw how far three signals are from a Gaussian."""
    result = mne_otica.clean_raw(mne_otica.datasets.sample())
    sources = result.ica.get_sources(result.filtered()).get_data()
    blink = result.ica.exclude[0]
    names = result.kinds["blink"].benefit.most_affected(40)
    channel = result.filtered().get_data([names[-1]])[0]
    gaussian = np.argmin(result.ica.contrast_)
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), sharey=True, layout="constrained")
    _quantile_panel(axes[0], sources[blink], "Blink component")
    _quantile_panel(axes[1], channel, f"A channel ({names[-1]})")
    _quantile_panel(axes[2], sources[gaussian], "Brain component")
    axes[0].set_ylabel("Value (SD)")
    axes[0].legend(frameon=False, loc="lower right")
    return figure


def _contrast(signal: NDArray) -> float:
    """Return the squared Wasserstein distance of a signal of unit variance to the Gaussian."""
    target = norm.ppf((np.arange(signal.size) + 0.5) / signal.size)
    return np.mean((np.sort(signal) - target) ** 2)


def rotation() -> Figure:
    """Draw a mixture of two sources, and the contrast in every direction of it."""
    rng = np.random.default_rng(0)
    blinks = np.convolve(rng.random(6000) < 0.004, np.hanning(60), "same")
    blinks += 0.1 * rng.standard_normal(6000)
    sources = np.array([blinks, rng.laplace(size=6000)])
    sources -= sources.mean(axis=1, keepdims=True)
    sources /= sources.std(axis=1, keepdims=True)
    # The sources are uncorrelated, so that the whitened mixture is a rotation of them.
    turn = np.deg2rad(35)
    mixed = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]) @ sources
    angles = np.arange(0, 181)
    directions = np.column_stack([np.cos(np.deg2rad(angles)), np.sin(np.deg2rad(angles))])
    contrast = np.array([_contrast(signal / signal.std()) for signal in directions @ mixed])
    figure, axes = plt.subplots(
        1, 2, figsize=(10, 3.6), width_ratios=[1, 1.8], layout="constrained"
    )
    axes[0].plot(*mixed, ".", color="0.5", markersize=2, alpha=0.6)
    axes[0].set(xlabel="Mixture 1", ylabel="Mixture 2", aspect="equal", xlim=(-6, 6), ylim=(-6, 6))
    axes[1].plot(angles, contrast, color="C0")
    for angle, name, colour in ((35, "blinks", "C3"), (125, "brain", "C2")):
        x, y = 5.5 * np.cos(np.deg2rad(angle)), 5.5 * np.sin(np.deg2rad(angle))
        axes[0].annotate("", (x, y), (0, 0), arrowprops=dict(color=colour, width=1.5, headwidth=8))
        axes[0].text(x, y + 0.3, name, color=colour, ha="center")
        axes[1].axvline(angle, color=colour, linestyle="--", linewidth=1)
        axes[1].text(angle + 2, 1.08 * contrast.max(), name, color=colour)
    axes[1].set(
        xlabel="Direction (degrees)", ylabel="Distance to a Gaussian, $W_2^2$", xticks=angles[::30]
    )
    return figure


FIGURES = {"blink": blink, "removal": removal, "transport": transport, "rotation": rotation}


def main() -> None:
    """Draw all figures into a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where to write the images")
    folder = parser.parse_args().folder
    mne.set_log_level("warning")
    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "font.size": 11})
    for name, draw in FIGURES.items():
        draw().savefig(folder / f"{name}.png", dpi=120, metadata={"Software": None})


if __name__ == "__main__":
    main()
