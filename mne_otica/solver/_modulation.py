"""How the power of components changes in time, which tells apart what looks Gaussian.

Rhythms wax and wane and muscles tense, each in its own time. So a component is modelled as
y(t) = s(t) z(t), where s is its scale, which changes slowly, and z has the density that `_scores`
fits. At independence the mean of ψ_i(z_i) y_j / s_i is zero for all pairs, as before, and for
W → (I + S) W the Hessian of the negative log-likelihood joins S_ij and S_ji by

    [[(1 + e_i) r_ij, 1], [1, (1 + e_j) r_ji]],    r_ij = E[y_j² / s_i²].

Two components with e = 0 are told apart where r_ij r_ji > 1, which is wherever the ratio of their
scales changes (Pham and Cardoso, 2001). For real EEG this is most of what is known about its many
nearly Gaussian components.

The scale is found from the power in a few hundred spans of time. It is only used for components
whose power in successive spans is alike: where samples are independent, it is exactly one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from mne_otica.solver._objective import Objective

N_SPANS = 512
MIN_SPAN = 4  # samples
MIN_SPANS = 64
WIDTH = 2.0  # spans: the standard deviation of the Gaussian filter of the power
SHARE = 0.6  # of the changes of power that is believed
# Correlations of the power in successive spans, in their standard error: those below the first are
# taken for chance, those above the second for certain.
CHANCE, CERTAIN = 3.5, 5.5
MIN_POWER = 1e-6  # relative to the mean


class Modulation(NamedTuple):
    """The scales of components that change in time."""

    scales: NDArray[np.float64]  # in each span, shape (n_components, n_spans)
    ratios: NDArray[np.float64]  # r_ij, shape (n_components, n_components)


def find_modulation(objective: Objective) -> Modulation | None:
    """Find the scales of the components that were counted last, or None if they do not change."""
    n_spans = min(N_SPANS, objective.X.shape[1] // MIN_SPAN)
    if n_spans < MIN_SPANS:
        return None
    powers = objective.powers(n_spans)
    powers /= powers.mean(axis=1, keepdims=True)
    weights = _evidence(powers)
    if not weights.any():
        return None
    around = gaussian_filter1d(powers, WIDTH, axis=1, mode="nearest")
    squares = 1 + SHARE * weights[:, np.newaxis] * (around - 1)
    squares *= np.mean(powers / squares, axis=1, keepdims=True)  # z has unit variance
    squares[weights == 0] = 1
    return Modulation(np.sqrt(squares), (1 / squares) @ powers.T / n_spans)


def _evidence(powers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the evidence that the power of components changes slowly, from 0 to 1.

    Logarithms, because the power of a few large samples would decide otherwise.
    """
    levels = np.log(np.maximum(powers, MIN_POWER))
    levels -= levels.mean(axis=1, keepdims=True)
    variance = np.maximum(np.mean(levels**2, axis=1), 1e-300)
    correlation = np.mean(levels[:, 1:] * levels[:, :-1], axis=1) / variance
    excess = correlation * np.sqrt(powers.shape[1]) - CHANCE
    return np.clip(excess / (CERTAIN - CHANCE), 0, 1)
