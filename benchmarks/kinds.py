"""Which components hold which artifacts? Simulated recordings with known truth, and real ones.

``python -m benchmarks.kinds`` tests 300 simulated recordings that were not used for training;
``--removal`` removes the artifacts found from other recordings, and compares with the truth;
``--said`` cleans the 300 of all kinds, and holds what the verdict says against the truth;
``--keep FILE`` saves each answer, so that an interrupted run can be resumed.
With ``--trained FOLDER``, that of ``training.train``, each recording is tested with curves fitted
without it: ``--real`` tests the real recordings without their EOG, ECG and EMG channels, and
compares with ICLabel and MNE's own finders; ``--put-in`` removes artifacts put into real EEG, by
curves that have seen neither of the two recordings, and counts what is removed from rhythms of the
brain put in. ``--caps`` tests muscle at 16 to 256 channels, ``--time`` measures the time of the
search.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

import mne
import numpy as np
from mne.preprocessing import ICA
from numpy.typing import NDArray

from benchmarks import put_in
from benchmarks.results import show
from benchmarks.truth import ABSENT, HELD, REAL, VISIBLE, Case, read_real, real, simulated
from mne_otica import clean_raw, find_bads_artifacts
from mne_otica.artifacts import maps as _maps
from mne_otica.artifacts import search
from mne_otica.artifacts.kinds import ACCEPT, REMOVE, kinds
from mne_otica.cleaning.conclude import conclude_useful
from mne_otica.cleaning.decide import find
from mne_otica.cleaning.found import Decision
from mne_otica.evaluation.sentences import LONGEST
from mne_otica.removal.remove import take_out
from mne_otica.signals.low_rate import filtered
from mne_otica.signals.unmixing import maps_in_volts, unmixing_in_volts
from mne_otica.simulation import simulate_raw
from mne_otica.simulation.sources import Head
from training import train

_kinds = import_module("mne_otica.artifacts.kinds")  # the function of this name hides it
STREAM = 1605  # of random numbers; those of the training and of the choices are others
REMOVAL_STREAM = 1611  # of the recordings that removal is judged on, by which nothing was chosen
# Figures of the spectrum of a tense muscle and of the brain, as simulated recordings have them.
MUSCLE = dict(
    slope=0.3, high=0.5, excess=1.5, unsteadiness=0.5, loud_slope=0.4, loud_high=0.8, burst=0.6
)
BRAIN = dict(
    slope=-1.5, high=-1.5, excess=0.0, unsteadiness=0.15, loud_slope=-1.3, loud_high=-1.0, burst=0.3
)
BAND = (1.0, 40.0)  # Hz in which errors are measured
EDGES = (ABSENT, 0.25, HELD, 1.0, 2.0, np.inf)  # of visibility


# -- simulated recordings -----------------------------------------------------------------


def judged(case: Case) -> list[dict]:
    """Return probability, answer and truth of each component and kind."""
    _, scores = find_bads_artifacts(case.ica, case.raw)
    return [
        dict(
            recording=case.name,
            component=row.component,
            kind=row.kind,
            chance=row.probability,
            answer=row.answer,
            reason=row.reason,
            visibility=float(case.visibility[row.kind][row.component]),
        )
        for row in scores.rows
    ]


def removed(case: Case) -> list[dict]:
    """Return the errors of removal of each kind."""
    decisions = find(case.raw, case.ica, list(kinds()), 2, True).decisions
    return [one for kind in kinds() for one in removal_errors(case, decisions[kind], kind)]


def removal_errors(case: Case, decision: Decision, kind: str) -> Iterator[dict]:
    """Yield how far the recording is from the truth: as it is, and without the kind's components.

    Errors are RMS between 1 and 40 Hz over all channels, over that of the truth. The components
    are those that clean_raw would remove.
    """
    part = case.parts[kind]
    if not decision.components:
        return
    sfreq, ica = case.raw.info["sfreq"], case.ica
    left = {"nothing": part}
    for removal in ("component", "events"):
        ica.exclude = list(decision.components)
        cleaned = case.raw.copy()
        take_out(cleaned, ica, {kind: decision}, dict(removal=removal, reject_by_annotation=True))
        gone = case.raw.get_data(ica.ch_names) - cleaned.get_data(ica.ch_names)
        left[removal] = part - gone
    ica.exclude = []
    truth = filtered(case.raw.get_data(ica.ch_names) - part, sfreq, *BAND).std()
    errors = {how: float(filtered(x, sfreq, *BAND).std() / truth) for how, x in left.items()}
    yield dict(recording=case.name, kind=kind, there=bool(part.any()), **errors)


# A negative number (but of a spectral slope), "nan", more than 100 %, and clauses that hold nothing
WRONG = re.compile(
    r"(?<!\w)(?<!slope )-\d|\bnan\b|over 100|[1-9]\d{2,}(\.\d)? %(?<!\b100 %)|[;:,(] *([;:,).]|$)"
)


def said(case: Case) -> list[dict]:
    """Return the sentences about a recording, and the error before and after each removal."""
    parts = []

    def concluded(*given: object) -> object:
        answer = conclude_useful(*given)
        parts.extend(answer[1].parts)
        return answer

    with patch("mne_otica.cleaning.clean.conclude_useful", concluded):
        result = clean_raw(case.raw, artifacts="all")
    names, sfreq = result.ica.ch_names, case.raw.info["sfreq"]
    picks, volts = [case.ica.ch_names.index(name) for name in names], case.raw.get_data(names)
    rows = [dict(recording=case.name, kind="", status=result.status, verdict=result.verdict)]
    for part in parts:
        true, one = case.parts[part.kind][picks], result.kinds[part.kind]
        gone = maps_in_volts(result.ica)[:, part.components] @ part.courses
        rest = filtered(volts - true, sfreq, *BAND).std()
        nothing, ours = (filtered(x, sfreq, *BAND).std() / rest for x in (true, true - gone))
        figures = dict(gone=one.gone, cost=one.cost, sham=one.harm and one.harm.sham)
        figures |= dict(there=bool(true.any()), nothing=float(nothing), ours=float(ours))
        rows.append(dict(recording=case.name, kind=part.kind, **figures))
    return rows


def said_report(rows: list[dict]) -> Iterator[str]:
    """Yield which sentences are wrong, and how many removals are at a loss."""
    verdicts = [row["verdict"] for row in rows if not row["kind"]]
    sentences = [line for verdict in verdicts for line in verdict.split(". ")]
    yield f"{len(verdicts)} recordings, {len(sentences)} sentences, the longest has "
    yield f"{max(map(len, sentences))} characters. Wrong:"
    wrong = [line for line in sentences if len(line) > LONGEST or WRONG.search(line)]
    yield from [f"- {line}" for line in wrong] or ["none."]
    yield ""
    yield "| kind | removed | at a loss | where it is not | sham events: median | largest |"
    yield "|---|---|---|---|---|---|"
    for kind in VISIBLE:
        own = [row for row in rows if row["kind"] == kind]
        loss = sum(row["ours"] > row["nothing"] for row in own)
        absent = sum(not row["there"] for row in own)
        sham = [row["sham"] for row in own if row["sham"] is not None]
        shams = f"{np.median(sham):.1%} | {max(sham):.1%}" if sham else "- | -"
        yield f"| {kind} | {len(own)} | {loss} | {absent} | {shams} |"


def of_all(
    measure: Callable[[Case], list[dict]], stream: int, seeds: range, keep: Path | None
) -> list[dict]:
    """Measure those recordings that are not kept yet, and return what there is of all."""
    known = {}
    if keep is not None and keep.exists():
        known = {one["seed"]: one["measured"] for one in map(json.loads, keep.open())}
    for seed in seeds:
        if seed not in known:
            known[seed] = measure(simulated(seed, stream))
            if keep is not None:
                with keep.open("a") as file:
                    file.write(json.dumps(dict(seed=seed, measured=known[seed])) + "\n")
    return [one for seed in seeds for one in known[seed]]


def simulated_report(rows: list[dict]) -> Iterator[str]:
    """Yield the tables of the simulated recordings."""
    n = len({row["recording"] for row in rows})
    factors = ", ".join(f"{kind} {x:g}" for kind, x in VISIBLE.items())
    yield f"{n} recordings that no curve has seen. Visible is: {factors} times the rest."
    yield ""
    yield "| kind | visible | found | recordings with it | found | without | clean | false alarms |"
    yield "|---|---|---|---|---|---|---|---|"
    for kind in VISIBLE:
        yield answers_row(kind, [row for row in rows if row["kind"] == kind])
    yield ""
    shares = [f"{a:g} to {b:g}" for a, b in zip(EDGES[:-1], EDGES[1:], strict=True)]
    yield f"| found, by visibility | {' | '.join(shares)} |"
    yield "|---|" + "---|" * len(shares)
    for kind in VISIBLE:
        yield curve_row(kind, [row for row in rows if row["kind"] == kind])
    yield ""
    yield "| kind | Brier score | given 0.9 or more | right | right or partly | false alarms |"
    yield "|---|---|---|---|---|---|"
    for kind in VISIBLE:
        yield calibration_row(kind, [row for row in rows if row["kind"] == kind])


def removal_report(errors: list[dict]) -> Iterator[str]:
    """Yield the table of the errors of removal, by kind."""
    yield (
        "| kind | recordings | nothing removed | whole components | this package | ratio to whole "
        "| worse than whole | worse than nothing | removed where it is not |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for kind in VISIBLE:
        own = [one for one in errors if one["kind"] == kind and one["there"]]
        absent = sum(one["kind"] == kind and not one["there"] for one in errors)
        if not own:
            yield f"| {kind} | 0 | - | - | - | - | - | - | {absent} |"
            continue
        nothing, whole, ours = (
            np.array([one[how] for one in own]) for how in ("nothing", "component", "events")
        )
        medians = " | ".join(f"{np.median(x):.3f}" for x in (nothing, whole, ours, ours / whole))
        yield (
            f"| {kind} | {len(own)} | {medians} | {(ours > whole).sum()} | "
            f"{(ours > nothing).sum()} | {absent} |"
        )


def _arrays(rows: list[dict]) -> tuple[NDArray, NDArray, NDArray]:
    chance = np.array([row["chance"] for row in rows])
    yes = np.array([row["answer"] == "yes" for row in rows])
    return chance, yes, np.array([row["visibility"] for row in rows])


def answers_row(kind: str, rows: list[dict]) -> str:
    """Return how many components and recordings were judged rightly."""
    _, yes, seen = _arrays(rows)
    visible, absent = seen >= 1, seen < ABSENT
    names = np.array([row["recording"] for row in rows])
    with_it, without = set(names[visible]), set(names) - set(names[~absent])
    found = sum(bool(yes[(names == name) & visible].any()) for name in with_it)
    false = sum(bool(yes[names == name].any()) for name in without)
    return (
        f"| {kind} | {visible.sum()} | {yes[visible].mean():.1%} | {len(with_it)} | "
        f"{found / max(len(with_it), 1):.1%} | {absent.sum()} | {(~yes[absent]).mean():.2%} | "
        f"{false} of {len(without)} recordings |"
    )


def curve_row(kind: str, rows: list[dict]) -> str:
    """Return the share that was found, by how visible it is."""
    _, yes, seen = _arrays(rows)
    cells = []
    for low, high in zip(EDGES[:-1], EDGES[1:], strict=True):
        inside = (seen >= low) & (seen < high)
        cells.append(f"{yes[inside].mean():.0%} of {inside.sum()}" if inside.any() else "-")
    return f"| {kind} | {' | '.join(cells)} |"


def calibration_row(kind: str, rows: list[dict]) -> str:
    """Return how far probabilities can be believed."""
    chance, _, seen = _arrays(rows)
    clear = (seen >= HELD) | (seen < ABSENT)
    brier = np.mean((chance[clear] - (seen[clear] >= HELD)) ** 2)
    high = chance >= 0.9
    right = (seen[high & clear] >= HELD).mean() if (high & clear).any() else np.nan
    partly = (seen[high] >= ABSENT).mean() if high.any() else np.nan
    removed = np.array([row["answer"] == "yes" for row in rows]) & (chance >= REMOVE)
    names = np.array([row["recording"] for row in rows])
    without = set(names) - set(names[seen >= ABSENT])
    false = sum(bool(removed[names == name].any()) for name in without)
    return (
        f"| {kind} | {brier:.4f} | {high.sum()} | {right:.1%} | {partly:.1%} | "
        f"{false} of {len(without)} recordings |"
    )


# -- real recordings, and artifacts put into them ------------------------------------------


@contextmanager
def unseen(names: set[str], rows: list[dict], kind: str | None = None) -> Iterator[None]:
    """Judge by curves of one kind, or of all, that recordings with these names had no part in."""
    data = dict(kinds=_curves() | train.curves_without(names, rows, kind))
    with patch.object(_kinds, "model_data", lambda: data):
        yield


def real_report(rows: list[dict]) -> Iterator[str]:
    """Yield the table of the real recordings."""
    yield "| recording | kind | truth | this package | ICLabel | MNE |"
    yield "|---|---|---|---|---|---|"
    for name in REAL:
        case = real(name)
        with unseen({name}, rows):
            found, _ = find_bads_artifacts(case.ica, case.raw)
        labels = iclabel(case)
        for kind in kinds():
            truth = case.holds[kind]
            proven = "?" if np.isnan(truth).all() else _list(np.flatnonzero(truth == 1))
            theirs = _list([k for k, label in enumerate(labels) if label == WORDS[kind]])
            if kind == "eye movement":
                theirs = "as blink"
            mne_finds = mne_answer(kind, name, case)
            yield f"| {name} | {kind} | {proven} | {_list(found[kind])} | {theirs} | {mne_finds} |"


def put_in_report(rows: list[dict]) -> Iterator[str]:
    """Yield what `clean_raw` leaves of artifacts put into recordings that the curves have not seen.

    Errors are RMS between 1 and 40 Hz over all channels, relative to what was put in. An artifact
    is held if a component follows it with a correlation above 0.8.
    """
    yield (
        "| kind | pairs | held | reduced below 0.7 | of those removed: error, median | whole "
        "component | ratio, median | worse than 1.05 of whole | controls |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    false = control_removals(rows)
    for kind in put_in.KINDS:
        some = [put_in_errors(pair, rows) for pair in put_in.pairs(kind)]
        held, ours, whole = np.array(some).T
        ratio = ours / whole
        gone = np.isfinite(whole)
        shares = [
            f"{len(some)} | {np.sum(held > HELD_BY)}",
            f"{np.mean(ours[held > HELD_BY] < 0.7):.1%}",
            f"{np.median(ours[gone]):.3f} | {np.median(whole[gone]):.3f}",
            f"{np.median(ratio[gone]):.2f} | {np.mean(ratio[gone] > 1.05):.1%}",
            false[kind],
        ]
        yield f"| {kind} | {' | '.join(shares)} |"


HELD_BY = 0.8  # correlation of the best component with what was put in


def put_in_errors(pair: put_in.Pair, rows: list[dict]) -> tuple[float, float, float]:
    """Return how well a component follows what was put in, and the error left by both ways."""
    names, kind = {pair.host, pair.donor.split()[0]}, pair.kind
    with unseen(names, rows, kind):
        cleaned = clean_raw(pair.raw, artifacts=kind, find_bad_channels=False)
    sfreq, ica = pair.raw.info["sfreq"], cleaned.ica
    part = filtered(pair.part, sfreq, *BAND)
    sources = filtered(unmixing_in_volts(ica) @ pair.raw.get_data(ica.ch_names), sfreq, *BAND)
    course = part[np.argmax(part.std(axis=1))]
    held = max(abs(np.corrcoef(x, course)[0, 1]) for x in sources)

    def error(raw: mne.io.BaseRaw) -> float:
        left = raw.get_data() - pair.truth.get_data()
        return float(filtered(left, sfreq, *BAND).std() / part.std())

    if not ica.exclude:
        return held, error(pair.raw), np.nan
    return held, error(cleaned.raw), error(ica.apply(pair.raw.copy()))


def control_removals(rows: list[dict]) -> dict[str, str]:
    """Return from how many rhythms put into real EEG something is removed that is not there."""
    count, n = dict.fromkeys(kinds(), 0), 0
    for pair in put_in.controls():
        n += 1
        with unseen({pair.host, pair.donor}, rows):
            with_it = clean_raw(pair.raw, artifacts="all", find_bad_channels=False)
        for kind, one in with_it.kinds.items():
            if not (kind == "electrode" and pair.donor.endswith("electrode")):
                count[kind] += bool(_mostly(pair, with_it.ica)[one.components].any())
    return {kind: f"{k} of {n}" for kind, k in count.items()}


def _mostly(pair: put_in.Pair, ica: ICA) -> NDArray[np.bool_]:
    """Tell which components are mostly what was put in."""
    sfreq, unmixing = pair.raw.info["sfreq"], unmixing_in_volts(ica)
    added = filtered(unmixing @ pair.part, sfreq, *BAND)
    whole = filtered(unmixing @ pair.raw.get_data(ica.ch_names), sfreq, *BAND)
    return added.var(axis=1) > (whole - added).var(axis=1)


WORDS = {
    "blink": "eye blink",
    "eye movement": "eye blink",
    "heartbeat": "heart beat",
    "muscle": "muscle artifact",
    "electrode": "channel noise",
}


def _curves() -> dict:
    return _kinds.model_data()["kinds"]


def _list(indices: list[int] | NDArray) -> str:
    return ", ".join(str(int(k)) for k in indices) or "none"


def iclabel(case: Case) -> list[str]:
    """Return the label that ICLabel gives each component, where it is at least 0.7 likely."""
    from mne_icalabel import label_components

    # Not referenced anew: the ICA unmixes the channels as they are.
    raw = case.raw.copy().filter(1.0, min(100.0, 0.49 * case.raw.info["sfreq"]))
    try:
        answer = label_components(raw, case.ica, method="iclabel")
    except (ValueError, RuntimeError):  # it needs positions
        return ["-"] * case.ica.n_components_
    pairs = zip(answer["labels"], answer["y_pred_proba"], strict=True)
    return [label if chance >= ACCEPT else "unsure" for label, chance in pairs]


def mne_answer(kind: str, name: str, case: Case) -> str:
    """Return what MNE's own finders say, with the hidden channel where they need one."""
    raw = read_real(name)
    filtered = raw.copy().filter(1.0, min(100.0, 0.49 * raw.info["sfreq"]))
    try:
        if kind == "muscle":
            return _list(case.ica.find_bads_muscle(filtered)[0])
        if kind == "blink" and "eog" in raw:
            return _list(case.ica.find_bads_eog(filtered)[0]) + " (sees the EOG)"
        if kind == "heartbeat" and "ecg" in raw:
            return _list(case.ica.find_bads_ecg(filtered)[0]) + " (sees the ECG)"
    except (ValueError, RuntimeError) as error:
        return f"{type(error).__name__}"
    return "-"


# -- caps, and time -----------------------------------------------------------------------


def caps_report() -> Iterator[str]:
    """Yield the probability of muscle for the same maps at 16 to 256 channels."""
    spectra = {"muscle": MUSCLE, "brain": BRAIN}
    places_of = {
        "focal, temple": ([-0.85, 0.35, -0.1], 0.88),
        "broad, temple": ([-0.85, 0.35, -0.1], 0.7),
        "focal, neck": ([0.3, -0.9, -0.3], 0.88),
        "broad, vertex": ([0.1, 0.1, 1.0], 0.6),
    }
    sizes = (16, 32, 64, 128, 256)
    yield f"| map, spectrum | {' | '.join(f'{n} channels' for n in sizes)} |"
    yield "|---|" + "---|" * len(sizes)
    infos = [simulate_raw(n, 2.0, 60.0, n_blinks=0).raw.info for n in sizes]
    for where, (direction, depth) in places_of.items():
        for what, figures in spectra.items():
            cells = []
            for info in infos:
                one_map = Head(info).radial([direction], depth)[:, 0]
                known = figures | dict(focality=float(_maps.focality(one_map)))
                cells.append(f"{_kinds.probability(_kinds.weigh('muscle', known)):.2f}")
            yield f"| {where}, {what} | {' | '.join(cells)} |"


def time_report() -> Iterator[str]:
    """Yield how long the search takes for 64 channels and ten minutes."""
    sim = simulate_raw(64, 600.0, 250.0, random_state=16020)
    cleaned = clean_raw(sim.raw)
    yield "| search of 64 channels, 10 min at 250 Hz | processor seconds |"
    yield "|---|---|"
    for label, finder, artifacts in (
        ("blinks alone", find_bads_artifacts, "blink"),
        ("all kinds", search, "all"),
    ):
        options = dict(artifacts=artifacts)
        seconds = [_seconds(finder, cleaned.ica, sim.raw, options) for _ in range(3)]
        yield f"| {label} | {min(seconds):.2f} |"


def _seconds(finder: object, ica: ICA, raw: mne.io.BaseRaw, options: dict) -> float:
    started = time.process_time()
    finder(ica, raw, **options)
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=300, help="number of simulated recordings")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--removal", action="store_true", help="what removal leaves")
    parser.add_argument("--said", action="store_true", help="what verdicts say, beside the truth")
    parser.add_argument("--keep", type=Path, help="file that keeps the answers")
    parser.add_argument("--trained", type=Path, help="folder of the figures of the training")
    parser.add_argument("--real", action="store_true", help="real recordings, beside others")
    parser.add_argument("--put-in", action="store_true", help="artifacts put into real EEG")
    parser.add_argument("--caps", action="store_true", help="muscle at 16 to 256 channels")
    parser.add_argument("--time", action="store_true", help="how long the search takes")
    parser.add_argument("--write", action="store_true", help="keep the tables in RESULTS.md")
    args = parser.parse_args()
    seeds = range(args.first, args.first + args.n)
    mne.set_log_level("ERROR")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if args.real:
            rows = train.collect(args.trained, train.N_RECORDINGS)
            show("Kinds of artifacts, real recordings", real_report(rows), args.write)
        elif args.put_in:
            rows = train.collect(args.trained, train.N_RECORDINGS)
            show("Artifacts put into real recordings", put_in_report(rows), args.write)
        elif args.caps:
            show("Muscle on caps of 16 to 256 channels", caps_report(), args.write)
        elif args.time:
            show("Time of the search for artifacts", time_report(), args.write)
        elif args.said:
            rows = of_all(said, STREAM, seeds, args.keep)
            show("What verdicts of simulated recordings say", said_report(rows), args.write)
        elif args.removal:
            errors = of_all(removed, REMOVAL_STREAM, seeds, args.keep)
            title = "Kinds of artifacts, removal from simulated recordings"
            show(title, removal_report(errors), args.write)
        else:
            rows = of_all(judged, STREAM, seeds, args.keep)
            title = "Kinds of artifacts, simulated recordings"
            show(title, simulated_report(rows), args.write)


if __name__ == "__main__":
    main()
