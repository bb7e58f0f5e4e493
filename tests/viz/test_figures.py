import dataclasses
import json

import matplotlib.pyplot as plt
import mne
import numpy as np
import pytest
from numpy.testing import assert_allclose

from mne_otica import add_artifact_report, clean_raw, viz
from mne_otica.simulation import simulate_raw


@pytest.fixture(scope="module")
def cleaned():
    """16 channels, 40 s, 12 blinks."""
    return clean_raw(simulate_raw(16, 40, 128.0, n_blinks=12, random_state=3).raw)


@pytest.fixture(scope="module")
def untouched():
    return clean_raw(simulate_raw(16, 40, 128.0, n_blinks=0, random_state=4).raw)


@pytest.fixture(scope="module")
def named():
    """The same blinks without positions, but with the names of a clinic."""
    raw = simulate_raw(16, 40, 128.0, n_blinks=12, random_state=3).raw.set_montage(None)
    return clean_raw(raw.rename_channels(lambda name: f"EEG {name}-Ref"))


@pytest.fixture(scope="module")
def nowhere():
    """The same blinks without positions or names."""
    raw = simulate_raw(16, 40, 128.0, n_blinks=12, random_state=3).raw.set_montage(None)
    return clean_raw(raw.rename_channels({name: f"X{k}" for k, name in enumerate(raw.ch_names)}))


def titles(figure):
    return [ax.get_title() for ax in figure.axes]


def test_blinks_before_and_after(cleaned):
    figure = viz.plot_events(cleaned, n_channels=2, show=False)
    names = cleaned.kinds["blink"].benefit.most_affected(2)
    for name, title in zip(names, titles(figure), strict=True):
        went = cleaned.kinds["blink"].benefit.average_per_channel[
            cleaned.kinds["blink"].benefit.ch_names.index(name)
        ]
        assert title == f"{name}: {went:.0%} of the average removed"
    means = [line for line in figure.axes[0].lines if line.get_label() in ("before", "after")]
    # Readable without colour.
    assert {line.get_linestyle() for line in means} == {"--", "-"}
    before, after = (np.abs(line.get_ydata()).max() for line in means)
    assert before > 3 * after


def test_component_with_its_course(cleaned, untouched):
    figure = viz.plot_component(cleaned, show=False)
    assert titles(figure)[0] == f"ICA{cleaned.ica.exclude[0]:03d}"
    assert titles(figure)[1].startswith("blink")
    assert titles(viz.plot_component(cleaned, component=5, show=False))[0] == "ICA005"
    viz.plot_component(untouched, show=False)


def test_reduction_is_a_map_or_bars(cleaned, named, nowhere):
    for result in (cleaned, named):
        assert viz.plot_benefit_and_harm(result, show=False).axes[0].images
    bars = viz.plot_benefit_and_harm(nowhere, show=False).axes[0].patches
    assert_allclose(
        [bar.get_height() for bar in bars], 100 * nowhere.kinds["blink"].benefit.per_channel
    )


def test_maps_from_names_say_so(cleaned, named):
    for result, told in ((cleaned, False), (named, True)):
        ax = viz.plot_benefit_and_harm(result, show=False).axes[1]
        assert ("at standard positions" in [text.get_text() for text in ax.texts]) == told
        assert ("at standard positions" in "".join(result.report().html)) == told


def test_no_electrode_lies_outside_the_head(named):
    """Those of the forehead are below the equator of the sphere through all of them."""
    ax = viz.plot_benefit_and_harm(named, show=False).axes[1]
    dots = [np.array(artist.get_offsets()) for artist in ax.collections]
    (dots,) = (places for places in dots if len(places) == 16)
    assert np.hypot(*dots.T).max() <= 1 + 1e-9


def test_ten_seconds_of_the_worst_channel(cleaned):
    ax = viz.plot_traces(cleaned, show=False).axes[0]
    assert ax.get_title(loc="left") == cleaned.kinds["blink"].benefit.most_affected(1)[0]
    start, stop = ax.get_xlim()
    assert stop - start == pytest.approx(10)
    times = cleaned.raw.times[cleaned.events[:, 0] - cleaned.raw.first_samp]

    def inside(begin):
        return np.sum((times >= begin) & (times <= begin + 10))

    assert inside(start) == max(inside(time - 0.5) for time in times)
    before, after = (line.get_ydata() for line in ax.lines[:2])
    assert np.ptp(before) > 2 * np.ptp(after)


def test_eye_movements_are_turned_one_way():
    """Saccades go to either side; drawn as they are, their mean would be flat."""
    raw = simulate_raw(32, 90, 200.0, n_blinks=20, random_state=5).raw
    result = clean_raw(raw, artifacts=["blink", "eye movement"])
    turned = result.kinds["eye movement"]
    figure = viz.plot_events(result, kind="eye movement", n_channels=1, show=False)
    before, after = (
        next(line for line in figure.axes[0].lines if line.get_label() == label).get_ydata()
        for label in ("before", "after")
    )
    (name,) = turned.benefit.most_affected(1)
    went = turned.benefit.average_per_channel[turned.benefit.ch_names.index(name)]
    assert went > 0.5
    assert np.ptp(after) < 0.5 * np.ptp(before)
    text = "".join(result.report().html)
    for kind in ("Blink", "Eye movement"):
        assert f"{kind}: removed and kept" in text


def test_what_has_no_events_is_drawn_by_its_spectrum():
    raw = simulate_raw(16, 60, 128.0, n_blinks=14, random_state=3).raw
    result = clean_raw(raw, artifacts="muscle")
    assert result.kinds["muscle"].how == "band"
    assert len(result.plot(show=False).axes) >= 4
    text = "".join(result.report().html)
    assert "Muscle: spectrum" in text
    assert "before and after" not in text
    with pytest.raises(ValueError, match="Nothing was removed at events"):
        viz.plot_events(result, show=False)


def test_spectrum_names_the_change_of_each_band(cleaned):
    ax = viz.plot_band_power(cleaned, show=False).axes[0]
    words = [text.get_text() for text in ax.texts]
    assert words == [
        f"{name}\n{v:+z.1%}" for name, v in cleaned.kinds["blink"].harm.band_power.items()
    ]


def test_one_page(cleaned, untouched, nowhere):
    for result in (cleaned, nowhere):
        figure = result.plot(show=False)
        assert figure.get_suptitle().lower() == result.verdict.lower()
    assert len(untouched.plot(show=False).axes) >= 2


def test_report_tells_of_each_component_and_each_kind(cleaned, untouched):
    report = mne.Report(verbose="error")
    for _ in range(2):  # the second time it is replaced
        assert add_artifact_report(report, cleaned, replace=True) is report
        text = "".join(report.html)
        assert text.count("<figure") == 5
        assert text.count("Topography of ICA") == cleaned.ica.n_components_
        assert text.count("<div class='removed'>") == len(cleaned.ica.exclude)
        assert cleaned.verdict[1:] in text
    untouched = "".join(untouched.report().html)
    assert untouched.count("<figure") == 1
    assert "class='removed'" not in untouched
    assert plt.get_fignums() == []


def test_numbers_of_tables_and_figures_are_one(cleaned):
    """What a figure says of benefit and harm is what the summary has."""
    text = "".join(cleaned.report().html)
    for number in (
        f"{cleaned.kinds['blink'].benefit.average:.0%}",
        f"{cleaned.kinds['blink'].harm.taken_out:.1%}",
    ):
        assert f"<td>{number}" in text
    summary = dict(cleaned.summary())
    figure = viz.plot_benefit_and_harm(cleaned, show=False)
    reduction, harm = (ax.get_title() for ax in figure.axes[:2])
    overall = reduction.split("\n")[1].split()[0]
    assert summary["Reduction of the RMS at blinks, all channels"].startswith(overall)
    assert summary["Removed away from blinks"].startswith(harm.split("\n")[1])


def test_notebook_shows_the_head_of_the_report(cleaned, untouched):
    for result in (cleaned, untouched):
        shown = result._repr_html_()
        assert result.verdict[1:] in shown
        assert "Candidates" in shown
        assert "<script" not in shown
    assert "ICA000" in cleaned._repr_html_() or cleaned.ica.exclude != [0]


def test_names_of_channels_are_no_markup(cleaned):
    told = dataclasses.replace(cleaned, verdict="<script>alert(1)</script>")
    assert "<script>alert" not in told._repr_html_()


def test_report_of_64_channels_is_small(tmp_path):
    raw = simulate_raw(64, 40, 100.0, n_blinks=10, random_state=3).raw
    result = clean_raw(raw, n_components=40)
    result.report().save(tmp_path / "report.html", open_browser=False)
    assert (tmp_path / "report.html").stat().st_size < 3e6


@pytest.mark.parametrize("result", ["cleaned", "untouched"])
def test_saved_files_open_in_mne(result, request, tmp_path):
    result = request.getfixturevalue(result)
    paths = result.save(tmp_path / "new")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "recording-ica.fif",
        "recording_artifacts.html",
        "recording_artifacts.json",
        "recording_clean_raw.fif",
    ]
    raw = mne.io.read_raw_fif(paths["raw"])
    assert_allclose(raw.get_data(), result.raw.get_data(), rtol=1e-5, atol=1e-10)
    assert mne.preprocessing.read_ica(paths["ica"]).exclude == result.ica.exclude
    assert json.loads(paths["sidecar"].read_text(encoding="utf-8")) == result.to_dict()
    assert result.verdict[1:] in paths["report"].read_text(encoding="utf-8")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        result.save(tmp_path / "new")
    assert result.save(tmp_path / "new", overwrite=True) == paths
