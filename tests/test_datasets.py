import numpy as np

from mne_otica import datasets


def test_sample_is_the_recording_of_the_paper():
    raw = datasets.sample()
    assert set(raw.get_channel_types()) == {"eeg", "eog", "stim"}
    assert raw.n_times == 14_400
    assert 600 < raw.info["sfreq"] < 601
    eog = raw.copy().filter(1, 10, picks="eog").get_data("eog")[0]
    peaks = [np.abs(eog[int(600.6 * t) : int(600.6 * (t + 0.4))]).max() for t in (2.1, 3.5, 14.3)]
    assert min(peaks) > 5 * np.median(np.abs(eog))
