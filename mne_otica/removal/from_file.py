"""A cleaned recording that stays in its file: what is removed is subtracted when it is read."""

from __future__ import annotations

from typing import Any

import numpy as np
from mne.io import BaseRaw

from mne_otica.utils.arrays import Array
from mne_otica.utils.checks import _mult_cal_one


class RawCleanedOnRead(BaseRaw):
    """A recording that is not loaded, without some time courses with these topographies.

    ``maps`` has a row for each channel of ``raw``, ``courses`` a column for each of its samples.
    """

    def __init__(self, raw: BaseRaw, maps: Array, courses: Array) -> None:
        super().__init__(
            raw.info.copy(),
            preload=False,
            first_samps=[raw.first_samp],
            last_samps=[raw.last_samp],
            filenames=list(raw.filenames[:1]),
            raw_extras=[{"raw": raw.copy(), "maps": maps, "courses": courses}],
            orig_format=raw.orig_format,
            verbose="error",
        )
        self._cals = np.ones(len(self.ch_names))  # what is read from `raw` is calibrated
        self.set_annotations(raw.annotations, verbose="error")

    def _read_segment_file(
        self, data: Array, idx: Any, fi: int, start: int, stop: int, cals: Array, mult: Array | None
    ) -> None:
        raw, maps, courses = (self._raw_extras[fi][name] for name in ("raw", "maps", "courses"))
        span = slice(start - raw.first_samp, stop - raw.first_samp)
        piece, own = raw[:, span][0], courses[:, span]
        changed = own.any(axis=0)
        if changed.any():  # all other samples stay as they are, to the last digit
            piece[:, changed] -= maps @ own[:, changed]
        _mult_cal_one(data, piece, idx, cals, mult)
