"""
.. _tut-first:

10. Your first clean recording
==============================

One call removes the eye blinks from a recording and tells what that did. The package brings
24 seconds of EEG along, the start of the MNE sample dataset, so there is nothing to
download.
"""

# %%
# The recording
# -------------
# 60 EEG channels, one of them marked bad, and one EOG channel.

# sphinx_gallery_thumbnail_number = 2
import mne_otica

raw = mne_otica.datasets.sample()
raw

# %%
# A channel above the eyes shows four large deflections. Three come in the first four seconds,
# the last one at 14.5 s: the subject blinked.

import matplotlib.pyplot as plt

frontal = "EEG 003"
slow_drift_removed = raw.copy().pick([frontal]).filter(1.0, 40.0)
fig, ax = plt.subplots(figsize=(9, 2.4), layout="constrained")
ax.plot(raw.times, 1e6 * slow_drift_removed.get_data()[0], color="k", linewidth=0.7)
ax.set(xlabel="Time (s)", ylabel=f"{frontal} (µV)", xlim=(0, raw.times[-1]))
plt.show()

# %%
# Clean it
# --------
# `mne_otica.clean_raw` filters a copy, fits an ICA to it, finds the component that
# holds the blinks and removes that component from the recording as it was passed. The
# object it returns shows itself in a notebook.

result = mne_otica.clean_raw(raw)
result

# %%
# It found 4 blinks and removed one component. At the five channels that see the blinks most,
# about 87 % of the signal round a blink went; elsewhere the signal changed by about 3 %.

assert result.status == "ok"
assert len(result.events.events) == 4
assert len(result.ica.exclude) == 1
assert abs(result.benefit.over(result.benefit.most_affected()) - 0.87) < 0.02
assert abs(abs(result.harm.rms_change) - 0.03) < 0.01

# %%
# Look at it
# ----------
# The first row shows the blinks before (dashed) and after (solid). The second is the component
# that was removed: its map is that of the eyes, and it is silent but for the blinks, which the
# ticks mark. The third row answers the two questions that `tutorial 30
# <30_judging_the_cleaning.html>`__ is about: how much of the blink went at each channel, and what
# became of the spectrum where there was no blink.

result.plot()
plt.show()

# %%
# What you get
# ------------
# ``result.raw`` has every sample, channel and annotation of the recording you passed; the
# recording itself is unchanged. The EOG channel and the channel marked bad are as they were.

import numpy as np

assert result.raw.ch_names == raw.ch_names
assert np.array_equal(result.raw.get_data("eog"), raw.get_data("eog"))
assert np.array_equal(raw.get_data(), mne_otica.datasets.sample().get_data())

# %%
# ``result.ica`` is an MNE ICA, ``result.scores`` the evidence for each component and
# ``result.settings`` all parameters. ``save`` writes the recording, the ICA, these facts as JSON
# and a report as one HTML page.

import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    written = result.save(Path(folder) / "cleaned")
    print(*(path.name for path in written.values()), sep="\n")

# %%
# Your own recording
# ------------------
# Any format that `mne.io.read_raw` knows will do, with EEG channels in volts:
#
# .. code-block:: python
#
#     import mne
#     import mne_otica
#
#     raw = mne.io.read_raw("my_recording.edf", preload=True)
#     raw.set_channel_types({"VEOG": "eog"})  # if there is an EOG channel; none is needed
#     result = mne_otica.clean_raw(raw)
#     result.save("cleaned")
#
# If ``result.status`` is ``"no-blink"`` or ``"unsure"``, nothing was removed, and
# ``result.verdict`` says why. `Tutorial 20 <20_what_ica_did.html>`__ shows how that decision is
# made.
