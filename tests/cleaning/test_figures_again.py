"""Every number of a verdict, computed again from the recording, the cleaned one and the events."""

import re

import mne
import numpy as np
import pytest

from mne_otica import clean_raw, datasets

IDS = {"blinks": 998, "eye movements": 997, "heartbeats": 999, "electrodes": 995}
SENTENCE = re.compile(
    r"(?P<kind>[a-z ]+): (?P<gone>\d+) % removed( at (?P<at>[^(]+))? "
    r"\((?P<removed>\d+)( of (?P<n>\d+))? events?, .*?\)"
    r"(; (?P<away>[\d.]+) % (?P<where>elsewhere|of the whole signal))?"
)


def rms(x):
    return np.sqrt(np.mean(x**2))


def steps(removed, samples, away):
    """Return the step at each event in what was removed, at the channel with most of it."""
    course = removed[np.argmax(np.sum(removed**2, axis=1))]
    last = len(course) - 1
    after, before = (course[(samples + k).clip(0, last)] for k in (away, -away))
    return after - before


def computed(raw, result, kind, at):
    """Return share removed of the average, of the signal elsewhere, and of the whole signal."""
    names = [name for name in raw.copy().pick("eeg", exclude="bads").ch_names]
    names = [name for name in names if name not in result.raw.info["bads"]]
    sfreq, changed = raw.info["sfreq"], raw.get_data(names) - result.raw.get_data(names)
    high = min(40.0, sfreq / 2)
    pair = [
        one.copy().load_data().pick(names).filter(1.0, None if high < 40 else high, verbose="error")
        for one in (raw, result.raw)
    ]
    before, after = (one.get_data() for one in pair)
    good = np.isfinite(raw.get_data([0], reject_by_annotation="NaN")[0])
    events = result.events[result.events[:, 2] == IDS[kind]]
    samples, counts = events[:, 0] - raw.first_samp, events[:, 1] != 1
    half, away = (round(x * sfreq) for x in (0.15 if kind == "heartbeats" else 0.25, 0.1))
    weights = np.ones(len(samples))
    if kind == "eye movements":
        weights = steps(before - after, samples, away)
    whole = [
        (k, weight)
        for k, weight in zip(samples[counts], weights[counts], strict=True)
        if half <= k < raw.n_times - half and good[k - half : k + half].all()
    ]
    means = []
    for x in (before, after):
        mean = np.mean([w * x[:, k - half : k + half] for k, w in whole], axis=0)
        means.append(mean - mean.mean(axis=1, keepdims=True))
        if x is before:
            most = np.argsort(-rms_rows(means[0]))[:5]
            if at:
                most = [names.index(name) for name in at.split(", ")]
    far = good.copy()
    reach = round(1.25 * sfreq)
    for k in samples:
        far[max(0, k - reach) : k + reach] = False
    same = ~changed.any(axis=0)
    gone = np.where(same, 0.0, before - after)
    elsewhere = rms(gone[:, far]) / rms(before[:, far]) if far.sum() > 2 * sfreq else None
    whole = rms(gone[:, good]) / rms(before[:, good])
    return 1 - rms(means[1][most]) / rms(means[0][most]), elsewhere, whole


def rms_rows(x):
    return np.sqrt(np.mean(x**2, axis=1))


def check(raw, kind):
    """Compare the figures of a verdict with those computed again, of each kind that is measured."""
    result, n_checked = clean_raw(raw, artifacts=kind), 0
    for sentence in result.verdict.split(". "):
        found = SENTENCE.match(sentence)
        if not found:
            continue
        n_checked += 1
        gone, elsewhere, whole = computed(raw, result, found["kind"], found["at"])
        own = result.events[result.events[:, 2] == IDS[found["kind"]]]
        assert int(found["removed"]) == np.sum(own[:, 1] != 2)
        assert int(found["n"] or found["removed"]) == len(own)
        assert int(found["gone"]) / 100 == pytest.approx(gone, abs=0.05)
        if found["away"]:
            share = elsewhere if found["where"] == "elsewhere" else whole
            assert float(found["away"]) / 100 == pytest.approx(share, abs=0.02)
    assert n_checked == sum(one.gone is not None for one in result.kinds.values())
    return result


RECORDINGS = """biocalib eegmat_00 eegmat_01_1 eegmat_03 eegmat_05_1 eegmat_14_1 eegmat_20_1
eegmmidb_S001R01 eegmmidb_S018R02 eegr_multimodal eeguana_faces emotiv_eyestate hypyp_ec1
microstates_ec mmidb_S002R01 mmidb_S004R01 mne_sample_24s muse4 openbci8 oset22 oset30
sample28""".split()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["blink", "eye movement", "heartbeat", "electrode"])
@pytest.mark.parametrize("name", RECORDINGS)
def test_figures_of_the_verdict(shared_data, name, kind):
    (path,) = shared_data.glob(f"{name}_raw.fif*")
    result = check(mne.io.read_raw_fif(path, preload=True), kind)
    assert bool(result.kinds[kind].components) == bool(result.removed.any())


def test_figures_of_the_verdict_about_the_shipped_recording():
    assert check(datasets.sample(), "blink").kinds["blink"].components
