"""Stability of components: its calibration, its price, and real recordings.

    python -m benchmarks.stability collect train 0 30    # refits of simulated recordings
    python -m benchmarks.stability calibrate              # from them, the index and its threshold
    python -m benchmarks.stability collect test 1000 1030
    python -m benchmarks.stability collect dependent 2000 2008
    python -m benchmarks.stability judge --write          # on recordings that nothing was chosen on
    python -m benchmarks.stability time --write
    python -m benchmarks.stability recordings FOLDER --write
    python -m benchmarks.stability numbers 3000 3006 --write

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
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import mne
import numpy as np
from scipy.optimize import minimize

import mne_otica
from benchmarks.isolated import watched
from benchmarks.results import PAGE, show
from mne_otica import _refits, trust
from mne_otica._calibration import calibrated, calibration, features, index_of
from mne_otica._viz_stability import _plot_calibration
from mne_otica.simulation import SimulatedRecording, simulate_raw

RESULTS = Path(__file__).parent / "results"
MODEL = Path(trust.__file__).parent / "data" / "stability.json"
FIGURE = Path(__file__).parents[1] / "docs" / "_static" / "results" / "stability.png"
FEATURES = ["component", "map"]
FIELDS = "seed channels n_components density n_fits number source truth".split()
CHANNELS = (8, 12, 16, 16, 19, 19, 24, 32)
TRUE_MAP = 0.95
EYE_ROTATION = 0.5  # in recordings with sources that are not independent
PRECISION = 0.97  # of what is called stable, in training: some more than what is promised
RIDGE = 1e-4


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


def components(seed: int, args: argparse.Namespace) -> Iterator[dict]:
    """Refit a simulated recording; yield what is known of each component."""
    sim = simulated(seed, args.density, EYE_ROTATION * (args.table == "dependent"))
    raw = sim.raw.filter(1, 40)
    ica = mne_otica.ICA().fit(raw)
    found, longer, _ = refitted(ica, raw, args.n_fits, seed)
    values = features(found.correlations, found.map_correlations, longer)
    n_components = ica.n_components_
    alike = np.abs(np.corrcoef(ica.get_components().T, sim.mixing.T))
    alike = alike[:n_components, n_components:]
    for k in range(n_components):
        facts = (len(raw.ch_names), n_components, args.density, args.n_fits, k)
        source = sim.source_names[alike[k].argmax()]
        row = dict(zip(FIELDS, (seed, *facts, source, round(alike[k].max(), 4)), strict=True))
        yield row | {name: round(values[name][k], 4) for name in FEATURES}


def collect(args: argparse.Namespace) -> None:
    """Add the components of recordings that are not in the table yet."""
    path = RESULTS / f"stability-{args.table}.csv"
    done = {(row["seed"], float(row["density"])) for row in _table(path)} if path.exists() else ()
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS + FEATURES, lineterminator="\n")
        if new:
            writer.writeheader()
        for seed in range(args.first, args.last):
            if (str(seed), args.density) in done:
                continue
            rows = list(components(seed, args))
            writer.writerows(rows)
            file.flush()
            print(seed, len(rows), sum(row["truth"] > TRUE_MAP for row in rows), flush=True)


def _table(path: Path) -> list[dict]:
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
    rows = _table(RESULTS / "stability-train.csv")
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
    for table in ("test", "dependent"):
        rows = _table(RESULTS / f"stability-{table}.csv")
        values, true = _columns(rows)
        index = calibrated(values, model)
        model[table] = _origin(rows) | _figures(index, true, model["threshold"])
        yield from _judged(TITLES[table], model[table], model["threshold"])
    MODEL.write_text(json.dumps(model, indent=1) + "\n", encoding="utf-8")
    calibration.cache_clear()
    figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
    _plot_calibration(ax, model["threshold"])
    figure.savefig(FIGURE, dpi=150)


TITLES = {
    "test": "Independent sources",
    "dependent": "Eyes that turn with each blink, which no ICA can separate from it",
}


def _judged(title: str, test: dict, threshold: float) -> Iterator[str]:
    yield (
        f"{title}: seeds {test['seeds']}, {test['samples_per_squared_channel']} samples for each "
        f"squared channel, {test['n_fits']} refits. Of {test['n_components']} components "
        f"{test['n_true']} are true, {test['n_stable']} are called stable (index at least "
        f"{threshold}): {test['true_of_stable']:.1%} of the stable are true, "
        f"{test['stable_of_true']:.1%} of the true are stable. Brier score {test['brier']}.\n"
    )
    yield "| index, mean | components | share true |"
    yield "|---|---|---|"
    for one in test["curve"]:
        yield f"| {one['index']:.2f} | {one['n']} | {one['true']:.2f} |"
    yield ""


def price(args: argparse.Namespace) -> Iterator[str]:
    """Time refits of a simulated recording: by the clock, and in one process."""
    raw = simulate_raw(args.channels, args.minutes * 60, 250, random_state=0).raw.filter(1, 40)
    ica, fit, _ = watched(mne_otica.ICA().fit, raw)
    load = os.getloadavg()[0]
    started = time.perf_counter()
    result = trust.stability(ica, raw, n_fits=args.n_fits, n_jobs=args.n_jobs)
    seconds = time.perf_counter() - started
    alone = partial(trust.stability, n_fits=args.n_fits, n_jobs=1)
    _, processor, extra = watched(alone, ica, raw)
    yield (
        f"{args.channels} channels, {args.minutes:g} min at 250 Hz, {args.n_fits} refits and "
        f"{len(result.lengths) - 2} x {args.n_fits // 5} shorter ones for the learning curve: "
        f"{seconds:.0f} s by the clock with {args.n_jobs} workers (load of the machine before it: "
        f"{load:.1f}); in one process {processor:.0f} s of processor time, {processor / fit:.1f} "
        f"times the {fit:.1f} s of the fit, and {extra / raw.get_data().nbytes:.1f} times the "
        f"memory of the data.\n\n{result.summary}"
    )


METHODS = {
    "otica": {},
    "picard": {"fit_params": {"ortho": False, "extended": True}},
    "fastica": {},
    "infomax": {"fit_params": {"extended": True}},
}
RECORDINGS = (
    "mne_sample_24s_raw.fif.gz eeglab_data.set eegmat_00_raw.fif.gz eegmat_03_raw.fif.gz "
    "eegmmidb_S001R01_raw.fif.gz eegmmidb_S018R02_raw.fif.gz microstates_ec_raw.fif.gz "
    "emotiv_eyestate_raw.fif.gz eegr_multimodal_raw.fif.gz eeguana_faces_raw.fif.gz "
    "muse4_raw.fif openbci8_raw.fif"
).split()


def recordings(args: argparse.Namespace) -> Iterator[str]:
    """Count the stable components of real recordings for several methods."""
    yield (
        f"{args.n_fits} refits each, 1 to 40 Hz, `n_components` by the rule of 20 samples for "
        "each squared component. In each cell the number of stable components, the index of the "
        "blink component where one was found, and the processor time of the fit and the "
        "refits.\n"
    )
    yield "| recording | components | samples / squared | " + " | ".join(args.methods) + " |"
    yield "|---" * (3 + len(args.methods)) + "|"
    for name in RECORDINGS:
        if args.only and args.only not in name:
            continue
        raw = mne.io.read_raw(args.folder / name, preload=True).filter(1, 40)
        raw.pick("eeg")
        size = min(int(np.sqrt(raw.n_times / 20)), len(raw.ch_names) - 1)
        cells = [name.split("_raw")[0], str(size), f"{raw.n_times / size**2:.0f}"]
        cells += [_cell(raw, method, size, args.n_fits) for method in args.methods]
        yield "| " + " | ".join(cells) + " |"


def _cell(raw: mne.io.BaseRaw, method: str, size: int, n_fits: int) -> str:
    started = time.process_time()
    ica = mne_otica.ICA(size, method=method, random_state=0, **METHODS[method]).fit(raw)
    found, longer, n_converged = refitted(ica, raw, n_fits)
    index = index_of(found, longer)
    seconds = time.process_time() - started
    blinks, _ = mne_otica.find_bads_blink(ica, raw)
    text = f"{np.sum(index >= calibration()['threshold'])}"
    if blinks:
        text += f" (blink {', '.join(f'{index[k]:.2f}' for k in blinks)})"
    if n_converged < n_fits:
        text += f"; {n_converged} of {n_fits} converged"
    return f"{text}; {seconds:.0f} s"


RULES = (10, 20, 40, 80)  # samples for each squared component


def numbers(args: argparse.Namespace) -> Iterator[str]:
    """Count the stable components of simulated recordings by the number of components."""
    n_seeds = args.last - args.first
    yield (
        f"{n_seeds} simulated recordings of 32 channels and two minutes (30 000 samples), seeds "
        f"{args.first} to {args.last - 1}, {args.n_fits} refits: means over recordings. The best "
        "of the four by the number of stable components would be a rule from refits.\n"
    )
    yield "| samples / squared component | components | stable | true | true of the stable |"
    yield "|---|---|---|---|---|"
    counts = np.array(
        [_counts(seed, args.n_fits) for seed in range(args.first, args.last)]
    )  # seed, rule, (components, stable, true, both)
    best = counts[np.arange(n_seeds), counts[:, :, 1].argmax(axis=1)]
    for rule, rows in zip(
        (*map(str, RULES), "most stable"), (*counts.swapaxes(0, 1), best), strict=True
    ):
        size, stable, true, both = rows.mean(axis=0)
        share = both / max(stable, 1e-9)
        yield f"| {rule} | {size:.1f} | {stable:.1f} | {true:.1f} | {share:.2f} |"


def _counts(seed: int, n_fits: int) -> list[tuple[int, int, int, int]]:
    sim = simulate_raw(32, 120, 250, random_state=seed)
    raw = sim.raw.filter(1, 40)
    rows = []
    for rule in RULES:
        size = min(int(np.sqrt(raw.n_times / rule)), len(raw.ch_names))
        ica = mne_otica.ICA(size).fit(raw)
        stable = index_of(*refitted(ica, raw, n_fits)[:2]) >= calibration()["threshold"]
        alike = np.abs(np.corrcoef(ica.get_components().T, sim.mixing.T))[:size, size:]
        true = alike.max(axis=1) > TRUE_MAP
        rows.append((size, stable.sum(), true.sum(), np.sum(stable & true)))
    return rows


COMMANDS = {"judge": judge, "time": price, "recordings": recordings, "numbers": numbers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("collect")
    one.add_argument("table", choices=("train", "test", "dependent"))
    one.add_argument("first", type=int)
    one.add_argument("last", type=int)
    one.add_argument("--density", type=float, default=30)
    one.add_argument("--n-fits", type=int, default=20)
    commands.add_parser("calibrate")
    one = commands.add_parser("judge")
    one.add_argument("--write", action="store_true", help=f"keep the result in {PAGE.name}")
    one = commands.add_parser("time")
    one.add_argument("--channels", type=int, default=64)
    one.add_argument("--minutes", type=float, default=10)
    one.add_argument("--n-fits", type=int, default=50)
    one.add_argument("--n-jobs", type=int, default=2)
    one.add_argument("--write", action="store_true")
    one = commands.add_parser("recordings")
    one.add_argument("folder", type=Path)
    one.add_argument("--only", help="part of a file name")
    one.add_argument("--methods", nargs="+", default=list(METHODS))
    one.add_argument("--n-fits", type=int, default=10)
    one.add_argument("--write", action="store_true")
    one = commands.add_parser("numbers")
    one.add_argument("first", type=int)
    one.add_argument("last", type=int)
    one.add_argument("--n-fits", type=int, default=10)
    one.add_argument("--write", action="store_true")
    args = parser.parse_args()
    mne.set_log_level("ERROR")
    warnings.simplefilter("ignore")  # simulated recordings are short on purpose
    if args.command in ("collect", "calibrate"):
        {"collect": collect, "calibrate": calibrate}[args.command](args)
        return
    lines = COMMANDS[args.command](args)
    title = f"Stability, {args.command}: `python -m benchmarks.stability {args.command}`"
    show(title, lines, args.write)


if __name__ == "__main__":
    main()
