"""Recordings whose blinks are known to the sample: simulated ones, and real EEG with real blinks.

The real EEG has no blinks of its own; the blinks are cut from other people's recordings, so that
neither the brain nor the eye follows a model.
"""

from dataclasses import dataclass
from pathlib import Path

import mne
import numpy as np
from numpy.typing import NDArray
from scipy.signal import resample_poly
from scipy.signal.windows import tukey

from mne_otica.artifacts.maps import eye_map
from mne_otica.simulation import simulate_raw

HOSTS = ("EEGLAB", "eegmmidb_S018R02", "microstates_ec")
DONORS = ("muse4", "openbci8", "eegmmidb_S001R01")
BEFORE, AFTER = 0.4, 0.6  # s that are cut round the peak of a blink
APART = 0.7  # s between two blinks at least
MIN_SPAN = 3.0  # s; shorter blink-free spans of the EEGLAB recording are not used
AWAY = 1.5  # s that these spans keep from its own blinks
JOIN = 0.1  # s over which spans are faded into each other


@dataclass(frozen=True)
class Case:
    """A recording with blinks, and the same recording without them."""

    name: str
    raw: mne.io.BaseRaw
    truth: mne.io.BaseRaw
    events: NDArray[np.int64]


def simulated(seed: int) -> Case:
    """Simulate one recording; what is drawn depends on the seed alone."""
    rng = np.random.default_rng([14, seed])
    duration = float(rng.uniform(60, 240))
    sim = simulate_raw(
        channels=int(rng.choice([19, 32, 64])),
        duration=duration,
        sfreq=float(rng.choice([128, 250, 500])),
        n_blinks=int(rng.uniform(6, 25) * duration / 60),
        blink_amplitude=float(rng.uniform(80e-6, 250e-6)),
        eye_rotation=float(rng.choice([0.0, 0.2])),
        movements=int(rng.integers(0, 3)),
        reference=str(rng.choice(["mastoids", "average"])),
        random_state=seed,
    )
    return Case(f"simulated {seed}", sim.raw, sim.without_blinks, sim.blink_events)


def real(folder: Path, host: str, donor: str, seed: int) -> Case:
    """Put the blinks of one person into the EEG of another."""
    rng = np.random.default_rng([HOSTS.index(host), DONORS.index(donor), seed])
    truth = host_recording(folder, host)
    times = blink_times(rng.uniform(8, 24) / 60, truth.times[-1], rng)
    return with_blinks(folder, truth, donor, times, rng, f"{host} + {donor}, {seed}")


def with_blinks(
    folder: Path,
    truth: mne.io.BaseRaw,
    donor: str,
    times: NDArray[np.float64],
    rng: np.random.Generator,
    name: str,
) -> Case:
    """Add blinks at these times, each drawn from those of the donor."""
    sfreq = truth.info["sfreq"]
    shapes = blink_courses(folder, donor, sfreq)
    height = rng.uniform(80e-6, 250e-6)
    course = np.zeros(truth.n_times)
    samples = np.round(times * sfreq).astype(int)
    for start in samples - int(BEFORE * sfreq):
        shape = shapes[rng.integers(len(shapes))]
        course[start : start + len(shape)] += shape
    field = blink_field(folder, truth, measured=donor == "eegmmidb_S001R01")
    raw = mne.io.RawArray(truth.get_data() + height * np.outer(field, course), truth.info)
    events = np.column_stack([samples, 0 * samples, 0 * samples + 1])
    return Case(name, raw, truth, events)


@dataclass(frozen=True)
class Trials:
    """Stimuli of two conditions that evoke the same, under more blinks in the first one."""

    case: Case
    onsets: NDArray[np.int64]
    first: NDArray[np.bool_]
    site: int  # the channel that sees most of the evoked response


def evoked(folder: Path, host: str, donor: str, seed: int) -> Trials:
    """Put a response of 5 uV into real EEG, and blinks on top of half of the trials."""
    rng = np.random.default_rng([HOSTS.index(host), DONORS.index(donor), seed, 3])
    truth = host_recording(folder, host)
    sfreq, n_times = truth.info["sfreq"], truth.n_times
    onsets = np.arange(1.5, n_times / sfreq - 2.5, 1.8)
    onsets = onsets + rng.uniform(0, 0.2, len(onsets))
    first = rng.permutation(len(onsets)) % 2 == 0
    times = np.arange(n_times) / sfreq
    response = np.exp(-0.5 * ((times - onsets[:, np.newaxis] - 0.35) / 0.06) ** 2).sum(axis=0)
    one_map, site = parietal(truth)
    truth = mne.io.RawArray(truth.get_data() + 5e-6 * np.outer(one_map, response), truth.info)
    under = rng.random(len(onsets)) < np.where(first, 0.8, 0.2)
    blinks = onsets[under] + rng.normal(0.35, 0.1, under.sum())
    case = with_blinks(folder, truth, donor, blinks, rng, f"{host} + {donor}, {seed}")
    return Trials(case, np.round(onsets * sfreq).astype(int), first, site)


def parietal(raw: mne.io.BaseRaw) -> tuple[NDArray[np.float64], int]:
    """Return a smooth map round Pz with the value one there, and the channel's index."""
    site = raw.ch_names.index("Pz")
    positions = np.array([ch["loc"][:3] for ch in raw.info["chs"]])
    distance = np.linalg.norm(positions - positions[site], axis=1)
    reach = 0.4 * np.nanmax(distance)
    one_map = np.nan_to_num(np.exp(-0.5 * (distance / reach) ** 2))
    return _referenced(one_map, raw) / _referenced(one_map, raw)[site], site


def blink_times(rate: float, duration: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return blink times that are never closer than a blink is long."""
    times = 1.0 + np.cumsum(APART + rng.exponential(1 / rate - APART, int(3 * rate * duration) + 9))
    return times[times < duration - 1]


def host_recording(folder: Path, host: str) -> mne.io.BaseRaw:
    """Return real EEG without blinks."""
    if host == "EEGLAB":
        return _eeglab_spans(folder)
    raw = mne.io.read_raw_fif(folder / f"{host}_raw.fif.gz", preload=True)
    return raw.pick("eeg")


def _eeglab_spans(folder: Path) -> mne.io.BaseRaw:
    """Return the spans of the EEGLAB recording between its blinks, faded into each other."""
    raw = mne.io.read_raw_eeglab(folder / "eeglab_data.set", preload=True)
    # Offsets would make steps where the spans meet.
    raw.filter(0.5, None)
    sfreq = raw.info["sfreq"]
    course = np.abs(raw.copy().pick(["FPz", "EOG1"]).filter(1, 10).get_data()).max(axis=0)
    near = np.convolve(course > 50e-6, np.ones(int(2 * AWAY * sfreq)), mode="same") > 0.5
    edges = np.flatnonzero(np.diff(np.r_[False, ~near, False].astype(int)))
    spans = [(a, b) for a, b in edges.reshape(-1, 2) if b - a >= MIN_SPAN * sfreq]
    n = int(JOIN * sfreq)
    fade = np.linspace(0, 1, n)
    data = raw.get_data()
    joined = data[:, slice(*spans[0])]
    for start, stop in spans[1:]:
        both = joined[:, -n:] * (1 - fade) + data[:, start : start + n] * fade
        joined = np.hstack([joined[:, :-n], both, data[:, start + n : stop]])
    return mne.io.RawArray(joined, raw.info)


def blink_courses(folder: Path, donor: str, sfreq: float) -> list[NDArray[np.float64]]:
    """Return single blinks at a sampling rate: zero at both ends, the median height one."""
    raw, onsets = donor_recording(folder, donor)
    raw.filter(0.3, 20.0)
    rate = raw.info["sfreq"]
    picks = ["Fp1", "Fpz", "Fp2"] if "mmidb" in donor else _largest(raw, onsets, donor)
    course = raw.get_data(picks).mean(axis=0) * (-1 if donor == "openbci8" else 1)
    cut = []
    for onset in onsets:
        near = int(onset * rate) + np.arange(-int(0.15 * rate), int(0.15 * rate))
        peak = near[np.argmax(course[near.clip(0, course.size - 1)])]
        start, stop = peak - int(BEFORE * rate), peak + int(AFTER * rate)
        if start < 0 or stop > course.size or (np.abs(onsets - onset) < AFTER).sum() > 1:
            continue
        one = course[start:stop]
        line = np.linspace(
            np.median(one[: int(0.1 * rate)]), np.median(one[-int(0.1 * rate) :]), len(one)
        )
        one = (one - line) * tukey(len(one), 0.3)
        cut.append(resample_poly(one, int(round(sfreq)), int(round(rate))))
    height = np.median([one.max() for one in cut])
    return [one / height for one in cut]


def donor_recording(folder: Path, donor: str) -> tuple[mne.io.BaseRaw, NDArray[np.float64]]:
    """Return a recording with blinks and their times in seconds."""
    table = next(folder.glob(f"{donor}_*.tsv"))
    lines = [line.split("\t") for line in table.read_text().splitlines()[1:]]
    onsets = np.array([float(onset) for onset, kind in lines if kind != "heartbeat"])
    path = next(folder.glob(f"{donor}_raw.fif*"))
    return mne.io.read_raw_fif(path, preload=True).pick("eeg"), onsets


def _largest(raw: mne.io.BaseRaw, onsets: NDArray[np.float64], donor: str) -> list[str]:
    """Return the two channels with the largest blinks; those of openbci8 are negative."""
    if donor == "muse4":
        return ["AF7", "AF8"]
    at = (onsets * raw.info["sfreq"]).astype(int)
    height = np.median(raw.get_data()[:, at], axis=1) * (1 if donor == "openbci8" else -1)
    return [raw.ch_names[k] for k in np.argsort(height)[:2]]


def blink_field(folder: Path, raw: mne.io.BaseRaw, measured: bool) -> NDArray[np.float64]:
    """Return the field of a blink at the channels, the largest value one."""
    if measured:
        names, field = _measured_field(folder)
        known = dict(zip(names, field, strict=True))
        if set(raw.ch_names) <= set(names):
            return _referenced(np.array([known[name] for name in raw.ch_names]), raw)
    field, _ = eye_map(raw.info, raw.ch_names)
    return _referenced(np.nan_to_num(field), raw)


def _referenced(field: NDArray[np.float64], raw: mne.io.BaseRaw) -> NDArray[np.float64]:
    """Return the field in the reference of the recording, the largest value one."""
    data = raw.get_data()
    # A field in another reference would add a dimension of its own, free of any brain.
    if np.abs(data.mean(axis=0)).max() < 1e-3 * data.std():
        field = field - field.mean()
    return field / np.abs(field).max()


def _measured_field(folder: Path) -> tuple[list[str], NDArray[np.float64]]:
    """Return the average blink of a 64-channel recording, at its peak."""
    raw, onsets = donor_recording(folder, "eegmmidb_S001R01")
    raw.filter(1.0, 15.0)
    at = np.round(onsets * raw.info["sfreq"]).astype(int)
    return raw.ch_names, np.mean(raw.get_data()[:, at], axis=1)
