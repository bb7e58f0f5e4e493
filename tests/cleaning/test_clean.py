import json
import re

import mne
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mne_otica import clean_epochs, clean_raw, datasets, preservation, rms_reduction
from mne_otica.cleaning.clean import TIMES
from mne_otica.simulation import simulate_raw


def simulated(n_blinks=12, seed=3, **options):
    return simulate_raw(16, 40, 128.0, n_blinks=n_blinks, random_state=seed, **options)


@pytest.fixture(scope="module")
def blinking():
    """16 channels, 40 s, 12 blinks."""
    sim = simulated()
    return sim, clean_raw(sim.raw)


@pytest.fixture(scope="module")
def still():
    sim = simulated(n_blinks=0, seed=4)
    return sim, clean_raw(sim.raw)


@pytest.fixture(scope="module")
def shipped():
    raw = datasets.sample()
    return raw, clean_raw(raw)


def band(raw):
    return raw.copy().filter(1, 40, picks="eeg")


def test_blinks_go_and_the_rest_stays(blinking):
    sim, cleaned = blinking
    assert cleaned.status == "cleaned"
    assert len(cleaned.ica.exclude) == 1
    assert cleaned.verdict.startswith("blinks: ")
    assert cleaned.kinds["blink"].benefit.average > 0.8
    assert cleaned.kinds["blink"].harm.rank_after == cleaned.kinds["blink"].harm.rank_before
    truth, dirty, clean = (
        band(raw).get_data("eeg") for raw in (sim.without_blinks, sim.raw, cleaned.raw)
    )
    assert np.std(clean - truth) < 0.3 * np.std(dirty - truth)


def test_outside_the_windows_every_sample_is_the_one_recorded(blinking):
    """To the bit, and the windows are what the result says they are."""
    sim, cleaned = blinking
    changed = cleaned.removed.any(axis=0)
    before, after = sim.raw.get_data(), cleaned.raw.get_data()
    assert_array_equal(before[:, ~changed], after[:, ~changed])
    # About a second for each of twelve blinks, and as much again for what else was taken for one
    assert 0.1 < changed.mean() < 2 * 12 * 1.2 / 40
    peaks = sim.blink_events[:, 0]
    assert changed[peaks].mean() > 0.9


def test_taking_out_the_blinks_costs_less_than_the_component(blinking):
    sim, cleaned = blinking
    whole = clean_raw(sim.raw, removal="component")
    assert whole.kinds["blink"].harm.rank_after == whole.kinds["blink"].harm.rank_before - 1
    assert whole.removed.all()
    assert cleaned.kinds["blink"].harm.taken_out < whole.kinds["blink"].harm.taken_out / 3
    assert cleaned.kinds["blink"].harm.sham < whole.kinds["blink"].harm.taken_out
    truth, events, component = (
        band(raw).get_data("eeg") for raw in (sim.without_blinks, cleaned.raw, whole.raw)
    )
    assert np.std(events - truth) < np.std(component - truth)
    # The old way is MNE's: what the ICA's own apply returns.
    assert_allclose(whole.raw.get_data(), whole.ica.apply(sim.raw.copy()).get_data(), atol=1e-12)


def test_figures_are_those_of_the_cleaned_recording(blinking):
    """Filtering what was taken out is filtering what is returned."""
    sim, cleaned = blinking
    before, after = (band(raw).get_data("eeg") for raw in (sim.raw, cleaned.raw))
    assert_allclose(cleaned.filtered().get_data(), before, atol=1e-12)
    assert_allclose(after, cleaned.before_and_after()[1], atol=1e-12)


@pytest.mark.parametrize("n_blinks", [0, 12])
def test_everything_but_the_eeg_survives(n_blinks):
    raw = simulated(n_blinks).raw
    rng = np.random.default_rng(0)
    extra = mne.io.RawArray(
        1e-4 * rng.standard_normal((2, raw.n_times)),
        mne.create_info(["ECG", "STI"], raw.info["sfreq"], ["ecg", "stim"]),
    )
    raw.add_channels([extra], force_update_info=True)
    raw.info["bads"] = ["C3"]
    raw.set_annotations(mne.Annotations([5.0, 20.0], [3.0, 0.0], ["BAD_talk", "tone"]))
    before = raw.copy()
    cleaned = clean_raw(raw)
    assert_array_equal(raw.get_data(), before.get_data())
    assert raw.annotations == before.annotations
    assert mne.utils.object_diff(raw.info, before.info) == ""
    assert cleaned.raw is not raw
    assert cleaned.raw.ch_names == raw.ch_names
    assert cleaned.raw.info["bads"] == ["C3"]
    assert cleaned.raw.annotations == raw.annotations
    untouched = ["ECG", "STI", "C3"]
    assert_array_equal(cleaned.raw.get_data(untouched), raw.get_data(untouched))
    changed = np.ptp(cleaned.raw.get_data("eeg") - raw.get_data("eeg")) > 0
    assert changed == (cleaned.status == "cleaned") == bool(n_blinks)
    assert cleaned.settings["seconds_fitted"] == pytest.approx(37, abs=0.1)


def test_nothing_is_removed_where_nobody_blinks(still):
    sim, cleaned = still
    assert cleaned.status == "none"
    assert cleaned.verdict == "no blinks found, nothing removed"
    assert cleaned.ica.exclude == []
    assert (cleaned.kinds["blink"].benefit, cleaned.kinds["blink"].harm) == (None, None)
    assert_array_equal(cleaned.raw.get_data(), sim.raw.get_data())


def test_doubt_leaves_the_data_alone(blinking, monkeypatch):
    sim, _ = blinking
    monkeypatch.setattr("mne_otica.artifacts.find.ACCEPT", 1 - 1e-9)
    cleaned = clean_raw(sim.raw)
    assert cleaned.status == "unsure"
    assert cleaned.verdict.startswith("blinks: unsure, not removed: ICA0")
    assert cleaned.ica.exclude == []
    assert_array_equal(cleaned.raw.get_data(), sim.raw.get_data())


def test_blinks_without_times_are_left_alone(blinking, monkeypatch):
    sim, _ = blinking
    nowhere = np.zeros(0, int), "none"
    monkeypatch.setattr("mne_otica.artifacts.find._locate", lambda *args: nowhere)
    cleaned = clean_raw(sim.raw)
    assert cleaned.status == "unsure"
    assert "no whole blink" in cleaned.verdict
    assert cleaned.ica.exclude == []
    assert_array_equal(cleaned.raw.get_data(), sim.raw.get_data())


def test_same_seed_same_result(blinking):
    sim, cleaned = blinking
    again = clean_raw(sim.raw)
    assert_array_equal(again.raw.get_data(), cleaned.raw.get_data())
    assert again.to_dict() == cleaned.to_dict()


def test_short_data_get_fewer_components():
    raw = simulated().raw.crop(0, 20)
    cleaned = clean_raw(raw)
    assert cleaned.ica.n_components_ == int(np.sqrt(raw.n_times / 20)) < 16
    assert clean_raw(raw, n_components=6).ica.n_components_ == 6


def test_rank_deficient_data():
    raw = simulated().raw.set_eeg_reference("average")
    cleaned = clean_raw(raw)
    assert cleaned.status == "cleaned"
    assert (cleaned.kinds["blink"].harm.rank_before, cleaned.kinds["blink"].harm.rank_after) == (
        15,
        15,
    )


def test_nan_spans_stay_as_they_are(blinking):
    sim, expected = blinking
    raw = sim.raw.copy()
    raw._data[3, 1000:1100] = np.nan
    cleaned = clean_raw(raw)
    assert cleaned.status == "cleaned"
    span = slice(1000, 1100)
    assert_array_equal(cleaned.raw.get_data()[:, span], raw.get_data()[:, span])
    assert np.isnan(cleaned.raw.get_data()).sum() == 100
    assert cleaned.settings["seconds_fitted"] == pytest.approx(40 - 100 / 128, abs=0.02)
    assert len(cleaned.raw.annotations) == 0


def test_flat_channel(blinking):
    raw = blinking[0].raw.copy()
    raw._data[10] = 0
    cleaned = clean_raw(raw)
    assert cleaned.status == "cleaned"
    assert_allclose(cleaned.raw.get_data()[10], 0, atol=1e-12)


def test_one_line_per_stage(blinking):
    sim, _ = blinking
    with mne.utils.catch_logging() as log:
        clean_raw(sim.raw, verbose="info")
    stages = [line.split(":")[0] for line in log.getvalue().splitlines()]
    assert stages == ["Filter", "Fit", "Find", "Evaluate", "Clean"]


@pytest.mark.parametrize(("level", "shown"), [("info", True), ("warning", False)])
def test_one_bar_shows_the_progress_unless_silenced(blinking, capsys, level, shown):
    sim, _ = blinking
    filters = list(mne.utils.logger.filters)
    with mne.utils.catch_logging():
        clean_raw(sim.raw, verbose=level)
    bar = capsys.readouterr().err
    assert all((f"Clean: {stage}" in bar) == shown for stage in TIMES)
    assert ("100%" in bar) == shown
    assert "OT-ICA" not in bar  # the bar of a fit alone
    assert mne.utils.logger.filters == filters
    assert not any(handler.filters for handler in mne.utils.logger.handlers)


def test_result_in_words_and_json(blinking, still):
    for _, cleaned in (blinking, still):
        assert cleaned.verdict in repr(cleaned)
        card = cleaned._repr_html_()
        assert cleaned.verdict[1:] in card  # as a sentence
        assert "Candidates" in card
        facts = json.loads(json.dumps(cleaned.to_dict(), allow_nan=False))
        assert facts["settings"]["random_state"] == 0
        assert {"mne", "mne_otica", "numpy"} < set(facts["versions"])
        assert facts["status"] == cleaned.status


@pytest.mark.parametrize("n_channels", [4, 5])
def test_four_or_five_channels(blinking, n_channels):
    names = ["Fp1", "Fp2", "C3", "O1", "P8"][:n_channels]
    raw = blinking[0].raw.copy().pick(names)
    cleaned = clean_raw(raw)
    assert cleaned.status == "cleaned"
    assert cleaned.kinds["blink"].benefit.overall > 0.3
    assert cleaned.raw.ch_names == names


def test_without_a_channel_near_the_eyes_nothing_breaks(blinking):
    raw = blinking[0].raw.copy().pick(["C3", "C4", "P7", "P8", "O1", "O2", "P3", "P4"])
    before = raw.get_data()
    cleaned = clean_raw(raw)
    assert cleaned.artifacts.geometry == "positions"
    changed = np.ptp(cleaned.raw.get_data() - before) > 0
    assert changed == (cleaned.status == "cleaned")
    assert_array_equal(raw.get_data(), before)


@pytest.mark.parametrize("names", [["Fp1", "O1"], ["Fp1", "Fp2", "O1"]])
def test_few_channels_are_enough_and_the_price_is_told(blinking, names):
    raw = blinking[0].raw.copy().pick(names)
    whole, cleaned = (clean_raw(raw, removal=removal) for removal in ("component", "events"))
    assert (whole.status, cleaned.status) == ("poor", "cleaned")
    assert whole.kinds["blink"].much_else
    assert 'poor: more than 30 %, try removal="events"' in whole.verdict
    assert cleaned.kinds["blink"].harm.taken_out < whole.kinds["blink"].harm.taken_out / 3


def test_short_and_odd_data_warn_or_are_refused(blinking):
    raw = blinking[0].raw
    with pytest.warns(RuntimeWarning, match="Only 5.0 s"):
        clean_raw(raw.copy().crop(0, 5))
    with (
        pytest.warns(RuntimeWarning, match="longer than the signal"),
        pytest.raises(ValueError, match="at least 2 s"),
    ):
        clean_raw(raw.copy().crop(0, 1))
    with pytest.warns(RuntimeWarning, match="microvolts"):
        assert clean_raw(mne.io.RawArray(1e6 * raw.get_data(), raw.info)).status == "cleaned"
    with pytest.raises(ValueError, match="All eeg channels are constant"):
        clean_raw(mne.io.RawArray(0 * raw.get_data(), raw.info))
    two = raw.copy().pick(["Fp1", "O1"]).set_eeg_reference("average")
    with (
        pytest.warns(RuntimeWarning, match="only one component"),
        pytest.raises(ValueError, match="rank 1, so there is nothing to separate"),
    ):
        clean_raw(two)
    bad = mne.Annotations([0.0], [40.0], ["BAD_all"])
    with pytest.raises(RuntimeError, match="no samples to fit"):
        clean_raw(raw.copy().set_annotations(bad))


def test_a_low_rate_has_no_warning_and_no_empty_figure(blinking):
    """At 32 Hz there is no gamma band, no muscle, and no mains."""
    cleaned = clean_raw(blinking[0].raw.copy().resample(32), artifacts="all")
    assert cleaned.status == "cleaned"
    told = " ".join([cleaned.verdict, *(text for _, text in cleaned.summary())])
    assert "nan" not in told.lower()
    assert "gamma" not in told


def test_the_rank_that_an_electrode_takes_with_it_is_told():
    raw = simulate_raw(16, 60, 128.0, n_blinks=10, pops=6, random_state=3).raw
    cleaned = clean_raw(raw, artifacts="electrode")
    harm = cleaned.kinds["electrode"].harm
    assert harm.rank_before - harm.rank_after == len(cleaned.ica.exclude) == 1
    assert "rank lower by 1" in cleaned.verdict


@pytest.mark.parametrize("offset", [0, 2e-2])
def test_joined_runs_are_cleaned_like_each_by_itself(offset):
    """Offsets of 20 mV between them, and a joint between two samples at the low rate."""
    raw = simulate_raw(16, 80, 250.0, n_blinks=24, random_state=0).raw
    data, joint = raw.get_data(), raw.n_times // 2 + 1
    level = offset * np.random.default_rng(0).standard_normal((len(data), 1))
    runs = [mne.io.RawArray(one, raw.info) for one in (data[:, :joint], data[:, joint:] + level)]
    cleaned = clean_raw(mne.concatenate_raws([run.copy() for run in runs])).raw
    own = cleaned.copy().crop(0, joint / 250, include_tmax=False), cleaned.crop(joint / 250)
    for run, part in zip(runs, own, strict=True):
        alone = clean_raw(run)
        after = mne.io.RawArray(part.get_data(), raw.info)
        away = preservation(run, alone.raw, alone.events), preservation(run, after, alone.events)
        assert away[1].taken_out < away[0].taken_out + 0.02
        pairs = [(band(run), band(one)) for one in (alone.raw, after)]
        gone = [rms_reduction(*pair, alone.events).average for pair in pairs]
        assert gone[1] > gone[0] - 0.02


def test_spans_are_where_they_should_be_after_a_crop(blinking):
    raw = blinking[0].raw.copy()
    raw.set_meas_date(1_600_000_000).crop(5, 35)
    raw._data[:, 1000:1100] = np.nan
    date = raw.info["meas_date"]
    raw.set_annotations(mne.Annotations([6.0], [2.0], ["BAD_x"], orig_time=date))
    filtered = clean_raw(raw).filtered()
    omitted = np.isnan(filtered.get_data([0], reject_by_annotation="NaN")[0])
    assert_array_equal(np.flatnonzero(np.diff(omitted)) + 1, [128, 384, 1000, 1100])


# %% Real recordings


def test_shipped_recording(shipped):
    raw, cleaned = shipped
    assert cleaned.artifacts.sources["blink"] == "EOG 061"
    assert dict(cleaned.summary())["Sensors"] == "EOG 061 used"
    assert cleaned.kinds["blink"].benefit.n_events == 4
    assert cleaned.kinds["blink"].benefit.average > 0.8
    # No sample changed further than a second from the windows of blinks.
    assert cleaned.kinds["blink"].harm.taken_out == 0
    assert re.fullmatch(
        r"blinks: 9\d % removed \(4 events, ICA000\); 0\.0 % elsewhere", cleaned.verdict
    )
    assert cleaned.raw.info["bads"] == ["EEG 053"]
    for kept in ("EOG 061", "STI 014", "EEG 053"):
        assert_array_equal(cleaned.raw.get_data(kept), raw.get_data(kept))


def test_blinks_that_were_missed_count(shared_data):
    """Those of a flutter: all 22 that a person listed are reduced by less than those removed."""
    raw = mne.io.read_raw_fif(shared_data / "mmidb_S002R01_raw.fif.gz", preload=True)
    cleaned = clean_raw(raw)
    blinks = cleaned.kinds["blink"]
    assert 0 < np.sum(blinks.events[:, 1] == 2) == len(blinks.events) - blinks.n_removed
    assert f"({blinks.n_removed} of {len(blinks.events)} events, " in cleaned.verdict
    rows = (shared_data / "mmidb_S002R01_events.tsv").read_text().splitlines()[1:]
    onsets = np.array([float(row.split("\t")[0]) for row in rows if "blink" in row])
    events = np.zeros((len(onsets), 3), int)
    events[:, 0] = raw.first_samp + np.round(onsets * raw.info["sfreq"])
    pair = [one.copy().filter(1, 40) for one in (raw, cleaned.raw)]
    assert blinks.gone == pytest.approx(rms_reduction(*pair, events).average, abs=0.1)


def test_what_is_removed_of_hearts_is_a_share_of_the_whole_signal(shared_data):
    raw = mne.io.read_raw_fif(shared_data / "eegmmidb_S018R02_raw.fif.gz", preload=True)
    cleaned = clean_raw(raw, artifacts="heartbeat")
    beats = cleaned.kinds["heartbeat"]
    assert beats.harm.margin is None
    assert f"; {100 * beats.cost:.1f} % of the whole signal" in cleaned.verdict
    before, after = cleaned.before_and_after()
    assert beats.cost == pytest.approx((before - after).std() / before.std(), rel=0.02)


def test_eeglab_recording(shared_data):
    raw = mne.io.read_raw_eeglab(shared_data / "eeglab_data.set")
    raw.set_channel_types({"EOG1": "eog", "EOG2": "eog"}, on_unit_change="ignore")
    cleaned = clean_raw(raw)
    assert cleaned.kinds["blink"].benefit.average > 0.8
    assert cleaned.kinds["blink"].harm.taken_out < 0.1


def behind_picard(raw, ours):
    """Return how much less of the blinks goes than by Picard and the EOG channel, with an interval.

    Both have as many components, and are judged by the same blinks at the five channels that see
    most of them, as filtered recordings; the interval is over blinks, which are paired.
    """
    before = ours.filtered()
    ica = mne.preprocessing.ICA(
        int(ours.ica.n_components_),
        method="picard",
        random_state=0,
        fit_params=dict(ortho=False, extended=True),
    )
    ica.fit(before)
    ica.exclude = [int(k) for k in ica.find_bads_eog(raw)[0]]
    assert len(ica.exclude) == len(ours.ica.exclude) == 1
    samples = before.samples(ours.kinds["blink"].benefit.samples[:, np.newaxis])
    half = int(round(0.25 * before.info["sfreq"]))
    power = []
    for after in (before, ours.ica.apply(before.copy()), ica.apply(before.copy())):
        data = after.get_data(ours.kinds["blink"].benefit.most_affected())
        power.append([np.sum(data[:, k - half : k + half] ** 2) for k in samples])
    power = np.array(power)
    drawn = np.random.default_rng(0).integers(len(samples), size=(2000, len(samples)))
    rms = np.sqrt(power[:, np.vstack([np.arange(len(samples)), drawn])].sum(axis=2))
    behind = (rms[1] - rms[2]) / rms[0]
    return behind[0], np.percentile(behind[1:], [2.5, 97.5])


def test_shipped_recording_beside_picard(shipped):
    pytest.importorskip("picard")
    behind, _ = behind_picard(*shipped)
    assert behind <= 0


@pytest.mark.slow
def test_eeglab_recording_beside_picard(shared_data):
    """A tie: the difference is a fraction of a percent, and its sign depends on the blinks."""
    pytest.importorskip("picard")
    raw = mne.io.read_raw_eeglab(shared_data / "eeglab_data.set", preload=True)
    raw.set_channel_types({"EOG1": "eog", "EOG2": "eog"}, on_unit_change="ignore")
    behind, (low, _) = behind_picard(raw, clean_raw(raw))
    assert low <= 0
    assert behind < 0.005


@pytest.mark.parametrize("name", ["muse4", "openbci8"])
def test_few_channels(shared_data, name):
    cleaned = clean_raw(mne.io.read_raw_fif(shared_data / f"{name}_raw.fif"))
    assert cleaned.status == "cleaned"
    assert cleaned.kinds["blink"].benefit.overall > 0.5


# %% Epochs


@pytest.fixture(scope="module")
def cut():
    """Sixty seconds in epochs of two, and the same without blinks."""
    sim = simulate_raw(16, 60, 128.0, n_blinks=18, random_state=6)
    events = mne.make_fixed_length_events(sim.raw, duration=2.0)
    options = dict(tmin=0, tmax=1.9, baseline=None, preload=True)
    return sim, *(mne.Epochs(raw, events, **options) for raw in (sim.raw, sim.without_blinks))


@pytest.mark.parametrize("with_raw", [True, False])
def test_epochs_are_cleaned_with_and_without_their_recording(cut, with_raw):
    sim, epochs, truth = cut
    before = epochs.copy()
    cleaned = clean_epochs(epochs, sim.raw if with_raw else None)
    assert cleaned.status == "cleaned"
    assert (cleaned.raw is not None) == with_raw
    assert_array_equal(epochs.get_data(), before.get_data())
    dirty, clean, true = (one.get_data() for one in (epochs, cleaned.epochs, truth))
    assert np.std(clean - true) < 0.5 * np.std(dirty - true)
    assert cleaned.kinds["blink"].benefit.average > 0.8
    assert cleaned.kinds["blink"].harm.taken_out < 0.15
    # What does not change is the recording's, to the bit.
    assert np.mean(clean == dirty) > 0.3
    assert cleaned.epochs.events.tolist() == epochs.events.tolist()


def test_epochs_without_blinks_stay_as_they_are():
    sim = simulate_raw(16, 60, 128.0, n_blinks=0, random_state=7)
    epochs = mne.make_fixed_length_epochs(sim.raw, 2.0, preload=True)
    cleaned = clean_epochs(epochs)
    assert cleaned.status == "none"
    assert_array_equal(cleaned.epochs.get_data(), epochs.get_data())


def test_cleaned_epochs_are_kept_and_drawn(cut, tmp_path):
    cleaned = clean_epochs(cut[1])
    paths = cleaned.save(tmp_path)
    saved = mne.read_epochs(paths["epochs"])
    assert_allclose(saved.get_data(), cleaned.epochs.get_data(), rtol=1e-6, atol=1e-9)
    assert cleaned.plot(show=False) is not None


def test_epochs_belong_to_their_own_function(cut):
    with pytest.raises(TypeError, match=r"got Epochs; use clean_epochs\(epochs\)"):
        clean_raw(cut[1])


# %% Trust


def test_the_blink_component_comes_back(blinking, tmp_path):
    sim, plain = blinking
    assert plain.stability is None
    cleaned = clean_raw(sim.raw, stability=True)
    assert_array_equal(cleaned.raw.get_data(), plain.raw.get_data())
    (component,) = cleaned.ica.exclude
    assert cleaned.stability.stable[component]
    told = dict(cleaned.summary())["Trust"]
    assert told.startswith(f"ICA{component:03d} came back in")
    assert "Stable does not mean brain" in told
    assert json.loads(json.dumps(cleaned.to_dict()))["stability"]["n_fits"] == 50
    assert "Stability of the components" in "".join(cleaned.report().html)
    assert "stability " in "".join(cleaned.report().html)


# %% Doubtful data


def test_a_channel_without_a_finite_value_is_named(blinking):
    raw = blinking[0].raw.copy()
    raw._data[5] = np.nan
    with pytest.raises(ValueError, match=f"{raw.ch_names[5]} has no finite value.*mark it as bad"):
        clean_raw(raw)


def test_microvolts_are_doubted_once(blinking):
    raw = blinking[0].raw.copy().apply_function(lambda x: 1e6 * x)
    with pytest.warns(RuntimeWarning, match="microvolts") as caught:
        clean_raw(raw)
    assert len(caught) == 1
