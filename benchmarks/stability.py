"""Stability of components: the calibration of its index. Real recordings: `benchmarks.refits`.

    python -m benchmarks.stability collect train 5000 5060  # refits of simulated recordings
    python -m benchmarks.stability calibrate             # from them, the index and its threshold
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
import datetime
import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import mne
import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize

import mne_otica
import mne_otica.trust
from benchmarks.results import PAGE, show
from mne_otica.simulation import SimulatedRecording, simulate_raw
from mne_otica.trust import refits as _refits
from mne_otica.trust.calibration import calibrated, calibration, features

RESULTS = Path(__file__).parent / "results"
MODEL = Path(mne_otica.trust.__file__).parent / "stability.json"
FIGURE = Path(__file__).parents[1] / "docs" / "_static" / "results" / "stability.png"
FEATURES = ["component", "map"]
FIELDS = "seed channels n_components density n_fits number source truth".split()
CHANNELS = (8, 12, 16, 16, 19, 19, 24, 32)
TRUE_MAP = 0.95
EYE_ROTATION = 0.5  # in recordings with sources that are not independent
PRECISION = 0.96  # of what is called stable, in training: some more than what is promised
RIDGE = 1e-4
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
) -> tuple[_refits.Matches, float, int]:
    """Make refits, but no learning curve.

    Returns what was found, by which factor the recording is longer than a refit, and how many
    refits converged.
    """
    recording = _refits.read(ica, raw)
    n_blocks = min(len(recording.starts), _refits.MAX_SAMPLES // recording.block)
    lengths = np.full(n_fits, n_blocks)
    fits = _refits.refits(recording, ica, lengths, np.random.default_rng(seed), 1)
    longer = len(recording.starts) / n_blocks
    return _refits.match(recording, ica, fits), longer, sum(fit.converged for fit in fits)


def truth(ica: mne.preprocessing.ICA, sim: SimulatedRecording) -> tuple[np.ndarray, list[str]]:
    """Return how much the map of each component is like that of a source, and of which."""
    alike = np.abs(np.corrcoef(ica.get_components().T, sim.mixing.T))
    alike = alike[: ica.n_components_, ica.n_components_ :]
    return alike.max(axis=1), [sim.source_names[k] for k in alike.argmax(axis=1)]


def components(seed: int, args: argparse.Namespace) -> Iterator[dict]:
    """Refit a simulated recording; yield what is known of each component."""
    sim = simulated(seed, args.density, EYE_ROTATION * (args.table == "dependent"))
    raw = sim.raw.filter(1, 40)
    options = UNREFINED if args.table == "unrefined" else {}
    ica = mne_otica.ICA(**options).fit(raw)
    found, longer, _ = refitted(ica, raw, args.n_fits, seed)
    values = features(found.correlations, found.map_correlations, longer)
    alike, sources = truth(ica, sim)
    for k, (one, source) in enumerate(zip(alike, sources, strict=True)):
        facts = (len(raw.ch_names), len(alike), args.density, args.n_fits, k)
        row = dict(zip(FIELDS, (seed, *facts, source, round(one, 4)), strict=True))
        yield row | {name: round(values[name][k], 4) for name in FEATURES}


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


def _columns(rows: list[dict]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    values = {name: np.array([float(row[name]) for row in rows]) for name in FEATURES}
    return values, np.array([float(row["truth"]) > TRUE_MAP for row in rows])


def fitted(values: dict[str, np.ndarray], true: np.ndarray) -> dict:
    """Fit a logistic model whose index never falls when a correlation rises."""
    X = np.column_stack([values[name] for name in FEATURES])

    def loss(parameters: np.ndarray) -> float:
        logit = parameters[0] + X @ parameters[1:]
        return np.mean(np.logaddexp(0, logit) - true * logit) + RIDGE * np.sum(parameters[1:] ** 2)

    bounds = [(None, None)] + [(0, None)] * X.shape[1]
    found = minimize(loss, np.zeros(1 + X.shape[1]), bounds=bounds, method="L-BFGS-B").x
    weights = dict(zip(FEATURES, found[1:].round(4).tolist(), strict=True))
    return {"intercept": round(float(found[0]), 4), "weights": weights}


def _left_out(values: dict, true: np.ndarray, seeds: np.ndarray, n_folds: int = 5) -> np.ndarray:
    """Return the index of each component by models fitted without its recording."""
    index = np.empty(len(true))
    for fold in range(n_folds):
        out = seeds % n_folds == fold
        model = fitted({name: one[~out] for name, one in values.items()}, true[~out])
        index[out] = calibrated({name: one[out] for name, one in values.items()}, model)
    return index


def _threshold(index: np.ndarray, true: np.ndarray) -> float:
    """Return the lowest threshold from which enough of what is called stable is true."""
    for threshold in np.arange(0.5, 1, 0.01):
        if np.mean(true[index >= threshold]) >= PRECISION:
            return round(float(threshold), 2)
    return 0.99


def _figures(index: np.ndarray, true: np.ndarray, threshold: float) -> dict:
    stable = index >= threshold
    curve = []
    for low in np.arange(0, 1, 0.1):
        inside = (index >= low) & ((index < low + 0.1) | (low > 0.85))
        if inside.any():
            one = {"index": index[inside].mean(), "true": true[inside].mean()}
            curve.append({k: round(float(v), 3) for k, v in one.items()} | {"n": int(inside.sum())})
    return {
        "n_components": len(true),
        "n_true": int(true.sum()),
        "n_stable": int(stable.sum()),
        "true_of_stable": round(float(true[stable].mean()), 3),
        "stable_of_true": round(float(stable[true].mean()), 3),
        "brier": round(float(np.mean((index - true) ** 2)), 4),
        "curve": curve,
    }


def _origin(rows: list[dict]) -> dict:
    seeds = sorted({int(row["seed"]) for row in rows})
    densities = sorted({float(row["density"]) for row in rows})
    return {
        "date": str(datetime.date.today()),
        "seeds": f"{seeds[0]} to {seeds[-1]} ({len(seeds)} recordings)",
        "samples_per_squared_channel": densities,
        "n_fits": sorted({int(row["n_fits"]) for row in rows}),
    }


def calibrate(args: argparse.Namespace) -> None:
    """Fit the model and choose its threshold on the training recordings."""
    rows = read_rows(RESULTS / "stability-train.csv")
    values, true = _columns(rows)
    index = _left_out(values, true, np.array([int(row["seed"]) for row in rows]))
    threshold = _threshold(index, true)
    model = fitted(values, true) | {"threshold": threshold}
    model["train"] = _origin(rows) | _figures(index, true, threshold)
    MODEL.write_text(json.dumps(model, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(model, indent=1))


def judge(args: argparse.Namespace) -> Iterator[str]:
    """Judge the model on recordings that nothing was chosen on."""
    model = json.loads(MODEL.read_text(encoding="utf-8"))
    for table in TITLES:
        rows = read_rows(RESULTS / f"stability-{table}.csv")
        values, true = _columns(rows)
        index = calibrated(values, model)
        model[table] = _origin(rows) | _figures(index, true, model["threshold"])
        yield from _judged(TITLES[table], model[table], model["threshold"])
    MODEL.write_text(json.dumps(model, indent=1) + "\n", encoding="utf-8")
    calibration.cache_clear()
    plot_calibration(model["test"]["curve"], model["threshold"]).savefig(FIGURE, dpi=150)


def plot_calibration(bins: list[dict[str, float]], threshold: float) -> Figure:
    """Draw the share of simulated components with the topography of a true source, by index."""
    figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
    ax.plot([0, 1], [0, 1], color="0.75", linewidth=0.8, zorder=0)
    ax.plot(
        [group["index"] for group in bins], [group["true"] for group in bins], "s--", color="C1"
    )
    for group in bins:
        at = group["index"], group["true"]
        offset = dict(xytext=(3, -9), textcoords="offset points", fontsize="x-small")
        ax.annotate(f"{group['n']}", at, **offset)
    ax.axvline(threshold, color="k", linestyle=":", linewidth=1)
    ax.set(xlabel="Index", ylabel="Share with a true map", xlim=(0, 1.02), ylim=(-0.02, 1.02))
    ax.set_title("Calibration in simulations (number of components)")
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def _listed(numbers: list[float]) -> str:
    return " or ".join(f"{number:g}" for number in numbers)


def _judged(title: str, test: dict, threshold: float) -> Iterator[str]:
    yield (
        f"{title}: seeds {test['seeds']}, {_listed(test['samples_per_squared_channel'])} samples "
        f"for each squared channel, {_listed(test['n_fits'])} refits. Of "
        f"{test['n_components']} components {test['n_true']} are true, {test['n_stable']} are "
        f"called stable (index at least {threshold}): {test['true_of_stable']:.1%} of the "
        f"stable are true, {test['stable_of_true']:.1%} of the true are stable. "
        f"Brier score {test['brier']}.\n"
    )
    yield "| index, mean | components | share true |"
    yield "|---|---|---|"
    for one in test["curve"]:
        yield f"| {one['index']:.2f} | {one['n']} | {one['true']:.2f} |"
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
    commands.add_parser("calibrate")
    one = commands.add_parser("judge")
    one.add_argument("--write", action="store_true", help=f"keep the result in {PAGE.name}")
    args = parser.parse_args()
    mne.set_log_level("ERROR")
    warnings.simplefilter("ignore")  # simulated recordings are short on purpose
    if args.command == "judge":
        title = "Stability, judge: `python -m benchmarks.stability judge`"
        show(title, judge(args), args.write)
    else:
        {"collect": collect, "calibrate": calibrate}[args.command](args)


if __name__ == "__main__":
    main()
