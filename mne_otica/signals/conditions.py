"""The trials of a recording by condition, from MNE events or annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import mne
import numpy as np

from mne_otica.signals.windows import check_events
from mne_otica.utils.arrays import Samples
from mne_otica.utils.checks import _validate_type, warn

if TYPE_CHECKING:
    from mne.io import BaseRaw

Events = Samples | str | Sequence[str]


def conditions_of(
    raw: BaseRaw, events: Events | None, event_id: Mapping[str, int] | None = None
) -> dict[str, Samples]:
    """Return the samples of the trials of each condition, counted from 0.

    ``events`` are MNE events, whose conditions are those in ``event_id`` or all that occur, or
    the names of annotations, each of which is a condition; None has no trials. Conditions that do
    not occur and events outside the recording are left out with a warning.
    """
    if events is None:
        return {}
    names = [events] if isinstance(events, str) else list(events)
    if names and all(isinstance(name, str) for name in names):
        event_id = {name: k + 1 for k, name in enumerate(names)}
        known = {name: k for name, k in event_id.items() if name in raw.annotations.description}
        events = mne.events_from_annotations(raw, known, verbose="error")[0] if known else []
    events = check_events(events if len(events) else np.zeros((0, 3), int))
    _validate_type(event_id, (Mapping, None), "event_id", 'a dict such as {"target": 1}, or None')
    if event_id is None:
        event_id = {str(code): int(code) for code in np.unique(events[:, 2])}
    samples = events[:, 0].astype(np.int64) - raw.first_samp
    inside = (samples >= 0) & (samples < raw.n_times)
    if not inside.all():
        warn(
            f"{np.sum(~inside)} of {len(events)} events are outside the recording (samples "
            f"{raw.first_samp} to {raw.last_samp}) and are ignored; MNE's events count from "
            "raw.first_samp on."
        )
    found = {
        name: np.unique(samples[inside & (events[:, 2] == code)]) for name, code in event_id.items()
    }
    if absent := [name for name, some in found.items() if not len(some)]:
        warn(
            f"No trials of {', '.join(absent)} are in the recording; check events and event_id. "
            "The other conditions are used."
        )
    return {name: some for name, some in found.items() if len(some)}
