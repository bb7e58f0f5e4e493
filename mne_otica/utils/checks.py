"""Checks of arguments, and the private helpers of MNE that this package uses."""

import numpy as np
from mne._fiff.pick import _picks_to_idx as _picks_to_idx
from mne._fiff.proj import make_projector as _make_projector  # noqa: F401
from mne._fiff.utils import _mult_cal_one as _mult_cal_one
from mne.annotations import _annotations_starts_stops as _annotations_starts_stops
from mne.utils import _check_option as _check_option
from mne.utils import _validate_type as _validate_type
from mne.utils import warn as _mne_warn
from numpy.typing import ArrayLike, NDArray

RandomState = int | np.random.RandomState | np.random.Generator | None


def warn(message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn through MNE, pointing at the user's line."""
    _mne_warn(message, category, module="mne_otica", ignore_namespaces=("mne", "mne_otica"))


def as_generator(random_state: RandomState, name: str = "random_state") -> np.random.Generator:
    """Return a Generator; None draws a random seed."""
    generators = (np.random.RandomState, np.random.Generator)
    _validate_type(random_state, ("int-like", *generators, None), name)
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31)
    elif random_state is not None and not isinstance(random_state, np.random.Generator):
        _validate_number(random_state, name, at_least=0)
    return np.random.default_rng(random_state)


def _validate_flag(value: bool, name: str) -> None:
    """Raise unless this is a bool: the string "no" would count as true."""
    _validate_type(value, (bool, np.bool_), name, "bool")


def _validate_number(value: float, name: str, *, at_least: float = -np.inf) -> None:
    """Raise unless this is a finite number that is large enough."""
    _validate_type(value, "numeric", name)
    if not at_least <= value < np.inf:
        bound = f" of at least {at_least}" if np.isfinite(at_least) else ""
        raise ValueError(f"{name} must be a finite number{bound}, got {value}.")


def _validate_matrix(array: ArrayLike, name: str) -> NDArray:
    """Return a finite, real, two-dimensional array in single or double precision, or raise."""
    array = np.asarray(array)
    if array.ndim != 2:
        raise ValueError(
            f"{name} must be two-dimensional with one signal per row, but has {array.ndim} "
            f"dimension(s), shape {array.shape}; reshape it to (n_signals, n_samples)."
        )
    if array.dtype.kind not in "fiu":
        told = f"but has dtype {array.dtype}; convert it to float64."
        raise TypeError(f"{name} must hold real numbers, {told}")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    # The sum of a row is not finite if any of its samples is not.
    with np.errstate(invalid="ignore", over="ignore"):
        suspects = np.flatnonzero(~np.isfinite(array.sum(axis=1, dtype=np.float64)))
    broken = ~np.isfinite(array[suspects])
    if broken.any():
        row = suspects[broken.any(axis=1)][0]
        told = f"first in row {row}; remove or interpolate these samples."
        raise ValueError(f"{name} has {broken.sum()} NaN or infinite value(s), {told}")
    return array
