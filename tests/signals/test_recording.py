"""The stretches of a recording, and the samples that can be used."""

import mne
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mne_otica.signals.recording import stretches

LENGTHS = (1000, 777, 500)


@pytest.fixture
def runs():
    """Three runs with offsets of 0, 1 and 2 mV, concatenated by MNE."""
    info = mne.create_info(2, 100.0, "eeg")
    data = [np.full((2, n), 1e-3 * k) for k, n in enumerate(LENGTHS)]
    raws = [mne.io.RawArray(x, info, first_samp=37, verbose="error") for x in data]
    return mne.concatenate_raws(raws, verbose="error")


def test_stretches_end_where_runs_were_joined(runs):
    assert_array_equal(stretches(runs), [[0, 1000], [1000, 1777], [1777, 2277]])
    assert_array_equal(stretches(runs.copy().crop(5, 12)), [[0, 500], [500, 701]])
    runs.set_annotations(mne.Annotations([2, 1], [3, 1], ["BAD_ACQ_SKIP", "BAD_talk"]))
    assert_array_equal(stretches(runs), [[0, 200], [200, 500], [500, 2277]])
