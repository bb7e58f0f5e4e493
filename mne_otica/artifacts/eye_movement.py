"""Eye movements: saccades and pursuit, horizontal and vertical."""

from mne_otica.artifacts.components import Components
from mne_otica.artifacts.kinds import Kind, Removal, Words
from mne_otica.artifacts.maps import eye_share
from mne_otica.utils.arrays import Samples


def figures(components: Components, k: int) -> dict[str, float]:
    """Return the figures of one component."""
    steps, spectra = components.steps[k], components.spectra
    return {
        "eye_share": eye_share(components.maps[:, k], components.fields, lids=True),
        "step_rate": steps.rate,
        "balance": steps.balance,
        "lopsided": steps.lopsided,
        "low": spectra["low"][k],
        "drift": float(components.drifts[k]),
        "high": spectra["high"][k],
        "eog_correlation": float(components.eog_correlations[k]),
    }


def gate(components: Components, k: int) -> str:
    """Return why a component cannot hold eye movements."""
    return "" if components.prepared.noise[k] > 0 else "it is flat"


def events(components: Components, k: int) -> Samples:
    """Return the samples of the recording in the middle of each step."""
    # From this correlation, the EOG tells the times.
    by_eog = components.eog_correlations[k] >= 0.5
    steps = components.eog_steps if by_eog else components.steps
    return components.prepared.to_input(steps[k].peaks)


KIND = Kind(
    name="eye movement",
    keys=("eye movement", "eog"),
    label="eye blink",
    removal=Removal("events", shape="step"),
    event_id=997,
    figures=figures,
    gate=gate,
    events=events,
    # Without topography and EOG, slow deflections may be anything, unless there are clear steps.
    proof=("eye_share", "eog_correlation"),
    # Among real recordings that the curves had not seen (training.train) this adds 10 of 64 eye
    # movements and no wrong component to what is removed from 0.9; from 0.7, one would be wrong.
    remove=0.8,
    words={
        "eye_share": Words(
            "the topography of eye movements fits at r = {:.2f} only",
            "the topography of eye movements (r = {:.2f})",
        ),
        "step_rate": Words("it has few steps ({:.0f} a minute)", "{:.0f} steps a minute"),
        "balance": Words("its steps go one way", "steps in both directions"),
        "lopsided": Words(
            "its deflections go one way, as blinks and pops do (skewness {:.1f})",
            "deflections to both sides",
        ),
        "low": Words("it does not drift slowly", "most of its power below 3 Hz"),
        "drift": Words("", "slow swings below 1 Hz"),
        "high": Words("its spectrum is as flat as that of muscle or noise"),
        "eog_correlation": Words(
            "it does not follow the EOG (r = {:.2f})", "agreement with the EOG (r = {:.2f})"
        ),
    },
)
