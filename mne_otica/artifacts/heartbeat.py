"""Heartbeats: the electric field of the heart, and pulse artifacts."""

import numpy as np

from mne_otica.artifacts.components import Components
from mne_otica.artifacts.kinds import Kind, Removal, Words
from mne_otica.artifacts.rhythm import HEARTS
from mne_otica.utils.arrays import Samples


def figures(components: Components, k: int) -> dict[str, float]:
    """Return the figures of one component: the first four are those of the one heart."""
    heart = components.heart
    return {
        "regularity": heart.z,
        "flat": heart.flat,
        "rate": heart.rate,
        "height": float(components.locking[k]),
        # An ECG tells the heart from the square wave of an electrode.
        "focality": np.nan if "ecg" in components.sensors else components.focality(k),
    }


def gate(components: Components, k: int) -> str:
    """Return why a component cannot hold heartbeats."""
    if components.heart.z < HEARTS or not len(components.heart.peaks):
        return "nothing recurs as regularly as a heart"
    return "" if np.isfinite(components.locking[k]) else "no whole beat is in the recording"


def events(components: Components, k: int) -> Samples:
    """Return the samples of the recording at the peak of each beat."""
    return components.prepared.to_input(components.heart.peaks)


KIND = Kind(
    name="heartbeat",
    keys=("heartbeat", "ecg"),
    label="heart beat",
    removal=Removal("events", shape="beat"),
    event_id=999,
    figures=figures,
    gate=gate,
    events=events,
    words={
        "regularity": Words(
            "its events are less regular than a heart's (z = {:.1f})",
            "events as regular as a heart's (z = {:.0f} beyond chance)",
        ),
        "flat": Words(
            "it is flat in {:.0%} of the time between beats only, as rhythms of the brain are",
            "a flat line between beats ({:.0%} of the cycle)",
        ),
        "rate": Words("{:.0f} events a minute are rare for a heart"),
        "height": Words(
            "its average at the heartbeats is low ({:.1f} SD)",
            "a high average at the heartbeats ({:.1f} SD)",
        ),
        "focality": Words("{:.0%} of its topography is at one electrode, where no heart is"),
    },
)
