"""Poor and impossible input to the finders: a sentence, "unsure", or nothing; never a guess."""

import mne
import numpy as np
import pytest

from mne_otica import ICA, annotate_artifacts, find_artifact_events, find_bads_artifacts
from mne_otica.artifacts.kinds import kinds
from mne_otica.simulation import simulate_raw

KINDS = list(kinds())
QUIET = dict(n_blinks=0, saccades=False, muscle=False, heartbeat=False, line_freq=None)


def nameless(channels, duration, seed):
    """Return brain activity alone, of channels without positions and telling names."""
    sim = simulate_raw(channels, duration, 128.0, random_state=seed, **QUIET)
    raw = sim.raw.set_montage(None)
    return raw.rename_channels({name: f"X{k}" for k, name in enumerate(raw.ch_names)})


def fitted(raw):
    ica = ICA(random_state=0, fit_params=dict(refine="none"))
    return ica.fit(raw.copy().filter(1, 40))


@pytest.fixture(scope="module")
def plain():
    raw = nameless(["Fp1", "Fz", "Cz", "O2"], 20, 0)
    return raw, fitted(raw)


@pytest.mark.parametrize("wrong", ["sweat", ["blink", "sweat"], []])
def test_kinds_that_do_not_exist_are_refused_with_those_that_do(plain, wrong):
    raw, ica = plain
    for refused in (
        lambda: find_bads_artifacts(ica, raw, artifacts=wrong),
        lambda: annotate_artifacts(raw, wrong, ica=ica),
    ):
        with pytest.raises(ValueError, match="must name kinds of artifacts") as error:
            refused()
        assert all(kind in str(error.value) for kind in KINDS)


def test_one_kind_of_events_that_does_not_exist_is_refused_with_those_that_do(plain):
    with pytest.raises(ValueError, match="sweat") as error:
        find_artifact_events(plain[0], "sweat")
    assert all(kind in str(error.value) for kind in KINDS)
    with pytest.raises(TypeError, match="artifacts"):
        find_artifact_events(plain[0], 3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("channel_type", ["mag", "misc"])
def test_without_eeg_the_types_there_are_are_named(make_raw, channel_type, kind):
    raw, _ = make_raw((channel_type,) * 4)
    for refused in (find_artifact_events, annotate_artifacts):
        with pytest.raises(ValueError, match=f"No EEG.*{channel_type}"):
            refused(raw, kind)


def test_an_ica_of_magnetometers_is_refused_with_what_is_not_supported(make_raw):
    raw, _ = make_raw(("mag",) * 6)
    ica = mne.preprocessing.ICA(4, method="infomax", max_iter=2, random_state=0)
    ica.fit(raw, verbose="error")
    for refused in (
        lambda: find_bads_artifacts(ica, raw),
        lambda: find_artifact_events(raw, "heartbeat", ica=ica),
        lambda: annotate_artifacts(raw, "heartbeat", ica=ica),
    ):
        with pytest.raises(ValueError, match=r"\['mag'\].*MEG is not supported.*picks=\"eeg\""):
            refused()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("channels", "seconds"), [(["Fp1", "O2"], 20), (["Fp1", "O2"], 3), (8, 3), (8, 20)]
)
@pytest.mark.filterwarnings("ignore:Only 3.0 s:RuntimeWarning")
def test_brains_seen_by_few_nameless_channels_for_seconds_hold_no_artifact(channels, seconds, seed):
    raw = nameless(channels, 20, seed)
    ica = fitted(raw)
    raw.crop(0, seconds, include_tmax=False)
    found, scores = find_bads_artifacts(ica, raw)
    assert not any(found.values()), scores
    assert all(row.reason for row in scores.rows)
    for kind in KINDS:
        assert len(find_artifact_events(raw, kind, ica=ica)) == 0
    assert len(annotate_artifacts(raw, KINDS, ica=ica)) == 0


def test_two_channels_cannot_tell_one_electrode_from_a_head():
    raw = nameless(["Fp1", "O2"], 20, 0)
    found, scores = find_bads_artifacts(fitted(raw), raw, artifacts="electrode")
    assert found == {"electrode": []}
    assert all("fewer than four channels" in row.reason for row in scores.rows)


def test_seconds_are_warned_about_and_less_is_refused(plain):
    raw, ica = plain
    with pytest.warns(RuntimeWarning, match="Only 3.0 s"):
        find_bads_artifacts(ica, raw.copy().crop(0, 3))
    with pytest.raises(ValueError, match="at least 2 s"):
        find_bads_artifacts(ica, raw.copy().crop(0, 1))
    for refused in (find_artifact_events, annotate_artifacts):
        with pytest.raises(ValueError, match="at least 2 s"):
            refused(raw.copy().crop(0, 1), "heartbeat")


def test_a_recording_that_is_all_bad_is_refused(plain):
    raw, ica = plain
    raw = raw.copy().set_annotations(mne.Annotations([0], [raw.times[-1]], ["BAD_all"]))
    with pytest.raises(ValueError, match="0.0 s of data are left"):
        find_bads_artifacts(ica, raw)


def test_flat_channels_hold_nothing(plain):
    raw, ica = plain
    flat = raw.copy()
    flat._data[:] = 0.0
    found, scores = find_bads_artifacts(ica, flat)
    assert not any(found.values())
    assert np.isfinite([row.probability for row in scores.rows]).all()
