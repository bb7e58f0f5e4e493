"""Electrodes: pops, drifts and line noise of one electrode."""

import numpy as np

from mne_otica.artifacts.components import Components
from mne_otica.artifacts.kinds import Kind, Removal, Words
from mne_otica.artifacts.maps import eye_share, sharpness
from mne_otica.utils.arrays import Samples


def figures(components: Components, k: int) -> dict[str, float]:
    """Return the figures of one component."""
    spectra, one_map = components.spectra, components.maps[:, k]
    return {
        "focality": components.focality(k),
        "sharpness": sharpness(one_map),
        "large_focality": float(components.large_focality[k]),
        "kurtosis": float(np.log10(max(components.blinks[k].kurtosis, 0) + 1)),
        "low": spectra["low"][k],
        "drift": float(components.drifts[k]),
        "unsteadiness": spectra["unsteadiness"][k],
        "eye_share": eye_share(one_map, components.fields),
    }


def gate(components: Components, k: int) -> str:
    """Return why a component cannot hold a bad electrode."""
    known = len(components.maps) >= 4
    return "" if known else "with fewer than four channels each component is one electrode's"


def events(components: Components, k: int) -> Samples:
    """Return the samples of the recording at the pops and jumps."""
    peaks = [components.blinks[k].peaks, components.steps[k].peaks]
    return np.unique(components.prepared.to_input(np.concatenate(peaks)))


KIND = Kind(
    name="electrode",
    keys=("electrode", "ch_noise"),
    label="channel noise",
    removal=Removal(
        "events", advice="it is better to mark the channel as bad and interpolate it", shape="pop"
    ),
    event_id=995,
    figures=figures,
    gate=gate,
    events=events,
    words={
        "focality": Words(
            "{:.0%} of its topography is at one electrode",
            "{:.0%} of its topography at one electrode",
        ),
        "sharpness": Words(
            "its topography may be that of a source in the brain",
            "a topography steeper than that of any source in the brain",
        ),
        "large_focality": Words(
            "its large deflections are seen by other electrodes, too",
            "large deflections of one electrode alone ({:.0%})",
        ),
        "kurtosis": Words("", "rare and very high deflections"),
        "low": Words("", "drifts"),
        "drift": Words("", "drifts below 1 Hz"),
        "unsteadiness": Words("", "crackle"),
        "eye_share": Words("its topography is that of the eyes (r = {:.2f})"),
    },
)
