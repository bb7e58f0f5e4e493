"""Recordings in which it is known what each component holds: simulated ones and real ones.

An artifact is visible in a component if its typical height, or its power, is at least ``VISIBLE``
times that of everything else in the component. The component is said to hold it from half of that
on, and not to hold it below an eighth. What lies between is neither.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import mne
import numpy as np
from mne.preprocessing import ICA
from numpy.typing import NDArray

from benchmarks.controls import with_controls
from mne_otica.artifacts.components import Components
from mne_otica.artifacts.find import sensor_names
from mne_otica.cleaning.clean import fit_ica
from mne_otica.signals.low_rate import Signals, filtered, robust_scale
from mne_otica.signals.reading import filtered_copy
from mne_otica.signals.unmixing import unmixing_in_volts
from mne_otica.simulation import SimulatedRecording, simulate_raw

DATA = Path(os.environ.get("MNE_OTICA_DATA", Path(__file__).parents[2] / "shared" / "data"))

# Blinks: median height between 1 and 10 Hz, over the robust deviation of the rest. Eye movements:
# median step likewise. Heartbeats: height of the average beat, over the deviation of the rest
# between 1 and 35 Hz. Muscle: power above 20 Hz, over that of the rest. Electrodes: power between 1
# and 40 Hz, where the ICA is fitted, over that of the rest.
VISIBLE = {"blink": 12.0, "eye movement": 10.0, "heartbeat": 3.0, "muscle": 4.0, "electrode": 4.0}
HELD = 0.5  # of that
ABSENT = 0.125  # of that

CHANNELS = (8, 12, 16, 19, 24, 32, 48, 64, 96, 128)
BANDS = ((None, None), (None, None), (0.1, None), (1.0, 40.0), (0.5, 45.0))
# How often each source is there, and its smallest and largest height in microvolts.
SOURCES = {
    "saccade": (0.5, 8, 150),
    "pursuit": (0.15, 15, 150),
    "heartbeat": (0.5, 1, 40),
    "pulse": (0.15, 4, 60),
    "muscle": (0.35, 3, 60),
    "tonic muscle": (0.3, 2, 40),
    "pop": (0.25, 60, 1500),
    "noisy": (0.2, 10, 150),
    "drift": (0.15, 40, 600),
    "lead hum": (0.15, 5, 100),
    "alpha": (0.2, 10, 60),
    "mu": (0.15, 8, 40),
    "frontal delta": (0.15, 15, 90),
    "photic driving": (0.12, 5, 30),
    "head shaking": (0.15, 30, 300),
    "chest percussion": (0.1, 30, 300),
    "breathing": (0.15, 20, 200),
}
# The same for recordings with few electrodes and hobby amplifiers, whose drift is not filtered.
FEW_CHANNELS = (4, 6, 8)
FEW_SOURCES = {
    "saccade": (0.4, 8, 100),
    "heartbeat": (0.2, 1, 30),
    "muscle": (0.5, 10, 100),
    "tonic muscle": (0.2, 2, 40),
    "pop": (0.2, 60, 1000),
    "noisy": (0.3, 10, 150),
    "drift": (0.3, 40, 600),
    "alpha": (0.3, 10, 60),
    "frontal delta": (0.1, 15, 90),
    "head shaking": (0.15, 30, 300),
    "breathing": (0.15, 20, 200),
    "sweat": (0.7, 30, 800),
}


@dataclass(frozen=True)
class Case:
    """A recording as it is shown to the finders, its ICA, and the truth.

    ``holds`` has, for each kind, one value per component: 1, 0, or NaN where it is neither or not
    known; ``visibility`` how visible the artifact is, over what is said to be visible. ``parts``
    is what each kind adds to the channels, where that is known.
    """

    name: str
    raw: mne.io.BaseRaw
    ica: ICA
    holds: dict[str, NDArray[np.float64]]
    visibility: dict[str, NDArray[np.float64]]
    parts: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    def components(self) -> Components:
        """Return the components with all that is known about them."""
        sensors = sensor_names(self.raw.info, None)
        names = list(dict.fromkeys([*self.ica.ch_names, *sum(sensors.values(), [])]))
        signals = Signals.of_channels(self.raw, names, True)
        return Components.of(self.ica, self.raw.info, signals, sensors)


def design(seed: int, stream: int) -> dict:
    """Draw the settings of one simulated recording."""
    rng = np.random.default_rng([stream, seed])
    duration = round(float(rng.uniform(60, 90)))
    blinks = rng.random() < 0.6
    extra = _extra(SOURCES, rng)
    sleeps = not blinks and rng.random() < 0.3
    if sleeps:
        extra = {name: v for name, v in extra.items() if name not in ("saccade", "pursuit")}
    if "heartbeat" in extra:
        extra.pop("pulse", None)  # of another heart
    low, high = BANDS[rng.integers(len(BANDS))]
    return dict(
        settings=dict(
            channels=int(rng.choice(CHANNELS)),
            duration=duration,
            sfreq=float(rng.choice([128, 160, 200, 250])),
            n_blinks=int(duration / np.exp(rng.uniform(np.log(1.5), np.log(15)))) if blinks else 0,
            blink_amplitude=float(np.exp(rng.uniform(np.log(40e-6), np.log(300e-6)))),
            eye_rotation=float(rng.uniform(0.2, 0.8)) if rng.random() < 0.2 else 0.0,
            movements=int(rng.integers(1, 4)) if rng.random() < 0.15 else 0,
            line_freq=50.0 if rng.random() < 0.6 else None,
            reference=str(rng.choice(["mastoids", "average"])),
            saccades=False,
            muscle=False,
            heartbeat=False,
            extra=with_controls(extra, sleep=bool(sleeps)),
            random_state=int(rng.integers(2**31)),
        ),
        low=low,
        high=high,
        geometry=str(rng.choice(["positions", "names", "none"], p=[0.8, 0.12, 0.08])),
        sensors=bool(rng.random() < 0.2),
    )


def _extra(
    sources: dict[str, tuple[float, float, float]], rng: np.random.Generator
) -> dict[str, float]:
    """Draw which sources there are, and how high."""
    extra = {}
    for name, (share, least, most) in sources.items():
        height = 1e-6 * np.exp(rng.uniform(np.log(least), np.log(most)))
        if rng.random() < share:
            extra[name] = float(height)
    return extra


def few_channels(seed: int, stream: int) -> dict:
    """Draw the settings of one recording of a hobby amplifier, short and hardly named."""
    rng = np.random.default_rng([stream, seed, len(FEW_CHANNELS)])
    duration = round(float(rng.uniform(24, 100)))
    n_blinks = int(rng.integers(3, duration // 3)) if rng.random() < 0.7 else 0
    return dict(
        settings=dict(
            channels=int(rng.choice(FEW_CHANNELS)),
            duration=duration,
            sfreq=float(rng.choice([128, 200, 250])),
            n_blinks=n_blinks,
            blink_amplitude=float(np.exp(rng.uniform(np.log(50e-6), np.log(250e-6)))),
            eye_rotation=float(rng.uniform(0.2, 0.6)) if rng.random() < 0.2 else 0.0,
            movements=int(rng.integers(1, 4)) if rng.random() < 0.4 else 0,
            line_freq=50.0 if rng.random() < 0.6 else None,
            saccades=False,
            muscle=False,
            heartbeat=False,
            extra=with_controls(_extra(FEW_SOURCES, rng)),
            random_state=int(rng.integers(2**31)),
        ),
        low=None,
        high=None,
        geometry=str(rng.choice(["positions", "names", "none"], p=[0.15, 0.15, 0.7])),
        sensors=False,
    )


def simulated(seed: int, stream: int, draw: Callable[[int, int], dict] = design) -> Case:
    """Return one simulated recording with the truth about its components."""
    drawn = draw(seed, stream)
    sim = simulate_raw(**drawn["settings"])
    raw = sim.raw.copy()
    if drawn["low"] or drawn["high"]:
        raw.filter(drawn["low"], drawn["high"])
    ica = fit_ica(filtered_copy(raw, 1.0, 40.0), None, 0, True)
    parts = _parts(sim, raw, drawn)
    visibility = _visibility(sim, raw, ica, parts)
    if drawn["sensors"]:
        raw.add_channels([_sensors(sim, seed)], force_update_info=True)
    _hide_geometry(raw, ica, drawn["geometry"])
    holds = {kind: _holds(values) for kind, values in visibility.items()}
    name = f"simulation {seed}" if draw is design else f"simulation {draw.__name__} {seed}"
    return Case(name, raw, ica, holds, visibility, parts)


def _holds(visibility: NDArray[np.float64]) -> NDArray[np.float64]:
    unclear = (visibility >= ABSENT) & (visibility < HELD)
    return np.where(unclear, np.nan, (visibility >= HELD).astype(float))


def _parts(
    sim: SimulatedRecording, raw: mne.io.BaseRaw, drawn: dict
) -> dict[str, NDArray[np.float64]]:
    """Return what each kind adds to the recording, filtered as it is."""
    parts = {kind: sim.part(kind) for kind in VISIBLE}
    if drawn["low"] or drawn["high"]:
        band = drawn["low"], drawn["high"]
        for kind, part in parts.items():
            if part.any():
                parts[kind] = mne.filter.filter_data(part, raw.info["sfreq"], *band)
    return parts


def _visibility(
    sim: SimulatedRecording,
    raw: mne.io.BaseRaw,
    ica: ICA,
    parts: dict[str, NDArray[np.float64]],
) -> dict[str, NDArray[np.float64]]:
    """Return how visible each kind is in each component."""
    sfreq, unmixing = raw.info["sfreq"], unmixing_in_volts(ica)
    whole = unmixing @ raw.get_data()
    found = {}
    for kind in VISIBLE:
        part = unmixing @ parts[kind]
        events = sim.events.get(kind, np.zeros((0, 3), int))[:, 0]
        found[kind] = _MEASURES[kind](part, whole - part, events, sfreq) / VISIBLE[kind]
    return found


def case_of(
    name: str,
    raw: mne.io.BaseRaw,
    kind: str,
    part: NDArray[np.float64],
    events: NDArray[np.int64],
    known: bool,
    ica: ICA | None = None,
) -> Case:
    """Return the truth about a real recording to which a part was added.

    What the recording has of other kinds is not known, but for components that are mostly the
    part: these hold no other kind. ``known`` tells that there is none of this kind but the part.
    """
    ica = fit_ica(filtered_copy(raw, 1.0, 40.0), None, 0, True) if ica is None else ica
    unmixing, sfreq = unmixing_in_volts(ica), raw.info["sfreq"]
    added = unmixing @ part
    rest = unmixing @ raw.get_data(ica.ch_names) - added
    mostly = _power(added, rest, events, sfreq) > 1
    holds = {one: np.where(mostly, 0.0, np.nan) for one in VISIBLE}
    visibility = {one: np.where(mostly, 0.0, np.nan) for one in VISIBLE}
    if kind:
        seen = _MEASURES[kind](added, rest, events, sfreq) / VISIBLE[kind]
        visibility[kind] = seen
        own = _holds(seen)
        holds[kind] = own if known else np.where(own == 0, np.nan, own)
    return Case(name, raw, ica, holds, visibility, {kind: part} if kind else {})


def _peaks(
    part: NDArray[np.float64], rest: NDArray[np.float64], events: NDArray[np.int64], sfreq: float
) -> NDArray[np.float64]:
    if not len(events):
        return np.zeros(len(part))
    part, rest = (filtered(x, sfreq, 1.0, 10.0) for x in (part, rest))
    noise = np.array([robust_scale(row) for row in rest])
    return np.abs(np.median(_at(part, events, sfreq, 0.05), axis=1)).max(axis=1) / noise


def _at(
    x: NDArray[np.float64], events: NDArray[np.int64], sfreq: float, half: float
) -> NDArray[np.float64]:
    lags = np.arange(-int(half * sfreq), int(half * sfreq) + 1)
    return x[:, np.clip(events[:, np.newaxis] + lags, 0, x.shape[1] - 1)]


def _step_sizes(
    part: NDArray[np.float64], rest: NDArray[np.float64], events: NDArray[np.int64], sfreq: float
) -> NDArray[np.float64]:
    if not part.any():
        return np.zeros(len(part))
    part, rest = (filtered(x, sfreq, None, 10.0) for x in (part, rest))
    half = int(0.12 * sfreq)
    part, rest = (np.abs(x[:, 2 * half :] - x[:, : -2 * half]) for x in (part, rest))
    noise = np.array([robust_scale(row) for row in rest])
    near = np.clip(events - half, 0, part.shape[1] - 1)
    steps = np.median(part[:, near], axis=1) if len(near) else np.zeros(len(part))
    # Pursuit has no steps: there, how far the eyes get within a quarter of a second.
    return np.maximum(steps, np.quantile(part, 0.9, axis=1)) / noise


def _beats(
    part: NDArray[np.float64], rest: NDArray[np.float64], events: NDArray[np.int64], sfreq: float
) -> NDArray[np.float64]:
    if not len(events):
        return np.zeros(len(part))
    part, rest = (filtered(x, sfreq, 1.0, 35.0) for x in (part, rest))
    height = np.abs(np.median(_at(part, events, sfreq, 0.1), axis=1)).max(axis=1)
    return height / rest.std(axis=1)


def _high_power(
    part: NDArray[np.float64], rest: NDArray[np.float64], events: NDArray[np.int64], sfreq: float
) -> NDArray[np.float64]:
    part, rest = (filtered(x, sfreq, 20.0, min(45.0, 0.45 * sfreq)) for x in (part, rest))
    return part.var(axis=1) / rest.var(axis=1)


def _power(
    part: NDArray[np.float64], rest: NDArray[np.float64], events: NDArray[np.int64], sfreq: float
) -> NDArray[np.float64]:
    part, rest = (filtered(x, sfreq, 1.0, 40.0) for x in (part, rest))
    return part.var(axis=1) / rest.var(axis=1)


_MEASURES = {
    "blink": _peaks,
    "eye movement": _step_sizes,
    "heartbeat": _beats,
    "muscle": _high_power,
    "electrode": _power,
}


def _sensors(sim: SimulatedRecording, seed: int) -> mne.io.RawArray:
    """Return EOG, ECG and EMG channels that see the artifacts, and noise of their own."""
    rng = np.random.default_rng([seed, 1])
    kind_of = {"EOG": ("blink", "saccade"), "ECG": ("heartbeat",), "EMG": ("muscle",)}
    rows = []
    for sources in kind_of.values():
        chosen = np.isin(sim.source_names, sources)
        row = (np.abs(sim.mixing[:, chosen]).max(axis=0) @ sim.signals[chosen]) * 2
        rows.append(row + 5e-6 * rng.standard_normal(sim.raw.n_times))
    info = mne.create_info(list(kind_of), sim.raw.info["sfreq"], ["eog", "ecg", "emg"])
    return mne.io.RawArray(np.array(rows), info)


def _hide_geometry(raw: mne.io.BaseRaw, ica: ICA, geometry: str) -> None:
    """Take positions, or positions and telling names, away, in place."""
    if geometry == "positions":
        return
    raw.set_montage(None)
    if geometry == "none":
        names = {name: f"X{k}" for k, name in enumerate(ica.ch_names)}
        raw.rename_channels(names)
        ica.ch_names = [names[name] for name in ica.ch_names]
    ica.info = raw.copy().pick(ica.ch_names).info


# -- real recordings ----------------------------------------------------------------------

REAL = (
    "mne_sample_24s",
    "eeglab_data",
    "muse4",
    "openbci8",
    "eegmat_00",
    "eegmat_01_1",
    "eegmat_03",
    "eegmat_05_1",
    "eegmat_14_1",
    "eegmat_20_1",
    "eegmmidb_S001R01",
    "eegmmidb_S018R02",
    "microstates_ec",
    "emotiv_eyestate",
    "eegr_multimodal",
    "eeguana_faces",
    "biocalib",
    "oset22",
    "oset30",
    "hypyp_ec1",
    "mmidb_S002R01",
    "mmidb_S004R01",
    "sample28",
)
BLINKS_UNKNOWN = ("biocalib", "oset22")  # the eyes move, and whether they blink was not listed
# Multiple correlation with the EOG channels between 0.5 and 10 Hz: the eyes, or something else.
FOLLOWS, DOES_NOT = 0.8, 0.2
LOCKED = 1.5  # deviations of a component that the average beat of a hidden ECG reaches
OVER_CHANCE = 3.0  # times what it reaches for beats that are not there


def read_real(name: str) -> mne.io.BaseRaw:
    """Return a real recording with all its channels."""
    if name == "eeglab_data":
        raw = mne.io.read_raw_eeglab(DATA / "eeglab_data.set", preload=True)
        return raw.set_channel_types({"EOG1": "eog", "EOG2": "eog"}, on_unit_change="ignore")
    path = DATA / f"{name}_raw.fif"
    path = path if path.exists() else DATA / f"{name}_raw.fif.gz"
    return mne.io.read_raw_fif(path, preload=True)


def real(name: str, shown: bool = False) -> Case:
    """Return a real recording and what its EOG, ECG and tables prove.

    These channels are taken out, unless they are ``shown`` to the finders.
    """
    raw = read_real(name)
    hidden = raw.copy().pick("eeg")
    ica = fit_ica(filtered_copy(hidden, 1.0, 40.0), None, 0, True)
    sources = unmixing_in_volts(ica) @ hidden.get_data(ica.ch_names)
    unknown = np.full(len(sources), np.nan)
    visibility = {kind: unknown for kind in VISIBLE}
    blinks, beats = _listed(name, raw, "blink"), _listed(name, raw, "heartbeat")
    sfreq = raw.info["sfreq"]
    if blinks is not None and name not in BLINKS_UNKNOWN:
        # Between the blinks there is the rest of the component; the median hardly sees them.
        visibility["blink"] = _peaks(sources, sources, blinks, sfreq) / VISIBLE["blink"]
    if beats is not None:
        visibility["heartbeat"] = HELD * locked(sources, beats, sfreq)
    holds = {kind: _holds(v) if np.isfinite(v).all() else unknown for kind, v in visibility.items()}
    if "eog" in raw and name in SEES_GAZE:
        holds["eye movement"] = _follows(sources, raw)
    return Case(name, raw if shown else hidden, ica, holds, visibility)


SEES_GAZE = ("biocalib", "oset22", "eeguana_faces", "eegr_multimodal")  # by EOG, and without blinks


def _follows(sources: NDArray[np.float64], raw: mne.io.BaseRaw) -> NDArray[np.float64]:
    x, eog = (filtered(x, raw.info["sfreq"], 0.5, 10.0) for x in (sources, raw.get_data("eog")))
    fit = np.linalg.lstsq(eog.T, x.T, rcond=None)[0].T @ eog
    share = np.sqrt(fit.var(axis=1) / x.var(axis=1))
    return np.where(share >= FOLLOWS, 1.0, np.where(share < DOES_NOT, 0.0, np.nan))


def locked(
    sources: NDArray[np.float64], beats: NDArray[np.int64], sfreq: float
) -> NDArray[np.float64]:
    """Return how much components are locked to an ECG; 1 is what counts as locked.

    The smaller of two shares: of `LOCKED` deviations, and of `OVER_CHANCE` times chance.
    """
    x = filtered(sources, sfreq, 1.0, 35.0)
    x /= x.std(axis=1, keepdims=True)
    rng = np.random.default_rng(0)
    shifts = rng.integers(x.shape[1], size=40)
    chance = np.median([_average(x, (beats + shift) % x.shape[1], sfreq) for shift in shifts], 0)
    height = _average(x, beats, sfreq)
    return np.minimum(height / LOCKED, height / (OVER_CHANCE * chance))


def _average(x: NDArray[np.float64], beats: NDArray[np.int64], sfreq: float) -> NDArray[np.float64]:
    before, after = int(0.1 * sfreq), int(0.3 * sfreq)
    inside = beats[(beats >= before) & (beats < x.shape[1] - after)]
    lags = np.arange(-before, after)
    return np.abs(x[:, inside[:, np.newaxis] + lags].mean(axis=1)).max(axis=1)


def _listed(name: str, raw: mne.io.BaseRaw, kind: str) -> NDArray[np.int64] | None:
    """Return the samples of the listed events of one kind; None where none could be listed."""
    sfreq = raw.info["sfreq"]
    if name in ("muse4", "openbci8"):
        times = np.loadtxt(DATA / f"{name}_blinks.tsv", skiprows=1)[:, 0]
        return np.round(times * sfreq).astype(int) if kind == "blink" else None
    if "eog" in raw and kind == "blink" and not (DATA / f"{name}_events.tsv").exists():
        events = mne.preprocessing.find_eog_events(raw, ch_name=_vertical(raw))
        return events[:, 0] - raw.first_samp
    path = DATA / f"{name}_events.tsv"
    if not path.exists() or (kind == "heartbeat" and "ecg" not in raw):
        return None
    rows = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    times = [float(onset) for onset, what, *_ in rows if what.startswith(kind[:5])]
    return np.round(np.array(times) * sfreq).astype(int)


def _vertical(raw: mne.io.BaseRaw) -> str:
    return raw.copy().pick("eog").ch_names[0]
