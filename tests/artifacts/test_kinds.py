"""Artifacts of all kinds: found, named, explained, and never guessed."""

import mne
import numpy as np
import pytest

import mne_otica
from benchmarks.controls import with_controls
from benchmarks.truth import LOCKED, locked, read_real
from mne_otica import ICA, annotate_artifacts, find_artifact_events, find_bads_artifacts
from mne_otica.artifacts import component_rows, search
from mne_otica.artifacts.kinds import kinds, model_data
from mne_otica.signals.unmixing import unmixing_in_volts
from mne_otica.simulation import simulate_raw
from training.priors import PRIORS

KINDS = ["blink", "eye movement", "heartbeat", "muscle", "electrode"]
NO_OLD_ONES = dict(saccades=False, muscle=False, heartbeat=False, line_freq=None)


def fit(raw, n_components=None):
    """Fit an ICA on a filtered copy."""
    filtered = raw.copy().filter(1.0, 40.0, picks="eeg")
    # As clean_raw fits, and as the recordings were fitted that the model was trained on
    ica = ICA(n_components=n_components, random_state=0, fit_params=dict(refine="none"))
    return ica.fit(filtered, picks="eeg")


def holder(sim, ica, kind):
    """Return the component that most of the artifacts of one kind are in."""
    part = unmixing_in_volts(ica) @ sim.part(kind)
    rest = unmixing_in_volts(ica) @ sim.without(kind).get_data()
    return int(np.argmax(part.var(axis=1) / rest.var(axis=1)))


@pytest.fixture(scope="module")
def troubled():
    """24 channels, 60 s at 200 Hz, with clear artifacts of all kinds."""
    heights = {"saccade": 90e-6, "heartbeat": 50e-6, "tonic muscle": 25e-6, "noisy": 120e-6}
    extra = with_controls(heights)
    sim = simulate_raw(24, 60, 200.0, n_blinks=14, extra=extra, random_state=71, **NO_OLD_ONES)
    return sim, fit(sim.raw)


@pytest.fixture(scope="module")
def judged(troubled):
    sim, ica = troubled
    return find_bads_artifacts(ica, sim.raw)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_found_in_the_component_that_holds_it(troubled, judged, kind):
    sim, ica = troubled
    found, scores = judged
    assert holder(sim, ica, kind) in found[kind], scores
    assert list(found) == KINDS


def test_nothing_is_taken_from_a_recording_without_artifacts():
    extra = with_controls(
        {"alpha": 30e-6, "mu": 20e-6, "frontal delta": 40e-6, "photic driving": 15e-6}
    )
    sim = simulate_raw(19, 60, 128.0, n_blinks=0, extra=extra, random_state=72, **NO_OLD_ONES)
    found, scores = find_bads_artifacts(fit(sim.raw), sim.raw)
    assert not any(found.values()), scores
    assert set(scores.labels) <= {"brain", "other"}


def test_the_probability_can_be_recomputed_from_the_figures_and_the_data_file(judged):
    _, scores = judged
    for row in scores.rows:
        if not row.figures:
            assert row.probability == 0
            continue
        curves = model_data()["kinds"][row.kind]
        total = curves["intercept"]
        for name, figure in row.figures.items():
            curve = curves["features"][name]
            known = np.isfinite(figure)
            total += np.interp(figure, curve["at"], curve["points"]) if known else curve["missing"]
        assert row.probability == pytest.approx(1 / (1 + np.exp(-total)))
        assert sum(row.points.values()) == pytest.approx(total)


def test_three_answers_follow_from_the_threshold(troubled):
    sim, ica = troubled
    for threshold in (0.5, 0.9):
        _, scores = find_bads_artifacts(ica, sim.raw, artifacts=["muscle"], threshold=threshold)
        for row in scores.rows:
            low = 1 - threshold
            expected = (
                "yes"
                if row.probability >= threshold
                else "unsure"
                if row.probability >= low
                else "no"
            )
            assert row.answer == expected
            assert row.reason


def test_more_of_what_speaks_for_a_kind_never_lowers_its_probability():
    """The curves rise and fall where physiology says so."""
    for name, kind in kinds().items():
        curves = model_data()["kinds"][name]["features"]
        assert set(curves) == set(PRIORS[name]) >= set(kind.words)
        for feature, expected in PRIORS[name].items():
            at, points = zip(*expected.points, strict=True)
            assert curves[feature]["at"] == list(at)
            directions = np.sign(np.diff(points))
            # Points in the file are rounded to three decimals.
            assert np.all(directions * np.diff(curves[feature]["points"]) >= -1e-3)


def test_labels_are_those_of_other_packages(troubled):
    sim, ica = troubled
    found, scores = find_bads_artifacts(ica, sim.raw)
    assert ica.labels_["blink"] == found["blink"] == ica.labels_["eog/blink"]
    assert ica.labels_["ecg"] == found["heartbeat"]
    assert ica.labels_["muscle"] == found["muscle"]
    assert ica.labels_["ch_noise"] == found["electrode"]
    assert set(ica.labels_["eog"]) == {*found["blink"], *found["eye movement"]}
    assert ica.labels_["line_noise"] == [
        k for k, label in enumerate(scores.labels) if label == "line noise"
    ]
    assert ica.exclude == []
    assert scores.labels[found["heartbeat"][0]] == "heart beat"
    rows = component_rows(scores, {"blink": found["blink"]})
    assert [row["component"] for row in rows] == [str(k) for k in range(ica.n_components_)]
    blink = rows[found["blink"][0]]
    assert (blink["status"], blink["ic_type"], blink["type"]) == ("bad", "eye blink", "ica")
    assert sum(row["status"] == "bad" for row in rows) == len(found["blink"])
    assert all(float(row[kind]) <= 1 for row in rows for kind in KINDS)


def test_each_found_component_has_events_and_a_way_to_remove_it(troubled, judged):
    sim, ica = troubled
    found, scores = judged
    how = {"blink": "events", "eye movement": "events", "heartbeat": "events"}
    how |= {"muscle": "band", "electrode": "events"}
    for kind in KINDS:
        row = scores.row(found[kind][0], kind)
        assert row.removal.how == how[kind]
        assert row.events.shape[1] == 3
        assert np.all(np.diff(row.events[:, 0]) > 0)
    assert scores.row(found["muscle"][0], "muscle").removal.l_freq == 15.0
    for kind, tolerance in (("blink", 0.05), ("heartbeat", 0.05), ("eye movement", 0.1)):
        events = scores.row(found[kind][0], kind).events[:, 0]
        truth = sim.events[kind][:, 0]
        near = np.abs(events[:, np.newaxis] - truth).min(axis=1) <= tolerance * 200
        assert near.mean() > 0.8, kind


def test_scores_are_shown_and_tabulated(judged):
    found, scores = judged
    assert scores.probabilities.shape == (scores.n_components, len(KINDS))
    text, page = repr(scores), scores._repr_html_()
    assert "heartbeat" in text
    assert "<table>" in page
    rows = scores.to_dict()
    assert len(rows) == scores.n_components * len(KINDS)
    pytest.importorskip("pandas")
    frame = scores.to_data_frame()
    assert {"component", "kind", "probability", "answer", "reason", "regularity"} <= set(frame)


def test_one_kind_may_be_asked_for_and_limited(troubled):
    sim, ica = troubled
    found, scores = find_bads_artifacts(ica, sim.raw, artifacts="muscle", max_components=1)
    assert list(found) == ["muscle"]
    assert len(found["muscle"]) == 1
    assert scores.kinds == ("muscle",)


def test_the_answer_does_not_depend_on_sign_or_scale_of_components(troubled, judged):
    sim, ica = troubled
    flipped = ica.copy()
    factor = np.where(np.arange(ica.n_components_) % 2, -3.0, 0.5)
    flipped.unmixing_matrix_ = ica.unmixing_matrix_ * factor[:, np.newaxis]
    flipped.mixing_matrix_ = ica.mixing_matrix_ / factor
    found, scores = find_bads_artifacts(flipped, sim.raw)
    assert found == judged[0]
    # Spectra are kept in single precision.
    np.testing.assert_allclose(scores.probabilities, judged[1].probabilities, atol=1e-3)


def test_blinks_are_those_of_their_own_finder(troubled, judged):
    sim, ica = troubled
    indices, blinks = mne_otica.find_bads_blink(ica.copy(), sim.raw)
    assert indices == judged[0]["blink"]
    chances = judged[1].probabilities[:, KINDS.index("blink")]
    np.testing.assert_allclose(chances, blinks.probabilities[:, 0])


def test_one_reading_gives_what_separate_calls_give(troubled, judged):
    sim, ica = troubled
    scores = search(ica, sim.raw)
    for one in scores.rows:
        other = judged[1].row(one.component, one.kind)
        assert one.probability == other.probability
        # The answer alone depends on who asks: what is removed needs a larger probability.
        if one.answer == "yes":
            assert other.answer == "yes"
            np.testing.assert_array_equal(one.events, other.events)
    blinks = mne_otica.find_artifact_events(sim.raw, ica=ica)
    np.testing.assert_array_equal(scores.events("blink"), blinks)


# -- events -------------------------------------------------------------------------------


def with_ecg(sim):
    """Return the recording with an ECG channel that shows its heartbeats."""
    beats = sim.part("heartbeat")
    ecg = 20 * beats[np.argmax(np.abs(beats).max(axis=1))][np.newaxis]
    info = mne.create_info(["ECG"], sim.raw.info["sfreq"], "ecg")
    noise = 2e-6 * np.random.default_rng(0).standard_normal(ecg.shape)
    return sim.raw.copy().add_channels([mne.io.RawArray(ecg + noise, info)], True)


@pytest.mark.parametrize("source", ["ecg", "ica"])
def test_heartbeats_come_from_an_ecg_channel_or_a_component(troubled, source):
    sim, ica = troubled
    raw = with_ecg(sim) if source == "ecg" else sim.raw
    events = find_artifact_events(raw, "heartbeat", ica=ica if source == "ica" else None)
    assert set(events[:, 2]) == {999}
    truth = sim.events["heartbeat"][:, 0]
    away = np.abs(events[:, :1] - truth)
    assert (away.min(axis=0) <= 0.06 * 200).mean() > 0.85
    assert (away.min(axis=1) <= 0.06 * 200).mean() > 0.85


def test_annotations_cover_the_events_and_are_bad_only_if_asked(troubled):
    sim, ica = troubled
    raw = sim.raw.copy().crop(5.0)
    events = find_artifact_events(raw, "heartbeat", ica=ica)
    plain = annotate_artifacts(raw, ["blink", "heartbeat"], ica=ica)
    assert set(plain.description) == {"blink", "heartbeat"}
    bad = annotate_artifacts(raw, "heartbeat", ica=ica, bad=True)
    assert set(bad.description) == {"BAD_heartbeat"}
    assert len(bad) == len(events)
    for meas_date in (None, 1000000000):
        dated = raw.copy().set_meas_date(meas_date)
        both = annotate_artifacts(dated, ["blink", "heartbeat"], ica=ica)
        assert list(both.description) == list(plain.description)
        marked = annotate_artifacts(dated, "heartbeat", ica=ica)
        dated.set_annotations(marked)
        starts = mne.events_from_annotations(dated)[0][:, 0]
        late = (events[:, 0] - starts) / raw.info["sfreq"]
        # Onsets are rounded to samples.
        assert np.all((late >= -0.01) & (late <= marked.duration + 0.01))


def test_eyes_and_muscle_without_any_ica(troubled):
    sim, _ = troubled
    info = mne.create_info(["HEOG"], 200.0, "eog")
    eye = sim.part("eye movement")
    heog = eye[[np.argmax(eye.var(axis=1))]] + 1e-6 * np.random.default_rng(0).standard_normal(
        (1, eye.shape[1])
    )
    raw = sim.raw.copy().add_channels([mne.io.RawArray(heog, info)], True)
    events = find_artifact_events(raw, "eye movement", ch_name="HEOG", event_id=5)
    assert set(events[:, 2]) == {5}
    truth = sim.events["eye movement"][:, 0]
    assert (np.abs(events[:, :1] - truth).min(axis=1) <= 20).mean() > 0.9
    assert find_artifact_events(raw, "muscle").shape[1] == 3


# -- bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "match"),
    [(dict(threshold=1.5), "between 0 and 1"), (dict(max_components=0), "at least 1")],
)
def test_impossible_options_are_refused(troubled, options, match):
    sim, ica = troubled
    with pytest.raises(ValueError, match=match):
        find_bads_artifacts(ica, sim.raw, **options)


def test_sensors_are_named_by_their_kind(troubled):
    sim, ica = troubled
    with pytest.raises(ValueError, match="'nose'"):
        find_bads_artifacts(ica, sim.raw, ch_name={"nose": "Fp1"})
    with pytest.raises(ValueError, match="'EKG'"):
        find_bads_artifacts(ica, sim.raw, ch_name={"ecg": "EKG"})
    with pytest.raises(TypeError, match="ch_name"):
        find_bads_artifacts(ica, sim.raw, ch_name="ECG")


def test_two_channels_three_seconds_and_no_places_give_no_false_knowledge():
    extra = with_controls({"heartbeat": 20e-6, "muscle": 20e-6})
    sim = simulate_raw(["Fp1", "O2"], 20, 128.0, n_blinks=0, extra=extra, random_state=73)
    raw = sim.raw.copy().set_montage(None).rename_channels({"Fp1": "A", "O2": "B"})
    ica = mne.preprocessing.ICA(random_state=0).fit(raw.copy().filter(1, 40), verbose="error")
    short = raw.copy().crop(0, 3)
    with pytest.warns(RuntimeWarning, match="Only 3.0 s"):
        found, scores = find_bads_artifacts(ica, short)
    assert found["electrode"] == found["heartbeat"] == found["eye movement"] == []
    assert scores.geometry == "none"
    assert all(row.reason for row in scores.rows)


def test_epochs_are_searched_as_well(troubled, judged):
    sim, ica = troubled
    epochs = mne.make_fixed_length_epochs(sim.raw, 10.0, preload=True)
    found, _ = find_bads_artifacts(ica, epochs)
    for kind in ("blink", "muscle"):
        assert holder(sim, ica, kind) in found[kind]


def test_spans_of_nan_and_bad_spans_are_left_out(troubled, judged):
    sim, ica = troubled
    raw = sim.raw.copy()
    raw._data[:, 2000:2600] = np.nan
    raw.set_annotations(mne.Annotations([20.0], [4.0], ["BAD_cough"]))
    found, scores = find_bads_artifacts(ica, raw)
    for kind in ("blink", "muscle"):
        assert holder(sim, ica, kind) in found[kind]
    # The heart of this recording is arrhythmic, and gaps take more of its regularity.
    assert scores.row(judged[0]["heartbeat"][0], "heartbeat").answer != "no"
    for row in scores.rows:
        inside = (row.events[:, 0] >= 4000) & (row.events[:, 0] < 4800)
        assert not inside.any()


# -- real recordings ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["eegmat_00", "eegmat_03", "eegr_multimodal with its ECG"])
def test_the_heart_is_found_where_an_ecg_proves_it(shared_data, name):
    """The ECG is hidden but from the shortest recording, whose 29 weak beats are too few."""
    name, shown = name.split()[0], " " in name
    raw = read_real(name)
    ica = mne_otica.clean_raw(raw.copy().pick("eeg"), verbose="error").ica
    lines = (shared_data / f"{name}_events.tsv").read_text().splitlines()[1:]
    beats = np.array([float(x.split("\t")[0]) for x in lines if "heart" in x])
    sources = unmixing_in_volts(ica) @ raw.get_data(ica.ch_names)
    seen = locked(sources, np.round(beats * raw.info["sfreq"]).astype(int), raw.info["sfreq"])
    inst = raw if shown else raw.copy().pick("eeg")
    found, scores = find_bads_artifacts(ica, inst, artifacts="heartbeat")
    assert seen.max() >= 1, f"no component is locked by {LOCKED} deviations"
    assert int(np.argmax(seen)) in found["heartbeat"], scores


# -- sensors that are broken --------------------------------------------------------------


@pytest.mark.parametrize("fault", ["flat", "clipped", "no heartbeat"])
def test_a_broken_ecg_is_named_and_changes_nothing(troubled, judged, fault):
    sim, ica = troubled
    raw = with_ecg(sim)
    noise = 1e-3 * np.random.default_rng(1).standard_normal(raw.n_times)
    broken = {"flat": 0 * noise, "clipped": np.clip(noise, -1e-3, 1e-3), "no heartbeat": noise}
    raw._data[-1] = broken[fault]
    with pytest.warns(RuntimeWarning, match=f"ECG is not used .* {fault}"):
        found, scores = find_bads_artifacts(ica, raw, artifacts="heartbeat")
    assert fault in scores.sensors["ECG"]
    assert found["heartbeat"] == judged[0]["heartbeat"]


@pytest.mark.parametrize("sign", [1, -1])
def test_an_ecg_tells_the_times_of_beats_even_upside_down_or_beside_a_broken_one(troubled, sign):
    sim, ica = troubled
    raw = with_ecg(sim)
    raw._data[-1] *= sign
    info = mne.create_info(["ECG2"], raw.info["sfreq"], "ecg")
    raw.add_channels([mne.io.RawArray(np.zeros((1, raw.n_times)), info)], True)
    with pytest.warns(RuntimeWarning, match="ECG2 is not used"):
        found, scores = find_bads_artifacts(ica, raw, artifacts="heartbeat")
    assert holder(sim, ica, "heartbeat") in found["heartbeat"]
    assert scores.sources["heartbeat"] == "ECG"
    assert scores.sensors["ECG"] == "used"
    truth = sim.events["heartbeat"][:, 0]
    away = np.abs(scores.events("heartbeat")[:, :1] - truth)
    assert (away.min(axis=0) <= 0.06 * 200).mean() > 0.9


def with_eog(sim, rows):
    """Return the recording with channels of type EOG."""
    info = mne.create_info([f"EOG{k}" for k in range(len(rows))], sim.raw.info["sfreq"], "eog")
    return sim.raw.copy().add_channels([mne.io.RawArray(np.array(rows), info)], True)


def eyes(sim):
    """Return what an electrode below the eyes would show of blinks."""
    blinks = sim.part("blink")
    noise = 2e-6 * np.random.default_rng(0).standard_normal(sim.raw.n_times)
    return 2 * blinks[np.argmax(np.abs(blinks).max(axis=1))] + noise


@pytest.mark.parametrize("fault", ["flat", "clipped", "nothing in common", "an ECG"])
def test_a_broken_eog_is_named_and_changes_nothing(troubled, judged, fault):
    sim, ica = troubled
    noise = 1e-3 * np.random.default_rng(1).standard_normal(sim.raw.n_times)
    rows = {"flat": 0 * noise, "clipped": np.clip(noise, -1e-3, 1e-3), "nothing in common": noise}
    raw = with_eog(sim, [rows.get(fault, with_ecg(sim).get_data("ECG")[0])])
    with pytest.warns(RuntimeWarning, match=f"EOG0 is not used .* {fault}"):
        found, scores = find_bads_artifacts(ica, raw, artifacts=["blink", "eye movement"])
    assert fault in scores.sensors["EOG0"]
    assert found == {kind: judged[0][kind] for kind in found}
    assert "EOG0" not in scores.sources.values()


def test_all_sensors_are_used_even_upside_down(troubled):
    """Five EOG channels, two of them upside down, and two ECG channels."""
    sim, ica = troubled
    raw, rng = with_ecg(sim), np.random.default_rng(2)
    second = mne.create_info(["ECG2"], raw.info["sfreq"], "ecg")
    raw.add_channels([mne.io.RawArray(-0.5 * raw.get_data("ECG"), second)], True)
    rows = [sign * eyes(sim) for sign in (1, -1, 1, -1, 1)]
    rows += 2e-6 * rng.standard_normal((5, raw.n_times))
    raw.add_channels([with_eog(sim, rows).pick("eog")], True)
    found, scores = find_bads_artifacts(ica, raw)
    assert scores.sensors == dict.fromkeys(raw.copy().pick(["eog", "ecg"]).ch_names, "used")
    for kind in ("blink", "heartbeat"):
        assert holder(sim, ica, kind) in found[kind]
    assert scores.sources["heartbeat"] == "ECG, ECG2"


def test_an_ecg_that_beats_otherwise_overrules_a_regular_rhythm(troubled, judged):
    """What was a heart without it is none beside an ECG with other beats."""
    sim, ica = troubled
    assert holder(sim, ica, "heartbeat") in judged[0]["heartbeat"]
    raw, sfreq = with_ecg(sim), sim.raw.info["sfreq"]
    beats = (0.61 * sfreq * np.arange(1, 95)).astype(int)
    course = np.zeros(raw.n_times)
    course[beats[beats < raw.n_times]] = 1e-3
    raw._data[-1] = np.convolve(course, np.hanning(7), "same")
    found, scores = find_bads_artifacts(ica, raw, artifacts="heartbeat")
    assert scores.sensors["ECG"] == "used"
    assert found["heartbeat"] == []
