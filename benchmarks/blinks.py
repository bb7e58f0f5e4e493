"""Which component holds the blinks? Three rules on simulated recordings with known truth.

Run ``python -m benchmarks.blinks`` for 200 recordings (about twenty minutes on one core), or with
``--n 20`` for a short run. ``--keep FILE`` saves each answer, so that an interrupted run can be
continued. ``--nameless`` hides positions and channel names from the rules.
"""

import argparse
import json
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import mne
import numpy as np
from scipy.stats import kurtosis

from benchmarks.controls import with_controls
from benchmarks.results import show
from mne_otica import clean_raw, find_artifact_events, find_bads_blink
from mne_otica.simulation import simulate_raw

REFERENCES = ("mastoids", "average")


def design(seed):
    """Draw the settings of one recording; two thirds of them have blinks."""
    rng = np.random.default_rng([2024, seed])
    duration = float(np.exp(rng.uniform(np.log(20), np.log(600))))
    has_blinks = seed % 3 != 0
    # At most one blink per 1.5 s, which is forty per minute.
    most = min(60, int(duration / 1.5))
    return dict(
        channels=int(rng.choice([8, 12, 16, 19, 24, 32, 48, 64])),
        duration=round(duration, 1),
        sfreq=float(rng.choice([128, 200, 250])),
        n_blinks=int(rng.integers(1, most + 1)) if has_blinks else 0,
        blink_amplitude=float(rng.uniform(60e-6, 300e-6)),
        pops=int(rng.integers(1, 9)) if rng.random() < 0.5 else 0,
        pop_amplitude=float(np.exp(rng.uniform(np.log(0.3e-3), np.log(3e-3)))),
        movements=int(rng.integers(1, 4)) if rng.random() < 0.3 else 0,
        noisy_channels=int(rng.integers(1, 3)) if rng.random() < 0.3 else 0,
        sleep=bool(not has_blinks and rng.random() < 0.4),
        reference=str(rng.choice(REFERENCES)),
        random_state=seed,
    )


@dataclass
class Outcome:
    """What the rules answered on one recording."""

    seed: int
    settings: dict
    truth: int | None
    answers: dict
    brain: float
    rest: float
    found: float
    extra: float
    verdict: str
    best: str
    pop_wins: bool


def run(seed, nameless=False):
    """Simulate, fit, and apply each rule."""
    settings = design(seed)
    if settings["sleep"]:
        settings["saccades"] = False
    extra = with_controls(sleep=settings["sleep"])
    sim = simulate_raw(**{k: v for k, v in settings.items() if k != "sleep"}, extra=extra)
    filtered = sim.raw.copy().filter(1.0, 40.0)
    ica = clean_raw(sim.raw).ica
    ica.exclude = []
    truth = None
    if settings["n_blinks"]:
        truth = blink_component(ica, filtered, sim)
    asked, asked_ica = sim.raw, ica
    if nameless:
        asked, asked_ica = strip(sim.raw, ica)
    indices, scores = find_bads_blink(asked_ica, asked)
    times = find_artifact_events(asked, ica=asked_ica)[:, 0]
    courses = asked_ica.get_sources(asked).get_data()
    by_kurtosis = [int(np.argmax(kurtosis(courses, axis=1)))]
    by_channel, _ = ica.find_bads_eog(filtered, ch_name="Fp1")
    answers = {
        "this package": indices,
        "highest kurtosis": by_kurtosis,
        "find_bads_eog, frontal channel": [int(k) for k in by_channel],
    }
    found, extra = compare_times(times, sim.blink_events[:, 0], 0.1 * sim.raw.info["sfreq"])
    brain, rest = recovery(sim, ica, indices)
    return Outcome(
        seed,
        settings,
        truth,
        answers,
        brain,
        rest,
        found,
        extra,
        scores.rows[0].answer,
        scores.rows[0].reason,
        truth is not None and by_kurtosis[0] != truth,
    )


def blink_component(ica, filtered, sim):
    """Return the component that correlates most with the simulated blinks."""
    blink = (sim.raw.get_data() - sim.without_blinks.get_data())[0]
    blink = mne.filter.filter_data(blink, sim.raw.info["sfreq"], 1.0, 40.0)
    sources = ica.get_sources(filtered).get_data()
    return int(np.argmax([abs(np.corrcoef(row, blink)[0, 1]) for row in sources]))


def strip(raw, ica):
    """Return copies whose channels have neither position nor a telling name."""
    names = {name: f"CH{k}" for k, name in enumerate(raw.ch_names)}
    raw, ica = raw.copy().set_montage(None), ica.copy()
    raw.rename_channels(names)
    ica.ch_names = [names[name] for name in ica.ch_names]
    ica.info = raw.copy().pick(ica.ch_names).info
    return raw, ica


def compare_times(times, truth, tolerance):
    """Return the share of true blinks found, and false ones per true one."""
    if not len(truth):
        return np.nan, float(len(times))
    if not len(times):
        return 0.0, 0.0
    distance = np.abs(times[:, np.newaxis] - truth)
    found = (distance.min(axis=0) <= tolerance).mean()
    return found, (distance.min(axis=1) > tolerance).sum() / len(truth)


def recovery(sim, ica, indices):
    """Correlate the cleaned recording with the brain's, and with all but the blinks."""
    if not len(sim.blink_events) or not indices:
        return np.nan, np.nan
    raws = [sim.clean, sim.without_blinks, ica.apply(sim.raw.copy(), exclude=indices)]
    sfreq = sim.raw.info["sfreq"]
    half = int(0.25 * sfreq)
    near = np.zeros(sim.raw.n_times, bool)
    for sample in sim.blink_events[:, 0]:
        near[max(0, sample - half) : sample + half + 1] = True
    brain, rest, cleaned = [raw.copy().filter(1, 40).get_data()[:, near] for raw in raws]
    each = [
        [np.corrcoef(a, b)[0, 1] for a, b in zip(x, cleaned, strict=True)] for x in (brain, rest)
    ]
    return tuple(float(np.median(row)) for row in each)


def report(outcomes):
    """Return the lines of the table and of what is below it, in Markdown."""
    with_blinks = [o for o in outcomes if o.truth is not None]
    without = [o for o in outcomes if o.truth is None]
    lines = [f"{len(with_blinks)} recordings with blinks, {len(without)} without.", ""]
    lines += ["| rule | right component | none where there is none |", "|---|---|---|"]
    for rule in outcomes[0].answers:
        right = np.mean([o.answers[rule][:1] == [o.truth] for o in with_blinks])
        none = np.mean([not len(o.answers[rule]) for o in without])
        lines.append(f"| {rule} | {right:.1%} | {none:.1%} |")
    beaten = [o for o in with_blinks if o.pop_wins]
    if beaten:
        right = np.mean([o.answers["this package"][:1] == [o.truth] for o in beaten])
        lines += [
            "",
            f"Where something has a higher kurtosis than the blinks ({len(beaten)} "
            f"recordings): right in {right:.1%}.",
        ]
    figures = {
        name: np.array([getattr(o, name) for o in with_blinks])
        for name in ("brain", "rest", "found", "extra")
    }
    median = {name: np.nanmedian(values) for name, values in figures.items()}
    false = np.mean([o.extra > 0 for o in without])
    lines += [
        "",
        "In blink windows the cleaned signal correlates with the brain's at "
        f"{median['brain']:.3f} and with everything but the blinks at "
        f"{median['rest']:.3f} (median over recordings of the median over channels).",
        "",
        f"Blink times: {figures['found'].mean():.1%} found within 100 ms, "
        f"{figures['extra'].mean():.1%} extra; {false:.1%} of the recordings without blinks "
        "have any.",
    ]
    wrong = [o for o in outcomes if o.answers["this package"][:1] != truth_of(o)]
    for o in wrong:
        lines += ["", f"Not right: seed {o.seed}, {describe(o)}"]
    return lines


def truth_of(outcome):
    """Return the right answer."""
    return [] if outcome.truth is None else [outcome.truth]


def describe(outcome):
    """Return the recording and the answer in words."""
    s = outcome.settings
    return (
        f"{s['channels']} channels, {s['duration']:.0f} s, {s['n_blinks']} blinks of "
        f"{1e6 * s['blink_amplitude']:.0f} uV; answer {outcome.answers['this package']}, truth "
        f"{truth_of(outcome)}, {outcome.verdict}: {outcome.best}."
    )


def run_all(seeds, nameless, keep):
    """Run those seeds that are not kept yet, and return the outcomes of all."""
    known = {}
    if keep is not None and keep.exists():
        kept = (json.loads(line) for line in keep.read_text().splitlines())
        known = {one["seed"]: Outcome(**one) for one in kept}
    for seed in seeds:
        if seed in known:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # non-convergence of the shortest recordings
            known[seed] = run(seed, nameless)
        if keep is not None:
            with keep.open("a") as file:
                file.write(json.dumps(asdict(known[seed])) + "\n")
    return [known[seed] for seed in seeds]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=200, help="number of recordings")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--nameless", action="store_true", help="hide the geometry")
    parser.add_argument("--keep", type=Path, help="file that keeps the answers")
    parser.add_argument("--write", action="store_true", help="keep the table in RESULTS.md")
    args = parser.parse_args()
    mne.set_log_level("ERROR")
    seeds = range(args.first, args.first + args.n)
    outcomes = run_all(seeds, args.nameless, args.keep)
    title = "Blinks" + (", geometry hidden" if args.nameless else "")
    show(f"{title}: seeds {seeds[0]} to {seeds[-1]}", report(outcomes), args.write)


if __name__ == "__main__":
    main()
