import json

import matplotlib.pyplot as plt
import mne
import numpy as np
import pytest
from numpy.testing import assert_allclose

from mne_otica import add_blink_report, clean_raw, viz
from mne_otica.simulation import simulate_raw


@pytest.fixture(scope="module")
def cleaned():
    """16 channels, 40 s, 12 blinks."""
    return clean_raw(simulate_raw(16, 40, 128.0, n_blinks=12, random_state=3).raw)


@pytest.fixture(scope="module")
def untouched():
    return clean_raw(simulate_raw(16, 40, 128.0, n_blinks=0, random_state=4).raw)


@pytest.fixture(scope="module")
def nowhere():
    """The same blinks without positions."""
    raw = simulate_raw(16, 40, 128.0, n_blinks=12, random_state=3).raw
    return clean_raw(raw.set_montage(None))


def titles(figure):
    return [ax.get_title() for ax in figure.axes]


def test_blinks_before_and_after(cleaned):
    figure = viz.plot_blinks(cleaned, n_channels=2, show=False)
    names = cleaned.benefit.most_affected(2)
    for name, title in zip(names, titles(figure), strict=True):
        assert title == f"{name}: {cleaned.benefit.over([name]):.0%} less"
    means = [line for line in figure.axes[0].lines if line.get_label() in ("before", "after")]
    # Readable without colour.
    assert {line.get_linestyle() for line in means} == {"--", "-"}
    before, after = (np.abs(line.get_ydata()).max() for line in means)
    assert before > 3 * after


def test_component_and_its_kurtosis(cleaned, untouched):
    figure = viz.plot_component(cleaned, show=False)
    assert titles(figure)[0] == f"ICA{cleaned.ica.exclude[0]:03d}"
    assert "kurtosis" in titles(figure)[1]
    assert titles(viz.plot_component(cleaned, component=5, show=False))[0] == "ICA005"
    viz.plot_component(untouched, show=False)


def test_reduction_is_a_map_or_bars(cleaned, nowhere):
    ax = viz.plot_reduction(cleaned, show=False).axes[0]
    assert not ax.patches or ax.images
    bars = viz.plot_reduction(nowhere, show=False).axes[0].patches
    assert_allclose([bar.get_height() for bar in bars], 100 * nowhere.benefit.per_channel)


def test_spectrum_names_the_change_of_each_band(cleaned):
    ax = viz.plot_band_power(cleaned, show=False).axes[0]
    words = [text.get_text() for text in ax.texts]
    assert words == [f"{name}\n{v:+.0%}" for name, v in cleaned.harm.band_power.items()]


def test_one_page(cleaned, untouched, nowhere):
    for result in (cleaned, nowhere):
        figure = result.plot(show=False)
        assert figure.get_suptitle().lower() == result.verdict.lower()
    assert len(untouched.plot(show=False).axes) >= 2


def test_report_has_four_figures_and_a_table(cleaned, untouched):
    report = mne.Report(verbose="error")
    for _ in range(2):  # the second time it is replaced
        assert add_blink_report(report, cleaned, replace=True) is report
        text = "".join(report.html)
        assert text.count("<figure") == 4
        assert text.count("<table") == 2  # one is the list of candidates, folded
        assert cleaned.verdict in text
    assert "".join(untouched.report().html).count("<figure") == 1
    assert plt.get_fignums() == []


@pytest.mark.parametrize("result", ["cleaned", "untouched"])
def test_saved_files_open_in_mne(result, request, tmp_path):
    result = request.getfixturevalue(result)
    paths = result.save(tmp_path / "new")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "recording_blink-ica.fif",
        "recording_blink.html",
        "recording_blink.json",
        "recording_clean_raw.fif",
    ]
    raw = mne.io.read_raw_fif(paths["raw"])
    assert_allclose(raw.get_data(), result.raw.get_data(), rtol=1e-5, atol=1e-10)
    assert mne.preprocessing.read_ica(paths["ica"]).exclude == result.ica.exclude
    assert json.loads(paths["sidecar"].read_text()) == result.to_dict()
    assert result.verdict in paths["report"].read_text()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        result.save(tmp_path / "new")
    assert result.save(tmp_path / "new", overwrite=True) == paths
