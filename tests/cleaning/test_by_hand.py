"""Components chosen by a person: by number, or by clicking them."""

import matplotlib.pyplot as plt
import mne
import numpy as np
import pytest
from mne.viz.utils import _fake_click
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


def axes_of(review, component):
    (ax,) = (ax for ax in review.maps.axes if ax.get_label() == f"ICA{component:03d}")
    return ax


def click(review, component, *, title=False):
    """Click the middle of a map, or the name above it."""
    review.maps.canvas.draw()
    ax = axes_of(review, component)
    if title:
        box = ax.title.get_window_extent()
        middle = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
        _fake_click(review.maps, ax, middle, xform="pix")
    else:
        _fake_click(review.maps, ax, (0.5, 0.5), xform="ax")


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
    with pytest.raises(ValueError, match=r"components \[99\] do not exist"):
        cleaned.with_components([0, 99])
    with pytest.raises(TypeError, match="components must be"):
        cleaned.with_components("blink")


@pytest.mark.parametrize("title", [False, True])
def test_click_flips_a_component_and_the_figures_follow(cleaned, title):
    review = cleaned.review(show=False)
    removed = list(cleaned.ica.exclude)
    assert review.components == removed
    other = next(k for k in range(16) if k not in removed)
    verdict = review.effect.get_suptitle()
    assert verdict.lower() == cleaned.verdict.lower()
    click(review, other, title=title)
    assert review.components == sorted([*removed, other])
    assert axes_of(review, other).get_xlabel() == "removed"
    assert review.effect.get_suptitle() != verdict
    # What is shown is what comes of it.
    chosen = review.result()
    assert review.effect.get_suptitle().lower() == chosen.verdict.lower()
    assert chosen.ica.exclude == sorted([*removed, other])
    click(review, other, title=title)
    assert review.components == removed
    assert axes_of(review, other).get_xlabel() == ""
    assert review.effect.get_suptitle() == verdict
    assert cleaned.ica.exclude == removed, "the result is as it was"


def test_click_elsewhere_does_nothing(cleaned):
    review = cleaned.review(show=False)
    _fake_click(review.maps, review.maps.axes[0], (0, 0), xform="pix")
    assert review.components == cleaned.ica.exclude


def test_flip_without_a_mouse(cleaned):
    review = cleaned.review(show=False)
    for component in cleaned.ica.exclude:
        review.flip(component)
    assert review.components == []
    assert review.effect.axes == [], "there is nothing to compare"
    with pytest.raises(ValueError, match="component .99. must be one of the 16"):
        review.flip(99)


def test_epochs_are_not_cleaned_again(raw):
    epochs = mne.make_fixed_length_epochs(raw, 2.0, preload=True)
    result = clean_epochs(epochs, raw)
    for call in (lambda: result.with_components([0]), lambda: result.review(show=False)):
        with pytest.raises(ValueError, match="of epochs, which are not cleaned again"):
            call()
