"""What a verdict of a real recording says is what the data show."""

import re

import mne
import numpy as np
import pytest

from mne_otica import clean_raw
from mne_otica.evaluation.sentences import LONGEST


def read(shared_data, name):
    (path,) = shared_data.glob(f"{name}_raw.fif*")
    return mne.io.read_raw_fif(path, preload=True)


def onsets(shared_data, name, kind):
    rows = (shared_data / f"{name}_events.tsv").read_text().splitlines()[1:]
    return np.array([float(row.split("\t")[0]) for row in rows if row.split("\t")[1] == kind])


@pytest.mark.parametrize("name", ["eegmat_20_1", "eeguana_faces", "muse4", "hypyp_ec1"])
def test_status_and_sentences_agree_with_the_data(shared_data, name):
    """All kinds; MNE does not warn of choices that the user did not make."""
    raw = read(shared_data, name).pick("eeg")
    result = clean_raw(raw, artifacts="all")
    changed = bool((result.raw.get_data() != raw.get_data()).any())
    removed = [one for one in result.kinds.values() if one.components]
    assert changed == (result.status in ("cleaned", "poor")) == bool(result.ica.exclude)
    assert (result.status == "poor") == any(one.poor for one in removed)
    assert {k for one in removed for k in one.components} == set(result.ica.exclude)
    for sentence in result.verdict.split(". "):
        assert len(sentence) <= LONGEST
        assert all(0 <= float(share) <= 100 for share in re.findall(r"(-?[\d.]+) %", sentence))
        assert not re.search(r"\bnan\b|[:;,(]\s*[:;,)]|[:;,(]\s*$", sentence)
    for one in removed:
        assert one.gone is None or one.gone > 0
    for kind, one in result.kinds.items():  # an answer means the same of a kind as of components
        answers = [row.answer for row in result.artifacts.of(kind)]
        assert one.answer == next(each for each in ("yes", "unsure", "no") if each in answers)


def test_hearts_do_not_grow(shared_data):
    """By the ECG, which is hidden; what is said is its reduction, by the same windows."""
    raw = read(shared_data, "eegmat_20_1")
    heart = clean_raw(raw.copy().pick("eeg"), artifacts="heartbeat")
    at = np.round(onsets(shared_data, "eegmat_20_1", "heartbeat") * 250).astype(int)
    at = at[(at > 38) & (at < raw.n_times - 38)]
    means = []
    for one in (raw, heart.raw):
        x = one.copy().pick("eeg").filter(1, 40).get_data()
        mean = np.mean([x[:, k - 38 : k + 38] for k in at], axis=0)
        means.append(mean - mean.mean(axis=1, keepdims=True))
    top = np.argsort(-means[0].std(axis=1))[:5]
    before, after = (np.sqrt(np.mean(mean[top] ** 2)) for mean in means)
    gone = 1 - after / before
    if heart.kinds["heartbeat"].components:  # too weak to be found by every fit
        assert gone > 0
        assert heart.kinds["heartbeat"].gone == pytest.approx(gone, abs=0.1)
    else:
        assert gone == 0


def test_a_large_heart_is_no_harm(shared_data):
    """QRS and T wave are 40 % of the signal, which has as much less power without them."""
    raw = read(shared_data, "eeguana_faces").pick("eeg")
    result = clean_raw(raw, artifacts="heartbeat")
    heart = result.kinds["heartbeat"]
    assert (result.status, heart.cost > 0.3, heart.harm.sham < 0.3) == ("cleaned", True, True)
    before, after = (
        one.copy().filter(1, 40).get_data(result.ica.ch_names) for one in (raw, result.raw)
    )
    lost = 1 - np.sum(after**2) / np.sum(before**2)
    assert lost == pytest.approx(heart.cost**2, rel=0.2)


def test_what_an_eog_shows_is_removed(shared_data):
    """Saccades of F3 in biocalib: as small as with Picard and the EOG, 5 uV of 42."""
    raw = read(shared_data, "biocalib")
    result = clean_raw(raw, artifacts=["blink", "eye movement"])
    sources = result.ica.get_sources(raw.copy().filter(1, 10, picks=["eeg", "eog"])).get_data()
    eog = raw.copy().filter(1, 10, picks="eog").get_data("eog")
    alike = np.abs(np.corrcoef(sources, eog)[-1, :-1])
    assert int(np.argmax(alike)) in result.kinds["eye movement"].components
    assert result.artifacts.sources["eye movement"] == "EOG"
    left = result.raw.copy().filter(1, 40, picks="eeg").get_data("F3", tmin=32, tmax=39)
    assert left.std() < 8e-6
