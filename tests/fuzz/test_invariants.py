"""What holds for any recording: nothing else changes, and the words agree with the data."""

import re
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from numpy.testing import assert_allclose, assert_array_equal

from mne_otica import clean_epochs, clean_raw
from mne_otica.evaluation.sentences import LONGEST
from mne_otica.signals.unmixing import maps_in_volts
from tests.fuzz.strategies import Made, epoched, files, made

# Of examples in all; made-up recordings take a third of a second each.
DAILY, THOROUGH = 50, 2000
ALLOWED = "Only .* s of|microvolts|longer than the signal|did not converge|only one component"
REFUSED = (
    "constant|no finite value|Fewer than 2|at least 2|All epochs have NaN|too few|no samples to fit"
    "|rank 1, so there is nothing to separate"
)


def cleaned(function, made, *args):
    """Call a function that may refuse a recording, but only in words that help."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=ALLOWED, category=RuntimeWarning)
        try:
            return function(*args, artifacts=made.artifacts, removal=made.removal)
        except ValueError as error:
            if re.search(REFUSED, str(error)):
                return None
            raise


def check_words(result):
    """Check that no sentence is empty, long, or has figures that are none."""
    sentences = re.split(r"\. (?=[a-z])", result.verdict)
    for text in (*sentences, *(value for _, value in result.summary())):
        assert text.strip()
        assert "nan" not in re.findall(r"[a-z]+", text)
        assert not re.search(r"; ;|, ,|\(\)|: ?$|; ?$", text), text
    for text in sentences:
        assert len(text) <= LONGEST, text
        shares = [float(x) for x in re.findall(r"(-?[\d.]+) ?%", text)]
        assert all(0 <= share <= 100 for share in shares), text


def check_status(result, changed):
    """Check that the status is what happened to the data."""
    assert changed == (result.status in ("cleaned", "poor")) == bool(result.ica.exclude)
    removed = [one for one in result.kinds.values() if one.components]
    assert sorted({k for one in removed for k in one.components}) == sorted(result.ica.exclude)
    assert (result.status == "poor") == any(one.poor for one in removed)
    for one in removed:
        assert one.gone is None or one.gone > 0
        assert not set(one.components) & set(one.not_removed)


def check_rank(result):
    """Check that a loss of rank is said."""
    for one in result.kinds.values():
        if one.harm is not None and one.harm.rank_after < one.harm.rank_before:
            assert "rank lower by" in result.verdict


def same(one, other):
    """Return whether two arrays are equal to the bit."""
    return one.shape == other.shape and one.tobytes() == other.tobytes()


def check_raw(made, folder):
    """Clean a recording, and check that all is as it should be."""
    raw = made.read(folder)
    data, bads, annotations = raw.get_data(), list(raw.info["bads"]), raw.annotations.copy()
    result = cleaned(clean_raw, made, raw)
    assert same(raw.get_data(), data)
    assert raw.info["bads"] == bads
    assert raw.annotations == annotations
    if result is None:
        return
    after = result.raw.get_data()
    part = result.removed.any(axis=0) if len(result.removed) else np.zeros(raw.n_times, bool)
    assert same(after[:, ~part], data[:, ~part])
    picks = [raw.ch_names.index(name) for name in result.ica.ch_names]
    others = np.setdiff1d(np.arange(len(data)), picks)
    assert same(after[others], data[others])
    removed = maps_in_volts(result.ica)[:, result.ica.exclude] @ result.removed
    size = np.nanmax(np.abs(data))
    assert_allclose(after[picks] + removed, data[picks], rtol=0, atol=1e-12 * size)
    check_words(result)
    check_status(result, not np.array_equal(after, data, equal_nan=True))
    check_rank(result)
    again = cleaned(clean_raw, made, raw)
    assert same(again.raw.get_data(), after)
    assert again.verdict == result.verdict


def check_epochs(made):
    """Clean epochs with and without their recording."""
    raw = made.raw()
    epochs = made.cut(raw)
    data = epochs.get_data()
    for args in ((epochs,), (epochs, raw)):
        result = cleaned(clean_epochs, made, *args)
        assert same(epochs.get_data(), data)
        if result is None:
            continue
        after = result.epochs.get_data()
        assert_array_equal(np.isnan(after), np.isnan(data))
        check_words(result)
        if len(args) == 2:
            check_status(result, not np.array_equal(result.raw.get_data(), raw.get_data(), True))
            # Suspects are bad in the result, so that a projector would leave them out.
            clean = result.raw.copy()
            clean.info["bads"] = raw.info["bads"]
            expected = made.cut(clean).get_data()
            size = np.nanmax(np.abs(raw.get_data()))
            assert_allclose(after, expected, rtol=0, atol=1e-9 * size)
        else:
            check_status(result, not np.array_equal(after, data, equal_nan=True))


def test_a_suspect_channel_lowers_the_rank_of_projected_epochs_once_more():
    """The reference of the channels that are left is another one."""
    epochs = {"baseline": None, "detrend": 0, "tmax": 1.5, "decim": 1, "preload": True}
    options = dict(bad=True, reference="projection", cropped=True, epochs=epochs)
    check_epochs(Made(seed=2902, spoiled="loud", **options))


def test_epochs_with_a_constant_channel_are_those_of_their_recording():
    epochs = {"baseline": (None, 0), "detrend": None, "tmax": 0.8, "decim": 1, "preload": False}
    check_epochs(Made(16, n_blinks=0, seed=255, spoiled="constant", bad=True, epochs=epochs))


def test_epochs_at_a_rate_without_an_alpha_rhythm():
    epochs = {"baseline": None, "detrend": 1, "tmax": 1.5, "decim": 3, "preload": False}
    options = dict(bad=True, reference="projection", epochs=epochs)
    check_epochs(Made(4, 32.0, 12, 1, seed=1123, **options))


def test_a_kind_whose_average_is_not_reduced_stays_in(tmp_path):
    options = dict(spoiled="loud", boundary=True, bad=True, artifacts="all")
    check_raw(Made(5, 100.0, 20, seed=214, **options), tmp_path)


def test_a_blink_whose_average_is_not_reduced_stays_in_epochs():
    epochs = {"baseline": None, "detrend": 0, "tmax": 0.8, "decim": 1, "preload": True}
    options = dict(spoiled="step", bad=True, cropped=True, epochs=epochs)
    check_epochs(Made(5, 32.0, 12, 10, seed=477, **options))


def search(strategy, n_examples, check):
    """Check that many examples; they are small, so that none need be made smaller."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]

    @settings(max_examples=n_examples, phases=[Phase.generate], suppress_health_check=checks)
    @given(made=strategy)
    def each(made):
        check(made)

    each()


def both(share):
    """Return a decorator that makes a daily test, and a thorough one."""
    marks = [pytest.mark.slow, pytest.mark.timeout(7200)]
    thorough = pytest.param(int(THOROUGH * share), marks=marks)
    return pytest.mark.parametrize("n_examples", [int(DAILY * share), thorough])


@both(0.5)
def test_any_recording(n_examples, tmp_path):
    search(made(), n_examples, partial(check_raw, folder=tmp_path))


@both(0.2)
def test_any_file_that_is_not_loaded(n_examples, tmp_path):
    search(files(), n_examples, partial(check_raw, folder=tmp_path))


@both(0.3)
def test_any_epochs(n_examples):
    search(epoched(), n_examples, check_epochs)
