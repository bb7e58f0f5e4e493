"""Artifacts in components: blinks, eye movements, heartbeats, muscle, electrodes."""

from mne_otica.artifacts.find import (
    annotate_artifacts,
    check_kinds,
    component_events,
    find_artifact_events,
    find_bads_artifacts,
    search_artifacts,
)
from mne_otica.artifacts.find_blinks import (
    BLINK_ID,
    blink_events,
    component_peaks,
    find_bads_blink,
    find_blink_events,
    locate_blinks,
    search,
)
from mne_otica.artifacts.judge import as_events
from mne_otica.artifacts.kinds import Removal, kinds
from mne_otica.artifacts.labels import component_rows
from mne_otica.artifacts.scores import ArtifactRow, ArtifactScores, restored
from mne_otica.artifacts.tables import BlinkCandidate, BlinkScores, BlinkTimes

__all__ = [
    "BLINK_ID",
    "ArtifactRow",
    "ArtifactScores",
    "BlinkCandidate",
    "BlinkScores",
    "BlinkTimes",
    "Removal",
    "annotate_artifacts",
    "as_events",
    "blink_events",
    "check_kinds",
    "component_events",
    "component_peaks",
    "component_rows",
    "find_artifact_events",
    "find_bads_artifacts",
    "find_bads_blink",
    "find_blink_events",
    "kinds",
    "locate_blinks",
    "restored",
    "search",
    "search_artifacts",
]
