import shutil
from pathlib import Path

import mne
import pytest
from reviewing import simulated

from mne_otica import clean_study
from mne_otica.study.review import Review


@pytest.fixture(scope="session")
def recordings(tmp_path_factory):
    """Two recordings with blinks, one without, and one that is empty."""
    folder = tmp_path_factory.mktemp("in")
    with mne.use_log_level("error"):
        for name, seed, n_blinks in (("one", 0, 8), ("two", 1, 8), ("still", 2, 0)):
            simulated(seed, n_blinks).raw.save(folder / f"{name}_raw.fif")
    (folder / "empty.edf").touch()
    return sorted(folder.iterdir())


@pytest.fixture(scope="session")
def reviewed(recordings, tmp_path_factory):
    out = tmp_path_factory.mktemp("study") / "out"
    with mne.use_log_level("error"):
        clean_study(recordings, out)
    return out


@pytest.fixture
def out(reviewed, tmp_path):
    """A copy of the study, to be decided about."""
    return Path(shutil.copytree(reviewed, tmp_path / "out"))


@pytest.fixture
def review(out):
    return Review(out, "Ann")
