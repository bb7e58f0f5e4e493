"""Artifacts in components: blinks, eye movements, heartbeats, muscle, electrodes."""

from mne_otica.artifacts.find import (
    annotate_artifacts,
    blink_times,
    check_kinds,
    component_events,
    find_artifact_events,
    find_bads_artifacts,
    find_bads_blink,
    find_blink_events,
    search,
)
from mne_otica.artifacts.kinds import ArtifactRow, Removal, kinds
from mne_otica.artifacts.scores import ArtifactScores, as_events, component_rows, restored

__all__ = [
    "ArtifactRow",
    "ArtifactScores",
    "Removal",
    "annotate_artifacts",
    "as_events",
    "blink_times",
    "check_kinds",
    "component_events",
    "component_rows",
    "find_artifact_events",
    "find_bads_artifacts",
    "find_bads_blink",
    "find_blink_events",
    "kinds",
    "restored",
    "search",
]
