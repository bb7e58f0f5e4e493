"""From evidence to a score, with the reason in words."""

from __future__ import annotations

import numpy as np

from mne_otica.artifacts._events import Evidence

# Each test turns a figure into points for or against a blink, which add up to log odds. They
# come from physiology, not from a fit to data: (figure, points) pairs, straight lines between
# them, constant outside.
POINTS = {
    # Peaks of pure noise reach 4 to 5 robust standard deviations.
    "height": ((4.5, -4), (5.5, -2), (7, 0), (10, 2), (20, 3), (50, 3.5)),
    # The lid always moves the same way; a movement never does.
    "consistency": ((0.6, -3), (0.75, -1.5), (0.85, 0), (0.92, 1), (0.97, 1.5)),
    # Between 1 and 10 Hz an impulse is 0.05 s wide, a blink 0.08 to 0.2 s,
    # or 0.3 s if the subject is drowsy.
    "width": ((0.04, -4), (0.055, -2.5), (0.075, 0), (0.2, 0), (0.3, -0.7), (0.5, -3)),
    # Spread of the widths over their median: a lid is a machine, a movement is not.
    "unevenness": ((0.2, 0), (0.4, -1.5), (0.7, -3)),
    # Volts at the channel that sees it best: 50 to 500 uV.
    "amplitude": ((8e-6, -4), (20e-6, -2), (40e-6, 0), (2e-4, 1), (6e-4, 1), (1e-3, 0), (3e-3, -2)),
    # One sign: slow waves and jumps swing back. A high-pass at 1 Hz gives about a third.
    "rebound": ((0.25, 0), (0.45, -1.5), (0.7, -3.5), (1.2, -5)),
    # The lid takes about 0.1 s to close; a pop takes none.
    "onset": ((0.1, -5), (0.17, -3.5), (0.25, 0), (0.75, 0), (0.9, -2)),
    # Per minute.
    "rate": ((45, 0), (70, -1.5), (100, -4)),
    "events": ((1, -2.5), (2, -1.5), (3, -0.5), (4, 0)),
    # Bursts of events beyond the first, over how many this length of recording should show.
    "recurrence": ((0, -4), (0.5, -1), (1, 0.5)),
    # Correlation with the map of two eyes.
    "frontality": ((0, -4), (0.4, -2.5), (0.6, -0.5), (0.8, 1), (0.95, 2)),
    # Share of the map that is one electrode's alone; a blink reaches its neighbours.
    "focality": ((0.7, 0), (0.85, -1.5), (0.95, -4)),
    # Absolute correlation. A horizontal EOG knows nothing of blinks, so never against; an
    # EOG sees frontal brain waves too, so never enough by itself.
    "eog_correlation": ((0.4, 0), (0.6, 0.5), (0.85, 1.5)),
    # Share of the large deflections that are at the blinks of another component, beyond
    # chance: what else happens when the lid closes, and never otherwise?
    "coincidence": ((0.5, 0), (0.75, 2), (0.95, 4)),
}
_PRIOR = -1.0  # about one candidate in four that pass the gate holds blinks
_NO_GEOMETRY = -1.2  # where no map can tell, the time course has to be clearer

_AGAINST = {
    "height": "its peaks are no higher than noise ({:.1f} robust SD)",
    "consistency": "its events differ from each other (r = {:.2f}), as movements do",
    "width": "its events last {:.0f} ms at half height, a blink 80 to 400",
    "unevenness": "its events vary in length ({:.0%}), as movements do",
    "amplitude": "its events measure {:.0f} uV, a blink 50 to 500",
    "rebound": "its events swing to the other side ({:.0%}), as jumps and slow waves do",
    "onset": "its events start or stop too suddenly for a lid (onset {:.0%} of the width)",
    "rate": "{:.0f} events a minute are too many for blinks",
    "events": "it has too few events ({:.0f})",
    "recurrence": "its events come in one burst and do not recur",
    "frontality": "its map is not that of the eyes (r = {:.2f})",
    "geometry": "neither positions nor channel names tell where the eyes are",
    "focality": "{:.0%} of its map is one electrode's alone, as with pops and poor contact",
    "eog_correlation": "it follows the EOG only weakly (r = {:.2f})",
}
_FOR = {
    "height": "high peaks ({:.0f} robust SD)",
    "consistency": "events alike (r = {:.2f})",
    "frontality": "the map of the eyes (r = {:.2f})",
    "eog_correlation": "agreement with the EOG (r = {:.2f})",
    "recurrence": "events that recur",
    "coincidence": "its large deflections at the blinks of the best ({:.0%} beyond chance)",
}
_UNIT = {"width": 1e3, "amplitude": 1e6}


def figures_of(evidence: Evidence, duration: float) -> dict[str, float]:
    """Return the figures of a time course by the names of their tests."""
    few = evidence.n_events < 3
    expected = min(1.5, duration / 60)
    return {
        "height": evidence.height,
        "consistency": evidence.consistency,
        "width": evidence.width,
        "unevenness": evidence.unevenness,
        "rebound": evidence.rebound,
        "onset": evidence.onset,
        "rate": evidence.rate,
        "events": float(evidence.n_events),
        # One or two events pay for being few; they cannot recur as well.
        "recurrence": np.nan if few else (evidence.bursts - 1) / max(expected, 1e-9),
    }


def weigh(figures: dict[str, float]) -> dict[str, float]:
    """Return the points of each test; figures that are not known give none."""
    points = {}
    if "frontality" in figures and not np.isfinite(figures["frontality"]):
        points["geometry"] = _NO_GEOMETRY
    for name, figure in figures.items():
        if np.isfinite(figure):
            if name == "frontality" and figure < 0:
                # A blink is positive at the front. Some amplifiers are wired the other way
                # round, so the opposite is believed too, but less readily.
                figure = -0.85 * figure
            at, value = zip(*POINTS[name], strict=True)
            points[name] = float(np.interp(figure, at, value))
    return points


def score_of(points: dict[str, float]) -> float:
    """Return the score, from 0 to 1, that the points add up to."""
    return float(1 / (1 + np.exp(-(_PRIOR + sum(points.values())))))


def explain(figures: dict[str, float], points: dict[str, float], for_it: bool) -> str:
    """Return the strongest two reasons for or against in words."""
    words, sign = (_FOR, 1) if for_it else (_AGAINST, -1)
    order = sorted((name for name in points if name in words), key=lambda n: -sign * points[n])
    reasons = [
        words[name].format(figures.get(name, 0) * _UNIT.get(name, 1))
        for name in order[:2]
        if sign * points[name] > 0
    ]
    return ("has " if for_it else "") + (" and ".join(reasons) or "weak evidence")
