"""The recording that comes with the package."""

from importlib.resources import as_file, files

import mne
from mne.utils import verbose


@verbose
def sample(*, verbose: bool | str | int | None = None) -> mne.io.Raw:
    """Return the first 24 s of the MNE sample dataset: EEG, EOG and triggers.

    60 EEG channels (EEG 053 is marked bad), one EOG channel and STI 014 at 600.6 Hz, with
    blinks at about 0.5, 2.3, 3.7 and 14.5 s. No download is needed.

    Parameters
    ----------
    %(verbose)s

    Returns
    -------
    raw : instance of Raw
        The recording, loaded into memory.
    """
    recording = files("mne_otica") / "data" / "mne_sample_24s_raw.fif.gz"
    with as_file(recording) as path:
        raw = mne.io.read_raw_fif(path, preload=True)
    raw.info["bads"] = ["EEG 053"]  # as in the full dataset
    return raw
