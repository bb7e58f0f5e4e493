"""
.. _tut-price-discovery:

80. Price discovery: which market leads?
========================================

ICA is not about brains. A stock that trades in three markets has one price underneath, and each
market adds its own news to it. Which of them moves the common price most? The functions of
this tutorial are in `price_discovery.py <../price_discovery.py>`__: keep that file beside the
notebook.
"""

# %%
# The question
# ------------
# A model of the three price series, an error correction model, leaves residuals: what none
# of the markets could foresee. They are mixtures ``u = B e`` of the news ``e`` of each market.
# The *information share* of a market is its part in the variance of the common price.
#
# The covariance of the residuals alone does not tell ``B``: any rotation of the news has the same
# covariance. The usual remedy assumes an order, who reacts to whom, and every order gives another
# answer. News is not Gaussian, though: it has heavy tails. That is all ICA needs to find the
# rotation.

import matplotlib.pyplot as plt
import numpy as np
from price_discovery import (
    TRUE_SHARES,
    assign_to_markets,
    estimate_impacts,
    information_shares,
    simulate_residuals,
)

residuals, impacts = simulate_residuals(seed=0)
covariance = impacts @ impacts.T
print(f"True shares: {TRUE_SHARES}")

# %%
# Without ICA
# -----------
# Rotate the news by any angle, here in the plane of the first and the third market: the covariance
# stays, the shares do not.

angles = np.deg2rad(np.arange(0, 91, 5))
shares = []
for angle in angles:
    turn = np.eye(3)
    turn[np.ix_([0, 2], [0, 2])] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    rotated = impacts @ turn
    assert np.allclose(rotated @ rotated.T, covariance)
    shares.append(information_shares(rotated))

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for market, style in enumerate(("-", "--", ":")):
    ax.plot(np.rad2deg(angles), np.array(shares)[:, market], style, label=f"market {market + 1}")
ax.set(xlabel="Rotation that the covariance cannot see (degrees)", ylabel="Information share")
ax.legend(frameon=False)
plt.show()

# %%
# With ICA
# --------
# ``estimate_impacts`` whitens the residuals, rotates them by `mne_otica.otica`, and gives
# each innovation to the market that it explains best (``assign_to_markets``: ICA does not know
# their order and sign).

estimated = estimate_impacts(residuals, covariance)
assert np.array_equal(assign_to_markets(estimated), estimated)
print(np.round(information_shares(estimated), 2))
assert np.allclose(information_shares(estimated), TRUE_SHARES, atol=0.1)

# %%
# Fifty times
# -----------
# One estimate says little. Over fifty simulated data sets of 5000 observations the means are
# within 0.02 of the truth, with standard deviations below 0.04. The page `The paper, reproduced
# <../results.html>`__ has all 500 of the paper.

estimates = np.empty((50, 3))
for seed in range(50):
    residuals, impacts = simulate_residuals(seed=seed)
    estimates[seed] = information_shares(estimate_impacts(residuals, impacts @ impacts.T))

assert np.allclose(estimates.mean(axis=0), TRUE_SHARES, atol=0.02)
assert estimates.std(axis=0).max() < 0.04

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.violinplot(estimates, showmeans=True)
ax.plot([1, 2, 3], TRUE_SHARES, "k_", markersize=30, label="truth")
ax.set(xticks=[1, 2, 3], xticklabels=["market 1", "market 2", "market 3"], ylim=(0, 0.8))
ax.set_ylabel("Information share")
ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# What it rests on
# ----------------
# The innovations must be independent and at most one of them Gaussian. The nearer to a Gaussian
# they are, the wider the violins: Student's t with 30 degrees of freedom in place of 5 to 7 would
# need far more data.
