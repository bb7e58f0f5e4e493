"""
.. _tut-components:

20. What ICA did
================

An ICA takes a recording apart into components, each with a map over the head and a time
course. Which of them holds the blinks? This tutorial looks at the components one by one, and
at why the most obvious rule, "the spikiest one", fails.
"""

# %%
# A recording whose truth is known
# --------------------------------
# A minute of simulated EEG with 15 blinks, and an electrode that pops three times: its contact
# fails for a moment, and it jumps by about a millivolt.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

import mne_otica

sim = mne_otica.simulation.simulate_raw(32, duration=60, pops=3, random_state=1)
raw = sim.raw
assert len(sim.blink_events) == 15

# %%
# Fit
# ---
# `mne_otica.ICA` is MNE's own ICA with another solver. As for any ICA of EEG, slow
# drifts are filtered off a copy first.

filtered = raw.copy().filter(1.0, 40.0)
ica = mne_otica.ICA(n_components=25).fit(filtered)
ica

# %%
# ``converged_`` tells whether the fit ended by itself. ``contrast_`` is what OT-ICA maximises: how
# far each component is from a Gaussian. Two stand out.

assert ica.converged_
assert sorted(np.argsort(ica.contrast_)[-2:]) == [0, 1]

fig, ax = plt.subplots(figsize=(7, 2.2), layout="constrained")
ax.bar(range(ica.n_components_), ica.contrast_, color="0.4")
ax.set(xlabel="Component", ylabel="Contrast")
plt.show()

# %%
# The maps of the first four: a single electrode, the eyes, the eyes looking sideways, and a map
# that covers half of the head.

ica.plot_components(picks=range(4), show=False)
plt.show()

# %%
# And their time courses. Component 0 is the popping electrode, component 1 the blinks, component 2
# the gaze shifts; component 3 looks like brain.

sources = ica.get_sources(filtered).get_data()
fig, axes = plt.subplots(4, 1, figsize=(9, 5), sharex=True, layout="constrained")
for k, ax in enumerate(axes):
    ax.plot(raw.times, sources[k], color="k", linewidth=0.6)
    ax.set(ylabel=f"Component {k}", xlim=(0, raw.times[-1]))
axes[-1].set_xlabel("Time (s)")
plt.show()

# %%
# Why kurtosis is not enough
# --------------------------
# Kurtosis measures how sparse a signal is, and blinks are sparse. But three pops are sparser than
# 15 blinks: the excess kurtosis of the pops is about 90, that of the blinks about 17. A rule that
# takes the largest removes the wrong component.

by_kurtosis, kurtosis = mne_otica.find_bads_blink(ica, filtered, strategy="max_kurtosis")
assert by_kurtosis == [0]
assert 85 < kurtosis[0] < 95
assert 16 < kurtosis[1] < 18

# %%
# The evidence
# ------------
# `mne_otica.find_bads_blink` lets kurtosis open the gate and then weighs what a blink
# looks like: how high the events are above the rest of the component, how alike they are, how
# long they last, how often they come, whether the map is that of the eyes and not of one
# electrode. There is no EOG channel here, and none is needed.

indices, scores = mne_otica.find_bads_blink(ica, raw)
assert indices == [1]
scores

# %%
# Every candidate has the reason for the decision. The popping electrode lost because its events
# start too suddenly for a lid and because its map is one electrode's alone:

reasons = {row.component: row.reason for row in scores.rows}
assert "too suddenly for a lid" in reasons[0]
print(reasons[0])

# %%
# Was that right? The simulation knows the map of its blinks: it correlates with the map of
# component 1 by more than 0.99.

truth = sim.map_of("blink")[:, 0]
found = ica.get_components()[:, indices[0]]
assert np.corrcoef(truth, found)[0, 1] > 0.99

# %%
# When the subject blinked
# ------------------------
# `mne_otica.find_blink_events` gives the times as MNE events, from EOG channels if there are
# any, else from frontal channels. All 15 are found, each within 30 ms of its true peak.

events = mne_otica.find_blink_events(raw)
assert len(events) == 15
assert np.abs(events[:, 0] - sim.blink_events[:, 0]).max() / raw.info["sfreq"] < 0.03

# %%
# Three answers
# -------------
# The same recording without blinks still has a spiky component, and a rule that must pick one
# would remove it. Here the answer is that there is none, and the recording is left alone.

quiet = mne_otica.simulation.simulate_raw(32, duration=60, pops=3, n_blinks=0, random_state=1)
result = mne_otica.clean_raw(quiet.raw)
assert result.status == "no-blink"
assert np.array_equal(result.raw.get_data(), quiet.raw.get_data())
print(result.verdict)

# %%
# The third answer is "unsure": there is a candidate, but the evidence is not enough. Nothing is
# removed then either; look at ``result.scores`` and ``result.plot()``, decide, and set
# ``result.ica.exclude`` yourself.
