from dataclasses import FrozenInstanceError

import mne
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mne_otica import preservation, rms_reduction
from mne_otica.evaluation.harm import BANDS, MARGIN

SFREQ = 200.0
NAMES = ["Fp1", "Fp2", "Cz", "Pz", "O1", "O2"]
PEAKS = np.array([600, 1300, 2100, 3000, 4200, 5500, 6900])
SEES = np.array([1.0, 0.9, 0.3, 0.1, 0.0, 0.0])


def recording(data, first_samp=0):
    info = mne.create_info([*NAMES, "STI"], SFREQ, ["eeg"] * 6 + ["stim"])
    data = np.vstack([data, np.zeros(data.shape[1])])
    return mne.io.RawArray(data, info, first_samp=first_samp)


@pytest.fixture(scope="module")
def brain():
    rng = np.random.default_rng(0)
    return 10e-6 * rng.standard_normal((6, 8000))


@pytest.fixture(scope="module")
def blinks():
    times = np.arange(8000)
    shape = np.exp(-(((times[:, np.newaxis] - PEAKS) / 12) ** 2)).sum(axis=1)
    return 200e-6 * SEES[:, np.newaxis] * shape


@pytest.fixture(scope="module")
def events():
    return np.c_[PEAKS, np.zeros_like(PEAKS), np.ones_like(PEAKS)]


def rms(x):
    return np.sqrt(np.mean(x**2))


# %% Benefit


def test_reduction_is_one_minus_the_ratio_of_pooled_rms(brain, blinks, events):
    before, after = recording(brain + blinks), recording(brain + 0.1 * blinks)
    found = rms_reduction(before, after, events)
    cut = [
        np.array([raw.get_data("eeg")[:, k - 50 : k + 50] for k in PEAKS])
        for raw in (before, after)
    ]
    assert_allclose(found.overall, 1 - rms(cut[1]) / rms(cut[0]))
    assert_allclose(found.per_channel[1], 1 - rms(cut[1][:, 1]) / rms(cut[0][:, 1]))
    assert_allclose(found.over(NAMES), found.overall)
    assert_allclose(found.blink_size, np.mean(cut[0], axis=0).std(axis=1))
    assert found.interval[0] < found.overall < found.interval[1]
    assert found.ch_names == NAMES
    assert found.most_affected(3) == NAMES[:3]
    assert (found.n_events, found.n_edge, found.n_bad) == (7, 0, 0)


def test_nothing_and_everything_removed(brain, blinks, events):
    before = recording(brain + blinks)
    assert rms_reduction(before, before, events).overall == 0
    assert rms_reduction(before, recording(0 * brain), events).overall == 1


def test_interval_needs_two_events(brain, blinks, events):
    pair = recording(brain + blinks), recording(brain)
    assert np.isnan(rms_reduction(*pair, events[:1]).interval).all()
    assert np.isfinite(rms_reduction(*pair, events[:2]).interval).all()


def test_interval_holds_95_percent_of_what_other_events_would_show():
    """The power in the windows after is drawn, that before is always one."""
    rng = np.random.default_rng(0)
    power = np.repeat(rng.uniform(0.1, 0.5, 80), 100)
    before = recording(np.full((6, 8000), 1e-5))
    after = recording(np.full((6, 8000), 1e-5) * np.sqrt(power))
    many = np.zeros((80, 3), int)
    many[:, 0] = np.arange(50, 8000, 100)
    found = rms_reduction(before, after, many)
    # The error of the mean power, passed on to its root
    error = power[::100].std() / np.sqrt(80) / (2 * np.sqrt(power.mean()))
    expected = found.overall + 1.96 * error * np.array([-1, 1])
    assert_allclose(found.interval, expected, atol=0.1 * error)


def test_windows_at_the_edges_and_in_bad_spans_are_left_out(brain, blinks, events):
    at_edges = np.vstack([[[20, 0, 1]], events, [[7990, 0, 1]]])
    before, after = recording(brain + blinks), recording(brain)
    before.set_annotations(mne.Annotations([PEAKS[1] / SFREQ + 0.2], [0.5], ["BAD_cough"]))
    found = rms_reduction(before, after, at_edges)
    assert (found.n_events, found.n_edge, found.n_bad) == (6, 2, 1)
    assert_array_equal(found.samples, np.delete(PEAKS, 1))
    assert rms_reduction(before, after, at_edges, reject_by_annotation=False).n_events == 7
    with pytest.raises(ValueError, match="edges of the recording cut 2"):
        rms_reduction(before, after, at_edges[[0, -1]])


def test_windows_that_just_fit_are_used(brain, blinks):
    """They reach from the first sample to the last."""
    first_and_last = np.array([[50, 0, 1], [8000 - 50, 0, 1]])
    found = rms_reduction(recording(brain + blinks), recording(brain), first_and_last)
    assert (found.n_events, found.n_edge) == (2, 0)


def test_one_bad_sample_spoils_a_window(brain):
    """Even where it is the first or the last of the recording."""
    before = recording(brain)
    spans = mne.Annotations([0.0, 7999 / SFREQ], [1 / SFREQ] * 2, ["BAD_start", "BAD_end"])
    before.set_annotations(spans)
    at = np.array([[50, 0, 1], [4000, 0, 1], [8000 - 50, 0, 1]])
    found = rms_reduction(before, recording(brain), at)
    assert (found.n_events, found.n_edge, found.n_bad) == (1, 0, 2)


def test_events_count_from_first_samp(brain, blinks, events):
    shifted = events + [[1000, 0, 0]]
    pair = [recording(data, first_samp=1000) for data in (brain + blinks, brain)]
    expected = rms_reduction(recording(brain + blinks), recording(brain), events)
    found = rms_reduction(*pair, shifted)
    assert_allclose(found.overall, expected.overall)
    assert_array_equal(found.samples, shifted[:, 0])
    with pytest.raises(ValueError, match=r"1 of 7 events are outside.*1000 to 8999.*first_samp"):
        rms_reduction(*pair, events + [[300, 0, 0]])


def test_bads_are_left_out_unless_asked_for(brain, blinks, events):
    before, after = recording(brain + blinks), recording(brain)
    before.info["bads"] = ["Fp1"]
    assert rms_reduction(before, after, events).ch_names == NAMES[1:]
    assert rms_reduction(before, after, events, picks=["Fp1", "O1"]).ch_names == ["Fp1", "O1"]


def test_flat_channel_has_no_reduction(brain, blinks, events):
    data = brain + blinks
    data[4] = 0
    found = rms_reduction(recording(data), recording(data), events)
    assert np.isnan(found.per_channel[4])
    assert np.isfinite(found.overall)


# %% Harm


def test_what_is_untouched_outside_blinks_is_unharmed(brain, blinks, events):
    before, after = recording(brain + blinks), recording(brain)
    harm = preservation(before, after, events)
    assert 20 < harm.seconds < 40
    assert_allclose([harm.rms_change, harm.taken_out], 0, atol=1e-6)
    assert_allclose(list(harm.taken_out_per_band.values()), 0, atol=1e-6)
    assert set(harm.band_power) == set(BANDS)
    assert_allclose(list(harm.band_power.values()), 0, atol=1e-6)


def test_what_went_with_the_blinks_is_told(brain, events):
    times = np.arange(8000) / SFREQ
    data = brain + 20e-6 * np.sin(2 * np.pi * 10 * times)
    before = recording(data)
    after = recording(0.8 * brain - 0.8 * brain.mean(axis=0))
    harm = preservation(before, after, events)
    assert harm.rms_change < -0.3
    # The rhythm has the RMS 20 / sqrt(2), the rest 10, of which a little stays.
    assert 0.8 < harm.taken_out < 1
    assert harm.taken_out_per_band["alpha"] > 0.9 > harm.taken_out_per_band["beta"]
    assert harm.band_power["alpha"] < -0.9
    assert_allclose(harm.band_power["beta"], 0.64 * 5 / 6 - 1, atol=0.02)
    assert (harm.rank_before, harm.rank_after) == (6, 5)


def test_blinks_and_bad_spans_do_not_count_as_harm(brain, blinks, events):
    before = recording(brain + blinks)
    before.set_annotations(mne.Annotations([0.0], [15.0], ["BAD_movement"]))
    after = recording(brain)
    after._data[:, :3000] = 0  # all of it in the bad span
    harm = preservation(before, after, events)
    assert harm.seconds > 3.5
    assert_allclose([harm.rms_change, harm.taken_out], 0, atol=1e-6)
    # So many blinks after the bad span that nothing is free.
    dense = np.zeros((40, 3), int)
    dense[:, 0] = np.linspace(3060, 7960, 40)
    with pytest.warns(RuntimeWarning, match=r"Only 0.0 s .* 40 events"):
        harm = preservation(before, after, dense)
    assert harm.seconds == 0
    assert np.isnan([harm.taken_out, harm.band_power["alpha"]]).all()


def test_harm_is_measured_where_it_is_free_to_the_sample(brain, events):
    """Only ten short stretches are good, and all else is lost."""
    free = np.arange(0, 8000, 800)[:, np.newaxis] + 300 + np.arange(100)
    starts, stops = free[:, 0] / SFREQ, free[:, -1] / SFREQ + 1 / SFREQ
    onsets = np.r_[0, stops]
    before = recording(brain)
    before.set_annotations(
        mne.Annotations(onsets, np.r_[starts, 8000 / SFREQ] - onsets, "BAD_movement")
    )
    after = np.zeros_like(brain)
    after[:, free] = brain[:, free]
    harm = preservation(before, recording(after), np.repeat(events, 3, axis=0))
    assert 0 < harm.seconds <= 5
    assert harm.rms_change == harm.taken_out == 0


@pytest.mark.parametrize("seconds", [4, 3])
def test_harm_has_one_margin_for_all_recordings(brain, seconds):
    often = np.zeros((int(40 / seconds) - 1, 3), int)
    often[:, 0] = seconds * SFREQ * np.arange(1, len(often) + 1)
    harm = preservation(recording(brain), recording(brain), often)
    assert harm.margin == MARGIN


def test_gains_do_not_hide_losses(brain, events):
    """Half of the channels lose what the other half gains: the RMS is the same."""
    gains = np.sqrt([0.5, 1.5] * 3)[:, np.newaxis]
    unit = brain / np.sqrt(np.mean(brain**2, axis=1, keepdims=True)) * 1e-5
    harm = preservation(recording(unit), recording(gains * unit), events)
    assert abs(harm.rms_change) < 0.02
    assert_allclose(harm.taken_out_per_channel, np.abs(gains[:, 0] - 1))
    assert_allclose(harm.taken_out, np.sqrt(np.mean((gains - 1) ** 2)), rtol=0.05)


def test_each_channel_counts_and_flat_ones_do_not_matter(brain, events):
    gains = np.array([0.5, 1, 1, 1, 1, 2])[:, np.newaxis]
    data = brain.copy()
    data[3] = 0
    harm = preservation(recording(data), recording(gains * data), events)
    assert_allclose(harm.taken_out_per_channel[[0, 1, 5]], [0.5, 0, 1], atol=1e-6)
    assert np.isnan(harm.taken_out_per_channel[3])


def test_what_was_taken_out_is_relative_to_what_was_there(brain, events):
    harm = preservation(recording(brain), recording(0.25 * brain), events)
    assert_allclose([harm.taken_out, harm.rms_change], [0.75, -0.75])
    assert_allclose(list(harm.taken_out_per_band.values()), 0.75)


@pytest.mark.parametrize("sfreq", [SFREQ, 125.5])  # an even and an odd number of samples in 2 s
def test_spectra_are_those_of_the_textbook(brain, sfreq):
    after = 0.5 * brain + 3e-6 * np.sin(np.arange(8000)) + 1e-4
    pair = [recording(x) for x in (brain, after)]
    for raw in pair:
        with raw.info._unlock():
            raw.info["sfreq"] = sfreq
    harm = preservation(*pair, np.zeros((0, 3), int))
    length = int(2 * sfreq)
    welch = dict(sfreq=sfreq, n_fft=length, n_per_seg=length, n_overlap=0, verbose="error")
    for x, found in ((brain, harm.power_before), (after, harm.power_after)):
        power, freqs = mne.time_frequency.psd_array_welch(x, **welch)
        # What is left of the offset at 0 Hz is rounding.
        assert_allclose(found, power.mean(axis=0), atol=1e-12 * power.max())
        assert_allclose(harm.freqs, freqs)


def test_rhythm_at_the_limit_of_two_bands_belongs_to_the_upper_one(brain, events):
    limit = BANDS["alpha"][0]
    rhythm = 5e-6 * np.sin(2 * np.pi * limit * np.arange(8000) / SFREQ)
    change = preservation(recording(brain), recording(brain + rhythm), events).band_power
    # The window of the spectrum lets a sixth of it leak to either side.
    assert change["alpha"] > 2.5 * change["theta"] > 0


def test_all_is_lost(brain, blinks, events):
    pair = recording(brain + blinks), recording(0 * brain)
    harm = preservation(*pair, events)
    assert list(harm.band_power.values()) == [-1] * len(BANDS)


def test_the_average_does_not_reward_taking_out_the_brain(brain, blinks, events):
    """Without the blinks, and without blinks or brain: the average hardly tells the two apart."""
    before, clean, empty = (
        recording(x) for x in (brain + blinks, brain + 0.05 * blinks, 0.05 * blinks)
    )
    kept, lost = (rms_reduction(before, after, events) for after in (clean, empty))
    assert lost.over(NAMES[:2]) - kept.over(NAMES[:2]) > 0.05
    # What is left of the brain in the average of seven blinks, relative to a blink
    noise = 10e-6 / np.sqrt(7) * np.sqrt(2)
    assert abs(lost.average - 0.95) < 2 * noise / 200e-6
    assert abs(kept.average - lost.average) < 3 * noise / rms(
        200e-6 * np.exp(-((np.arange(-50, 50) / 12) ** 2))
    )
    low, high = kept.average_interval
    assert low < kept.average < high


def test_the_average_is_measured_from_the_baseline(brain, blinks, events):
    """An offset that stays is no rest of a blink."""
    benefit = rms_reduction(recording(brain + blinks), recording(brain + 1e-4), events)
    expected = rms_reduction(recording(brain + blinks), recording(brain), events)
    assert_allclose(benefit.average, expected.average)
    assert benefit.overall < expected.overall


def test_bands_leave_no_gap():
    limits = list(BANDS.values())
    assert [high for _, high in limits[:-1]] == [low for low, _ in limits[1:]]
    assert (limits[0][0], limits[-1][1]) == (1, 45)


def test_nothing_to_harm(events):
    flat = recording(np.zeros((6, 8000)))
    harm = preservation(flat, flat, events)
    assert np.isnan([harm.taken_out, harm.rms_change]).all()
    assert harm.rank_before == 0


# %% Both


@pytest.mark.parametrize("measure", [rms_reduction, preservation])
def test_figures_stand_as_measured(brain, blinks, events, measure):
    """They cannot be overwritten, and are told apart without a look into their arrays."""
    pair = recording(brain + blinks), recording(brain)
    one, other = measure(*pair, events), measure(*pair, events)
    with pytest.raises(FrozenInstanceError):
        one.ch_names = []
    assert one != other
    assert len({one, other}) == 2


@pytest.mark.parametrize("measure", [rms_reduction, preservation])
def test_nothing_is_changed(brain, blinks, events, measure):
    before, after = recording(brain + blinks), recording(brain)
    copies = before.copy(), after.copy()
    measure(before, after, events)
    assert_array_equal(before.get_data(), copies[0].get_data())
    assert_array_equal(after.get_data(), copies[1].get_data())
