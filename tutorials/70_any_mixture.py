"""
.. _tut-solver:

70. The solver on any mixture
=============================

`mne_otica.otica` knows nothing of EEG: it takes an array, one signal per row. This tutorial
separates signals of very different kinds, and tells where no ICA can.
"""

# %%
# Two signals
# -----------
# Two microphones, two speakers: each microphone records a sum of both. Here the sources are a
# sawtooth and a signal that is silent but for bursts.

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
# The components are the sources, up to what no ICA can know: their order, sign and scale.
# ``K`` whitens, ``W`` rotates, and ``Y`` is ``W @ K @ (X - mean)``, the contract of Picard.

assert np.allclose(Y, W @ K @ (X - X.mean(axis=1, keepdims=True)))
match = np.abs(np.corrcoef(sources, Y)[:2, 2:])
assert match.max(axis=1).min() > 0.99

# %%
# Ten sources of any kind
# -----------------------
# The mixtures of the paper are built in. "hybrid" draws from eight distributions, heavy-tailed,
# bounded, skewed and discrete, with one Gaussian. The Amari index is 0 for perfect separation
# and below 0.1 for a very good one.

mixture = mne_otica.simulation.mixture("hybrid", 10, seed=0)
K, W, Y = mne_otica.otica(mixture.X)
index = mne_otica.metrics.amari_index(W @ K, mixture.mixing)
print(f"Amari index {index:.3f}")
assert round(index, 2) == 0.04

# %%
# There was nothing to choose: not the kind of source, not a nonlinearity. FastICA has one, and
# the usual one leaves an index of 0.12 here.

from sklearn.decomposition import FastICA

fast = FastICA(whiten="unit-variance", max_iter=1000, random_state=0).fit(mixture.X.T)
fast_index = mne_otica.metrics.amari_index(fast.components_, mixture.mixing)
print(f"FastICA: Amari index {fast_index:.3f}")
assert round(fast_index, 2) == 0.12

# %%
# Components come in the order of their contrast, from the least to the most Gaussian. The last
# one is the Gaussian source.

gaussian = mixture.sources[-1]
assert np.abs(np.corrcoef(gaussian, Y[-1])[0, 1]) > 0.99

fig, axes = plt.subplots(2, 5, figsize=(9, 3.4), layout="constrained")
for k, ax in enumerate(axes.flat):
    ax.hist(Y[k], bins=120, color="0.4")
    ax.set(title=f"Component {k}", yticks=[], xlim=(-5, 5))
plt.show()

# %%
# Where the usual contrast is blind
# ---------------------------------
# Most contrasts are a fixed function of the signal, such as log cosh, and there are distributions
# with the very value a Gaussian has. The Wasserstein distance is zero for the Gaussian only.
# ``"zero_negentropy"`` are such sources: three narrow peaks.

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
# FastICA, with log cosh, does not separate them at all; OT-ICA does.

assert ours < 0.05
assert theirs > 0.5

# %%
# What no ICA can do
# ------------------
# Two Gaussian sources cannot be told apart: every rotation of them looks the same. The solver
# still returns something, and warns if it did not converge, but these components mean nothing.
# With seven Laplace sources and three Gaussian ones, the seven are found, and the three come back
# as mixtures of each other.

sources = rng.laplace(size=(10, 20_000)) / np.sqrt(2)
sources[7:] = rng.standard_normal((3, 20_000))
mixing = rng.standard_normal((10, 10))
K, W, Y = mne_otica.otica(mixing @ sources)
match = np.abs(np.corrcoef(sources, Y)[:10, 10:]).max(axis=1)
print(np.round(match, 2))
assert match[:7].min() > 0.99
assert match[7:].min() < 0.9

# %%
# The same call gives the same answer: the seed is fixed unless you pass one. If the solver stops
# before its steps became small, it says so with an
# `mne_otica.OTICAConvergenceWarning`.

assert np.array_equal(Y, mne_otica.otica(mixing @ sources)[2])
