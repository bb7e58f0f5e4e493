"""Refits: their price, real recordings by several methods, and the number of components.

    python -m benchmarks.refits time --write
    python -m benchmarks.refits collect FOLDER --methods picard   # refits of real recordings
    python -m benchmarks.refits recordings --write               # the table of what is collected
    python -m benchmarks.refits numbers 9000 9012 --write

`collect` adds a row for each component to a table in `benchmarks/results`; recordings and methods
that are in it are not done again.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported

import argparse
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import mne
import numpy as np

import mne_otica
from benchmarks.isolated import watched
from benchmarks.results import PAGE, show
from benchmarks.stability import RESULTS, TRUE_MAP, add_rows, read_rows, refitted, truth
from mne_otica.simulation import simulate_raw
from mne_otica.trust.stability import STABLE

TABLE = RESULTS / "stability-real.csv"
FIELDS = (
    "recording method n_fits n_samples n_components n_converged seconds number blink index".split()
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
SAMPLES_PER_SQUARED = 20
RULES = (10, 20, 40, 80)  # samples for each squared component


def price(args: argparse.Namespace) -> Iterator[str]:
    """Time refits of a simulated recording: by the clock, and in one process."""
    raw = simulate_raw(args.channels, args.minutes * 60, 250, random_state=0).raw.filter(1, 40)
    ica, fit, _ = watched(mne_otica.ICA().fit, raw)
    load = os.getloadavg()[0]
    started = time.perf_counter()
    result = mne_otica.stability(ica, raw, n_fits=args.n_fits, n_jobs=args.n_jobs)
    seconds = time.perf_counter() - started
    alone = partial(mne_otica.stability, n_fits=args.n_fits, n_jobs=1)
    _, processor, extra = watched(alone, ica, raw)
    yield (
        f"{args.channels} channels, {args.minutes:g} min at 250 Hz, {args.n_fits} refits and "
        f"{len(result.lengths) - 2} x {args.n_fits // 5} shorter ones for the learning curve: "
        f"{seconds:.0f} s by the clock with {args.n_jobs} workers (load of the machine before it: "
        f"{load:.1f}); in one process {processor:.0f} s of processor time, {processor / fit:.1f} "
        f"times the {fit:.1f} s of the fit, and {extra / raw.get_data().nbytes:.1f} times the "
        f"memory of the data.\n\n{result.summary}"
    )


def collect(args: argparse.Namespace) -> None:
    """Refit real recordings by some methods."""
    done = {(row["recording"], row["method"]) for row in read_rows(TABLE)}
    for method in args.methods:
        for name in RECORDINGS:
            if (name.split("_raw")[0], method) not in done:
                add_rows(TABLE, components(args.folder / name, method, args.n_fits))
                print(name, method, flush=True)


def components(path: Path, method: str, n_fits: int) -> list[dict]:
    """Refit a recording; return what is known of each component."""
    raw = mne.io.read_raw(path, preload=True).filter(1, 40).pick("eeg")
    size = min(int(np.sqrt(raw.n_times / SAMPLES_PER_SQUARED)), len(raw.ch_names) - 1)
    started = time.process_time()
    ica = mne_otica.ICA(size, method=method, random_state=0, **METHODS[method]).fit(raw)
    index, n_converged = refitted(ica, raw, n_fits)
    seconds = round(time.process_time() - started, 1)
    blinks, _ = mne_otica.find_bads_blink(ica, raw)
    facts = (path.name.split("_raw")[0], method, n_fits, raw.n_times, size, n_converged, seconds)
    return [
        dict(zip(FIELDS, (*facts, k, int(k in blinks), index[k]), strict=True)) for k in range(size)
    ]


def recordings(args: argparse.Namespace) -> Iterator[str]:
    """Count the stable components of the real recordings that were refitted."""
    rows = read_rows(TABLE)
    n_fits = sorted({int(row["n_fits"]) for row in rows})
    yield (
        f"{' or '.join(map(str, n_fits))} refits each, 1 to 40 Hz, `n_components` by the rule of "
        f"{SAMPLES_PER_SQUARED} samples for each squared component. In each cell the number of "
        "stable components, the index of the blink component where one was found, how many refits "
        "converged if not all did, and the processor time of the fit and the refits.\n"
    )
    yield "| recording | components | samples / squared | " + " | ".join(METHODS) + " |"
    yield "|---" * (3 + len(METHODS)) + "|"
    for name in (name.split("_raw")[0] for name in RECORDINGS):
        own = [row for row in rows if row["recording"] == name]
        if not own:
            continue
        size, n_samples = int(own[0]["n_components"]), int(own[0]["n_samples"])
        cells = [name, str(size), f"{n_samples / size**2:.0f}"]
        cells += [_cell([row for row in own if row["method"] == method]) for method in METHODS]
        yield "| " + " | ".join(cells) + " |"


def _cell(rows: list[dict]) -> str:
    if not rows:
        return "not run"
    index = np.array([float(row["index"]) for row in rows])
    text = f"{np.sum(index >= STABLE)}"
    blinks = [f"{one:.2f}" for one, row in zip(index, rows, strict=True) if row["blink"] == "1"]
    if blinks:
        text += f" (blink {', '.join(blinks)})"
    if rows[0]["n_converged"] != rows[0]["n_fits"]:
        text += f"; {rows[0]['n_converged']} of {rows[0]['n_fits']} converged"
    return f"{text}; {float(rows[0]['seconds']):.0f} s"


def numbers(args: argparse.Namespace) -> Iterator[str]:
    """Count the stable components of simulated recordings by the number of components."""
    n_seeds = args.last - args.first
    yield (
        f"{n_seeds} simulated recordings of 32 channels and one minute (15 000 samples), seeds "
        f"{args.first} to {args.last - 1}, {args.n_fits} refits: means over recordings. The last "
        "row takes, for each recording, the number of components of which the most are stable: a "
        "rule from refits.\n"
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
    sim = simulate_raw(32, 60, 250, random_state=seed)
    raw = sim.raw.filter(1, 40)
    rows = []
    for rule in RULES:
        size = min(int(np.sqrt(raw.n_times / rule)), len(raw.ch_names))
        ica = mne_otica.ICA(size).fit(raw)
        stable = refitted(ica, raw, n_fits)[0] >= STABLE
        true = truth(ica, sim) > TRUE_MAP
        rows.append((size, stable.sum(), true.sum(), np.sum(stable & true)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    timed = commands.add_parser("time")
    timed.add_argument("--channels", type=int, default=64)
    timed.add_argument("--minutes", type=float, default=10)
    timed.add_argument("--n-fits", type=int, default=50)
    timed.add_argument("--n-jobs", type=int, default=2)
    one = commands.add_parser("collect")
    one.add_argument("folder", type=Path)
    one.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    one.add_argument("--n-fits", type=int, default=20)
    table = commands.add_parser("recordings")
    compared = commands.add_parser("numbers")
    compared.add_argument("first", type=int)
    compared.add_argument("last", type=int)
    compared.add_argument("--n-fits", type=int, default=20)
    for one in (timed, table, compared):
        one.add_argument("--write", action="store_true", help=f"keep the result in {PAGE.name}")
    args = parser.parse_args()
    mne.set_log_level("ERROR")
    warnings.simplefilter("ignore")  # that recordings are short, and that fits did not converge
    if args.command == "collect":
        collect(args)
        return
    lines = {"time": price, "recordings": recordings, "numbers": numbers}[args.command](args)
    title = f"Stability, {args.command}: `python -m benchmarks.refits {args.command}`"
    show(title, lines, args.write)


if __name__ == "__main__":
    main()
