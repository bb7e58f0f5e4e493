"""Components that are there come back; those that are not do not."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import mne
import numpy as np
import pytest

import mne_otica
from mne_otica.trust import refits as _refits
from mne_otica.trust.stability import CAME_BACK

N_FITS = 5


@pytest.fixture(scope="module")
def raw(make_raw):
    """Ten Laplace sources, 50 samples for each squared component."""
    return make_raw()[0].pick("eeg")


@pytest.fixture(scope="module")
def ica(raw):
    return mne_otica.ICA(random_state=0, verbose="error").fit(raw)


@pytest.fixture(scope="module")
def result(ica, raw):
    return mne_otica.stability(ica, raw, n_fits=N_FITS, n_jobs=1, verbose="error")


@pytest.fixture(scope="module")
def noise(raw):
    """Channels that are Gaussian noise: whatever ICA finds in them is chance."""
    data = 1e-5 * np.random.default_rng(0).standard_normal((6, 5000))
    return mne.io.RawArray(data, raw.copy().pick(range(6)).info, verbose="error")


def test_independent_sources_come_back(result):
    assert result.stable.all()
    assert np.array_equal(result.n_returns, np.full(10, N_FITS))
    assert result.converged.all()
    assert "10 of 10 components are stable" in result.summary
    assert "long enough" in result.summary


def test_chance_does_not_come_back(noise):
    ica = mne_otica.ICA(random_state=0).fit(noise)
    result = mne_otica.stability(ica, noise, n_fits=N_FITS, n_jobs=1)
    assert not result.stable.any()
    assert "0 of 6 components are stable" in result.summary
    assert np.isnan(result.seconds_needed).all()
    assert "not stable" in result.describe(0)


def test_the_figures_fit_together(result, raw, ica):
    n_lengths = len(result.lengths)
    assert result.index.shape == (10,)
    assert result.matches.shape == (N_FITS, 10)
    assert result.maps.shape == (N_FITS, 10, 10)
    assert result.spread.shape == (10, 10)
    assert result.curve.shape == (n_lengths, 10)
    assert np.allclose(result.index, result.n_returns / N_FITS)
    assert np.all(np.diff(result.lengths) > 0)
    assert result.lengths[-1] == raw.n_times / raw.info["sfreq"]
    # The maps of the refits have the sign and the length of those of the ICA.
    own = ica.get_components().T
    assert np.all(np.sum(own * result.maps.mean(axis=0), axis=1) > 0)
    lengths = np.linalg.norm(result.maps, axis=2)
    assert np.allclose(lengths, np.linalg.norm(own, axis=1))


def test_the_match_is_the_component_that_correlates_most(ica, raw):
    recording = _refits.read(ica, raw)
    fit = _refits.refit(recording, "otica", {}, len(recording.starts), seed=1)
    correlations, found = _refits.match(recording, ica, [fit])
    ours, theirs = ica.get_sources(raw).get_data(), fit.unmixing @ recording.white
    best = np.abs(np.corrcoef(ours, theirs)[:10, 10:]).argmax(axis=1)
    # A map is the regression of the channels on the components when these are uncorrelated.
    to_channels = recording.colouring.T @ ica.pca_components_[: ica.n_components_]
    maps = np.linalg.inv(fit.unmixing).T[best] @ to_channels
    for matrix in (maps, found[0]):
        pattern = np.abs(np.corrcoef(ica.get_components().T, matrix)[:10, 10:])
        assert np.allclose(np.diag(pattern), correlations[0])


def test_what_came_back_in_less_than_half_of_the_refits_is_not_stable(result):
    """One number has one meaning: the count, the index and the word agree."""
    matches = np.full((50, 10), CAME_BACK - 0.01)
    matches[:22] = 1.0
    curve = np.mean(matches >= CAME_BACK, axis=0, keepdims=True)
    seldom = replace(result, matches=matches, curve=curve, lengths=result.lengths[-1:])
    assert np.allclose(seldom.index, 0.44)
    assert not seldom.stable.any()
    assert seldom.describe(3) == "ICA003 came back in 22 of 50 refits: not stable"
    assert "0 of 10 components are stable" in seldom.summary


def test_order_sign_and_scale_do_not_matter(result, ica, raw):
    other = ica.copy()
    order, scale = np.random.default_rng(0).permutation(10), np.array([-3.0, 0.5] * 5)
    other.unmixing_matrix_ = scale[:, np.newaxis] * ica.unmixing_matrix_[order]
    other.mixing_matrix_ = ica.mixing_matrix_[:, order] / scale
    again = mne_otica.stability(other, raw, n_fits=N_FITS, n_jobs=1)
    assert np.allclose(again.matches, result.matches[:, order])
    assert np.allclose(again.index, result.index[order])


def test_a_seed_gives_one_answer_and_another_seed_another(result, ica, raw):
    again = mne_otica.stability(ica, raw, n_fits=N_FITS, n_jobs=2)
    assert np.array_equal(again.matches, result.matches)
    assert np.array_equal(again.curve, result.curve)
    other = mne_otica.stability(ica, raw, n_fits=N_FITS, random_state=1, n_jobs=1)
    assert not np.array_equal(other.matches, result.matches)


def test_nothing_is_changed(ica, raw):
    before = {name: np.copy(value) for name, value in vars(ica).items() if name[-1] == "_"}
    data, exclude = raw.get_data(), list(ica.exclude)
    mne_otica.stability(ica, raw, n_fits=3, n_jobs=1)
    for name, value in before.items():
        assert np.array_equal(value, getattr(ica, name)), name
    assert ica.exclude == exclude
    assert np.array_equal(raw.get_data(), data)


def test_epochs_are_drawn_whole_or_in_seconds(ica, raw):
    short = mne.make_fixed_length_epochs(raw, 0.5, preload=True)
    long = mne.make_fixed_length_epochs(raw, 4, preload=True)
    assert _refits.read(ica, short).block == 125
    assert _refits.read(ica, long).block == 250
    result = mne_otica.stability(ica, long, n_fits=3, n_jobs=1)
    assert result.stable.all()


@pytest.mark.filterwarnings("ignore:.*refits by infomax did not converge")
@pytest.mark.parametrize(
    ("method", "params", "package"),
    [
        ("fastica", None, "sklearn"),
        ("infomax", {"extended": True}, None),
        ("picard", {"ortho": False, "extended": True}, "picard"),
    ],
)
def test_every_method_of_mne_is_refitted_by_itself(make_raw, method, params, package):
    if package:
        pytest.importorskip(package)
    raw, _ = make_raw(("eeg",) * 4, n_samples=2500)
    options = {"max_iter": 20} if method == "infomax" else {}  # enough for four sources
    stock = mne.preprocessing.ICA(
        method=method, fit_params=params, random_state=0, **options, verbose="error"
    ).fit(raw)
    result = mne_otica.stability(stock, raw, n_fits=3, n_jobs=1)
    assert result.method == method
    assert result.stable.all()


def test_long_recordings_are_refitted_on_a_part(ica, raw, monkeypatch):
    monkeypatch.setattr(_refits, "MAX_SAMPLES", 2500)
    result = mne_otica.stability(ica, raw, n_fits=3, n_jobs=1)
    assert result.lengths[-1] == 10


def test_two_seconds_are_the_least(make_raw):
    short, _ = make_raw(("eeg",) * 4, n_samples=500)
    ica = mne_otica.ICA().fit(short)
    result = mne_otica.stability(ica, short, n_fits=3, n_jobs=1)
    assert result.lengths.tolist() == [2.0]
    assert result.summary.startswith("With 2 s")


def test_figures_can_be_kept_and_read(result):
    kept = json.loads(json.dumps(result.to_dict()))
    assert kept["n_fits"] == N_FITS
    assert kept["stable"] == [True] * 10
    assert kept["summary"] == result.summary
    assert f"came back in {N_FITS} of {N_FITS} refits" in result.describe(0)
    with pytest.raises(ValueError, match="must be one of the 10 fitted"):
        result.describe(10)


def test_figure_shows_index_maps_and_curve(result):
    figure = result.plot(show=False)
    texts = [ax.get_title() for ax in figure.axes] + [ax.get_xlabel() for ax in figure.axes]
    assert "Stable is not the same as brain" in figure.axes[0].get_title(loc="left")
    assert "Data used (min)" in texts
    assert sum("index 1.00" in text for text in texts) == 5


def test_another_recording_is_refused(ica, raw, make_raw):
    other = make_raw(seed=1)[0].pick("eeg")
    with pytest.raises(ValueError, match="recording of the fit"):
        mne_otica.stability(ica, other)
    with pytest.raises((RuntimeError, ValueError), match="Missing: Fp1"):
        mne_otica.stability(ica, raw.copy().drop_channels("Fp1"))


def test_real_recordings_are_told_apart(shared_data):
    names = ("eegmmidb_S001R01_raw.fif.gz", "eegmmidb_S018R02_raw.fif.gz")
    raws = [mne.io.read_raw(shared_data / name, preload=True).filter(1, 40) for name in names]
    ica = mne_otica.ICA(15).fit(raws[0].copy().crop(0, 40))
    mne_otica.stability(ica, raws[0], n_fits=3, n_jobs=1)  # a part of it was fitted
    with pytest.raises(ValueError, match="recording of the fit"):
        mne_otica.stability(ica, raws[1])


def test_bad_input_is_refused(ica, raw, make_raw):
    with pytest.raises(RuntimeError, match="Please fit ICA"):
        mne_otica.stability(mne_otica.ICA(), raw)
    with pytest.raises(TypeError, match="inst must be an instance of Raw or Epochs"):
        mne_otica.stability(ica, raw.get_data())
    with pytest.raises(ValueError, match="n_fits must be at least 3"):
        mne_otica.stability(ica, raw, n_fits=2)
    with pytest.raises(ValueError, match="1 block"):
        mne_otica.stability(ica, raw.copy().crop(0, 1.5))
    single = ica.copy()
    single.n_components_ = 1
    with pytest.raises(ValueError, match="only one component"):
        mne_otica.stability(single, raw)
    imported = ica.copy()
    imported.method = "imported_eeglab"
    with pytest.raises(ValueError, match="ica.method"):
        mne_otica.stability(imported, raw)


def test_refits_that_do_not_converge_are_counted(raw):
    with pytest.warns(mne_otica.OTICAConvergenceWarning):
        ica = mne_otica.ICA(max_iter=1, random_state=0).fit(raw)
    with pytest.warns(RuntimeWarning, match="3 of 3 refits by otica did not converge"):
        result = mne_otica.stability(ica, raw, n_fits=3, n_jobs=1)
    assert not result.converged.any()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="lists processes as Linux does")
def test_an_interrupt_leaves_no_process_behind():
    code = """
    import mne_otica
    raw = mne_otica.simulation.simulate_raw(32, 60, verbose="error").raw.filter(1, 40)
    ica = mne_otica.ICA().fit(raw)
    print("fitted", flush=True)
    mne_otica.stability(ica, raw, n_fits=10_000, n_jobs=2)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            while "fitted" not in process.stdout.readline():
                assert process.poll() is None
            while not _refits_are_under_way(process.pid):
                assert process.poll() is None
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=300)
            assert "KeyboardInterrupt" in said
            deadline = time.monotonic() + 300
            while _seconds_in_session(process.pid):
                assert time.monotonic() < deadline
                time.sleep(0.1)
        finally:
            for pid in _seconds_in_session(process.pid):
                os.kill(pid, signal.SIGKILL)


def _refits_are_under_way(leader):
    """Tell whether two workers have computed for longer than their imports take."""
    seconds = _seconds_in_session(leader)
    return sum(spent > 5 for pid, spent in seconds.items() if pid != leader) >= 2


def _seconds_in_session(leader):
    """Return the processor seconds of the processes of a session that have not ended."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has ended meanwhile
            continue
        state, session, ticks = fields[0], int(fields[3]), int(fields[11]) + int(fields[12])
        if session == leader and state != "Z":
            found[int(path.parent.name)] = ticks / os.sysconf("SC_CLK_TCK")
    return found


# MNE takes the sphere of this montage for a large head.
ignore_head = pytest.mark.filterwarnings("ignore:Estimated head radius")


@pytest.fixture
def exported(ica, raw, tmp_path):
    pytest.importorskip("eeglabio")
    ica = ica.copy()
    ica.exclude, ica.labels_ = [3, 5], {"blink": [3], "muscle": [5, 3]}
    path = tmp_path / "recording.set"
    assert mne_otica.export_ica_eeglab(path, raw, ica) == path
    return path, ica


@ignore_head
def test_ica_comes_back_from_eeglab(exported, raw):
    path, ica = exported
    again = mne_otica.read_ica_eeglab(path)
    assert again.exclude == ica.exclude
    assert again.labels_ == {"blink": [3], "muscle": [3, 5]}
    one, other = (x.get_sources(raw).get_data() for x in (ica, again))
    # EEGLAB subtracts no means.
    one, other = (x - x.mean(axis=1, keepdims=True) for x in (one, other))
    assert np.allclose(one, other, atol=1e-6 * np.abs(one).max())
    cleaned = [x.apply(raw.copy()).get_data() for x in (ica, again)]
    centred = [x - x.mean(axis=1, keepdims=True) for x in cleaned]
    assert np.allclose(*centred, atol=1e-6 * np.abs(raw.get_data()).max())


@ignore_head
def test_mne_reads_the_recording_and_the_ica(exported, raw):
    path, ica = exported
    read = mne.io.read_raw_eeglab(path, preload=True)
    # EEGLAB keeps microvolts in single precision.
    assert np.allclose(read.get_data(), raw.get_data(), rtol=1e-6, atol=1e-11)
    stock = mne.preprocessing.read_ica_eeglab(path)
    assert stock.n_components_ == ica.n_components_
    assert stock.ch_names == ica.ch_names


@ignore_head
def test_eeglab_files_are_not_overwritten_unasked(ica, raw, tmp_path):
    pytest.importorskip("eeglabio")
    path = mne_otica.export_ica_eeglab(tmp_path / "plain.set", raw, ica)
    assert mne_otica.read_ica_eeglab(path).labels_ == {}
    with pytest.raises(FileExistsError):
        mne_otica.export_ica_eeglab(path, raw, ica)


def test_export_refuses_other_endings(ica, raw, tmp_path):
    with pytest.raises(ValueError, match="end in .set"):
        mne_otica.export_ica_eeglab(tmp_path / "a.fif", raw, ica)
    assert not list(tmp_path.iterdir())
