"""Recordings and epochs of every sort, some of them hostile."""

from dataclasses import dataclass, field
from pathlib import Path

import mne
import numpy as np
from hypothesis import strategies as st

from mne_otica.simulation import simulate_raw

FORMATS = {"fif": "_raw.fif", "edf": ".edf", "brainvision": ".vhdr", "eeglab": ".set"}
SPOILED = ["nothing", "nothing", "nan", "constant", "offset", "loud", "all nan", "step"]


@dataclass(frozen=True)
class Made:
    """How a recording is made; Hypothesis prints it if a test fails."""

    n_channels: int = 8
    sfreq: float = 100.0
    seconds: int = 30
    n_blinks: int = 6
    seed: int = 0
    spoiled: str = "nothing"
    boundary: bool = False
    offset: float = 0.0  # of the run after the boundary, in volts
    bad: bool = False
    annotated: bool = False
    reference: str = "as is"
    cropped: bool = False
    artifacts: str | tuple[str, ...] = "blink"
    removal: str = "events"
    format: str | None = None
    epochs: dict = field(default_factory=dict)

    def raw(self) -> mne.io.BaseRaw:
        """Make the recording."""
        raw = simulate_raw(
            self.n_channels, self.seconds, 128.0, n_blinks=self.n_blinks, random_state=self.seed
        ).raw
        if self.sfreq != 128:
            raw.resample(self.sfreq)
        rng = np.random.default_rng(self.seed)
        k, at = int(rng.integers(self.n_channels)), int(rng.integers(raw.n_times // 2))
        if self.spoiled == "nan":
            raw._data[k, at : at + 40] = np.nan
        elif self.spoiled == "all nan":
            raw._data[:, at : at + 40] = np.nan
        elif self.spoiled == "constant":
            raw._data[k] = rng.choice([0.0, 3e-5])
        elif self.spoiled == "offset":
            raw._data += 0.02 * rng.standard_normal((len(raw._data), 1))
        elif self.spoiled == "loud":
            raw._data[k] *= 30
        elif self.spoiled == "step":
            raw._data[:, at:] += 1e-3
        if self.bad:
            raw.info["bads"] = [raw.ch_names[(k + 1) % self.n_channels]]
        if self.boundary:
            half = raw.n_times // 2
            raw.annotations.append(raw.times[half], 0.0, "EDGE boundary")
            raw._data[:, half:] += self.offset * np.linspace(-1, 1, self.n_channels)[:, np.newaxis]
        if self.annotated:
            raw.annotations.append(raw.times[at], 2.0, "BAD_x")
        if self.reference == "average":
            raw.set_eeg_reference(verbose="error")
        elif self.reference == "projection":
            raw.set_eeg_reference(projection=True, verbose="error")
        return raw.crop(1.5) if self.cropped else raw

    def read(self, folder: Path) -> mne.io.BaseRaw:
        """Make the recording, and read it from a file if there is a format, without loading it."""
        raw = self.raw()
        if self.format is None or self.spoiled in ("nan", "all nan"):  # which EDF cannot hold
            return raw
        path = Path(folder, f"a{FORMATS[self.format]}")
        if self.format == "fif":
            raw.save(path, overwrite=True, verbose="error")
        else:
            raw.del_proj()
            mne.export.export_raw(path, raw, overwrite=True, verbose="error")
        return mne.io.read_raw(path, preload=False, verbose="error")

    def cut(self, raw: mne.io.BaseRaw) -> mne.Epochs:
        """Cut epochs from it."""
        events = mne.make_fixed_length_events(raw, start=0.3, duration=1.7)
        options = dict(self.epochs)
        if "nan" in self.spoiled:  # which MNE cannot detrend
            options["detrend"] = None
        return mne.Epochs(raw, events, tmin=-0.2, verbose="error", **options)


KINDS = ["blink", "eye movement", "heartbeat", "muscle", "electrode"]
WAYS = st.fixed_dictionaries(
    dict(
        tmax=st.sampled_from([0.8, 1.5]),
        baseline=st.sampled_from([None, (None, 0), (0, 0.2)]),
        decim=st.sampled_from([1, 1, 2, 3]),
        detrend=st.sampled_from([None, None, 0, 1]),
        preload=st.booleans(),
    )
)


def made(**fixed):
    """Return a strategy of recordings."""
    options = dict(
        n_channels=st.sampled_from([4, 5, 8, 16]),
        sfreq=st.sampled_from([128.0, 128.0, 250.0, 100.0, 32.0]),
        seconds=st.sampled_from([12, 20, 30]),
        n_blinks=st.sampled_from([0, 1, 2, 6, 10]),
        seed=st.integers(0, 10**6),
        spoiled=st.sampled_from(SPOILED),
        boundary=st.booleans(),
        offset=st.sampled_from([0.0, 1e-3, 0.02]),
        bad=st.booleans(),
        annotated=st.booleans(),
        reference=st.sampled_from(["as is", "average", "projection"]),
        cropped=st.booleans(),
        artifacts=st.one_of(
            st.just("blink"),
            st.just("all"),
            st.lists(st.sampled_from(KINDS), min_size=1, unique=True).map(tuple),
        ),
        removal=st.sampled_from(["events", "events", "component"]),
    )
    return st.builds(Made, **options | fixed)


def files():
    """Return a strategy of recordings in files that are not loaded."""
    return made(format=st.sampled_from(list(FORMATS)))


def epoched():
    """Return a strategy of recordings from which epochs are cut."""
    return made(epochs=WAYS, boundary=st.just(False), annotated=st.just(False))
