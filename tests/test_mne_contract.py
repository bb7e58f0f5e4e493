"""A tripwire: everything private in MNE that this package relies on, by name.

If one of these fails on a new release, read `mne_otica/ica.py` and `mne_otica/utils/checks.py`
beside MNE's `ica.py` again before anything else.
"""

import ast
import importlib
from inspect import getsource, signature
from pathlib import Path

import mne
import numpy as np
import pytest
from mne.preprocessing import ica as mne_ica

import mne_otica

StockICA = mne.preprocessing.ICA
# What is imported from MNE and is private, or lies in a private module.
PRIVATE = {
    "mne._fiff.pick._picks_to_idx": ["info", "picks"],
    "mne._fiff.proj.make_projector": ["projs", "ch_names", "bads"],
    "mne._fiff.utils._mult_cal_one": ["data_view", "one", "idx", "cals", "mult"],
    "mne.annotations._annotations_starts_stops": ["raw", "kinds"],
    "mne.utils._check_fname": ["fname", "overwrite"],
    "mne.utils._check_option": ["parameter", "value", "allowed_values"],
    "mne.utils._validate_type": ["item", "types", "item_name", "type_name"],
}


def imported():
    """Yield the private names that the package imports from MNE."""
    for path in Path(mne_otica.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "mne":
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                yield from (name for name in names if "._" in name)


def test_every_private_import_is_listed():
    assert set(imported()) == set(PRIVATE)


@pytest.mark.parametrize("name", PRIVATE)
def test_private_functions_have_these_first_parameters(name):
    module, _, function = name.rpartition(".")
    found = getattr(importlib.import_module(module), function, None)
    assert list(signature(found).parameters)[: len(PRIVATE[name])] == PRIVATE[name]


def test_methods_are_a_tuple_of_names_in_the_module():
    assert isinstance(mne_ica._KNOWN_ICA_METHODS, tuple)
    assert {"fastica", "infomax", "picard"} <= set(mne_ica._KNOWN_ICA_METHODS)
    assert "otica" not in mne_ica._KNOWN_ICA_METHODS


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("_fit", ["self", "data", "fit_type"]),
        ("_reset", ["self"]),
        ("_pre_whiten", ["self", "data"]),
        ("_do_proj", ["self", "data", "log_suffix"]),
        ("_update_ica_names", ["self"]),
        ("_update_mixing_matrix", ["self"]),
        ("_get_picks", ["self", "inst"]),
    ],
)
def test_private_methods_have_these_parameters(name, parameters):
    assert list(signature(vars(StockICA)[name]).parameters) == parameters


def test_a_progress_bar_has_the_bar_of_tqdm():
    bar = mne.utils.ProgressBar(1)._tqdm
    assert {"clear", "close", "set_description_str"} <= set(dir(bar))
    bar.close()


@pytest.mark.parametrize("name", ["__init__", "fit", "apply"])
def test_public_methods_belong_to_the_class_itself(name):
    assert name in vars(StockICA)
    second = list(signature(vars(StockICA)[name]).parameters)[1]
    assert second == ("n_components" if name == "__init__" else "inst")


def test_constructor_takes_all_but_n_components_by_keyword():
    parameters = signature(StockICA).parameters
    keywords = {name for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY}
    assert keywords >= {
        "noise_cov",
        "random_state",
        "method",
        "fit_params",
        "max_iter",
        "allow_ref_meg",
        "verbose",
    }


def test_picard_is_set_up_without_additions():
    ica = StockICA(method="picard")
    assert ica.max_iter == 500
    assert ica.fit_params == {"max_iter": 500}
    assert ica.current_fit == "unfitted"


def test_pre_whitening_happens_in_place_or_not_but_is_linear(make_raw):
    raw, _ = make_raw()
    ica = StockICA(5, method="infomax", max_iter=1, random_state=0).fit(raw)
    data = raw.get_data("eeg")
    matrix = ica._pre_whiten(np.eye(len(data)))
    np.testing.assert_allclose(matrix @ data, ica._pre_whiten(data.copy()), atol=1e-12)


def test_fit_names_the_components_before_it_unmixes_and_has_no_else():
    source = getsource(StockICA._fit)
    named = source.index("self._update_ica_names()")
    unmixed = source.index('if self.method == "fastica"')
    assert source.index("self.pca_explained_variance_ =") < named < unmixed
    assert "else:" not in source[unmixed : source.index("assert self.unmixing_matrix_")]


def test_fit_sorts_rows_of_the_unmixing_matrix_and_nothing_else():
    source = getsource(mne_ica._sort_components)
    assert "ica.unmixing_matrix_ = ica.unmixing_matrix_[order, :]" in source


def test_read_ica_restores_unknown_method_names():
    source = getsource(mne_ica.read_ica)
    assert "if method in _KNOWN_ICA_METHODS" in source
    assert 'ica.method = ica_misc["method"]' in source
