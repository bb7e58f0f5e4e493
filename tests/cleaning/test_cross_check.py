"""Removal earns its place: nothing is removed that does no good at the channels."""

from types import SimpleNamespace

import mne
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mne_otica import clean_raw
from mne_otica.cleaning import cross_check
from mne_otica.simulation import simulate_raw


@pytest.fixture(scope="module")
def raw():
    return simulate_raw(16, 40, 128.0, n_blinks=12, random_state=3).raw


def test_what_gains_nothing_stays_and_is_said(raw, monkeypatch):
    """The same recording, if no component reduced the average of the other half."""
    monkeypatch.setattr(cross_check._Check, "at_events", lambda *args: {})
    kept = clean_raw(raw)
    assert kept.status == "none"
    assert kept.ica.exclude == kept.kinds["blink"].components == []
    name = f"ICA{kept.kinds['blink'].not_removed[0]:03d}"
    assert kept.verdict == (
        f"blinks: found in {name}, not removed: no measurable reduction at the channels"
    )
    assert_array_equal(kept.raw.get_data(), raw.get_data())


def test_every_change_lies_at_an_event(raw):
    """Windows reach from 0.5 s before an event to 0.7 s after it."""
    cleaned = clean_raw(raw)
    changed = np.flatnonzero(cleaned.removed.any(axis=0)) / 128.0
    times = cleaned.events[:, 0] / 128.0
    late = changed[:, np.newaxis] - times
    assert np.all(((late > -0.65) & (late < 0.85)).any(axis=1))


def test_beats_that_the_channels_do_not_show_are_not_called_cleaned(shared_data):
    raw = mne.io.read_raw_fif(shared_data / "eegmat_14_1_raw.fif.gz", preload=True).pick("eeg")
    cleaned = clean_raw(raw, artifacts="heartbeat")
    assert cleaned.status == "none"
    assert cleaned.ica.exclude == []
    assert "not removed: no measurable reduction" in cleaned.verdict
    assert_array_equal(cleaned.raw.get_data(), raw.get_data())


def test_eyes_that_look_there_and_back_are_steps():
    """Every second step returns to the level before: the halves are looks, and returns."""
    course, start = np.zeros((1, 6000)), np.arange(200, 5800, 200)
    events, signs = np.sort(np.r_[start, start + 35]), np.tile([1.0, -1.0], len(start))
    course[0, start[:, np.newaxis] + np.arange(35)] = 1
    topography = np.array([[1.0], [0.5], [-0.3]])
    data = topography @ course + 0.1 * np.random.default_rng(0).standard_normal((3, 6000))
    filtered = SimpleNamespace(_data=data, info=dict(sfreq=100.0), step=1)
    check = cross_check._Check(filtered, topography, np.zeros(6000, bool))
    gains = check._halves([0], course, events, signs, steps=True)
    assert gains[0] > 0.9
