"""The samples of a recording that can be used, and the stretches without a gap."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy

import numpy as np
from mne.io import BaseRaw
from mne.utils import logger

from mne_otica.utils.arrays import Mask, Samples
from mne_otica.utils.checks import _annotations_starts_stops


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the messages of a stage, but neither its warnings nor its progress bar."""
    logger.addFilter(_is_warning)
    try:
        yield
    finally:
        logger.removeFilter(_is_warning)


def _is_warning(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING


def stretches(raw: BaseRaw) -> Samples:
    """Return starts and ends of the stretches recorded without a gap, shape (n_stretches, 2)."""
    # Offsets may differ between them: filters and templates must not reach into the next.
    bounds = _annotations_starts_stops(raw, ["EDGE", "BAD boundary", "BAD_ACQ_SKIP"])
    edges = np.unique(np.clip(np.r_[0, raw.n_times, *bounds], 0, raw.n_times))
    return np.column_stack([edges[:-1], edges[1:]]).astype(np.int64)


def runs(chosen: Mask) -> Samples:
    """Return starts and ends of the runs of chosen samples, shape (n_stretches, 2)."""
    return np.flatnonzero(np.diff(np.r_[False, chosen, False].astype(int))).reshape(-1, 2)


def annotated_bad(raw: BaseRaw, reject: bool = True) -> Mask:
    """Return which samples lie in spans annotated as bad; none unless they are rejected."""
    bad = np.zeros(raw.n_times, bool)
    spans = _annotations_starts_stops(raw, ["BAD"]) if reject else ()
    for onset, end in zip(*spans, strict=True):
        bad[onset:end] = True
    return bad


def with_bads(raw: BaseRaw, names: list[str]) -> BaseRaw:
    """Return a recording of the same samples, which are not copied, with more bad channels."""
    if not names:
        return raw
    marked = copy(raw)
    marked.info = raw.info.copy()
    marked.info["bads"] = [*raw.info["bads"], *names]
    return marked


def mark_bad(raw: BaseRaw, chosen: Mask, description: str) -> None:
    """Annotate the runs of these samples, in place."""
    onset, stop = runs(chosen).T / raw.info["sfreq"]
    late = 0 if raw.annotations.orig_time is None else raw.first_samp / raw.info["sfreq"]
    raw.annotations.append(onset + late, stop - onset, [description] * len(onset))
