"""Files for EEGLAB: what it finds in them, and what comes back."""

import mne
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.io import loadmat

from mne_otica import clean_raw, export_ica_eeglab, read_ica_eeglab
from mne_otica.eeglab import _CLASSES
from mne_otica.simulation import simulate_raw

pytest.importorskip("eeglabio")
# MNE takes the sphere of this montage for a large head, and misses the place of the EOG channel.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Estimated head radius", "ignore:Not setting position of 1 eog"
)


@pytest.fixture(scope="module")
def cleaned():
    """Eight EEG channels and one of the eyes, 20 s, with six blinks; and what came of them."""
    raw = simulate_raw(8, 20, 128.0, n_blinks=6, random_state=0).raw
    eye = mne.io.RawArray(raw.get_data(["Fp1"]), mne.create_info(["VEOG"], 128.0, "eog"))
    raw.add_channels([eye], force_update_info=True)
    return raw, clean_raw(raw)


@pytest.fixture(scope="module")
def written(cleaned, tmp_path_factory):
    raw, result = cleaned
    path = tmp_path_factory.mktemp("eeglab") / "blinks.set"
    export_ica_eeglab(path, raw, result.ica, artifacts=result.artifacts)
    return path, loadmat(path, simplify_cells=True)


def test_activations_are_the_sources(cleaned, written):
    (raw, result), (path, eeg) = cleaned, written
    index = np.asarray(eeg["icachansind"], int) - 1
    activations = eeg["icaweights"] @ eeg["icasphere"] @ eeg["data"][index]
    again = read_ica_eeglab(path)
    for ica in (result.ica, again):
        sources = ica.get_sources(raw).get_data()
        sources -= sources.mean(axis=1, keepdims=True)
        expected = activations - activations.mean(axis=1, keepdims=True)
        assert_allclose(sources, expected, atol=1e-6 * np.abs(expected).max())
    assert again.exclude == result.ica.exclude != []
    assert again.labels_ == {k: sorted(v) for k, v in result.ica.labels_.items() if v}


def test_probabilities_are_where_eeglab_looks_for_those_of_iclabel(cleaned, written):
    result, found = cleaned[1], written[1]["etc"]["ic_classification"]["ICLabel"]
    assert tuple(found["classes"]) == _CLASSES
    shares = found["classifications"]
    assert_allclose(shares.sum(axis=1), 1)
    assert (shares >= 0).all()
    assert found["version"].startswith("mne_otica")
    assert [_CLASSES[k] for k in shares[result.ica.exclude].argmax(axis=1)] == ["Eye"]
    brain = [k for k, label in enumerate(result.artifacts.labels) if label == "brain"]
    assert (shares[brain, -1] == 0).all()
    other = clean_raw(cleaned[0], n_components=4).ica
    with pytest.raises(ValueError, match="pass the artifacts of this ICA"):
        export_ica_eeglab("a.set", cleaned[0], other, artifacts=result.artifacts)


def test_types_of_channels_are_kept(cleaned, written):
    types = [one["type"] for one in written[1]["chanlocs"]]
    assert types == ["EEG"] * 8 + ["EOG"]


def test_nothing_is_marked_in_a_recording_that_is_cleaned(cleaned, written, tmp_path):
    result = cleaned[1]
    path = export_ica_eeglab(tmp_path / "cleaned.set", result.raw, result.ica)
    marked = [loadmat(one, simplify_cells=True)["reject"] for one in (written[0], path)]
    assert marked[0]["gcompreject"].sum() == 1
    assert marked[1]["gcompreject"].sum() == 0
    assert read_ica_eeglab(path).exclude == []
    assert read_ica_eeglab(path).labels_
