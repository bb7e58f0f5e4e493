"""What the review shows of a study, and what it writes."""

import shutil
import threading
from pathlib import Path

import mne
import pytest
from reviewing import (
    anew,
    decided,
    everything,
    flip,
    number,
    simulated,
    split,
    table_of,
    version,
    written,
)

from mne_otica import clean_study, read_study
from mne_otica.cli import main
from mne_otica.study.components_table import bad_components, edited_text, read_table
from mne_otica.study.review import Refusal, Review

# %% What is shown


def test_worst_come_first(review):
    recordings = review.study()["recordings"]
    assert recordings[0]["label"] == "empty"
    assert recordings[0]["status"] == "failed"
    rows = {row["recording"]: row for row in read_study(review.out).rows}
    assert [one["label"] for one in recordings] == list(rows), "in the order of the summary"


def test_failed_recording_says_why(review):
    assert "0 bytes" in review.study()["recordings"][0]["message"]
    shown = review.recording(0)
    assert shown["components"] == []
    assert "no components" in shown["problem"]
    with pytest.raises(Refusal, match="cannot be shown"):
        review.effect(0, 0)


def test_components_are_those_of_the_table_and_the_ica(review, out):
    shown = review.recording(number(review, "one"))
    ica = mne.preprocessing.read_ica(out / "one_proc-ica_ica.fif")
    assert [int(row["component"]) for row in shown["components"]] == list(range(ica.n_components_))
    removed = [k for k, row in enumerate(shown["components"]) if row["status"] == "bad"]
    assert removed == ica.exclude
    assert "blink" in shown["components"][removed[0]]["status_description"]
    assert shown["channels"] == ica.ch_names
    assert len(shown["topographies"]["maps"]) == ica.n_components_


def test_course_and_before_and_after_are_those_of_the_recording(review, out, recordings):
    """Blinks are where they are known to be, and what is drawn spans what the data span."""
    index = number(review, "one")
    removed, _ = split(out)
    assert review.component(index, removed[0])["seconds"] == 30
    effect = review.effect(index, removed[0])
    for blink in simulated(0).blink_events[:, 0] / 100:
        assert min(abs(blink - event) for event in effect["events"]) < 0.1
    assert effect["removed"] == removed
    fp1 = review.recording(index)["channels"].index("Fp1")
    effect = review.effect(index, removed[0], fp1, 0.0)
    raw = mne.io.read_raw(recordings[1], preload=True).filter(1, 40)
    shown = 1e6 * raw.get_data("Fp1")[0, : int(10 * raw.info["sfreq"])]
    assert max(effect["before"]) == pytest.approx(shown.max(), abs=0.01)  # as it is rounded
    assert min(effect["before"]) == pytest.approx(shown.min(), abs=0.01)
    average = effect["average"]
    assert max(average["after"]) < 0.5 * max(average["before"])


def test_window_without_a_start_has_as_many_events_as_any(review):
    index = number(review, "two")
    effect = review.effect(index, 0, 0)
    events, length = effect["events"], effect["length"]

    def inside(start):
        return sum(start <= event <= start + length for event in events)

    assert inside(effect["start"]) >= max(inside(event) for event in events) - 1


def test_recording_without_positions_has_maps_at_standard_ones(recordings, tmp_path):
    raw = mne.io.read_raw(recordings[1], preload=True).set_montage(None)
    raw.save(tmp_path / "named_raw.fif")
    names = {name: f"E{k}" for k, name in enumerate(raw.ch_names)}
    raw.rename_channels(names).save(tmp_path / "unnamed_raw.fif")
    clean_study(sorted(tmp_path.glob("*.fif")), tmp_path / "out")
    review = Review(tmp_path / "out", "Ann")
    shown = {one: review.recording(number(review, one)) for one in ("named", "unnamed")}
    assert shown["named"]["topographies"]["source"] == "standard"
    assert shown["unnamed"]["topographies"]["maps"] is None
    assert len(shown["unnamed"]["topographies"]["weights"]) == 10


def test_what_the_study_knows_is_shown_without_the_recording(recordings, tmp_path):
    path = Path(shutil.copy(recordings[1], tmp_path / "gone_raw.fif"))
    clean_study([path], tmp_path / "out")
    path.unlink()
    review = Review(tmp_path / "out", "Ann")
    (blink,) = [one for one in review.study()["recordings"][0]["kinds"] if one["kind"] == "blink"]
    assert blink["benefit"] > 0.5
    shown = review.recording(0)
    assert not shown["has_signals"]
    assert len(shown["components"]) == len(shown["topographies"]["maps"])
    assert b"<html" in review.report(0)
    with pytest.raises(Refusal, match="does not exist"):
        review.effect(0, 0)
    assert flip(review, "gone", 3, "bad")["components"][3]["status"] == "bad"


def test_folder_without_a_study(tmp_path, capsys):
    assert main(["review", str(tmp_path), "--no-browser"]) == 1
    assert "holds no study" in capsys.readouterr().err


# %% What is written


def test_decision_is_an_edit_by_hand(out, review):
    table = table_of(out)
    before = everything(out)
    old = table.read_text(encoding="utf-8").splitlines()
    chosen = split(out)[1][0]
    answer = flip(review, "one", chosen, "bad", "looks like\ta\n\x00 blink ")
    assert answer["changed"]
    new = table.read_text(encoding="utf-8").splitlines()
    assert new[0].split("\t") == [*old[0].split("\t"), "who", "when", "note"]
    row = read_table(table, 10)[chosen]
    assert row["status"] == "bad"
    assert row["status_description"].startswith("Removed by hand")
    assert (row["who"], row["note"]) == ("Ann", "looks like a blink")
    assert row["when"].startswith("20")
    for k, (one, other) in enumerate(zip(old[1:], new[1:], strict=True)):
        if k != chosen:
            assert other == one + "\tn/a" * 3
    after = everything(out)
    assert {path for path in after if after[path] != before.get(path)} == {table}


def test_run_applies_what_was_decided_and_nothing_else(out, review, recordings):
    index = number(review, "one")
    removed, kept = split(out)
    flip(review, "one", kept[0], "bad")
    shown = review.effect(index, kept[0])
    assert shown["removed"] == sorted([*removed, kept[0]])
    cleaned = written(out)
    study = clean_study(recordings, out)
    assert anew(cleaned, out) == ["one"]
    (row,) = [row for row in study.rows if row["recording"] == "one"]
    # What was shown before is what came of it.
    kept_rows = {one["kind"]: one for one in row["kinds"]}
    for one in shown["kinds"]:
        for name in ("benefit", "harm"):
            assert kept_rows[one["kind"]][name] == pytest.approx(one[name], rel=1e-9)
    assert row["message"] == shown["verdict"]
    assert not any(one["changed"] for one in review.study()["recordings"])


def test_a_person_says_which_kind_a_component_is(out, review, recordings):
    index, (removed, kept) = number(review, "one"), split(out)
    flip(review, "one", kept[0], "bad")
    whole = review.effect(index, kept[0])
    assert "chosen by hand" in whole["verdict"]
    shown = review.decide(index, kept[0], version(review, index), kind="blink")
    assert shown["changed"]
    assert shown["components"][kept[0]]["kind"] == "blink"
    named = review.effect(index, kept[0])
    assert "Components chosen by hand" in named["verdict"]
    assert f"{removed[0]:03d}, ICA{kept[0]:03d}" in named["verdict"], "both hold blinks"
    study = clean_study(recordings, out)
    (row,) = [row for row in study.rows if row["recording"] == "one"]
    assert row["message"] == named["verdict"]
    assert not review.study()["recordings"][index]["changed"]
    # What was found as one kind is removed as the kind that the person names.
    review.decide(index, removed[0], version(review, index), kind="eye movement")
    kinds = review.effect(index, 0)["kinds"]
    assert "eye movement" in [one["kind"] for one in kinds]
    review.decide(index, removed[0], version(review, index), kind="")
    assert "eye movement" not in [one["kind"] for one in review.effect(index, 0)["kinds"]]


def test_changing_ones_mind_leaves_nothing_to_do(out, review, recordings):
    removed = split(out)[0][0]
    before = decided(table_of(out))
    flip(review, "one", removed, "good")
    assert decided(table_of(out))[removed][1].startswith("Kept by hand; before: Auto")
    assert not flip(review, "one", removed, "bad")["changed"]
    assert decided(table_of(out)) == before
    cleaned = written(out)
    clean_study(recordings, out)
    assert anew(cleaned, out) == []


def test_table_of_a_spreadsheet_stays_one(out, review):
    """The byte order mark, the line ends and columns of the person's own are kept."""
    table = table_of(out)
    lines = table.read_text(encoding="utf-8").splitlines()
    lines = [f"{line}\t{'mine' if k == 0 else k}" for k, line in enumerate(lines)]
    described = lines[2].split("\t")
    described[4] = '"a ""quoted"" reason"'
    lines[2] = "\t".join(described)
    table.write_text("\r\n".join(lines) + "\r\n", encoding="utf-8-sig", newline="")
    flip(review, "one", 4, "bad", '"quoted')
    text = table.read_bytes()
    assert text.startswith("\ufeff".encode())
    assert text.count(b"\r\n") == text.count(b"\n") == 11
    rows = read_table(table, 10)
    assert [row["mine"] for row in rows.values()] == [str(k) for k in range(1, 11)]
    assert rows[1]["status_description"] == 'a "quoted" reason'
    assert rows[4]["note"] == '"quoted'
    assert 4 in bad_components(read_table(table, 10))


def test_table_with_gaps_can_be_decided_about(out, review):
    table = table_of(out)
    lines = table.read_text(encoding="utf-8").splitlines()
    del lines[4]  # component 3
    lines.insert(2, "")
    table.write_text("\n".join(lines), encoding="utf-8")
    shown = review.recording(number(review, "one"))["components"]
    assert [row["component"] for row in shown] == [str(k) for k in range(10)]
    flip(review, "one", 5, None, "fine")
    flip(review, "one", 3, "bad")
    rows = read_table(table, 10)
    assert sorted(rows) == list(range(10))
    assert (rows[3]["status"], rows[5]["note"]) == ("bad", "fine")


def test_decisions_outlive_another_search(out, review, recordings):
    flip(review, "one", 3, "bad", "seen")
    clean_study(recordings, out, max_components=1)
    row = read_table(table_of(out), 10)[3]
    assert (row["status"], row["who"], row["note"]) == ("bad", "Ann", "seen")


def test_decision_on_another_table_is_refused(out, review):
    index = number(review, "one")
    seen = version(review, index)
    table = table_of(out)
    table.write_text(edited_text(table.read_text(), {5: {"status": "bad"}}))
    before = everything(out)
    with pytest.raises(Refusal, match="Someone else") as refusal:
        review.decide(index, 3, seen, "bad", None)
    assert refusal.value.status == 409
    assert refusal.value.facts["components"][5]["status"] == "bad"
    assert everything(out) == before
    table.write_text("no table at all")
    with pytest.raises(Refusal, match="no column"):
        review.decide(index, 3, seen, "bad", None)
    assert table.read_text() == "no table at all"
    assert "no column" in review.recording(index)["problem"]
    assert not review.study()["recordings"][index]["changed"]


def test_people_at_once_lose_nothing(out):
    """Two servers on one study, both writing to one table as fast as they can."""
    pytest.importorskip("fcntl", reason="servers are kept apart by file locks")
    people = [Review(out, "Ann"), Review(out, "Bob")]
    index = number(people[0], "one")

    def work(one, components):
        for component in components:
            while True:
                try:
                    one.decide(index, component, version(one, index), "bad", f"by {one.who}")
                    break
                except Refusal:  # the other one was faster
                    continue

    threads = [
        threading.Thread(target=work, args=(one, range(k, 10, 2))) for k, one in enumerate(people)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = read_table(table_of(out), 10)
    assert [row["note"] for row in rows.values()] == ["by Ann", "by Bob"] * 5
    assert bad_components(read_table(table_of(out), 10)) == list(range(10))


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
def test_decision_holds_for_all_runs_of_one_ica(tmp_path):
    mne_bids = pytest.importorskip("mne_bids")
    for seed, run in enumerate(("01", "02")):
        raw = simulated(seed).raw
        raw.info["line_freq"] = 50
        path = mne_bids.BIDSPath(subject="01", task="rest", run=run, datatype="eeg", root=tmp_path)
        mne_bids.write_raw_bids(
            raw, path, format="BrainVision", allow_preload=True, verbose="error"
        )
    out = clean_study(bids_root=tmp_path, concatenate_runs=True, verbose="error").out
    review = Review(out, "Ann")
    assert review.study()["name"] == tmp_path.name
    assert len(review.recording(0)["shared"]) == 1
    removed = review.effect(0, 0)["removed"]
    assert removed == review.effect(1, 0)["removed"]
    other = next(k for k in range(10) if k not in removed)
    review.decide(0, other, version(review, 0), "bad", None)
    assert [one["changed"] for one in review.study()["recordings"]] == [True, True]
    shown = review.effect(1, 0)
    study = clean_study(bids_root=tmp_path, concatenate_runs=True, verbose="error")
    rows = {row["recording"]: row for row in study.rows}
    harm = max(one["harm"] for one in shown["kinds"])
    assert rows[review.items[1].row["recording"]]["harm"] == pytest.approx(harm, rel=1e-9)
