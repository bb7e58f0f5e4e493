"""
.. _tut-trust:

35. Which components can be trusted
===================================

An ICA always returns as many components as it was asked for, whether the recording supports
them or not. A component that is there comes back when the fit is repeated on other seconds of
the recording; one that is an accident of the data does not. This tutorial repeats the fit, and
says what to do with the components that did not come back.
"""

# %%
# A recording, and an ICA
# -----------------------
# Two minutes of simulated EEG with 16 channels, so that we know what is in it.

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
# Each refit draws seconds of the recording at random, starts from a random rotation, and is
# compared with the ICA: which of its components is most like each of ours? Pass the recording that
# the ICA was fitted on, filtered in the same way. The default is 50 refits; 20 are enough for a
# look. Any ICA of MNE can be passed, and is refitted by its own method.

trust = mne_otica.stability(ica, raw, n_fits=20)
print(trust.summary)

# %%
# The figure
# ----------
# On top is the index of each component: of components like it in simulated recordings, that share
# had the map of a true source. Components above the dotted line are called stable. In the middle
# are the maps of the first components, averaged over the refits, and how much they varied from
# refit to refit. At the bottom left is the learning curve: how much of this would be there with
# less data. At the bottom right is what the index was worth in simulated recordings.

trust.plot(show=False)
plt.show()

# %%
# In words, for one component:

print(trust.describe(0))

# %%
# Was it right?
# -------------
# The simulation knows the map of every source. We compare them with the maps of the ICA.

maps = ica.get_components()
n_components = maps.shape[1]
alike = np.abs(np.corrcoef(maps.T, sim.mixing.T)[:n_components, n_components:])
for k in np.argsort(trust.index)[::-1]:
    source = sim.source_names[alike[k].argmax()]
    called = "stable" if trust.stable[k] else "not stable"
    print(f"{k:2}: index {trust.index[k]:.2f}, {called}; map like {source}, {alike[k].max():.2f}")

# %%
# Stable does not mean brain: the blinks are among the most stable components of any recording.
# The index tells that a component is one thing, not which thing it is.

# %%
# What to do with unstable components
# -----------------------------------
# They are most of the components of most recordings, and nothing is wrong with your data.
#
# - **Leave them in.** Remove a component because it is an artifact, not because it is unstable.
#   Together the unstable components are a part of the brain's activity that this recording
#   cannot take apart.
# - **Do not interpret them one by one.** Their maps and their time courses would be others with
#   other minutes of the same recording: no source localisation, no clustering across subjects.
# - **Be careful before you remove one.** An unstable component that looks like a blink holds
#   blinks and something else. See what its removal costs: :ref:`tut-judging`.
# - **Record for longer, or ask for fewer components**, if the summary says that it would help.
#   Fewer components are not better in themselves: what the principal components leave out is not
#   unmixed at all. Count the stable ones.

n_fewer, n_stable = trust.fewer
print(f"{trust.stable.sum()} of {len(trust.index)} components are stable, {n_stable} of {n_fewer}")

# %%
# The numbers of a result can be kept (``trust.to_dict()``), and an ICA goes to EEGLAB with its
# index: `mne_otica.export_ica_eeglab`.
