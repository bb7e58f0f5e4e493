"""What removal by kind says to input that it can do nothing with, or next to nothing."""

import mne
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mne_otica import ICA, clean_epochs, clean_raw, clean_study, remove_artifacts
from mne_otica.artifacts import kinds
from mne_otica.cli import main
from mne_otica.simulation import simulate_raw

SHORT = pytest.mark.filterwarnings(
    "ignore:Only .* s of data to judge", "ignore:filter_length .* is longer"
)
OTHERS = [kind for kind in kinds() if kind != "blink"]
EXIST = "'blink', 'eye movement', 'heartbeat', 'muscle', 'electrode'"


@pytest.fixture(scope="module")
def raw():
    return simulate_raw(12, 20, 160, n_blinks=0, random_state=3).raw


@pytest.fixture(scope="module")
def ica(raw):
    return ICA(8, random_state=0).fit(raw.copy().filter(1.0, 40.0))


@pytest.fixture(scope="module")
def epochs(raw):
    events = mne.make_fixed_length_events(raw, duration=2.0)
    return mne.Epochs(raw, events, tmin=0, tmax=1.9, baseline=None, preload=True)


@pytest.fixture
def recording(raw, tmp_path):
    path = tmp_path / "one_raw.fif"
    raw.save(path)
    return path


def meg(n_times=3000):
    data = 1e-12 * np.random.default_rng(0).standard_normal((4, n_times))
    return mne.io.RawArray(data, mne.create_info(4, 160.0, "mag")).filter(1.0, None)


@pytest.mark.parametrize("artifacts", ["blinks", ["blink", "ghost"], "eye-movement"])
@pytest.mark.parametrize("function", ["raw", "epochs", "study"])
def test_kinds_that_do_not_exist_are_refused(raw, epochs, recording, function, artifacts):
    calls = {
        "raw": lambda: clean_raw(raw, artifacts=artifacts),
        "epochs": lambda: clean_epochs(epochs, artifacts=artifacts),
        "study": lambda: clean_study(
            [recording], out=recording.parent / "out", artifacts=artifacts
        ),
    }
    with pytest.raises(ValueError, match=f"is not among .*{EXIST}"):
        calls[function]()


@pytest.mark.parametrize("artifacts", [[], (), ""])
def test_nothing_to_remove_is_refused(raw, epochs, artifacts):
    for call in (clean_raw, clean_epochs):
        with pytest.raises(ValueError, match=f"nothing to remove; name some of .*{EXIST}"):
            call(raw if call is clean_raw else epochs, artifacts=artifacts)


@pytest.mark.parametrize("artifacts", [None, 3, {"blink"}, np.array(["blink"])])
def test_artifacts_must_be_names(raw, artifacts):
    with pytest.raises(TypeError, match="artifacts must be .* a list of kinds"):
        clean_raw(raw, artifacts=artifacts)


def test_the_command_line_lists_the_kinds(recording, capsys):
    out = str(recording.parent / "out")
    assert main(["run", str(recording), "--out", out, "--artifacts", "ghost"]) != 0
    assert "eye movement" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["ghost", "", "all"])
def test_removal_lists_the_kinds(raw, ica, kind):
    with pytest.raises(ValueError, match=f"is not among .*{EXIST}"):
        remove_artifacts(raw, ica, artifacts=kind, exclude=[0])


@pytest.mark.parametrize("kind", [None, [], ["blink"]])
def test_removal_is_of_one_kind(raw, ica, kind):
    with pytest.raises(TypeError, match="artifacts must be"):
        remove_artifacts(raw, ica, artifacts=kind, exclude=[0])


def test_without_eeg_there_is_nothing_to_clean():
    triggers = mne.io.RawArray(np.zeros((2, 3000)), mne.create_info(2, 160.0, "stim"))
    for raw in (meg(), triggers):
        with pytest.raises(ValueError, match="0 EEG channels are left to clean"):
            clean_raw(raw, artifacts="all")


def test_an_ica_of_meg_is_refused():
    ica = mne.preprocessing.ICA(3, random_state=0, max_iter=100).fit(meg())
    with pytest.raises(ValueError, match="on no EEG channel"):
        remove_artifacts(meg(), ica, artifacts="muscle", exclude=[0])


@SHORT
@pytest.mark.parametrize(
    "few",
    [
        lambda raw: raw.pick(raw.ch_names[:2]),
        lambda raw: raw.crop(0, 3),
        lambda raw: raw.pick(raw.ch_names[:2]).crop(0, 3),
    ],
    ids=["two channels", "three seconds", "both"],
)
def test_next_to_no_data_is_no_reason_to_remove_anything(raw, few):
    raw = few(raw.copy())
    cleaned = clean_raw(raw, artifacts="all")
    assert cleaned.status in ("unsure", "none")
    assert set(one.answer for one in cleaned.kinds.values()) <= {"no", "unsure"}
    assert_array_equal(cleaned.raw.get_data(), raw.get_data())


def test_names_and_positions_are_not_guessed(raw):
    unnamed = raw.copy().set_montage(None)
    unnamed.rename_channels({name: f"X{k}" for k, name in enumerate(raw.ch_names)})
    cleaned = clean_raw(unnamed, artifacts="all")
    assert cleaned.artifacts.geometry == "none"
    for kind, one in cleaned.kinds.items():
        if one.answer == "unsure":
            assert one.reason, kind


@SHORT
@pytest.mark.parametrize("kind", OTHERS)
def test_too_few_events_take_out_nothing_but_what_is_there(raw, ica, kind):
    none, one = np.zeros((0, 3), int), np.array([[raw.first_samp + 500, 0, 1]])
    short = raw.copy().crop(0, 3)
    for some, events in ((raw, none), (raw, one), (short, None)):
        cleaned = remove_artifacts(some, ica, artifacts=kind, exclude=[0], events=events)
        assert np.isfinite(cleaned.get_data()).all()
        if kind == "heartbeat":  # there is no telling what a beat looks like
            assert_array_equal(cleaned.get_data(), some.get_data())
    untouched = remove_artifacts(raw, ica, artifacts=kind, exclude=[])
    assert_array_equal(untouched.get_data(), raw.get_data())


@SHORT
@pytest.mark.parametrize("kind", OTHERS)
def test_two_epochs_are_cleaned_or_left(epochs, ica, kind):
    cleaned = remove_artifacts(epochs[:2], ica, artifacts=kind, exclude=[0])
    assert cleaned.get_data().shape == epochs[:2].get_data().shape
    assert np.isfinite(cleaned.get_data()).all()


def test_one_channel_that_is_not_a_number_says_nothing_of_the_others(raw):
    broken = raw.copy()
    broken._data[3, 1000:1100] = np.nan
    cleaned = clean_raw(broken, artifacts="all")
    assert_array_equal(np.isnan(cleaned.raw.get_data()), np.isnan(broken.get_data()))
