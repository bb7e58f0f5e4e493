"""Artifacts in components: blinks, eye movements, heartbeats, muscle, electrodes."""

from mne_otica.artifacts.find import (
    annotate_artifacts,
    blink_times,
    check_kinds,
    find_artifact_events,
    find_bads_artifacts,
    find_bads_blink,
    search,
)
from mne_otica.artifacts.kinds import ArtifactRow, kinds
from mne_otica.artifacts.scores import ArtifactScores, as_events, component_rows

__all__ = [
    "ArtifactRow",
    "ArtifactScores",
    "annotate_artifacts",
    "as_events",
    "blink_times",
    "check_kinds",
    "component_rows",
    "find_artifact_events",
    "find_bads_artifacts",
    "find_bads_blink",
    "kinds",
    "search",
]
