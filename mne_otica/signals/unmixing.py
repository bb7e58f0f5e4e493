"""The mixing and unmixing of any fitted :class:`mne.preprocessing.ICA`, in volts."""

import numpy as np
from mne.preprocessing import ICA

from mne_otica.utils.arrays import Array


def maps_in_volts(ica: ICA) -> Array:
    """Return the topographies of the components in the units of the channels, as columns."""
    # MNE's matrices are in units of the pre-whitened channels. Without a noise covariance the
    # pre-whitener is one number per channel, with one it is a matrix.
    whitener = ica.pre_whitener_
    maps = ica.get_components()
    return maps * whitener if whitener.shape[1] == 1 else np.linalg.pinv(whitener) @ maps


def unmixing_in_volts(ica: ICA) -> Array:
    """Return the unmixing matrix from channels to components, without centring."""
    unmixing = ica.unmixing_matrix_ @ ica.pca_components_[: ica.n_components_]
    return unmixing @ ica._pre_whiten(np.eye(len(ica.ch_names)))


def unmixing_offset(ica: ICA) -> Array:
    """Return the unmixed mean of the channels, as a column, to subtract from the components."""
    unmixing = ica.unmixing_matrix_ @ ica.pca_components_[: ica.n_components_]
    mean = np.zeros(unmixing.shape[1]) if ica.pca_mean_ is None else ica.pca_mean_
    return (unmixing @ mean)[:, np.newaxis]
