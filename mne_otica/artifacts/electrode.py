"""Electrodes: pops, drifts and line noise of one electrode."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mne_otica.artifacts.components import HUM, Components
from mne_otica.artifacts.kinds import Feature, Figures, Kind, Removal
from mne_otica.artifacts.maps import eye_share, sharpness


def figures(components: Components, k: int) -> dict[str, float]:
    """Return the figures of one component."""
    spectra, found = components.spectra, components.blinks[k]
    return {
        "focality": components.focality(k),
        "sharpness": sharpness(components.maps[:, k]),
        "large_focality": float(components.large_focality[k]),
        "size": float(np.log10(max(components.sizes[k], 1e-6))),
        "kurtosis": float(np.log10(max(found.kurtosis, 0) + 1)),
        "hum": spectra["hum_alone"][k],
        "hum_share": spectra["hum_share"][k],
        "low": spectra["low"][k],
        "drift": float(components.drifts[k]),
        "high": spectra["high"][k],
        "unsteadiness": spectra["unsteadiness"][k],
        "alpha": spectra["alpha"][k],
        "onset": found.onset,
        "eye_share": eye_share(components.maps[:, k], components.fields),
    }


def gate(components: Components, k: int) -> str:
    """Return why a component cannot hold a bad electrode."""
    known = len(components.maps) >= 4
    return "" if known else "with fewer than four channels each component is one electrode's"


def events(components: Components, k: int) -> NDArray[np.int64]:
    """Return the samples of the recording at the pops and jumps."""
    peaks = [components.blinks[k].peaks, components.steps[k].peaks]
    return np.unique(components.prepared.to_input(np.concatenate(peaks)))


def label(figures: Figures) -> str:
    """Return the label of mne-icalabel."""
    return "line noise" if figures["hum"] > HUM else "channel noise"


KIND = Kind(
    name="electrode",
    keys=("electrode", "ch_noise"),
    label=label,
    removal=Removal(
        "events",
        advice="it is better to mark the channel as bad and interpolate it",
        shape="pop",
    ),
    event_id=995,
    figures=figures,
    gate=gate,
    events=events,
    features={
        "focality": Feature(
            ((0.3, -5), (0.5, -3), (0.7, 0), (0.85, 2), (0.95, 4)),
            "{:.0%} of its map is one electrode's alone, of a bad one nearly all is",
            "a map that is one electrode's alone ({:.0%})",
        ),
        # With dense electrodes less is enough: brain topographies fall off slowly with distance.
        "sharpness": Feature(
            ((-1.2, -3), (-0.8, -1.5), (-0.4, 0), (0, 2), (0.5, 3)),
            "its map falls off as slowly as a brain's",
            "a map that falls off more steeply than any in a head",
        ),
        # A pop is limited to one electrode even if its component is not.
        "large_focality": Feature(
            ((0.3, -2), (0.6, -0.5), (0.85, 1), (0.95, 2)),
            "its large deflections are seen by other electrodes, too",
            "large deflections of one electrode alone ({:.0%})",
        ),
        "size": Feature(
            ((-1, -3), (-0.3, -1), (0, 0), (0.5, 1), (1, 2)),
            "it is as small as the noise of a good electrode",
            "more of its channel than other channels have at all",
        ),
        "kurtosis": Feature(((0.3, 0), (1, 0.5), (2, 2)), "", "rare and very high deflections"),
        "hum": Feature(
            ((0.2, 0), (0.7, 0.3), (1.5, 1), (2.5, 2)),
            "",
            "line noise that other components lack",
        ),
        # Relative to everything else: every component has a little line noise.
        "hum_share": Feature(
            ((-0.5, 0), (0.5, 1), (1.2, 3), (2, 6)),
            "",
            "more line noise than anything else",
        ),
        "low": Feature(((0.5, 0), (1.2, 0.7), (2, 1.5)), "", "drifts"),
        "drift": Feature(((0.1, 0), (0.5, 0.5), (1.2, 1.5)), "", "drifts below 1 Hz"),
        "high": Feature(((-1.5, 0), (0, 0.3), (1, 0.5)), "", "a flat spectrum"),
        "unsteadiness": Feature(((0.1, 0), (0.5, 0.3), (1.5, 1)), "", "crackle"),
        "alpha": Feature(((0.3, 0), (0.6, -1), (1.2, -2.5)), "it has an alpha rhythm"),
        "onset": Feature(
            ((0.1, 1.5), (0.2, 0.5), (0.3, 0), (0.6, 0)), "", "jumps that nothing in a head makes"
        ),
        # If few electrodes are near the eyes, a blink may be limited to nearly one electrode.
        "eye_share": Feature(
            ((0.7, 0), (0.85, -1), (0.95, -3)), "its map is that of the eyes (r = {:.2f})"
        ),
    },
)
