"""Taking out the artifact and leaving the rest of its component."""

import mne
import numpy as np
import pytest
from mne.preprocessing import ICA

from mne_otica import remove_artifacts
from mne_otica.removal.estimate import artifact_part, sham_part
from mne_otica.removal.remove import parts_of
from mne_otica.simulation import simulate_raw

SFREQ = 100.0


def blink(times, peak, rise=0.11, fall=0.23):
    """Return one smooth deflection of height one."""
    phase = (times - peak) / np.where(times < peak, rise, fall)
    return np.where(np.abs(phase) < 1, (1 + np.cos(np.pi * phase)) / 2, 0)


def course(seconds=60.0, sfreq=SFREQ, peaks=None, height=15.0, seed=0):
    """Return artifact and rest of a component, and the samples of its events."""
    rng = np.random.default_rng(seed)
    times = np.arange(int(seconds * sfreq)) / sfreq
    white = rng.standard_normal(len(times))
    rest = np.fft.irfft(
        np.fft.rfft(white) / np.maximum(np.fft.rfftfreq(len(times), 1 / sfreq), 1.0), len(times)
    )
    rest /= rest.std()
    peaks = np.arange(3.0, seconds - 2, 4.1) if peaks is None else np.asarray(peaks)
    heights = height * np.exp(0.2 * rng.standard_normal(len(peaks)))
    widths = np.exp(0.1 * rng.standard_normal((len(peaks), 2))) * [0.11, 0.23]
    artifact = np.zeros_like(times)
    for peak, size, (rise, fall) in zip(peaks, heights, widths, strict=True):
        artifact += size * blink(times, peak, rise, fall)
    return artifact, rest, np.round(peaks * sfreq).astype(int)


def rms(x):
    return np.sqrt(np.mean(x**2))


@pytest.fixture(scope="module")
def recording():
    """Return a simulated recording with an ICA that knows its blink component."""
    sim = simulate_raw(19, 60, 128.0, n_blinks=15, random_state=3)
    ica = ICA(19, method="picard", max_iter=200, random_state=0)
    ica.fit(sim.raw.copy().filter(1.0, 40.0))
    sources = ica.get_sources(sim.raw).get_data()
    events = sim.blink_events[:, 0]
    ica.exclude = [int(np.argmax(np.abs(sources[:, events]).mean(axis=1) / sources.std(axis=1)))]
    return sim, ica


def estimate(raw, ica, events):
    """Return the estimate of the blinks in the excluded components."""
    wanted = {"blink": (ica.exclude, events)}
    return parts_of(raw, ica, wanted, removal="events", reject=True).of("blink").estimate


def test_the_estimate_is_closer_to_the_artifact_than_the_whole_component():
    artifact, rest, samples = course()
    found = artifact_part(artifact + rest, SFREQ, samples)
    inside = found.part[0] != 0
    # All of the component is the rest away from the artifact.
    assert rms((found.part[0] - artifact)[inside]) < 0.8 * rms(rest[inside])
    assert not found.whole


def test_nothing_is_taken_out_outside_the_windows_and_nothing_jumps():
    artifact, rest, samples = course()
    found = artifact_part(artifact + rest, SFREQ, samples)
    late = np.arange(len(rest)) - found.events[:, np.newaxis]
    inside = ((late >= -0.51 * SFREQ) & (late <= 0.71 * SFREQ)).any(axis=0)
    assert not found.part[0, ~inside].any()
    # The estimate is as smooth as what it is an estimate of: no step of its own.
    assert np.abs(np.diff(found.part[0])).max() < 1.5 * np.abs(np.diff(artifact + rest)).max()


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_result_scales_with_the_data(scale):
    artifact, rest, samples = course(30)
    one = artifact_part(artifact + rest, SFREQ, samples)
    other = artifact_part(scale * (artifact + rest), SFREQ, samples)
    np.testing.assert_allclose(other.part, scale * one.part, rtol=1e-6, atol=1e-6 * scale)
    np.testing.assert_array_equal(other.events, one.events)


def test_offsets_and_drifts_stay_in():
    artifact, rest, samples = course()
    times = np.arange(len(rest)) / SFREQ
    drift = 1e4 + 30 * times + 100 * np.sin(2 * np.pi * times / 40)
    found = artifact_part(artifact + rest + drift, SFREQ, samples)
    inside = found.part[0] != 0
    assert rms((found.part[0] - artifact)[inside]) < rms(rest[inside])


@pytest.mark.parametrize("sfreq", [100.0, 128.0, 250.0, 600.6, 2000.0])
def test_any_sampling_rate(sfreq):
    artifact, rest, samples = course(30, sfreq)
    found = artifact_part(artifact + rest, sfreq, samples)
    inside = found.part[0] != 0
    assert rms((found.part[0] - artifact)[inside]) < rms(rest[inside])


def test_events_that_no_one_gave_are_found():
    artifact, rest, samples = course()
    found = artifact_part(artifact + rest, SFREQ, samples[::2])
    for sample in samples:
        assert np.abs(found.events - sample).min() <= 0.1 * SFREQ


def test_events_that_are_not_there_are_dropped():
    artifact, rest, samples = course()
    wrong = (samples[:-1:3] + samples[1::3]) // 2
    found = artifact_part(artifact + rest, SFREQ, np.r_[samples, wrong])
    for sample in wrong:
        assert np.abs(found.events - sample).min() > 0.1 * SFREQ


def test_a_small_deflection_at_the_edge_is_left_in():
    artifact, rest, samples = course(30, peaks=[8.0, 12.0, 16.0, 20.0, 24.0])
    times = np.arange(len(rest)) / SFREQ
    found = artifact_part(
        artifact + rest + 3 * blink(times, 0.2, 0.5, 0.5), SFREQ, np.r_[20, samples]
    )
    np.testing.assert_array_equal(found.events, samples)


def test_overlapping_events_share_what_is_there():
    peaks = np.sort(np.r_[np.arange(3, 55, 5.0), np.arange(3, 55, 5.0) + 0.4])
    artifact, rest, samples = course(peaks=peaks)
    found = artifact_part(artifact + rest, SFREQ, samples)
    inside = found.part[0] != 0
    assert rms((found.part[0] - artifact)[inside]) < rms(rest[inside])


@pytest.mark.parametrize("n_events", [1, 2])
def test_one_or_two_events(n_events):
    artifact, rest, samples = course(30, peaks=[10.0, 20.0][:n_events])
    found = artifact_part(artifact + rest, SFREQ, samples)
    inside = found.part[0] != 0
    assert len(found.events) == n_events
    assert rms((found.part[0] - artifact)[inside]) < 0.25 * rms(artifact[inside])


def test_without_events_nothing_goes():
    _, rest, _ = course(20)
    found = artifact_part(rest, SFREQ, [])
    assert not found.part.any()
    assert found.part.shape == (1, len(rest))
    assert not len(found.events)


def test_events_at_the_edges():
    artifact, rest, samples = course(30, peaks=[0.05, 8.0, 16.0, 24.0, 29.95])
    found = artifact_part(artifact + rest, SFREQ, samples)
    assert rms(found.part[0] - artifact) < rms(rest)
    assert {samples[0], samples[-1]} <= set(found.events)


def test_bad_samples_are_not_read():
    artifact, rest, samples = course()
    clean = artifact + rest
    broken = clean.copy()
    broken[samples[2] - 10 : samples[2] + 5] = np.nan
    wild = clean.copy()
    bad = np.isnan(broken)
    wild[bad] = 1e6
    one, other = artifact_part(broken, SFREQ, samples), artifact_part(wild, SFREQ, samples, bad)
    np.testing.assert_array_equal(one.part, other.part)
    assert np.isfinite(one.part).all()


def test_eyes_that_never_rest_take_the_whole_component():
    artifact, rest, samples = course()
    bursts = np.repeat(np.random.default_rng(1).random(60) < 0.4, int(SFREQ))
    restless = artifact + 0.01 * rest + 5 * bursts * rest
    found = artifact_part(restless, SFREQ, samples)
    assert found.whole
    np.testing.assert_array_equal(found.part[0], restless)


@pytest.mark.parametrize("restless", [False, True])
def test_what_goes_where_the_eyes_never_rest_is_what_brings_the_truth_nearer(recording, restless):
    sim, ica = recording
    rng = np.random.default_rng(0)
    roving = rng.standard_normal(sim.raw.n_times)
    roving = mne.filter.filter_data(roving, 128.0, 0.5, 4.0, verbose="error")
    gaze = restless * np.repeat(rng.random(60) < 0.4, 128) * roving / roving.std()
    lid = sim.map_of("blink")[:, 0]
    data = sim.raw.get_data() + 100e-6 * np.outer(lid / np.abs(lid).max(), gaze)
    raw = mne.io.RawArray(data, sim.raw.info)
    truth = sim.without_blinks.copy().filter(1.0, 40.0).get_data()
    found = estimate(raw, ica, sim.blink_events)
    assert found.whole == restless
    left = {
        removal: remove_artifacts(raw, ica, events=sim.blink_events, removal=removal)
        .filter(1.0, 40.0)
        .get_data()
        for removal in ("events", "component")
    }
    error = {removal: rms(data - truth) for removal, data in left.items()}
    # Gaze that stayed in would be many times the brain's part of the component.
    assert error["events"] < (1.001 if restless else 0.9) * error["component"]


def test_a_filter_that_draws_blinks_out_is_accounted_for():
    artifact, rest, samples = course(height=60.0)
    filtered, truth = (
        mne.filter.filter_data(x, SFREQ, 1.0, None, verbose="error")
        for x in (artifact + rest, artifact)
    )
    aware = artifact_part(filtered, SFREQ, samples, highpass=1.0)
    unaware = artifact_part(filtered, SFREQ, samples)
    assert rms(aware.part[0] - truth) < 0.5 * rms(unaware.part[0] - truth)


def test_sham_events_take_out_little():
    artifact, rest, samples = course()
    found = artifact_part(artifact + rest, SFREQ, samples)
    between = (samples[:-1] + samples[1:]) // 2
    sham = sham_part(found, between)
    assert rms(sham) < 0.1 * rms(rest)
    assert not sham_part(found, []).any()


def test_the_recording_stays_as_it_is_outside_the_windows(recording):
    sim, ica = recording
    before = sim.raw.get_data()
    cleaned = remove_artifacts(sim.raw, ica, events=sim.blink_events)
    found = estimate(sim.raw, ica, sim.blink_events)
    outside = ~found.part.any(axis=0)
    assert 0.3 < outside.mean() < 0.9
    np.testing.assert_array_equal(
        cleaned.get_data()[:, outside].view(np.int64), before[:, outside].view(np.int64)
    )
    np.testing.assert_array_equal(sim.raw.get_data(), before)


def test_the_rank_is_kept(recording):
    sim, ica = recording
    cleaned = remove_artifacts(sim.raw, ica, events=sim.blink_events)
    ranks = [np.linalg.matrix_rank(raw.get_data(), tol=None) for raw in (sim.raw, cleaned)]
    assert ranks[0] == ranks[1] == 19


def test_the_truth_is_nearer_than_without_the_component(recording):
    sim, ica = recording
    truth = sim.without_blinks.copy().filter(1.0, 40.0).get_data()
    error = {
        removal: rms(
            remove_artifacts(sim.raw, ica, events=sim.blink_events, removal=removal)
            .filter(1.0, 40.0)
            .get_data()
            - truth
        )
        for removal in ("events", "component")
    }
    assert error["events"] < 0.9 * error["component"]


def test_events_are_found_where_none_are_given(recording):
    sim, ica = recording
    labels = dict(ica.labels_)
    found = estimate(sim.raw, ica, None)
    for sample in sim.blink_events[:, 0]:
        assert np.abs(found.events - sample).min() <= 0.1 * sim.raw.info["sfreq"]
    assert ica.labels_ == labels


def test_whole_components_go_as_mne_takes_them_out(recording):
    sim, ica = recording
    ours = remove_artifacts(sim.raw, ica, removal="component")
    theirs = ica.apply(sim.raw.copy()).get_data()
    np.testing.assert_allclose(ours.get_data(), theirs, rtol=0, atol=1e-9 * np.abs(theirs).max())
    none = remove_artifacts(sim.raw, ica, removal="component", exclude=[])
    np.testing.assert_array_equal(none.get_data(), sim.raw.get_data())
    assert ica.exclude
    broken = sim.raw.copy()
    broken._data[2, 100:110] = np.nan
    after = remove_artifacts(broken, ica, removal="component")
    np.testing.assert_array_equal(np.isnan(after.get_data()), np.isnan(broken.get_data()))


def test_maps_are_in_volts_with_a_noise_covariance_too(recording):
    sim, _ = recording
    recorded, truth = (
        raw.copy().set_eeg_reference(projection=True).apply_proj()
        for raw in (sim.raw, sim.without_blinks)
    )
    raw = recorded.copy().filter(1.0, 40.0)
    cov = mne.compute_raw_covariance(raw)
    ica = ICA(15, noise_cov=cov, method="picard", max_iter=200, random_state=0).fit(raw)
    at = sim.blink_events[:, 0]
    sources = ica.get_sources(raw).get_data()
    ica.exclude = [int(np.argmax(np.abs(sources[:, at]).mean(axis=1) / sources.std(axis=1)))]
    cleaned = remove_artifacts(recorded, ica, events=sim.blink_events)
    before, after, wanted = (x.get_data()[:, at].mean(axis=1) for x in (recorded, cleaned, truth))
    assert rms(after - wanted) < 0.3 * rms(before - wanted)


def test_bad_spans_and_broken_samples(recording):
    """Blinks in bad spans are removed as by MNE, but say nothing about those elsewhere."""
    sim, ica = recording
    raw = sim.raw.copy()
    at = sim.blink_events[3, 0]
    raw.annotations.append(at / 128.0 - 1, 2.0, "BAD_test")
    raw._data[0, at + 640 : at + 650] = np.nan
    cleaned = remove_artifacts(raw, ica, events=sim.blink_events)
    np.testing.assert_array_equal(np.isnan(cleaned.get_data()), np.isnan(raw.get_data()))
    before, after, truth = (
        one.get_data()[:, at - 64 : at + 64] for one in (raw, cleaned, sim.without_blinks)
    )
    assert rms(after - truth) < 0.3 * rms(before - truth)
    raw._data[:, at - 128 : at + 128] += 1e-3 * np.hanning(256)
    spoiled = remove_artifacts(raw, ica, events=sim.blink_events).get_data()
    away = np.abs(np.arange(raw.n_times) - at) > 256
    np.testing.assert_array_equal(spoiled[:, away], cleaned.get_data()[:, away])


def test_bad_spans_that_overlap_are_one(recording):
    sim, ica = recording
    at = sim.blink_events[3, 0] / 128.0
    overlapping, one = sim.raw.copy(), sim.raw.copy()
    overlapping.annotations.append([at - 1, at - 0.5], [1.5, 1.5], ["BAD_a", "BAD_b"])
    one.annotations.append(at - 1, 2.0, "BAD_both")
    cleaned = [remove_artifacts(raw, ica, events=sim.blink_events) for raw in (overlapping, one)]
    np.testing.assert_array_equal(*[raw.get_data() for raw in cleaned])


def test_epochs_are_cleaned_like_the_recording(recording):
    sim, ica = recording
    starts = np.arange(300, sim.raw.n_times - 300, 256)
    events = np.column_stack([starts, 0 * starts, 0 * starts + 1])
    epochs, truth = (
        mne.Epochs(raw, events, tmin=-1.0, tmax=0.99, baseline=None, preload=True)
        for raw in (sim.raw, sim.without_blinks)
    )
    before = epochs.get_data()
    for given in (sim.blink_events, None):
        cleaned = remove_artifacts(epochs, ica, events=given)
        error, blinks = rms(cleaned.get_data() - truth.get_data()), rms(before - truth.get_data())
        assert error < 0.5 * blinks
    np.testing.assert_array_equal(epochs.get_data(), before)


def test_epochs_that_are_not_loaded_are_cleaned_like_those_that_are(recording):
    sim, ica = recording
    events = mne.make_fixed_length_events(sim.raw, duration=2.0)
    lazy, loaded = (
        mne.Epochs(sim.raw, events, tmin=0, tmax=1.9, baseline=None, preload=preload)
        for preload in (False, True)
    )
    for removal in ("events", "component"):
        one, other = (remove_artifacts(x, ica, removal=removal) for x in (lazy, loaded))
        np.testing.assert_array_equal(one.get_data(), other.get_data())
    assert not lazy.preload


def test_a_recording_with_offsets_and_drifts_is_cleaned_as_it_is(shared_data):
    raw = mne.io.read_raw_fif(shared_data / "openbci8_raw.fif", preload=True)
    offsets = np.abs(raw.get_data().mean(axis=1)).max()
    ica = ICA(8, method="picard", max_iter=200, random_state=0)
    ica.fit(raw.copy().filter(1.0, 40.0))
    onsets = np.loadtxt(shared_data / "openbci8_blinks.tsv", skiprows=1)[:, 0]
    samples = np.round(onsets * raw.info["sfreq"]).astype(int)
    filtered = raw.copy().filter(1.0, 10.0)
    heights = np.abs(ica.get_sources(filtered).get_data()[:, samples]).mean(axis=1)
    events = np.column_stack([samples, 0 * samples, 0 * samples + 1])
    cleaned = remove_artifacts(raw, ica, exclude=[int(np.argmax(heights))], events=events)
    change = cleaned.get_data() - raw.get_data()
    # Blinks are some 200 uV high; the offsets, hundreds of times larger, are none of them.
    assert 50e-6 < np.abs(change[:, samples]).max() < 1e-3 < offsets
    assert (change == 0).mean() > 0.5
    average = [
        np.ptp(one.copy().filter(1.0, 10.0).get_data()[:, samples].mean(axis=1))
        for one in (raw, cleaned)
    ]
    assert average[1] < 0.5 * average[0]


@pytest.mark.parametrize("offset", [1e-4, 1e-3, 2e-2])
def test_offsets_between_runs_are_no_blinks(recording, offset):
    """Two runs joined: what goes is the same, whatever the offsets of the second one."""
    sim, ica = recording
    size = offset * np.random.default_rng(0).standard_normal((len(sim.raw.ch_names), 1))
    changes = []
    for level in (0 * size, size):
        second = mne.io.RawArray(sim.raw.get_data() + level, sim.raw.info)
        joined = mne.concatenate_raws([sim.raw.copy(), second])
        later = sim.blink_events + [sim.raw.n_times, 0, 0]
        events = np.vstack([sim.blink_events, later])
        cleaned = remove_artifacts(joined, ica, events=events)
        changes.append(cleaned.get_data() - joined.get_data())
    np.testing.assert_allclose(*changes, atol=1e-9)


def test_the_average_blink_goes_even_if_heights_are_skewed():
    """Few large blinks among many small ones: the typical event is the mean, not the median."""
    rng = np.random.default_rng(4)
    times = np.arange(6000) / SFREQ
    _, rest, samples = course()
    heights = np.where(rng.random(len(samples)) < 0.3, 30.0, 8.0)
    artifact = sum(h * blink(times, k / SFREQ) for h, k in zip(heights, samples, strict=True))
    found = artifact_part(artifact + rest, SFREQ, samples)
    left, all_of_it = ((x)[samples].mean() for x in (artifact - found.part[0], artifact))
    assert abs(left) < 3 * rest.std() / np.sqrt(len(samples)) < all_of_it


def test_blinks_without_time_between_them_take_the_whole_component():
    rng = np.random.default_rng(2)
    peaks = 2 + np.cumsum(0.35 + rng.exponential(0.3, 85))
    artifact, rest, samples = course(peaks=peaks[peaks < 58], height=10.0)
    found = artifact_part(artifact + rest, SFREQ, samples[::2])
    inside = found.part[0] != 0
    assert rms((found.part[0] - artifact)[inside]) < 1.05 * rms(rest)


def test_nothing_to_exclude_changes_nothing(recording):
    sim, ica = recording
    for removal in ("events", "component"):
        cleaned = remove_artifacts(sim.raw, ica, exclude=[], removal=removal)
        assert cleaned is not sim.raw
        np.testing.assert_array_equal(cleaned.get_data(), sim.raw.get_data())
    none = remove_artifacts(sim.raw, ica, events=np.zeros((0, 3), int))
    np.testing.assert_array_equal(none.get_data(), sim.raw.get_data())


def test_bad_input_is_refused(recording):
    sim, ica = recording
    with pytest.raises(ValueError, match="outside the recording"):
        remove_artifacts(sim.raw, ica, events=[[sim.raw.n_times + 5, 0, 1]])
    with pytest.raises(RuntimeError, match="lacks 1 channel"):
        remove_artifacts(sim.raw.copy().drop_channels("Cz"), ica)
    with pytest.raises(RuntimeError, match="not fitted"):
        remove_artifacts(sim.raw, ICA(5))
    with pytest.raises(ValueError, match="has 19"):
        remove_artifacts(sim.raw, ica, exclude=[19])
    with pytest.raises(ValueError, match="removal"):
        remove_artifacts(sim.raw, ica, removal="blink")
    with pytest.raises(ValueError, match="shape"):
        remove_artifacts(sim.raw, ica, events=[1, 2, 3])
    epochs = mne.make_fixed_length_epochs(sim.raw, 2.0, preload=True)
    with pytest.raises(ValueError, match="shape"):
        remove_artifacts(epochs, ica, events=[1, 2, 3])
