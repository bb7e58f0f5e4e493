"""
.. _tut-components:

20. What ICA did
================

ICA decomposes a recording into components, each with a topography and a time course. Which of
them holds the blinks? This tutorial looks at the components one by one, and shows why the
component with the highest kurtosis is not always the right one.
"""

# %%
# A simulated recording
# ---------------------
# One minute of simulated EEG with 15 blinks and three electrode pops: short contact failures at
# one electrode, of about a millivolt.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import kurtosis

import mne_otica

sim = mne_otica.simulation.simulate_raw(32, duration=60, pops=3, random_state=1)
raw = sim.raw
print(f"{len(sim.blink_events)} blinks")

# %%
# Fit
# ---
# `mne_otica.ICA` is MNE's ICA with another solver. As with any ICA, slow drifts are removed from a
# copy by a high-pass filter first.

filtered = raw.copy().filter(1.0, 40.0)
ica = mne_otica.ICA(n_components=25).fit(filtered)
ica

# %%
# ``converged_`` tells whether the solver converged. ``contrast_`` is what OT-ICA maximises: the
# distance of each component from a Gaussian. It is largest for the first two components.

print(f"Converged: {ica.converged_}")

fig, ax = plt.subplots(figsize=(7, 2.2), layout="constrained")
ax.bar(range(ica.n_components_), ica.contrast_, color="0.4")
ax.set(xlabel="Component", ylabel="Contrast")
plt.show()

# %%
# The topographies of the first four: a single electrode, blinks, horizontal eye movements, and a
# broad one.

ica.plot_components(picks=range(4), show=False)
plt.show()

# %%
# Their time courses: ICA000 holds the electrode pops, ICA001 the blinks, ICA002 the horizontal
# eye movements; ICA003 looks like brain activity.

sources = ica.get_sources(filtered).get_data()
fig, axes = plt.subplots(4, 1, figsize=(9, 5), sharex=True, layout="constrained")
for k, ax in enumerate(axes):
    ax.plot(raw.times, sources[k], color="k", linewidth=0.6)
    ax.set(ylabel=f"ICA{k:03d}", xlim=(0, raw.times[-1]))
axes[-1].set_xlabel("Time (s)")
plt.show()

# %%
# Why kurtosis is not enough
# --------------------------
# Kurtosis is high for signals with rare, large values, such as blinks. But three pops are rarer
# than 15 blinks: the excess kurtosis of the pops is about 90, that of the blinks about 17.
# Choosing the largest kurtosis removes the wrong component.

excess = kurtosis(sources, axis=1)
print(f"Highest kurtosis: ICA{np.argmax(excess):03d}")
print(f"Excess kurtosis of ICA000: {excess[0]:.0f}, of ICA001: {excess[1]:.0f}")

# %%
# The evidence
# ------------
# `mne_otica.find_bads_blink` measures the height of the events relative to the rest of a component,
# how similar they are, their duration and rate, and whether the topography is that of a blink or of
# a single electrode. There is no EOG channel here, and none is needed.

indices, scores = mne_otica.find_bads_blink(ica, raw)
scores

# %%
# Every component comes with the reason for the decision. For the electrode pops:

reasons = {row.component: row.reason for row in scores.rows}
print(reasons[0])

# %%
# The simulation provides the true topography of the blinks. Its correlation with the topography of
# the component that was chosen is above 0.99.

truth = sim.map_of("blink")[:, 0]
found = ica.get_components()[:, indices[0]]
correlation = np.corrcoef(truth, found)[0, 1]
print(f"Correlation with the true topography: {correlation:.3f}")

# %%
# Blink times
# -----------
# `mne_otica.find_artifact_events` returns the times as an MNE events array, from EOG channels if
# there are any, otherwise from frontal channels. All 15 are found, each within 30 ms of the true
# peak.

events = mne_otica.find_artifact_events(raw)
errors = np.abs(events[:, 0] - sim.blink_events[:, 0]) / raw.info["sfreq"]
print(f"{len(events)} blinks, at most {1000 * errors.max():.0f} ms from the true peak")

# %%
# No blinks, or not sure
# ----------------------
# Without blinks, the recording still has a component of high kurtosis. The answer is then
# ``"none"``, and nothing is removed.

quiet = mne_otica.simulation.simulate_raw(32, duration=60, pops=3, n_blinks=0, random_state=1)
result = mne_otica.clean_raw(quiet.raw)
print(result.status)
print(result.verdict)

# %%
# The third answer is ``"unsure"``: there is a candidate, but the evidence is not sufficient.
# Nothing is removed in that case either. Look at ``result.artifacts`` and
# ``result.ica.plot_components()`` and decide yourself: ``result.with_components([1])`` cleans the
# recording of the components that you chose.
