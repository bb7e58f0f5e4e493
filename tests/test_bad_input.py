"""Every public function with its defaults, and with what it must refuse, in words that help."""

import inspect
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import mne
import numpy as np
import pytest

import mne_otica
from mne_otica import (
    ICA,
    add_artifact_report,
    annotate_artifacts,
    audit,
    clean_epochs,
    clean_raw,
    clean_study,
    datasets,
    export_ica_eeglab,
    find_artifact_events,
    find_bads_artifacts,
    find_bads_blink,
    metrics,
    otica,
    preservation,
    read_ica_eeglab,
    read_study,
    register,
    remove_artifacts,
    rms_reduction,
    simulation,
    stability,
    unregister,
    viz,
)
from mne_otica.metrics import amari_index, residual_dependence
from mne_otica.simulation import mixture, simulate_raw

X = mixture("laplace", 3, 200).X
NAN, INF = X.copy(), X.copy()
NAN[1, 5], INF[0, 0] = np.nan, np.inf
DRAW = {
    viz.plot_band_power: "ax",
    viz.plot_events: "axes",
    viz.plot_component: "axes",
    viz.plot_removal: "axes",
    viz.plot_benefit_and_harm: "axes",
    viz.plot_traces: "ax",
    viz.plot_cleaned: None,
}


@cache
def raw():
    """16 channels, 40 s, 12 blinks."""
    return simulate_raw(16, 40, 128.0, n_blinks=12, random_state=3).raw


@cache
def epochs():
    return mne.make_fixed_length_epochs(raw(), 2.0, preload=True)


@cache
def cleaned():
    return clean_raw(raw())


@cache
def untouched():
    return clean_raw(simulate_raw(16, 40, 128.0, n_blinks=0, random_state=4).raw)


def events():
    return cleaned().events


def trials():
    """Every second a stimulus, of two conditions in turn."""
    made = mne.make_fixed_length_events(raw(), duration=1.0)[1:-1]
    made[::2, 2] = 2
    return made


def pair():
    return raw(), cleaned().raw


def report():
    return mne.Report(verbose="error")


def all_bad():
    marked = raw().copy()
    marked.info["bads"] = marked.ch_names
    return marked


def magnetometers():
    info = mne.create_info(16, 128.0, "mag")
    return mne.io.RawArray(1e-7 * raw().get_data(), info)


def fitted(inst):
    return mne.preprocessing.ICA(4, method="infomax", random_state=0).fit(inst, verbose="error")


def study(**options):
    """Clean a study that must not come to reading or writing."""
    return clean_study(["absent.edf"], "nowhere", **options)


def one_recording(again=lambda out: None):
    with TemporaryDirectory() as folder:
        raw().save(Path(folder, "a_raw.fif"))
        done = clean_study([Path(folder, "a_raw.fif")], Path(folder, "out"))
        done = again(Path(folder, "out")) or done
    assert not done.failed
    return done


@cache
def few_components():
    return ICA(4).fit(cleaned().filtered())


def through_eeglab():
    with TemporaryDirectory() as folder:
        # MNE warns of large heads when it reads the positions of its own template.
        nowhere = raw().copy().set_montage(None)
        path = export_ica_eeglab(Path(folder, "a.set"), nowhere, few_components())
        return read_ica_eeglab(path)


def trust(**options):
    return stability(few_components(), cleaned().filtered(), **options)


def measures(function):
    """Return what both measures of a cleaning must refuse."""
    return [
        (function, lambda: function(0, cleaned().raw, events()), TypeError, "before must be"),
        (function, lambda: function(raw(), X, events()), TypeError, "after must be an inst.*Raw"),
        (
            function,
            lambda: function(raw(), cleaned().raw.copy().drop_channels("Fp1"), events()),
            ValueError,
            r"differ in their channels \(\['Fp1'\]\)",
        ),
        (
            function,
            lambda: function(raw(), cleaned().raw.copy().crop(0, 10), events()),
            ValueError,
            r"differ in length \(5120 and 1281\)",
        ),
        (function, lambda: function(*pair(), events()[:, 0]), ValueError, r"shape \(n_events, 3\)"),
        (function, lambda: function(*pair(), events() - 9999), ValueError, "outside the recording"),
        (function, lambda: function(*pair(), events(), picks="Nose"), ValueError, "Nose"),
        (
            function,
            lambda: function(*pair(), events(), reject_by_annotation="no"),
            TypeError,
            "reject_by_annotation must be",
        ),
    ]


def searches(function):
    """Return what both searches for blinks must refuse."""
    return [
        (function, lambda: function(X), TypeError, "inst must be .*Raw"),
        (function, lambda: function(raw().copy().crop(0, 1)), ValueError, "at least 2 s"),
        (function, lambda: function(all_bad()), ValueError, "16 are marked bad"),
        (function, lambda: function(magnetometers()), ValueError, "No EEG or EOG channel"),
        (function, lambda: function(raw(), ica=3), TypeError, "ica must be"),
        (function, lambda: function(raw(), ch_name="Nose"), ValueError, "Nose"),
        (function, lambda: function(raw(), event_id="blink"), TypeError, "event_id must be"),
        (
            function,
            lambda: function(raw(), reject_by_annotation="no"),
            TypeError,
            "reject_by_annotation must be",
        ),
    ]


def figures(function):
    """Return what all figures must refuse."""
    found = [(function, lambda: function(raw()), TypeError, "result must be an .* Cleaned")]
    axes = DRAW[function]
    if axes:
        call = lambda: function(cleaned(), **{axes: ["here"]})  # noqa: E731
        found.append((function, call, TypeError, "ax must be"))
    if function not in (viz.plot_component, viz.plot_cleaned):
        found.append((function, lambda: function(untouched()), ValueError, "plot_component shows"))
    return found


# (function, call, error, text)
BAD = [
    (otica, lambda: otica(NAN), ValueError, "1 NaN.* row 1"),
    (otica, lambda: otica(INF), ValueError, "infinite.* row 0"),
    (otica, lambda: otica(X.T), ValueError, r"fewer samples \(3\) than channels \(200\)"),
    (otica, lambda: otica(X[0]), ValueError, "two-dimensional"),
    (otica, lambda: otica(X[np.newaxis]), ValueError, "two-dimensional.*3 dimension"),
    (otica, lambda: otica(np.empty((0, 10))), ValueError, "no channels"),
    (otica, lambda: otica(np.ones((3, 100))), ValueError, "All 3 channels of X are constant"),
    (otica, lambda: otica([["a", "b"]]), TypeError, "real numbers"),
    (otica, lambda: otica(X + 1j), TypeError, "real numbers, but has dtype complex128"),
    (otica, lambda: otica(X[[0, 1, 1]], 3), ValueError, r"the rank of the data \(2\).*Pass 2"),
    (otica, lambda: otica(X, 4), ValueError, r"\(4\) exceeds the rank of the data \(3\)"),
    (otica, lambda: otica(X, 0), ValueError, "at least 1, got 0"),
    (otica, lambda: otica(X, 1.5), ValueError, "between 0 and 1"),
    (otica, lambda: otica(X, "all"), TypeError, "n_components must be"),
    (otica, lambda: otica(X, 2, whiten=False), ValueError, "needs whiten=True"),
    (otica, lambda: otica(10 * X, whiten=False), ValueError, "not white.*whiten=True"),
    (otica, lambda: otica(X, whiten="yes"), TypeError, "whiten must be"),
    (otica, lambda: otica(X, algorithm="fast"), ValueError, "value for the 'algorithm'"),
    (otica, lambda: otica(X, compute="huge"), ValueError, "value for the 'compute'"),
    (otica, lambda: otica(X, refine="yes"), ValueError, "value for the 'refine'"),
    (otica, lambda: otica(X, refine=1), TypeError, "refine must be"),
    (otica, lambda: otica(X, tol=0), ValueError, "tol must be an angle"),
    (otica, lambda: otica(X, tol="small"), TypeError, "tol must be"),
    (otica, lambda: otica(X, max_iter=0), ValueError, "max_iter must be at least 1"),
    (otica, lambda: otica(X, max_iter="all"), ValueError, "value for the 'max_iter'"),
    (otica, lambda: otica(X, max_iter=2.5), TypeError, "max_iter must be"),
    (otica, lambda: otica(X, w_init=np.eye(2)), ValueError, r"shape \(3, 3\).*got \(2, 2\)"),
    (otica, lambda: otica(X, w_init=np.ones((3, 3))), ValueError, "w_init is singular"),
    (otica, lambda: otica(X, w_init=NAN[:, 4:7]), ValueError, "w_init has 1 NaN"),
    (otica, lambda: otica(X, random_state="seed"), TypeError, "random_state must be"),
    (otica, lambda: otica(X, random_state=-1), ValueError, "random_state must be .* least 0"),
    (otica, lambda: otica(X, return_n_iter="no"), TypeError, "return_n_iter must be"),
    (ICA, lambda: ICA(fit_params={"tolerance": 1}), ValueError, "'tolerance'.*'max_iter', 'tol'"),
    (ICA, lambda: ICA(fit_params={"random_state": 1}), ValueError, "no key 'random_state'"),
    (ICA, lambda: ICA(fit_params={"tol": -1}), ValueError, "tol must be"),
    (ICA, lambda: ICA(fit_params={"algorithm": "adam"}), ValueError, "Allowed .*'riemannian'"),
    (ICA, lambda: ICA(fit_params={"w_init": [1, 2]}), ValueError, "two-dimensional"),
    (ICA, lambda: ICA(fit_params=[1]), TypeError, "fit_params must be"),
    (ICA, lambda: ICA(max_iter=0), ValueError, "at least 1"),
    (ICA, lambda: ICA(max_iter="many"), ValueError, "max_iter"),
    (ICA, lambda: ICA(max_iter=2.5), TypeError, "max_iter must be"),
    (ICA, lambda: ICA(1), ValueError, "one component"),
    (ICA, lambda: ICA(1.5), ValueError, "between 0.0 and 1.0"),
    (ICA, lambda: ICA(0), ValueError, "n_components must be at least 2, got 0"),
    (ICA, lambda: ICA("all"), TypeError, "n_components must be"),
    (ICA, lambda: ICA(method="otika"), ValueError, "'otica'"),
    (ICA, lambda: ICA(method=3), TypeError, "method must be"),
    (ICA, lambda: ICA(rng=1, random_state=1), TypeError, "only one of"),
    (ICA, lambda: ICA(n_component=3), TypeError, "n_component"),
    (
        ICA,
        lambda: ICA(4, random_state="a").fit(cleaned().filtered()),
        TypeError,
        "random_state must be",
    ),
    (
        ICA,
        lambda: ICA(4, random_state=-1).fit(cleaned().filtered()),
        ValueError,
        "random_state must be",
    ),
    (clean_raw, lambda: clean_raw(X), TypeError, "raw must be an instance of Raw"),
    (clean_raw, lambda: clean_raw(all_bad()), ValueError, "16 are marked bad"),
    (clean_raw, lambda: clean_raw(magnetometers()), ValueError, r"0 EEG channels.*\['mag'\]"),
    (clean_raw, lambda: clean_raw(raw(), n_components=-1), ValueError, "at least 2, got -1"),
    (clean_raw, lambda: clean_raw(raw(), n_components="a"), TypeError, "n_components must be"),
    (clean_raw, lambda: clean_raw(raw(), l_freq="low"), TypeError, "l_freq must be"),
    (clean_raw, lambda: clean_raw(raw(), l_freq=-1), ValueError, "l_freq must be a finite"),
    (clean_raw, lambda: clean_raw(raw(), h_freq=np.nan), ValueError, "h_freq must be a finite"),
    (clean_raw, lambda: clean_raw(raw(), l_freq=40, h_freq=1), ValueError, "must be below h_freq"),
    (clean_raw, lambda: clean_raw(raw(), random_state="a"), TypeError, "random_state must be"),
    (clean_raw, lambda: clean_raw(raw(), max_components=0), ValueError, "of at least 1"),
    (
        clean_raw,
        lambda: clean_raw(raw(), reject_by_annotation="no"),
        TypeError,
        "reject_by_annotation must be",
    ),
    (clean_study, lambda: clean_study(), ValueError, "either a list of files or bids_root"),
    (clean_raw, lambda: clean_raw(raw(), removal="all"), ValueError, "Invalid value .* 'removal'"),
    (
        clean_raw,
        lambda: clean_raw(raw(), find_bad_channels="no"),
        TypeError,
        "find_bad_channels must be",
    ),
    (clean_epochs, lambda: clean_epochs(raw()), TypeError, "epochs must be an inst.*Epochs"),
    (clean_epochs, lambda: clean_epochs(epochs(), raw=X), TypeError, "raw must be an inst.*Raw"),
    (clean_epochs, lambda: clean_epochs(epochs(), removal="a"), ValueError, "removal"),
    (
        clean_epochs,
        lambda: clean_epochs(epochs(), max_components=0),
        ValueError,
        "max_components must be",
    ),
    (remove_artifacts, lambda: remove_artifacts(X, cleaned().ica), TypeError, "inst must be"),
    (remove_artifacts, lambda: remove_artifacts(raw(), raw()), TypeError, "ica must be"),
    (
        remove_artifacts,
        lambda: remove_artifacts(raw(), cleaned().ica, exclude=[99]),
        ValueError,
        "exclude holds .99., but the ICA has",
    ),
    (
        remove_artifacts,
        lambda: remove_artifacts(raw(), cleaned().ica, events=events() + [[10**6, 0, 0]]),
        ValueError,
        "outside the recording",
    ),
    (
        remove_artifacts,
        lambda: remove_artifacts(raw(), ICA()),
        RuntimeError,
        "not fitted",
    ),
    (clean_study, lambda: study(removal="all"), ValueError, "Invalid value .* 'removal'"),
    (clean_study, lambda: clean_study(["a.edf"]), ValueError, "no output folder; pass out"),
    (clean_study, lambda: clean_study([], "out"), FileNotFoundError, "No recordings were found"),
    (clean_study, lambda: study(subject="01"), ValueError, "subject can be chosen in BIDS studies"),
    (clean_study, lambda: study(stages=["dance"]), ValueError, "'stages'"),
    (clean_study, lambda: study(n_components=-1), ValueError, "at least 2, got -1"),
    (clean_study, lambda: study(l_freq=50), ValueError, "must be below h_freq"),
    (clean_study, lambda: study(h_freq="high"), TypeError, "h_freq must be"),
    (clean_study, lambda: study(random_state="a"), TypeError, "random_state must be"),
    (clean_study, lambda: study(random_state=-1), ValueError, "random_state must be"),
    (clean_study, lambda: study(max_components=0), ValueError, "max_components must be"),
    (clean_study, lambda: study(reject_by_annotation="no"), TypeError, "reject_by_annotation"),
    (clean_study, lambda: study(concatenate_runs="no"), TypeError, "concatenate_runs must be"),
    (clean_study, lambda: study(overwrite="no"), TypeError, "overwrite must be"),
    (clean_study, lambda: study(dry_run="no"), TypeError, "dry_run must be"),
    (clean_study, lambda: study(n_jobs="all"), TypeError, "n_jobs must be"),
    (read_study, lambda: read_study("absent"), ValueError, "absent holds no study"),
    *searches(find_artifact_events),
    (
        find_bads_artifacts,
        lambda: find_bads_artifacts(cleaned().ica, raw(), artifacts="sweat"),
        ValueError,
        "'sweat'",
    ),
    (
        find_bads_artifacts,
        lambda: find_bads_artifacts(mne.preprocessing.ICA(), raw()),
        RuntimeError,
        "not fitted",
    ),
    (
        find_artifact_events,
        lambda: find_artifact_events(X, "muscle"),
        TypeError,
        "inst must be",
    ),
    (
        find_artifact_events,
        lambda: find_artifact_events(raw(), "muscle", ch_name="Nose"),
        ValueError,
        "Nose",
    ),
    (
        annotate_artifacts,
        lambda: annotate_artifacts(raw(), "muscle", bad="yes"),
        TypeError,
        "bad must be",
    ),
    (
        find_bads_blink,
        lambda: find_bads_blink(mne.preprocessing.ICA(), raw()),
        RuntimeError,
        "not fitted; call ica.fit",
    ),
    (find_bads_blink, lambda: find_bads_blink(3, raw()), TypeError, "ica must be"),
    (find_bads_blink, lambda: find_bads_blink(cleaned().ica, X), TypeError, "inst must be"),
    (
        find_bads_blink,
        lambda: find_bads_blink(cleaned().ica, raw().copy().drop_channels("Fp1")),
        RuntimeError,
        "lacks 1 channel.*Fp1",
    ),
    (
        find_bads_blink,
        lambda: find_bads_blink(fitted(magnetometers()), magnetometers()),
        ValueError,
        "no EEG channel",
    ),
    (
        find_bads_artifacts,
        lambda: find_bads_artifacts(cleaned().ica, raw(), max_components=0),
        ValueError,
        "at least 1",
    ),
    (
        find_bads_blink,
        lambda: find_bads_blink(cleaned().ica, raw(), max_components=0),
        ValueError,
        "max_components",
    ),
    (
        find_bads_blink,
        lambda: find_bads_blink(cleaned().ica, raw(), threshold=1),
        ValueError,
        "threshold must be between 0 and 1, got 1",
    ),
    (
        find_bads_blink,
        lambda: find_bads_blink(cleaned().ica, raw(), threshold=0),
        ValueError,
        "threshold must be between 0 and 1, got 0",
    ),
    (
        find_bads_blink,
        lambda: find_bads_blink(cleaned().ica, raw(), threshold="high"),
        TypeError,
        "threshold must be",
    ),
    (
        find_bads_blink,
        lambda: find_bads_blink(cleaned().ica, raw(), ch_name="Nose"),
        ValueError,
        "Nose",
    ),
    (
        find_bads_blink,
        lambda: find_bads_blink(cleaned().ica, raw(), reject_by_annotation="no"),
        TypeError,
        "reject_by_annotation must be",
    ),
    *measures(rms_reduction),
    *measures(preservation),
    (rms_reduction, lambda: rms_reduction(*pair(), events()[:0]), ValueError, "no events"),
    (add_artifact_report, lambda: add_artifact_report("a", cleaned()), TypeError, "report must be"),
    (
        add_artifact_report,
        lambda: add_artifact_report(report(), raw()),
        TypeError,
        "result must be",
    ),
    (
        add_artifact_report,
        lambda: add_artifact_report(report(), cleaned(), section=3),
        TypeError,
        "section must be",
    ),
    (
        add_artifact_report,
        lambda: add_artifact_report(report(), cleaned(), replace="no"),
        TypeError,
        "replace must be",
    ),
    *(case for function in DRAW for case in figures(function)),
    (
        viz.plot_events,
        lambda: viz.plot_events(cleaned(), n_channels=0),
        ValueError,
        "n_channels must be .* least 1",
    ),
    (
        viz.plot_events,
        lambda: viz.plot_events(cleaned(), axes=list(plt.subplots(1, 2)[1])),
        ValueError,
        "2 axes for 3 panels",
    ),
    (
        viz.plot_events,
        lambda: viz.plot_events(cleaned(), kind="hiccup"),
        ValueError,
        "'kind'",
    ),
    (
        viz.plot_traces,
        lambda: viz.plot_traces(cleaned(), ch_name="XY"),
        ValueError,
        "'ch_name'",
    ),
    (
        viz.plot_traces,
        lambda: viz.plot_traces(cleaned(), start=-1.0),
        ValueError,
        "start must be",
    ),
    (
        viz.plot_component,
        lambda: viz.plot_component(cleaned(), component=99),
        ValueError,
        r"component \(99\) must be one of the 16",
    ),
    (
        viz.plot_component,
        lambda: viz.plot_component(cleaned(), component="blink"),
        TypeError,
        "component must be",
    ),
    (viz.plot_stability, lambda: viz.plot_stability(cleaned()), TypeError, "stability must be"),
    (datasets.sample, lambda: datasets.sample(verbose="loud"), ValueError, "verbose"),
    (amari_index, lambda: amari_index(np.eye(3), np.eye(4)), ValueError, "must be square"),
    (amari_index, lambda: amari_index(np.eye(3), np.ones(3)), ValueError, "two-dimensional"),
    (amari_index, lambda: amari_index(NAN[:, 4:7], np.eye(3)), ValueError, "NaN"),
    (
        residual_dependence,
        lambda: residual_dependence(X, np.eye(2)),
        ValueError,
        r"row per component \(3\)",
    ),
    (mixture, lambda: mixture("sparse", 3), ValueError, "Invalid value for the 'regime'"),
    (mixture, lambda: mixture("laplace", 0), ValueError, "n_sources must be .* at least 1"),
    (mixture, lambda: mixture("laplace", 3, 1), ValueError, "n_samples must be .* at least 2"),
    (mixture, lambda: mixture("laplace", 2.5), TypeError, "n_sources must be"),
    (mixture, lambda: mixture("laplace", 3, seed=-1), ValueError, "seed must be"),
    (mixture, lambda: mixture("laplace", 3, seed="a"), TypeError, "seed must be"),
    (simulate_raw, lambda: simulate_raw(3), ValueError, "between 4 and 256"),
    (simulate_raw, lambda: simulate_raw([]), ValueError, "channels names no channel"),
    (simulate_raw, lambda: simulate_raw(["Fp1", "Nose"]), ValueError, "Nose"),
    (simulate_raw, lambda: simulate_raw(8, 1), ValueError, "duration must be .* at least 2"),
    (simulate_raw, lambda: simulate_raw(8, "long"), TypeError, "duration must be"),
    (simulate_raw, lambda: simulate_raw(8, 10, np.inf), ValueError, "sfreq must be"),
    (simulate_raw, lambda: simulate_raw(8, 10, n_blinks=99), ValueError, "0.6 s"),
    (simulate_raw, lambda: simulate_raw(8, 10, pops=-1), ValueError, "pops must be"),
    (simulate_raw, lambda: simulate_raw(8, 10, movements="a"), TypeError, "movements must be"),
    (simulate_raw, lambda: simulate_raw(8, 10, noisy_channels=9), ValueError, "noisy_channels"),
    (simulate_raw, lambda: simulate_raw(8, 10, muscle="no"), TypeError, "muscle must be"),
    (simulate_raw, lambda: simulate_raw(8, 10, line_freq=-1), ValueError, "line_freq must be"),
    (
        simulate_raw,
        lambda: simulate_raw(8, 10, blink_amplitude=np.nan),
        ValueError,
        "blink_amplitude must be",
    ),
    (simulate_raw, lambda: simulate_raw(8, 10, reference=["Oz"]), ValueError, "must name simula"),
    (simulate_raw, lambda: simulate_raw(8, 10, reference="linked"), ValueError, "reference"),
    (simulate_raw, lambda: simulate_raw(8, 10, reference=3), TypeError, "reference must be"),
    (simulate_raw, lambda: simulate_raw(8, 10, random_state=-1), ValueError, "random_state"),
    (audit, lambda: audit(1, trials()), TypeError, "results must be a Cleaned"),
    (audit, lambda: audit(cleaned(), trials(), picks="Cz"), ValueError, "both picks and a window"),
    (audit, lambda: audit(cleaned(), trials(), tmin=0.1), ValueError, "must be before 0"),
    (audit, lambda: audit(cleaned(), trials()[0]), ValueError, "must have the shape"),
    (stability, lambda: stability(1, raw()), TypeError, "ica must be"),
    (stability, lambda: stability(ICA(), raw()), RuntimeError, "fit"),
    (stability, lambda: stability(few_components(), 1), TypeError, "inst must be"),
    (stability, lambda: trust(n_fits=2), ValueError, "n_fits must be at least 3"),
    (stability, lambda: trust(n_fits="many"), TypeError, "n_fits must be"),
    (stability, lambda: trust(n_jobs=0), ValueError, "n_jobs must not be 0"),
    (stability, lambda: trust(n_jobs="all"), TypeError, "n_jobs must be"),
    (stability, lambda: trust(random_state=-1), ValueError, "random_state"),
    (export_ica_eeglab, lambda: export_ica_eeglab("a.set", raw(), 1), TypeError, "ica must be"),
    (
        export_ica_eeglab,
        lambda: export_ica_eeglab("a.edf", raw(), few_components()),
        ValueError,
        "end in .set",
    ),
    (read_ica_eeglab, lambda: read_ica_eeglab("absent.set"), FileNotFoundError, "absent.set"),
]

# How each is called if nothing is asked for but what must be.
DEFAULTS = {
    audit: lambda: audit(cleaned(), trials(), picks=raw().ch_names[0], window=(0.1, 0.2)),
    otica: lambda: otica(X),
    ICA: lambda: ICA().fit(cleaned().filtered()),
    clean_raw: cleaned,
    clean_epochs: lambda: clean_epochs(epochs()),
    clean_study: one_recording,
    read_study: lambda: one_recording(read_study),
    remove_artifacts: lambda: remove_artifacts(raw(), cleaned().ica),
    find_artifact_events: lambda: find_artifact_events(raw()),
    find_bads_blink: lambda: find_bads_blink(cleaned().ica, raw()),
    find_bads_artifacts: lambda: find_bads_artifacts(cleaned().ica, raw()),
    annotate_artifacts: lambda: annotate_artifacts(raw(), "eye movement"),
    rms_reduction: lambda: rms_reduction(*pair(), events()),
    preservation: lambda: preservation(*pair(), events()),
    stability: lambda: stability(few_components(), cleaned().filtered()),
    export_ica_eeglab: through_eeglab,
    read_ica_eeglab: through_eeglab,
    add_artifact_report: lambda: add_artifact_report(report(), cleaned()),
    datasets.sample: datasets.sample,
    amari_index: lambda: amari_index(X[:, :3], np.eye(3)),
    residual_dependence: lambda: residual_dependence(X, np.eye(3)),
    mixture: lambda: mixture("laplace", 3),
    simulate_raw: simulate_raw,
    **{draw: (lambda draw=draw: draw(cleaned())) for draw in DRAW},
    viz.plot_stability: lambda: viz.plot_stability(trust(n_fits=3)),
}


def public_functions():
    """Return the functions that users call, and the class that they make."""
    found = {ICA}
    for module in (mne_otica, datasets, metrics, simulation, viz):
        for thing in vars(module).values() if module in (datasets, metrics) else named(module):
            home = "mne_otica" if hasattr(module, "__all__") else module.__name__
            inside = getattr(thing, "__module__", "").startswith(home)
            if inspect.isfunction(thing) and inside and not thing.__name__.startswith("_"):
                found.add(thing)
    return found


def named(module):
    return [getattr(module, name) for name in module.__all__]


def test_tables_are_complete():
    functions = public_functions()
    without_arguments = {register, unregister}
    assert set(DEFAULTS) == functions - without_arguments
    assert {case[0] for case in BAD} == functions - without_arguments


@pytest.mark.parametrize("function", DEFAULTS, ids=lambda function: function.__name__)
def test_defaults(function):
    assert DEFAULTS[function]() is not None


def test_defaults_of_what_takes_no_arguments():
    register()
    try:
        assert mne.preprocessing.ICA(method="otica").method == "otica"
    finally:
        unregister()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [case[1:] for case in BAD],
    ids=[f"{case[0].__name__}-{re.sub(r'[^a-z_]+', '-', case[3].lower())}" for case in BAD],
)
def test_bad_input_is_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()
