"""Components chosen by a person."""

import matplotlib.pyplot as plt
import mne
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mne_otica import clean_epochs, clean_raw
from mne_otica.simulation import simulate_raw


@pytest.fixture(scope="module")
def raw():
    return simulate_raw(16, 40, 128.0, n_blinks=12, random_state=3).raw


@pytest.fixture(scope="module")
def cleaned(raw):
    return clean_raw(raw)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_same_components_give_the_same_result(cleaned):
    again = cleaned.with_components(cleaned.ica.exclude)
    assert again is not cleaned
    assert again.verdict == cleaned.verdict
    # What was taken out is put back and estimated again. Linear systems are solved for that, so
    # rounding grows, but stays far below the single precision that recordings are saved in.
    expected = cleaned.raw.get_data()
    rounding = np.finfo(np.float32).eps * np.abs(expected).max()
    assert_allclose(again.raw.get_data(), expected, rtol=0, atol=rounding)


def test_no_components_give_the_recording_back(raw, cleaned):
    kept = cleaned.with_components([])
    assert kept.kinds["blink"].benefit is None
    assert kept.status == "none"
    assert "by hand" in kept.verdict
    assert_allclose(kept.raw.get_data(), raw.get_data(), atol=1e-15)


def test_component_that_only_a_person_chose_goes_whole(raw, cleaned):
    other = next(k for k in range(16) if k not in cleaned.ica.exclude)
    before = cleaned.raw.get_data()
    chosen = cleaned.with_components([*cleaned.ica.exclude, other])
    assert_array_equal(cleaned.raw.get_data(), before)
    assert other not in cleaned.ica.exclude
    assert "chosen by hand" in chosen.verdict
    assert chosen.kinds["blink"].components == cleaned.kinds["blink"].components
    assert f"chosen by hand: ICA{other:03d}; " in chosen.verdict
    expected = cleaned.ica.copy()
    expected.exclude = [other]
    whole = expected.apply(cleaned.raw.copy()).get_data()
    assert_allclose(chosen.raw.get_data(), whole, atol=1e-9 * np.abs(whole).max())


def test_components_that_are_none(raw, cleaned):
    with pytest.raises(ValueError, match=r"components holds \[99\], but the ICA"):
        cleaned.with_components([0, 99])
    with pytest.raises(TypeError, match="components must be"):
        cleaned.with_components("blink")


def test_epochs_are_not_cleaned_again(raw):
    epochs = mne.make_fixed_length_epochs(raw, 2.0, preload=True)
    result = clean_epochs(epochs, raw)
    with pytest.raises(ValueError, match="of epochs, which are not cleaned again"):
        result.with_components([0])
