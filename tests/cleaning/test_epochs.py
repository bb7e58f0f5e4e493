"""Epochs are as good as those cut from the cleaned recording, whatever MNE did to them."""

import mne
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.signal import detrend

from mne_otica import clean_epochs, clean_raw, remove_artifacts
from mne_otica.simulation import simulate_raw

N_RECORDINGS = 8
WAYS = {
    "one second": dict(tmax=1.0, baseline=None),
    "two seconds, baseline": dict(tmax=2.0, baseline=(None, 0)),
    "decimated by two": dict(tmax=1.0, baseline=(None, 0), decim=2),
    "decimated by four, detrended": dict(tmax=2.0, baseline=None, decim=4, detrend=1),
    "from file": dict(tmax=1.0, baseline=(-0.1, 0)),
}


def simulated(seed):
    return simulate_raw(16, 60, 256.0, n_blinks=18, random_state=seed)


def cut(raw, preload=True, **options):
    events = mne.make_fixed_length_events(raw, start=0.5, duration=1.3)
    return mne.Epochs(raw, events, tmin=-0.2, preload=preload, verbose="error", **options)


def rms(data):
    return np.sqrt(np.mean(data**2))


def reduction_of_average(before, after, events, sfreq):
    """Return how much of the average over blinks is gone from the epochs, which are detrended.

    The recording has a high-pass filter where the verdict is measured, for which epochs are short.
    """
    first = before.events[:, 0] + round(before.tmin * sfreq)
    step, half = round(sfreq / before.info["sfreq"]), round(0.25 * before.info["sfreq"])
    length, means = len(before.times), []
    for epochs in (before, after):
        data, cuts = detrend(epochs.get_data(), axis=2), []
        for k, start in enumerate(first):
            for at in (events[:, 0] - start) // step:
                if half < at <= length - half:
                    level = data[k, :, max(0, at - 2 * half) : at - half].mean(1, keepdims=True)
                    cuts.append(data[k, :, at - half : at + half] - level)
        means.append(np.mean(cuts, axis=0))
    most = np.argsort(-np.sum(means[0] ** 2, axis=1))[:5]
    return 1 - rms(means[1][most]) / rms(means[0][most])


@pytest.mark.parametrize(
    "seed",
    [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, N_RECORDINGS))],
)
@pytest.mark.parametrize("way", WAYS)
def test_as_good_as_cut_from_the_cleaned_recording(seed, way, tmp_path):
    sim, options = simulated(seed), WAYS[way]
    epochs = cut(sim.raw, preload=False, **options)
    if way == "from file":
        cut(sim.raw, **options).save(tmp_path / "a-epo.fif")
        epochs = mne.read_epochs(tmp_path / "a-epo.fif", preload=False)
    result = clean_epochs(epochs, sim.raw)
    assert epochs.preload is False
    truth, dirty = (cut(raw, **options).get_data() for raw in (sim.without_blinks, sim.raw))
    expected = cut(clean_raw(sim.raw).raw, **options).get_data()
    error = rms(result.epochs.get_data() - truth)
    assert error < 1.1 * rms(expected - truth)
    assert error < 0.5 * rms(dirty - truth)
    gone = reduction_of_average(epochs.load_data(), result.epochs, result.events, 256.0)
    assert result.kinds["blink"].gone == pytest.approx(gone, abs=0.05)


def test_the_same_with_projectors_cropped_and_baseline_afterwards():
    sim = simulated(0)
    raw = sim.raw.copy().set_eeg_reference(projection=True)
    clean = clean_raw(raw).raw
    for change in (
        lambda one: cut(one, tmax=1.0, baseline=(None, 0)).crop(0.1, 0.8),
        lambda one: cut(one, tmax=1.0, baseline=None, decim=3).apply_baseline((0, 0.2)),
        lambda one: cut(one, tmax=1.0, baseline=None, proj=False),
    ):
        result = clean_epochs(change(raw), raw)
        expected = change(clean).get_data()
        assert_allclose(result.epochs.get_data(), expected, rtol=0, atol=1e-6 * expected.std())


def test_epochs_of_something_else_are_refused():
    sim = simulated(0)
    epochs = cut(sim.raw, tmax=1.0, baseline=None)
    with pytest.raises(ValueError, match="differ by .* of its RMS. Pass the recording"):
        clean_epochs(epochs, simulated(1).raw)
    with pytest.raises(ValueError, match="Hz and raw has 200, which is not a multiple"):
        clean_epochs(epochs, sim.raw.copy().resample(200))
    with pytest.raises(ValueError, match="lie outside raw"):
        clean_epochs(epochs, sim.raw.copy().crop(0, 20))
    filtered = epochs.copy().filter(None, 20, verbose="error")
    with pytest.raises(ValueError, match="in .* they differ"):
        clean_epochs(filtered, sim.raw)


def test_epochs_that_are_not_loaded():
    """MNE's default: the same as loaded ones, which are not changed, either."""
    raw = simulated(0).raw
    options = dict(tmax=1.0, baseline=None)
    lazy, loaded = cut(raw, preload=False, **options), cut(raw, **options)
    before = loaded.get_data()
    alone = clean_epochs(lazy)
    assert_array_equal(alone.epochs.get_data(), clean_epochs(loaded).epochs.get_data())
    removed = [remove_artifacts(one, alone.ica).get_data() for one in (lazy, loaded)]
    assert_array_equal(*removed)
    assert not lazy.preload
    assert_array_equal(loaded.get_data(), before)


def test_blinks_are_put_in_their_place_in_decimated_epochs():
    sim = simulated(0)
    options = dict(tmax=2.0, baseline=None)
    fine, coarse = (cut(sim.raw, decim=decim, **options) for decim in (1, 4))
    result = clean_raw(sim.raw)
    truth = cut(sim.without_blinks, decim=4, **options).get_data()
    errors = [
        rms(remove_artifacts(one, result.ica, events=result.events).get_data()[..., ::step] - truth)
        for one, step in ((fine, 4), (coarse, 1))
    ]
    assert errors[1] < 1.1 * errors[0]


@pytest.mark.parametrize("baseline", [(None, 0), (0, 0.2)])
def test_epochs_alone_with_a_baseline_are_cleaned_if_the_verdict_says_so(baseline):
    sim = simulated(0)
    options = dict(tmax=1.0, baseline=baseline)
    result = clean_epochs(cut(sim.raw, **options))
    truth, dirty = (cut(raw, **options).get_data() for raw in (sim.without_blinks, sim.raw))
    assert result.status == "cleaned"
    error, uncleaned = rms(result.epochs.get_data() - truth), rms(dirty - truth)
    assert error < uncleaned
    # Parts of blinks that lie outside the epochs, or in the baseline, remain.
    assert np.mean(result.epochs.get_data() != dirty) > 0.1


def test_epochs_with_gaps_are_left_as_they_are():
    epochs = cut(simulated(0).raw, tmax=1.0, baseline=None)
    epochs._data[3, 5, 100:110] = np.nan
    result = clean_epochs(epochs)
    assert result.status == "cleaned"
    assert_array_equal(result.epochs.get_data()[3], epochs.get_data()[3])
    epochs._data[:, 5, 7] = np.inf
    with pytest.raises(ValueError, match=f"most in {epochs.ch_names[5]}: mark it as bad"):
        clean_epochs(epochs)
