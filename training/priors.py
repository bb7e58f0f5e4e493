"""What physiology says about the figures of each kind, before any training.

Training starts from these curves: it keeps the knots and the direction of each piece, and changes
the slopes.
"""

from typing import NamedTuple


class Prior(NamedTuple):
    """A curve of one figure: (figure, log odds) pairs, linear in between and constant outside.

    ``missing`` are the log odds of a figure that is not known.
    """

    points: tuple[tuple[float, float], ...]
    missing: float = 0.0


PRIORS: dict[str, dict[str, Prior]] = {
    "blink": {
        # Peaks of pure noise reach 4 to 5 robust standard deviations.
        "height": Prior(((4.5, -4), (5.5, -2), (7, 0), (10, 2), (20, 3), (50, 3.5))),
        # Blinks are similar to each other; movements are not.
        "consistency": Prior(((0.6, -3), (0.75, -1.5), (0.85, 0), (0.92, 1), (0.97, 1.5))),
        # Between 1 and 10 Hz an impulse is 0.05 s wide, a blink 0.08 to 0.2 s,
        # or 0.3 s if the subject is drowsy.
        "width": Prior(((0.04, -4), (0.055, -2.5), (0.075, 0), (0.2, 0), (0.3, -0.7), (0.5, -3))),
        # Volts at the channel that sees it best: 50 to 500 uV.
        "amplitude": Prior(
            (
                (8e-06, -4),
                (2e-05, -2),
                (4e-05, 0),
                (0.0002, 1),
                (0.0006, 1),
                (0.001, 0),
                (0.003, -2),
            )
        ),
        # One sign: slow waves and jumps swing back. A high-pass at 1 Hz gives about a third.
        "rebound": Prior(((0.25, 0), (0.45, -1.5), (0.7, -3.5), (1.2, -5))),
        # The lid takes about 0.1 s to close; a pop takes none.
        "onset": Prior(((0.1, -5), (0.17, -3.5), (0.25, 0), (0.75, 0), (0.9, -2))),
        "events": Prior(((1, -2.5), (2, -1.5), (3, -0.5), (4, 0))),
        # Bursts of events beyond the first, over how many this length of recording should show.
        "recurrence": Prior(((0, -4), (0.5, -1), (1, 0), (2, 0.5))),
        # Nobody blinks like a clock; a head that is shaken does, and so does a heart.
        "evenness": Prior(((0.3, 0), (0.5, -1), (0.8, -3))),
        # Lids return to where they were; eyes that move do not.
        "shift": Prior(((0.3, 0), (0.6, -0.5), (1, -1.5), (2, -3))),
        # Correlation with the map of two eyes. Without a map, the time course has to
        # be clearer.
        "frontality": Prior(((0, -4), (0.4, -2.5), (0.6, -0.5), (0.8, 1), (0.95, 2)), missing=-1.2),
        # Eyes that turn while the lid closes may leave little of the lid's map.
        "eye_share": Prior(((0.4, -0.5), (0.7, 0), (0.9, 0.5), (0.97, 1))),
        # Absolute correlation. A horizontal EOG knows nothing of blinks, so never against; an
        # EOG sees frontal brain waves too, so never enough by itself.
        "eog_correlation": Prior(((0.4, 0), (0.6, 0.5), (0.85, 1.5))),
        # Share of the large deflections that are at the blinks of another component, beyond
        # chance: what else happens when the lid closes, and never otherwise?
        "coincidence": Prior(((0.5, 0), (0.75, 2), (0.95, 4))),
    },
    "eye movement": {
        "eye_share": Prior(
            ((0.5, -4), (0.75, -1.5), (0.87, 0.5), (0.93, 2), (0.98, 3)), missing=-2.5
        ),
        "step_rate": Prior(((0, -1), (3, -0.3), (10, 0.5), (60, 0.5), (200, 0))),
        "balance": Prior(((0.1, -1), (0.4, 0), (0.8, 0.5))),
        "lopsided": Prior(((0.3, 0.5), (1, -0.5), (2.5, -2.5), (5, -4))),
        "low": Prior(((0, -2.5), (0.5, -1), (1, 0.5), (1.5, 1.5), (2.5, 3))),
        # Smooth pursuit and slow roving eye movements are slower, and have no steps.
        "drift": Prior(((0, -0.5), (0.2, 0), (0.6, 1), (1, 1.5))),
        "high": Prior(((-2, 0.5), (-1, 0), (0, -2))),
        "eog_correlation": Prior(((0.1, -4), (0.3, -1), (0.5, 0.5), (0.8, 3))),
    },
    "heartbeat": {
        "regularity": Prior(((3, -4), (6, -2), (10, 1), (15, 3), (30, 4))),
        # A QRS complex leaves a line between beats; a rhythm does not, nor does a square wave.
        "flat": Prior(((0.2, -4), (0.5, -2), (0.7, 0), (0.9, 1))),
        "rate": Prior(((30, -1), (40, 0), (120, 0), (160, -1), (220, -2))),
        "height": Prior(((0.5, -4), (1, -2), (1.5, 0), (2, 1), (3, 2))),
        # The heart is far from all electrodes; a square wave is in one of them.
        "focality": Prior(((0.5, 0), (0.7, -1), (0.9, -4))),
    },
    "muscle": {
        "slope": Prior(((-2.5, -4), (-1.5, -2), (-0.7, 0.5), (0, 2), (1, 2.5))),
        "high": Prior(((-2, -4), (-1.2, -2), (-0.6, 0.5), (0, 2), (1, 3))),
        "excess": Prior(((-1, -4), (0, -2), (0.7, 0), (1.5, 1.5), (3, 2)), missing=-0.5),
        "unsteadiness": Prior(((0, -1.5), (0.15, -0.5), (0.4, 0.5), (1, 1), (1.6, 1.5))),
        # The same in the loudest tenth of the time, as a muscle may be tense only briefly
        "loud_slope": Prior(((-2.5, -2), (-1.5, -1), (-0.7, 0.3), (0, 1), (1, 1.5))),
        # A movement adds more below 12 Hz, a muscle above 20.
        "loud_high": Prior(((-1, -2), (-0.5, -0.7), (0, 0.5), (0.7, 2))),
        # The only evidence for a muscle that is tense for a few seconds only
        "burst": Prior(((0.3, -0.3), (0.8, 0), (1.5, 1), (2.5, 2.5))),
        "focality": Prior(((0.6, 0), (0.8, -0.5), (0.97, -3))),
        # An EMG channel may be that of another muscle, so this is never evidence against.
        "emg_correlation": Prior(((0.3, 0), (0.6, 1), (0.9, 2.5))),
    },
    "electrode": {
        "focality": Prior(((0.3, -5), (0.5, -3), (0.7, 0), (0.85, 2), (0.95, 4))),
        # With dense electrodes less is enough: brain topographies fall off slowly with distance.
        "sharpness": Prior(((-1.2, -3), (-0.8, -1.5), (-0.4, 0), (0, 2), (0.5, 3))),
        # A pop is limited to one electrode even if its component is not.
        "large_focality": Prior(((0.3, -2), (0.6, -0.5), (0.85, 1), (0.95, 2))),
        "kurtosis": Prior(((0.3, 0), (1, 0.5), (2, 2))),
        "low": Prior(((0.5, 0), (1.2, 0.7), (2, 1.5))),
        "drift": Prior(((0.1, 0), (0.5, 0.5), (1.2, 1.5))),
        "unsteadiness": Prior(((0.1, 0), (0.5, 0.3), (1.5, 1))),
        # If few electrodes are near the eyes, a blink may be limited to nearly one electrode.
        "eye_share": Prior(((0.7, 0), (0.85, -1), (0.95, -3))),
    },
}
