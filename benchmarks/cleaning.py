"""Benefit and harm of clean_raw and of the methods in MNE, on two real recordings.

Run ``python -m benchmarks.cleaning FOLDER``, where FOLDER holds ``eeglab_data.set``; without it
only the shipped recording is used. The other methods use the EOG channel; clean_raw uses it for
the blink times only.
"""

import argparse
import time
import warnings
from pathlib import Path

import mne
import numpy as np
from mne.preprocessing import EOGRegression, compute_proj_eog

from benchmarks.results import show
from mne_otica import clean_raw, datasets, find_artifact_events, preservation, rms_reduction


def recordings(folder):
    """Return the recordings with an EOG channel by name."""
    found = {"shipped": datasets.sample()}
    if folder is not None:
        raw = mne.io.read_raw_eeglab(folder / "eeglab_data.set", preload=True)
        raw.set_channel_types({"EOG1": "eog", "EOG2": "eog"}, on_unit_change="ignore")
        found["EEGLAB"] = raw
    return found


def band(raw):
    """Return the signals that are evaluated: EEG and EOG, 1 to 40 Hz."""
    picks = mne.pick_types(raw.info, eeg=True, eog=True, exclude="bads")
    return raw.copy().pick(picks).filter(1.0, 40.0, picks=["eeg", "eog"])


def by_clean_raw(raw, n_components):
    return clean_raw(raw, n_components=n_components).raw


def by_whole_components(raw, n_components):
    return clean_raw(raw, n_components=n_components, removal="component").raw


def picard(n_components):
    """Return MNE's ICA by Picard, in the form that solves extended Infomax."""
    options = dict(ortho=False, extended=True)
    return mne.preprocessing.ICA(n_components, method="picard", random_state=0, fit_params=options)


def by_picard(raw, n_components):
    ica = picard(n_components)
    ica.fit(band(raw), picks="eeg")
    ica.exclude = ica.find_bads_eog(raw)[0]
    return ica.apply(raw.copy())


def by_regression(raw, n_components):
    # EOGRegression requires that a reference has been set; the empty list keeps the present one.
    raw = raw.copy().set_eeg_reference([])
    return EOGRegression(picks="eeg", picks_artifact="eog").fit(band(raw)).apply(raw)


def by_ssp(raw, n_components):
    projs, _ = compute_proj_eog(
        raw, n_eeg=1, n_mag=0, n_grad=0, no_proj=True, average=True, reject=None
    )
    return raw.copy().add_proj(projs).apply_proj()


def by_iclabel(raw, n_components):
    from mne_icalabel import label_components

    # ICLabel was trained on 1 to 100 Hz and the average reference. The reference is not changed,
    # because the other methods are evaluated on the recording as it is.
    fit_on = raw.copy().pick("eeg", exclude="bads")
    fit_on.filter(1.0, min(100.0, 0.45 * raw.info["sfreq"]))
    ica = picard(n_components)
    ica.fit(fit_on)
    labels = label_components(fit_on, ica, method="iclabel")["labels"]
    ica.exclude = [k for k, label in enumerate(labels) if label == "eye blink"]
    return ica.apply(raw.copy())


METHODS = {
    "clean_raw": by_clean_raw,
    "clean_raw, whole components": by_whole_components,
    "Picard and find_bads_eog": by_picard,
    "Picard and ICLabel": by_iclabel,
    "EOGRegression": by_regression,
    "SSP, one projector": by_ssp,
}


def row(name, raw, events, clean, n_components):
    """Clean, and return the row of the table."""
    started = time.process_time()  # independent of other processes on the machine
    after = clean(raw, n_components)
    seconds = time.process_time() - started
    before = band(raw).pick("eeg")
    after = band(after).pick(before.ch_names)
    benefit = rms_reduction(before, after, events)
    harm = preservation(before, after, events)
    # The channels are the same for all methods: they depend on the recording before.
    return (
        f"| {name} | {benefit.average:.1%} | {benefit.over(benefit.most_affected()):.1%} | "
        f"{harm.taken_out:.1%} | {harm.band_power['alpha']:+.1%} | {harm.rank_after} | "
        f"{seconds:.1f} |"
    )


def table(label, raw):
    """Yield the lines of the table of one recording."""
    events = find_artifact_events(raw)
    n_components = clean_raw(raw).ica.n_components_
    yield f"{label}: {len(events)} blinks, {n_components} components for ICA"
    yield ""
    yield (
        "| method | average blink removed | RMS at blinks removed | taken out away from blinks "
        "| alpha power there | rank | processor seconds |"
    )
    yield "|---|---|---|---|---|---|---|"
    for name, clean in METHODS.items():
        try:
            yield row(name, raw, events, clean, n_components)
        except ImportError as error:
            yield f"| {name} | not installed: {error.name} | | | | | |"
        except (RuntimeError, ValueError) as error:
            yield f"| {name} | failed: {str(error).splitlines()[0]} | | | | | |"
    yield ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="where eeglab_data.set is")
    parser.add_argument("--write", action="store_true", help="keep the tables in RESULTS.md")
    args = parser.parse_args()
    mne.set_log_level("ERROR")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = recordings(args.folder)
        lines = (line for label, raw in found.items() for line in table(label, raw))
        show(
            "Cleaning beside what MNE offers: `python -m benchmarks.cleaning FOLDER`",
            lines,
            args.write,
        )


if __name__ == "__main__":
    main()
