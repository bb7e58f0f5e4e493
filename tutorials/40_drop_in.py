"""
.. _tut-drop-in:

40. In your own MNE script
==========================

You have a script that uses MNE's ICA. This tutorial puts OT-ICA into it, on Raw and on Epochs,
and shows what to expect of MNE's own tools and of ICLabel.
"""

# %%
# One changed import
# ------------------
# `mne_otica.ICA` is a subclass of `mne.preprocessing.ICA`: the same arguments,
# methods and files. Only the default method differs.

import matplotlib.pyplot as plt
import mne
import numpy as np

import mne_otica
from mne_otica import ICA  # was: from mne.preprocessing import ICA

raw = mne_otica.datasets.sample()
filtered = raw.copy().filter(1.0, 40.0)
ica = ICA(n_components=20, random_state=0)
ica.fit(filtered, picks="eeg")
assert isinstance(ica, mne.preprocessing.ICA)

# %%
# Everything MNE offers works on it. With an EOG channel, MNE's rule and this package's agree:

by_eog, _ = ica.find_bads_eog(raw)
by_evidence, scores = mne_otica.find_bads_blink(ica, raw)
assert list(by_eog) == by_evidence == [0]

# %%
# Without one, MNE's rule cannot be used; the evidence still decides the same.

without_eog = raw.copy().drop_channels("EOG 061")
try:
    ica.find_bads_eog(without_eog)
except RuntimeError as error:
    print(f"MNE: {error}")
by_evidence, _ = mne_otica.find_bads_blink(ica, without_eog)
assert by_evidence == [0]

# %%
# Removal is MNE's, too.

ica.exclude = by_evidence
cleaned = ica.apply(raw.copy())
ica.plot_overlay(raw, start=0.0, stop=6.0, picks="eeg", show=False)
plt.show()

# %%
# Epochs
# ------
# ICA can be fitted on epochs, and blinks can be found in them. Trigger 1 to 4 are tones and
# checkerboards.

found = mne.find_events(raw, stim_channel="STI 014")
epochs = mne.Epochs(filtered, found, tmin=-0.2, tmax=0.5, baseline=None, preload=True)
ica_epochs = ICA(n_components=15).fit(epochs, picks="eeg")
indices, _ = mne_otica.find_bads_blink(ica_epochs, epochs)
clean_epochs = ica_epochs.apply(epochs.copy(), exclude=indices)
print(f"{len(epochs)} epochs, blink component {indices}")

# %%
# Better, where you can: fit on the continuous recording, which has more samples and whole
# blinks, and apply the result to the epochs.

clean_epochs = ica.apply(epochs.copy())
peak_before, peak_after = (
    1e6 * np.ptp(one.get_data("EEG 003"), axis=-1).max() for one in (epochs, clean_epochs)
)
assert peak_after < peak_before / 2
print(f"Largest peak to peak at EEG 003: {peak_before:.0f} µV before, {peak_after:.0f} µV after")

# %%
# Files
# -----
# A saved file opens in MNE wherever this package is not installed.

import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "sample-ica.fif"
    ica.save(path)
    opened = mne.preprocessing.read_ica(path)
assert type(opened) is mne.preprocessing.ICA
assert opened.exclude == [0]
assert np.allclose(opened.apply(raw.copy()).get_data(), cleaned.get_data())

# %%
# Pipelines that build their own ICA
# ----------------------------------
# Some code has no place for another class: it writes ``mne.preprocessing.ICA(method=...)``.
# `mne_otica.register` makes ``method="otica"`` valid there, for this process, and
# `mne_otica.unregister` puts MNE back as it was.

mne_otica.register()
stock = mne.preprocessing.ICA(n_components=20, method="otica", random_state=0)
stock.fit(filtered, picks="eeg")
mne_otica.unregister()
assert np.allclose(stock.unmixing_matrix_, ica.unmixing_matrix_)

# %%
# ICLabel
# -------
# `ICLabel <https://mne.tools/mne-icalabel>`__ is a neural network that sorts components into
# brain, eye blink, muscle and so on. It is a good second opinion. It was trained on extended
# Infomax components of recordings with an average reference between 1 and 100 Hz, and warns about
# any other method, ours included. Give it what it expects, as far as you can:
#
# .. code-block:: python
#
#     from mne_icalabel import label_components
#
#     for_iclabel = raw.copy().pick("eeg").filter(1.0, 100.0).set_eeg_reference("average")
#     ica = ICA(n_components=20).fit(for_iclabel)
#     labels = label_components(for_iclabel, ica, method="iclabel")
#     labels["labels"][0]  # 'eye blink'
#
# It is no part of this package's dependencies. Where it is installed, the next lines ask it:

import importlib.util
import warnings

if importlib.util.find_spec("mne_icalabel") is not None:
    from mne_icalabel import label_components

    for_iclabel = raw.copy().pick("eeg", exclude="bads").filter(1.0, 100.0)
    for_iclabel.set_eeg_reference("average")
    ica = ICA(n_components=20).fit(for_iclabel)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*extended infomax.*")
        labels = label_components(for_iclabel, ica, method="iclabel")["labels"]
    indices, _ = mne_otica.find_bads_blink(ica, raw)
    assert labels[indices[0]] == "eye blink"
    print(f"ICLabel calls component {indices[0]}: {labels[indices[0]]}")
else:
    print("mne-icalabel is not installed, so it is not asked here.")
