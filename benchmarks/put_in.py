"""Real artifacts of one recording put into the real EEG of another, known to the sample.

``pairs(kind)`` yields recordings with eye movements, heartbeats, muscle or a faulty electrode;
``controls()`` rhythms of the brain and technical signals that must stay. Time courses come from
EOG, ECG and EMG channels, or from channels at the temples where there is no EOG. Maps are averages
over real events, brought from channel to channel by interpolation over the sphere.

``python -m benchmarks.put_in`` puts them in, and counts what the finder says; a component holds an
artifact if it is as visible in it as `benchmarks.truth` demands.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import mne
import numpy as np
from mne.preprocessing import ICA
from numpy.typing import NDArray
from scipy.interpolate import RBFInterpolator
from scipy.signal import find_peaks, resample_poly, sawtooth, square

from benchmarks.removal_cases import host_recording
from benchmarks.truth import ABSENT, DATA, HELD, Case, case_of, locked, read_real
from mne_otica import find_bads_artifacts
from mne_otica.artifacts.kinds import REMOVE
from mne_otica.artifacts.maps import fit_sphere
from mne_otica.signals.low_rate import filtered
from mne_otica.signals.unmixing import unmixing_in_volts

KINDS = ("eye movement", "heartbeat", "muscle", "electrode")
HOSTS = {
    "eye movement": (
        "microstates_ec", "EEGLAB", "mmidb_S004R01", "hypyp_ec1", "eegmat_01_1", "eegmmidb_S018R02",
    ),
    "heartbeat": ("mmidb_S002R01", "hypyp_ec1", "EEGLAB", "sample28"),
    "muscle": ("mmidb_S002R01", "eegmmidb_S018R02", "eegmat_03", "EEGLAB", "eegmat_14_1"),
    "electrode": ("mmidb_S002R01", "eegmat_03", "EEGLAB", "microstates_ec"),
}  # fmt: skip
# Microvolts at the channel that sees most: of steps, of the R peak, RMS of muscle, RMS of a fault.
SIZES = {
    "eye movement": (20, 120),
    "heartbeat": (5, 40),
    "muscle": (5, 40),
    "electrode": (20, 200),
}
HEAD = """| put in | kind | recordings | held | found | given 0.9 or more | right | wrong in |
|---|---|---|---|---|---|---|---|"""
LONGEST = 90.0  # s of a pair
# Sizes, and stretches, of each host and donor
REPEATS = {"eye movement": 2, "heartbeat": 2, "muscle": 3, "electrode": 3}


@dataclass(frozen=True)
class Pair:
    """A recording with an artifact that was put in, and the same recording without it.

    ``part`` is what was put in, in volts, shape (n_channels, n_times); ``events`` are the samples
    of its events, from 0. ``kind`` is empty for controls.
    """

    kind: str
    host: str
    donor: str
    raw: mne.io.BaseRaw
    truth: mne.io.BaseRaw
    part: NDArray[np.float64]
    events: NDArray[np.int64]
    size: float

    @property
    def name(self) -> str:
        """Host, donor and size."""
        return f"{self.kind or 'control'}: {self.host} + {self.donor}, {1e6 * self.size:.0f} uV"


class Course(NamedTuple):
    """What an artifact does in time, its typical height one, and the map it comes with."""

    values: NDArray[np.float64]
    sfreq: float
    onsets: NDArray[np.float64]  # s
    field: str  # a name of `_fields`


def pairs(kind: str, repeats: int | None = None) -> Iterator[Pair]:
    """Yield every host with every donor, each in some sizes, always the same ones."""
    for h, host in enumerate(HOSTS[kind]):
        for d, (donor, course) in enumerate(_courses()[kind].items()):
            for repeat in range(repeats or REPEATS[kind]) if donor.split()[0] != host else ():
                rng = np.random.default_rng([KINDS.index(kind), h, d, repeat])
                low, high = np.log(SIZES[kind])
                size = 1e-6 * float(np.exp(rng.uniform(low, high)))
                yield put_in(kind, host, donor, course, size, rng)


def put_in(
    kind: str, host: str, donor: str, course: Course, size: float, rng: np.random.Generator
) -> Pair:
    """Put a stretch of a course into a stretch of a host."""
    truth = _host(host)
    sfreq = truth.info["sfreq"]
    ratio = Fraction(sfreq / course.sfreq).limit_denominator(1000)
    values = resample_poly(course.values, ratio.numerator, ratio.denominator)
    n = min(values.size, truth.n_times, int(LONGEST * sfreq))
    start, first = (int(rng.integers(m - n + 1)) for m in (truth.n_times, values.size))
    stop = min(start + n, truth.n_times) - 1
    truth = truth.copy().crop(start / sfreq, stop / sfreq)
    n = truth.n_times
    field = _field_at(course.field, truth, rng)
    part = size * np.outer(field, values[first : first + n])
    raw = truth.copy()
    raw._data += part
    events = np.round(course.onsets * sfreq).astype(int) - first
    events = events[(events >= 0) & (events < n)]
    return Pair(kind, host, donor, raw, truth, part, events, size)


# Kinds of which hosts have some of their own, so that what is not put in is not known there.
OWN = {
    "eye movement": ("hypyp_ec1", "eegmmidb_S018R02", "EEGLAB"),
    "muscle": HOSTS["muscle"],
    "electrode": ("hypyp_ec1",),
}


def put_in_case(pair: Pair, ica: ICA | None = None) -> Case:
    """Return a pair with its ICA, and which components hold what was put in."""
    name = f"put in {pair.name}"
    # The square wave of an electrode is a control of all other kinds.
    kind = pair.kind or ("electrode" if pair.donor.endswith("electrode") else "")
    known = pair.host not in OWN.get(kind, ())
    case = case_of(name, pair.raw, kind, pair.part, pair.events, known, ica)
    if pair.host.startswith("eegmat"):
        # A component that is mostly what was put in may be locked to the host's own heart as well.
        sfreq, first = pair.raw.info["sfreq"], pair.raw.first_samp - _host(pair.host).first_samp
        beats = np.round(_onsets(pair.host, "heartbeat") * sfreq).astype(int) - first
        beats = beats[(beats >= 0) & (beats < pair.raw.n_times)]
        sources = unmixing_in_volts(case.ica) @ pair.raw.get_data(case.ica.ch_names)
        seen = HELD * locked(sources, beats, sfreq)
        case.holds["heartbeat"] = np.where(seen >= ABSENT, np.nan, case.holds["heartbeat"])
    return case


@cache
def _host(name: str) -> mne.io.BaseRaw:
    if name == "EEGLAB":
        return host_recording(DATA, name).pick("eeg", exclude=["EOG1", "EOG2"])
    return read_real(name).pick("eeg", exclude="bads")


# -- courses ------------------------------------------------------------------------------


@cache
def _courses() -> dict[str, dict[str, Course]]:
    return {
        "eye movement": dict(_eye_courses()),
        "heartbeat": dict(_heart_courses()),
        "muscle": dict(_muscle_courses()),
        "electrode": dict(_electrode_courses()),
    }


def _scaled(x: NDArray[np.float64], height: float) -> NDArray[np.float64]:
    return (x - np.median(x)) / height


def _eye_courses() -> Iterator[tuple[str, Course]]:
    """Yield EOG channels, and the difference between the temples where there is none."""
    for name, plus, minus, span, field, top in (
        ("biocalib", "EOG", None, (2, 62), "right", 10),
        ("oset22", "EOG2", None, (0, 60), "up", 10),
        ("eeguana_faces", "VEOG", None, (0, 27), "up", 8),
        ("eegmmidb_S001R01", "F8", "F7", (0, 60), "right", 6),
        ("mmidb_S002R01", "F8", "F7", (0, 60), "right", 6),
        ("eegmmidb_S018R02", "F8", "F7", (0, 60), "right", 2),  # roving eyes, closed
        ("hypyp_ec1", "F8", "F7", (0, 50), "right", 2),
    ):
        raw = read_real(name)
        sfreq = raw.info["sfreq"]
        x = raw.get_data(plus)[0] - (raw.get_data(minus)[0] if minus else 0)
        x = filtered(x[np.newaxis], sfreq, 0.1, top)[0]
        x = x[int(span[0] * sfreq) : int(span[1] * sfreq)]
        n = int(0.15 * sfreq)
        change = np.abs(x[n:] - x[:-n])
        x = _scaled(x, np.quantile(change, 0.98))
        at, _ = find_peaks(change, height=np.quantile(change, 0.95), distance=2 * n)
        yield name, Course(x, sfreq, (at + n / 2) / sfreq, field)


def _heart_courses() -> Iterator[tuple[str, Course]]:
    """Yield ECG channels, R peaks up."""
    for name in (*_hearts(), "eegmat_03", "oset22", "eegr_multimodal"):
        raw = read_real(name)
        sfreq, onsets = raw.info["sfreq"], _onsets(name, "heartbeat")
        x = filtered(raw.get_data("ecg"), sfreq, 0.5, 40.0)[0]
        height = np.median(x[np.round(onsets * sfreq).astype(int).clip(0, x.size - 1)])
        yield name, Course(_scaled(x, height), sfreq, onsets, "heart")


def _hearts() -> tuple[str, ...]:
    return ("eegmat_00", "eegmat_01_1", "eegmat_05_1", "eegmat_14_1", "eegmat_20_1")


def _muscle_courses() -> Iterator[tuple[str, Course]]:
    """Yield jaw and finger muscle: EMG channels, and EEG channels above 20 Hz while it is tense."""
    for name, channel, span in (
        ("biocalib", "EMG", (50, 110)),
        ("biocalib T7", "T7", (50, 110)),
        ("openbci8", None, (0, 90)),
        ("eegr_multimodal", "AgL", (0, 30)),
        ("hypyp_ec1", "T7", (0, 50)),
    ):
        raw = read_real(name.split()[0])
        sfreq = raw.info["sfreq"]
        channel = channel if channel in raw.ch_names else None
        x = raw.get_data("eeg" if channel is None else channel)
        x = filtered(x, sfreq, 20.0, min(90.0, 0.45 * sfreq))
        x = x[np.argmax(x.std(axis=1)), int(span[0] * sfreq) : int(span[1] * sfreq)]
        loud = np.sqrt(np.convolve(x**2, np.ones(int(sfreq)) / sfreq, "same"))
        height = np.quantile(loud, 0.95)
        at, _ = find_peaks(loud, height=0.5 * height, distance=int(sfreq))
        yield name, Course(x / height, sfreq, at / sfreq, "muscle")


def _electrode_courses() -> Iterator[tuple[str, Course]]:
    """Yield channels with a fault, less what their recording has in common."""
    for name, channel in (
        ("mmidb_S004R01", "FT8"),
        ("eegmmidb_S001R01", "F8"),
        ("mne_sample_24s", "EEG 053"),
        ("openbci8", None),
        ("hypyp_ec1", None),
    ):
        raw = read_real(name)
        sfreq, x = raw.info["sfreq"], raw.get_data("eeg")
        names = raw.copy().pick("eeg").ch_names
        x = filtered(x - np.median(x, axis=0), sfreq, 0.3, min(45.0, 0.45 * sfreq))
        k = names.index(channel) if channel in names else int(np.argmax(x.std(axis=1)))
        height = x[k].std()
        at, _ = find_peaks(np.abs(x[k]), height=4 * height, distance=int(0.5 * sfreq))
        yield name, Course(x[k] / height, sfreq, at / sfreq, "electrode")


def _onsets(name: str, kind: str) -> NDArray[np.float64]:
    rows = [line.split("\t") for line in (DATA / f"{name}_events.tsv").read_text().splitlines()[1:]]
    return np.array([float(onset) for onset, what, *_ in rows if what == kind])


# -- maps ---------------------------------------------------------------------------------


@cache
def _fields(name: str) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return places and values of maps measured at real events."""
    if name == "right":
        donors = ("eegmmidb_S001R01", "mmidb_S002R01", "eegmmidb_S018R02")
        return [_at_steps(donor, "F8", "F7") for donor in donors]
    if name == "up":
        return [_at_steps("eeguana_faces", "VEOG", None)]
    if name == "heart":
        return [_at_beats(donor) for donor in _hearts()]
    return [_of_muscle()]


def places(info: mne.Info) -> NDArray[np.float64]:
    """Return the positions of channels on a sphere of radius one: right, front, up."""
    at = np.array([ch["loc"][:3] for ch in info["chs"]])
    at[~at.any(axis=1)] = np.nan
    away = at - fit_sphere(at[np.isfinite(at).all(axis=1)])[0]
    return away / np.linalg.norm(away, axis=1, keepdims=True)


def _at_steps(name: str, plus: str, minus: str | None) -> tuple[NDArray, NDArray]:
    """Return how far each channel goes with the largest steps of the eyes."""
    raw = read_real(name)
    y = raw.get_data(plus)[0] - (raw.get_data(minus)[0] if minus else 0)
    raw.pick("eeg")
    sfreq = raw.info["sfreq"]
    x = filtered(np.vstack([raw.get_data(), y]), sfreq, 0.3, 10.0)
    n = int(0.15 * sfreq)
    change = x[:, n:] - x[:, :-n]
    large = np.abs(change[-1]) > np.quantile(np.abs(change[-1]), 0.95)
    return places(raw.info), change[:-1, large] @ change[-1, large]


def _at_beats(name: str) -> tuple[NDArray, NDArray]:
    raw = read_real(name).pick("eeg")
    sfreq = raw.info["sfreq"]
    x = filtered(raw.get_data(), sfreq, 2.0, 35.0)
    at = np.round(_onsets(name, "heartbeat") * sfreq).astype(int)
    return places(raw.info), x[:, at[at < x.shape[1]]].mean(axis=1)


def _of_muscle() -> tuple[NDArray, NDArray]:
    """Return the main map above 20 Hz while the jaw is clenched."""
    raw = read_real("biocalib").pick("eeg").crop(65.6, 74.0)
    x = filtered(raw.get_data(), raw.info["sfreq"], 20.0, 55.0)
    return places(raw.info), np.linalg.svd(x, full_matrices=False)[0][:, 0]


def _field_at(name: str, raw: mne.io.BaseRaw, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return a map at the channels of a recording, the largest value one."""
    n = len(raw.ch_names)
    if name == "electrode":
        return np.eye(n)[rng.integers(n)]
    at = places(raw.info)
    known = np.isfinite(at).all(axis=1)
    if name == "muscle" and rng.random() < 0.7:  # most muscles are smaller than a jaw
        centre = at[known][rng.choice(np.flatnonzero(at[known][:, 2] < 0.3))]
        field = _bump(at, known, centre, rng.uniform(0.2, 0.5))
    elif name in ("focal", "broad"):
        centre = at[known][rng.integers(known.sum())]
        field = _bump(at, known, centre, dict(focal=0.4, broad=1.0)[name])
    else:
        some = _fields(name)
        donor_at, values = some[rng.integers(len(some))]
        field = np.zeros(n)
        field[known] = RBFInterpolator(donor_at, values, smoothing=1e-3)(at[known])
        if name == "heart":
            field *= np.sign(np.median(field[known])) or 1.0
    data = raw.get_data()
    # A map in another reference would add a dimension of its own, free of any brain.
    if np.abs(data.mean(axis=0)).max() < 1e-3 * data.std():
        field = field - field.mean()
    return field / np.abs(field).max()


def _bump(at: NDArray, known: NDArray, centre: NDArray, reach: float) -> NDArray[np.float64]:
    field = np.zeros(len(at))
    field[known] = np.exp(-0.5 * ((at[known] - centre) ** 2).sum(axis=1) / reach**2)
    return field


# -- controls -----------------------------------------------------------------------------


def _spike_and_wave(phase: NDArray[np.float64]) -> NDArray[np.float64]:
    late = phase / (2 * np.pi) % 1
    return np.exp(-0.5 * ((late - 0.15) / 0.04) ** 2) - 0.8 * np.exp(
        -0.5 * ((late - 0.6) / 0.15) ** 2
    )


# Waveform of a phase, frequencies in hertz, and maps.
CONTROLS: dict[str, tuple[Callable, tuple[float, float], str]] = {
    "delta or theta": (np.cos, (1, 6), "broad"),
    "focal delta or theta": (np.cos, (1, 6), "focal"),
    "sharp delta or theta": (lambda p: sawtooth(p, 0.15), (1, 6), "broad"),
    "sharp focal delta": (lambda p: np.exp(2 * np.cos(p)) / 4, (1, 3), "focal"),
    "spike and wave": (_spike_and_wave, (2.5, 4), "broad"),
    "alpha": (np.cos, (8, 12), "broad"),
    "mu": (lambda p: np.cos(p) + 0.5 * np.cos(2 * p), (9, 11), "focal"),
    "square wave of an electrode": (lambda p: square(p, 0.3), (0.8, 4), "electrode"),
    "slow movement": (np.cos, (0.1, 0.4), "broad"),
}


def controls(repeats: int = 3) -> Iterator[Pair]:
    """Yield rhythms that wax and wane in real EEG, with frequencies that drift."""
    for d, (name, (shape, band, field)) in enumerate(CONTROLS.items()):
        for h, host in enumerate(HOSTS["heartbeat"]):
            for repeat in range(repeats):
                rng = np.random.default_rng([99, d, h, repeat])
                sfreq, n = 100.0, 6000
                freq = np.exp(rng.uniform(*np.log(band)))
                phase = np.cumsum(freq * (1 + 0.02 * np.cumsum(rng.standard_normal(n)) / 10))
                phase *= 2 * np.pi / sfreq
                slow = filtered(rng.standard_normal((1, n)), sfreq, None, 0.2)[0]
                swell = np.exp(rng.uniform(0, 0.8) * slow / slow.std())
                size = 1e-6 * np.exp(rng.uniform(*np.log((15, 80))))
                values = shape(phase) * (1.0 if "electrode" in name else swell)
                course = Course(values, sfreq, np.zeros(0), field)
                yield put_in("", host, name, course, float(size), rng)


# -- what the finder says -----------------------------------------------------------------


def report(kind: str) -> Iterator[str]:
    """Yield how often what was put in is found, and what is found in its host by itself."""
    rows = []
    for pair in pairs(kind) if kind else controls():
        case = put_in_case(pair)
        _, scores = find_bads_artifacts(case.ica, case.raw)
        for row in scores.rows:
            holds = case.holds[row.kind][row.component]
            rows.append((pair.name, row.kind, row.probability, row.answer, holds))
    for name in KINDS if not kind else [kind]:
        own = [row for row in rows if row[1] == name]
        held = [row for row in own if row[4] == 1]
        with_it = {row[0] for row in held}
        found = {row[0] for row in held if row[3] == "yes"}
        sure = [row for row in own if row[2] >= REMOVE and np.isfinite(row[4])]
        wrong = {row[0] for row in sure if row[4] == 0}
        yield (
            f"| {kind or 'controls'} | {name} | {len({row[0] for row in own})} | {len(with_it)} | "
            f"{len(found)} | {len(sure)} | {sum(row[4] for row in sure):.0f} | {len(wrong)} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=KINDS, help="one kind only; None means all, and controls")
    args = parser.parse_args()
    mne.set_log_level("ERROR")
    print(HEAD)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in [args.kind] if args.kind else [*KINDS, ""]:
            print(*report(kind), sep="\n", flush=True)


if __name__ == "__main__":
    main()
