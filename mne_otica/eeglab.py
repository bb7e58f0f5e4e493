"""Export an ICA with its labels and probabilities to EEGLAB, and read it back."""

import tempfile
from pathlib import Path
from typing import Any

import mne
import numpy as np
from mne import BaseEpochs
from mne.io import BaseRaw
from mne.preprocessing import ICA
from mne.utils import _check_fname, logger, verbose
from scipy.io import loadmat, savemat

from mne_otica import __version__
from mne_otica.artifacts import ArtifactScores
from mne_otica.evaluation.methods_section import is_cleaned
from mne_otica.utils.checks import _validate_type

MICROVOLT = 1e-6  # EEGLAB's unit
_FIELD = "mne_otica"  # in EEG.etc, for what EEGLAB has no field for
_CLASSES = ("Brain", "Muscle", "Eye", "Heart", "Line Noise", "Channel Noise", "Other")
_CLASS_OF = {"blink": "Eye", "eye movement": "Eye", "heartbeat": "Heart", "muscle": "Muscle"}


@verbose
def export_ica_eeglab(
    fname: str | Path,
    inst: BaseRaw | BaseEpochs,
    ica: ICA,
    *,
    artifacts: ArtifactScores | None = None,
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
    the recording is already cleaned, as EEGLAB would remove them entirely. The probabilities are
    stored where EEGLAB looks for those of ICLabel (``EEG.etc.ic_classification.ICLabel``, whose
    ``version`` names this package); the rest is "Brain" or "Other". The method and the labels
    (``ica.labels_``) are stored in ``EEG.etc.mne_otica``.
    """
    _validate_type(ica, ICA, "ica", "ICA")
    if ica.current_fit == "unfitted":
        raise RuntimeError("No fit available. Please fit ICA.")
    _validate_type(artifacts, (ArtifactScores, None), "artifacts", "ArtifactScores or None")
    if artifacts is not None and artifacts.n_components != ica.n_components_:
        told = f"the ICA has {ica.n_components_}; pass the artifacts of this ICA."
        raise ValueError(f"artifacts has {artifacts.n_components} components, {told}")
    _validate_type(inst, (BaseRaw, BaseEpochs), "inst", "Raw or Epochs")
    fname = Path(_check_fname(fname, overwrite=overwrite, name="fname"))
    if fname.suffix != ".set":
        raise ValueError(f"EEGLAB reads files that end in .set, got {fname.name}.")
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / fname.name
        inst.export(plain, fmt="eeglab", verbose="error")
        # EEGLAB expects scalars and cells in these shapes.
        eeg = {k: v for k, v in loadmat(plain).items() if not k.startswith("__")}
    names = [str(name.squeeze()) for name in eeg["chanlocs"]["labels"].ravel()]
    eeg |= _ica_fields(ica, names, [] if is_cleaned(inst.info) else ica.exclude)
    types = np.array([one.upper() for one in inst.get_channel_types(names)], dtype=object)
    eeg["chanlocs"]["type"] = types.reshape(eeg["chanlocs"].shape)
    names_of = [[k for k, own in ica.labels_.items() if c in own] for c in range(ica.n_components_)]
    labels = np.array(["; ".join(names) for names in names_of], dtype=object)
    eeg["etc"] = {_FIELD: {"method": ica.method, "labels": labels}}
    if artifacts is not None:
        eeg["etc"]["ic_classification"] = {"ICLabel": _classified(artifacts)}
    savemat(fname, eeg, appendmat=False)
    logger.info(f"Wrote {ica.n_components_} components to {fname}.")
    return fname


@verbose
def read_ica_eeglab(fname: str | Path, *, verbose: bool | str | int | None = None) -> ICA:
    """Read an ICA from an EEGLAB file.

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

    See Also
    --------
    export_ica_eeglab
    """
    ica = mne.preprocessing.read_ica_eeglab(fname)
    ica.pre_whitener_[:] = MICROVOLT
    eeg = loadmat(fname, simplify_cells=True, appendmat=False)
    eeg = eeg.get("EEG", eeg)
    # An empty field comes back as an empty array.
    reject, etc = (x if isinstance(x := eeg.get(name), dict) else {} for name in ("reject", "etc"))
    ica.exclude = np.flatnonzero(np.atleast_1d(reject.get("gcompreject", []))).tolist()
    if own := etc.get(_FIELD, {}):
        ica.labels_ = {}
        for component, text in enumerate(np.atleast_1d(own["labels"])):
            for name in filter(None, text.split("; ") if isinstance(text, str) else ()):
                ica.labels_.setdefault(name, []).append(component)
    return ica


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
    classes = np.array([_CLASSES], dtype=object)
    return {"classes": classes, "classifications": shares, "version": f"mne_otica {__version__}"}


def _ica_fields(ica: ICA, names: list[str], marked: list[int]) -> dict[str, Any]:
    """Return the matrices of the ICA by their names in EEGLAB."""
    missing = [name for name in ica.ch_names if name not in names]
    if missing:
        told = f"{', '.join(missing)}, on which the ICA was fitted; pass the recording of the fit."
        raise ValueError(f"The recording has no channel {told}")
    pca = ica.pca_components_[: ica.n_components_]
    sphere = np.eye(len(ica.ch_names))
    weights = MICROVOLT * ica.unmixing_matrix_ @ pca @ ica._pre_whiten(sphere.copy())
    return {
        "icaweights": weights,
        "icasphere": sphere,
        "icawinv": np.linalg.pinv(weights),
        "icachansind": np.array([names.index(name) + 1.0 for name in ica.ch_names]),
        "icaact": np.empty((0, 0)),
        "reject": {"gcompreject": np.isin(np.arange(ica.n_components_), marked).astype(float)},
    }
