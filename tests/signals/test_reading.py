"""One reading of a recording at a low rate: what MNE's filters would return, piece by piece."""

import mne
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mne_otica import find_artifact_events
from mne_otica.signals import reading
from mne_otica.signals.reading import LowRate, filtered_copy
from mne_otica.signals.recording import stretches
from mne_otica.simulation import simulate_raw


def noise(sfreq, seconds=30, first_samp=0, seed=0):
    data = 1e-5 * np.random.default_rng(seed).standard_normal((3, int(seconds * sfreq)))
    info = mne.create_info(3, sfreq, "eeg")
    return mne.io.RawArray(data + 1e-3, info, first_samp=first_samp, verbose="error")


@pytest.mark.parametrize(("sfreq", "step"), [(500.0, 4), (256.0, 2), (1024.0, 8), (200.0, 1)])
def test_the_copy_is_that_of_mne_at_a_lower_rate(sfreq, step):
    raw = noise(sfreq)
    filtered = filtered_copy(raw, 1.0, 40.0)
    expected = raw.copy().filter(1.0, 40.0, verbose="error").get_data()[:, ::step]
    assert filtered.info["sfreq"] == sfreq / step
    middle = slice(int(4 * sfreq / step), -int(4 * sfreq / step))
    # Both filters are steep to -50 dB, and a high pass made for another rate ripples otherwise.
    error = (filtered.get_data() - expected)[:, middle]
    assert error.std() < 0.01 * expected.std()


def test_pieces_make_no_difference(monkeypatch):
    raw = noise(500.0, 20)
    whole = LowRate.of(raw, raw.ch_names).data
    monkeypatch.setattr(reading, "_BLOCK", 2**10)
    # What the filter leaves of its stop band, -60 dB, ends up elsewhere.
    assert_allclose(LowRate.of(raw, raw.ch_names).data, whole, atol=1e-3 * whole.std())


def test_a_step_between_runs_stays_between_them():
    runs = [noise(500.0, 10, seed=k) for k in range(3)]
    apart = np.concatenate([LowRate.of(run, run.ch_names).data for run in runs], axis=1)
    for k, run in enumerate(runs):
        run._data += 0.02 * k
    raw = mne.concatenate_raws(runs, verbose="error")
    together = LowRate.of(raw, raw.ch_names).data
    for k, (start, stop) in enumerate(stretches(raw) // 4):
        assert_allclose(together[:, start:stop] - 0.02 * k, apart[:, start:stop], atol=1e-12)


@pytest.mark.parametrize("late", range(4))
@pytest.mark.parametrize("dated", [False, True])
def test_offsets_of_runs_do_not_reach_the_copy_that_is_fitted(late, dated):
    """Also if a run ends between two samples at the low rate."""
    runs = [noise(500.0, 10, 3, seed=1), noise(500.0, 12, 3, seed=2)]
    if dated:
        for run in runs:
            run.set_meas_date(0)
    runs[0].crop(tmax=(4999 - late) / 500)
    level = 0.02 * np.array([[1.0], [-1.0], [0.3]])
    other = mne.io.RawArray(runs[1].get_data() + level, runs[1].info, 3)
    copies = [
        filtered_copy(mne.concatenate_raws([runs[0].copy(), second]), 1.0, 40.0)
        for second in (runs[1].copy(), other)
    ]
    assert_allclose(*[copy.get_data() for copy in copies], atol=1e-12)
    course = np.random.default_rng(0).standard_normal((1, copies[0].parts[-1, 1]))
    assert_array_equal(*[copy.like(course) for copy in copies])


def test_samples_that_are_not_finite_are_bridged_and_marked():
    raw = noise(500.0, 20)
    raw._data[1, 4000:4100] = np.nan
    low = LowRate.of(raw, raw.ch_names)
    assert_array_equal(np.flatnonzero(low.broken[1]), np.arange(1000, 1025))
    assert not low.broken[[0, 2]].any()
    assert np.abs(low.data[1, 995:1030] - 1e-3).max() < 1e-4
    filtered = low.filtered(1.0, 40.0)
    assert list(filtered.annotations.description) == ["BAD_nan"]
    raw._data[2] = np.nan
    with pytest.raises(ValueError, match="2 has no finite value"):
        LowRate.of(raw, raw.ch_names)


def test_events_are_those_of_the_recording():
    filtered = filtered_copy(noise(500.0, first_samp=1001), 1.0, 40.0)
    events = np.array([[1001, 0, 1], [1001 + 4 * 77 + 3, 0, 1], [1001 + 14999, 0, 1]])
    assert_array_equal(filtered.samples(events), [0, 77, 3749])


def test_a_drift_hides_no_blinks():
    """20 mV in 80 s, of another sign in each channel."""
    raw = simulate_raw(16, 80.0, 250.0, n_blinks=16, random_state=1).raw
    expected = find_artifact_events(raw, verbose="error")[:, 0]
    signs = np.where(np.arange(16) % 2, 1, -0.4)[:, np.newaxis]
    raw._data[:16] += 0.02 * signs * np.linspace(0, 1, raw.n_times)
    found = find_artifact_events(raw, verbose="error")[:, 0]
    assert len(expected) > 10
    assert_allclose(found, expected, atol=5)
