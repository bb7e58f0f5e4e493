"""Heartbeats: the electric field of the heart, and pulse artifacts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mne_otica.artifacts.components import Components
from mne_otica.artifacts.kinds import Feature, Kind, Removal
from mne_otica.artifacts.maps import far_field


def figures(components: Components, k: int) -> dict[str, float]:
    """Return the figures of one component."""
    beats = components.beats[k]
    return {
        "regularity": beats.z,
        "regular": beats.regular,
        "followed": beats.followed,
        "rate": beats.rate,
        "height": beats.height,
        "isolation": beats.isolation,
        "coverage": beats.coverage,
        "width": beats.width,
        "consistency": beats.consistency,
        "far_field": far_field(components.maps[:, k], components.places),
        "focality": components.focality(k),
        "alpha": components.spectra["alpha"][k],
        "locking": float(components.locking[k]),
    }


def gate(components: Components, k: int) -> str:
    """Return why a component cannot hold heartbeats."""
    return "" if len(components.beats[k].peaks) else "nothing in it recurs as a heart does"


def events(components: Components, k: int) -> NDArray[np.int64]:
    """Return the samples of the recording at the peak of each beat."""
    return components.prepared.to_input(components.beats[k].peaks)


KIND = Kind(
    name="heartbeat",
    keys=("heartbeat", "ecg"),
    label=lambda figures: "heart beat",
    removal=Removal("events", shape="beat"),
    event_id=999,
    figures=figures,
    gate=gate,
    events=events,
    features={
        "regularity": Feature(
            ((3, -4), (5, -2), (8, 1), (12, 3), (25, 4)),
            "its events are hardly more regular than chance (z = {:.1f})",
            "events as regular as a heart's (z = {:.0f} beyond chance)",
        ),
        "regular": Feature(
            ((0.25, -2), (0.4, -0.5), (0.6, 1), (0.9, 2)),
            "{:.0%} of its intervals are like the one before",
            "intervals that are like the one before ({:.0%})",
        ),
        # Weak beats occur when they are expected, even if other peaks are higher.
        "followed": Feature(
            ((3, -2), (6, -1), (9, 1), (14, 3)),
            "its peaks are no higher when a beat is due (z = {:.1f})",
            "peaks that are high when a beat is due (z = {:.0f})",
        ),
        "rate": Feature(
            ((30, -1), (40, 0), (120, 0), (160, -1), (220, -2)),
            "{:.0f} events a minute are rare for a heart",
        ),
        "height": Feature(
            ((2, -1), (3, 0), (5, 1), (10, 1.5)),
            "its beats are low ({:.1f} robust SD)",
            "high beats ({:.0f} robust SD)",
        ),
        "isolation": Feature(
            ((1.1, -2), (1.4, 0), (2, 1), (3, 1.5)),
            "between its beats there are others of their kind, as in a rhythm of the brain",
            "nothing of their kind between the beats",
        ),
        "coverage": Feature(
            ((0.3, -3), (0.6, -1), (0.85, 0.3), (1, 0.7)),
            "its events are regular in {:.0%} of the recording only, as in a movement",
            "beats throughout the recording",
        ),
        "width": Feature(
            ((0.02, 0), (0.08, 0), (0.25, -0.5), (0.4, -2)),
            "its events last {:.0f} ms at half height, a QRS complex 20 to 100",
            unit=1e3,
        ),
        "consistency": Feature(
            ((0.5, -1.5), (0.65, -0.3), (0.8, 0.7), (0.95, 1)),
            "its events differ from each other (r = {:.2f})",
            "events alike (r = {:.2f})",
        ),
        "far_field": Feature(
            ((0.2, -0.5), (0.6, 0), (0.9, 1)),
            "its map is not a gradient across the head (r = {:.2f})",
            "the map of a distant source (r = {:.2f})",
        ),
        "focality": Feature(
            ((0.6, 0), (0.95, -0.5)),
            "{:.0%} of its map is one electrode's alone",
        ),
        "alpha": Feature(
            ((0.5, 0), (1.2, -1), (2, -2)),
            "it has an alpha rhythm",
        ),
        # From the average over the beats of another signal, relative to chance
        "locking": Feature(
            ((2, -3), (4, -1), (7, 1), (12, 3), (25, 5)),
            "it is not locked to the heart seen elsewhere",
            "a time course locked to the heart seen elsewhere",
        ),
    },
)
