"""Cleaning beside the tools that people would use instead, where the truth is known to the sample.

``python -m benchmarks.rivals FOLDER``, where FOLDER holds the recordings that are not shipped.
Every tool runs with its documented defaults; one that is not installed is skipped, and the table
says so. The cells are real artifacts put into real EEG without blinks, the same EEG with nothing
put in, simulated mixtures of all kinds in two models of the head, few channels, and channels
without positions; and simulated subjects whose blinks follow one of two conditions. Time courses
and maps are measured, except for most of the maps of muscles. The real EEG holds weak artifacts of
its own, so that removing these counts as an error of every tool. Nothing in the package was chosen
on the blinks and mixtures used here; the other artifacts are pairs of `benchmarks.put_in`, on which
the finder was trained. GEDAI may be used for research that is not commercial: it is in no extra of
this package, and not in its tests.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import mne
import numpy as np
from mne.preprocessing import ICA
from numpy.typing import NDArray
from scipy.interpolate import RBFInterpolator

import mne_otica
from benchmarks.inference import STRENGTHS, Trials, effect, subject
from benchmarks.isolated import watched
from benchmarks.put_in import SIZES, pairs
from benchmarks.removal_cases import HOSTS, Case, donor_recording, host_recording
from benchmarks.removal_cases import real as with_blinks
from benchmarks.results import show
from mne_otica.artifacts.maps import fit_sphere
from mne_otica.signals.positions import places_of
from mne_otica.simulation import simulate_raw
from mne_otica.simulation.sources import coloured

Raw = mne.io.BaseRaw
Clean = Callable[[Raw], Raw]
BAND = (1.0, 40.0)  # Hz in which errors are measured
AT = {"blink": (-0.3, 0.5), "eye movement": (-0.2, 0.4), "heartbeat": (-0.1, 0.3)}  # s, of an event
AWAY = {"blink": 1.5, "eye movement": 0.6, "heartbeat": 0.35}  # s from any event
ARTIFACTS = ["eye blink", "heart beat", "muscle artifact"]  # labels of ICLabel that are taken out
FIRST_SUBJECT = 8100  # of the study; nothing was chosen on them
COUPLINGS = ("strong", "none")  # of blinks and conditions
LIKELY = 0.8  # probability from which mne-bids-pipeline takes a component out


@dataclass(frozen=True)
class Cell:
    """Recordings with the same recordings without artifacts, and where the artifacts are."""

    name: str
    raw: Raw
    truth: Raw
    at: NDArray[np.bool_]
    away: NDArray[np.bool_]


# -- the tools ------------------------------------------------------------------------------


def nothing(raw: Raw) -> Raw:
    return raw


def ours(raw: Raw) -> Raw:
    return mne_otica.clean_raw(raw).raw


def ours_all(raw: Raw) -> Raw:
    return mne_otica.clean_raw(raw, artifacts=["blink", "eye movement", "heartbeat", "muscle"]).raw


def picard_iclabel(raw: Raw) -> Raw:
    """Take out whole components that ICLabel is sure of; the fit is what ICLabel asks for."""
    from mne_icalabel import label_components

    referenced = raw.copy().set_eeg_reference()
    top = min(100.0, 0.45 * raw.info["sfreq"])
    filtered = referenced.copy().filter(1.0, top)
    n_components = min(len(raw.ch_names) - 1, 25)
    ica = ICA(n_components, method="picard", fit_params=dict(ortho=False, extended=True))
    ica.random_state = 0
    ica.fit(filtered)
    found = label_components(filtered, ica, method="iclabel")
    pairs = zip(found["labels"], found["y_pred_proba"], strict=True)
    ica.exclude = [k for k, (name, p) in enumerate(pairs) if name in ARTIFACTS and p >= LIKELY]
    return ica.apply(referenced)


def gedai(raw: Raw) -> Raw:
    from gedai import Gedai

    referenced = raw.copy().set_eeg_reference()
    model = Gedai()
    model.fit_raw(referenced, verbose="error")
    return model.transform_raw(referenced, verbose="error")


def gedai_pipeline(raw: Raw) -> Raw:
    """Follow the pipeline that its documentation recommends: broadband first, then in bands."""
    from gedai import AdaptiveMultibandGedai, Gedai

    filtered = raw.copy().set_eeg_reference().filter(0.5, None)
    cleaned = filtered.copy()
    for model, options in ((Gedai(), dict(noise_multiplier=6.0)), (AdaptiveMultibandGedai(), {})):
        model.fit_raw(cleaned, verbose="error", **options)
        cleaned = model.transform_raw(cleaned, verbose="error")
    return less_removed(raw, filtered, cleaned)


def asr(raw: Raw) -> Raw:
    from asrpy import ASR

    filtered = raw.copy().filter(BAND[0], None)
    model = ASR(sfreq=raw.info["sfreq"], cutoff=20)
    model.fit(filtered)
    return less_removed(raw, filtered, model.transform(filtered.copy()))


def asr_denoise(raw: Raw) -> Raw:
    from mne_denoise.asr import ASR

    filtered = raw.copy().filter(BAND[0], None)
    return less_removed(raw, filtered, ASR(sfreq=raw.info["sfreq"]).fit_transform(filtered.copy()))


def armbr(raw: Raw) -> Raw:
    """Regress blinks on the frontal channels, which the user has to name."""
    from ARMBR import ARMBR

    frontal = [name for name in raw.ch_names if name.lower() in ("fp1", "fp2", "fpz", "af7", "af8")]
    if not frontal:
        raise ValueError("needs frontal channels")
    filtered = raw.copy().filter(*BAND)
    cleaned = filtered.copy()
    ARMBR(ch_name=frontal).fit(cleaned).apply(cleaned)
    return less_removed(raw, filtered, cleaned)


def less_removed(raw: Raw, before: Raw, after: Raw) -> Raw:
    """Subtract what was removed from a filtered copy: the filter of a tool is not its error."""
    cleaned = raw.copy()
    cleaned._data -= before.get_data() - after.get_data()
    return cleaned


TOOLS: dict[str, tuple[Clean, str | None]] = {
    "nothing": (nothing, None),
    "mne-otica": (ours, "mne-otica"),
    "mne-otica, four kinds": (ours_all, "mne-otica"),
    "Picard + ICLabel": (picard_iclabel, "mne-icalabel"),
    "GEDAI": (gedai, "gedai"),
    "GEDAI in bands": (gedai_pipeline, "gedai"),
    "ASR 20 (asrpy)": (asr, "asrpy"),
    "ASR (mne-denoise)": (asr_denoise, "mne-denoise"),
    "ARMBR": (armbr, "ARMBR"),
}


def installed() -> dict[str, str]:
    """Return the version of each tool, empty if it is not installed."""
    found = {}
    for name, (_, package) in TOOLS.items():
        try:
            found[name] = "-" if package is None else version(package)
        except PackageNotFoundError:
            found[name] = ""
    return found


# -- the cells ------------------------------------------------------------------------------


def near(events: NDArray, before: float, after: float, raw: Raw) -> NDArray[np.bool_]:
    """Return which samples are near events, given as samples from the first."""
    inside = np.zeros(raw.n_times, bool)
    for sample in np.asarray(events, int):
        start, stop = (int(sample + limit * raw.info["sfreq"]) for limit in (before, after))
        inside[max(0, start) : max(0, stop)] = True
    return inside


def cell(name: str, kind: str, raw: Raw, truth: Raw, events: NDArray) -> Cell:
    """Return a cell whose artifacts are events."""
    at = near(events, *AT[kind], raw)
    away = ~near(events, -AWAY[kind], AWAY[kind], raw)
    return Cell(name, raw, truth, at, away)


def blinks(folder: Path) -> Iterator[Cell]:
    """Real blinks in real EEG, from seeds on which nothing was chosen."""
    for host, donor, seed, person in (
        ("EEGLAB", "muse4", 60, "eegmmidb_S001R01"),
        ("EEGLAB", "eegmmidb_S001R01", 61, "mmidb_S002R01"),
        ("eegmmidb_S018R02", "muse4", 62, "sample28"),
        ("eegmmidb_S018R02", "openbci8", 63, "eegmmidb_S001R01"),
        ("microstates_ec", "openbci8", 64, "mmidb_S002R01"),
        ("microstates_ec", "eegmmidb_S001R01", 65, "sample28"),
    ):
        case = on_the_scalp(with_blinks(folder, host, donor, seed))
        case = with_map_of(folder, person, case)
        yield cell(f"blinks of {donor} in {host}", "blink", case.raw, case.truth, case.events[:, 0])


def _on_sphere(raw: mne.io.BaseRaw) -> NDArray[np.float64]:
    """Return the positions of channels on a sphere of radius one; NaN if they are unknown."""
    found, unit = places_of(raw.info), np.full((len(raw.ch_names), 3), np.nan)
    away = found.points - fit_sphere(found.points)[0]
    unit[found.picks] = away / np.linalg.norm(away, axis=1, keepdims=True)
    return unit


def with_map_of(folder: Path, person: str, case: Case) -> Case:
    """Give the blinks of a case a measured map: the average of a person's, interpolated."""
    donor, onsets = donor_recording(folder, person)
    donor.filter(1.0, 15.0)
    at = np.round(onsets * donor.info["sfreq"]).astype(int)
    average = donor.get_data()[:, at[at < donor.n_times]].mean(axis=1)
    here, there = (_on_sphere(raw) for raw in (donor, case.raw))
    known, wanted = (np.isfinite(some).all(axis=1) for some in (here, there))
    field = np.zeros(len(there))
    field[wanted] = RBFInterpolator(here[known], average[known], smoothing=1e-3)(there[wanted])
    truth = case.truth.get_data()
    if np.abs(truth.mean(axis=0)).max() < 1e-3 * truth.std():  # an average reference
        field -= field.mean()
    part = case.raw.get_data() - truth
    course = part[np.argmax(part.std(axis=1))]
    raw = mne.io.RawArray(truth + np.outer(field / np.abs(field).max(), course), case.truth.info)
    return Case(case.name, raw, case.truth, case.events)


def on_the_scalp(case: Case) -> Case:
    """Return a case without the EOG channels of the EEGLAB recording."""
    names = [name for name in case.raw.ch_names if "EOG" not in name]
    raw, truth = (inst.copy().pick(names) for inst in (case.raw, case.truth))
    return Case(case.name, raw, truth, case.events)


def few_channels(folder: Path) -> Iterator[Cell]:
    """Eight of the channels; and all of them without positions and names."""
    case = with_blinks(folder, "microstates_ec", "muse4", 66)
    case = with_map_of(folder, "eegmmidb_S001R01", case)
    names = [
        n for n in ("Fp1", "Fp2", "F3", "F4", "C3", "C4", "O1", "O2") if n in case.raw.ch_names
    ]
    raw, truth = (inst.copy().pick(names) for inst in (case.raw, case.truth))
    yield cell(f"blinks, {len(names)} channels", "blink", raw, truth, case.events[:, 0])
    info = mne.create_info(len(case.raw.ch_names), case.raw.info["sfreq"], "eeg")
    raw, truth = (mne.io.RawArray(inst.get_data(), info.copy()) for inst in (case.raw, case.truth))
    yield cell("blinks, no names, no positions", "blink", raw, truth, case.events[:, 0])


def untouched(folder: Path) -> Iterator[Cell]:
    """Real EEG into which nothing was put: all that changes is lost."""
    for host in HOSTS:
        raw = host_recording(folder, host)
        raw.pick([name for name in raw.ch_names if "EOG" not in name])
        everywhere = np.ones(raw.n_times, bool)
        yield Cell(f"nothing put in, {host}", raw, raw, ~everywhere, everywhere)


def others() -> Iterator[Cell]:
    """Real eye movements, hearts and muscle, three each, in the same hosts.

    Of pairs that are at least as large as the middle one: smaller ones are hardly worth removing.
    """
    for kind in ("eye movement", "heartbeat", "muscle"):
        least = 1e-6 * np.sqrt(np.prod(SIZES[kind]))
        large = [pair for pair in pairs(kind) if pair.host in HOSTS and pair.size >= least]
        for pair in large[:: len(large) // 3][:3]:
            name = f"{kind} of {pair.donor} in {pair.host}"
            if kind == "muscle":
                size = np.abs(pair.part).max(axis=0)
                width = int(0.2 * pair.raw.info["sfreq"])
                at = np.convolve(size > 0.2 * size.max(), np.ones(width), "same") > 0.5
                yield Cell(name, pair.raw, pair.truth, at, ~at)
            else:
                yield cell(name, kind, pair.raw, pair.truth, pair.events)


def mixtures() -> Iterator[Cell]:
    """Simulated recordings with all kinds of artifacts at once."""
    for seed in (9100, 9101):
        sim = simulate_raw(channels=32, duration=120.0, n_blinks=25, random_state=seed)
        events = sim.blink_events[:, 0]
        yield cell(f"simulated, all kinds, {seed}", "blink", sim.raw, sim.clean, events)


def realistic() -> Iterator[Cell]:
    """The same artifacts over activity of a realistic head, with the lead field of GEDAI itself.

    All sources of that head are active alike, which is what GEDAI takes for granted.
    """
    if not installed()["GEDAI"]:
        return
    from gedai.data import get_leadfield_cov_path

    lead_field = mne.read_cov(get_leadfield_cov_path())
    known = [name.lower() for name in lead_field.ch_names]
    for seed in (9102, 9103):
        sim = simulate_raw(channels=32, duration=120.0, n_blinks=25, random_state=seed)
        clean, rng = sim.clean.get_data(), np.random.default_rng(seed)
        places = [known.index(name.lower()) for name in sim.clean.ch_names]
        values, vectors = np.linalg.eigh(lead_field.data[np.ix_(places, places)])
        sources = coloured(len(values), clean.shape[1], sim.raw.info["sfreq"], 1.0, rng)
        brain = (vectors * np.sqrt(np.maximum(values, 0))) @ sources
        brain *= np.std(clean - clean.mean(axis=0)) / np.std(brain - brain.mean(axis=0))
        raw, truth = sim.raw.copy(), sim.clean.copy()
        raw._data += brain - clean
        truth._data[:] = brain
        events = sim.blink_events[:, 0]
        yield cell(f"simulated, realistic head, {seed}", "blink", raw, truth, events)


def cells(folder: Path) -> Iterator[Cell]:
    """Yield all cells."""
    yield from blinks(folder)
    yield from others()
    yield from few_channels(folder)
    yield from untouched(folder)
    yield from mixtures()
    yield from realistic()


# -- errors ---------------------------------------------------------------------------------


def compared(raw: Raw, like: Raw) -> NDArray[np.float64]:
    """Return the channels in the band, to their average: some of the tools change the reference."""
    data = raw.get_data(like.ch_names)
    data = data - data.mean(axis=0)
    high = min(BAND[1], 0.45 * like.info["sfreq"])
    return mne.filter.filter_data(data, like.info["sfreq"], BAND[0], high)


def share(wrong: NDArray, truth: NDArray, where: NDArray[np.bool_]) -> float:
    """Return the RMS of the error over that of the truth at some samples; NaN without any."""
    if not where.any():
        return np.nan
    return float(np.sqrt(np.mean(wrong[:, where] ** 2) / np.mean(truth[:, where] ** 2)))


def tried(clean: Clean, one: Cell) -> tuple[float, float, float] | str:
    """Return the errors at artifacts and away, and processor seconds, or why there are none."""
    truth, raw = compared(one.truth, one.raw), one.raw.copy()
    started = time.process_time()
    try:
        with mne.utils.use_log_level("error"):
            cleaned = clean(raw)
    except Exception as reason:  # a tool may refuse a recording: that is its result
        return f"{type(reason).__name__}"
    seconds = time.process_time() - started
    if cleaned.get_data().shape[1] != one.raw.n_times:
        return "other length"
    wrong = compared(cleaned, one.raw) - truth
    return share(wrong, truth, one.at), share(wrong, truth, one.away), seconds


def memory(name: str, folder: Path) -> float:
    """Return the MB that a tool holds at its peak beside the first recording."""
    mne.set_log_level("error")
    warnings.filterwarnings("ignore")
    clean, raw = TOOLS[name][0], next(blinks(folder)).raw
    clean(raw.copy().crop(0, 30))  # what is imported does not count
    return watched(clean, raw.copy())[2] / 1e6


def memories(tools: dict[str, Clean], folder: Path) -> list[float]:
    """Measure each tool in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn, max_tasks_per_child=1) as pool:
        return [pool.submit(memory, name, folder).result() for name in tools]


def table(folder: Path, start: str = "") -> Iterator[str]:
    """Yield a row for each cell, with the errors at artifacts / away of each tool.

    Only of cells whose name begins with ``start``.
    """
    known = installed()
    tools = {name: clean for name, (clean, _) in TOOLS.items() if known[name]}
    yield "Error at artifacts / away from them, relative to the signal without artifacts."
    yield ""
    yield "| cell | " + " | ".join(tools) + " |"
    yield "|---" * (len(tools) + 1) + "|"
    spent: dict[str, list[float]] = {name: [] for name in tools}
    for one in cells(folder):
        if not one.name.startswith(start):
            continue
        mne.set_log_level("error")  # some of the tools change it
        row = []
        for name, clean in tools.items():
            figures = tried(clean, one)
            if isinstance(figures, str):
                row.append(figures)
                continue
            at, away, seconds = figures
            spent[name].append(seconds)
            row.append(f"{away:.3f}" if np.isnan(at) else f"{at:.3f} / {away:.3f}")
        yield f"| {one.name} | " + " | ".join(row) + " |"
    middle = [f"{np.median(some):.1f}" if some else "" for some in spent.values()]
    yield "| seconds of processor time, median | " + " | ".join(middle) + " |"
    peaks = [f"{peak:.0f}" for peak in memories(tools, folder)]
    yield "| MB of memory, the first recording | " + " | ".join(peaks) + " |"
    yield ""
    yield from told_versions(known)


# -- the effect of a study ------------------------------------------------------------------


def bias(clean: Clean, trials: Trials) -> float | str:
    """Return the bias of the difference of two conditions at Pz in uV, or why there is none."""
    try:
        with mne.utils.use_log_level("error"):
            cleaned = clean(trials.raw.copy())
    except Exception as reason:  # as in `tried`
        return type(reason).__name__
    # Some of the tools change the reference.
    after, true = (raw.copy().set_eeg_reference() for raw in (cleaned, trials.truth))
    return effect(trials, after) - effect(trials, true)


Biases = dict[str, list[list[float | str]]]  # of each tool: those of the subjects, by coupling


def biases(n: int) -> Biases:
    """Return the bias of each tool in simulated subjects of `benchmarks.inference`."""
    known, found = installed(), {}
    for strength in COUPLINGS:
        for seed in range(FIRST_SUBJECT, FIRST_SUBJECT + n):
            trials = subject(seed, strength)
            mne.set_log_level("error")

            def with_events(raw: Raw, events: NDArray = trials.events) -> Raw:
                return mne_otica.clean_raw(raw, events=events).raw

            tools = {name: clean for name, (clean, _) in TOOLS.items() if known[name]}
            for name, clean in (tools | {"mne-otica, given the events": with_events}).items():
                rows = found.setdefault(name, [[] for _ in COUPLINGS])
                rows[COUPLINGS.index(strength)].append(bias(clean, trials))
    return found


def study(found: Biases) -> Iterator[str]:
    """Yield a row for each tool."""
    n = len(found["nothing"][0])
    yield f"Bias of the difference of two conditions at Pz (uV, mean ± SE over {n} simulated"
    yield "subjects, average reference): 80 trials a condition, in which a response has peaks of 5"
    yield "and 2 uV, and blinks in as many of them as the columns say."
    yield ""
    shares = [" and ".join(f"{share:.0%}" for share in STRENGTHS[one]) for one in COUPLINGS]
    yield f"| tool | {' | '.join(shares)} |"
    yield "|---" * (len(COUPLINGS) + 1) + "|"
    for name, rows in found.items():
        yield f"| {name} | {' | '.join(map(mean_bias, rows))} |"
    yield ""
    yield from told_versions(installed())


def mean_bias(found: list[float | str]) -> str:
    """Return mean and standard error, or the errors that a tool raised."""
    if wrong := [one for one in found if isinstance(one, str)]:
        return f"{wrong[0]} in {len(wrong)} of {len(found)}"
    return f"{np.mean(found):+.2f} ± {np.std(found, ddof=1) / np.sqrt(len(found)):.2f}"


def told_versions(known: dict[str, str]) -> Iterator[str]:
    """Yield the versions of the tools, and which are not installed."""
    yield "Versions: " + ", ".join(f"{n} {v}" for n, v in known.items() if v not in ("", "-")) + "."
    if absent := [name for name in TOOLS if not known[name]]:
        yield f"Not installed, skipped: {', '.join(absent)}."
    yield ""


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cells", default="", help="only cells whose name begins like this")
    parser.add_argument("--subjects", type=int, default=6, help="of the study")
    parser.add_argument("--study", action="store_true", help="only the study")
    parser.add_argument("--write", action="store_true", help="keep the results")
    args = parser.parse_args()
    mne.set_log_level("error")
    warnings.filterwarnings("ignore")
    command = "`python -m benchmarks.rivals FOLDER`"
    if not args.study:
        cells_of = table(args.folder, args.cells)
        show(f"Cleaning beside other tools: {command}", cells_of, args.write)
    if not args.cells:
        show(f"Effects beside other tools: {command}", study(biases(args.subjects)), args.write)


if __name__ == "__main__":
    main()
