"""
.. _tut-first:

10. Your first clean recording
==============================

One call removes the eye blinks from a recording and reports what that did. The package ships
24 seconds of EEG, the start of the MNE sample dataset, so there is nothing to download.
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
# A channel above the eyes shows four blinks: three in the first four seconds and one at 14.5 s.

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
# `mne_otica.clean_raw` filters a copy, fits an ICA to it, finds the component that holds the blinks
# and removes that component from a copy of the unfiltered recording. In a notebook, the result is
# shown as a table.

result = mne_otica.clean_raw(raw)
result

# %%
# It found 4 blinks and removed one component. At the five channels where the blinks are largest,
# the RMS around a blink fell by about 87 %; away from blinks it changed by about 3 %. The same
# numbers are attributes of the result:

print(f"Status: {result.status}")
print(f"Components removed: {result.ica.exclude}")
print(f"Reduction: {result.benefit.over(result.benefit.most_affected()):.0%}")
print(f"Change away from blinks: {result.harm.rms_change:+.1%}")

# %%
# Look at it
# ----------
# The first row shows the blinks before (dashed) and after (solid). The second row is the component
# that was removed: a frontal topography, and a time course that is flat except at the blinks, which
# are marked by ticks. The third row shows the reduction at each channel, and the change of the
# spectrum away from blinks. :ref:`tut-judging` explains both.

result.plot()
plt.show()

# %%
# What you get
# ------------
# ``result.raw`` is a new recording with every sample, channel and annotation of the one you passed,
# which is unchanged. The EOG channel and the channel marked bad are not modified.

result.raw

# %%
# ``result.ica`` is the fitted ICA, ``result.scores`` the evidence for each component and
# ``result.settings`` all parameters. ``save`` writes the recording, the ICA, all numbers as JSON
# and a report as one HTML page.

import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    written = result.save(Path(folder) / "cleaned")
    print(*(path.name for path in written.values()), sep="\n")

# %%
# Your own recording
# ------------------
# Any format that `mne.io.read_raw` reads can be used. EEG channels must be in volts.
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
# ``result.verdict`` says why. :ref:`tut-components` shows how that decision is made.
