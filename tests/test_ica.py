"""The same MNE workflows for stock methods and for OT-ICA, as subclass and registered."""

import json
import pickle
import re
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from inspect import cleandoc, signature

import mne
import numpy as np
import pytest
from mne.preprocessing import ica as mne_ica
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kurtosis, skew, zscore

import mne_otica
from mne_otica import OTICAConvergenceWarning
from mne_otica.metrics import amari_index
from mne_otica.solver.contrast import gaussian_floor, gaussian_targets

StockICA = mne.preprocessing.ICA
CASES = ("picard", "fastica", "otica", "registered")
ADDED = {"contrast_", "converged_", "rank_"}


@pytest.fixture
def registered():
    mne_otica.register()
    yield
    mne_otica.unregister()


@pytest.fixture(params=CASES)
def make_ica(request):
    """Return a constructor: two stock methods, the subclass, and MNE's class once registered."""
    if request.param in ("picard", "fastica"):
        # scikit-learn is for stock FastICA only
        pytest.importorskip({"picard": "picard", "fastica": "sklearn"}[request.param])
        yield lambda *args, **kwargs: StockICA(*args, method=request.param, **kwargs)
    elif request.param == "otica":
        yield mne_otica.ICA
    else:
        request.getfixturevalue("registered")
        yield lambda *args, **kwargs: StockICA(*args, method="otica", **kwargs)


@pytest.fixture
def fitted(make_ica, make_raw):
    raw, mixing = make_raw()
    return make_ica(random_state=0).fit(raw), raw, mixing


def epochs_of(raw):
    return mne.make_fixed_length_epochs(raw, 1.0, preload=True)


def relative_error(one, other):
    """Compare by channel, so that MEG counts beside EEG."""
    scale = np.abs(other).max(axis=-1, keepdims=True)
    return np.max(np.abs(one - other) / scale)


# %% The fitted object


def test_attributes_and_shapes(fitted):
    ica, raw, mixing = fitted
    n_channels = len(mixing)
    assert ica.n_components_ == n_channels
    assert ica.ch_names == raw.ch_names[:n_channels]
    assert ica.current_fit == "raw"
    assert ica.n_samples_ == raw.n_times
    assert ica.exclude == []
    assert isinstance(ica.n_iter_, int)
    for name in ("unmixing_matrix_", "mixing_matrix_", "pca_components_"):
        matrix = getattr(ica, name)
        assert matrix.shape == (n_channels, n_channels)
        assert matrix.dtype == np.float64
    assert ica.pca_mean_.shape == ica.pca_explained_variance_.shape == (n_channels,)
    assert ica.pre_whitener_.shape == (n_channels, 1)
    assert isinstance(ica, StockICA)
    assert f"method: {ica.method}" in repr(ica)
    assert ica.method in ica._repr_html_()


def test_fit_sets_what_stock_mne_sets(fitted, make_raw):
    ica, raw, _ = fitted
    stock = StockICA(method="infomax", random_state=0, max_iter=1).fit(raw)
    assert set(vars(ica)) - ADDED == set(vars(stock))
    assert set(vars(ica)) & ADDED == (ADDED if ica.method == "otica" else set())


def test_principal_components_are_those_of_stock_mne(fitted):
    ica, raw, _ = fitted
    stock = StockICA(method="infomax", random_state=0, max_iter=1).fit(raw)
    assert_allclose(ica.pre_whitener_, stock.pre_whitener_, rtol=1e-12)
    assert_allclose(ica.pca_mean_, stock.pca_mean_, atol=1e-12)
    assert_allclose(ica.pca_explained_variance_, stock.pca_explained_variance_, rtol=1e-10)
    overlap = np.abs(ica.pca_components_ @ stock.pca_components_.T)
    assert_allclose(overlap, np.eye(len(overlap)), atol=1e-9)


def test_sources_have_unit_variance_and_are_separated(fitted):
    ica, raw, mixing = fitted
    sources = ica.get_sources(raw)
    assert sources.ch_names == [f"ICA{i:03d}" for i in range(len(mixing))]
    assert_allclose(sources.get_data().var(axis=1), 1, atol=1e-3)
    unmixing = ica.unmixing_matrix_ @ ica.pca_components_ / ica.pre_whitener_.T
    assert amari_index(unmixing, mixing) < 0.15


@pytest.mark.parametrize("n_components", [4, 0.9, None])
def test_n_components_means_what_it_means_in_mne(make_ica, make_raw, n_components):
    raw, _ = make_raw()
    ica = make_ica(n_components, random_state=0).fit(raw)
    stock = StockICA(n_components, method="infomax", random_state=0, max_iter=1).fit(raw)
    assert ica.n_components_ == stock.n_components_
    assert ica.n_components == n_components


def test_components_are_ordered_by_explained_variance(fitted):
    ica, raw, _ = fitted
    assert np.all(np.diff(mne_ica._ica_explained_variance(ica, raw)) <= 0)


@pytest.mark.parametrize("polarity", [1, -1])
def test_map_has_the_polarity_of_the_blinks(make_raw, polarity):
    """Blinks point up in the component, and its map shows what they do at the electrodes."""
    raw = make_raw()[0].apply_function(lambda data: polarity * data)
    ica = mne_otica.ICA().fit(raw)
    blink = np.argmax(ica.contrast_)
    assert skew(ica.get_sources(raw).get_data()[blink]) > 1
    weights = ica.get_components()[:, blink]
    assert np.sign(weights[np.abs(weights).argmax()]) == polarity


def test_contrast_belongs_to_its_component(make_raw):
    raw, _ = make_raw()
    ica = mne_otica.ICA().fit(raw)
    blink = np.argmax(kurtosis(ica.get_sources(raw).get_data(), axis=1))
    assert np.argmax(ica.contrast_) == blink
    targets = gaussian_targets(raw.n_times)
    for row, contrast in zip(ica.get_sources(raw).get_data(), ica.contrast_, strict=True):
        distance = np.mean((np.sort(zscore(row)) - targets) ** 2) - gaussian_floor(raw.n_times)
        assert_allclose(contrast, distance, atol=2e-3)


def test_rotation_equals_a_direct_call(make_raw):
    raw, _ = make_raw()
    ica = mne_otica.ICA(random_state=3, fit_params={"tol": 1e-5}).fit(raw)
    sources = ica.get_sources(raw).get_data()
    _, _, direct = mne_otica.otica(raw.get_data("eeg"), random_state=3, tol=1e-5)
    matched = np.abs(np.corrcoef(sources, direct)[: len(sources), len(sources) :])
    assert_allclose(np.sort(matched, axis=1)[:, -1], 1, atol=1e-4)


# %% Round trips and reconstructions


@pytest.mark.parametrize(
    "types", [("eeg",) * 10 + ("eog",), ("eeg",) * 4 + ("mag",) * 4 + ("grad",) * 4]
)
def test_excluding_nothing_returns_the_input(make_ica, make_raw, types):
    raw, _ = make_raw(types)
    epochs = epochs_of(raw)
    evoked = epochs.average(picks="all")
    ica = make_ica(random_state=0).fit(raw)
    for inst in (raw, epochs, evoked):
        cleaned = ica.apply(inst.copy(), exclude=[])
        assert relative_error(cleaned.get_data(), inst.get_data()) < 1e-10


def test_excluding_a_component_subtracts_its_map_times_its_source(fitted):
    ica, raw, _ = fitted
    before = raw.get_data(ica.ch_names)
    after = ica.apply(raw.copy(), exclude=[2]).get_data(ica.ch_names)
    share = np.outer(ica.get_components()[:, 2], ica.get_sources(raw).get_data()[2])
    assert relative_error(after, before - share * ica.pre_whitener_) < 1e-10
    assert_array_equal(ica.apply(raw.copy(), exclude=[2]).get_data("eog"), raw.get_data("eog"))


def test_sources_agree_over_instances(fitted):
    ica, raw, _ = fitted
    epochs = epochs_of(raw)
    of_raw = ica.get_sources(raw).get_data()
    of_epochs = np.hstack(list(ica.get_sources(epochs).get_data()))
    assert_allclose(of_epochs, of_raw[:, : of_epochs.shape[1]], atol=1e-10)
    of_evoked = ica.get_sources(epochs.average()).data
    assert_allclose(of_evoked, ica.get_sources(epochs).get_data().mean(axis=0), atol=1e-10)


def test_fit_on_epochs(make_ica, make_raw):
    raw, mixing = make_raw()
    ica = make_ica(random_state=0).fit(epochs_of(raw))
    assert ica.current_fit == "epochs"
    assert ica.n_samples_ == raw.n_times
    unmixing = ica.unmixing_matrix_ @ ica.pca_components_ / ica.pre_whitener_.T
    assert amari_index(unmixing, mixing) < 0.15


READ_WITHOUT_PACKAGE = """
import json, sys
sys.modules["mne_otica"] = None  # any import of it fails
import mne
ica = mne.preprocessing.read_ica(sys.argv[1], verbose=False)
raw = mne.io.read_raw_fif(sys.argv[2], preload=True, verbose=False)
cleaned = ica.apply(raw, verbose=False).get_data().tolist()
exclude = [int(i) for i in ica.exclude]
print(json.dumps([ica.method, ica.n_iter_, ica.fit_params, ica.labels_, exclude, cleaned]))
"""


@pytest.mark.parametrize("make_ica", ["fastica", "otica"], indirect=True)
def test_saved_file_opens_without_this_package(fitted, tmp_path):
    ica, raw, _ = fitted
    raw = raw.copy().crop(0, 1)
    raw.save(tmp_path / "raw.fif", fmt="double")
    ica.exclude, ica.labels_ = [1], {"eog": [1], "ecg": []}
    ica.save(tmp_path / "a-ica.fif")
    command = [sys.executable, "-c", READ_WITHOUT_PACKAGE, tmp_path / "a-ica.fif"]
    answer = subprocess.run(
        [*command, tmp_path / "raw.fif"], check=True, capture_output=True, text=True
    )
    method, n_iter, fit_params, labels, exclude, cleaned = json.loads(answer.stdout)
    assert (method, n_iter, exclude) == (ica.method, ica.n_iter_, [1])
    assert (fit_params, labels) == (ica.fit_params, ica.labels_)
    assert relative_error(cleaned, ica.apply(raw.copy()).get_data()) < 1e-10


def test_pickle_and_copy_are_equal(fitted):
    ica, raw, _ = fitted
    for other in (pickle.loads(pickle.dumps(ica)), ica.copy()):
        assert type(other) is type(ica)
        assert vars(other).keys() == vars(ica).keys()
        assert_array_equal(other.get_sources(raw).get_data(), ica.get_sources(raw).get_data())
    other.exclude.append(0)
    assert ica.exclude == []


# %% What goes into the fit


@pytest.mark.parametrize(
    "options",
    [
        {"decim": 3},
        {"start": 2.0, "stop": 15.0},
        {"reject": {"eeg": 5e-4}},
        {"flat": {"eeg": 1e-6}, "tstep": 1.0},
        {"picks": ["Fp1", "F3", "C4", "O1"]},
        {"picks": ["eeg", "eog"]},
        {"reject_by_annotation": False},
        {},
    ],
)
def test_fit_uses_the_samples_and_channels_that_stock_mne_uses(make_raw, options):
    raw, _ = make_raw()
    raw._data[:10, 1000:1250] = 0
    raw._data[:10, 3000:3100] *= 20
    raw.set_annotations(mne.Annotations(3.9, 1.2, "BAD_flat"))
    ica = mne_otica.ICA().fit(raw, **options)
    stock = StockICA(method="infomax", random_state=0, max_iter=1).fit(raw, **options)
    for name in ("n_samples_", "ch_names", "reject_", "n_components_"):
        assert getattr(ica, name) == getattr(stock, name)
    assert_allclose(ica.pca_explained_variance_, stock.pca_explained_variance_, rtol=1e-8)
    if "reject" in options:
        assert_array_equal(ica.drop_inds_, stock.drop_inds_)


@pytest.mark.parametrize(
    ("types", "picks"),
    [
        (("eeg",) * 6, None),
        (("mag",) * 6, None),
        (("grad",) * 6, None),
        (("mag",) * 3 + ("grad",) * 3, "meg"),
        (("eeg",) * 6 + ("eog",), ["eeg", "eog"]),
        (("seeg",) * 6, None),
        (("ecog",) * 6, None),
        (("dbs",) * 6, None),
        (("hbo",) * 3 + ("hbr",) * 3, None),
        (("fnirs_cw_amplitude",) * 6, None),
    ],
    ids=lambda value: "+".join(sorted(set(value))) if isinstance(value, tuple) else "",
)
def test_channel_types(make_ica, make_raw, types, picks):
    raw, _ = make_raw(types)
    ica = make_ica(random_state=0).fit(raw, picks=picks)
    assert ica.get_sources(raw).get_data().shape == (ica.n_components_, raw.n_times)
    cleaned = ica.apply(raw.copy(), exclude=[])
    assert relative_error(cleaned.get_data(), raw.get_data()) < 1e-10
    assert all(kind in repr(ica) for kind in {*types} - {"eog"})


def test_reference_meg(make_ica, make_raw):
    raw, _ = make_raw(("mag",) * 6 + ("ref_meg",) * 2)
    ica = make_ica(random_state=0, allow_ref_meg=True).fit(raw)
    bads, scores = ica.find_bads_ref(raw, method="together", threshold=0.9, measure="correlation")
    assert len(scores) == ica.n_components_ == 8
    assert len(bads) <= 8


@pytest.mark.parametrize("with_covariance", [False, True])
def test_projections_and_noise_covariance(make_ica, make_raw, with_covariance):
    raw, _ = make_raw()
    raw.set_eeg_reference(projection=True).apply_proj()
    # The covariance of the recording itself serves as that of the noise.
    noise_cov = mne.compute_raw_covariance(raw) if with_covariance else None
    ica = make_ica(random_state=0, noise_cov=noise_cov).fit(raw)
    assert ica.n_components_ == 9
    cleaned = ica.apply(raw.copy(), exclude=[])
    assert relative_error(cleaned.get_data("eeg"), raw.get_data("eeg")) < 1e-10


# %% Reproducibility


def test_same_seed_same_matrices(make_ica, make_raw):
    raw, _ = make_raw()
    first = make_ica(random_state=7).fit(raw)
    again = make_ica(random_state=7).fit(raw)
    refitted = first.copy().fit(raw)
    for other in (again, refitted):
        assert_array_equal(other.unmixing_matrix_, first.unmixing_matrix_)
        assert_array_equal(other.mixing_matrix_, first.mixing_matrix_)


@pytest.mark.parametrize("seed", [None, 5, "generator", "state"])
def test_seeds_of_all_kinds(make_raw, seed):
    raw, _ = make_raw()
    kinds = {"generator": np.random.default_rng, "state": np.random.RandomState}
    results = [
        mne_otica.ICA(**{name: kinds[seed](1) if seed in kinds else seed}).fit(raw)
        for name in ("rng", "random_state")
    ]
    assert_array_equal(results[0].unmixing_matrix_, results[1].unmixing_matrix_)
    if seed == 5:
        assert 5 in (getattr(results[0], "rng", None), results[0].random_state)


def test_refit_is_clean(make_ica, make_raw):
    raw, _ = make_raw()
    other, _ = make_raw(("eeg",) * 6, seed=1)
    ica = make_ica(random_state=0).fit(raw)
    ica.fit(other)
    fresh = make_ica(random_state=0).fit(other)
    assert vars(ica).keys() == vars(fresh).keys()
    assert_array_equal(ica.unmixing_matrix_, fresh.unmixing_matrix_)
    if ica.method == "otica":
        assert_array_equal(ica.contrast_, fresh.contrast_)


def test_fit_changes_neither_data_nor_fit_params(make_ica, make_raw):
    raw, _ = make_raw()
    before, fit_params = raw.get_data(), {"tol": 1e-4}
    ica = make_ica(random_state=0, fit_params=fit_params).fit(raw)
    assert_array_equal(raw.get_data(), before)
    assert fit_params == {"tol": 1e-4}
    json.dumps(ica.fit_params)


def test_threads_do_not_disturb_each_other(make_raw):
    raws = [make_raw(seed=seed)[0] for seed in range(4)]
    alone = [mne_otica.ICA(5).fit(raw).unmixing_matrix_ for raw in raws]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda raw: mne_otica.ICA(5).fit(raw).unmixing_matrix_, raws))
    for one, other in zip(alone, together, strict=True):
        assert_allclose(one, other, rtol=1e-6)


# %% MNE's tools on the result


def test_finders_and_scores(fitted):
    ica, raw, mixing = fitted
    raw = raw.copy()
    blink = int(np.argmax(kurtosis(ica.get_sources(raw).get_data(), axis=1)))
    found, scores = ica.find_bads_eog(raw, measure="correlation", threshold=0.8)
    assert [int(i) for i in found] == [blink]
    assert ica.labels_["eog"] == found
    assert len(scores) == len(mixing)
    assert np.argmax(np.abs(ica.score_sources(raw, target="eog 010"))) == blink
    assert len(ica.find_bads_muscle(raw)[1]) == len(mixing)
    raw.set_channel_types({"eog 010": "ecg"}, on_unit_change="ignore")
    assert len(ica.find_bads_ecg(raw, method="correlation")[1]) == len(mixing)
    explained = ica.get_explained_variance_ratio(raw)["eeg"]
    assert_allclose(explained, 1, atol=1e-9)


@pytest.mark.parametrize("make_ica", ["fastica", "otica"], indirect=True)
def test_plots(fitted):
    ica, raw, _ = fitted
    ica.exclude = [0]
    _, scores = ica.find_bads_eog(raw)
    figures = [
        ica.plot_components(show=False),
        ica.plot_sources(raw, show=False),
        ica.plot_scores(scores, show=False),
        ica.plot_overlay(raw, show=False),
        *ica.plot_properties(raw, picks=0, show=False),
    ]
    assert all(figure is not None for figure in figures)


@pytest.mark.parametrize("make_ica", ["fastica", "otica"], indirect=True)
def test_report(fitted, tmp_path):
    ica, raw, _ = fitted
    report = mne.Report()
    report.add_ica(ica, "decomposition", inst=raw, picks=[0])
    report.save(tmp_path / "report.html", open_browser=False)
    assert ica.method in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_corrmap(make_ica, make_raw):
    icas = [make_ica(random_state=0).fit(make_raw(n_samples=n)[0]) for n in (4000, 5000)]
    mne.preprocessing.corrmap(icas, template=(0, 0), threshold=0.9, label="blink", plot=False)
    assert all(len(ica.labels_["blink"]) == 1 for ica in icas)


def test_icalabel():
    """ICLabel gives every component a label and a probability."""
    icalabel = pytest.importorskip("mne_icalabel")
    raw = mne_otica.datasets.sample().filter(1.0, 100.0).set_eeg_reference("average")
    ica = mne_otica.ICA(15).fit(raw)
    with pytest.warns(RuntimeWarning, match="extended infomax"):  # said of any other method
        labels = icalabel.label_components(raw, ica, method="iclabel")
    assert len(labels["labels"]) == 15
    assert "eye blink" in labels["labels"]


# %% The paper's experiment


def test_blink_experiment_of_the_paper():
    """Kurtosis 59.5, the others about 0, 92.4 % less RMS in 0.5 s round the blink."""
    raw = mne_otica.datasets.sample().filter(1, 40, fir_design="firwin").crop(10, 20)
    raw.pick([f"EEG 00{i}" for i in range(1, 6)])
    assert raw.get_data().shape == (5, 6007)
    ica = mne_otica.ICA(rng=0, fit_params=dict(refine="none")).fit(raw)  # the paper's estimate
    sources = ica.get_sources(raw).get_data()
    excess = kurtosis(sources, axis=1)
    blink = int(np.argmax(excess))
    assert_allclose(excess[blink], 59.5, atol=0.2)
    assert_allclose(np.delete(excess, blink).mean(), 0, atol=0.1)
    after = ica.apply(raw.copy(), exclude=[blink])
    event = [[np.argmax(np.abs(sources[blink])) + raw.first_samp, 0, 1]]
    # The paper scales channels to unit variance; OT-ICA does not mind, the pooled RMS does.
    scale = 1e5 * raw.get_data().std(axis=1, keepdims=True)
    for inst in (raw, after):
        inst._data /= scale
    reduction = mne_otica.rms_reduction(raw, after, event)
    assert_allclose(reduction.overall, 0.924, atol=0.002)


# %% Options and bad input


def test_auto_becomes_500_at_construction():
    ica = mne_otica.ICA()
    assert ica.max_iter == 500
    assert ica.fit_params == {"max_iter": 500}
    assert mne_otica.ICA(method="fastica").max_iter == 1000


def test_fit_params_reach_the_solver(make_raw):
    raw, _ = make_raw()
    start = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    loose = mne_otica.ICA(4, fit_params={"tol": 0.5, "w_init": start}).fit(raw)
    tight = mne_otica.ICA(4, fit_params={"tol": np.float32(1e-5)}, max_iter=np.int64(400)).fit(raw)
    assert loose.n_iter_ < tight.n_iter_
    json.dumps([loose.fit_params, tight.fit_params])
    assert np.array(loose.fit_params["w_init"]).tolist() == start.tolist()


def test_algorithm_of_the_paper(make_raw):
    raw, mixing = make_raw(("eeg",) * 3, n_samples=2000)
    ica = mne_otica.ICA(fit_params={"algorithm": "riemannian"}).fit(raw)
    unmixing = ica.unmixing_matrix_ @ ica.pca_components_ / ica.pre_whitener_.T
    assert amari_index(unmixing, mixing) < 0.2


def test_stopping_early_warns_and_says_what_to_do(make_raw, tmp_path):
    raw, _ = make_raw()
    ica = mne_otica.ICA(max_iter=1)
    with pytest.warns(OTICAConvergenceWarning, match="did not converge .* Increase max_iter"):
        ica.fit(raw)
    assert issubclass(OTICAConvergenceWarning, UserWarning)
    assert ica.n_iter_ == 1
    assert ica.converged_ is False
    ica.save(tmp_path / "a-ica.fif")
    assert mne.preprocessing.read_ica(tmp_path / "a-ica.fif").n_iter_ == 1
    assert mne_otica.ICA().fit(raw).converged_ is True


def unchanged(raw):
    return raw


def average_reference(raw):
    return raw.set_eeg_reference("average")


def interpolated(raw):
    raw.info["bads"] = ["C3"]
    return raw.interpolate_bads(origin=(0, 0, 0.04))


def copied(raw):
    raw._data[4] = raw._data[3]
    return raw


def projected(raw):
    raw.add_proj(mne.compute_proj_raw(raw, n_eeg=1)).apply_proj()
    return raw


def flat(raw):
    raw._data[4] = 3.0
    return raw


def all_flat(raw):
    raw._data[:10] = 3.0
    return raw


def with_nan(raw):
    raw._data[4, 7] = np.nan
    return raw


def all_bad(raw):
    return raw.set_annotations(mne.Annotations(0, raw.times[-1] + 1 / 250, "BAD_all"))


def short(raw):
    return raw.crop(0, 9 / 250)


@pytest.mark.parametrize(
    ("change", "n_components", "options", "error", "message"),
    [
        (all_flat, None, {}, ValueError, "All eeg channels are constant"),
        (with_nan, None, {}, ValueError, "non-finite values.*in C3"),
        (all_bad, None, {}, RuntimeError, "no samples to fit: BAD_"),
        (short, None, {}, ValueError, "10 samples are too few for 10 .*at least 11 .*about 2000"),
        (unchanged, 11, {}, ValueError, "cannot be greater than len"),
        (unchanged, None, {"picks": []}, ValueError, "No appropriate channels"),
        (unchanged, None, {"picks": ["X"]}, ValueError, "picks"),
        (unchanged, None, {"reject": {"eeg": 1e-9}}, RuntimeError, "No clean segment"),
        (unchanged, None, {"start": 99.0}, RuntimeError, "start and stop leave none"),
    ],
)
def test_bad_data_fail_and_say_why(make_raw, change, n_components, options, error, message):
    raw = change(make_raw()[0])
    ica = mne_otica.ICA(n_components)
    with pytest.raises(error, match=message):
        ica.fit(raw, **options)
    assert ica.current_fit == "unfitted"
    assert not hasattr(ica, "unmixing_matrix_")


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (average_reference, "average reference"),
        (interpolated, "determined by others (interpolated"),
        (copied, "F4, C3 determined by others"),
        (projected, "1 active projector"),
        (flat, "constant channels C3"),
    ],
)
def test_more_components_than_the_rank_are_warned_of(make_raw, change, cause):
    """By MNE, in its own words; the log has the cause."""
    raw = change(make_raw()[0])
    with (
        mne.utils.catch_logging(verbose="info") as log,
        pytest.warns(RuntimeWarning, match=r"unstable .* integer <= 9"),
    ):
        ica = mne_otica.ICA(10).fit(raw)
    text = log.getvalue()
    assert "The 10 channels have rank 9: " in text
    assert cause in text
    assert ica.rank_ == 9


def test_interpolated_channels_are_named():
    raw = mne_otica.datasets.sample().filter(1, 40)
    raw.info["bads"] = ["EEG 017", "EEG 053"]
    raw.interpolate_bads().set_eeg_reference("average")
    with mne.utils.catch_logging(verbose="info") as log:
        mne_otica.ICA().fit(raw, decim=3)
    expected = "60 channels have rank 57: average reference; EEG 017, EEG 053 determined"
    assert expected in log.getvalue()


@pytest.mark.parametrize("change", [average_reference, interpolated, projected, flat])
def test_none_takes_the_rank(make_raw, change):
    raw = change(make_raw()[0])
    ica = mne_otica.ICA().fit(raw)
    assert ica.n_components_ == 9
    cleaned = ica.apply(raw.copy(), exclude=[])
    assert_allclose(cleaned.get_data("eeg"), raw.get_data("eeg"), atol=1e-10 * raw._data.max())


@pytest.mark.parametrize("call", ["apply", "get_sources", "save", "get_explained_variance_ratio"])
def test_unfitted(make_raw, tmp_path, call):
    argument = tmp_path / "a-ica.fif" if call == "save" else make_raw()[0]
    with pytest.raises((RuntimeError, ValueError), match="fit"):
        getattr(mne_otica.ICA(), call)(argument)


@pytest.mark.parametrize("call", ["apply", "get_sources"])
def test_mismatching_channels_are_named(make_raw, tmp_path, call):
    raw, _ = make_raw()
    ica = mne_otica.ICA(3).fit(raw)
    saved = tmp_path / "a-ica.fif"
    ica.save(saved)
    raw.rename_channels({"C3": "c3", "O1": "o1"})
    for inst in (raw, epochs_of(raw), epochs_of(raw).average()):
        # MNE's class and words first, ours after
        with pytest.raises((RuntimeError, ValueError)) as stock:
            getattr(mne.preprocessing.read_ica(saved), call)(inst)
        with pytest.raises(stock.type, match="Missing: C3, O1. Extra, .*: c3, o1") as ours:
            getattr(ica, call)(inst)
        assert str(ours.value).startswith(str(stock.value))


@pytest.mark.parametrize("inst", [None, np.zeros((3, 100))])
def test_wrong_type_of_data(make_raw, inst):
    ica = mne_otica.ICA(3)
    with pytest.raises(TypeError, match="inst must be an instance of Raw"):
        ica.fit(inst)
    with pytest.raises(TypeError, match="inst must be an instance of Raw"):
        ica.fit(make_raw()[0]).apply(inst)


def test_a_refused_fit_leaves_the_fitted_object_as_it_was(make_raw):
    ica = mne_otica.ICA().fit(make_raw()[0])
    before = ica.contrast_
    with pytest.raises(TypeError, match="inst must be"):
        ica.fit(None)
    assert ica.contrast_ is before


def test_an_interrupted_fit_leaves_an_unfitted_object(make_raw, monkeypatch):
    raw, _ = make_raw()
    ica = mne_otica.ICA().fit(raw)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("mne_otica.ica.unmix", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ica.fit(raw)
    assert ica.current_fit == "unfitted"
    assert not hasattr(ica, "contrast_")
    with pytest.raises(RuntimeError, match="Please fit"):
        ica.apply(raw)


# %% register and unregister


def test_register_and_unregister_restore_mne_exactly(make_raw):
    before, methods = dict(vars(StockICA)), mne_ica._KNOWN_ICA_METHODS
    parameters = signature(StockICA), signature(StockICA.fit), signature(StockICA.apply)
    for _ in range(2):
        mne_otica.register()
    assert mne_ica._KNOWN_ICA_METHODS == (*methods, "otica")
    assert parameters == (signature(StockICA), signature(StockICA.fit), signature(StockICA.apply))
    assert StockICA(method="otica").max_iter == 500
    assert StockICA().method == "fastica"
    with pytest.raises(ValueError, match="'otica'"):
        StockICA(method="otika")
    for _ in range(2):
        mne_otica.unregister()
    assert dict(vars(StockICA)) == before
    assert list(vars(StockICA)) == list(before)
    assert mne_ica._KNOWN_ICA_METHODS is methods
    with pytest.raises(ValueError, match="'otica'"):
        StockICA(method="otica")


def test_register_leaves_other_methods_alone(make_raw, request):
    raw, _ = make_raw()
    options = dict(method="infomax", random_state=0, max_iter=3)
    before = StockICA(5, **options).fit(raw)
    request.getfixturevalue("registered")
    after = StockICA(5, **options).fit(raw)
    assert_array_equal(after.unmixing_matrix_, before.unmixing_matrix_)
    assert vars(after).keys() == vars(before).keys()


def test_subclass_and_registered_class_agree(make_raw, tmp_path, request):
    raw, _ = make_raw()
    ica = mne_otica.ICA(random_state=1).fit(raw)
    request.getfixturevalue("registered")
    stock = StockICA(method="otica", random_state=1).fit(raw)
    stock.save(tmp_path / "a-ica.fif")
    read = mne.preprocessing.read_ica(tmp_path / "a-ica.fif")
    refitted = mne_otica.ICA(random_state=1).fit(raw)
    for other in (stock, read, refitted):
        assert_array_equal(other.unmixing_matrix_, ica.unmixing_matrix_)
        assert (other.method, other.fit_params) == ("otica", ica.fit_params)


def test_register_under_threads(make_raw, registered):
    # MNE takes the data out of a Raw for a moment, so that threads must not share one.
    raws = [make_raw()[0] for _ in range(8)]

    def work(raw):
        mne_otica.register()
        return StockICA(4, method="otica").fit(raw).unmixing_matrix_

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, raws))
    assert all(np.allclose(result, results[0]) for result in results)
    assert mne_ica._KNOWN_ICA_METHODS.count("otica") == 1


def test_stock_methods_through_the_subclass(make_raw):
    raw, _ = make_raw()
    options = dict(method="infomax", random_state=0, max_iter=3)
    ours, stock = mne_otica.ICA(5, **options).fit(raw), StockICA(5, **options).fit(raw)
    assert_array_equal(ours.unmixing_matrix_, stock.unmixing_matrix_)
    assert not hasattr(ours, "contrast_")


def test_verbose_is_honoured(make_raw, capfd):
    raw, _ = make_raw()
    with mne.utils.catch_logging() as log:
        mne_otica.ICA(3).fit(raw, verbose=True)
    assert "OT-ICA: 3 components" in log.getvalue()
    with mne.utils.catch_logging() as log:
        capfd.readouterr()
        mne_otica.ICA(3).fit(raw, verbose=False)
    assert log.getvalue() == ""
    assert capfd.readouterr() == ("", "")


def test_every_parameter_is_documented():
    # Python 3.13 takes the indentation out of docstrings.
    text = cleandoc(mne_otica.ICA.__doc__).split("Attributes")[0]
    documented = re.findall(r"^(\w+) : ", text, re.M)
    assert documented == list(signature(mne_otica.ICA).parameters)
    assert "%(" not in mne_otica.ICA.__doc__


@pytest.mark.slow
def test_fit_holds_at_most_three_times_the_data():
    info = mne.create_info(64, 250.0, "eeg")
    with info._unlock():
        info["highpass"] = 1.0
    raw = mne.io.RawArray(1e-5 * np.random.default_rng(0).laplace(size=(64, 450_000)), info)
    tracemalloc.start()
    try:
        with pytest.warns(OTICAConvergenceWarning):
            mne_otica.ICA(max_iter=1).fit(raw)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * raw.get_data().nbytes
