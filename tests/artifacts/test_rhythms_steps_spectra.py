"""What the kinds measure: rhythms, steps, spectra and maps."""

import mne
import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import norm

from benchmarks.kinds import BRAIN, MUSCLE
from mne_otica.artifacts import maps as _maps
from mne_otica.artifacts.events import steps
from mne_otica.artifacts.kinds import probability, weigh
from mne_otica.artifacts.rhythm import CERTAIN, HEARTS, follow, one_heart, rhythms
from mne_otica.signals.low_rate import Signals
from mne_otica.signals.spectra import spectral_figures, usable_top
from mne_otica.simulation import simulate_raw
from mne_otica.simulation.sources import Head
from mne_otica.utils.arrays import nearest
from tests.preparing import prepare

SFREQ = 250.0
DURATION = 120.0
N = int(SFREQ * DURATION)
TIMES = np.arange(N) / SFREQ


def beating(intervals, height, seed=0, width=0.015):
    """Return noise with a beat after each interval, and the times of the beats."""
    rng = np.random.default_rng(seed)
    beats = np.cumsum(intervals)
    beats = beats[beats < DURATION - 1]
    signal = rng.standard_normal(N)
    for beat in beats:
        signal += height * np.exp(-0.5 * ((TIMES - beat) / width) ** 2)
    return signal, beats


def intervals(rate, variation, rng):
    n = int(DURATION * rate / 60) + 10
    return 60 / rate * np.exp(variation * rng.standard_normal(n))


def rhythm(signal):
    return rhythms(prepare(signal[np.newaxis], SFREQ))[0]


@pytest.mark.parametrize("rate", [40, 66, 100, 150, 200])
def test_hearts_of_all_rates_are_regular_beyond_chance(rate):
    signal, beats = beating(intervals(rate, 0.03, np.random.default_rng(rate)), 8)
    found = rhythm(signal)
    assert found.z > CERTAIN
    assert found.rate == pytest.approx(rate, rel=0.05)
    away = np.abs(found.peaks[:, np.newaxis] / 125.0 - beats).min(axis=1)
    assert (away < 0.03).mean() > 0.95


def test_random_events_and_noise_are_no_heart():
    rng = np.random.default_rng(1)
    random = 0.3 + rng.exponential(0.6, 400)
    for signal in (beating(random, 8)[0], rng.standard_normal(N)):
        assert rhythm(signal).z < 5


def test_an_hour_of_noise_holds_no_heart_and_an_hour_of_beats_does():
    rng, sfreq, n = np.random.default_rng(0), 125.0, 450_000
    signals = lfilter([1], [1, -0.86], rng.laplace(size=(4, n)))
    assert one_heart(prepare(signals, sfreq)).z < HEARTS
    beats = np.cumsum(intervals(66, 0.03, rng).repeat(30))
    beats = (beats[beats < 3590] * sfreq).astype(int)
    signals[0] += 30 * np.convolve(np.bincount(beats, minlength=n), [0.3, 1, 0.3], "same")
    found = one_heart(prepare(signals, sfreq)).peaks
    assert (np.abs(beats - found[nearest(beats, found)]) <= 3).mean() > 0.95


def test_arrhythmia_lowers_the_regularity_but_does_not_forbid():
    rng = np.random.default_rng(2)
    steady = intervals(70, 0.03, rng)
    premature = steady.copy()
    early = rng.random(len(premature)) < 0.15
    premature[early] *= 0.7
    premature[np.roll(early, 1)] *= 1.3
    regular, irregular = (rhythm(beating(x, 8)[0]) for x in (steady, premature))
    assert irregular.z < regular.z
    assert irregular.z > 5


@pytest.mark.parametrize("seed", range(4))
def test_beats_that_are_not_the_highest_peaks_are_followed_where_they_are_due(seed):
    rng = np.random.default_rng(seed)
    beats = np.cumsum(0.95 * np.exp(0.05 * rng.standard_normal(150)))
    times = np.r_[beats, rng.uniform(0, beats[-1], 300)]
    heights = np.r_[1.4 + rng.exponential(0.6, 150), rng.exponential(1, 300)]
    heights *= np.exp(np.sin(times / 20))  # loud and quiet stretches
    order = np.argsort(times)
    times, heights, is_beat = times[order], heights[order], order < 150
    path, gain = follow(times, heights)
    # Of the highest peaks, so many are beats; of those on the path, nearly all.
    assert is_beat[np.argsort(-heights)[:150]].mean() < 0.7
    assert is_beat[path].mean() > 0.9
    assert np.isin(np.flatnonzero(is_beat), path).mean() > 0.9
    # The same peaks with their heights exchanged have no beat, so that all is chance: below what
    # one draw in two hundred exceeds for one of the rates, of which there are about 26.
    exchanged = follow(times, rng.permutation(heights))[1]
    assert exchanged < norm.isf(0.005 / 26) < gain


def gaze(seed=0):
    """Return steps to both sides, held for a while, and when they happen."""
    rng = np.random.default_rng(seed)
    onsets = np.cumsum(rng.uniform(0.5, 2.5, 100))
    onsets = onsets[onsets < DURATION - 1]
    level = np.zeros(N)
    for onset, target in zip(onsets, 10 * rng.standard_normal(len(onsets)), strict=True):
        level[TIMES >= onset] = target
    kernel = np.hanning(int(0.05 * SFREQ))
    return np.convolve(level, kernel / kernel.sum(), mode="same"), onsets


def test_saccades_are_steps_to_both_sides():
    signal, onsets = gaze()
    prepared = prepare(signal + 0.3 * np.random.default_rng(1).standard_normal((1, N)), SFREQ)
    found = steps(prepared)[0]
    assert found.balance > 0.5
    times = prepared.to_input(found.peaks) / SFREQ
    assert (np.abs(times[:, np.newaxis] - onsets).min(axis=1) < 0.06).mean() > 0.9


def test_blinks_are_lopsided_and_saccades_are_not():
    rng = np.random.default_rng(4)
    blinks = np.zeros(N)
    for at in np.arange(2, DURATION - 2, 3):
        late = TIMES - at
        phase = late / np.where(late < 0, 0.11, 0.22)
        blinks += np.where(np.abs(phase) < 1, 20 * (1 + np.cos(np.pi * phase)) / 2, 0)
    noise = 0.3 * rng.standard_normal((2, N))
    lid, eyes = steps(prepare(np.array([blinks, gaze()[0]]) + noise, SFREQ))
    assert lid.lopsided > 2 > 1 > eyes.lopsided


def test_spectra_of_components_are_the_unmixed_spectra_of_channels():
    sim = simulate_raw(6, 20, 128.0, random_state=1)
    signals = Signals.of_channels(sim.raw, sim.raw.ch_names, True)
    weights = np.random.default_rng(0).standard_normal((3, 6))
    mixed = sim.raw.copy().pick(sim.raw.ch_names[:3])
    mixed._data[:] = weights @ sim.raw.get_data()
    direct = Signals.of_channels(mixed, mixed.ch_names, True).spectra.power
    unmixed = signals.spectra.mixed(weights).power
    scale = direct.max()
    np.testing.assert_allclose(unmixed / scale, direct / scale, atol=1e-5)


def coloured(exponent, seed=0):
    spectrum = np.fft.rfft(np.random.default_rng(seed).standard_normal(N))
    freqs = np.maximum(np.fft.rfftfreq(N, 1 / SFREQ), 0.5)
    return np.fft.irfft(spectrum * freqs ** (exponent / 2), N)


def spectra_of(signal):
    raw = mne.io.RawArray(1e-6 * signal[np.newaxis], mne.create_info(["Cz"], SFREQ, "eeg"))
    return Signals.of_channels(raw, ["Cz"], True).spectra


@pytest.mark.parametrize("exponent", [-2.0, -1.0, 0.0, 0.7])
def test_the_slope_of_a_spectrum_is_its_exponent(exponent):
    spectra = spectra_of(coloured(exponent))
    figures = spectral_figures(spectra, usable_top(spectra))
    # The median of 120 tiles at some 70 frequencies, spread over a factor of five.
    assert figures["slope"][0] == pytest.approx(exponent, abs=0.2)
    assert figures["unsteadiness"][0] < 0.2


@pytest.mark.parametrize("h_freq", [30.0, 40.0, None])
def test_what_a_filter_has_cut_off_is_not_looked_at(h_freq):
    sim = simulate_raw(8, 30, 250.0, random_state=2)
    raw = sim.raw if h_freq is None else sim.raw.copy().filter(None, h_freq)
    top = usable_top(Signals.of_channels(raw, raw.ch_names, True).spectra)
    if h_freq is None:
        assert top > 90
    else:
        assert h_freq - 8 <= top <= h_freq + 5


@pytest.fixture(scope="module")
def caps():
    return {n: simulate_raw(n, 2.0, 60.0, n_blinks=0).raw.info for n in (16, 32, 64, 128, 256)}


@pytest.mark.parametrize(("direction", "depth"), [([-0.85, 0.35, -0.1], 0.88), ([0, 0, 1], 0.6)])
@pytest.mark.parametrize("muscle", [True, False])
def test_muscle_is_judged_alike_on_caps_of_any_density(caps, direction, depth, muscle):
    """The same focal and broad maps; MNE's own finder sums over pairs of channels."""
    spectrum = MUSCLE if muscle else BRAIN
    for info in caps.values():
        one_map = Head(info).radial([direction], depth)[:, 0]
        known = spectrum | dict(focality=float(_maps.focality(one_map)))
        assert (probability(weigh("muscle", known)) >= 0.7) == muscle


def test_what_is_large_has_a_map_of_its_own():
    rng = np.random.default_rng(0)
    always, rarely = rng.standard_normal((2, 5, 1))
    pops = np.zeros(5000)
    pops[::500] = 100.0
    source = rng.standard_normal(5000)
    channels = always * source + rarely * pops
    found = _maps.large_maps((source + pops)[np.newaxis], channels, np.abs(pops)[np.newaxis] > 0)
    # The source is a hundredth of the pops, and so is what it leaves.
    np.testing.assert_allclose(found, rarely, atol=0.05 * np.abs(always).max())
    nothing = _maps.large_maps(source[np.newaxis], channels, np.zeros((1, 5000), bool))
    assert np.isnan(nothing).all()


def test_the_hum_of_the_mains_is_told_from_what_else_there_is():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(N)
    hum = np.sqrt(2) * np.cos(2 * np.pi * 50 * TIMES)
    only, both = (
        spectral_figures(spectra_of(x), 100.0)["hum_share"][0]
        for x in (noise, noise + np.sqrt(10) * hum)
    )
    # White noise has 40 of its 125 Hz up to 40 Hz. The hum has ten times the power of all of
    # it, two thirds of which a Hann window leaves at its frequency.
    assert both == pytest.approx(np.log10(2 / 3 * 10 * 125 / 40), abs=0.05)
    assert only < -1
