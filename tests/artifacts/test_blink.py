import matplotlib.pyplot as plt
import mne
import numpy as np
import pytest
from scipy.stats import kurtosis

from benchmarks.blinks import blink_component
from benchmarks.controls import with_controls
from benchmarks.laboratories import with_bad_channels, with_clinical_names, with_low_rank
from mne_otica import ICA, datasets
from mne_otica.artifacts import ArtifactScores, blink_times, find_artifact_events, find_bads_blink
from mne_otica.simulation import simulate_raw


def fit(raw, n_components=None):
    """Fit an ICA on a filtered copy."""
    filtered = raw.copy().filter(1.0, 40.0, picks="eeg")
    # As clean_raw fits
    ica = ICA(n_components=n_components, random_state=0, fit_params=dict(refine="none"))
    return ica.fit(filtered, picks="eeg", verbose="error")


def true_component(ica, sim, raw=None):
    """Return the component that follows the blinks of a simulation, or of what was made of it."""
    filtered = (sim.raw if raw is None else raw).copy().filter(1.0, 40.0)
    return blink_component(ica, filtered, sim)


def without_places(raw, ica):
    """Return copies whose channels have neither positions nor names that tell where they are."""
    raw, ica = raw.copy().set_montage(None), ica.copy()
    raw.rename_channels({name: f"X{k}" for k, name in enumerate(raw.ch_names)})
    ica.ch_names, ica.info = raw.ch_names, raw.info.copy()
    return raw, ica


def seconds(events, raw):
    return (events[:, 0] - raw.first_samp) / raw.info["sfreq"]


def found_and_extra(times, truth, tolerance):
    distance = np.abs(times[:, np.newaxis] - np.asarray(truth))
    return (distance.min(axis=0) <= tolerance).mean(), (distance.min(axis=1) > tolerance).sum()


@pytest.fixture(scope="module")
def blinking():
    """19 channels, 60 s, 15 blinks, and pops that have a higher kurtosis."""
    sim = simulate_raw(19, 60, 128.0, n_blinks=15, pops=3, random_state=3)
    return sim, fit(sim.raw)


@pytest.fixture(scope="module")
def still():
    """19 channels, 60 s, everything but blinks."""
    sim = simulate_raw(19, 60, 128.0, n_blinks=0, pops=4, movements=1, random_state=4)
    return sim, fit(sim.raw)


def test_blinks_win_over_pops_of_higher_kurtosis(blinking):
    sim, ica = blinking
    truth = true_component(ica, sim)
    by_kurtosis = int(np.argmax(kurtosis(ica.get_sources(sim.raw).get_data(), axis=1)))
    assert by_kurtosis != truth
    indices, scores = find_bads_blink(ica, sim.raw)
    assert indices == [truth] == ica.labels_["blink"]
    assert (scores.rows[0].component, scores.rows[0].answer) == (truth, "yes")
    assert [row.component for row in scores.rows if row.remove] == [truth]
    loser = scores.row(by_kurtosis, "blink")
    assert "suddenly" in loser.reason
    assert ica.exclude == []


def test_nothing_is_picked_where_nobody_blinks(still):
    sim, ica = still
    indices, scores = find_bads_blink(ica, sim.raw)
    assert indices == [] == ica.labels_["blink"]
    assert {row.answer for row in scores.rows} == {"no"}
    assert scores.sources == {"blink": "none"}
    assert all(row.reason for row in scores.rows)
    events = find_artifact_events(sim.raw, ica=ica)
    assert events.shape == (0, 3)


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_sleep_is_left_alone(seed):
    quiet = dict(n_blinks=0, saccades=False)
    extra = with_controls(sleep=True)
    sim = simulate_raw(8, 90, 128.0, extra=extra, random_state=seed, **quiet)
    ica = fit(sim.raw)
    indices, scores = find_bads_blink(ica, sim.raw)
    assert indices == []
    assert "yes" not in {row.answer for row in scores.rows}
    assert len(find_artifact_events(sim.raw, ica=ica)) == 0


@pytest.mark.parametrize("geometry", ["positions", "names", "none"])
def test_geometry_helps_but_is_not_needed(blinking, geometry):
    sim, ica = blinking
    truth = true_component(ica, sim)
    raw, ica = sim.raw.copy(), ica.copy()
    if geometry == "names":
        raw.set_montage(None)
        ica.info = raw.info.copy()
    elif geometry == "none":
        raw, ica = without_places(raw, ica)
    indices, scores = find_bads_blink(ica, raw)
    assert scores.geometry == geometry
    assert indices == [truth]
    assert np.isnan(scores.rows[0].figures["frontality"]) == (geometry == "none")
    source = f"component ICA{truth:03d}" if geometry == "none" else "channels Fp1, Fp2"
    assert scores.sources["blink"] == source
    events = find_artifact_events(raw, ica=ica)
    np.testing.assert_array_equal(events, scores.events("blink"))
    np.testing.assert_array_equal(events, scores.rows[0].events)
    truth = sim.blink_events[:, 0] / sim.raw.info["sfreq"]
    found, extra = found_and_extra(seconds(events, raw), truth, 0.05)
    assert found >= 0.9
    assert extra <= 1


def test_a_component_that_someone_labelled_is_believed(blinking):
    sim, ica = blinking
    indices, scores = find_bads_blink(ica, sim.raw)
    doubtful = [row for row in scores.rows if row.figures][-1]
    assert doubtful.probability < 0.01
    doubtful = doubtful.component
    raw, ica = without_places(sim.raw, ica)
    del ica.labels_["blink"]
    assert blink_times(raw, ica=ica)[1] == f"component ICA{indices[0]:03d}"
    ica.labels_["blink"] = [doubtful]
    samples, source = blink_times(raw, ica=ica)
    assert source == f"component ICA{doubtful:03d}"
    assert len(samples) == scores.row(doubtful, "blink").figures["events"]
    # Where no component was found to blink, the channels are asked.
    ica.labels_["blink"] = []
    samples, source = blink_times(raw, ica=ica)
    assert source.startswith("channels X")
    assert len(samples) == 15


def test_the_log_names_the_components(blinking, still):
    for sim, ica in (blinking, still):
        with mne.utils.catch_logging() as log:
            indices, _ = find_bads_blink(ica, sim.raw, verbose="info")
        assert f"blink {indices or 'none'}" in log.getvalue()


def test_four_channels_and_a_stock_ica_are_enough():
    sim = simulate_raw(["Fp1", "Fp2", "T7", "T8"], 60, 128.0, n_blinks=12, random_state=6)
    ica = mne.preprocessing.ICA(method="infomax", random_state=0)
    ica.fit(sim.raw.copy().filter(1.0, 40.0), verbose="error")
    assert find_bads_blink(ica, sim.raw)[0] == [true_component(ica, sim)]


def test_a_blink_a_second():
    found, extra = [], []
    for seed in range(20, 23):
        sim = simulate_raw(8, 60, 128.0, n_blinks=58, random_state=seed)
        ica = fit(sim.raw)
        assert find_bads_blink(ica, sim.raw)[0] == [true_component(ica, sim)]
        times = seconds(find_artifact_events(sim.raw), sim.raw)
        one = found_and_extra(times, sim.blink_events[:, 0] / 128.0, 0.1)
        found.append(one[0])
        extra.append(one[1])
    assert np.mean(found) >= 0.9
    assert sum(extra) <= 0.1 * 3 * 58


def left_over(ica, sim, exclude):
    """Return the share of the blinks that is left where they are."""
    raws = [sim.raw, sim.without_blinks, ica.apply(sim.raw.copy(), exclude=exclude)]
    before, truth, after = (raw.copy().filter(1.0, 40.0).get_data() for raw in raws)
    near = np.zeros(sim.raw.n_times, bool)
    for sample in sim.blink_events[:, 0]:
        near[max(0, sample - 40) : sample + 64] = True
    return np.std((after - truth)[:, near]) / np.std((before - truth)[:, near])


# A turn of a fifth is no higher than the brain at any one blink, and goes together with that brain.
@pytest.mark.parametrize(("rotation", "share"), [(0.7, 0.5), (0.2, 1.0)])
def test_eyes_that_turn_with_each_blink_take_a_second_component(rotation, share):
    picked = []
    for seed in range(30, 35):
        sim = simulate_raw(12, 60, 128.0, n_blinks=16, eye_rotation=rotation, random_state=seed)
        ica = fit(sim.raw)
        indices, _ = find_bads_blink(ica, sim.raw)
        picked.append(len(indices))
        one, scores = find_bads_blink(ica, sim.raw, max_components=1)
        assert one == indices[:1]
        if len(indices) == 2:
            assert left_over(ica, sim, indices) < share * left_over(ica, sim, one)
            second = scores.row(indices[1], "blink")
            assert second.reason == "max_components (1) is reached"
    assert picked.count(2) >= 4  # of five


def test_lids_alone_take_one_component():
    for seed in range(40, 44):
        sim = simulate_raw(12, 60, 128.0, n_blinks=16, random_state=seed)
        ica = fit(sim.raw)
        assert find_bads_blink(ica, sim.raw)[0] == [true_component(ica, sim)]


@pytest.mark.parametrize("trouble", [with_bad_channels, with_clinical_names, with_low_rank])
@pytest.mark.parametrize("n_blinks", [0, 14])
def test_troubled_recordings(trouble, n_blinks):
    sim = simulate_raw(16, 60, 128.0, n_blinks=n_blinks, random_state=50)
    raw = trouble(sim, np.random.default_rng(50))
    ica = fit(raw)
    indices, _ = find_bads_blink(ica, raw)
    assert indices == ([true_component(ica, sim, raw)] if n_blinks else [])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_channels_some_of_them_bad(seed):
    """128 channels, of which no one marked the flat, the noisy and the popping ones."""
    rng = np.random.default_rng(seed)
    names = mne.channels.make_standard_montage("brainproducts-RNP-BA-128").ch_names[:128]
    n_blinks = 15 * (seed % 2)
    sim = simulate_raw(names, 150, 128.0, n_blinks=n_blinks, random_state=seed)
    raw = with_bad_channels(sim, rng)
    ica = fit(raw, 30)
    indices, _ = find_bads_blink(ica, raw)
    assert indices == ([true_component(ica, sim, raw)] if n_blinks else [])


def test_the_answer_does_not_depend_on_sign_or_scale_of_components(blinking):
    sim, ica = blinking
    flipped = ica.copy()
    factor = np.where(np.arange(ica.n_components_) % 2, -3.0, 0.5)
    flipped.unmixing_matrix_ = ica.unmixing_matrix_ * factor[:, np.newaxis]
    flipped.mixing_matrix_ = ica.mixing_matrix_ / factor
    before, after = (find_bads_blink(one, sim.raw) for one in (ica, flipped))
    assert before[0] == after[0]
    np.testing.assert_allclose(before[1].probabilities, after[1].probabilities, atol=1e-6)


def test_scores_are_shown_plotted_and_tabulated(blinking):
    sim, ica = blinking
    indices, scores = find_bads_blink(ica, sim.raw)
    assert isinstance(scores, ArtifactScores)
    assert scores.probabilities.shape == (ica.n_components_, 1)
    assert np.argmax(scores.probabilities) == indices[0]
    figure = ica.plot_scores(scores.probabilities[:, 0], exclude=indices, show=False)
    assert figure.axes
    plt.close(figure)
    text, page = repr(scores), scores._repr_html_()
    assert "high peaks" in text
    assert "<table>" in page
    rows = scores.to_dict()
    assert rows[0]["component"] == indices[0]
    assert rows[0]["eog_correlation"] is None
    pytest.importorskip("pandas")
    frame = scores.to_data_frame()
    assert list(frame["component"]) == [row.component for row in scores.rows]
    assert {"height", "width", "answer", "reason"} <= set(frame.columns)


def test_an_eog_channel_speaks_for_the_component(blinking):
    sim, ica = blinking
    raw = sim.raw.copy()
    blink = (sim.raw.get_data() - sim.without_blinks.get_data())[:1] * 2
    info = mne.create_info(["VEOG"], raw.info["sfreq"], "eog")
    raw.add_channels([mne.io.RawArray(blink, info)], force_update_info=True)
    indices, scores = find_bads_blink(ica, raw)
    assert scores.rows[0].component == indices[0]
    assert scores.rows[0].figures["eog_correlation"] > 0.8
    assert scores.sources["blink"] == "VEOG"
    assert blink_times(raw)[1] == "VEOG"
    raw.info["bads"] = ["VEOG"]
    assert blink_times(raw)[1] == "channels Fp1, Fp2"
    assert np.isnan(find_bads_blink(ica, raw)[1].rows[0].figures["eog_correlation"])


def test_inputs_are_left_alone(blinking):
    sim, ica = blinking
    raw = sim.raw.copy()
    before = ica.copy()
    find_bads_blink(ica, raw)
    find_artifact_events(raw, ica=ica)
    np.testing.assert_array_equal(raw.get_data(), sim.raw.get_data())
    assert mne.utils.object_diff(raw.info, sim.raw.info) == ""
    np.testing.assert_array_equal(ica.unmixing_matrix_, before.unmixing_matrix_)


def test_times_keep_first_samp_and_skip_bad_spans(blinking):
    sim, _ = blinking
    whole = find_artifact_events(sim.raw, event_id=7)
    assert whole.shape[1] == 3
    assert not whole[:, 1].any()
    assert set(whole[:, 2]) == {7}
    cropped = sim.raw.copy().crop(20.0)
    assert cropped.first_samp > 0
    later = find_artifact_events(cropped)
    assert later[0, 0] > cropped.first_samp
    expected = whole[whole[:, 0] > cropped.first_samp + 64, 0]
    assert np.isin(expected, later[:, 0] + np.arange(-2, 3)[:, np.newaxis]).mean() > 0.9
    raw = sim.raw.copy().set_annotations(mne.Annotations([10.0], [20.0], ["BAD_boredom"]))
    times = seconds(find_artifact_events(raw), raw)
    assert not np.any((times > 10) & (times < 30))
    assert len(times) >= (np.abs(seconds(whole, sim.raw) - 20) > 10).sum() - 1


def test_defaults_skip_bad_spans_and_one_component_may_be_asked_for(blinking):
    sim, ica = blinking
    raw = sim.raw.copy().set_annotations(mne.Annotations([10.0], [20.0], ["BAD_boredom"]))
    events = find_artifact_events(raw)
    assert set(events[:, 2]) == {998}
    times = seconds(events, raw)
    assert not np.any((times > 10) & (times < 30))
    one, scores = find_bads_blink(ica, raw, max_components=1)
    assert len(one) == 1
    whole = find_bads_blink(ica, sim.raw)[1].rows[0]
    assert scores.rows[0].figures["events"] < whole.figures["events"]


def test_nan_spans_are_skipped(blinking):
    sim, ica = blinking
    raw = sim.raw.copy()
    raw._data[:, 1000:1500] = np.nan
    assert find_bads_blink(ica, raw)[0] == find_bads_blink(ica, sim.raw)[0]
    times = seconds(find_artifact_events(raw), raw)
    assert len(times) > 8
    assert not np.any((times > 1000 / 128) & (times < 1500 / 128))


def test_flat_and_bad_channels(blinking):
    sim, ica = blinking
    raw = sim.raw.copy()
    raw._data[raw.ch_names.index("Fp1")] = 0
    assert len(find_artifact_events(raw)) > 10
    raw.info["bads"] = ["Fp1", "Fp2"]
    assert "Fp1" not in blink_times(raw)[1]
    raw.info["bads"] = raw.ch_names
    with pytest.raises(ValueError, match="19 are marked bad"):
        find_artifact_events(raw)


def test_microvolts_are_noticed(blinking):
    sim, ica = blinking
    raw = mne.io.RawArray(sim.raw.get_data() * 1e6, sim.raw.info)
    with pytest.warns(RuntimeWarning, match="are the data in microvolts"):
        assert len(find_artifact_events(raw)) > 10


def test_epochs(blinking):
    sim, ica = blinking
    epochs = mne.make_fixed_length_epochs(sim.raw, 4.0, preload=True)
    assert find_bads_blink(ica, epochs)[0] == find_bads_blink(ica, sim.raw)[0]
    with pytest.raises(TypeError, match="Raw"):
        find_artifact_events(epochs)


def test_short_data_warn_or_are_refused(blinking):
    sim, ica = blinking
    with pytest.warns(RuntimeWarning, match="Only 5.0 s"):
        find_artifact_events(sim.raw.copy().crop(0, 5))
    with pytest.raises(ValueError, match="at least 2 s"):
        find_artifact_events(sim.raw.copy().crop(0, 1))


# -- real recordings ----------------------------------------------------------------------


def explains_eog(ica, raw, ch_name):
    """Return the component that best follows an EOG channel."""
    scores = ica.score_sources(raw, target=ch_name, l_freq=1, h_freq=10)
    return int(np.argmax(np.abs(scores)))


def test_shipped_recording_without_its_eog():
    raw = datasets.sample()
    ica = fit(raw, 20)
    hidden = raw.copy().pick("eeg")
    indices, scores = find_bads_blink(ica, hidden)
    assert indices == [explains_eog(ica, raw, "EOG 061")]
    expected = seconds(mne.preprocessing.find_eog_events(raw), raw)
    for inst, expected_source in ((raw, "EOG 061"), (hidden, "channels EEG 001")):
        assert blink_times(inst)[1].startswith(expected_source)
        found, extra = found_and_extra(seconds(find_artifact_events(inst), raw), expected, 0.05)
        assert (found, extra) == (1.0, 0)


def test_eeglab_recording_without_its_eog(shared_data):
    raw = mne.io.read_raw_eeglab(shared_data / "eeglab_data.set", preload=True)
    raw.set_channel_types({"EOG1": "eog", "EOG2": "eog"}, on_unit_change="ignore")
    ica = fit(raw)
    hidden = raw.copy().pick("eeg")
    assert find_bads_blink(ica, hidden)[0] == [explains_eog(ica, raw, "EOG1")]
    # The clear blinks: upwards on the forehead and downwards below the eye.
    events = mne.preprocessing.find_eog_events(raw)
    slow = raw.copy().filter(1, 10, picks=["FPz", "EOG1"]).get_data(["FPz", "EOG1"])
    brow, below = slow[:, events[:, 0]]
    clear = events[(brow > 100e-6) & (below < -30e-6)]
    assert len(clear) >= 10
    for inst in (raw, hidden):
        found, extra = found_and_extra(
            seconds(find_artifact_events(inst), raw), seconds(clear, raw), 0.05
        )
        assert found == 1.0
        assert extra <= 2


@pytest.mark.parametrize("name", ["muse4", "openbci8"])
def test_few_channels_and_odd_polarities(shared_data, name):
    raw = mne.io.read_raw_fif(shared_data / f"{name}_raw.fif", preload=True)
    listed = np.loadtxt(shared_data / f"{name}_blinks.tsv", skiprows=1)[:, 0]
    ica = fit(raw)
    indices, scores = find_bads_blink(ica, raw)
    assert indices
    events = find_artifact_events(raw, ica=ica)
    found, extra = found_and_extra(seconds(events, raw), listed, 0.1)
    assert found >= 0.9
    assert extra <= 0.2 * len(listed)
    # Each component is far larger at the listed blinks than it is in general.
    sources = ica.get_sources(raw.copy().filter(1, 10, picks="eeg")).get_data()[indices]
    at = np.round(listed * raw.info["sfreq"]).astype(int)
    for size in np.abs(sources):
        peaks = [size[max(0, k - 10) : k + 11].max() for k in at]
        assert np.median(peaks) > 5 * np.median(size)


@pytest.mark.parametrize("shown", [False, True])
def test_a_single_large_blink_is_left_open_unless_an_eog_shows_it(shown):
    sim = simulate_raw(19, 40, 128.0, n_blinks=1, blink_amplitude=250e-6, random_state=5)
    ica = fit(sim.raw)
    raw = sim.raw.copy()
    if shown:
        blink = (sim.raw.get_data() - sim.without_blinks.get_data())[:1] * 2
        noise = 2e-6 * np.random.default_rng(0).standard_normal(blink.shape)
        info = mne.create_info(["VEOG"], raw.info["sfreq"], "eog")
        raw.add_channels([mne.io.RawArray(blink + noise, info)], force_update_info=True)
    _, scores = find_bads_blink(ica, raw)
    row = scores.row(true_component(ica, sim), "blink")
    assert row.answer == ("yes" if shown else "unsure"), row
    assert "only one event" in row.reason
