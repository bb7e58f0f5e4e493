import mne
import numpy as np
import pytest

from mne_otica.artifacts import events as ev
from mne_otica.artifacts.blink import KIND, Times, course_figures, with_confirmed
from mne_otica.artifacts.kinds import explain, probability, weigh
from mne_otica.artifacts.maps import (
    eye_fields,
    eye_map,
    eye_share,
    focality,
    frontal_channels,
    frontality,
)
from mne_otica.signals.low_rate import Signals
from mne_otica.simulation.caps import make_info
from mne_otica.simulation.sources import Head
from tests.preparing import prepare

SFREQ = 250.0
DURATION = 120


def pulse(half_rise, half_fall):
    """Return a smooth pulse, its peak two seconds in, in samples."""
    times = np.arange(-2, 2, 1 / SFREQ)
    phase = np.where(times < 0, times / half_rise, times / half_fall)
    return np.where(np.abs(phase) < 1, (1 + np.cos(np.pi * phase)) / 2, 0)


def recording(shapes, times, seed=0, noise=1.0):
    """Return 1/f noise with a shape at each time; one shape, or one for each time."""
    rng = np.random.default_rng(seed)
    n = int(DURATION * SFREQ)
    spectrum = np.fft.rfft(rng.standard_normal(n))
    spectrum /= np.sqrt(np.maximum(np.fft.rfftfreq(n, 1 / SFREQ), 0.5))
    signal = np.fft.irfft(spectrum, n)
    signal *= noise / signal.std()
    shapes = shapes if isinstance(shapes, list) else [shapes] * len(times)
    for shape, time in zip(shapes, times, strict=True):
        start = int(time * SFREQ) - len(shape) // 2
        signal[start : start + len(shape)] += shape
    return signal


def judge(signal):
    prepared = prepare(signal[np.newaxis], SFREQ)
    found = ev.evidence(prepared, 0)
    figures = course_figures(found, prepared.duration)
    points = weigh("blink", figures)
    return (
        found,
        probability(points),
        explain(KIND, figures, points, for_it=False),
    )


TIMES = np.sort(np.random.default_rng(1).uniform(3, DURATION - 3, 25))
TIMES = TIMES[np.diff(TIMES, prepend=0) > 1]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("closing", [0.08, 0.11, 0.16])
def test_blinks_are_recognised_whatever_their_sign_and_speed(sign, closing):
    signal = recording(sign * 20 * pulse(closing, 2 * closing), TIMES)
    found, score, _ = judge(signal)
    assert score > 0.8
    assert found.polarity == sign
    assert len(found.peaks) == len(TIMES)
    np.testing.assert_allclose(found.peaks / 125.0, TIMES, atol=0.03)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("height", [12, 20])
def test_a_blink_a_second_is_not_taken_for_noise(seed, height):
    """The blinks fill the recording, so its median deviation is theirs."""
    rng = np.random.default_rng(seed)
    times = np.arange(3, DURATION - 3) + rng.uniform(-0.15, 0.15, DURATION - 6)
    shapes = [height * np.exp(0.25 * rng.standard_normal()) * pulse(0.11, 0.23) for _ in times]
    found, _, _ = judge(recording(shapes, times, seed))
    near = np.abs(found.peaks[:, np.newaxis] / 125.0 - times) < 0.1
    assert near.any(axis=0).mean() > 0.9
    assert near.any(axis=1).mean() > 0.95
    assert found.height > 7  # below, the figure speaks against a blink


def test_trains_of_slow_waves_are_no_higher_for_coming_in_trains():
    rng = np.random.default_rng(4)
    times = np.arange(int(DURATION * SFREQ)) / SFREQ
    train = np.sin(2 * np.pi * 1.1 * times + np.cumsum(rng.standard_normal(times.size)) / 60)
    train *= 3 * (np.sin(2 * np.pi * times / 40) > 0)
    found, score, _ = judge(recording(np.zeros(500), TIMES) + train)
    assert found.height < 8
    assert score < 0.4


def test_what_moves_along_with_blinks_is_told_from_what_does_not():
    blinks = recording(20 * pulse(0.11, 0.22), TIMES)
    turns = recording(15 * np.gradient(pulse(0.2, 0.3)) * 25, TIMES + 0.05, seed=1)
    other = recording(20 * pulse(0.11, 0.22), (TIMES + 40) % (DURATION - 6) + 3, seed=2)
    prepared = prepare(np.array([blinks, turns, other]), SFREQ)
    peaks = [np.round(ev.evidence(prepared, k).peaks).astype(int) for k in range(3)]
    turning, blinking = (ev.along(prepared, k, peaks[k], peaks[0]) for k in (1, 2))
    assert turning["coincidence"] > 0.9
    assert turning["height"] > 7
    assert turning["consistency"] > 0.9
    assert blinking["coincidence"] < 0.5


def test_what_is_locked_to_blinks_is_told_from_chance_where_single_blinks_do_not_show_it():
    lid = 20 * pulse(0.11, 0.22)
    blinks = recording(lid, TIMES)
    # No higher than noise at any one blink; and as high, but at other times.
    turns = recording(4 * np.gradient(pulse(0.2, 0.3)) * 25, TIMES + 0.05, seed=1)
    other = recording(lid, (TIMES + 40) % (DURATION - 6) + 3, seed=2)
    noise = [recording(np.zeros(500), TIMES, seed=seed) for seed in range(3, 33)]
    prepared = prepare(np.array([blinks, turns, other, *noise]), SFREQ)
    at = np.round(ev.evidence(prepared, 0).peaks).astype(int)
    assert ev.along(prepared, 1, at, at)["height"] < 5
    assert ev.locked(prepared, 1, at) > 1.5
    assert all(ev.locked(prepared, k, at) < 0.75 for k in range(2, len(prepared.band)))
    # Three blinks tell less: what noise has there by chance is not believed.
    assert not any(ev.locked(prepared, k, at[:3]) for k in range(3, len(prepared.band)))


def test_eyes_that_turn_explain_their_map_and_a_lobe_does_not():
    names = "Fp1 Fp2 F7 F3 Fz F4 F8 T7 C3 Cz C4 T8 P7 P3 Pz P4 P8 O1 O2".split()
    info = mne.create_info([f"EEG {name}-Ref" for name in names], 100.0, "eeg")
    fields, _ = eye_fields(info, info.ch_names)
    rng = np.random.default_rng(0)
    for direction in np.eye(3):
        turned = fields @ direction - 3
        assert eye_share(turned + 0.05 * rng.standard_normal(len(names)), fields) > 0.9
    # Lids move with eyes that look up, which tells them from slow waves behind the forehead.
    slow = Head(make_info(names, 100.0)[1]).radial([[0.0, 0.6, 0.8]], 0.7)[: len(names), 0]
    assert eye_share(slow, fields) > 0.8
    assert eye_share(slow, fields, lids=True) < 0.5
    for direction in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.5]):
        assert eye_share(fields @ direction, fields, lids=True) > 0.9
    occipital = np.array([name[0] in "OP" for name in names], float)
    assert eye_share(occipital, fields) < 0.7
    assert np.isnan(eye_share(occipital[:6], fields[:6]))


def decay():
    shape = np.zeros(int(4 * SFREQ))
    shape[len(shape) // 2 :] = np.exp(-np.arange(len(shape) // 2) / (0.3 * SFREQ))
    return shape


def jump():
    shape = np.zeros(int(4 * SFREQ))
    shape[len(shape) // 2 :] = 1
    shape[len(shape) // 2 :] *= np.linspace(1, 0, len(shape) // 2)
    return shape


def slow_wave():
    return -pulse(0.2, 0.2) + np.roll(pulse(0.35, 0.35), int(0.4 * SFREQ))


def movements():
    rng = np.random.default_rng(2)
    kernel = np.hanning(int(0.4 * SFREQ))
    shapes = []
    for _ in TIMES:
        shape = np.convolve(rng.standard_normal(int(SFREQ)), kernel, mode="same")
        shapes.append(30 * shape * np.hanning(len(shape)) / np.abs(shape).max())
    return shapes


def clenches():
    rng = np.random.default_rng(3)
    return [60 * rng.standard_normal(200) * np.hanning(200) for _ in TIMES]


@pytest.mark.parametrize(
    ("shapes", "times", "word"),
    [
        (20 * decay(), TIMES, "suddenly"),
        (20 * jump(), TIMES, "swing|suddenly"),
        (20 * slow_wave(), TIMES, "swing"),
        (20 * pulse(0.02, 0.02), np.arange(3, DURATION - 3, 0.85), "too many|last"),
        (20 * pulse(0.11, 0.22), 60 + np.arange(5) * 0.6, "one burst"),
        (20 * pulse(0.6, 0.9), TIMES[::2], "last|swing|return|noise"),
        (movements(), TIMES, "differ|swing"),
        (clenches(), TIMES, "differ|last"),
        (np.zeros(500), TIMES, "noise"),
    ],
    ids="pop jump slow-wave heart burst sway movement jaw noise".split(),
)
def test_what_is_not_a_blink_loses_for_a_stated_reason(shapes, times, word):
    _, score, reason = judge(recording(shapes, times))
    assert score < 0.6  # a blink needs 0.7, and that is before the map is looked at
    assert any(one in reason for one in word.split("|")), reason


def test_one_huge_artefact_does_not_hide_the_blinks():
    signal = recording(20 * pulse(0.11, 0.22), TIMES)
    signal[15000:15400] += 5000 * np.hanning(400)
    found, score, _ = judge(signal)
    near = np.abs(found.peaks[:, np.newaxis] / 125.0 - TIMES).min(axis=0) < 0.05
    assert near.mean() > 0.85
    assert score > 0.7


def test_bad_spans_hold_no_events_and_leave_no_edges():
    signal = recording(20 * pulse(0.11, 0.22), TIMES)
    bad = np.zeros(signal.size, bool)
    bad[5000:12000] = True
    signal[bad] += 1e4
    prepared = prepare(signal[np.newaxis], SFREQ, bad)
    found = ev.evidence(prepared, 0)
    at = prepared.to_input(found.peaks)
    assert not bad[at].any()
    outside = [t for t in TIMES if not bad[int(t * SFREQ)]]
    assert abs(len(found.peaks) - len(outside)) <= 1


@pytest.mark.parametrize("signal", [np.zeros(5000), np.full(5000, 3.0)])
def test_flat_signals_have_no_events(signal):
    found, score, _ = judge(signal)
    assert found.n_events == 0
    assert score < 0.1


def test_focality_does_not_depend_on_the_reference():
    pop = np.eye(8)[0]
    blink = np.array([1, 0.95, 0.4, 0.4, 0.1, 0.1, 0, 0])
    for one, focal in ((pop, True), (blink, False)):
        figures = [focality(one), focality(one - one.mean()), focality(-one)]
        np.testing.assert_allclose(figures, figures[0])
        assert (figures[0] > 0.9) == focal


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("Fp1", 0.8, 1),
        ("EEG FP2-REF", 0.8, 1),
        ("Fpz.", 0.8, 1),
        ("eeg fz-le", 0.2, 0.45),
        ("O1", -0.2, 0.1),
        ("T3", -0.2, 0.2),
        ("FP1-F7", 0.2, 0.8),
    ],
)
def test_names_tell_where_a_blink_shows(name, low, high):
    values, source = eye_map(mne.create_info([name, "EXG7"], 100.0, "eeg"), [name, "EXG7"])
    assert source == "names"
    assert low <= values[0] <= high
    assert np.isnan(values[1])


def test_positions_find_the_forehead_on_caps_with_other_names():
    montage = mne.channels.make_standard_montage("GSN-HydroCel-128")
    info = mne.create_info(montage.ch_names, 100.0, "eeg")
    info.set_montage(montage)
    values, source = eye_map(info, info.ch_names)
    assert source == "positions"
    frontal = {info.ch_names[k] for k in frontal_channels(values)}
    assert {"E14", "E17", "E21"} <= frontal
    assert not frontal & {"E75", "E70", "E83", "E55"}


def test_a_pop_on_the_forehead_is_not_a_frontal_map():
    expected = np.linspace(1, -0.1, 20)
    blink = 100 * expected - 20
    blink[15] = 90  # an unmarked bad channel
    assert frontality(blink, expected) > 0.95
    pop = 0.5 * expected
    pop[0] = 100
    assert focality(pop) > 0.9
    assert frontality(pop, expected) < 0.7
    assert np.isnan(frontality(blink[:3], expected[:3]))


@pytest.mark.parametrize("true", [True, False])
def test_channels_confirm_small_blinks_of_a_component_on_average(true):
    """Eleven blinks of twice the noise, of which the channel shows two: the average tells."""
    times = np.arange(6, DURATION - 6, 10.0)
    signal = recording(2.5 * pulse(0.11, 0.22), times, seed=3)
    signals = Signals(prepare(signal[np.newaxis], SFREQ), ["Fpz"], None)
    rate = signals.prepared.sfreq
    found = Times(0.9, ["Fpz"], 1, times[:2] * rate)
    elsewhere = np.random.default_rng(5).uniform(6, DURATION - 6, len(times))
    elsewhere = elsewhere[np.abs(elsewhere[:, np.newaxis] - times).min(axis=1) > 1]
    peaks = with_confirmed(signals, found, (times if true else elsewhere) * rate)
    assert len(peaks) == (len(times) if true else 2)
