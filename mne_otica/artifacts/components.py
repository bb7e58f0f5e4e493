"""Components, or channels, with all the evidence about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from mne import Info
from mne.preprocessing import ICA

from mne_otica.artifacts import events as ev
from mne_otica.artifacts import maps as _maps
from mne_otica.artifacts import rhythm as _rhythm
from mne_otica.signals.low_rate import LARGE, Prepared, Signals, windows_around
from mne_otica.signals.spectra import high_levels, spectral_figures, usable_top
from mne_otica.signals.unmixing import maps_in_volts
from mne_otica.utils.arrays import Array, Mask, Samples

HUM = 1.0  # line noise ten times above its neighbours and above the other components
SENSORS = ("eog", "ecg", "emg")  # types of channels that see an artifact directly


@dataclass(frozen=True)
class Components:
    """Signals, maps, and the channels that may prove what they hold."""

    signals: Signals
    channels: Signals  # the EEG channels behind them
    maps: Array  # over EEG channels, in volts; none where channels are looked at
    expected: Array  # the map of a blink; NaN where it is not known
    fields: Array  # the maps of eyes that turn, likewise
    geometry: str
    sensors: Mapping[str, Signals]  # usable EOG, ECG and EMG channels, none has to be there
    unusable: Mapping[str, str] = field(default_factory=dict)  # why others are not used, by name

    @classmethod
    def of(
        cls, ica: ICA, info: Info, channels: Signals, sensors: Mapping[str, Sequence[str]]
    ) -> Components:
        """Unmix channels that were read, those of the sensors among them."""
        is_eeg = np.array(ica.get_channel_types()) == "eeg"
        names = list(np.array(ica.ch_names)[is_eeg])
        expected, geometry = _maps.eye_map(info, names)
        if not _maps.has_front(expected):
            # Where no electrode is near the eyes, a map cannot speak for or against them.
            expected = np.full(len(names), np.nan)
        fields, _ = _maps.eye_fields(info, names)
        fields = np.where(np.isnan(expected)[:, np.newaxis], np.nan, fields)
        own, eeg, maps = channels.components(ica), channels.pick(names), maps_in_volts(ica)[is_eeg]
        known = usable_sensors(channels, eeg, sensors)
        return cls(own, eeg, maps, expected, fields, geometry, *known)

    @classmethod
    def of_channels(cls, channels: Signals, names: Sequence[str]) -> Components:
        """Look at channels themselves, whose maps say nothing."""
        some, maps = channels.pick(names), np.zeros((0, len(names)))
        return cls(some, some, maps, np.zeros(0), np.zeros((0, 3)), "none", {})

    def __len__(self) -> int:
        return len(self.signals.names)

    @property
    def prepared(self) -> Prepared:
        """The signals at the low rate."""
        return self.signals.prepared

    @cached_property
    def blinks(self) -> list[ev.Evidence]:
        """The large deflections of each, those that most of them have in common."""
        prepared, found = self.prepared, []
        for k in range(len(self)):
            one = ev.evidence(prepared, k)
            if one.n_events > 4:
                # Across components a blink looks like the other blinks; the odd drift or movement
                # that this component picked up as well does not, and says nothing of blinks.
                same = _maps.same_map(_maps.event_maps(prepared, one.peaks), prepared.noise)
                if 0.6 <= same.mean() < 1:
                    peaks = np.round(one.peaks[same]).astype(int)
                    one = ev.describe(prepared, k, peaks, one.polarity)
            found.append(one)
        return found

    @cached_property
    def heart(self) -> _rhythm.Rhythm:
        """The beats of the one heart there is, by an ECG channel or by the signals themselves."""
        if "ecg" in self.sensors:
            found = _rhythm.rhythms(self.sensors["ecg"].prepared)
            best = max(found, key=lambda rhythm: rhythm.z)
            return replace(best, z=max(best.z, _rhythm.PROVEN))
        return _rhythm.one_heart(self.prepared)

    @cached_property
    def locking(self) -> Array:
        """The height of the average at the heartbeats, in deviations of each."""
        return _rhythm.locking(self.prepared, self.heart.peaks)

    @cached_property
    def steps(self) -> list[ev.Steps]:
        """The steps of each."""
        return ev.steps(self.prepared)

    @cached_property
    def spectra(self) -> dict[str, Array]:
        """Figures of the spectrum of each."""
        top = usable_top(self.channels.spectra)
        figures = spectral_figures(self.signals.spectra, top)
        quiet = spectral_figures(self.channels.spectra, top)["density"]
        quiet = quiet[np.isfinite(quiet)]
        with np.errstate(divide="ignore", invalid="ignore"):
            # How far the component rises above what the quieter channels hold there.
            floor = np.quantile(quiet, 0.25) if len(quiet) else np.nan
            figures["excess"] = np.log10(figures["density"] * self.reach**2 / floor)
            # How far it rises, when it is loud, above what it is at other times.
            figures["burst"] = np.log10(figures["loud_density"] / figures["density"])
        known = figures["hum"][np.isfinite(figures["hum"])]
        figures["hum_alone"] = figures["hum"] - (np.median(known) if len(known) else np.nan)
        return figures

    @cached_property
    def is_hum(self) -> Mask:
        """Whether each has more line noise than anything else, and more than the others have."""
        with np.errstate(invalid="ignore"):
            return (self.spectra["hum_share"] > 0) & (self.spectra["hum_alone"] > HUM)

    @cached_property
    def reach(self) -> Array:
        """Volts of one unit of each component, at the channel that sees it best."""
        if not len(self.maps):
            return np.ones(len(self))
        return np.abs(self.maps[0]) if len(self.maps) == 1 else np.ptp(self.maps, axis=0)

    @cached_property
    def drifts(self) -> Array:
        """The decimal logarithm of the deviation of each, over that above 1 Hz."""
        slow = self.prepared.outside_bad(self.prepared.slow)
        deviations = np.array([row.std(dtype=float) for row in slow])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log10(deviations / self.prepared.moments.deviation)

    def volts(self, component: int, size: float) -> float:
        """Return a size of a component in volts; NaN where the data cannot be in volts."""
        return size * self.reach[component] if self.signals.plausible_volts else np.nan

    def focality(self, component: int) -> float:
        """Return the share of the map that is one channel's alone."""
        one_map = self.maps[:, component]
        return float(_maps.focality(one_map)) if len(one_map) >= 4 else np.nan

    @cached_property
    def large_focality(self) -> Array:
        """The share of the large deflections of each that is one channel's alone."""
        if len(self.maps) < 4:
            return np.full(len(self), np.nan)
        prepared = self.prepared
        pairs = zip(prepared.band, prepared.background, strict=True)
        large = ((np.abs(x) > LARGE * scale) & prepared.good for x, scale in pairs)
        return _maps.focality(_maps.large_maps(prepared.band, self.channels.prepared.band, large))

    @cached_property
    def eog_correlations(self) -> Array:
        """The correlation of each with all EOG channels together; NaN without one."""
        if "eog" not in self.sensors:
            return np.full(len(self), np.nan)
        return shared_with(self.signals, self.sensors["eog"])

    @cached_property
    def eog_steps(self) -> list[ev.Steps]:
        """The steps of the EOG channel that each follows most."""
        eog = self.sensors["eog"]
        found = ev.steps(eog.prepared)
        return [found[k] for k in _band_correlations(self.signals, eog).argmax(axis=1)]

    @cached_property
    def emg_correlations(self) -> Array:
        """The largest correlation of the power above 20 Hz with an EMG channel's."""
        if "emg" not in self.sensors or len(self.signals.spectra.starts) < 5:
            return np.full(len(self), np.nan)
        ours, theirs = (high_levels(one.spectra) for one in (self.signals, self.sensors["emg"]))
        return _maps.correlations(ours, theirs).max(axis=1)


def usable_sensors(
    signals: Signals, eeg: Signals, names: Mapping[str, Sequence[str]]
) -> tuple[dict[str, Signals], dict[str, str]]:
    """Return the sensors that can be used by their type, and why the others cannot by name."""
    used, why_not = {}, {}
    for sensor, some in names.items():
        reasons = {name: _fault(sensor, signals.pick([name]), eeg) for name in some}
        why_not |= {name: reason for name, reason in reasons.items() if reason}
        if good := [name for name, reason in reasons.items() if not reason]:
            used[sensor] = signals.pick(good)
    return used, why_not


def _fault(sensor: str, one: Signals, eeg: Signals) -> str:
    """Return what is wrong with a channel, or an empty string."""
    x = one.prepared.outside_bad(one.prepared.wide)[0]
    if not x.size or np.mean(np.diff(x, prepend=0) == 0) > 0.99:  # it was not plugged in
        return "it is flat"
    x = x - np.median(x)
    # A channel that is silent between events is at its lowest value then, but not at a limit.
    limits = [limit for limit in (x.min(), x.max()) if abs(limit) > x.std()]
    near = [np.mean(np.abs(x - limit) < 1e-3 * np.ptp(x)) for limit in limits]
    if max(near, default=0.0) > 0.05:  # waves are there in passing
        return "it is clipped"
    if sensor not in ("ecg", "eog"):
        return ""
    beats = _rhythm.rhythms(one.prepared)[0]
    beating = beats.z >= _rhythm.HEARTS
    if sensor == "ecg" and not beating:
        return "it shows no heartbeat"
    # In 20 EOG and ECG channels of real recordings at most 0.26 and at least 0.94.
    if sensor == "eog" and beating and _share_of_average(x, beats.peaks, one) > 0.5:
        return "it is an ECG"
    if sensor == "eog" and _band_correlations(eeg, one).max() < 0.1:
        return "it has nothing in common with the EEG"
    return ""


def _share_of_average(x: Array, peaks: Samples, one: Signals) -> float:
    """Return the share of the power around peaks that is that of their average."""
    cut = windows_around(x, peaks, 0.2, one.prepared.sfreq)
    return float(np.mean(cut.mean(axis=0) ** 2) / np.mean(cut**2))


def _band_correlations(ours: Signals, theirs: Signals) -> Array:
    """Return the absolute correlations between 1 and 10 Hz."""
    bands = (one.prepared.outside_bad(one.prepared.band) for one in (ours, theirs))
    return np.abs(_maps.correlations(*bands))


def shared_with(ours: Signals, theirs: Signals) -> Array:
    """Return the multiple correlation of each signal with all of the others, 1 to 10 Hz."""
    x, y = (one.prepared.outside_bad(one.prepared.band) for one in (ours, theirs))
    fit = np.linalg.lstsq(y.T, x.T, rcond=None)[0].T @ y
    power = (x**2).sum(axis=1)
    return np.sqrt(np.divide((fit**2).sum(axis=1), power, out=np.zeros(len(x)), where=power > 0))
