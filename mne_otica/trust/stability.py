"""How reproducible a component is, and whether the recording was long enough for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from mne import BaseEpochs, Info
from mne.io import BaseRaw
from mne.preprocessing import ICA
from mne.utils import logger, verbose
from numpy.typing import NDArray

from mne_otica.trust import refits as _refits
from mne_otica.utils.arrays import Array
from mne_otica.utils.checks import RandomState, _check_option, _validate_type, as_generator, warn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Stability", "stability"]

CAME_BACK = 0.95  # correlation of topographies, from which they count as the same
# Least share of the refits for a component to be called stable (benchmarks.stability). From 0.6,
# 96 % were true in training, but 92 % in the test: so the lowest from which 98 % are, in training.
STABLE = 0.7
MIN_FITS = 3  # for the standard deviation of a topography


@dataclass(frozen=True, eq=False)
class Stability:
    """How well each component of an ICA came back in refits.

    Attributes
    ----------
    matches : ndarray, shape (n_fits, n_components)
        Absolute correlation of the topography of each component with that of the most similar
        component of the refit. It came back if this is at least 0.95.
    maps : ndarray, shape (n_fits, n_components, n_channels)
        Topographies of the components of the refits, with the sign and norm of those of the ICA
        (:meth:`mne.preprocessing.ICA.get_components`).
    spread : ndarray, shape (n_components, n_channels)
        Standard deviation of ``maps`` over the refits, relative to their largest absolute weight.
    converged : ndarray of bool, shape (n_fits,)
        Which refits converged.
    lengths : ndarray, shape (n_lengths,)
        Seconds of data in a refit, from an eighth of the longest to the longest.
    curve : ndarray, shape (n_lengths, n_components)
        The index that each component had in refits of this length.
    threshold : float
        Components with at least this index are called stable.
    method : str
        The method of the ICA and of its refits.
    info : instance of Info
        The channels of the topographies.
    """

    matches: Array = field(repr=False)
    maps: Array = field(repr=False)
    spread: Array = field(repr=False)
    converged: NDArray[np.bool_] = field(repr=False)
    lengths: Array
    curve: Array = field(repr=False)
    threshold: float
    method: str
    info: Info = field(repr=False)

    @property
    def index(self) -> Array:
        """The share of the refits in which each component came back; line noise does, too."""
        return self.curve[-1]

    @property
    def n_returns(self) -> NDArray[np.int64]:
        """The number of refits in which each component came back."""
        return np.sum(self.matches >= CAME_BACK, axis=0)

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Whether each component is stable."""
        return self.index >= self.threshold

    @property
    def seconds_needed(self) -> Array:
        """The shortest length, in seconds, from which each component is stable; NaN if none is."""
        above = self.curve >= self.threshold
        from_here_on = np.logical_and.accumulate(above[::-1], axis=0)[::-1]
        first = np.where(from_here_on.any(axis=0), from_here_on.argmax(axis=0), -1)
        return np.where(first >= 0, self.lengths[first], np.nan)

    @property
    def summary(self) -> str:
        """The learning curve as text."""
        counts = np.sum(self.curve >= self.threshold, axis=1)
        n_components, lengths = len(self.index), [_length(seconds) for seconds in self.lengths]
        pairs = list(zip(counts, lengths, strict=True))[-2::-1]
        if counts[-1] == n_components:
            advice = "The recording is long enough for all of them."
        elif len(counts) == 1 or counts[-1] > counts[-2]:
            advice = "A longer recording would help."
        else:
            advice = f"With {lengths[-2]} it is as many: a longer one would hardly help."
        return (
            f"With {lengths[-1]} {counts[-1]} of {n_components} components "
            f"{'is' if counts[-1] == 1 else 'are'} stable (back in {self.threshold:.0%} of the "
            f"refits){''.join(f', {count} with {length}' for count, length in pairs)}. {advice} "
            "Stable does not mean brain."
        )

    def describe(self, component: int) -> str:
        """Describe how reproducible a component is.

        Parameters
        ----------
        component : int
            The component.

        Returns
        -------
        text : str
            In how many refits it came back, and the length of data from which it is stable.
        """
        _validate_type(component, "int-like", "component", "int")
        if not 0 <= component < len(self.index):
            raise ValueError(
                f"component ({component}) must be one of the {len(self.index)} fitted, 0 to "
                f"{len(self.index) - 1}."
            )
        seconds = self.seconds_needed[component]
        verdict = f"stable from {_length(seconds)}" if np.isfinite(seconds) else "not stable"
        return (
            f"ICA{component:03d} came back in {self.n_returns[component]} of "
            f"{len(self.matches)} refits: {verdict}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all figures except the topographies, for JSON.

        Returns
        -------
        figures : dict
            Numbers, lists and strings.
        """
        names = "index stable n_returns lengths curve threshold method summary".split()
        figures = {name: getattr(self, name) for name in names}
        return {name: np.asarray(one).tolist() for name, one in figures.items()} | {
            "n_fits": len(self.matches),
            "n_converged": int(self.converged.sum()),
            "seconds_needed": [None if np.isnan(x) else float(x) for x in self.seconds_needed],
        }

    def plot(self, **options: Any) -> Figure:
        """Plot the index, the topographies in refits and the learning curve.

        Parameters
        ----------
        **options : dict
            Options of :func:`mne_otica.viz.plot_stability`.

        Returns
        -------
        figure : instance of Figure
            The figure.
        """
        from mne_otica.viz import plot_stability

        return plot_stability(self, **options)


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

    Equation (17) of the page on the method.

    Parameters
    ----------
    ica : instance of ICA
        A fitted ICA, of this package or of MNE. It is not changed.
    inst : instance of Raw | instance of Epochs
        The recording that it was fitted on, filtered as for the fit. It is not changed.
    n_fits : int
        The number of refits of full length, at least 3. In addition, three fifths as many shorter
        refits are made for the learning curve.
    random_state : int | instance of RandomState | instance of Generator | None
        The seed; None draws a random one. A seed gives the same result with any ``n_jobs``.
    n_jobs : int | None
        The number of refits to run in parallel, by the rules of MNE; more than one needs joblib.
    %(verbose)s

    Returns
    -------
    stability : instance of Stability
        How often each component came back, the spread of its topography, and a learning curve.

    See Also
    --------
    clean_raw

    Notes
    -----
    Each refit draws blocks of one second with replacement, as many as the recording has but at
    most 30 000 samples, and runs the method of the ICA on them from a random rotation. A component
    came back if the topography of the component of the refit that correlates most with it over the
    whole recording correlates with its own by at least 0.95, and is stable if it came back in
    70 percent of the refits. The page on trusting components says how often that is right. A high
    index says nothing about the origin of a component: line noise and loose electrodes are stable.

    Refits that do not converge count like the others, and a warning gives their number. Refits
    of ``method="infomax"`` and ``"picard"`` take as long as fits by these methods.
    """
    _validate_type(ica, ICA, "ica", "ICA")
    if ica.current_fit == "unfitted":
        raise RuntimeError("No fit available. Please fit ICA.")
    _check_option("ica.method", ica.method, tuple(_refits.UNMIX))
    if ica.n_components_ < 2:
        raise ValueError(
            "The ICA has only one component, which comes back always; fit at least two."
        )
    _validate_type(inst, (BaseRaw, BaseEpochs), "inst", "Raw or Epochs")
    _validate_type(n_fits, "int-like", "n_fits")
    if n_fits < MIN_FITS:
        raise ValueError(f"n_fits must be at least {MIN_FITS}, got {n_fits}.")
    _validate_type(n_jobs, ("int-like", None), "n_jobs")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; pass a number of workers, or -1 for all cores.")
    rng = as_generator(random_state)
    recording = _refits.read(ica, inst)
    _check_recording(recording, inst)
    lengths, counts = _plan(recording, int(n_fits))
    fits = _refits.refits(recording, ica, np.repeat(lengths, counts), rng, n_jobs)
    ends = np.cumsum(counts)
    groups = (fits[end - count : end] for end, count in zip(ends, counts, strict=True))
    found = [_refits.match(recording, ica, group) for group in groups]
    matches, maps = found[-1]
    result = Stability(
        matches=matches,
        maps=maps,
        spread=maps.std(axis=0) / np.abs(ica.get_components()).max(axis=0)[:, np.newaxis],
        converged=np.array([fit.converged for fit in fits[-counts[-1] :]]),
        lengths=recording.block / recording.sfreq * lengths,
        curve=np.array([np.mean(one >= CAME_BACK, axis=0) for one, _ in found]),
        threshold=STABLE,
        method=ica.method,
        info=ica.info.copy(),
    )
    n_failed = np.sum(~result.converged)
    if n_failed:
        warn(
            f"{n_failed} of {len(matches)} refits by {ica.method} did not converge; they count "
            "like the others, so indices may be too low. Fit the ICA with a larger max_iter, or "
            "with fewer components."
        )
    logger.info(result.summary)
    return result


def _plan(recording: _refits.Fitted, n_fits: int) -> tuple[NDArray, NDArray]:
    """Return the lengths of refits, in blocks, and the number of refits of each length."""
    longest = max(_refits.MAX_SAMPLES // recording.block, 2)
    full = min(len(recording.starts), longest)
    # Even the shortest refit needs more samples than components.
    least = max(2, -(-2 * len(recording.white) // recording.block))
    shorter = [max(least, round(full / part)) for part in (8, 4, 2)]
    lengths = np.unique(np.array([length for length in shorter if length < full], dtype=int))
    n_shorter = max(MIN_FITS, round(n_fits / 5))
    return np.append(lengths, full), np.array([n_shorter] * len(lengths) + [n_fits])


def _check_recording(recording: _refits.Fitted, inst: BaseRaw | BaseEpochs) -> None:
    """Raise for recordings that are too short, or not the one of the fit."""
    n_components, n_blocks = len(recording.white), len(recording.starts)
    if n_blocks < 2 or recording.block * n_blocks <= 2 * n_components:
        raise ValueError(
            f"{type(inst).__name__} has {n_blocks} block(s) of {recording.block} samples for "
            f"{n_components} components; at least 2 blocks and more than "
            f"{2 * n_components} samples are needed to draw from. Pass a longer recording."
        )
    ratio = np.exp(np.median(np.abs(np.log(np.maximum(recording.variances, 1e-12)))))
    if ratio > 2:  # spans left out of the fit change few directions only
        raise ValueError(
            f"The variances of {type(inst).__name__} differ from those of the data that the ICA "
            f"was fitted on by a factor of {ratio:.1f} (median over its principal components). "
            "Pass the recording of the fit, with the same filter and reference."
        )


def _length(seconds: float) -> str:
    """Return a length of time as text."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.3g} min"
