import os
import random
import sys
import warnings
from pathlib import Path

import hypothesis
import matplotlib
import matplotlib.pyplot as plt
import mne
import numpy as np
import picard  # noqa: F401, draws random numbers when first imported, where Rich is installed
import pytest
import sklearn.decomposition  # noqa: F401, sets global state when first imported

matplotlib.use("Agg")

SCALES = {"eeg": 1e-5, "eog": 1e-4, "mag": 1e-12, "grad": 1e-11, "ref_meg": 1e-12}
EEG_NAMES = ["Fp1", "Fp2", "F3", "F4", "C3", "C4", "P3", "P4", "O1", "O2"]


def pytest_configure(config):
    """Let Hypothesis make up the same examples unless a seed is given, and keep nothing here."""
    if hasattr(config, "cache"):
        folder = config.cache.mkdir("hypothesis")
        os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(folder))
    repeatable = config.getoption("--hypothesis-seed", None) is None  # it would have no effect
    hypothesis.settings.register_profile(
        "repeatable", database=None, deadline=None, derandomize=repeatable, print_blob=False
    )
    hypothesis.settings.load_profile("repeatable")


def _global_state():
    """Return what belongs to the whole process, and is none of this package's business."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
    backend = matplotlib.get_backend().lower()  # Agg and agg are one
    _, key, position, *_ = np.random.get_state()  # noqa: NPY002
    return {
        "log of MNE": (mne.utils.logger.level, list(mne.utils.logger.filters)),
        "ICA of MNE": [vars(mne.preprocessing.ICA)[name] for name in ("__init__", "fit", "apply")],
        "error state of NumPy": np.geterr(),
        "random state of NumPy": (key.tobytes(), position),
        "random state of Python": random.getstate(),
        "settings of Matplotlib": dict(matplotlib.rcParams) | {"backend": backend},
        "working directory": os.getcwd(),
        "environment": environment,
        "places of modules": list(sys.path),
    }


@pytest.fixture(autouse=True)
def _quiet_and_unchanged():
    """Run at MNE's warning level, and fail a test that leaves global state changed."""
    with mne.use_log_level("warning"):
        before = _global_state()
        yield
        plt.close("all")
        after = _global_state()
    changed = [name for name in before if after[name] != before[name]]
    assert not changed, f"left changed: {', '.join(changed)}"


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Fail a test that leaves warnings filtered differently; pytest resets them after it."""
    before = list(warnings.filters)
    result = yield
    assert list(warnings.filters) == before, "left changed: filters of warnings"
    return result


@pytest.fixture(scope="session")
def shared_data():
    """Folder of the real recordings that are not shipped; skips where they are absent."""
    default = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("MNE_OTICA_DATA", default))
    if not (folder / "eeglab_data.set").exists():
        pytest.skip(f"no recordings in {folder}; set MNE_OTICA_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def make_raw():
    """Return a factory of recordings with a known mixing.

    By default ten EEG channels with positions, one EOG channel, 20 s at 250 Hz, "filtered"
    from 1 to 40 Hz; ten Laplace sources, one of which is blinks that the EOG channel sees.
    """

    def make(types=("eeg",) * 10 + ("eog",), *, n_samples=5000, seed=0, scales=SCALES):
        rng = np.random.default_rng(seed)
        n_data = sum(kind != "eog" for kind in types)
        sources = rng.laplace(size=(n_data, n_samples)) / np.sqrt(2)
        times = np.arange(n_samples) / 250
        blinks = np.exp(-(((times[:, np.newaxis] - np.arange(0.7, 20, 1.9)) / 0.1) ** 2)).sum(1)
        sources[0] = 8 * blinks + 0.1 * sources[0]
        mixing = rng.standard_normal((n_data, n_data))
        mixing[:, 0] = np.linspace(4, 1, n_data)
        scale = np.array([scales.get(kind, 1e-5) for kind in types])
        data = np.empty((len(types), n_samples))
        is_eog = np.array([kind == "eog" for kind in types])
        data[~is_eog] = mixing @ sources
        data[is_eog] = sources[0] + 0.1 * rng.standard_normal((is_eog.sum(), n_samples))
        data *= scale[:, np.newaxis]
        names = [f"{kind} {i:03d}" for i, kind in enumerate(types)]
        if types[:10] == ("eeg",) * 10:
            names[:10] = EEG_NAMES
        info = mne.create_info(names, 250.0, list(types))
        with info._unlock():
            info["highpass"], info["lowpass"] = 1.0, 40.0
        raw = mne.io.RawArray(data, info, verbose=False)
        if names[:10] == EEG_NAMES:
            raw.set_montage("biosemi32", on_missing="ignore", verbose=False)
        return raw, mixing * scale[~is_eog, np.newaxis]

    return make
