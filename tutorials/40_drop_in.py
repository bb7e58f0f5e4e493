"""
.. _tut-drop-in:

40. In your own MNE script
==========================

This tutorial uses OT-ICA in a script that was written for MNE's ICA, with Raw and Epochs, and
together with MNE's own tools and ICLabel.
"""

# %%
# One changed import
# ------------------
# `mne_otica.ICA` is a subclass of `mne.preprocessing.ICA`: the same arguments,
# methods and files. Only the default method differs, and the default seed, which is fixed.

import matplotlib.pyplot as plt
import mne
import numpy as np

import mne_otica
from mne_otica import ICA  # was: from mne.preprocessing import ICA

raw = mne_otica.datasets.sample()
filtered = raw.copy().filter(1.0, 40.0)
ica = ICA(n_components=20, random_state=0)
ica.fit(filtered, picks="eeg")

# %%
# All of MNE's methods are available. With an EOG channel, MNE's method and `find_bads_blink
# <mne_otica.find_bads_blink>` select the same component:

by_eog, _ = ica.find_bads_eog(raw)
by_evidence, scores = mne_otica.find_bads_blink(ica, raw)
print(f"find_bads_eog: {[int(k) for k in by_eog]}, find_bads_blink: {by_evidence}")

# %%
# ``find_bads_eog`` needs an EOG channel; ``find_bads_blink`` does not.

without_eog = raw.copy().drop_channels("EOG 061")
try:
    ica.find_bads_eog(without_eog)
except RuntimeError as error:
    print(f"MNE: {error}")
by_evidence, _ = mne_otica.find_bads_blink(ica, without_eog)
print(f"find_bads_blink: {by_evidence}")

# %%
# Removal works as with any MNE ICA: ``ica.apply`` removes whole components. To remove only the
# blinks, and leave the brain activity that the component also holds, use
# `mne_otica.remove_artifacts`, which accepts the ICA of any method. MNE's figure shows the removal
# of the whole component.

ica.exclude = by_evidence
cleaned = mne_otica.remove_artifacts(raw, ica)
ica.plot_overlay(raw, start=0.0, stop=6.0, picks="eeg", show=False)
plt.show()

# %%
# Epochs
# ------
# ICA can be fitted to epochs, and blinks can be found in them. The events are tones and
# checkerboards.

found = mne.find_events(raw, stim_channel="STI 014")
epochs = mne.Epochs(filtered, found, tmin=-0.2, tmax=0.5, baseline=None, preload=True)
ica_epochs = ICA(n_components=15).fit(epochs, picks="eeg")
indices, _ = mne_otica.find_bads_blink(ica_epochs, epochs)
clean_epochs = ica_epochs.apply(epochs.copy(), exclude=indices)
print(f"{len(epochs)} epochs, blink component {indices}")

# %%
# If possible, pass the recording that the epochs were cut from, too, which has more samples and
# complete blinks. `mne_otica.clean_epochs` then fits on it and removes the blinks from the epochs.

result = mne_otica.clean_epochs(epochs, filtered)
clean_epochs = result.epochs
print(result.verdict)
peak_before = 1e6 * np.ptp(epochs.get_data("EEG 003"), axis=-1).max()
peak_after = 1e6 * np.ptp(clean_epochs.get_data("EEG 003"), axis=-1).max()
print(f"Largest peak to peak at EEG 003: {peak_before:.0f} µV before, {peak_after:.0f} µV after")

# %%
# Files
# -----
# A saved file can be read by MNE without this package.

import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "sample-ica.fif"
    ica.save(path)
    opened = mne.preprocessing.read_ica(path)
opened

# %%
# Pipelines that build their own ICA
# ----------------------------------
# Some pipelines create ``mne.preprocessing.ICA(method=...)`` themselves. `mne_otica.register` makes
# ``method="otica"`` valid there, for the current process; `mne_otica.unregister` undoes it.

mne_otica.register()
stock = mne.preprocessing.ICA(n_components=20, method="otica", random_state=0)
stock.fit(filtered, picks="eeg")
mne_otica.unregister()
same = np.allclose(stock.unmixing_matrix_, ica.unmixing_matrix_)
print(f"Same unmixing matrix: {same}")

# %%
# ICLabel
# -------
# `ICLabel <https://mne.tools/mne-icalabel>`__ is a neural network that classifies components as
# brain, eye blink, muscle and so on, which makes it a useful second opinion. It was trained on
# extended Infomax components of recordings with an average reference, filtered from 1 to 100 Hz,
# and warns about any other method, including this one. Prepare the recording accordingly:
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
# mne-icalabel is not a dependency of this package. If it is installed, the next cell runs it:

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
    print(f"ICLabel classifies ICA{indices[0]:03d} as {labels[indices[0]]}")
else:
    print("mne-icalabel is not installed.")
