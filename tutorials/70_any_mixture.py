"""
.. _tut-solver:

70. The solver on any mixture
=============================

`mne_otica.otica` is not specific to EEG: it takes an array with one signal per row. This tutorial
separates sources with different distributions, and shows the limits of ICA.
"""

# %%
# Two signals
# -----------
# Two microphones record two speakers: each records a sum of both. Here the sources are a sawtooth
# and a signal with bursts.

import matplotlib.pyplot as plt
import numpy as np

import mne_otica

rng = np.random.default_rng(0)
t = np.linspace(0, 8, 20_000)
sawtooth = 2 * (t % 1) - 1
bursts = rng.laplace(size=t.size) * (np.sin(2 * np.pi * 0.4 * t) > 0.6)
sources = np.array([sawtooth, bursts])
mixing = np.array([[1.0, 0.6], [0.5, 1.0]])
X = mixing @ sources

K, W, Y = mne_otica.otica(X)

fig, axes = plt.subplots(3, 2, figsize=(9, 4.5), sharex=True, layout="constrained")
for row, (name, pair) in enumerate({"source": sources, "mixture": X, "component": Y}.items()):
    for ax, signal in zip(axes[row], pair, strict=True):
        ax.plot(t, signal, color="k", linewidth=0.6)
    axes[row, 0].set_ylabel(name)
for ax in axes[-1]:
    ax.set_xlabel("Time")
plt.show()

# %%
# The components are the sources, up to order, sign and scale, which ICA cannot determine. ``K``
# is the whitening matrix, ``W`` the unmixing matrix of the whitened data, and ``Y = W @ K @ (X -
# mean)``, as in Picard. The absolute correlations between sources (rows) and components (columns):

match = np.abs(np.corrcoef(sources, Y)[:2, 2:])
print(np.round(match, 3))

# %%
# Ten sources with different distributions
# ----------------------------------------
# The mixtures of the paper are available. "hybrid" draws sources from eight distributions,
# heavy-tailed, bounded, skewed and discrete, and adds one Gaussian source. The Amari index is 0 for
# perfect separation; values below 0.1 mean good separation.

mixture = mne_otica.simulation.mixture("hybrid", 10, seed=0)
K, W, Y = mne_otica.otica(mixture.X)
index = mne_otica.metrics.amari_index(W @ K, mixture.mixing)
print(f"Amari index {index:.3f}")

# %%
# OT-ICA has no nonlinearity to choose. FastICA with its default, log cosh, has an index of 0.12
# here.

from sklearn.decomposition import FastICA

fast = FastICA(whiten="unit-variance", max_iter=1000, random_state=0).fit(mixture.X.T)
fast_index = mne_otica.metrics.amari_index(fast.components_, mixture.mixing)
print(f"FastICA: Amari index {fast_index:.3f}")

# %%
# Components are sorted by their contrast, from the least to the most Gaussian. The last one is the
# Gaussian source.

gaussian = mixture.sources[-1]
correlation = np.abs(np.corrcoef(gaussian, Y[-1])[0, 1])
print(f"Correlation with the Gaussian source: {correlation:.3f}")

fig, axes = plt.subplots(2, 5, figsize=(9, 3.4), layout="constrained")
for k, ax in enumerate(axes.flat):
    ax.hist(Y[k], bins=120, color="0.4")
    ax.set(title=f"Component {k}", yticks=[], xlim=(-5, 5))
plt.show()

# %%
# Where log cosh fails
# --------------------
# Most contrasts are the mean of a fixed function, such as log cosh, and some non-Gaussian
# distributions have the same mean as a Gaussian. The Wasserstein distance is zero for the Gaussian
# only. ``"zero_negentropy"`` has such sources, with three narrow peaks each.

blind = mne_otica.simulation.mixture("zero_negentropy", 10, seed=0)
K, W, Y = mne_otica.otica(blind.X)
ours = mne_otica.metrics.amari_index(W @ K, blind.mixing)

import warnings

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message="FastICA did not converge")
    fast = FastICA(whiten="unit-variance", max_iter=1000, random_state=0).fit(blind.X.T)
theirs = mne_otica.metrics.amari_index(fast.components_, blind.mixing)
print(f"OT-ICA {ours:.3f}, FastICA {theirs:.3f}")

# %%
# FastICA with log cosh does not separate them; OT-ICA does.

# %%
# Gaussian sources
# ----------------
# Gaussian sources cannot be separated: any rotation of them has the same distribution. With seven
# Laplace and three Gaussian sources, the seven are found, and the other three components are
# arbitrary mixtures of the Gaussian sources. For each source, the largest correlation with a
# component:

sources = rng.laplace(size=(10, 20_000)) / np.sqrt(2)
sources[7:] = rng.standard_normal((3, 20_000))
mixing = rng.standard_normal((10, 10))
K, W, Y = mne_otica.otica(mixing @ sources)
match = np.abs(np.corrcoef(sources, Y)[:10, 10:]).max(axis=1)
print(np.round(match, 2))

# %%
# The result is reproducible, because the default seed is fixed. If the solver does not converge, it
# issues an `mne_otica.OTICAConvergenceWarning`.

again = mne_otica.otica(mixing @ sources)[2]
print(f"Same components: {np.array_equal(Y, again)}")
