import mne
import numpy as np
import pytest

from benchmarks.artifact_sources import ARTIFACTS
from benchmarks.controls import CONTROLS, with_controls
from mne_otica.simulation import simulate_raw

QUIET = dict(saccades=False, muscle=False, heartbeat=False, line_freq=None, n_blinks=0)


def test_a_seed_makes_the_recording():
    one, same, other = (simulate_raw(8, 5, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.raw.get_data(), same.raw.get_data())
    assert not np.allclose(one.raw.get_data(), other.raw.get_data())


@pytest.mark.parametrize("channels", [4, 8, 19, 64, ["Fz", "Cz", "Pz", "Oz", "T7"]])
def test_any_cap(channels):
    sim = simulate_raw(channels, 4, n_blinks=2, muscle=False)
    n = channels if isinstance(channels, int) else len(channels)
    assert len(sim.raw.ch_names) == n
    assert sim.raw.get_montage() is not None
    assert sim.mixing.shape == (n, len(sim.source_names))


def test_a_blink_is_large_frontal_and_fades_to_the_back():
    sim = simulate_raw(64, 30, n_blinks=6, blink_amplitude=200e-6)
    names = sim.raw.ch_names
    weight = sim.map_of("blink")[:, 0]
    weight = dict(zip(names, weight / weight[names.index("Fpz")], strict=True))
    assert weight["Fp1"] == pytest.approx(1, abs=0.15)
    assert 0.25 < weight["F3"] < 0.65
    assert 0.05 < weight["Cz"] < 0.35
    assert abs(weight["Oz"]) < 0.15
    blinks = sim.raw.get_data() - sim.without_blinks.get_data()
    peaks = blinks[names.index("Fpz")][sim.blink_events[:, 0]]
    assert 100e-6 < np.median(peaks) < 400e-6
    # Half of its height lasts 0.1 to 0.3 s.
    share = (blinks[names.index("Fpz")] > np.median(peaks) / 2).mean() * 30 / 6
    assert 0.1 < share < 0.3


def test_eyes_that_turn_are_a_second_source_of_each_blink():
    sim = simulate_raw(19, 30, n_blinks=6, eye_rotation=0.5, random_state=1)
    blinks = sim.raw.get_data() - sim.without_blinks.get_data()
    assert sim.map_of("blink").shape == (19, 2)
    assert np.linalg.matrix_rank(blinks, tol=1e-6 * np.linalg.norm(blinks)) == 2
    away = np.abs(np.arange(sim.raw.n_times)[:, np.newaxis] - sim.blink_events[:, 0]).min(1) > 150
    np.testing.assert_allclose(blinks[:, away], 0, atol=1e-12)


def test_average_reference_turns_the_back_negative():
    sim = simulate_raw(32, 4, reference="average")
    np.testing.assert_allclose(sim.raw.get_data().mean(axis=0), 0, atol=1e-12)
    assert sim.map_of("blink")[sim.raw.ch_names.index("Oz"), 0] < 0


def test_clean_holds_brain_and_noise_only():
    quiet = dict(saccades=False, muscle=False, heartbeat=False, line_freq=None)
    sim = simulate_raw(19, 10, n_blinks=0, **quiet)
    np.testing.assert_allclose(sim.raw.get_data(), sim.clean.get_data(), atol=1e-15)
    assert 5e-6 < np.median(sim.clean.get_data().std(axis=1)) < 20e-6
    power = np.abs(np.fft.rfft(sim.clean.get_data())) ** 2
    freqs = np.fft.rfftfreq(sim.clean.n_times, 1 / 250)
    low, high = (power[:, (freqs > a) & (freqs < b)].mean() for a, b in ((1, 4), (30, 40)))
    assert low > 5 * high
    assert set(sim.source_names) == {"brain", "blink"}


@pytest.mark.parametrize(
    ("switch", "kind"),
    [
        (dict(saccades=True), "saccade"),
        (dict(muscle=True), "muscle"),
        (dict(heartbeat=True), "heartbeat"),
        (dict(pops=3), "pop"),
        (dict(line_freq=60.0), "line"),
        (dict(noisy_channels=2), "noisy"),
        (dict(extra=with_controls(sleep=True)), "sleep"),
        (dict(movements=2), "movement"),
    ],
)
def test_each_artefact_has_its_switch(switch, kind):
    off = dict(saccades=False, muscle=False, heartbeat=False, line_freq=None, n_blinks=0)
    sim = simulate_raw(8, 10, **{**off, **switch})
    assert kind in sim.source_names
    added = sim.raw.get_data() - sim.clean.get_data()
    assert np.abs(added).max() > 1e-7


@pytest.mark.parametrize("name", [*ARTIFACTS, *CONTROLS])
def test_extra_sources_have_the_height_asked_for_and_leave_the_rest_alone(name):
    plain = simulate_raw(12, 12, 128.0, random_state=5, **QUIET)
    sim = simulate_raw(12, 12, 128.0, random_state=5, extra=with_controls({name: 50e-6}), **QUIET)
    assert name in sim.source_names
    np.testing.assert_allclose(sim.clean.get_data(), plain.raw.get_data(), atol=1e-15)
    added = sim.raw.get_data() - sim.clean.get_data()
    # Events vary in height, and a short recording may have few.
    assert 10e-6 < np.abs(added).max() < 1e-3


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, (kind, _) in ARTIFACTS.items()])
def test_the_truth_of_each_artifact(name, kind):
    sim = simulate_raw(12, 20, 128.0, random_state=6, extra=with_controls({name: 50e-6}), **QUIET)
    rest = sim.without(kind).get_data()
    np.testing.assert_allclose(rest, sim.clean.get_data(), atol=1e-12)
    np.testing.assert_allclose(sim.part(kind), sim.raw.get_data() - rest, atol=1e-15)
    assert not sim.part("blink").any()
    events = sim.events[kind]
    assert events.shape[1] == 3
    assert len(events) or name in ("tonic muscle", "noisy", "lead hum")
    assert np.all((events[:, 0] >= 0) & (events[:, 0] < sim.raw.n_times))
    with pytest.raises(ValueError, match="kind"):
        sim.part("sweat")


def test_the_heart_beats_where_its_events_are():
    extra = with_controls({"heartbeat": 50e-6})
    sim = simulate_raw(12, 60, 250.0, random_state=7, extra=extra, **QUIET)
    beats = sim.events["heartbeat"][:, 0]
    assert 40 <= len(beats) <= 160
    field = np.abs(sim.part("heartbeat")).max(axis=0)
    inside = beats[(beats > 50) & (beats < sim.raw.n_times - 50)]
    assert np.median(field[inside]) > 10 * np.median(field)
    assert np.std(np.diff(beats)) > 0  # not a clock


def test_blinks_and_evoked_responses_are_where_they_were_asked_for():
    onsets, blinks = np.array([2.0, 6.0, 10.0]), [2.3, 10.4]
    evoked = {"target": (onsets, 8e-6), "standard": (onsets + 2, [2e-6, 4e-6, 0.0])}
    sim = simulate_raw(19, 15, blink_times=blinks, evoked=evoked, random_state=3)
    np.testing.assert_array_equal(sim.blink_events[:, 0], np.round(np.array(blinks) * 250))
    response = sim.map_of("evoked")[:, 0]
    assert sim.raw.ch_names[np.argmax(np.abs(response))] == "Pz"
    assert np.abs(response).max() == pytest.approx(1)
    course = sim.signals[sim.source_names.index("evoked")]
    peaks = np.round((np.r_[onsets, onsets + 2] + 0.35) * 250).astype(int)
    np.testing.assert_allclose(course[peaks], [8e-6] * 3 + [2e-6, 4e-6, 0.0], atol=1e-8)
    events, event_id = mne.events_from_annotations(sim.without("blink"), verbose="error")
    assert set(event_id) == {"target", "standard"}
    np.testing.assert_array_equal(events[:, 0], np.sort(np.r_[onsets, onsets + 2]) * 250)
    np.testing.assert_allclose(
        sim.without("blink").get_data(), sim.without_blinks.get_data(), atol=1e-12
    )


@pytest.mark.parametrize("channels", [128, 256])
def test_dense_caps_have_distinct_places(channels):
    sim = simulate_raw(channels, 2, 64.0, n_blinks=0)
    places = np.array([ch["loc"][:3] for ch in sim.raw.info["chs"]])
    assert len(np.unique(places.round(4), axis=0)) == channels


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (dict(channels=257), "between 4 and 256"),
        (dict(extra=with_controls({"pulse": -1e-6})), "at least 0"),
        (dict(blink_times=[1.0, 7.0]), "blink_times must be seconds from 0 to 5"),
        (dict(evoked={"odd": ([-1.0], 1e-6)}), "evoked.*1 outside"),
    ],
)
def test_impossible_extras_are_refused(options, match):
    with pytest.raises(ValueError, match=match):
        simulate_raw(**{"channels": 8, "duration": 5, **options})
