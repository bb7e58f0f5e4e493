"""OT-ICA beside the ICA methods that MNE ships: time, dependence left, memory, scaling.

    python -m benchmarks.solver [--amica] [--quick] [--part PART] [--data FOLDER] [--write]

All methods get the same whitened data and run with their defaults, each in a fresh process. More
flexible models always have less dependence on the data they were fitted to, so the recordings are
also split: every other ten seconds are whitened and fitted, and the dependence is measured on the
rest. Then the halves are exchanged. Settings of the solver were chosen on the first halves only,
but for when to stop and the scales that change in time, for which both were looked at.
"""

import argparse
import os
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from unittest.mock import patch

import mne
import numpy as np
from numpy.typing import NDArray

from benchmarks.isolated import ENOUGH_SECONDS, Fit, Measurement, measure, measure_once
from benchmarks.results import PAGE, show
from mne_otica import datasets
from mne_otica.metrics import residual_dependence
from mne_otica.simulation import mixture, simulate_raw
from mne_otica.solver._linalg import Channels, project
from mne_otica.solver.contrast import Objective
from mne_otica.solver.otica import unmix

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


def fit_otica(X: NDArray) -> tuple[NDArray, int]:
    with patch.object(Objective, "counts", autospec=True, side_effect=Objective.counts) as passes:
        unmixing = unmix(X, random_state=0)
    return unmixing.W, passes.call_count


def fit_fastica(X: NDArray) -> tuple[NDArray, int]:
    from sklearn.decomposition import FastICA

    estimator = FastICA(whiten=False, random_state=0).fit(X.T)
    return estimator.components_, estimator.n_iter_


def _fit_picard(X: NDArray, ortho: bool) -> tuple[NDArray, int]:
    from picard import picard

    options = dict(ortho=ortho, extended=True, whiten=False, random_state=0)
    _, W, _, n_iter = picard(X, return_n_iter=True, **options)
    return W, n_iter + 1


def fit_picard_o(X: NDArray) -> tuple[NDArray, int]:
    return _fit_picard(X, ortho=True)


def fit_picard(X: NDArray) -> tuple[NDArray, int]:
    return _fit_picard(X, ortho=False)


def fit_infomax(X: NDArray) -> tuple[NDArray, int]:
    return mne.preprocessing.infomax(X.T, extended=True, random_state=0, return_n_iter=True)


def fit_amica(X: NDArray) -> tuple[NDArray, int]:
    import jamica

    _, W, _, n_iter = jamica.amica(X, whiten=False, random_state=0, return_n_iter=True)
    return W, n_iter


METHODS: dict[str, Fit] = {
    "OT-ICA": fit_otica,
    "FastICA": fit_fastica,
    "Picard (ortho, extended)": fit_picard_o,
    "Picard (extended)": fit_picard,
    "Infomax (extended)": fit_infomax,
}
REPEATS = 3
PARTS = ("recordings", "simulations", "halves", "clock")
HALF_SECONDS = 10
SCALING_METHODS = ("OT-ICA", "FastICA", "Picard (ortho, extended)")


def whitened(X: NDArray) -> NDArray[np.float64]:
    K, mean = Channels(X).whitening()
    return project(K, X, mean, np.float64)


def sample_recording() -> NDArray[np.float64]:
    """The shipped recording: EEG without EEG 053, 1-40 Hz, average reference, rank 58."""
    raw = datasets.sample().pick("eeg", exclude="bads").filter(1, 40)
    return whitened(raw.set_eeg_reference("average").get_data())


def eeglab_recording(folder: Path) -> NDArray[np.float64]:
    """EEGLAB's tutorial recording: all 32 channels, 1-40 Hz."""
    raw = mne.io.read_raw_eeglab(folder / "eeglab_data.set", preload=True)
    return whitened(raw.filter(1, 40).get_data())


def eeg_signals(path: Path) -> tuple[NDArray[np.float64], float]:
    """All EEG channels of a recording, 1-40 Hz, and their sampling rate."""
    reader = mne.io.read_raw_eeglab if path.suffix == ".set" else mne.io.read_raw_fif
    raw = reader(path, preload=True).pick("eeg", exclude=[]).filter(1, 40)
    return raw.get_data(), raw.info["sfreq"]


def halves(
    signals: NDArray, sfreq: float, fitted: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cut into two parts of every other ten seconds, both whitened as the one fitted demands."""
    chosen = np.arange(signals.shape[1]) // int(HALF_SECONDS * sfreq) % 2 == fitted
    K, mean = Channels(signals[:, chosen]).whitening()
    parts = (signals[:, chosen], signals[:, ~chosen])
    return tuple(project(K, part, mean, np.float64) for part in parts)


def simulation(n_channels: int, n_samples: int) -> NDArray[np.float64]:
    """Continuous sources of mixed kinds, randomly mixed."""
    return whitened(mixture("continuous", n_channels, n_samples, seed=0).X)


def _stored(X: NDArray, folder: Path) -> Path:
    path = folder / "data.npy"
    np.save(path, X)
    return path


HEADER = """\
| method | seconds | passes | residual dependence | extra memory / data |
|---|---|---|---|---|"""


def row(name: str, run: Measurement) -> str:
    return (
        f"| {name} | {run.seconds:.2f} | {run.passes} | {run.dependence:.3f} "
        f"| {run.extra_memory:.2f} |"
    )


def compare(title: str, X: NDArray, methods: dict[str, Fit], repeats: int) -> Iterator[str]:
    """Yield the lines of a table with one row per method."""
    yield f"### {title}: {X.shape[0]} x {X.shape[1]}\n"
    yield HEADER
    with tempfile.TemporaryDirectory() as folder:
        path = _stored(X, Path(folder))
        for name, fit in methods.items():
            yield row(name, measure(fit, path, repeats))
    yield ""


HELD_OUT_HEADER = """\
| recording | samples / d² | fitted half | method | seconds | dependence, fitted | held out |
|---|---|---|---|---|---|---|"""
HALVES = ("first", "second")
ENOUGH_FOR_AMICA = 15  # samples for each squared component of the half


def held_out(folder: Path, methods: dict[str, Fit], kept: Path | None) -> Iterator[str]:
    """Yield the lines of a table of the dependence left in what was not fitted."""
    yield (
        "Seconds are of processor time, of one run. AMICA runs where there are at least "
        f"{ENOUGH_FOR_AMICA} samples for each squared component.\n"
    )
    yield HELD_OUT_HEADER
    for path in sorted([*folder.glob("*.set"), *folder.glob("*raw.fif*")]):
        signals, sfreq = eeg_signals(path)
        for number, half in enumerate(HALVES):
            fitted, rest = halves(signals, sfreq, number)
            density = fitted.shape[1] / len(fitted) ** 2
            start = f"| {path.name.split('.')[0].removesuffix('_raw')} | {density:.1f} | {half} "
            with tempfile.TemporaryDirectory() as place:
                stored = _stored(fitted, Path(place))
                for name, fit in methods.items():
                    if fit is fit_amica and round(density) < ENOUGH_FOR_AMICA:
                        continue
                    run = measure_once(fit, stored, None if fit is fit_otica else kept)
                    dependence = residual_dependence(run.W @ rest, run.W)
                    figures = f"{run.seconds:.2f} | {run.dependence:.3f} | {dependence:.3f} |"
                    yield f"{start}| {name} | {figures}"
    yield ""


CLOCK_HEADER = """\
| data | method | one thread | two threads | residual dependence |
|---|---|---|---|---|"""
TIMED = {
    "32 x 30504": tuple(SCALING_METHODS),
    "58 x 14400": tuple(SCALING_METHODS),
    "64 x 150000, simulated EEG": ("OT-ICA",),
    "128 x 50000": ("OT-ICA", "FastICA"),
    "256 x 50000": ("OT-ICA", "FastICA"),
}


def simulated_eeg() -> NDArray[np.float64]:
    """Ten minutes of simulated EEG with 64 channels, 1-40 Hz."""
    raw = simulate_raw(64, 600.0, random_state=0).raw
    return whitened(raw.pick("eeg").filter(1, 40).get_data())


def clock(folder: Path) -> Iterator[str]:
    """Yield the lines of a table of seconds by the clock, on a machine with nothing else to do."""
    yield "Seconds by the clock, of one run; threads of BLAS and of OT-ICA.\n"
    yield CLOCK_HEADER
    loaders = (
        lambda: eeglab_recording(folder),
        sample_recording,
        simulated_eeg,
        lambda: simulation(128, 50_000),
        lambda: simulation(256, 50_000),
    )
    for (title, names), load in zip(TIMED.items(), loaders, strict=True):
        with tempfile.TemporaryDirectory() as place:
            path = _stored(load(), Path(place))
            for name in names:
                elapsed = []
                for threads in ("1", "2"):
                    os.environ["OMP_NUM_THREADS"] = threads  # of the process that is started
                    run = measure(METHODS[name], path)
                    elapsed.append(f"{run.elapsed:.2f}")
                yield f"| {title} | {name} | {' | '.join(elapsed)} | {run.dependence:.3f} |"
    yield ""


def scaling(title: str, shapes: list[tuple[int, int]]) -> Iterator[str]:
    """Yield the lines of a table of seconds with one row per shape."""
    yield f"### {title} (seconds)\n"
    yield f"| channels x samples | {' | '.join(SCALING_METHODS)} |"
    yield "|---" * (1 + len(SCALING_METHODS)) + "|"
    for shape in shapes:
        seconds = " | ".join(f"{run.seconds:.2f}" for run in simulation_runs(*shape))
        yield f"| {shape[0]} x {shape[1]} | {seconds} |"
    yield ""


@cache
def simulation_runs(n_channels: int, n_samples: int) -> list[Measurement]:
    """Measure the methods of the scaling tables on one simulation, once."""
    with tempfile.TemporaryDirectory() as folder:
        path = _stored(simulation(n_channels, n_samples), Path(folder))
        return [measure(METHODS[name], path, REPEATS) for name in SCALING_METHODS]


def chosen_methods(arguments: argparse.Namespace) -> dict[str, Fit]:
    """Return the methods that were asked for."""
    chosen = {name: fit for name, fit in METHODS.items() if name in arguments.methods}
    return chosen | ({"AMICA": fit_amica} if arguments.amica else {})


def recordings(arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the tables of the real recordings."""
    repeats = 1 if arguments.quick else REPEATS
    methods = chosen_methods(arguments)
    yield f"Processor time, median of {repeats} fits or of as many as take {ENOUGH_SECONDS} s.\n"
    yield from compare("Shipped recording", sample_recording(), methods, repeats)
    yield from compare("EEGLAB recording", eeglab_recording(arguments.data), methods, repeats)


def simulations() -> Iterator[str]:
    """Yield the tables of the simulations."""
    yield "### Simulation: 64 x 450000\n"
    yield HEADER
    yield from map(row, SCALING_METHODS, simulation_runs(64, 450_000))
    yield ""
    yield from scaling("Samples", [(64, 50_000), (64, 150_000), (64, 450_000)])
    yield from scaling("Channels", [(d, 50_000) for d in (32, 64, 128, 256)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--amica", action="store_true", help="include AMICA (half an hour)")
    parser.add_argument("--quick", action="store_true", help="real recordings only, one run")
    parser.add_argument("--part", choices=PARTS, nargs="+", default=PARTS, help="only these")
    parser.add_argument("--methods", choices=METHODS, nargs="+", default=METHODS, help="only these")
    parser.add_argument("--data", type=Path, default=SHARED_DATA, help="folder of the recordings")
    parser.add_argument(
        "--kept", type=Path, help="folder where peers' fits to halves are kept, and taken from"
    )
    parser.add_argument("--write", action="store_true", help=f"keep the result in {PAGE.name}")
    arguments = parser.parse_args()
    mne.set_log_level("error")
    if "recordings" in arguments.part:
        title = "Solver: `python -m benchmarks.solver --amica`"
        show(title, recordings(arguments), arguments.write)
    if "halves" in arguments.part:
        methods = chosen_methods(arguments)
        title = "Solver, held-out halves: `python -m benchmarks.solver --part halves --amica`"
        show(title, held_out(arguments.data, methods, arguments.kept), arguments.write)
    if "clock" in arguments.part and not arguments.quick:
        title = "Solver, by the clock: `python -m benchmarks.solver --part clock`"
        show(title, clock(arguments.data), arguments.write)
    if "simulations" in arguments.part and not arguments.quick:
        title = "Solver, simulations: `python -m benchmarks.solver --part simulations`"
        show(title, simulations(), arguments.write)


if __name__ == "__main__":
    main()
