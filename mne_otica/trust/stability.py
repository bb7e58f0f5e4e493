"""How reproducible a component is, and whether the recording was long enough for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import mne
import numpy as np
from mne.utils import logger, verbose
from numpy.typing import NDArray

from mne_otica.ica import ICA as OTICA
from mne_otica.trust import refits as _refits
from mne_otica.trust.calibration import calibration, index_of
from mne_otica.utils.checks import RandomState, _validate_type, as_generator, warn
from mne_otica.utils.docs import fill_doc

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from mne import BaseEpochs, Info
    from mne.io import BaseRaw
    from mne.preprocessing import ICA

__all__ = ["Stability", "stability"]

CAME_BACK = 0.9  # correlation from which a component of a refit counts as the same
SHORTER = (1 / 8, 1 / 4, 1 / 2)  # of the length of a refit, for the learning curve
FITS_PER_SHORTER = 1 / 5  # of the refits of full length
MIN_FITS = 3  # for a median
MIN_BLOCKS = 2
FEWER = 2 / 3  # of the components, for which more than twice as many samples each are available
MIN_FEWER = 4
_STARTS = ("w_init", "weights")  # options of methods that hold for one number of components
# Median ratio of variances between a recording and the one that the ICA was fitted on, above
# which they count as different recordings. Spans left out of the fit change few directions only.
ANOTHER_RECORDING = 2.0


@dataclass(frozen=True, eq=False)
class Stability:
    """How well each component of an ICA came back in refits.

    Attributes
    ----------
    index : ndarray, shape (n_components,)
        Probability (0 to 1) that the component has the topography of a true source, calibrated on
        simulated recordings. Stable does not mean brain: line noise is stable, too.
    correlation : ndarray, shape (n_components,)
        Median over refits of ``matches``.
    matches : ndarray, shape (n_fits, n_components)
        Absolute correlation, over the whole recording, of each component with the most similar
        component of the refit.
    map_matches : ndarray, shape (n_fits, n_components)
        Absolute correlation of the topographies of these components over the channels.
    maps : ndarray, shape (n_fits, n_components, n_channels)
        Topographies of these components of the refits, with the sign and norm of that of the ICA
        (:meth:`mne.preprocessing.ICA.get_components`).
    spread : ndarray, shape (n_components, n_channels)
        Standard deviation of ``maps`` over the refits, relative to their largest absolute weight.
    converged : ndarray of bool, shape (n_fits,)
        Which refits converged.
    lengths : ndarray, shape (n_lengths,)
        Seconds of data, from an eighth of a refit to the whole recording.
    curve : ndarray, shape (n_lengths, n_components)
        The index that each component would have in a recording of that length.
    fewer : tuple of int | None
        A smaller number of components, and how many of them would be stable; None if all are
        stable already, or too few to try fewer.
    threshold : float
        Components with at least this index are called stable.
    method : str
        The method of the ICA and of its refits.
    info : instance of Info
        The channels of the topographies.
    """

    index: NDArray[np.float64]
    correlation: NDArray[np.float64]
    matches: NDArray[np.float64] = field(repr=False)
    map_matches: NDArray[np.float64] = field(repr=False)
    maps: NDArray[np.float64] = field(repr=False)
    spread: NDArray[np.float64] = field(repr=False)
    converged: NDArray[np.bool_] = field(repr=False)
    lengths: NDArray[np.float64]
    curve: NDArray[np.float64] = field(repr=False)
    fewer: tuple[int, int] | None
    threshold: float
    method: str
    info: Info = field(repr=False)

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Whether each component is stable."""
        return self.index >= self.threshold

    @property
    def n_returns(self) -> NDArray[np.int64]:
        """The number of refits that matched each component, with a correlation of at least 0.9."""
        return np.sum(self.matches >= CAME_BACK, axis=0)

    @property
    def seconds_needed(self) -> NDArray[np.float64]:
        """The shortest length, in seconds, from which each component is stable; NaN if none is."""
        above = self.curve >= self.threshold
        from_here_on = np.logical_and.accumulate(above[::-1], axis=0)[::-1]
        first = np.where(from_here_on.any(axis=0), from_here_on.argmax(axis=0), -1)
        return np.where(first >= 0, self.lengths[first], np.nan)

    @property
    def summary(self) -> str:
        """The learning curve as text."""
        n_stable, n_components = np.sum(self.stable), len(self.index)
        is_or_are = "is" if n_stable == 1 else "are"
        counts = np.sum(self.curve[:-1] >= self.threshold, axis=1)
        shorter = "".join(
            f", {count} with {_length(seconds)}"
            for count, seconds in zip(counts[::-1], self.lengths[:-1][::-1], strict=True)
        )
        text = (
            f"With {_length(self.lengths[-1])} {n_stable} of {n_components} components {is_or_are} "
            f"stable (index at least {self.threshold:g}){shorter}."
        )
        if self.fewer is not None:
            text += f" n_components={self.fewer[0]} would give {self.fewer[1]} stable ones."
        return f"{text} {self._advice()} Stable does not mean brain."

    def _advice(self) -> str:
        """Return whether fewer components or a longer recording would help, as text."""
        counts = np.sum(self.curve >= self.threshold, axis=1)
        if counts[-1] == len(self.index):
            return "The recording is long enough for all of them."
        if self.fewer is not None and self.fewer[1] > counts[-1]:
            return "Ask for fewer components."
        if len(counts) == 1 or counts[-1] > counts[-2]:
            return "A longer recording would help."
        return f"With {_length(self.lengths[-2])} it is as many: a longer one would hardly help."

    def describe(self, component: int) -> str:
        """Describe how reproducible a component is.

        Parameters
        ----------
        component : int
            The component.

        Returns
        -------
        text : str
            How many refits matched it, its index, and the length of data that it needs.
        """
        _validate_type(component, "int-like", "component", "int")
        if not 0 <= component < len(self.index):
            raise ValueError(
                f"component ({component}) must be one of the {len(self.index)} fitted, 0 to "
                f"{len(self.index) - 1}."
            )
        seconds = self.seconds_needed[component]
        needs = f"needs {_length(seconds)}" if np.isfinite(seconds) else "is not stable"
        return (
            f"ICA{component:03d} came back in {self.n_returns[component]} of "
            f"{len(self.matches)} refits (index {self.index[component]:.2f}) and {needs}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all figures except the topographies, for JSON.

        Returns
        -------
        figures : dict
            Numbers, lists and strings.
        """
        seconds = [None if np.isnan(one) else float(one) for one in self.seconds_needed]
        return {
            "index": self.index.tolist(),
            "stable": self.stable.tolist(),
            "threshold": self.threshold,
            "correlation": self.correlation.tolist(),
            "n_returns": self.n_returns.tolist(),
            "n_fits": len(self.matches),
            "n_converged": int(self.converged.sum()),
            "seconds_needed": seconds,
            "lengths": self.lengths.tolist(),
            "curve": self.curve.tolist(),
            "fewer": None if self.fewer is None else list(self.fewer),
            "method": self.method,
            "summary": self.summary,
        }

    @fill_doc
    def plot(self, *, components: list[int] | None = None, show: bool = True) -> Figure:
        """Plot the index of the components, their topographies in refits, and the learning curve.

        Parameters
        ----------
        components : list of int | None
            The components whose topographies to draw; None uses the first five.
        %(show)s

        Returns
        -------
        figure : instance of Figure
            The figure.
        """
        from mne_otica.viz import plot_stability

        return plot_stability(self, components=components, show=show)


@verbose
def stability(
    ica: ICA,
    inst: BaseRaw | BaseEpochs,
    *,
    n_fits: int = 50,
    random_state: RandomState = 0,
    n_jobs: int | None = 1,
    verbose: bool | str | int | None = None,
) -> Stability:
    """Refit an ICA on resampled data, and measure how reproducible each component is.

    Parameters
    ----------
    ica : instance of ICA
        A fitted ICA, of this package or of MNE. It is not changed.
    inst : instance of Raw | instance of Epochs
        The recording that it was fitted on, filtered as for the fit. It is not changed.
    n_fits : int
        The number of refits of full length, at least 3. In addition, three fifths as many shorter
        refits are made for the learning curve, and one fit and a fifth as many refits with
        fewer components.
    random_state : int | instance of RandomState | instance of Generator | None
        The seed; None draws a random one. A seed gives the same result with any ``n_jobs``.
    n_jobs : int | None
        The number of refits to run in parallel; -1 uses all processor cores, None one. Refits run
        in processes if joblib is installed, otherwise in threads.
    %(verbose)s

    Returns
    -------
    stability : instance of Stability
        An index for each component, the spread of its topography, and a learning curve.

    See Also
    --------
    clean_raw

    Notes
    -----
    Each refit draws blocks of one second with replacement, as many as the recording has but at
    most 30 000 samples, whitens them within the principal components of the ICA, and runs the
    method of the ICA from a random rotation. Epochs are not cut unless they are longer than a
    second. Each component is matched with the component of the refit that correlates most with it
    over the whole recording, so order, sign and scale do not matter.

    The index follows from the correlations r of the topographies, as the mean of log(1 - r²), by a
    calibration on simulated recordings: it is the share of components with this mean that had the
    topography of a true source (a correlation of more than 0.95). The calibration holds for the
    default fit of this package; for other methods the index is a ranking. A high index says
    nothing about the origin of a component: line noise, a loose electrode and brain rhythms can
    all be stable. Sources that are always active together, such as a lid and the eye that turns
    with it, form one stable component.

    Refits that do not converge count like the others, and a warning tells their number. Refits
    of ``method="infomax"`` and ``"picard"`` take as long as fits by these methods.
    """
    _check_fitted(ica)
    _validate_type(inst, (mne.io.BaseRaw, mne.BaseEpochs), "inst", "Raw or Epochs")
    _validate_type(n_fits, "int-like", "n_fits")
    if n_fits < MIN_FITS:
        raise ValueError(f"n_fits must be at least {MIN_FITS}, got {n_fits}.")
    rng, n_jobs = as_generator(random_state), _refits.n_workers(n_jobs)
    recording = _refits.read(ica, inst)
    _check_recording(recording, inst)
    lengths, counts = _plan(recording, int(n_fits))
    fits = _refits.refits(recording, ica, np.repeat(lengths, counts), rng, n_jobs)
    groups = np.split(np.array(fits, dtype=object), np.cumsum(counts)[:-1])
    found = [_refits.match(recording, ica, group) for group in groups]
    full, converged = found[-1], np.array([fit.converged for fit in groups[-1]])
    _warn_of_unconverged(converged, ica.method)
    lengths = np.append(lengths, len(recording.starts))
    longer = lengths[-1] / lengths[-2]  # length of the recording relative to a refit
    curve = np.array([index_of(one) for one in found] + [index_of(full, longer)])
    result = Stability(
        index=curve[-1],
        correlation=np.median(full.correlations, axis=0),
        matches=full.correlations,
        map_matches=full.map_correlations,
        maps=full.maps,
        spread=full.maps.std(axis=0) / np.abs(ica.get_components()).max(axis=0)[:, np.newaxis],
        converged=converged,
        # If a refit has as many samples as the recording, both are one point of the curve.
        lengths=(recording.block / recording.sfreq * lengths)[_distinct(lengths)],
        curve=curve[_distinct(lengths)],
        fewer=_with_fewer(ica, inst, curve[-1], int(counts[0]), rng, n_jobs),
        threshold=calibration()["threshold"],
        method=ica.method,
        info=ica.info.copy(),
    )
    logger.info(result.summary)
    return result


def _with_fewer(
    ica: ICA,
    inst: BaseRaw | BaseEpochs,
    index: NDArray[np.float64],
    n_fits: int,
    rng: np.random.Generator,
    n_jobs: int,
) -> tuple[int, int] | None:
    """Return a smaller number of components, and how many of these are stable."""
    threshold = calibration()["threshold"]
    n_components = round(FEWER * len(index))
    if n_components < MIN_FEWER or np.all(index >= threshold):
        return None
    with _refits.quiet():
        fewer = OTICA(
            n_components,
            noise_cov=ica.noise_cov,
            method=ica.method,
            fit_params={k: v for k, v in (ica.fit_params or {}).items() if k not in _STARTS},
            random_state=int(rng.integers(2**31)),
            allow_ref_meg=ica.allow_ref_meg,
        ).fit(inst, picks=ica.ch_names)
    recording = _refits.read(fewer, inst)
    n_blocks = _full_length(recording)
    fits = _refits.refits(recording, fewer, np.full(n_fits, n_blocks), rng, n_jobs)
    found = _refits.match(recording, fewer, fits)
    stable = index_of(found, len(recording.starts) / n_blocks) >= threshold
    return n_components, int(stable.sum())


def _full_length(recording: _refits.Fitted) -> int:
    """Return the number of blocks of the longest refits."""
    return min(len(recording.starts), max(_refits.MAX_SAMPLES // recording.block, MIN_BLOCKS))


def _distinct(lengths: NDArray) -> NDArray[np.bool_]:
    return np.append(np.diff(lengths) > 0, True)


def _plan(recording: _refits.Fitted, n_fits: int) -> tuple[NDArray, NDArray]:
    """Return the lengths of refits, in blocks, and the number of refits of each length."""
    n_components = len(recording.white)
    full = _full_length(recording)
    # Even the shortest refit needs more samples than components.
    least = max(MIN_BLOCKS, -(-2 * n_components // recording.block))
    shorter = [max(least, round(share * full)) for share in SHORTER]
    lengths = np.unique(np.array([one for one in shorter if one < full], dtype=int))
    n_shorter = max(MIN_FITS, round(FITS_PER_SHORTER * n_fits))
    return np.append(lengths, full), np.array([n_shorter] * len(lengths) + [n_fits])


def _check_fitted(ica: ICA) -> None:
    _validate_type(ica, mne.preprocessing.ICA, "ica", "ICA")
    if ica.current_fit == "unfitted":
        raise RuntimeError("No fit available. Please fit ICA.")
    _refits.check_method(ica.method)
    if ica.n_components_ < 2:
        raise ValueError(
            "The ICA has only one component, which comes back always; fit at least two."
        )


def _check_recording(recording: _refits.Fitted, inst: BaseRaw | BaseEpochs) -> None:
    """Raise for recordings that are too short, or not the one of the fit."""
    n_components, n_blocks = len(recording.white), len(recording.starts)
    if n_blocks < MIN_BLOCKS or recording.n_samples <= 2 * n_components:
        raise ValueError(
            f"{type(inst).__name__} has {n_blocks} block(s) of {recording.block} samples for "
            f"{n_components} components; at least {MIN_BLOCKS} blocks and more than "
            f"{2 * n_components} samples are needed to draw from. Pass a longer recording."
        )
    ratio = np.exp(np.median(np.abs(np.log(np.maximum(recording.variances, 1e-12)))))
    if ratio > ANOTHER_RECORDING:
        raise ValueError(
            f"The variances of {type(inst).__name__} differ from those of the data that the ICA "
            f"was fitted on by a factor of {ratio:.1f} (median over its principal components). "
            "Pass the recording of the fit, with the same filter and reference."
        )


def _warn_of_unconverged(converged: NDArray[np.bool_], method: str) -> None:
    n_failed = np.sum(~converged)
    if n_failed:
        warn(
            f"{n_failed} of {len(converged)} refits by {method} did not converge; they count like "
            "the others, so indices may be too low. Fit the ICA with a larger max_iter, or with "
            "fewer components.",
        )


def _length(seconds: float) -> str:
    """Return a length of time as text."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.3g} min"
