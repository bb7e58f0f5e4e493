"""The cleaning as a step of mne-bids-pipeline, in place of its regression of EOG channels."""

from typing import Any

import mne
from mne_bids_pipeline.steps.preprocessing import _04_frequency_filter, _05_regress_artifact

from mne_otica.cleaning.clean import clean_raw


class Option(str):
    """An option whose unpickling imports this module, so that workers have the step, too."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make it again."""
        return Option, (str(self),)


class Cleaning:
    """What the steps take for a regression, with options of `mne_otica.clean_raw`."""

    exclude, picks_artifact = "bads", "eeg"

    def __init__(self, *, proj: bool = False, picks: str, **options: Any) -> None:
        self.picks, self._options = str(picks), options

    def fit(self, raw: mne.io.BaseRaw) -> None:
        """Find what is to be removed."""
        self._result = clean_raw(raw, **self._options)

    def apply(self, raw: mne.io.BaseRaw, copy: bool) -> None:
        """Remove it in place."""
        raw._data[:] = self._result.raw.get_data()
        raw.info["description"] = self._result.raw.info["description"]

    def save(self, fname: Any, overwrite: bool) -> None:
        """Save the figures of the result."""
        from h5io import write_hdf5

        write_hdf5(str(fname), self._result.to_dict(), overwrite=overwrite, title="mne_otica")

    def plot(self, ch_type: str) -> Any:
        """Draw the result."""
        return self._result.plot(show=False)


_04_frequency_filter.EOGRegression = _05_regress_artifact.EOGRegression = Cleaning
regress_artifact = {"picks": Option("eeg")}
