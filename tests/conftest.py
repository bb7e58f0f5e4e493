import os
from pathlib import Path

import matplotlib
import mne
import numpy as np
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _quiet_and_unchanged():
    """Run at MNE's warning level, and fail a test that leaves global state changed."""
    with mne.use_log_level("warning"):
        random_state = np.random.get_state()[1].copy()  # noqa: NPY002
        errstate = np.geterr()
        yield
        assert mne.utils.logger.level == 30, "the log level was left changed"
        assert np.geterr() == errstate, "numpy's error state was left changed"
        after = np.random.get_state()[1]  # noqa: NPY002
        assert np.array_equal(after, random_state), "the global random state was used"


@pytest.fixture(scope="session")
def shared_data():
    """Folder of the real recordings that are not shipped; skips where they are absent."""
    default = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("MNE_OTICA_DATA", default))
    if not (folder / "eeglab_data.set").exists():
        pytest.skip(f"no recordings in {folder}; set MNE_OTICA_DATA to their folder")
    return folder
