"""Real EEG: every ICA of MNE on the same data, judged without a truth.

After Delorme, Palmer, Onton, Oostenveld & Makeig (2012): the more independent the components, the
more of them look like the field of one dipole.
"""

import time
import warnings
from argparse import Namespace

import matplotlib.pyplot as plt
import mne
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.cleaning import band, recordings
from benchmarks.paper.output import MARKERS, Output
from benchmarks.results import markdown
from benchmarks.solver import HALF_SECONDS, SHARED_DATA
from mne_otica import ICA, find_artifact_events, find_bads_blink, preservation, rms_reduction
from mne_otica.metrics import residual_dependence

METHODS = {
    "OT-ICA": ("otica", {}),
    "FastICA": ("fastica", {}),
    "Picard-O": ("picard", {"ortho": True, "extended": True}),
    "Picard": ("picard", {"ortho": False, "extended": True}),
    "Infomax": ("infomax", {"extended": True}),
    "AMICA": ("jamica", {}),
}
MINUTES_LONG = ("AMICA",)
DIPOLAR = 0.10  # residual variance of the equivalent dipole
N_MI_BINS = 16
EEG_SCALE = 1e-6  # volts
QUICK_COMPONENTS = 15
EXPLANATION = """\
All methods through MNE's `ICA` with the same data: 1 to 40 Hz, average reference, all
components the rank allows, one thread, default parameters (extended if there is a choice).
Residual dependence is the sum of the entropies minus log |det W|; pairwise information is the
mean mutual information of pairs; held out is the residual dependence in every other ten seconds
after a fit to the rest; a component is dipolar if the residual variance of one dipole
in a spherical head is below 10 % (Delorme et al. 2012). Blink components are those found by
`find_bads_blink`; removed is the RMS reduction at blinks in the five most affected channels,
and taken out is the RMS of the change away from blinks, relative to the RMS before.
The two measures of dependence need not agree: the first includes dependence of all orders among
all components, the second only that of pairs, in 16 bins. Seconds are processor time. On the
EEGLAB recording the methods differ by hundredths of a nat, as do the local optima of a single
method. MNE runs AMICA for 500 iterations, a quarter of the default of `jamica`."""


def pairwise_information(Y: NDArray) -> float:
    """Return the mean mutual information of all pairs of rows, in nats.

    Each row is cut into bins of equal counts, and the bias of a histogram, (bins - 1)² / 2N for
    independent samples, is taken off.
    """
    d, n_samples = Y.shape
    bins = ((rankdata(Y, axis=1) - 1) * N_MI_BINS / n_samples).astype(int)
    total = 0.0
    for i in range(1, d):
        for j in range(i):
            joint = np.bincount(bins[i] * N_MI_BINS + bins[j], minlength=N_MI_BINS**2) / n_samples
            present = joint[joint > 0]
            total += present @ np.log(present * N_MI_BINS**2)
    return total / (d * (d - 1) / 2) - (N_MI_BINS - 1) ** 2 / (2 * n_samples)


def residual_variances(ica: mne.preprocessing.ICA, info: mne.Info) -> NDArray[np.float64]:
    """Return what one dipole in a spherical head leaves unexplained of each component's map."""
    info = mne.pick_info(info, [info.ch_names.index(name) for name in ica.ch_names])
    maps = ica.get_components()
    maps = EEG_SCALE * maps / np.abs(maps).max(axis=0)
    evoked = mne.EvokedArray(maps, info, tmin=0).set_eeg_reference(projection=True).apply_proj()
    sphere = mne.make_sphere_model("auto", "auto", info)
    dipoles, _ = mne.fit_dipole(evoked, mne.make_ad_hoc_cov(info), sphere)
    return 1 - dipoles.gof / 100


def white_unmixing(ica: mne.preprocessing.ICA) -> NDArray[np.float64]:
    """Return what acts on white data: MNE divides by the standard deviations of PCA."""
    return ica.unmixing_matrix_ * np.sqrt(ica.pca_explained_variance_[: ica.n_components_])


def held_out(eeg: mne.io.BaseRaw, label: str, n_components: int) -> float:
    """Return the dependence left in every other ten seconds by a fit to the rest."""
    first = np.arange(eeg.n_times) // int(HALF_SECONDS * eeg.info["sfreq"]) % 2 == 0
    fitted, rest = (mne.io.RawArray(eeg.get_data()[:, part], eeg.info) for part in (first, ~first))
    method, fit_params = METHODS[label]
    ica = ICA(n_components, method=method, random_state=0, fit_params=fit_params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some stop at their limits
        ica.fit(fitted)
    return residual_dependence(ica.get_sources(rest).get_data(), white_unmixing(ica))


def measure(raw: mne.io.BaseRaw, label: str, n_components: int | None = None) -> dict:
    """Fit one method to a recording, 1 to 40 Hz with average reference, and judge it."""
    filtered = band(raw)
    referenced = filtered.copy().set_eeg_reference("average")
    eeg = referenced.copy().pick("eeg")
    method, fit_params = METHODS[label]
    size = n_components or len(eeg.ch_names) - 1  # the reference takes one
    ica = ICA(size, method=method, random_state=0, fit_params=fit_params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some stop at their limits
        started = time.process_time()
        ica.fit(eeg)
        seconds = time.process_time() - started
        blinks, _ = find_bads_blink(ica, referenced)
    sources = ica.get_sources(eeg).get_data()
    dipolar = residual_variances(ica, filtered.info) < DIPOLAR
    events = find_artifact_events(referenced)
    after = ica.apply(eeg.copy(), exclude=blinks)
    benefit, harm = rms_reduction(eeg, after, events), preservation(eeg, after, events)
    return {
        "components": size,
        "seconds": seconds,
        "dependence": residual_dependence(sources, white_unmixing(ica)),
        "held_out": held_out(eeg, label, size),
        "pairwise": float(pairwise_information(sources)),
        "dipolar": float(dipolar.mean()),
        "blink_components": len(blinks),
        "benefit": benefit.over(benefit.most_affected()),
        "harm": harm.taken_out,
    }


def plot(rows: pd.DataFrame) -> Figure:
    """Draw the share of dipolar components against the dependence left, after Delorme et al."""
    names = rows["recording"].unique()
    figure, axes = plt.subplots(
        1, len(names), figsize=(5 * len(names), 3.8), squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes[0], names, strict=True):
        part = rows[rows["recording"] == name].sort_values("dependence")
        for number, row in enumerate(part.itertuples()):
            place = (row.dependence, 100 * row.dipolar)
            marker = MARKERS[list(METHODS).index(row.method)]
            axis.plot(*place, f"k{marker}", markerfacecolor="white", markersize=8)
            # Labels of neighbours do not meet: one is above its mark, the next below.
            above = dict(xytext=(7, 5)) if number % 2 == 0 else dict(xytext=(7, -5), va="top")
            axis.annotate(row.method, place, textcoords="offset points", **above)
        axis.margins(0.3, 0.2)
        axis.set(title=name, xlabel="dependence left, nats")
    axes[0, 0].set_ylabel("dipolar components, percent")
    return figure


def table(rows: pd.DataFrame) -> str:
    """Return the table of one recording."""
    lines = [
        [
            row.method,
            f"{row.seconds:.1f}",
            f"{row.dependence:.3f}",
            "not measured" if np.isnan(row.held_out) else f"{row.held_out:.3f}",
            f"{1000 * row.pairwise:.3f}",
            f"{row.dipolar:.0%}",
            f"{row.blink_components}",
            f"{row.benefit:.1%}",
            f"{row.harm:.1%}",
        ]
        for row in rows.sort_values("dependence").itertuples()
    ]
    header = [
        "method",
        "seconds",
        "dependence left, nats",
        "held out",
        "pairwise information, millinats",
    ]
    header += ["dipolar", "blink components", "blink removed, five channels"]
    return markdown([*header, "taken out away from blinks"], lines)


def run(output: Output, options: Namespace) -> None:
    """Measure what is missing and write the section."""
    if not options.report:
        labels = options.methods or [
            label for label in METHODS if not (options.quick and label in MINUTES_LONG)
        ]
        folder = options.data or (SHARED_DATA if SHARED_DATA.exists() else None)
        size = QUICK_COMPONENTS if options.quick else None
        raws: dict[str, mne.io.BaseRaw] = recordings(None if options.quick else folder)
        cells = [{"recording": name, "method": label} for label in labels for name in raws]
        for cell in output.missing(cells, options.redo):
            row = {**cell, **measure(raws[cell["recording"]], cell["method"], size)}
            print(row, flush=True)
            output.append(row)
    rows = output.rows()
    figure = output.figure(plot(rows), "Dipolar components against the dependence left.")
    tables = []
    for name, part in rows.groupby("recording", sort=False):
        tables += [f"{name}: {part['components'].iloc[0]} components", table(part)]
    output.section("Peers on real EEG", EXPLANATION, figure, *tables)
