"""clean_raw on kinds of recordings that laboratories have: right component and times, or nothing.

Run ``python -m benchmarks.laboratories`` (some ten minutes on one core); ``--write`` keeps the
table. Half of the recordings of each kind have no blinks, and nothing may be removed from them.
"""

import argparse
import warnings

import mne
import numpy as np

from benchmarks.blinks import blink_component, compare_times
from benchmarks.controls import with_controls
from benchmarks.results import show
from mne_otica import clean_raw
from mne_otica.simulation import simulate_raw

MINUTE = 60.0


def with_bad_channels(sim, rng):
    """Return the recording with a flat, a noisy and a popping channel that no one marked."""
    raw = sim.raw.copy()
    flat, noisy, popping = rng.choice(len(raw.ch_names), 3, replace=False)
    raw._data[flat] = 0
    raw._data[noisy] += 300e-6 * rng.standard_normal(raw.n_times)
    for start in rng.integers(raw.n_times, size=12):
        decay = np.exp(-np.arange(raw.n_times - start) / rng.uniform(20, 80))
        raw._data[popping, start:] += rng.choice([-3e-3, 3e-3]) * decay
    return raw


def with_clinical_names(sim, rng):
    """Return the recording without positions, with names as a clinic writes them."""
    raw = sim.raw.copy().set_montage(None)
    old = {"T7": "T3", "T8": "T4", "P7": "T5", "P8": "T6"}
    return raw.rename_channels(lambda name: f"EEG {old.get(name, name)}-Ref")


def with_low_rank(sim, rng):
    """Return the recording with interpolated channels and an average reference."""
    raw = sim.raw.copy()
    raw.info["bads"] = list(rng.choice(raw.ch_names, len(raw.ch_names) // 4, replace=False))
    return raw.interpolate_bads(reset_bads=True).set_eeg_reference("average")


def high_density(n_blinks, rng, seed):
    """128 channels; a flat, a noisy and a popping one that nobody marked."""
    names = mne.channels.make_standard_montage("brainproducts-RNP-BA-128").ch_names[:128]
    sim = simulate_raw(names, 2.5 * MINUTE, 128.0, n_blinks=n_blinks, random_state=seed)
    return sim, with_bad_channels(sim, rng)


def mobile(n_blinks, rng, seed):
    """14 channels on the move: pops of millivolts and swinging cables."""
    trouble = dict(pops=20, pop_amplitude=3e-3, movements=4, noisy_channels=1)
    sim = simulate_raw(14, 2 * MINUTE, 128.0, n_blinks=n_blinks, random_state=seed, **trouble)
    return sim, sim.raw


def clinical(n_blinks, rng, seed):
    """19 channels with the names of a clinic and no positions."""
    sim = simulate_raw(19, 3 * MINUTE, 200.0, n_blinks=n_blinks, random_state=seed)
    return sim, with_clinical_names(sim, rng)


def low_rank(n_blinks, rng, seed):
    """64 channels of rank 47: 16 interpolated, average reference."""
    sim = simulate_raw(64, 3 * MINUTE, 128.0, n_blinks=n_blinks, random_state=seed)
    return sim, with_low_rank(sim, rng)


def sleep(n_blinks, rng, seed):
    """8 channels of sleep: slow waves, no blinks at all."""
    sim = simulate_raw(
        8,
        4 * MINUTE,
        128.0,
        n_blinks=0,
        saccades=False,
        pops=3,
        extra=with_controls(sleep=True),
        random_state=seed,
    )
    return sim, sim.raw


KINDS = {
    "128 channels, bad ones unmarked": high_density,
    "mobile, pops of 3 mV": mobile,
    "clinical names, no positions": clinical,
    "rank 47 of 64": low_rank,
    "sleep": sleep,
}


def row(label, make, seeds):
    """Clean recordings of one kind, and count what came out right."""
    right, none, n_none, found, extra = [], 0, 0, [], []
    for seed in seeds:
        rng = np.random.default_rng([7, seed])
        sim, raw = make(int(rng.integers(8, 40)) if seed % 2 else 0, rng, seed)
        cleaned = clean_raw(raw)
        if not len(sim.blink_events):
            n_none += 1
            none += not cleaned.ica.exclude
            continue
        truth = blink_component(cleaned.ica, raw.copy().filter(1.0, 40.0), sim)
        right.append(cleaned.ica.exclude[:1] == [truth])
        tolerance = 0.1 * raw.info["sfreq"]
        times = compare_times(cleaned.events.events[:, 0], sim.blink_events[:, 0], tolerance)
        found.append(times[0])
        extra.append(times[1])
    if not right:
        return f"| {label} | | {none} of {n_none} | | |"
    return (
        f"| {label} | {sum(right)} of {len(right)} | {none} of {n_none} | {np.mean(found):.0%} | "
        f"{np.mean(extra):.0%} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=12, help="recordings of each kind")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--write", action="store_true", help="keep the table in RESULTS.md")
    args = parser.parse_args()
    mne.set_log_level("ERROR")
    seeds = range(args.first, args.first + args.n)

    def lines():
        yield "| kind | right component | nothing where there is none | times found | extra |"
        yield "|---|---|---|---|---|"
        for label, make in KINDS.items():
            yield row(label, make, seeds)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        show(f"Kinds of recordings: seeds {seeds[0]} to {seeds[-1]}", lines(), args.write)


if __name__ == "__main__":
    main()
