"""Recordings that are not loaded stay in their file, and are cleaned as they are read."""

import mne
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mne_otica import clean_raw, datasets


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("lazy") / "sub_raw.fif"
    datasets.sample(verbose="error").save(path, fmt="double", verbose="error")
    return path


@pytest.fixture(scope="module")
def both(file):
    """The same file cleaned without loading it, and loaded."""
    results = []
    for preload in (False, True):
        raw = mne.io.read_raw_fif(file, preload=preload, verbose="error")
        results.append(clean_raw(raw, verbose="error"))
        assert raw.preload == preload
    return results


def test_nothing_is_loaded_and_the_result_is_the_same(both, tmp_path):
    lazy, loaded = both
    assert not lazy.raw.preload
    assert lazy.verdict == loaded.verdict
    assert_array_equal(lazy.raw.get_data(), loaded.raw.get_data())
    paths = lazy.save(tmp_path)
    written = mne.io.read_raw_fif(paths["raw"], verbose="error")
    assert_allclose(written.get_data(), loaded.raw.get_data(), rtol=1e-6, atol=1e-10)


def test_it_can_be_cut_picked_loaded_and_cleaned_again(both):
    names = ["EEG 001", "EOG 061", "EEG 005"]
    cut = [one.raw.copy().crop(3, 12).pick(names).get_data() for one in both]
    assert_array_equal(*cut)
    loaded = both[0].raw.copy().crop(3, 12).pick(names).load_data(verbose="error")
    assert_array_equal(loaded.get_data(), cut[0])
    components = [*both[0].ica.exclude, 1]
    again = [one.with_components(components) for one in both]
    assert again[0].verdict == again[1].verdict


def test_a_recording_in_a_memory_map_is_left_as_it_is(file, both, tmp_path):
    raw = mne.io.read_raw_fif(file, preload=str(tmp_path / "memmap.dat"), verbose="error")
    before = raw.get_data()
    result = clean_raw(raw, verbose="error")
    assert isinstance(raw._data, np.memmap)
    assert_array_equal(raw._data, before)
    assert_array_equal(result.raw.get_data(), both[1].raw.get_data())
