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

# sphinx_gallery_thumbnail_path = '_static/blink.png'
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
# `mne_otica.clean_raw` filters a copy, fits an ICA to it and finds the component that holds the
# blinks. It then removes the blinks from a copy of the unfiltered recording: not the whole
# component, which also holds brain activity, but only the part of it that belongs to the blinks. In
# a notebook, the result is shown as a table.

result = mne_otica.clean_raw(raw)
result

# %%
# It found 4 blinks in one component, ICA000. The average blink is reduced by about 94 % at the five
# channels where blinks are largest, and away from blinks nothing was removed. The same numbers are
# attributes of the result:

blink = result.kinds["blink"]
print(f"Status: {result.status}")
print(f"Components that hold blinks: {blink.components}")
print(f"Average blink removed: {blink.benefit.average:.0%}")
print(f"Removed away from blinks: {blink.harm.taken_out:.1%}")

# %%
# Look at it
# ----------
# From top to bottom:
#
# - the blinks before (dashed) and after (solid) at three channels;
# - the component that holds them: a frontal topography, and a time course that is flat except at
#   the blinks, which are marked by ticks;
# - one blink of that component, and the average of all blinks: the parts removed and kept;
# - the reduction at each channel, what was removed away from blinks, and the spectrum there.
#
# :ref:`tut-judging` explains the last row.

result.plot()
plt.show()

# %%
# MNE draws the topographies of the components; the table says what each most probably holds.
# ``result.report()`` has both in one. :ref:`tut-components` looks at single components.

result.ica.plot_components(range(8), show=False)
plt.show()
print(result.artifacts)

# %%
# Only the samples in windows of about a second around the blinks have changed. All others are
# exactly as they were recorded.

changed = (result.raw.get_data() != raw.get_data()).any(axis=0)
print(f"Samples that changed: {changed.mean():.0%}")

# %%
# What you get
# ------------
# ``result.raw`` is a new recording with every sample, channel and annotation of the one you passed,
# which is unchanged. The EOG channel and the channel marked bad are not modified.

result.raw

# %%
# ``result.ica`` is the fitted ICA, ``result.artifacts`` the evidence for each component,
# ``result.events`` the blinks as an MNE events array, and ``result.settings`` all parameters.
# ``save`` writes the recording, the ICA, all numbers as JSON and a report as one HTML page.

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
# If ``result.status`` is ``"none"`` or ``"unsure"``, nothing was removed, and
# ``result.verdict`` says why. :ref:`tut-components` shows how that decision is made.
