"""The paper's EEG experiment on the shipped recording: three panels and three numbers."""

from argparse import Namespace
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import kurtosis

from benchmarks.paper.output import Output, beside
from benchmarks.results import markdown
from mne_otica import datasets, otica

CHANNELS = [f"EEG {number:03d}" for number in range(1, 6)]
WINDOW = 0.25  # seconds on either side of the blink
PAPER = {
    "excess kurtosis of the artifact": (59.52, 2),
    "mean excess kurtosis of the others": (-0.05, 2),
    "RMS reduction, percent": (92.4, 1),
}


class Blink(NamedTuple):
    """The experiment: z-scored signals, components, cleaned signals, and where the blink is."""

    times: NDArray[np.float64]
    signals: NDArray[np.float64]
    components: NDArray[np.float64]
    kurtosis: NDArray[np.float64]
    cleaned: NDArray[np.float64]
    peak: int

    def reduction(self) -> float:
        """Return the RMS reduction in the window round the blink, pooled over channels."""
        near = np.abs(self.times - self.times[self.peak]) <= WINDOW
        return 1 - _rms(self.cleaned[:, near]) / _rms(self.signals[:, near])


def _rms(x: NDArray) -> float:
    return float(np.sqrt(np.mean(x**2)))


def remove_blink() -> Blink:
    """Filter, crop, z-score, unmix, and zero the component with the largest kurtosis."""
    raw = datasets.sample().load_data().filter(1, 40, picks="eeg", fir_design="firwin")
    raw = raw.crop(10, 20).pick(CHANNELS)
    signals = raw.get_data()
    signals = (signals - signals.mean(axis=1, keepdims=True)) / signals.std(axis=1, keepdims=True)
    K, W, Y = otica(signals, refine="none", random_state=0)  # the estimate of the paper
    excess = kurtosis(Y, axis=1)
    artifact = int(np.argmax(excess))
    peak = int(np.argmax(np.abs(Y[artifact])))
    kept = Y.copy()
    kept[artifact] = 0
    order = [artifact, *(k for k in range(len(Y)) if k != artifact)]
    return Blink(
        times=raw.times + 10,
        signals=signals,
        components=Y[order] * np.sign(Y[order, peak])[:, np.newaxis],
        kurtosis=excess[order],
        cleaned=np.linalg.solve(W @ K, kept),
        peak=peak,
    )


def plot(blink: Blink) -> Figure:
    """Draw signals, components and cleaned signals."""
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.5), layout="constrained")
    step = 12  # standard deviations between two lines
    artifact, others = blink.kurtosis[0], blink.kurtosis[1:].mean()
    panels = (
        (blink.signals, CHANNELS, "(a) five frontal channels, z-scored"),
        (
            blink.components,
            ["artifact", *(f"component {k}" for k in range(2, 6))],
            f"(b) components: excess kurtosis {artifact:.2f}, others {others:.2f}",
        ),
        (blink.cleaned, CHANNELS, f"(c) cleaned: RMS reduction {blink.reduction():.1%}"),
    )
    for axis, (lines, names, title) in zip(axes, panels, strict=True):
        for row, line in enumerate(lines):
            heavy = names[row] == "artifact"
            axis.plot(blink.times, line - step * row, "k", linewidth=1.2 if heavy else 0.4)
        axis.axvspan(*(blink.times[blink.peak] + np.array([-WINDOW, WINDOW])), color="0.85")
        axis.set_yticks(-step * np.arange(len(lines)), names)
        axis.set(title=title, xlabel="seconds", ylim=(-4.7 * step, step))
        axis.title.set_fontsize(10)
    return figure


def run(output: Output, options: Namespace) -> None:
    """Repeat the experiment and write the section; it takes a second, quick or not."""
    blink = remove_blink()
    ours = (blink.kurtosis[0], blink.kurtosis[1:].mean(), 100 * blink.reduction())
    rows = output.write_rows(
        (
            {"figure": name, "paper": printed, "ours": value}
            for (name, (printed, _)), value in zip(PAPER.items(), ours, strict=True)
        ),
        options.report,
    )
    table = [
        [row.figure, *beside(row.ours, row.paper, PAPER[row.figure][1])]
        for row in rows.itertuples()
    ]
    figure = output.figure(plot(blink), "A blink in five frontal channels, before and after.")
    output.section(
        "EEG: one blink",
        "The shipped recording (MNE's sample data), 1 to 40 Hz, 10 to 20 s, EEG 001 to 005, "
        "z-scored; the component with the largest excess kurtosis is zeroed. The RMS is pooled "
        "over the five channels within ±250 ms of the component's largest sample (shaded).",
        figure,
        markdown(["", "paper", "ours", "difference"], table),
    )
