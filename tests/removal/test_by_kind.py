"""Removal by kind: what goes is the artifact, and what is left is nearer to the truth."""

import mne
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from benchmarks.controls import with_controls
from mne_otica import clean_raw, remove_artifacts
from mne_otica.artifacts import kinds
from mne_otica.removal.remove import kind_part
from mne_otica.simulation import simulate_raw

SFREQ = 200.0
OTHERS = ("eye movement", "heartbeat", "muscle", "electrode")


@pytest.fixture(scope="module")
def troubled():
    """24 channels, 60 s at 200 Hz, with clear artifacts of all kinds."""
    heights = {"saccade": 90e-6, "heartbeat": 50e-6, "tonic muscle": 25e-6, "noisy": 120e-6}
    extra = with_controls(heights)
    options = dict(saccades=False, muscle=False, heartbeat=False, line_freq=None)
    return simulate_raw(24, 60, SFREQ, n_blinks=14, extra=extra, random_state=71, **options)


@pytest.fixture(scope="module")
def cleaned(troubled):
    return clean_raw(troubled.raw, artifacts="all")


def brain(rng, n_times=12000):
    """Return noise whose spectrum falls as that of a brain."""
    spectrum = np.fft.rfft(rng.standard_normal(n_times))
    freqs = np.fft.rfftfreq(n_times, 1 / SFREQ)
    signal = np.fft.irfft(spectrum / np.maximum(freqs, 1.0), n_times)
    return signal / signal.std()


def beats(rng, n_times=12000, height=8.0):
    """Return the course of a heart, and where its beats are."""
    at = np.cumsum(rng.normal(0.8, 0.03, 70))
    at = np.round(at[at < n_times / SFREQ - 1] * SFREQ).astype(int)
    shape = np.exp(-0.5 * (np.arange(-10, 11) / 3) ** 2)
    course = np.zeros(n_times)
    for k in at:
        course[k - 10 : k + 11] += height * shape
    return course, at


def steps(rng, n_times=12000, height=8.0):
    """Return the course of eyes that jump and stay, and where they jump."""
    at = np.cumsum(rng.uniform(0.5, 2.0, 40) * SFREQ).astype(int)
    at = at[at < n_times - 200]
    course = np.zeros(n_times)
    for k in at:
        course[k:] += height * rng.choice([-1, 1]) * rng.uniform(0.5, 1.5)
    ramp = np.hanning(11)  # a saccade takes 50 ms
    course = np.convolve(np.pad(course, 5, mode="edge"), ramp / ramp.sum(), "valid")
    return course - course.mean(), at


def test_beats_are_the_artifact_and_the_rest_is_kept():
    rng = np.random.default_rng(0)
    artifact, samples = beats(rng)
    rest = brain(rng)
    error, rest, artifact = errors("heartbeat", artifact, rest, samples)
    # The best linear estimate is no worse than two others that are linear as well: all of the
    # course, whose error is the rest, and nothing of it, whose error is the artifact.
    assert error < rest
    assert error < artifact


@pytest.mark.parametrize(("share", "limit"), [(0.3, 1.0), (1.0, 1.05)])
def test_eye_movements_are_the_artifact_and_the_rest_is_kept(share, limit):
    """Eyes that never rest leave no quiet time, so the part may be 5 percent worse than all."""
    rng = np.random.default_rng(0)
    artifact, samples = steps(rng)
    artifact = np.where(np.arange(len(artifact)) < share * len(artifact), artifact, artifact[-1])
    error, rest, artifact = errors("eye movement", artifact, brain(rng), samples)
    assert error < limit * rest
    assert error < artifact


def errors(kind, artifact, rest, samples):
    """Return the RMS of the error, of the rest and of the artifact, between 1 and 40 Hz."""
    found = part_of(kind, artifact + rest, samples).part[0]
    signals = found - artifact, rest, artifact
    return [mne.filter.filter_data(x, SFREQ, 1.0, 40.0).std() for x in signals]


def part_of(kind, course, samples, **options):
    removal, bad = kinds()[kind].removal, np.zeros(len(course), bool)
    return kind_part(removal, course[None], SFREQ, samples, bad, **options)


def test_what_a_filter_makes_of_steps_goes_whole():
    rng = np.random.default_rng(5)
    artifact, samples = steps(rng)
    artifact = mne.filter.filter_data(artifact, SFREQ, 1.0, None)
    rest = 1e-3 * brain(rng)
    found = part_of("eye movement", artifact + rest, samples, highpass=1.0)
    # Nothing but steps is there, so next to nothing is left of it: a hundredth of its power.
    assert (found.part[0] - artifact).std() < 0.1 * artifact.std()


def test_beats_that_overlap_are_told_apart():
    rng = np.random.default_rng(6)
    n_times, lags = 12000, np.arange(-28, 57)
    at = np.round(np.cumsum(rng.normal(0.42, 0.03, 140)) * SFREQ).astype(int)
    at = at[at < n_times - 60]
    pulse = np.where(lags < 0, np.cos(np.pi * lags / 28), np.cos(np.pi * lags / 56)) / 2 + 0.5
    artifact = np.zeros(n_times)
    for k in at[at > 28]:
        artifact[k + lags] += 4 * pulse
    rest = brain(rng)
    found = part_of("heartbeat", artifact + rest, at)
    error, rest = (
        mne.filter.filter_data(x, SFREQ, 1.0, 40.0) for x in (found.part[0] - artifact, rest)
    )
    assert error.std() < rest.std()


def test_beats_that_are_not_there_are_not_taken_out():
    rng = np.random.default_rng(11)
    _, samples = beats(rng)
    drifts = np.cumsum(rng.standard_normal(12000) * np.repeat(rng.uniform(0.2, 5, 60), 200))
    # An average over 70 beats of nothing has a seventieth of the power of what it is taken of.
    assert part_of("heartbeat", drifts, samples).part.var() <= drifts.var() / len(samples)


def test_the_component_of_an_electrode_goes_whole():
    rng = np.random.default_rng(8)
    course = 10 * rng.standard_normal(12000) + brain(rng)
    found = part_of("electrode", course, np.arange(500, 11500, 500))
    assert found.whole
    assert_array_equal(found.part[0], course)


def test_a_rhythm_is_no_muscle():
    rng = np.random.default_rng(9)
    rhythm = 0.5 * np.cos(2 * np.pi * 22 * np.arange(12000) / SFREQ)
    course = brain(rng) + rhythm
    part = part_of("muscle", course, np.zeros(0, int)).part[0]
    # More of it stays than goes.
    assert abs(part @ rhythm) < 0.5 * (rhythm @ rhythm)


def test_sham_beats_take_out_less_than_true_ones(cleaned):
    result = cleaned.kinds["heartbeat"]
    assert 0 <= result.harm.sham < result.benefit.overall


@pytest.mark.parametrize("kind", ["heartbeat", "eye movement", "muscle"])
def test_scale_and_sign_of_a_course_do_not_matter(kind):
    rng = np.random.default_rng(1)
    artifact, samples = beats(rng) if kind == "heartbeat" else steps(rng)
    course = (artifact + brain(rng))[None]
    removal, bad = kinds()[kind].removal, np.zeros(course.shape[1], bool)
    one = kind_part(removal, course, SFREQ, samples, bad)
    other = kind_part(removal, -1e-6 * course, SFREQ, samples, bad)
    np.testing.assert_allclose(other.part, -1e-6 * one.part, atol=1e-6 * 1e-6 * course.std())


@pytest.mark.parametrize("kind", ["heartbeat", "eye movement", "muscle"])
def test_bad_samples_stay_as_they_are_and_say_nothing(kind):
    rng = np.random.default_rng(2)
    artifact, samples = beats(rng) if kind == "heartbeat" else steps(rng)
    course = (artifact + brain(rng))[None]
    bad = np.zeros(course.shape[1], bool)
    bad[4000:4600] = True
    wild = np.where(bad, np.nan, course)
    removal = kinds()[kind].removal
    one, other = (kind_part(removal, x, SFREQ, samples, bad) for x in (course, wild))
    assert not one.part[:, bad].any()
    assert_array_equal(one.part, other.part)


def test_muscle_goes_above_its_band_only():
    rng = np.random.default_rng(3)
    rest, n = brain(rng), 12000
    spectrum = np.fft.rfft(rng.standard_normal(n))
    freqs = np.fft.rfftfreq(n, 1 / SFREQ)
    muscle = 2 * np.fft.irfft(spectrum * (freqs > 20), n)
    removal = kinds()["muscle"].removal
    part = kind_part(removal, (muscle + rest)[None], SFREQ, np.zeros(0, int), np.zeros(n, bool))
    spectrum = np.abs(np.fft.rfft(part.part[0])) ** 2
    assert spectrum[freqs < 10].sum() < 1e-3 * spectrum.sum()
    assert (part.part[0] - muscle).std() < 0.5 * muscle.std()


@pytest.mark.parametrize("kind", ["heartbeat", "eye movement", "muscle"])
def test_without_events_or_in_a_flat_course_there_is_no_part(kind):
    removal = kinds()[kind].removal
    flat, bad, none = np.zeros((1, 2000)), np.zeros(2000, bool), np.zeros(0, int)
    assert not kind_part(removal, flat, SFREQ, none, bad).part.any()
    assert not kind_part(removal, flat, SFREQ, none, ~bad).part.any()


@pytest.fixture(scope="module")
def cleaned_by_kind(troubled):
    """Each kind removed by itself: its part of the components, and whole components."""
    return {
        kind: [
            clean_raw(troubled.raw, artifacts=kind, removal=how) for how in ("events", "component")
        ]
        for kind in OTHERS
    }


def error(troubled, kind, raw):
    """Return the RMS of the difference to the recording without a kind, between 1 and 40 Hz."""
    found, truth = (one.copy().filter(1, 40).get_data() for one in (raw, troubled.without(kind)))
    return np.std(found - truth)


@pytest.mark.parametrize("kind", OTHERS)
def test_each_kind_goes_and_the_recording_is_nearer_to_the_truth(troubled, cleaned_by_kind, kind):
    one, whole = cleaned_by_kind[kind]
    assert list(one.kinds) == [kind]
    result = one.kinds[kind]
    assert result.answer == "yes"
    assert one.status in ("cleaned", "poor")
    assert result.components == one.ica.exclude == whole.ica.exclude
    assert error(troubled, kind, one.raw) < error(troubled, kind, troubled.raw)
    assert 0 < result.gone <= 1


def test_parts_of_components_are_nearer_to_the_truth_than_whole_ones(troubled, cleaned_by_kind):
    """Over the kinds: in one recording, by chance, a part may be estimated badly."""
    ratios = [
        error(troubled, kind, one.raw) / error(troubled, kind, whole.raw)
        for kind, (one, whole) in cleaned_by_kind.items()
    ]
    assert np.mean(np.log(ratios)) < 0


def test_what_is_said_to_be_gone_of_muscle_is_what_the_truth_lacks(troubled):
    one = clean_raw(troubled.raw, artifacts="muscle")
    truth, before, after = (
        np.linalg.norm(raw.copy().filter(1, 40).filter(15, None).get_data(), axis=1)
        for raw in (troubled.without("muscle"), troubled.raw, one.raw)
    )
    most = np.argsort(after**2 - before**2)[:5]
    left = troubled.without("muscle").get_data() - one.raw.get_data()
    left = mne.filter.filter_data(mne.filter.filter_data(left, SFREQ, 1, 40), SFREQ, 15, None)
    # By the triangle inequality, norms differ by no more than the norm of the difference.
    bound = np.linalg.norm(left[most]) / np.linalg.norm(before[most])
    true = 1 - np.linalg.norm(truth[most]) / np.linalg.norm(before[most])
    assert abs(one.kinds["muscle"].gone - true) <= bound + 1e-6


def test_all_kinds_together(troubled, cleaned):
    assert list(cleaned.kinds) == list(kinds())
    assert all(one.answer == "yes" for one in cleaned.kinds.values())
    removed = {k for one in cleaned.kinds.values() for k in one.components}
    assert removed == set(cleaned.ica.exclude)
    ids = {kind: kinds()[kind].event_id for kind in kinds() if kind != "muscle"}
    assert set(cleaned.events[:, 2]) == set(ids.values())
    assert np.all(np.diff(cleaned.events[:, 0]) >= 0)
    for kind in kinds():
        assert kind in cleaned.verdict
    assert cleaned.kinds["muscle"].how == "band"
    assert cleaned.kinds["electrode"].how == "component"
    assert "all of ICA" in cleaned.verdict
    facts = cleaned.to_dict()
    assert set(facts["kinds"]) == set(kinds())
    assert len(facts["artifacts"]) == cleaned.ica.n_components_ * len(kinds())


def test_all_kinds_are_judged_whatever_is_removed(troubled, cleaned):
    only = clean_raw(troubled.raw, artifacts="blink")
    assert list(only.kinds) == ["blink"]
    assert_array_equal(only.artifacts.probabilities, cleaned.artifacts.probabilities)


def test_removal_with_an_ica_of_ones_own_is_that_of_clean_raw(troubled):
    one = clean_raw(troubled.raw, artifacts="heartbeat")
    events = one.artifacts.events("heartbeat")
    again = remove_artifacts(troubled.raw, one.ica, artifacts="heartbeat", events=events)
    np.testing.assert_allclose(again.get_data(), one.raw.get_data(), atol=1e-12)
