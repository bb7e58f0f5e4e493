"""Export an ICA with its stability and labels to EEGLAB, and read it back."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mne
import numpy as np
from mne.utils import _check_fname, logger, verbose
from numpy.typing import NDArray
from scipy.io import loadmat, savemat

from mne_otica import __version__
from mne_otica.artifacts import ArtifactScores
from mne_otica.evaluation.methods_section import is_cleaned
from mne_otica.utils.checks import _validate_type
from mne_otica.utils.docs import fill_doc

if TYPE_CHECKING:
    from mne import BaseEpochs
    from mne.io import BaseRaw
    from mne.preprocessing import ICA

    from mne_otica.trust.stability import Stability

__all__ = ["export_ica_eeglab", "read_ica_eeglab"]

MICROVOLT = 1e-6  # EEGLAB's unit
# The field of EEG.etc for what EEGLAB has no field for
_FIELD = "mne_otica"
_CLASSES = ("Brain", "Muscle", "Eye", "Heart", "Line Noise", "Channel Noise", "Other")
_CLASS_OF = {"blink": "Eye", "eye movement": "Eye", "heartbeat": "Heart", "muscle": "Muscle"}


@verbose
@fill_doc
def export_ica_eeglab(
    fname: str | Path,
    inst: BaseRaw | BaseEpochs,
    ica: ICA,
    *,
    artifacts: ArtifactScores | None = None,
    stability: Stability | None = None,
    overwrite: bool = False,
    verbose: bool | str | int | None = None,
) -> Path:
    """Write a recording and its ICA to a file for EEGLAB.

    Parameters
    ----------
    fname : path-like
        The file, ending in ``.set``.
    inst : instance of Raw | instance of Epochs
        The recording. It is not changed.
    ica : instance of ICA
        A fitted ICA of any method.
    artifacts : instance of ArtifactScores | None
        The probabilities of artifacts in the components: ``artifacts`` of the result of
        :func:`mne_otica.clean_raw`, or what :func:`mne_otica.find_bads_artifacts` returned.
    stability : instance of Stability | None
        What :func:`mne_otica.stability` returned for this ICA.
    overwrite : bool
        Whether to replace the file if there is one.
    %(verbose)s

    Returns
    -------
    fname : Path
        The file written.

    See Also
    --------
    read_ica_eeglab

    Notes
    -----
    Needs the package eeglabio (``pip install mne-otica[eeglab]``). EEGLAB's activations are
    ``icaweights * icasphere * data`` with the data in microvolts; they differ from the sources
    of MNE by a constant, since EEGLAB does not subtract means.

    Components in ``ica.exclude`` are marked for rejection (``EEG.reject.gcompreject``), unless
    the recording is already cleaned, as EEGLAB would remove them entirely. The
    probabilities are stored where EEGLAB looks for those of ICLabel
    (``EEG.etc.ic_classification.ICLabel``, whose ``version`` names this package): what the
    artifacts leave of 1 is "Brain" or "Other". The index of stability, the
    method and the labels (``ica.labels_``) are stored in ``EEG.etc.mne_otica``.
    """
    _check_fitted(ica)
    _validate_type(artifacts, (ArtifactScores, None), "artifacts", "ArtifactScores or None")
    if artifacts is not None and artifacts.n_components != ica.n_components_:
        raise ValueError(
            f"artifacts is of {artifacts.n_components} components, the ICA has "
            f"{ica.n_components_}; pass the artifacts of this ICA."
        )
    _validate_type(inst, (mne.io.BaseRaw, mne.BaseEpochs), "inst", "Raw or Epochs")
    index = _checked_index(stability, ica)
    fname = _check_fname(fname, overwrite=overwrite, name="fname")
    if Path(fname).suffix != ".set":
        raise ValueError(f"EEGLAB reads files that end in .set, got {Path(fname).name}.")
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / Path(fname).name
        inst.export(plain, fmt="eeglab", verbose="error")
        # EEGLAB expects scalars and cells in these shapes.
        eeg = {k: v for k, v in loadmat(plain).items() if not k.startswith("__")}
    names = [str(name.squeeze()) for name in eeg["chanlocs"]["labels"].ravel()]
    marked = [] if is_cleaned(inst.info) else ica.exclude
    eeg |= _ica_fields(ica, names, marked)
    types = dict(zip(inst.ch_names, inst.get_channel_types(), strict=True))
    upper = np.array([types[name].upper() for name in names], dtype=object)
    eeg["chanlocs"]["type"] = upper.reshape(eeg["chanlocs"].shape)
    eeg["etc"] = {_FIELD: _own_fields(ica, index)}
    if artifacts is not None:
        eeg["etc"]["ic_classification"] = {"ICLabel": _classified(artifacts)}
    savemat(fname, eeg, appendmat=False)
    logger.info(f"Wrote {ica.n_components_} components to {fname}.")
    return Path(fname)


@verbose
def read_ica_eeglab(
    fname: str | Path, *, verbose: bool | str | int | None = None
) -> tuple[ICA, NDArray[np.float64] | None]:
    """Read an ICA from an EEGLAB file, with the index of stability if it has one.

    Parameters
    ----------
    fname : path-like
        A ``.set`` file with an ICA.
    %(verbose)s

    Returns
    -------
    ica : instance of ICA
        The ICA for recordings in volts, as MNE reads them: its sources are EEGLAB's activations,
        whereas those of :func:`mne.preprocessing.read_ica_eeglab` are a millionth of these.
        Components that are marked for rejection are in ``exclude``, and labels written by
        :func:`export_ica_eeglab` in ``labels_``.
    index : ndarray, shape (n_components,) | None
        The index of stability, None if the file has none.

    See Also
    --------
    export_ica_eeglab
    """
    ica = mne.preprocessing.read_ica_eeglab(fname)
    ica.pre_whitener_ = np.full_like(ica.pre_whitener_, MICROVOLT)
    eeg = loadmat(fname, simplify_cells=True, appendmat=False)
    eeg = eeg.get("EEG", eeg)
    reject = eeg.get("reject")
    if isinstance(reject, dict):
        marked = np.atleast_1d(reject.get("gcompreject", []))
        ica.exclude = np.flatnonzero(marked).tolist()
    etc = eeg.get("etc")
    own = etc.get(_FIELD, {}) if isinstance(etc, dict) else {}
    if own:
        ica.labels_ = _labels_by_name(np.atleast_1d(own["labels"]))
    index = np.atleast_1d(own.get("stability_index", np.empty(0))).astype(float)
    return ica, index if len(index) else None


def _check_fitted(ica: ICA) -> None:
    _validate_type(ica, mne.preprocessing.ICA, "ica", "ICA")
    if ica.current_fit == "unfitted":
        raise RuntimeError("No fit available. Please fit ICA.")


def _checked_index(stability: Stability | None, ica: ICA) -> NDArray[np.float64]:
    """Return one index per component, or an empty array without stability."""
    if stability is None:
        return np.empty(0)
    if len(stability.index) != ica.n_components_:
        raise ValueError(
            f"stability is of {len(stability.index)} components, the ICA has "
            f"{ica.n_components_}; pass the stability of this ICA."
        )
    return stability.index


def _classified(artifacts: ArtifactScores) -> dict[str, Any]:
    """Return the probabilities as EEGLAB has those of ICLabel: each row adds up to 1."""
    shares = np.zeros((artifacts.n_components, len(_CLASSES)))
    for row in artifacts.rows:
        label = artifacts.labels[row.component]
        noise = "Line Noise" if label == "line noise" else "Channel Noise"
        column = _CLASSES.index(_CLASS_OF.get(row.kind, noise))
        shares[row.component, column] = max(shares[row.component, column], row.probability)
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1.0)
    for k, label in enumerate(artifacts.labels):
        shares[k, 0 if label == "brain" else -1] = 1.0 - shares[k].sum()
    return {
        "classes": np.array([_CLASSES], dtype=object),
        "classifications": shares,
        "version": f"mne_otica {__version__}",
    }


def _ica_fields(ica: ICA, names: list[str], marked: list[int]) -> dict[str, Any]:
    """Return the matrices of the ICA by their names in EEGLAB."""
    missing = [name for name in ica.ch_names if name not in names]
    if missing:
        raise ValueError(
            f"The file for EEGLAB has no channel {', '.join(missing)}, which the ICA was fitted "
            "on; pass the recording of the fit."
        )
    pca = ica.pca_components_[: ica.n_components_]
    weights = ica.unmixing_matrix_ @ pca @ ica._pre_whiten(np.eye(len(ica.ch_names)))
    weights *= MICROVOLT
    return {
        "icaweights": weights,
        "icasphere": np.eye(len(ica.ch_names)),
        "icawinv": np.linalg.pinv(weights),
        "icachansind": np.array([names.index(name) + 1.0 for name in ica.ch_names]),
        "icaact": np.empty((0, 0)),
        "reject": {"gcompreject": np.isin(np.arange(ica.n_components_), marked).astype(float)},
    }


def _own_fields(ica: ICA, index: NDArray[np.float64]) -> dict[str, Any]:
    labels = np.full(ica.n_components_, "", dtype=object)
    for name, components in ica.labels_.items():
        for component in components:
            labels[component] = f"{labels[component]}; {name}".removeprefix("; ")
    return {"method": ica.method, "stability_index": index, "labels": labels}


def _labels_by_name(labels: NDArray) -> dict[str, list[int]]:
    """Return the components of each label, in the form of MNE's ``labels_``."""
    found: dict[str, list[int]] = {}
    for component, text in enumerate(labels):
        # An empty cell comes back as an empty array.
        for name in filter(None, text.split("; ") if isinstance(text, str) else ()):
            found.setdefault(name, []).append(component)
    return found
