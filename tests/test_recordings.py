import numpy as np
import pytest

from mne_otica.simulation import simulate_raw


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
        (dict(sleep=True), "sleep"),
        (dict(movements=2), "movement"),
    ],
)
def test_each_artefact_has_its_switch(switch, kind):
    off = dict(saccades=False, muscle=False, heartbeat=False, line_freq=None, n_blinks=0)
    sim = simulate_raw(8, 10, **{**off, **switch})
    assert kind in sim.source_names
    added = sim.raw.get_data() - sim.clean.get_data()
    assert np.abs(added).max() > 1e-7
