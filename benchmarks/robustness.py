"""Few samples, Gaussian noise, pops and bad channels: OT-ICA beside peers made for such data.

    python -m benchmarks.robustness FOLDER [--part PART] [--write]

Mixtures: the error by samples per component and per squared component, and with Gaussian noise
added to the channels, also of FastICA with scores from the empirical characteristic function
(after arXiv 2604.22125; mixtures with noise after arXiv 2401.08468). Recordings: every other ten
seconds are fitted and the rest is judged, as in `benchmarks.solver`, as they are and with what
spoils a fit put into the half that is fitted; OT-ICA also after samples were shrunk to at most
twice the median norm.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import mne
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import polar
from sklearn.decomposition import FastICA

from benchmarks.results import show
from benchmarks.solver import (
    HALF_SECONDS,
    HALVES,
    eeg_signals,
    fit_amica,
    fit_otica,
    fit_picard,
    fit_picard_o,
    halves,
)
from mne_otica.metrics import amari_index, residual_dependence
from mne_otica.simulation import mixture
from mne_otica.solver._linalg import Channels, project

Fit = Callable[[NDArray], NDArray]  # whitened data -> unmixing
REGIMES = ("zero_gaussian", "hybrid")
SEEDS = range(5)
SOURCES = (5, 10, 20)
PER_SQUARE = (2, 5, 20, 80)  # samples for each squared source
NOISE = (0.0, 0.05, 0.1, 0.2, 0.4)  # standard deviation, of that of a channel
NOISY = (10, 10_000)  # sources and samples of the mixtures with noise
POP = 3e-3  # V of a step at one electrode, which decays in a second
BAD = 300e-6  # V, standard deviation of the noise of a bad channel
LARGEST_NORM = 2.0  # of the median norm of samples
MOST_FOR_AMICA = 20  # channels: it takes minutes for more
PARTS = ("samples", "noise", "recordings", "amica")


# -- methods --------------------------------------------------------------------------------


def learned_score(y: NDArray, n_bins: int = 4096) -> tuple[NDArray, NDArray]:
    """Return the score of a component and its derivative, from its characteristic function.

    The density is the inverse transform of the empirical characteristic function with the weights
    of Bernacchia and Pigolotti (2011), up to the first frequency that noise could explain.
    """
    n, edge = len(y), np.abs(y).max() + 3.0
    width = 2 * edge / n_bins
    where = (y + edge) / width
    left = np.minimum(where.astype(int), n_bins - 2)
    part = where - left  # shared by the two nearest points
    counts = np.bincount(left, 1 - part, n_bins) + np.bincount(left + 1, part, n_bins)
    phi = np.fft.rfft(counts / n)
    power, least = np.abs(phi) ** 2, 4 * (n - 1) / n**2
    last = np.argmax(power < least) if (power < least).any() else len(power)
    weights = np.zeros(len(phi))
    weights[:last] = 1 + np.sqrt(np.maximum(0, 1 - least / power[:last]))
    phi *= weights * n / (2 * (n - 1))
    frequencies = 2 * np.pi * np.fft.rfftfreq(n_bins, width)
    density = np.fft.irfft(phi, n_bins) / width
    slope = np.fft.irfft(1j * frequencies * phi, n_bins) / width
    floor = 1 / np.sqrt(n) / np.sqrt(2 * np.pi)  # a share of the Gaussian's peak
    score = -slope / np.maximum(density, floor)
    return np.interp(where, np.arange(n_bins), score), np.interp(
        where, np.arange(n_bins), np.gradient(score, width)
    )


def fit_learned(X: NDArray, max_iter: int = 200, tol: float = 1e-4) -> NDArray:
    """FastICA whose scores are learnt from the components in each iteration."""
    W = polar(np.random.default_rng(0).standard_normal((len(X), len(X))))[0]
    for _ in range(max_iter):
        scores = [learned_score(y) for y in W @ X]
        slopes = np.array([slope.mean() for _, slope in scores])
        step = np.array([score for score, _ in scores]) @ X.T / X.shape[1] - slopes[:, None] * W
        new = polar(step)[0]
        moved = np.abs(np.abs(np.sum(new * W, axis=1)) - 1).max()
        W = new
        if moved < tol:
            break
    return W


def fit_fastica(X: NDArray) -> NDArray:
    return FastICA(whiten=False, random_state=0).fit(X.T).components_


def shrunk(fit: Fit) -> Fit:
    """Return a method that first shrinks samples of large norm."""

    def fit_shrunk(X: NDArray) -> NDArray:
        norms = np.linalg.norm(X, axis=0)
        small = X * np.minimum(1, LARGEST_NORM * np.median(norms) / norms)
        K, mean = Channels(small).whitening()
        return fit(project(K, small, mean, np.float64)) @ K

    return fit_shrunk


METHODS: dict[str, Fit] = {
    "OT-ICA": lambda X: fit_otica(X)[0],
    "FastICA": fit_fastica,
    "FastICA, learnt scores": fit_learned,
    "Picard (ortho, extended)": lambda X: fit_picard_o(X)[0],
    "Picard (extended)": lambda X: fit_picard(X)[0],
}
ON_RECORDINGS: dict[str, Fit] = {
    "OT-ICA": METHODS["OT-ICA"],
    "OT-ICA, shrunk": shrunk(METHODS["OT-ICA"]),
    "FastICA": fit_fastica,
}


# -- mixtures -------------------------------------------------------------------------------


def errors(X: NDArray, mixing: NDArray) -> list[float]:
    """Return the Amari index of each method."""
    K, mean = Channels(X).whitening()
    white = project(K, X, mean, np.float64)
    return [amari_index(fit(white) @ K, mixing) for fit in METHODS.values()]


def few_samples() -> Iterator[str]:
    """Yield the lines of a table of errors by the number of samples."""
    yield f"Mean Amari index, seeds {SEEDS[0]} to {SEEDS[-1]}.\n"
    yield f"| regime | sources d | samples N | N / d | N / d² | {' | '.join(METHODS)} |"
    yield "|---" * (5 + len(METHODS)) + "|"
    for regime in REGIMES:
        for d in SOURCES:
            for density in PER_SQUARE:
                n = density * d**2
                found = [errors(m.X, m.mixing) for m in (mixture(regime, d, n, s) for s in SEEDS)]
                figures = " | ".join(f"{x:.3f}" for x in np.mean(found, axis=0))
                yield f"| {regime} | {d} | {n} | {density * d} | {density} | {figures} |"
    yield ""


def noisy() -> Iterator[str]:
    """Yield the lines of a table of errors by the noise that was added."""
    d, n = NOISY
    yield f"Mean Amari index, {d} sources, {n} samples, seeds {SEEDS[0]} to {SEEDS[-1]}.\n"
    yield f"| regime | noise | {' | '.join(METHODS)} |"
    yield "|---" * (2 + len(METHODS)) + "|"
    for regime in REGIMES:
        for level in NOISE:
            found = []
            for seed in SEEDS:
                one = mixture(regime, d, n, seed)
                rng = np.random.default_rng([40, seed])
                noise = rng.standard_normal(one.X.shape) * one.X.std(axis=1, keepdims=True)
                found.append(errors(one.X + level * noise, one.mixing))
            figures = " | ".join(f"{x:.3f}" for x in np.mean(found, axis=0))
            yield f"| {regime} | {level} | {figures} |"
    yield ""


# -- recordings -----------------------------------------------------------------------------


def with_pop(signals: NDArray, sfreq: float, fitted: NDArray) -> NDArray:
    """Add a step that decays to one channel, in the middle of what is fitted."""
    start = np.flatnonzero(fitted)[fitted.sum() // 2]
    times = (np.arange(signals.shape[1]) - start) / sfreq
    spoilt = signals.copy()
    spoilt[len(signals) // 2] += POP * np.exp(-np.maximum(times, 0)) * (times >= 0) * fitted
    return spoilt


def with_bad_channel(signals: NDArray, sfreq: float, fitted: NDArray) -> NDArray:
    """Add noise to one channel."""
    spoilt = signals.copy()
    noise = np.random.default_rng(41).standard_normal(signals.shape[1])
    spoilt[len(signals) // 2] += BAD * noise
    return spoilt


SPOILT: dict[str, Callable[[NDArray, float, NDArray], NDArray]] = {
    "as it is": lambda signals, *_: signals,
    "a pop": with_pop,
    "a bad channel": with_bad_channel,
    "two samples per squared component": lambda signals, *_: signals,
}


def on_recordings(folder: Path) -> Iterator[str]:
    """Yield the lines of tables of the dependence left in what was not fitted."""
    return dependence(folder, ON_RECORDINGS, tuple(SPOILT), 1000)


def beside_amica(folder: Path) -> Iterator[str]:
    """Yield the same beside AMICA, for recordings of few channels and few samples of them."""
    methods = {"OT-ICA": METHODS["OT-ICA"], "AMICA": lambda X: fit_amica(X)[0]}
    return dependence(folder, methods, tuple(SPOILT)[-1:], MOST_FOR_AMICA)


def dependence(
    folder: Path, methods: dict[str, Fit], spoilt: tuple[str, ...], most_channels: int
) -> Iterator[str]:
    """Yield tables of the dependence held out, and of the differences from the first method."""
    yield "Dependence held out, in nats; of the others the difference from OT-ICA.\n"
    yield f"| recording | channels | fitted half | data | {' | '.join(methods)} |"
    yield "|---" * (4 + len(methods)) + "|"
    differences: dict[str, list[list[float]]] = {}
    for path in sorted([*folder.glob("*.set"), *folder.glob("*raw.fif*")]):
        signals, sfreq = eeg_signals(path)
        if len(signals) > most_channels:
            continue
        name = path.name.split(".")[0].removesuffix("_raw")
        for number, half in enumerate(HALVES):
            for data, figures in held_out(signals, sfreq, number, methods, spoilt):
                others = [figure - figures[0] for figure in figures[1:]]
                differences.setdefault(data, []).append(others)
                start = f"| {name} | {len(signals)} | {half} | {data} | {figures[0]:.3f} | "
                yield start + " | ".join(f"{x:+.3f}" for x in others) + " |"
    yield ""
    heads = [f"{name}: median, range, lower in" for name in list(methods)[1:]]
    yield f"| data | halves | {' | '.join(heads)} |"
    yield "|---" * (1 + len(methods)) + "|"
    for data, rows in differences.items():
        columns = np.array(rows).T
        cells = [
            f"{np.median(c):+.3f}, {c.min():+.3f} to {c.max():+.3f}, {(c < 0).sum()}"
            for c in columns
        ]
        yield f"| {data} | {len(rows)} | {' | '.join(cells)} |"
    yield ""


def held_out(
    signals: NDArray, sfreq: float, number: int, methods: dict[str, Fit], spoilt: tuple[str, ...]
) -> Iterator[tuple[str, list[float]]]:
    """Yield what was done to the data, and the dependence that each method leaves in the rest."""
    fitted = np.arange(signals.shape[1]) // int(HALF_SECONDS * sfreq) % 2 == number
    for data in spoilt:
        try:
            first, rest = halves(SPOILT[data](signals, sfreq, fitted), sfreq, number)
        except ValueError:  # too short to have two halves
            return
        if data.startswith("two"):
            few = 2 * len(first) ** 2
            if few >= first.shape[1]:
                continue
            K, mean = Channels(first[:, :few]).whitening()
            first, rest = (project(K, part, mean, np.float64) for part in (first[:, :few], rest))
        if not rest.shape[1]:
            return
        unmixings = [fit(first) for fit in methods.values()]
        yield data, [residual_dependence(W @ rest, W) for W in unmixings]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", choices=PARTS, nargs="+", default=PARTS, help="only these")
    parser.add_argument("--write", action="store_true", help="keep the results")
    arguments = parser.parse_args()
    mne.set_log_level("error")
    warnings.filterwarnings("ignore")  # peers stop at their limits; their errors show it
    folder = arguments.folder
    parts = {
        "samples": ("few samples", few_samples),
        "noise": ("Gaussian noise", noisy),
        "recordings": ("recordings", lambda: on_recordings(folder)),
        "amica": ("beside AMICA", lambda: beside_amica(folder)),
    }
    for part in arguments.part:
        name, lines = parts[part]
        title = f"Robustness, {name}: `python -m benchmarks.robustness FOLDER --part {part}`"
        show(title, lines(), arguments.write)


if __name__ == "__main__":
    main()
