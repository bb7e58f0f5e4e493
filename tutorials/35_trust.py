"""
.. _tut-trust:

35. Which components can be trusted
===================================

An ICA always returns the requested number of components, whether the recording supports
them or not. A reproducible component comes back when the fit is repeated on other seconds of
the recording; one that is due to chance does not. This tutorial repeats the fit, and explains what
to do with the components that did not come back.
"""

# %%
# A recording, and an ICA
# -----------------------
# Two minutes of simulated EEG with 16 channels, so that the sources are known.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

import mne_otica

sim = mne_otica.simulation.simulate_raw(16, duration=120, line_freq=None, random_state=5)
raw = sim.raw.filter(1.0, 40.0)
ica = mne_otica.ICA(random_state=0).fit(raw)

# %%
# Fit it again
# ------------
# Each refit draws seconds of the recording at random and starts from a random rotation. Each
# component of the ICA is then matched with the most similar component of the refit. Pass the
# recording that the ICA was fitted on, filtered in the same way. The default is 50 refits; 20 are
# enough for a first look. Any MNE ICA can be passed, and is refitted by its own method.

trust = mne_otica.stability(ica, raw, n_fits=20)
print(trust.summary)

# %%
# The figure
# ----------
# At the top is the index of each component: the share of the refits in which it came back.
# Components above the dotted line are called stable. In the middle are the topographies of the
# first components, averaged over the refits, and their standard deviation. At the bottom is the
# learning curve: how many components would be stable with less data.

trust.plot(show=False)
plt.show()

# %%
# For one component, as text:

print(trust.describe(0))

# %%
# Was it right?
# -------------
# In a simulation the topography of every source is known. We compare them with those of the ICA.

maps = ica.get_components()
n_components = maps.shape[1]
alike = np.abs(np.corrcoef(maps.T, sim.mixing.T)[:n_components, n_components:])
for k in np.argsort(trust.index)[::-1]:
    source = sim.source_names[alike[k].argmax()]
    called = "stable" if trust.stable[k] else "not stable"
    print(f"{k:2}: index {trust.index[k]:.2f}, {called}; map like {source}, {alike[k].max():.2f}")

# %%
# Stable does not mean brain: the blinks are among the most stable components of any recording.
# The index says that a component is reproducible, but nothing about its origin.

# %%
# What to do with unstable components
# -----------------------------------
# Most components of most recordings are unstable. This does not mean that your data are bad.
#
# - **Keep them.** Remove a component because it is an artifact, not because it is unstable.
#   Together the unstable components are brain activity that this recording is not sufficient to
#   separate.
# - **Do not interpret them individually.** Their topographies and time courses would differ with
#   other minutes of the same recording: no source localisation, no clustering across subjects.
# - **Be careful before you remove one.** An unstable component that looks like a blink holds
#   blinks and something else. Check the harm of its removal: :ref:`tut-judging`.
# - **Record longer**, if the summary says that it would help. Fewer components are not better in
#   themselves: the principal components that are left out are not unmixed at all.

# %%
# ``trust.to_dict()`` returns the numbers for a file.
