"""Effects between conditions after cleaning, where blinks follow one condition more than the other.

``python -m benchmarks.inference FOLDER``, where FOLDER holds the recordings that are not shipped.
``--faces FOLDER`` has the two recordings of faces and houses that come with the PyPI wheel of
pylossless 0.2.0. The second estimate and the fewest trials of ``mne_otica.cleaning.evoked_free``
were chosen on simulations with other seeds (0 to 7 with 80 trials a condition, 200 to 215 with 20,
100 to 129 with 10), by the bias of the map alone; nothing was chosen on those below.
"""

import argparse
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path

import mne
import numpy as np
from mne.preprocessing import ICA as MNEICA
from numpy.typing import NDArray
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.controls import rhythm
from benchmarks.removal_cases import host_recording, parietal, with_blinks
from benchmarks.results import show
from mne_otica import audit, clean_raw, remove_artifacts
from mne_otica.evaluation.audit import Audit, Audited
from mne_otica.evaluation.shares import Row
from mne_otica.simulation import simulate_raw
from mne_otica.simulation.recordings import Source
from mne_otica.simulation.sources import Contribution, Head, coloured

SFREQ = 125.0
WINDOW, BASELINE = (0.25, 0.45), (-0.2, 0.0)  # s in which the effect at Pz is measured
STRENGTHS = {"none": (0.35, 0.35), "weak": (0.4, 0.3), "medium": (0.5, 0.2), "strong": (0.6, 0.14)}
METHODS = ("nothing", "whole component", "ours", "ours, evoked-free", "Picard + EOG")
N_STUDIES = 2000  # studies that are drawn from the subjects to get the size of a test


@dataclass(frozen=True)
class Trials:
    """A recording with trials of two conditions, and what perfect cleaning would return."""

    raw: mne.io.BaseRaw
    truth: mne.io.BaseRaw
    onsets: NDArray[np.float64]
    first: NDArray[np.bool_]
    eog: NDArray[np.float64]
    under: NDArray[np.bool_]  # trials with a blink, or a gaze shift
    artifacts: tuple[str, ...] = ("blink",)

    @property
    def events(self) -> NDArray[np.int64]:
        """The trials as MNE events."""
        samples = np.round(self.onsets * self.raw.info["sfreq"]).astype(int)
        return np.column_stack([samples, 0 * samples, np.where(self.first, 1, 2)])


def subject(
    seed: int,
    strength: str = "strong",
    n_trials: int = 80,
    amplitudes: tuple[float, float] = (5e-6, 2e-6),
    soa: float = 1.8,
    gaze: bool = False,
) -> Trials:
    """Simulate one subject: responses of varying size, blinks or gaze shifts near their peak."""
    rng = np.random.default_rng([30, seed])
    onsets = 1.5 + soa * np.arange(2 * n_trials)
    onsets = onsets + rng.uniform(0, 0.3, onsets.size)
    first = rng.permutation(onsets.size) < n_trials
    under = rng.random(onsets.size) < np.where(first, *STRENGTHS[strength])
    blinks = onsets[under] + 0.35 + 0.1 * rng.standard_normal(under.sum())
    sizes = np.exp(0.3 * rng.standard_normal(onsets.size) - 0.045)
    sim = simulate_raw(
        19,
        onsets[-1] + 3,
        SFREQ,
        blink_times=None if gaze else blinks,
        extra={"gaze": (gaze_shifts(blinks), 80e-6)} if gaze else None,
        evoked={
            name: (onsets[some], amplitude * sizes[some])
            for name, some, amplitude in zip("ab", (first, ~first), amplitudes, strict=True)
        },
        brain_amplitude=10e-6,
        random_state=seed,
        verbose="error",
    )
    kinds = ("blink", "eye movement") if gaze else ("blink",)
    eyes = sum(sim.part(kind) for kind in kinds)
    truth = mne.io.RawArray(sim.raw.get_data() - eyes, sim.raw.info)
    top = np.argmax(eyes.std(axis=1))
    eog = 2 * eyes[top] + 0.5 * truth.get_data()[top]
    return Trials(sim.raw, truth, onsets, first, eog, under, kinds)


def gaze_shifts(onsets: NDArray[np.float64]) -> Source:
    """Return a source of gaze shifts up and to the right that last half a second."""

    def source(head: Head, n_times: int, sfreq: float, rng: np.random.Generator) -> Contribution:
        late = np.arange(n_times) / sfreq - (onsets - 0.1)[:, np.newaxis]
        sizes = np.exp(0.3 * rng.standard_normal(onsets.size))
        course = sizes @ (np.clip(late / 0.05, 0, 1) - np.clip((late - 0.5) / 0.05, 0, 1))
        field = head.eyes([0.5, 0.4, 0.7])
        return Contribution(field, course[np.newaxis], onsets - 0.1, "eye movement")

    return source


def scores(trials: Trials, raw: mne.io.BaseRaw, site: str = "Pz") -> NDArray[np.float64]:
    """Return the amplitude of each trial in uV."""
    sfreq = raw.info["sfreq"]
    data = 1e6 * mne.filter.filter_data(raw.get_data([site])[0], sfreq, 0.5, 40.0)
    means = []
    for start, stop in (WINDOW, BASELINE):
        at = np.arange(round(start * sfreq), round(stop * sfreq))
        means.append(data[trials.events[:, :1] + at].mean(axis=1))
    return means[0] - means[1]


def effect(trials: Trials, raw: mne.io.BaseRaw, site: str = "Pz") -> float:
    """Return the difference of the conditions in uV."""
    each = scores(trials, raw, site)
    return float(each[trials.first].mean() - each[~trials.first].mean())


def picard_with_eog(trials: Trials) -> mne.io.BaseRaw:
    """Remove the components that MNE finds with an EOG channel: blink, and half of the brain."""
    raw = trials.raw.copy()
    info = mne.create_info(["EOG"], raw.info["sfreq"], "eog")
    eog = mne.io.RawArray(trials.eog[np.newaxis], info, verbose="error")
    raw.add_channels([eog], force_update_info=True)
    filtered = raw.copy().filter(1.0, 40.0, picks=["eeg", "eog"])
    params = dict(ortho=False, extended=True)
    ica = MNEICA(method="picard", fit_params=params, random_state=0).fit(filtered)
    ica.exclude = ica.find_bads_eog(filtered)[0]
    return ica.apply(trials.raw.copy())


def cleaned(trials: Trials, methods: tuple[str, ...] = METHODS) -> dict[str, mne.io.BaseRaw]:
    """Return the recording after each method; a method that finds nothing returns it as it is."""
    found = {"nothing": trials.raw}
    kinds = list(trials.artifacts)
    plain = clean_raw(trials.raw, artifacts=kinds)
    found["ours"] = plain.raw
    found["ours, evoked-free"] = clean_raw(trials.raw, artifacts=kinds, events=trials.events).raw
    if "whole component" in methods:
        found["whole component"] = remove_artifacts(trials.raw, plain.ica, removal="component")
    if "Picard + EOG" in methods:
        found["Picard + EOG"] = picard_with_eog(trials)
    return {name: found[name] for name in methods}


# Designs with their first seeds, from which nothing was chosen
DESIGNS: dict[str, tuple[int, dict[str, object]]] = {
    **{name: (7000 + 100 * k, dict(strength=name)) for k, name in enumerate(STRENGTHS)},
    "same response": (7400, dict(amplitudes=(4e-6, 4e-6))),
    **{f"{n} trials": (7500 + 100 * k, dict(n_trials=n)) for k, n in enumerate((10, 20, 40))},
    "overlap": (7800, dict(soa=0.65)),
    "gaze, none": (7900, dict(strength="none", gaze=True)),
    "gaze, strong": (8000, dict(strength="strong", gaze=True)),
}


def biases(name: str, n: int) -> NDArray[np.float64]:
    """Return the bias of the effect of each subject and method, and the true effect, in uV."""
    first, design = DESIGNS[name]
    rows = []
    for seed in range(first, first + n):
        trials = subject(seed, **design)
        true = effect(trials, trials.truth)
        after = cleaned(trials)
        rows.append([effect(trials, after[name]) - true for name in METHODS] + [true])
    return np.array(rows)


def bias_row(label: str, found: NDArray[np.float64]) -> str:
    """Return mean bias and standard error of each method, and the RMS over subjects of two."""
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(found))
    cells = [f"{m:+.2f} ± {e:.2f}" for m, e in zip(mean[:-1], error[:-1], strict=True)]
    rms = dict(zip(METHODS, np.sqrt(np.mean(found[:, :-1] ** 2, axis=0)), strict=True))
    cells += [f"{rms[name]:.2f}" for name in METHODS if name.startswith("ours")]
    return f"| {label} | {len(found)} | {mean[-1]:.2f} | {' | '.join(cells)} |"


def size(found: NDArray[np.float64], n_subjects: int = 20) -> NDArray[np.float64]:
    """Return how often a t-test of as many subjects, drawn again, finds an effect there is not.

    The noise of the brain is the same for all methods, and is left out of the true effect: the
    subjects' own true effects are centred.
    """
    effects = found[:, :-1] + (found[:, -1:] - found[:, -1].mean())
    rng = np.random.default_rng(0)
    drawn = effects[rng.integers(len(effects), size=(N_STUDIES, n_subjects))]
    return (stats.ttest_1samp(drawn, 0.0, axis=1).pvalue < 0.05).mean(axis=0)


def simulated(found: Iterable[tuple[str, NDArray[np.float64]]]) -> Iterator[str]:
    """Yield the bias in simulated subjects, given by design as `biases` returns it."""
    yield "Bias of the difference of two conditions at Pz (uV, mean ± SE over simulated subjects),"
    yield "and its RMS over subjects. Blinks in % of the trials of the conditions: "
    yield "; ".join(f"{name} {a:.0%} and {b:.0%}" for name, (a, b) in STRENGTHS.items()) + ";"
    yield "80 trials a condition, or as many as the row says, with strong coupling. Same response:"
    yield "4 uV in both conditions. Overlap: stimuli 0.35 to 0.95 s apart. Gaze: gaze shifts of 80"
    yield "uV in place of blinks; blinks and eye movements are removed, and the truth has neither."
    yield ""
    yield f"| design | subjects | true effect | {' | '.join(METHODS)} | ours, RMS | free, RMS |"
    yield "|" + "---|" * (len(METHODS) + 5)
    sizes = None
    for name, some in found:
        yield bias_row(name, some)
        sizes = size(some) if name == "same response" else sizes
    yield ""
    if sizes is not None:
        yield "With the same response in both conditions, how often a t-test over 20 subjects,"
        yield "drawn from these, has p < .05:"
        yield "; ".join(f"{name} {share:.1%}" for name, share in zip(METHODS, sizes, strict=True))
        yield ""


@dataclass(frozen=True)
class Given:
    """A cleaning with known results: some share of the blinks is left."""

    trials: Trials
    left: float
    blinks: NDArray[np.int64]

    def to_audit(self) -> list[Audited]:
        """Return the recording before and after."""
        blinks = self.trials.raw.get_data() - self.trials.truth.get_data()
        data = self.trials.truth.get_data() + self.left * blinks
        after = mne.io.RawArray(data, self.trials.raw.info)
        return [Audited("", self.trials.raw, after, {"blink": self.blinks}, after.ch_names)]


def bumps(
    peaks: NDArray[np.float64], heights: NDArray[np.float64], width: float, n_times: int
) -> NDArray[np.float64]:
    """Return the sum of Gaussian courses, each within five standard deviations of its peak."""
    course = np.zeros(n_times)
    for peak, height in zip(peaks, heights, strict=True):
        start, stop = ((peak + np.array([-5, 5]) * width) * SFREQ).astype(int).clip(0, n_times)
        times = np.arange(start, stop) / SFREQ
        course[start:stop] += height * np.exp(-0.5 * ((times - peak) / width) ** 2)
    return course


def drawn(seed: int, strength: str, effect_: float, left: float, n: int = 60) -> Given:
    """Draw trials, responses, blinks and coloured noise with alpha in eight channels."""
    rng = np.random.default_rng([31, seed])
    onsets = 1.5 + 1.8 * np.arange(2 * n) + rng.uniform(0, 0.3, 2 * n)
    first = rng.permutation(2 * n) < n
    under = rng.random(2 * n) < np.where(first, *STRENGTHS[strength])
    blinks = onsets[under] + 0.35 + 0.1 * rng.standard_normal(under.sum())
    n_times = round((onsets[-1] + 3) * SFREQ)
    sources = coloured(12, n_times, SFREQ, np.linspace(0.8, 1.8, 12), rng)
    sources[:3] += [rhythm(freq, n_times, SFREQ, rng) for freq in (9.5, 10.0, 10.5)]
    # The same in every draw, so that there is one true measurement error.
    brain = 3e-6 * np.random.default_rng(0).standard_normal((8, 12)) @ sources
    info = mne.create_info(["Fp1", "Fp2", "F3", "F4", "C3", "C4", "Pz", "Oz"], SFREQ, "eeg")
    heights = 150e-6 * np.exp(0.25 * rng.standard_normal(blinks.size))
    course = bumps(blinks, heights, 0.07, n_times)
    sizes = effect_ * first * np.exp(0.3 * rng.standard_normal(2 * n) - 0.045)
    response = bumps(onsets + 0.35, sizes, 0.06, n_times)
    truth = brain + np.outer(np.array(info.ch_names) == "Pz", response)
    field = np.linspace(1, 0.1, len(truth))
    raws = [mne.io.RawArray(x, info) for x in (truth + np.outer(field, course), truth)]
    trials = Trials(*raws, onsets, first, course, under)
    return Given(trials, left, np.sort(np.round(blinks * SFREQ).astype(int)))


FIRST_DRAW, FIRST_TRUTH = 9000, 20000
N_TRUTH = 2000  # draws of the true SME, which is known to 1.6 % with as many

AUDITED = {
    "coupled, 10 % left, effect": ("strong", 4e-6, 0.1),
    "coupled, nothing left, no effect": ("strong", 0.0, 0.0),
    "not coupled, nothing left, no effect": ("none", 0.0, 0.0),
}


def intervals(n: int) -> Iterator[str]:
    """Yield how often the intervals of the audit hold the truth, and its false alarms."""
    yield "Coverage of the intervals of `audit` (95 % wanted) and false alarms, 60 trials a"
    yield "condition, coloured noise with alpha; 10 % of the blinks left, or none; a response of"
    yield f"4 uV, or none. The true SME is the standard deviation over {N_TRUTH} other draws."
    yield ""
    names = ("draws", "share", "left", "effect", "SME before", "SME after")
    yield f"| | {' | '.join(names)} | blinks differ | blinks left | effect found |"
    yield "|" + "---|" * 10
    for label, design in AUDITED.items():
        yield f"| {label} | {n} | {' | '.join(coverage(n, *design))} |"
    yield ""


def audits(first: int, n: int, *design: object) -> list[Audit]:
    """Return the audits of some draws."""
    options = dict(picks="Pz", window=WINDOW, tmin=BASELINE[0])
    every = (drawn(seed, *design) for seed in range(first, first + n))
    return [audit(one, one.trials.events, {"a": 1, "b": 2}, **options) for one in every]


def of_second(found: Iterable[Audit]) -> list[Row]:
    """Return the amplitudes of the second condition."""
    return [row for one in found for row in one.amplitudes if row["condition"] == "b"]


def coverage(n: int, strength: str, size_: float, left: float) -> Iterator[str]:
    """Yield the cells of a row."""
    found = audits(FIRST_DRAW, n, strength, size_, left)
    others = of_second(audits(FIRST_TRUTH, N_TRUTH, strength, size_, left))
    true_shares = dict(zip("ab", STRENGTHS[strength], strict=True))
    rows = [row for one in found for row in one.artifacts]
    told = [row for row in rows if row["answer"] != "unsure"]
    yield _share(
        row["share_low"] <= true_shares[row["condition"]] <= row["share_high"] for row in rows
    )
    yield _share(row["left_low"] <= left <= row["left_high"] for row in told)
    effects = [one.effects[0] for one in found]
    # Blinks that are left are part of the effect: the truth is its mean.
    true = 0.0 if not size_ and not left else np.mean([row["after"] for row in effects])
    yield _share(row["after_low"] <= true <= row["after_high"] for row in effects)
    for side in ("before", "after"):
        sme = np.std([row[side] for row in others], ddof=1)
        low, high = (f"sme_{side}_{limit}" for limit in ("low", "high"))
        yield _share(row[low] <= sme <= row[high] for row in of_second(found))
    yield _share(one.differences[0]["differ"] for one in found)
    yield _share(row["answer"] == "left" for row in told)
    yield _share(row["after_low"] > 0 or row["after_high"] < 0 for row in effects)


def _share(values: Iterable[bool]) -> str:
    return f"{np.mean(list(values)):.1%}"


HOSTS = ("EEGLAB", "eegmmidb_S018R02", "microstates_ec", "hypyp_ec1")
DONORS = ("eegmmidb_S001R01", "mmidb_S002R01", "sample28", "muse4")
RESPONSE = 5e-6  # V, at Pz
FIRST_SEED = 20  # those before were looked at


def with_real_blinks(
    folder: Path, host: str, donor: str, seed: int, sign: int
) -> tuple[Trials, NDArray[np.float64]]:
    """Put a response into half of the trials of real EEG, and real blinks on top; return it, too.

    What the EEG happens to be under the few blinks biases every method, as a fit takes it for a
    part of the blink. With the sign of the EEG turned so is this, and the mean of both is the bias
    that comes from the response.
    """
    rng = np.random.default_rng([HOSTS.index(host), DONORS.index(donor), seed, 30])
    truth = host_recording(folder, host).load_data()
    sfreq = truth.info["sfreq"]
    onsets = np.arange(1.5, truth.times[-1] - 2.5, 1.5)
    onsets = onsets + rng.uniform(0, 0.3, onsets.size)
    first = rng.permutation(onsets.size) % 2 == 0
    times = np.arange(truth.n_times) / sfreq
    peaks = onsets[first, np.newaxis] + 0.35
    course = np.exp(-0.5 * ((times - peaks) / 0.06) ** 2).sum(axis=0)
    response = RESPONSE * np.outer(parietal(truth)[0], course)
    truth = mne.io.RawArray(sign * truth.get_data() + response, truth.info)
    under = first & (rng.permutation(onsets.size) % 2 == 0)
    blinks = onsets[under] + rng.normal(0.35, 0.1, under.sum())
    case = with_blinks(folder, truth, donor, blinks, rng, "")
    blink = case.raw.get_data() - truth.get_data()
    top = np.argmax(blink.std(axis=1))
    eog = 2 * blink[top] + 0.5 * truth.get_data()[top]
    return Trials(case.raw, truth, onsets, first, eog, under), response


IN_REAL = (*METHODS[:-1], "fitted without the response itself")


def amplitudes_off(folder: Path, host: str, donor: str, seed: int) -> NDArray[np.float64]:
    """Return by how much of the response it is off under blinks, for both signs of the EEG.

    The last number is that of the blinks.
    """
    found = []
    for sign in (1, -1):
        trials, response = with_real_blinks(folder, host, donor, seed, sign)
        after = cleaned(trials, METHODS[:-1])
        bare = mne.io.RawArray(trials.raw.get_data() - response, trials.raw.info)
        ica = clean_raw(bare).ica
        after[IN_REAL[-1]] = remove_artifacts(trials.raw, ica, removal="component")
        true = scores(trials, trials.truth)[trials.under].mean()
        off = [scores(trials, after[name])[trials.under].mean() - true for name in IN_REAL]
        found.append([*(100 * np.array(off) / mean_response(trials)), trials.under.sum()])
    return np.array(found)


def real_draws(folder: Path, n_draws: int) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield the host and what `amplitudes_off` returns for each draw."""
    for host, donor, seed in product(HOSTS, DONORS, range(FIRST_SEED, FIRST_SEED + n_draws)):
        yield host, amplitudes_off(folder, host, donor, seed)


def real_bias(found: Iterable[tuple[str, NDArray[np.float64]]]) -> Iterator[str]:
    """Yield how far the amplitude of the response under blinks is off in real EEG."""
    yield f"A response of {1e6 * RESPONSE:.0f} uV at Pz in half of the trials of real EEG without"
    yield "blinks, real blinks of four other people under half of these responses: bias of the"
    yield "mean amplitude of the responses under blinks, in % of the response, mean ± SE over"
    yield "draws. Each draw is the mean of two, with the EEG as it is and with its sign turned:"
    yield "what the EEG happens to be under the blinks biases both alike, in opposite directions."
    yield "By chance: half the difference of the two, standard deviation over draws, of ours. Last"
    yield "row: the EEG as it is."
    yield ""
    yield f"| EEG | draws | blinks | {' | '.join(IN_REAL)} | by chance |"
    yield "|" + "---|" * (len(IN_REAL) + 4)
    hosts, every = zip(*found, strict=True)
    every = np.array(every)
    for host in (*HOSTS, "all"):
        own = every[[host in (name, "all") for name in hosts]]
        chance = (own[:, 0] - own[:, 1])[:, IN_REAL.index("ours")].std(ddof=1) / 2
        cells = f"{percent(own[..., :-1].mean(axis=1))} | {chance:.0f} %"
        yield f"| {host} | {len(own)} | {own[..., -1].mean():.0f} | {cells} |"
    yield f"| all, as it is | {len(every)} | | {percent(every[:, 0, :-1])} | |"
    yield ""


def mean_response(trials: Trials) -> float:
    """Return the mean amplitude of the response that was put in, in uV."""
    times = np.arange(-1, 1, 1 / trials.raw.info["sfreq"])
    course = np.exp(-0.5 * ((times - 0.35) / 0.06) ** 2)
    inside = [(times >= start) & (times < stop) for start, stop in (WINDOW, BASELINE)]
    return float(1e6 * RESPONSE * (course[inside[0]].mean() - course[inside[1]].mean()))


def percent(found: NDArray[np.float64]) -> str:
    """Return mean and standard error of each column."""
    mean = found.mean(axis=0)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    return " | ".join(f"{m:+.0f} ± {e:.0f} %" for m, e in zip(mean, error, strict=True))


def faces_recording(path: Path, minutes: float = 10.0) -> mne.io.BaseRaw:
    """Read every second good channel at 128 Hz, with conditions and bad spans annotated."""
    stem = path.name.removesuffix("_eeg.edf")
    table = np.genfromtxt(
        path.with_name(f"{stem}_events.tsv"), str, delimiter="\t", encoding="utf-8-sig"
    )[1:]
    flagged = path.with_name(f"{stem}_ll_FlaggedChs.tsv").read_text("utf-8-sig").split()[3::2]
    raw = mne.io.read_raw_edf(path, preload=False)
    names = [name for name in raw.ch_names if name[0] in "ABCD" and name not in flagged]
    raw.pick(names[::2]).crop(0, 60 * minutes).load_data().resample(128)
    places = np.genfromtxt(
        next(path.parent.glob("*_electrodes.tsv")), str, delimiter="\t", encoding="utf-8-sig"
    )[1:]
    where = {row[0]: row[1:4].astype(float) for row in places if row[0] in raw.ch_names}
    raw.set_montage(mne.channels.make_dig_montage(where, coord_frame="head"))
    raw.set_annotations(None)
    for onset, duration, kind in table[:, :3]:
        known = kind in ("face-upright", "house-upright") or kind.lower().startswith("bad_")
        if known and float(onset) < raw.times[-1]:
            raw.annotations.append(float(onset), float(duration), kind.replace("bad_", "BAD_"))
    return raw


def faces_rows(path: Path) -> Iterator[str]:
    """Yield a row for each method."""
    raw = faces_recording(path)
    conditions = ["face-upright", "house-upright"]
    plain, free = clean_raw(raw), clean_raw(raw, events=conditions)
    whole = remove_artifacts(raw, plain.ica, removal="component") if plain.ica.exclude else raw
    rows = {"nothing": raw, "whole component": whole, "ours": plain.raw}
    verdict = plain.verdict.split(";")[0]
    for name, one in (rows | {"ours, evoked-free": free.raw}).items():
        effect_, sme, accuracy = faces_figures(one)
        figures = f"{effect_:+.2f} | {sme:.2f} | {accuracy:.3f}"
        yield f"| {path.name[:7]} | {name} | {figures} | {verdict} |"


def faces_figures(raw: mne.io.BaseRaw) -> tuple[float, float, float]:
    """Return the difference of the N170, the mean SME of its conditions, and the ROC AUC."""
    raw = raw.copy().filter(0.5, 30).set_eeg_reference("average")
    places = np.array([ch["loc"][:3] for ch in raw.info["chs"]])
    direction = places / np.linalg.norm(places, axis=1, keepdims=True)
    site = np.argsort(-direction @ np.array([0.7, -0.7, -0.1]))[:4]  # right, behind and low
    events, event_id = mne.events_from_annotations(raw, regexp=".*upright")
    epochs = mne.Epochs(raw, events, event_id, -0.2, 0.5, preload=True)
    late = (epochs.times >= 0.13) & (epochs.times <= 0.2)
    data = 1e6 * epochs.get_data()
    each = data[:, site][..., late].mean(axis=(1, 2))
    is_face = epochs.events[:, 2] == event_id["face-upright"]
    sme = np.mean([one.std(ddof=1) / np.sqrt(one.size) for one in (each[is_face], each[~is_face])])
    bins = np.array_split(np.flatnonzero((epochs.times >= 0.08) & (epochs.times < 0.4)), 8)
    features = np.hstack([data[..., some].mean(axis=2) for some in bins])
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1e-3, max_iter=1000))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    accuracy = cross_val_score(model, features, is_face, cv=folds, scoring="roc_auc").mean()
    return float(each[is_face].mean() - each[~is_face].mean()), float(sme), float(accuracy)


def faces(folder: Path) -> Iterator[str]:
    """Yield the N170 and the decoding of faces and houses in two real recordings."""
    yield "Upright faces against houses, every second good channel of 128, first 10 min. N170: mean"
    yield "of 130 to 200 ms at four channels right, behind and low, in uV; mean SME of both;"
    yield "decoding: ROC AUC of a logistic regression, 5 folds, all channels from 80 to 400 ms."
    yield ""
    yield "| recording | method | N170, faces - houses | SME | decoding | verdict |"
    yield "|---|---|---|---|---|---|"
    for path in sorted(folder.rglob("*_eeg.edf")):
        yield from faces_rows(path)
    yield ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the recordings are")
    parser.add_argument("--faces", type=Path, help="where the recordings of faces are")
    parser.add_argument("--n", type=int, default=20, help="subjects of each design")
    parser.add_argument("--draws", type=int, default=3, help="draws of each EEG and donor")
    parser.add_argument("--audits", type=int, default=600, help="draws of each audit")
    parser.add_argument("--write", action="store_true", help="keep the tables")
    args = parser.parse_args()
    mne.set_log_level("ERROR")
    parts = [
        simulated((name, biases(name, args.n)) for name in DESIGNS),
        real_bias(real_draws(args.folder, args.draws)),
        intervals(args.audits),
    ]
    if args.faces:
        parts.append(faces(args.faces))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        show(TITLE, chain.from_iterable(parts), args.write)


TITLE = "Effects of conditions after cleaning: `python -m benchmarks.inference FOLDER`"

if __name__ == "__main__":
    main()
