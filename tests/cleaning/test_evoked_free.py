"""A response that comes with the blinks, and the fit that does not take it for a part of them."""

import json

import mne
import numpy as np
import pytest

from mne_otica import clean_epochs, clean_raw, clean_study
from mne_otica.cleaning.evoked_free import responses
from mne_otica.cli import main
from mne_otica.signals.windows import conditions_of
from mne_otica.simulation import simulate_raw

SOA, N_TRIALS = 1.5, 80


@pytest.fixture(scope="module")
def coupled():
    """Return 80 trials at 125 Hz; all blinks follow targets, at the peak of their response."""
    onsets = 1.0 + SOA * np.arange(N_TRIALS)
    target = np.arange(N_TRIALS) % 2 == 0
    rng = np.random.default_rng(1)
    blinks = onsets[::3][target[::3]] + 0.35 + 0.08 * rng.standard_normal(target[::3].sum())
    return simulate_raw(
        19,
        N_TRIALS * SOA + 3,
        125.0,
        blink_times=np.r_[blinks, 0.3 + onsets[2::12]],
        evoked={"target": (onsets[target], 8e-6), "standard": (onsets[~target], 2e-6)},
        brain_amplitude=8e-6,
        saccades=False,
        muscle=False,
        random_state=1,
        verbose="error",
    )


def at_pz(raw, name):
    """Return the mean amplitude of a condition at Pz, in uV."""
    events, event_id = mne.events_from_annotations(raw, verbose="error")
    epochs = mne.Epochs(raw, events, event_id, -0.2, 0.6, picks=["Pz"], preload=True)
    return 1e6 * epochs[name].average().crop(0.25, 0.45).data.mean()


def test_a_response_under_blinks_is_kept(coupled):
    conditions = ["target", "standard"]
    plain, free = clean_raw(coupled.raw), clean_raw(coupled.raw, events=conditions)
    truth, before, after = (
        at_pz(x, "target") for x in (coupled.without_blinks, plain.raw, free.raw)
    )
    assert abs(after - truth) < abs(before - truth) / 2
    assert free.kinds["blink"].gone > 0.9
    facts = free.settings["evoked_free"]
    assert facts["trials"] == {"target": 40, "standard": 40}
    assert facts["n_fits"] == 2
    assert "fitted without the evoked responses of target" in free.verdict
    assert plain.settings["evoked_free"] is None


def test_events_and_annotations_are_the_same(coupled):
    raw = coupled.raw
    events, event_id = mne.events_from_annotations(raw, verbose="error")
    for some in (conditions_of(raw, events, event_id), conditions_of(raw, list(event_id))):
        assert {name: len(one) for name, one in some.items()} == {"target": 40, "standard": 40}
    cropped = raw.copy().crop(10, 50)
    given = conditions_of(cropped, ["target"])["target"]
    np.testing.assert_allclose(
        given / 125.0 + 10, coupled.raw.annotations.onset[::2][3:17], atol=0.005
    )


def test_overlapping_responses_are_told_apart():
    rng = np.random.default_rng(0)
    shapes, n_times = rng.standard_normal((2, 3, 40)), 4000
    samples = [np.sort(rng.choice(3900, 90, replace=False)) for _ in shapes]
    data = np.zeros((3, n_times))
    for shape, some in zip(shapes, samples, strict=True):
        for sample in some:
            data[:, sample : sample + 40] += shape
    avoid = rng.random(n_times) < 0.2
    found = responses(data + 100.0 * avoid, samples, (0, 40), avoid)
    np.testing.assert_allclose(found, data, atol=0.01)


def test_without_overlap_it_is_the_average():
    data = np.random.default_rng(0).standard_normal((2, 1000))
    samples = np.arange(10, 900, 60)
    found = responses(data, [samples], (-5, 30), np.zeros(1000, bool))
    windows = np.array([data[:, k - 5 : k + 30] for k in samples])
    np.testing.assert_allclose(found[:, 5:40], windows.mean(axis=0), atol=1e-3)
    assert not found[:, 50:60].any()


def test_what_cannot_be_used_is_said_and_the_rest_is_used(coupled):
    raw = coupled.raw
    with pytest.warns(RuntimeWarning, match="No trials of deviant"):
        conditions = conditions_of(raw, ["target", "deviant"])
    assert list(conditions) == ["target"]
    events = np.array([[100, 0, 1], [10**7, 0, 1], [200, 0, 2]])
    with pytest.warns(RuntimeWarning, match="1 of 3 events are outside"):
        assert conditions_of(raw, events)["1"].tolist() == [100]
    with pytest.warns(RuntimeWarning, match="No trials of odd"):
        assert conditions_of(raw, np.zeros((0, 3), int), {"odd": 1}) == {}
    with pytest.raises(ValueError, match=r"\(n_events, 3\)"):
        conditions_of(raw, np.zeros((4, 2), int))
    with pytest.raises(ValueError, match="whole numbers"):
        conditions_of(raw, np.array([[np.nan, 0, 1]]))
    with pytest.raises(ValueError, match="pass events, too"):
        clean_raw(raw, event_id={"target": 1})


def test_trials_that_all_have_blinks_leave_the_fit_as_it_is(coupled):
    events = coupled.blink_events.copy()
    free, plain = clean_raw(coupled.raw, events=events), clean_raw(coupled.raw)
    np.testing.assert_array_equal(free.raw.get_data(), plain.raw.get_data())
    assert "fitted as is; too few trials without blinks: 1" in free.verdict
    assert free.settings["evoked_free"]["n_fits"] == 1


def test_a_study_fits_without_the_responses(coupled, tmp_path, capsys):
    files = [tmp_path / "with_raw.fif", tmp_path / "other_raw.fif"]
    coupled.raw.save(files[0], verbose="error")
    coupled.raw.copy().set_annotations(None).save(files[1], verbose="error")
    study = clean_study(files, tmp_path / "out", events=["target", "standard"])
    assert not study.failed
    fits = [
        json.loads(path.read_text())["Results"]["evoked_free"]
        for path in sorted((tmp_path / "out").rglob("*icafit_ica.json"))
    ]
    assert fits[0] is None  # a recording without these conditions is fitted as it is
    assert fits[1]["trials"] == {"target": 40, "standard": 40}
    told = {row["recording"]: row["message"] for row in study.rows}
    assert "fitted without the evoked responses" in told["with"]
    assert "blinks differ" in told["with"]
    assert "fitted" not in told["other"]
    assert "responses to the events (target: 40; standard: 40) were subt" in study.methods()[0]
    (audited,) = [one for one in study.to_audit() if one.name == "with"]
    np.testing.assert_allclose(audited.before.get_data(), coupled.raw.get_data(), atol=1e-9)
    command = ["audit", str(study.out), "--events", "target", "standard"]
    with pytest.warns(RuntimeWarning, match="No trials of target, standard"):
        assert main([*command, "--picks", "Pz", "--window", "0.25", "0.45"]) == 0
    printed = capsys.readouterr().out
    assert "with: blinks differ" in printed
    assert "with: target - standard" in printed
    assert (study.out / "audit_effects.tsv").exists()


def test_epochs_with_and_without_their_recording(coupled):
    events, event_id = mne.events_from_annotations(coupled.raw, verbose="error")
    epochs = mne.Epochs(coupled.raw, events, event_id, -0.2, 1.0, baseline=None, preload=True)
    for raw in (coupled.raw, None):
        result = clean_epochs(epochs, raw, evoked_free=True)
        facts = result.settings["evoked_free"]
        assert facts["trials"] == {"standard": 40, "target": 40}
        assert facts["n_fits"] == 1 + bool(result.ica.exclude)
        assert facts["clean_trials"]["target"] < 35
