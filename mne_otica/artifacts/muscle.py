"""Muscle: a flat or rising spectrum above 20 Hz, tonic or in bursts."""

import numpy as np

from mne_otica.artifacts.components import Components
from mne_otica.artifacts.kinds import Kind, Removal, Words
from mne_otica.signals.low_rate import robust_scale
from mne_otica.signals.spectra import high_levels
from mne_otica.utils.arrays import Samples


def figures(components: Components, k: int) -> dict[str, float]:
    """Return the figures of one component."""
    names = ("slope", "high", "excess", "unsteadiness", "loud_slope", "loud_high", "burst")
    return {name: components.spectra[name][k] for name in names} | {
        "focality": components.focality(k),
        "emg_correlation": float(components.emg_correlations[k]),
    }


def gate(components: Components, k: int) -> str:
    """Return why a component cannot hold muscle."""
    known = np.isfinite(components.spectra["slope"][k])
    return "" if known else "there is no whole second of it to estimate its spectrum"


def events(components: Components, k: int) -> Samples:
    """Return the first sample of each second in which the muscle is unusually tense."""
    spectra = components.signals.spectra
    level = high_levels(spectra.pick([k]))[0]
    # By three robust standard deviations of the logarithm of the power
    tense = level > np.median(level) + 3 * robust_scale(level)
    return spectra.starts[tense & ~np.r_[False, tense[:-1]]]


KIND = Kind(
    name="muscle",
    keys=("muscle",),
    label="muscle artifact",
    removal=Removal("band", l_freq=15.0),
    event_id=996,
    figures=figures,
    gate=gate,
    events=events,
    words={
        "slope": Words(
            "its spectrum falls above 20 Hz, as the brain's does (slope {:+.1f})",
            "a spectrum that does not fall above 20 Hz (slope {:+.1f})",
        ),
        "high": Words("it is stronger below 12 Hz", "as much above 20 Hz as below 12"),
        "excess": Words(
            "it is no stronger above 20 Hz than quiet channels are",
            "more above 20 Hz than quiet channels",
        ),
        "unsteadiness": Words("it is as steady as the noise of an amplifier", "bursts"),
        "loud_slope": Words(
            "its spectrum falls in bursts, too (slope {:+.1f})",
            "a spectrum that does not fall in bursts (slope {:+.1f})",
        ),
        "loud_high": Words(
            "what bursts add to it is slower than a muscle",
            "more above 20 Hz than below 12 in bursts",
        ),
        "burst": Words("", "bursts, though few"),
        "focality": Words("{:.0%} of its topography is at one electrode, as with poor contact"),
        "emg_correlation": Words("", "agreement with the EMG (r = {:.2f})"),
    },
)
