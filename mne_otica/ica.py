"""OT-ICA as a method of MNE's ICA: as a subclass, or registered in MNE's own class.

Only the rotation is done here. Both `ICA` and `register` use the methods of `_Hooks`, which wrap
those of MNE and leave other ICA methods alone.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from typing import Any

import mne
import numpy as np
from mne import Covariance, Info
from mne.preprocessing import ica as _mne_ica
from mne.utils import fill_doc, logger, verbose
from numpy.typing import NDArray

from mne_otica.solver._linalg import Channels, one_blas_thread, project
from mne_otica.solver.contrast import let_work_go
from mne_otica.solver.otica import check_options, contrast_of, unmix
from mne_otica.utils import checks

METHOD = "otica"
_StockICA = mne.preprocessing.ICA
_STOCK_METHODS = _mne_ica._KNOWN_ICA_METHODS
_HOOKED = "__init__ fit _fit _reset _update_ica_names _get_picks get_sources apply".split()
_STOCK = {name: vars(_StockICA)[name] for name in _HOOKED}
_TAKES_RNG = "rng" in signature(_StockICA).parameters  # since MNE 1.13
_LOCK = threading.RLock()
_OPTIONS = {
    name: parameter.default
    for name, parameter in signature(unmix).parameters.items()
    if name not in ("X", "random_state")
}
SAMPLES_PER_SQUARED_COMPONENT = 20  # a rule of thumb for trustworthy components


class _Hooks:
    """Wrappers of MNE's methods, without ``super()``: `register` puts them into its class."""

    @wraps(_STOCK["__init__"])
    def __init__(self, n_components: int | float | None = None, **kwargs: Any) -> None:
        if kwargs.get("method") != METHOD:
            _STOCK["__init__"](self, n_components, **kwargs)
            return
        checks._validate_type(n_components, ("int-like", float, None), "n_components")
        # MNE checks shares of the variance here, but numbers of components only in fit.
        if n_components is not None and n_components < 1 and not isinstance(n_components, float):
            raise ValueError(f"n_components must be at least 2, got {n_components}.")
        fit_params = _check_fit_params(kwargs.get("fit_params"), kwargs.get("max_iter", "auto"))
        # MNE accepts only known methods; it treats Picard most like this one.
        kwargs |= dict(method="picard", fit_params=fit_params, max_iter=fit_params["max_iter"])
        _STOCK["__init__"](self, n_components, **kwargs)
        self.method = METHOD

    @wraps(_STOCK["fit"])
    def fit(self, inst: Any, *args: Any, **kwargs: Any) -> Any:
        if self.method != METHOD:
            return _STOCK["fit"](self, inst, *args, **kwargs)
        _STOCK["fit"](self, inst, *args, **kwargs)
        # MNE has sorted the matrices by explained variance; sort the contrasts alike.
        unsorted = {row.tobytes(): i for i, row in enumerate(self.__dict__.pop("_unsorted"))}
        self.contrast_ = self.contrast_[[unsorted[row.tobytes()] for row in self.unmixing_matrix_]]
        return self

    @wraps(_STOCK["_fit"])
    def _fit(self, data: NDArray, fit_type: str) -> None:
        if self.method != METHOD:
            return _STOCK["_fit"](self, data, fit_type)
        rng = getattr(self, "rng", None) if self.random_state is None else self.random_state
        rng = checks.as_generator(0 if rng is None else rng)  # the same call gives the same answer
        try:
            with one_blas_thread():
                _fit_otica(self, data, fit_type, rng)
        except BaseException:  # also an interrupt must not leave a half-fitted object
            self._reset()
            raise

    @wraps(_STOCK["_reset"])
    def _reset(self) -> None:
        _STOCK["_reset"](self)
        for name in ("contrast_", "converged_", "rank_", "_unsorted"):
            self.__dict__.pop(name, None)

    @wraps(_STOCK["_update_ica_names"])
    def _update_ica_names(self) -> None:
        _STOCK["_update_ica_names"](self)
        if self.method == METHOD and not hasattr(self, "unmixing_matrix_"):
            # This is where MNE's fit has done its PCA. It goes on to unmix by the methods it
            # knows; for any other it takes the matrix that is there.
            self.unmixing_matrix_ = np.eye(self.n_components_)

    @wraps(_STOCK["_get_picks"])
    def _get_picks(self, inst: Any) -> Any:
        with _channels_named(self, inst):
            return _STOCK["_get_picks"](self, inst)

    @wraps(_STOCK["get_sources"])
    def get_sources(self, inst: Any, *args: Any, **kwargs: Any) -> Any:
        if "_unsorted" in self.__dict__ and isinstance(inst, mne.io.BaseRaw):
            return _powers(self, inst)
        return _STOCK["get_sources"](self, inst, *args, **kwargs)

    @wraps(_STOCK["apply"])
    def apply(self, inst: Any, *args: Any, **kwargs: Any) -> Any:
        data = isinstance(inst, mne.io.BaseRaw | mne.BaseEpochs | mne.Evoked)
        if self.method == METHOD and data and self.current_fit == "unfitted":
            raise RuntimeError("No fit available. Please fit ICA.")  # as MNE says elsewhere
        with _channels_named(self, inst):
            return _STOCK["apply"](self, inst, *args, **kwargs)


@fill_doc
class ICA(_Hooks, _StockICA):
    """Independent component analysis by optimal transport, with the interface of MNE.

    A drop-in for :class:`mne.preprocessing.ICA`, which documents all methods: only the
    default ``method`` differs.

    Parameters
    ----------
    n_components : int | float | None
        Number of principal components passed to ICA, the share of the variance they
        explain, or None for as many as the rank of the data.
    noise_cov : None | instance of Covariance
        Noise covariance used for pre-whitening. If None, channels are scaled to unit
        variance by channel type.
    rng : int | instance of Generator | instance of RandomState | None
        The seed of the fit. Unlike in MNE, None is a fixed seed for ``method="otica"``: the same
        call gives the same answer.
    random_state : int | instance of RandomState | instance of Generator | None
        The former name of ``rng``; pass only one of the two.
    method : str
        ``"otica"``, or any method of MNE: ``"fastica"``, ``"infomax"``, ``"picard"``, ...
    fit_params : dict | None
        Options of the solver: ``algorithm``, ``tol``, ``w_init``, ``refine``
        and ``compute`` as in :func:`mne_otica.otica`.
    max_iter : int | str
        The maximum number of iterations; ``"auto"`` is 500.
    allow_ref_meg : bool
        Whether to allow MEG reference channels.
    %(verbose)s

    Attributes
    ----------
    n_iter_ : int
        Number of iterations of the fit.
    converged_ : bool
        Whether the fit converged. If not, there was an :class:`OTICAConvergenceWarning`.
    contrast_ : ndarray, shape (n_components,)
        Squared Wasserstein distance of each component from a Gaussian, minus the value
        expected for as many Gaussian samples: about zero for Gaussian noise.
    rank_ : int
        The rank of the data that were fitted.

    Notes
    -----
    All other attributes are those of :class:`mne.preprocessing.ICA`. Components are ordered
    by the variance they explain, largest first, as MNE does for all methods. The sign of each is
    such that its large deflections are positive (the skewness is not negative), so its topography
    (:meth:`mne.preprocessing.ICA.get_components`) has the polarity of these deflections
    at the electrodes.

    A saved file opens in MNE without this package, as an :class:`mne.preprocessing.ICA`;
    ``converged_``, ``contrast_`` and ``rank_`` are not saved.
    """

    @verbose
    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        noise_cov: Covariance | None = None,
        rng: checks.RandomState = None,
        random_state: checks.RandomState = None,
        method: str = METHOD,
        fit_params: dict[str, Any] | None = None,
        max_iter: int | str = "auto",
        allow_ref_meg: bool = False,
        verbose: bool | str | int | None = None,
    ) -> None:
        checks._validate_type(method, str, "method")
        checks._check_option("method", method, (*_STOCK_METHODS, METHOD))
        if rng is not None and random_state is not None:
            raise TypeError("Specify only one of rng or random_state")
        options = dict(noise_cov=noise_cov, method=method, fit_params=fit_params, max_iter=max_iter)
        if _TAKES_RNG:
            options |= dict(rng=rng, random_state=random_state)
        else:
            options |= dict(random_state=random_state if rng is None else rng)
        super().__init__(n_components, allow_ref_meg=allow_ref_meg, **options)


def register() -> None:
    """Make ``method="otica"`` valid for :class:`mne.preprocessing.ICA` in this process.

    For pipelines that create the ICA themselves. Other methods are not affected, and calling it
    again has no effect.

    See Also
    --------
    unregister
    """
    with _LOCK:
        for name in _STOCK:
            setattr(_StockICA, name, vars(_Hooks)[name])
        _mne_ica._KNOWN_ICA_METHODS = (*_STOCK_METHODS, METHOD)


def unregister() -> None:
    """Undo `register` and restore MNE's own methods.

    See Also
    --------
    register
    """
    with _LOCK:
        for name, original in _STOCK.items():
            setattr(_StockICA, name, original)
        _mne_ica._KNOWN_ICA_METHODS = _STOCK_METHODS


def _check_fit_params(fit_params: dict | None, max_iter: int | str) -> dict:
    """Return a checked copy that can be saved to a file, with ``max_iter``."""
    checks._validate_type(fit_params, (dict, None), "fit_params")
    params = {"max_iter": max_iter} | (fit_params or {})
    unknown = sorted(set(params) - set(_OPTIONS))
    if unknown:
        raise ValueError(
            f"fit_params has no key {', '.join(map(repr, unknown))} for method='otica'; the "
            f"allowed ones are {', '.join(map(repr, _OPTIONS))}."
        )
    options = _OPTIONS | params
    w_init = options.pop("w_init")
    params["max_iter"] = check_options(**options)
    if "tol" in params:
        params["tol"] = float(params["tol"])
    if w_init is not None:
        params["w_init"] = checks._validate_matrix(w_init, "w_init").tolist()
    return params


def _fit_otica(ica: Any, data: NDArray, fit_type: str, rng: np.random.Generator) -> None:
    """Have MNE reduce and scale a few samples with the covariance of the data; rotate the data."""
    n_samples = data.shape[1]
    _check_samples(ica, data)
    channels = Channels(data)
    types = np.array(ica.info.get_channel_types())
    for kind in np.unique(types):
        picks = np.flatnonzero(types == kind)
        if np.isin(picks, channels.constant).all():
            names = _names(ica.info, picks)
            raise ValueError(
                f"All {kind} channels are constant ({names}); leave them out of picks."
            )
    if channels.rank < len(data):
        causes = _rank_causes(ica.info, channels)
        logger.info(f"The {len(data)} channels have rank {channels.rank}: {causes}.")
    choose = ica.__dict__.pop("n_components_for", None)
    if choose is not None:
        amplitudes = channels.std[:, np.newaxis] * channels._axes * np.sqrt(channels._variances)
        variances = np.linalg.svd(ica._do_proj(amplitudes), compute_uv=False) ** 2
        # The number of components of which MNE's mixing matrix is stable, as it has it
        n_stable = min(channels.rank, int(np.sum(variances > 1e-6 * variances[0])))
        ica.n_components = choose(n_stable, n_samples)
    stand_in = channels.stand_in()
    n_stand_in = stand_in.shape[1]
    _STOCK["_fit"](ica, stand_in, fit_type)
    # Variances are sums over n - 1; those of the stand-in equal sums over n of the data.
    ica.pca_explained_variance_ *= (1 - 1 / n_stand_in) / (1 - 1 / n_samples)
    # MNE warns if more components are requested than the rank. Directions without variance stay
    # as they are, and only the rest is rotated.
    size = min(ica.n_components_, channels.rank)
    pca = ica.pca_components_[:size]
    scale = np.sqrt(ica.pca_explained_variance_[:size])
    whitening = pca / scale[:, np.newaxis] @ ica._pre_whiten(np.eye(len(data)))
    # As in MNE's own fits, this copy of the data is overwritten: row by row, its first half.
    inplace = data.flags.c_contiguous and data.dtype == np.float64
    out = data.view(np.float32)[:size, :n_samples] if inplace else None
    white = project(whitening, data, channels.mean, np.float32, out)
    unmixing = unmix(white, random_state=rng, **ica.fit_params)
    # So far MNE's fit has scaled an identity matrix.
    ica.unmixing_matrix_[:size, :size] = unmixing.W / scale
    ica._update_mixing_matrix()
    ica._unsorted = ica.unmixing_matrix_
    ica.n_iter_, ica.converged_ = int(unmixing.n_iter), bool(unmixing.converged)
    ica.rank_ = channels.rank
    ica.contrast_ = np.zeros(ica.n_components_)
    ica.contrast_[:size] = contrast_of(unmixing, n_samples)
    let_work_go()


def _powers(ica: Any, raw: Any) -> Any:
    """Return two samples that have the powers of the sources, by which MNE's fit sorts them."""
    rotation = ica.unmixing_matrix_ @ ica.pca_components_[: ica.n_components_]
    unmixing = rotation @ ica._pre_whiten(np.eye(len(ica.ch_names)))
    level = 0.0 if ica.pca_mean_ is None else (rotation @ ica.pca_mean_)[:, np.newaxis]
    power, size = np.zeros((ica.n_components_, 1)), 2**14
    for start in range(0, raw.n_times, size):
        piece = raw.get_data(ica.ch_names, start, min(start + size, raw.n_times))
        power += np.sum((unmixing @ piece - level) ** 2, axis=1, keepdims=True)
    info = mne.create_info(len(power), raw.info["sfreq"])
    return mne.io.RawArray(np.sqrt(power / 2).repeat(2, axis=1), info, verbose="error")


def _check_samples(ica: Any, data: NDArray) -> None:
    """Raise if there are too few samples, or any that are not finite."""
    size, n_samples = data.shape
    if n_samples == 0:
        raise RuntimeError(
            "There are no samples to fit: BAD_ annotations or start and stop leave none. Correct "
            "the annotations, or pass reject_by_annotation=False."
        )
    if ica.n_components is not None and ica.n_components >= 1:
        size = int(ica.n_components)
    if n_samples <= size:
        raise ValueError(
            f"{n_samples} samples are too few for {size} components: at least {size + 1} are "
            f"needed, and about {SAMPLES_PER_SQUARED_COMPONENT * size**2} to trust the "
            "result. Use more data, less decimation, or a smaller n_components."
        )
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(~np.isfinite(data.sum(axis=1)))
    if len(bad):
        raise ValueError(
            "Input data contains non-finite values (NaN/Inf) in "
            f"{_names(ica.info, bad)}; annotate these spans as BAD_, or leave the channels out."
        )


def _rank_causes(info: Info, channels: Channels) -> str:
    """Return the reasons for a rank below the number of channels, as text."""
    causes = []
    if len(channels.constant):
        causes.append(f"constant channels {_names(info, channels.constant)}")
    if n_active := sum(projector["active"] for projector in info["projs"]):
        causes.append(f"{n_active} active projector(s), such as SSP")
    std = np.where(channels.std > 0, channels.std, 1.0)
    null = channels._axes[:, : len(std) - channels.rank]
    null = np.linalg.qr(null / std[:, np.newaxis])[0]
    eeg = np.array(info.get_channel_types()) == "eeg"
    if np.linalg.norm(eeg @ null) > 0.99 * np.sqrt(eeg.sum()):
        causes.append("average reference")
    # A copy of another channel has a half, an interpolated one more; a reference spreads over all.
    dependent = np.flatnonzero(np.sum(null**2, axis=1) > 0.45)
    dependent = np.setdiff1d(dependent, channels.constant)
    if len(dependent) or not causes:
        names = _names(info, dependent) or "some channels are"
        causes.append(f"{names} determined by others (interpolated, bridged or duplicated)")
    return "; ".join(causes)


@contextmanager
def _channels_named(ica: Any, inst: Any) -> Iterator[None]:
    """Let MNE raise its own error for missing channels, and add their names."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        hint = _mismatch(ica, inst) if ica.method == METHOD else None
        if hint is None or hint in str(error):
            raise
        raise type(error)(f"{error} {hint}") from error


def _mismatch(ica: Any, inst: Any) -> str | None:
    """Return which channels of the fit are missing, as text; None if there are none."""
    fitted, names = getattr(ica, "ch_names", None), getattr(inst, "ch_names", None)
    if fitted is None or names is None or set(fitted) <= set(names):
        return None
    missing = [name for name in fitted if name not in names]
    types = set(ica.info.get_channel_types())
    kinds = zip(names, inst.get_channel_types(), strict=True)
    extra = [name for name, kind in kinds if kind in types and name not in fitted]
    return (
        f"Missing: {', '.join(missing)}. Extra, of the same types: {', '.join(extra) or 'none'}. "
        "Rename the channels, or fit ICA on those that both have."
    )


def _names(info: Info, picks: NDArray) -> str:
    return ", ".join(info.ch_names[pick] for pick in picks)
