"""Muscle: a flat or rising spectrum above 20 Hz, tonic or in bursts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mne_otica.artifacts.kinds import Feature, Kind, Removal
from mne_otica.artifacts.maps import breadth, rim
from mne_otica.signals.low_rate import robust_scale
from mne_otica.signals.spectra import high_levels

if TYPE_CHECKING:
    from mne_otica.artifacts.components import Components

_BURST = 3.0  # robust standard deviations of the logarithm of the power above 20 Hz
_LEAST_SPREAD = 0.1  # of that logarithm; only a technical source is steadier


def figures(components: Components, k: int) -> dict[str, float]:
    """Return the figures of one component."""
    spectra, one_map = components.spectra, components.maps[:, k]
    return {
        "slope": spectra["slope"][k],
        "high": spectra["high"][k],
        "excess": spectra["excess"][k],
        "unsteadiness": spectra["unsteadiness"][k],
        "loud_slope": spectra["loud_slope"][k],
        "loud_excess": spectra["loud_excess"][k],
        "loud_high": spectra["loud_high"][k],
        "burst": spectra["burst"][k],
        "low": spectra["low"][k],
        "alpha": spectra["alpha"][k],
        "rim": rim(one_map, components.places),
        "breadth": breadth(one_map, components.places),
        "focality": components.focality(k),
        "emg_correlation": float(components.emg_correlations[k]),
    }


def gate(components: Components, k: int) -> str:
    """Return why a component cannot hold muscle."""
    known = np.isfinite(components.spectra["slope"][k])
    return "" if known else "there is no whole second of it to estimate its spectrum"


def events(components: Components, k: int) -> NDArray[np.int64]:
    """Return the first sample of each second in which the muscle is unusually tense."""
    spectra = components.signals.spectra
    level = high_levels(spectra.pick([k]))[0]
    middle = np.median(level)
    spread = max(robust_scale(level), _LEAST_SPREAD)
    tense = level > middle + _BURST * spread
    return spectra.starts[tense & ~np.r_[False, tense[:-1]]]


KIND = Kind(
    name="muscle",
    keys=("muscle",),
    label=lambda figures: "muscle artifact",
    removal=Removal("band", l_freq=15.0),
    event_id=996,
    figures=figures,
    gate=gate,
    events=events,
    features={
        "slope": Feature(
            ((-2.5, -4), (-1.5, -2), (-0.7, 0.5), (0, 2), (1, 2.5)),
            "its spectrum falls above 20 Hz, as the brain's does (exponent {:.1f})",
            "a spectrum that does not fall above 20 Hz (exponent {:.1f})",
        ),
        "high": Feature(
            ((-2, -4), (-1.2, -2), (-0.6, 0.5), (0, 2), (1, 3)),
            "it is stronger below 12 Hz",
            "as much above 20 Hz as below 12",
        ),
        "excess": Feature(
            ((-1, -4), (0, -2), (0.7, 0), (1.5, 1.5), (3, 2)),
            "it is no stronger above 20 Hz than quiet channels are",
            "more above 20 Hz than quiet channels",
            missing=-0.5,
        ),
        "unsteadiness": Feature(
            ((0, -1.5), (0.15, -0.5), (0.4, 0.5), (1, 1), (1.6, 1.5)),
            "it is as steady as the noise of an amplifier",
            "bursts",
        ),
        # The same in the loudest tenth of the time, as a muscle may be tense only briefly
        "loud_slope": Feature(
            ((-2.5, -2), (-1.5, -1), (-0.7, 0.3), (0, 1), (1, 1.5)),
            "its spectrum falls when it is loud, too (exponent {:.1f})",
            "a spectrum that does not fall when it is loud (exponent {:.1f})",
        ),
        "loud_excess": Feature(
            ((-0.5, -2), (0.3, -1), (1, 0.3), (2, 1.5), (3, 2)),
            "it is never stronger above 20 Hz than quiet channels are",
            "bursts far above what quiet channels hold above 20 Hz",
            missing=-0.5,
        ),
        # A movement adds more below 12 Hz, a muscle above 20.
        "loud_high": Feature(
            ((-1, -2), (-0.5, -0.7), (0, 0.5), (0.7, 2)),
            "what is added to it when it is loud is slower than a muscle",
            "more above 20 Hz than below 12 when it is loud",
        ),
        # The only evidence for a muscle that is tense for a few seconds only
        "burst": Feature(((0.3, -0.3), (0.8, 0), (1.5, 1), (2.5, 2.5)), "", "bursts, though few"),
        "low": Feature(
            ((0.6, 0.2), (1.2, -0.5), (2, -2)),
            "most of its power is below 3 Hz, as in eye movements",
        ),
        "alpha": Feature(((0.2, 0.3), (0.6, -0.7), (1.2, -2)), "it has an alpha rhythm"),
        "rim": Feature(
            ((50, -1.5), (75, -0.3), (90, 0.5), (110, 1)),
            "its map is over the top of the head",
            "a map at the rim of the head",
        ),
        "breadth": Feature(
            ((0.05, 0.7), (0.3, 0.2), (0.6, -0.5), (0.9, -1.2)),
            "its map is broad",
            "a map of a small region",
        ),
        "focality": Feature(
            ((0.6, 0), (0.8, -0.5), (0.97, -3)),
            "{:.0%} of its map is one electrode's alone, as with poor contact",
        ),
        # An EMG channel may be that of another muscle, so this is never evidence against.
        "emg_correlation": Feature(
            ((0.3, 0), (0.6, 1), (0.9, 2.5)), "", "agreement with the EMG (r = {:.2f})"
        ),
    },
)
