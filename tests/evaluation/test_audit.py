"""The audit by condition: what is known about a simulated experiment, and what cannot be told."""

import mne
import numpy as np
import pytest

import mne_otica
from mne_otica import clean_raw
from mne_otica.evaluation.audit import Audit, Audited, _sme_limits
from mne_otica.evaluation.shares import condition_lines, difference, share_row
from mne_otica.simulation import simulate_raw

SFREQ, N_TRIALS, SOA = 125.0, 60, 1.6


class Given:
    """A cleaning with known results."""

    def __init__(self, left, seed=0, n_blinks=30, gain=1.0):
        rng = np.random.default_rng(seed)
        info = mne.create_info(["Fp1", "Fp2", "Fz", "Cz", "Pz", "Oz"], SFREQ, "eeg")
        n_times = int((2 * N_TRIALS * SOA + 4) * SFREQ)
        brain = 5e-6 * rng.standard_normal((6, n_times))
        onsets = np.round((2 + SOA * np.arange(2 * N_TRIALS)) * SFREQ).astype(int)
        self.events = np.column_stack([onsets, 0 * onsets, np.tile([1, 2], N_TRIALS)])
        response = np.hanning(50)
        for onset in onsets[::2]:
            brain[4, onset + 20 : onset + 70] += 5e-6 * response
        chosen = np.r_[onsets[::2][:n_blinks], onsets[1::2][: n_blinks // 2]]
        self.blinks = np.sort(chosen + rng.integers(30, 60, len(chosen)))
        blinks, shape = np.zeros((6, n_times)), np.hanning(41)
        for blink in self.blinks:
            blinks[:, blink - 20 : blink + 21] += 1e-4 * np.outer([1, 0.9, 0.4, 0.2, 0.1, 0], shape)
        data = brain + blinks, gain * brain + left * blinks
        self.sides = [mne.io.RawArray(x, info, verbose="error") for x in data]

    def to_audit(self):
        names = self.sides[0].ch_names
        return [Audited("one", *self.sides, {"blink": self.blinks}, names)]


def audit(given, **options):
    return mne_otica.audit(given, given.events, {"target": 1, "standard": 2}, **options)


@pytest.mark.parametrize("left", [0.0, 0.3])
def test_what_is_left_of_the_artifact_is_measured_without_the_response(left):
    found = audit(Given(left))
    row = found.artifacts[0]
    assert (row["condition"], row["artifacts"], row["trials"]) == ("target", 30, 60)
    assert row["left"] == pytest.approx(left, abs=0.04)
    assert row["answer"] == ("left" if left else "gone")
    assert row["left_low"] < row["left"] < row["left_high"]


def test_conditions_that_differ_are_said():
    found = audit(Given(0.0))
    assert found.differences[0]["differ"]
    assert "blinks differ: in 50 % of the trials of target, 25 % of the trials of standard" in str(
        found
    )
    for row, share in zip(found.artifacts, (0.5, 0.25), strict=True):
        assert row["share"] == share
        assert row["share_low"] < share < row["share_high"]


def test_fewer_than_ten_artifacts_are_unsure():
    found = audit(Given(0.5, n_blinks=12))
    assert [row["answer"] for row in found.artifacts] == ["left", "unsure"]
    assert np.isnan(found.artifacts[1]["left"])
    assert "unsure what is left in 1 of 2" in repr(found)


def test_effects_and_their_errors():
    found = audit(Given(0.0), picks="Pz", window=(0.25, 0.45))
    (row,) = found.effects
    assert row["effect"] == "target - standard"
    assert row["after_low"] < row["after"] < row["after_high"]
    assert row["change"] == pytest.approx(row["after"] - row["before"])
    assert row["change_high"] < 0  # blinks added to targets at Pz
    for amplitude in found.amplitudes:
        assert amplitude["sme_before"] == pytest.approx(amplitude["bsme_before"], rel=0.15)
        assert amplitude["sme_after_low"] < amplitude["sme_after"] < amplitude["sme_after_high"]
    unchanged = audit(Given(1.0), picks="Pz", window=(0.25, 0.45)).effects[0]
    assert unchanged["change"] == unchanged["change_low"] == unchanged["change_high"] == 0


def test_interval_of_the_sme_holds_it_whether_or_not_some_trials_have_blinks():
    rng, n_draws = np.random.default_rng(0), 2000
    for share in (0.0, 0.14):
        amplitudes = rng.standard_normal((n_draws, 60))
        amplitudes += 20 * (rng.random(amplitudes.shape) < share)
        true = np.sqrt((1 + 400 * share * (1 - share)) / 60)
        low, high = np.transpose([_sme_limits(some) for some in amplitudes])
        # It is approximate; that of normal amplitudes holds the truth in 72 % of the second.
        assert 0.93 <= np.mean((low <= true) & (true <= high)) <= 0.98
    assert not _sme_limits(np.ones(10)).any()


def test_several_recordings_end_with_their_mean():
    several = [Given(0.0, seed) for seed in range(3)]
    found = mne_otica.audit(several, several[0].events, picks="Pz", window=(0.25, 0.45))
    names = ["one 1", "one 2", "one 3", "mean of 3"]
    assert [row["recording"] for row in found.effects] == names
    mean = found.effects[-1]
    assert mean["after"] == pytest.approx(np.mean([row["after"] for row in found.effects[:3]]))
    table = found.to_data_frame("effects")
    assert list(table["recording"])[-1] == "mean of 3"
    assert found.differences[-1]["recording"] == "mean of 3"
    # Exactly the same shares in all recordings have no error.
    assert not found.differences[-1]["differ"]


def test_false_alarms_are_rare():
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(400):
        counts = rng.random((2, 60)) < 0.3
        rows = [share_row("", "blink", str(k), some.astype(int)) for k, some in enumerate(counts)]
        alarms += difference("", "blink", rows, 1)["differ"]
    assert alarms <= 400 * 0.05


def test_the_figure_and_an_empty_audit():
    figure = audit(Given(0.1, n_blinks=12), picks="Pz", window=(0.25, 0.45)).plot(show=False)
    assert len(figure.axes) == 3
    assert "unsure" in [text.get_text() for text in figure.axes[1].texts]
    assert "no artifacts" in repr(Audit([], [], [], []))


def test_bad_input_is_a_sentence():
    given = Given(0.0)
    for options, match in (
        (dict(window=(0.1, 0.2)), "both picks and a window"),
        (dict(tmin=0.1), "tmin"),
        (dict(picks="Pz", window=(0.3, 0.3)), "no sample"),
    ):
        with pytest.raises(ValueError, match=match):
            audit(given, **options)
    late = audit(given, picks="Pz", window=(5e3, 6e3))
    assert "target - standard unsure: no trials with the whole window" in str(late)
    with pytest.warns(RuntimeWarning, match="No trials of odd"):
        found = mne_otica.audit(given, given.events, {"odd": 7, "target": 1})
    assert [row["condition"] for row in found.artifacts] == ["target"]
    assert condition_lines({"blink": given.blinks}, {"onsets": {}, "window": (0, 1)}, SFREQ) == []


def test_a_cleaned_recording():
    onsets = 1.0 + SOA * np.arange(40)
    sim = simulate_raw(
        19,
        70,
        SFREQ,
        blink_times=onsets[::2] + 0.4,
        evoked={"a": (onsets[::2], 5e-6), "b": (onsets[1::2], 5e-6)},
        random_state=4,
        verbose="error",
    )
    result = clean_raw(sim.raw, events=["a", "b"])
    before = result.to_audit()[0].before.get_data("eeg")
    np.testing.assert_allclose(before, sim.raw.get_data("eeg"), atol=1e-12)
    assert "blinks differ" in result.verdict
    found = mne_otica.audit(result, ["a", "b"], picks=["Pz"], window=(0.25, 0.45))
    rows = {row["condition"]: row for row in found.artifacts if row["kind"] == "blink"}
    assert rows["a"]["share"] > 0.9
    assert rows["b"]["share"] < 0.1
    assert rows["a"]["answer"] == "unsure"  # there are no trials without blinks to compare with
    assert abs(found.effects[0]["after"]) < abs(found.effects[0]["before"])
