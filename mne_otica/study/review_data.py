"""Data for the review page, as small arrays: topographies, time courses, spectra."""

import base64
import warnings
from collections.abc import Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import mne
import numpy as np
from mne.preprocessing import ICA
from scipy import signal

from mne_otica.cleaning.clean import Cleaned
from mne_otica.cleaning.overview import parts
from mne_otica.evaluation.measures import plain
from mne_otica.evaluation.sentences import PLURALS
from mne_otica.signals.unmixing import unmixing_in_volts
from mne_otica.signals.windows import fullest_window
from mne_otica.study.inputs import Recording
from mne_otica.utils.arrays import Array, Samples
from mne_otica.viz.drawing import HALF
from mne_otica.viz.topomap import small_maps

if TYPE_CHECKING:
    from mne_otica.study.stages import UnitStages

_BINS = 500  # of a drawn line, each with its minimum and maximum


class Refusal(ValueError):
    """A request that cannot be fulfilled; nothing was changed."""

    def __init__(self, status: HTTPStatus, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.status, self.facts = status, facts


def topographies(ica: ICA) -> dict[str, Any]:
    """Return square images from -100 to 100, front first, or only weights without positions."""
    maps = small_maps(ica.get_components(), ica.info)
    shown = {"source": maps.source, "weights": np.round(maps.weights.T, 3).tolist()}
    if maps.images is None:
        return shown | {"pixels": 0, "maps": None, "places": None}
    images = np.round(100 * maps.images).astype(np.int8)
    encoded = [base64.b64encode(one.tobytes()).decode() for one in images]
    dots = np.round(maps.dots, 3).tolist()
    return shown | {"pixels": images.shape[1], "maps": encoded, "places": dots}


def _thinned(values: Array) -> list[float]:
    if len(values) > 2 * _BINS:
        edges = np.linspace(0, len(values), _BINS + 1).astype(int)[:-1]
        low, high = (extreme.reduceat(values, edges) for extreme in (np.minimum, np.maximum))
        values = np.c_[low, high].ravel()
    return np.round(values, 2).tolist()


class Opened:
    """A recording under review, which is read, filtered and unmixed once."""

    def __init__(self, work: "UnitStages", recording: Recording) -> None:
        self._work, self._recording = work, recording
        self.ica = work.fitted_ica()
        self._raw, self.filtered = work.signals(recording)
        self._unmixing = unmixing_in_volts(self.ica)
        self._shown: tuple[tuple[Any, ...], Cleaned | None] = (), None

    def component(self, component: int) -> dict[str, Any]:
        """Return the time course and the spectrum of a component."""
        course = self._unmixing[component] @ self.filtered.get_data()
        scale = max(course.std(), np.finfo(float).tiny)
        sfreq = self.filtered.sfreq
        # The unfiltered course shows muscle activity and line noise.
        whole = self._unmixing[component] @ self._raw.get_data(self.filtered.ch_names)
        whole = np.nan_to_num(whole - np.nanmean(whole), posinf=0.0, neginf=0.0)
        n_fft = min(len(whole), int(2 * sfreq))  # a resolution of 0.5 Hz
        freqs, power = signal.welch(whole / scale, sfreq, nperseg=n_fft)
        shown = (freqs >= 1) & (freqs <= 80)
        decibels = 10 * np.log10(np.maximum(power[shown], np.finfo(float).tiny))
        return {
            "course": _thinned(course / scale),
            "seconds": len(whole) / sfreq,
            "freqs": freqs[shown].tolist(),
            "power": np.round(decibels, 2).tolist(),
        }

    def effect(
        self, exclude: Sequence[int], channel: int | None, start: float | None, component: int
    ) -> dict[str, Any]:
        """Return the effect of removing these components, in numbers and in one channel."""
        result = self._preview(exclude)
        sfreq, n_times = self.filtered.info["sfreq"], self.filtered.n_times
        if channel is None:  # that with the largest weight
            channel = int(np.argmax(np.abs(self.ica.get_components()[:, component])))
        name = self.filtered.ch_names[channel]
        before, after = (1e6 * one[0] for one in result.before_and_after([name]))
        with_events = [one for one in result.kinds.values() if len(one.events)]
        own = [one for one in with_events if component in one.components]
        seen = next(iter(own + with_events), None)
        events = np.zeros(0, np.int64) if seen is None else self.filtered.samples(seen.events)
        length = min(int(10 * sfreq), n_times)  # 10 s of a channel are shown before and after
        if start is None:
            first = fullest_window(events, length, n_times, int(HALF * sfreq))
        else:
            first = max(0, min(int(start * sfreq), n_times - length))
        return {
            "removed": list(exclude),
            "status": result.status,
            "verdict": result.verdict,
            "kinds": [
                {"kind": one.kind, "benefit": plain(one.gone), "harm": plain(one.cost)}
                for one in parts(result)
            ],
            "kind": None if seen is None else PLURALS[seen.kind],
            "events": np.round(events / sfreq, 3).tolist(),
            "channel": channel,
            "start": first / sfreq,
            "length": length / sfreq,
            "seconds": n_times / sfreq,
            "before": _thinned(before[first : first + length]),
            "after": _thinned(after[first : first + length]),
            "average": self._average(events, before, after),
        }

    def _preview(self, exclude: Sequence[int]) -> Cleaned:
        """Return the result of a choice of components; the last one is cached."""
        choice = *exclude, *self._work.kinds_by_hand().items()
        if self._shown[1] is None or self._shown[0] != choice:
            with mne.use_log_level("error"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they are reported by a run
                self._shown = choice, self._work.preview(self._recording, exclude)
        return self._shown[1]

    def _average(self, events: Samples, before: Array, after: Array) -> dict[str, Any] | None:
        half = int(HALF * self.filtered.info["sfreq"])
        whole = events[(events >= half) & (events < len(before) - half)]
        if not len(whole):
            return None
        window = whole[:, np.newaxis] + np.arange(-half, half + 1)
        means = {"before": before[window].mean(axis=0), "after": after[window].mean(axis=0)}
        means = {name: _thinned(mean) for name, mean in means.items()}
        return {"n_events": len(whole), "half": HALF, **means}
