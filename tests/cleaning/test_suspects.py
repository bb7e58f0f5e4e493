"""Bad channels that nobody marked."""

import mne
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mne_otica import clean_epochs, clean_raw
from mne_otica.simulation import simulate_raw

CHANNEL = 10  # Cz


@pytest.fixture(scope="module")
def sim():
    return simulate_raw(16, 40, 128.0, n_blinks=12, random_state=3)


def spoiled(raw, how, channel=CHANNEL):
    raw = raw.copy()
    row = raw._data[channel]
    if how == "noise":
        row += 1e-3 * np.random.default_rng(0).standard_normal(raw.n_times)
    elif how == "flat":
        row[:] = 4e-5
    elif how == "clipped":
        np.clip(row, *np.percentile(row, [3, 97]), out=row)
    else:
        row *= how
    return raw


@pytest.fixture(scope="module")
def marked(shared_data):
    raw = mne.io.read_raw_fif(shared_data / "eegmmidb_S001R01_raw.fif.gz", preload=True)
    given = raw.copy()
    given.info["bads"] = [raw.ch_names[CHANNEL]]
    return raw, clean_raw(given).kinds["blink"].gone


@pytest.mark.parametrize(
    "how",
    [
        10,
        pytest.param(20, marks=pytest.mark.slow),
        pytest.param(50, marks=pytest.mark.slow),
        "noise",
    ],
)
def test_blinks_are_removed_as_if_the_channel_had_been_marked(marked, how):
    raw, gone = marked
    name = raw.ch_names[CHANNEL]
    result = clean_raw(spoiled(raw, how))
    assert result.kinds["blink"].gone == pytest.approx(gone, abs=0.05)
    assert list(result.suspects) == [name]
    assert f"suspect channels: {name} (" in result.verdict
    assert result.raw.info["bads"] == [name]
    assert_array_equal(result.raw.get_data([name]), spoiled(raw, how).get_data([name]))


@pytest.mark.parametrize("how", ["flat", "clipped", 10])
def test_suspects_are_named_and_left_as_they_are(sim, how):
    raw = spoiled(sim.raw, how)
    name = raw.ch_names[CHANNEL]
    with mne.utils.catch_logging() as log:
        result = clean_raw(raw, verbose="info")
    assert f"Channels: suspect channels: {name} (" in log.getvalue()
    assert raw.info["bads"] == []
    assert result.raw.info["bads"] == [name]
    assert result.status == "cleaned"
    assert str(how if how != 10 else "times the median amplitude") in result.suspects[name]
    assert dict(result.summary())["Suspect channels"].startswith(f"{name} (")
    assert_array_equal(result.raw.get_data([name]), raw.get_data([name]))
    epochs = mne.make_fixed_length_epochs(raw, 2.0, preload=True)
    for other in (None, raw):
        cut = clean_epochs(epochs, other)
        assert (list(cut.suspects), cut.epochs.info["bads"]) == ([name], [name])


def test_the_search_can_be_turned_off(sim):
    result = clean_raw(spoiled(sim.raw, 10), find_bad_channels=False)
    assert (result.suspects, result.raw.info["bads"]) == ({}, [])


def test_the_only_frontal_channel_is_kept_and_named(sim):
    raw = spoiled(sim.raw.copy().pick(["Fp1", "C3", "C4", "P3", "P4", "O1", "O2"]), 10, 0)
    result = clean_raw(raw)
    assert result.raw.info["bads"] == []
    assert "kept, as no other channel is frontal" in result.suspects["Fp1"]
    assert "Fp1 (" in result.verdict


def test_recordings_without_a_signal_are_refused(sim):
    raw = sim.raw.copy()
    raw._data[:] = 3e-5
    with pytest.raises(ValueError, match="All eeg channels are constant"):
        clean_raw(raw)
    raw = sim.raw.copy().pick(["Fp1", "C3", "C4"])
    raw._data[1:] = 0
    with pytest.raises(ValueError, match=r"Fewer than 2 EEG channels are left.*C3 \(flat\)"):
        clean_raw(raw)


def test_channels_that_a_person_would_keep_are_no_suspects(shared_data):
    """Only the square wave of mmidb_S004R01: its other 63 channels are as they should be."""
    names = ["mmidb_S004R01", "biocalib", "hypyp_ec1", "muse4", "oset22"]
    suspects = {}
    for name in names:
        (path,) = shared_data.glob(f"{name}_raw.fif*")
        raw = mne.io.read_raw_fif(path, preload=True).pick("eeg")
        suspects[name] = list(clean_raw(raw.crop(0, 30)).suspects)
    assert suspects == dict.fromkeys(names, []) | {"mmidb_S004R01": ["FT8"]}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Only .* s of the recording are away from its .* events")
def test_hardly_any_good_channel_is_suspect():
    """In at most one of a hundred recordings, of people who blink up to once a second."""
    rng, false = np.random.default_rng(5), 0
    for seed in range(100):
        raw = simulate_raw(
            int(rng.choice([4, 8, 16, 19, 32, 64])),
            40,
            128.0,
            n_blinks=int(rng.choice([0, 5, 12, 30, 45])),
            blink_amplitude=float(rng.choice([1e-4, 2e-4, 4e-4])),
            pops=int(rng.integers(0, 4)),
            movements=int(rng.integers(0, 3)),
            reference=str(rng.choice(["mastoids", "average"])),
            random_state=seed,
        ).raw
        false += bool(clean_raw(raw).suspects)
    assert false <= 1
