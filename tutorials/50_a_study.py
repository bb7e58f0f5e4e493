"""
.. _tut-study:

50. A study: from BIDS to averages
==================================

Four simulated subjects see targets and standards, and often blink after targets. The brain responds
to both in the same way, but the blinks make the averages differ. This tutorial removes the blinks
with one call and compares the averages with the true ones, which are known here.

This needs ``pip install mne-bids pybv``.
"""

# %%
# The subjects
# ------------
# Each subject sees 40 targets in two minutes, and blinks about 0.3 s after every second of them.
# The response of the brain is a slow wave over the parietal cortex, 0.4 s after every stimulus,
# target or standard. ``truth`` has the same recordings without blinks.

# sphinx_gallery_thumbnail_number = 1
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import mne
import mne_bids
import numpy as np

import mne_otica


def add_response(raw, onsets):
    """Add the response of the brain to stimuli, 8 µV at Pz, 0.4 s after each of them."""
    positions = np.array([channel["loc"][:3] for channel in raw.info["chs"]])
    pz = positions[raw.ch_names.index("Pz")]
    topography = np.exp(-np.sum((positions - pz) ** 2, axis=1) / (2 * 0.05**2))
    course = sum(np.exp(-((raw.times - onset - 0.4) ** 2) / (2 * 0.08**2)) for onset in onsets)
    raw._data += 8e-6 * topography[:, np.newaxis] * course


def simulate_subject(seed):
    """Return the recording of a subject, and the same without blinks."""
    sim = mne_otica.simulation.simulate_raw(32, duration=120, n_blinks=20, random_state=seed)
    rng = np.random.default_rng(seed)
    blinks = sim.blink_events[:, 0] / sim.raw.info["sfreq"]
    before_blinks = blinks - 0.3 + rng.uniform(-0.15, 0.15, len(blinks))
    others = [t for t in np.arange(1, 118, 1.5) if np.abs(blinks - t).min() > 1.2]
    others = rng.permutation(others)
    onsets = np.r_[before_blinks, others]
    names = np.where(np.arange(len(onsets)) < 40, "target", "standard")
    for raw in (sim.raw, sim.without_blinks):
        add_response(raw, onsets)
        raw.set_annotations(mne.Annotations(onsets, 0.1, names))
    return sim.raw, sim.without_blinks


# %%
# Write them as a BIDS study
# --------------------------
# `mne-bids <https://mne.tools/mne-bids>`__ writes files with the names and tables that BIDS
# requires. If your study is in BIDS, you already have this.

folder = tempfile.TemporaryDirectory()
root = Path(folder.name) / "my_study"
truth = {}
for number in range(1, 5):
    raw, truth[f"{number:02}"] = simulate_subject(number)
    path = mne_bids.BIDSPath(subject=f"{number:02}", task="oddball", datatype="eeg", root=root)
    mne_bids.write_raw_bids(raw, path, format="BrainVision", allow_preload=True, verbose="error")
mne_bids.print_dir_tree(root, max_depth=2)

# %%
# Clean all of them
# -----------------
# The same as ``mne_otica run --bids-root my_study --events target standard`` in a terminal. The
# cleaned recordings are written below ``derivatives``; the files of the study are only read.
# ``events`` names the stimuli: as the blinks follow the targets, the ICA would assign a part of the
# response of the brain to the blinks. It is therefore fitted on a copy without the responses. To
# see the difference, the study is cleaned without ``events``, too.

stimuli = ["target", "standard"]
study = mne_otica.clean_study(bids_root=root, events=stimuli, verbose="error")
plain = mne_otica.clean_study(bids_root=root, out=Path(folder.name) / "plain", verbose="error")
for row in study.rows:
    print(f"{row['recording']}: {row['status']}, {row['message']}")

# %%
# In all four, more than 90 % of the average blink was removed, and less than 5 % of the signal away
# from blinks. ``summary.html`` in the output folder has the same figures with links to a report
# for each recording.
#
# Averages
# --------
# ``study.raw`` reads a cleaned recording; the stimuli are its annotations. Epochs need not be
# rejected because of blinks any more.


def averages(raw):
    """Return the average responses to targets and standards."""
    raw = raw.copy().load_data().filter(0.5, 30, verbose="error")
    events, ids = mne.events_from_annotations(raw, {"target": 1, "standard": 2}, verbose="error")
    options = dict(tmin=-0.2, tmax=0.8, baseline=(-0.2, 0), preload=True, verbose="error")
    epochs = mne.Epochs(raw, events, ids, **options)
    return {name: epochs[name].average() for name in ids}


def recorded(subject):
    """Return a recording as it was."""
    path = mne_bids.BIDSPath(subject=subject, task="oddball", datatype="eeg", root=root)
    return mne_bids.read_raw_bids(path, verbose="error")


stages = {
    "with blinks": [averages(recorded(subject)) for subject in truth],
    "cleaned": [averages(plain.raw(f"sub-{subject}_task-oddball")) for subject in truth],
    "cleaned, events given": [
        averages(study.raw(f"sub-{subject}_task-oddball")) for subject in truth
    ],
    "truth": [averages(raw) for raw in truth.values()],
}
grand = {
    stage: {
        name: mne.grand_average([subject[name] for subject in subjects])
        for name in ("target", "standard")
    }
    for stage, subjects in stages.items()
}

fig, axes = plt.subplots(2, 4, figsize=(11, 5), sharex=True, sharey="row", layout="constrained")
for column, (stage, evokeds) in zip(axes.T, grand.items(), strict=True):
    for ax, channel in zip(column, ("Fz", "Pz"), strict=True):
        for (name, evoked), style in zip(evokeds.items(), ("-", "--"), strict=True):
            ax.plot(evoked.times, 1e6 * evoked.get_data(channel)[0], style, label=name)
        ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
        ax.spines[["top", "right"]].set_visible(False)
    column[0].set_title(stage)
    column[1].set_xlabel("Time from stimulus (s)")
axes[0, 0].set_ylabel("Grand average at Fz (µV)")
axes[1, 0].set_ylabel("Grand average at Pz (µV)")
axes[0, 0].legend(frameon=False)
plt.show()

# %%
# With blinks, the average over targets is off by 19 µV at Fz: an effect that does not exist.
# In the cleaned recordings it is off by less than 1 µV there.


def error(stage, name, channel):
    """Return the largest difference of a grand average from the truth, in µV."""
    difference = grand[stage][name].get_data(channel) - grand["truth"][name].get_data(channel)
    return 1e6 * np.abs(difference).max()


errors = {}
for stage in ("with blinks", "cleaned", "cleaned, events given"):
    for channel in ("Fz", "Pz"):
        errors[stage, channel] = error(stage, "target", channel)
        print(f"{stage}, targets at {channel}: off by up to {errors[stage, channel]:.1f} µV")
folder.cleanup()

# %%
# At Pz, 1.4 of the 8 µV of the response are missing if the stimuli are not named: in half of the
# targets, response and blink occur together, and the ICA assigns a part of the response to the
# blink. So it would in any other ICA. With ``events`` it is 0.3 µV.
#
# :doc:`/studies` describes all options, what to look at in a large study, and how to change a
# decision.
