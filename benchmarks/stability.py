"""Stability of components: what its index is worth. Real recordings: `benchmarks.refits`.

    python -m benchmarks.stability collect train 5000 5070  # refits of simulated recordings
    python -m benchmarks.stability threshold             # from them, the threshold `STABLE`
    python -m benchmarks.stability collect test 7000 7030
    python -m benchmarks.stability collect unrefined 7000 7030
    python -m benchmarks.stability collect dependent 8000 8008
    python -m benchmarks.stability judge --write         # on recordings that nothing was chosen on

Simulated recordings have 8 to 32 channels, artefacts of several kinds switched on at random, and
as many samples for each squared channel as asked for; they are filtered from 1 to 40 Hz and
fitted with all components. A component is true if its map correlates by more than 0.95 with
that of a source. `collect` adds a row for each component to a table in `benchmarks/results`.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported

import argparse
import csv
import warnings
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import mne
import numpy as np

import mne_otica
from benchmarks.results import PAGE, show
from mne_otica.simulation import SimulatedRecording, simulate_raw
from mne_otica.trust import refits as _refits
from mne_otica.trust.stability import CAME_BACK, STABLE

RESULTS = Path(__file__).parent / "results"
FIGURE = Path(__file__).parents[1] / "docs" / "_static" / "results" / "stability.png"
FIELDS = "seed n_components density n_fits number truth index".split()
CHANNELS = (8, 12, 16, 16, 19, 19, 24, 32)
TRUE_MAP = 0.95
EYE_ROTATION = 0.5  # in recordings with sources that are not independent
PRECISION = 0.98  # of what is called stable, in training: more than what is promised
UNREFINED = {"fit_params": {"refine": "none"}}  # as `clean_raw` fits
TITLES = {
    "test": "Independent sources",
    "unrefined": 'The same with `refine="none"`, as `clean_raw` fits',
    "dependent": "Eyes that turn with each blink, which no ICA can separate from it",
}


def simulated(seed: int, density: float, eye_rotation: float) -> SimulatedRecording:
    """Simulate a recording with some samples for each squared channel.

    Eyes that turn with each blink are not independent of it: no ICA can separate them.
    """
    rng = np.random.default_rng([seed, 17])
    channels = int(rng.choice(CHANNELS))
    return simulate_raw(
        channels,
        max(density * channels**2 / 250, 20.0),
        250.0,
        saccades=bool(rng.random() < 0.8),
        muscle=bool(rng.random() < 0.8),
        heartbeat=bool(rng.random() < 0.7),
        pops=int(rng.choice([0, 0, 3, 6])),
        noisy_channels=int(rng.choice([0, 0, 1])),
        movements=int(rng.choice([0, 0, 4])),
        eye_rotation=eye_rotation,
        brain_amplitude=float(rng.choice([8e-6, 12e-6, 20e-6])),
        reference=str(rng.choice(["mastoids", "average"])),
        random_state=seed,
    )


def refitted(
    ica: mne.preprocessing.ICA, raw: mne.io.BaseRaw, n_fits: int, seed: int = 0
) -> tuple[np.ndarray, int]:
    """Make refits, but no learning curve.

    Returns the index of each component, and how many refits converged.
    """
    recording = _refits.read(ica, raw)
    n_blocks = min(len(recording.starts), _refits.MAX_SAMPLES // recording.block)
    lengths = np.full(n_fits, n_blocks)
    fits = _refits.refits(recording, ica, lengths, np.random.default_rng(seed), 1)
    index = np.mean(_refits.match(recording, ica, fits)[0] >= CAME_BACK, axis=0)
    return index, sum(fit.converged for fit in fits)


def truth(ica: mne.preprocessing.ICA, sim: SimulatedRecording) -> np.ndarray:
    """Return how much the map of each component is like that of a source."""
    alike = np.abs(np.corrcoef(ica.get_components().T, sim.mixing.T))
    return alike[: ica.n_components_, ica.n_components_ :].max(axis=1)


def components(seed: int, args: argparse.Namespace) -> Iterator[dict]:
    """Refit a simulated recording; yield what is known of each component."""
    sim = simulated(seed, args.density, EYE_ROTATION * (args.table == "dependent"))
    raw = sim.raw.filter(1, 40)
    ica = mne_otica.ICA(**(UNREFINED if args.table == "unrefined" else {})).fit(raw)
    index, _ = refitted(ica, raw, args.n_fits, seed)
    for k, alike in enumerate(truth(ica, sim)):
        facts = (seed, len(index), args.density, args.n_fits, k, round(alike, 4), index[k])
        yield dict(zip(FIELDS, facts, strict=True))


def collect(args: argparse.Namespace) -> None:
    """Add the components of recordings that are not in the table yet."""
    path = RESULTS / f"stability-{args.table}.csv"
    done = {(int(row["seed"]), float(row["density"])) for row in read_rows(path)}
    for seed in range(args.first, args.last):
        if (seed, args.density) not in done:
            rows = list(components(seed, args))
            add_rows(path, rows)
            print(seed, len(rows), sum(row["truth"] > TRUE_MAP for row in rows), flush=True)


def add_rows(path: Path, rows: list[dict]) -> None:
    """Write rows at the end of a table."""
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows(rows)


def read_rows(path: Path) -> list[dict]:
    """Return the rows of a table, none if there is no table yet."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _columns(table: str) -> tuple[list[dict], np.ndarray, np.ndarray]:
    """Return the rows of a table, the index of each component, and whether it is true."""
    rows = read_rows(RESULTS / f"stability-{table}.csv")
    index = np.array([float(row["index"]) for row in rows])
    return rows, index, np.array([float(row["truth"]) > TRUE_MAP for row in rows])


def threshold(args: argparse.Namespace) -> None:
    """Print the lowest threshold from which enough of what is called stable is true."""
    _, index, true = _columns("train")
    for least in np.arange(0.5, 1.001, 0.1):
        stable = index >= least - 1e-9
        precision, found = true[stable].mean(), stable[true].mean()
        verdict = "enough" if precision >= PRECISION else "too few"
        print(f"{least:.1f}: {precision:.3f} of {stable.sum()} are true, {verdict}; {found:.3f}")


def judge(args: argparse.Namespace) -> Iterator[str]:
    """Judge the index on recordings that nothing was chosen on."""
    for table, title in TITLES.items():
        rows, index, true = _columns(table)
        if not rows:
            continue
        curve = list(_curve(index, true))
        yield from _judged(title, rows, index, true, curve)
        if table == "test":
            figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
            _plot(ax, curve)
            figure.savefig(FIGURE, dpi=150)


def _curve(index: np.ndarray, true: np.ndarray) -> Iterator[tuple[float, float, int]]:
    """Yield mean index, share true and number of components in ten bins of the index."""
    number = np.minimum((10 * index).astype(int), 9)
    for k in np.unique(number):
        inside = number == k
        yield index[inside].mean(), true[inside].mean(), int(inside.sum())


def _plot(ax: plt.Axes, curve: list[tuple[float, float, int]]) -> None:
    """Draw the share of components with the topography of a true source, by index."""
    ax.plot([0, 1], [0, 1], color="0.75", linewidth=0.8, zorder=0)
    ax.plot([one[0] for one in curve], [one[1] for one in curve], "s--", color="C1")
    for index, true, n in curve:
        ax.annotate(f"{n}", (index, true), (3, -9), textcoords="offset points", fontsize="x-small")
    ax.axvline(STABLE, color="k", linestyle=":", linewidth=1)
    ax.set(
        xlabel="Index: share of the refits in which it came back",
        ylabel="Share with a true map",
        title="Simulated recordings (number of components)",
        xlim=(0, 1.02),
        ylim=(-0.02, 1.02),
    )
    ax.spines[["top", "right"]].set_visible(False)


def _judged(
    title: str,
    rows: list[dict],
    index: np.ndarray,
    true: np.ndarray,
    curve: list[tuple[float, float, int]],
) -> Iterator[str]:
    seeds = sorted({int(row["seed"]) for row in rows})
    densities = " or ".join(sorted({row["density"] for row in rows}))
    n_fits = " or ".join(sorted({row["n_fits"] for row in rows}))
    stable = index >= STABLE
    yield (
        f"{title}: seeds {seeds[0]} to {seeds[-1]} ({len(seeds)} recordings), {densities} samples "
        f"for each squared channel, {n_fits} refits. Of {len(true)} components {true.sum()} are "
        f"true, {stable.sum()} are called stable (back in {STABLE:.0%} of the refits): "
        f"{true[stable].mean():.1%} of the stable are true, {stable[true].mean():.1%} of the true "
        f"are stable.\n"
    )
    yield "| index, mean | components | share true |"
    yield "|---|---|---|"
    for mean, share, n in curve:
        yield f"| {mean:.2f} | {n} | {share:.2f} |"
    yield ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("collect")
    one.add_argument("table", choices=("train", *TITLES))
    one.add_argument("first", type=int)
    one.add_argument("last", type=int)
    one.add_argument("--density", type=float, default=30)
    one.add_argument("--n-fits", type=int, default=50)
    commands.add_parser("threshold")
    one = commands.add_parser("judge")
    one.add_argument("--write", action="store_true", help=f"keep the result in {PAGE.name}")
    args = parser.parse_args()
    mne.set_log_level("ERROR")
    warnings.simplefilter("ignore")  # simulated recordings are short on purpose
    if args.command == "judge":
        title = "Stability, judge: `python -m benchmarks.stability judge`"
        show(title, judge(args), args.write)
    else:
        {"collect": collect, "threshold": threshold}[args.command](args)


if __name__ == "__main__":
    main()
