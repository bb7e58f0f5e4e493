"""Studies of a few tiny recordings; those of forty are in test_study_at_scale.py."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import mne
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reviewing import decided

from mne_otica import clean_raw, clean_study, read_study
from mne_otica.artifacts import kinds
from mne_otica.cli import main
from mne_otica.evaluation.sentences import component_names
from mne_otica.simulation import simulate_raw
from mne_otica.study import scratch_and_locks as files
from mne_otica.study.components_table import bad_components, read_table
from mne_otica.study.file_names import Name
from mne_otica.study.inputs import Recording, find_files, group
from mne_otica.study.sidecars import STAGES, Notes
from mne_otica.study.summary_page import page
from mne_otica.study.summary_table import empty_row

STAGE_FILES = {
    "fit": "proc-icafit_ica.fif",
    "find": "proc-ica_ica.fif",
    "apply": "proc-clean_raw.fif",
    "evaluate": "proc-clean_report.html",
}


def simulated(seed=0, n_blinks=8):
    raw = simulate_raw(10, 30, 100.0, n_blinks=n_blinks, random_state=seed).raw
    return raw.set_annotations(mne.Annotations([2.0], [0.5], ["tone"]))


def state(folder):
    """Return content and time of every result, but the summaries, which are always written."""
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and files.WORK not in path.parts and "summary" not in path.name
    }


def contents(folder):
    return {name: content for name, (content, _) in state(folder).items()}


def summary(out):
    with open(out / "summary.tsv", encoding="utf-8") as file:
        return {row["recording"]: row for row in csv.DictReader(file, delimiter="\t")}


def by_kind(out, recording):
    with open(out / "summary_kinds.tsv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return {row["kind"]: row for row in rows if row["recording"] == recording}


def redone(before, after, recording="blinks"):
    """Return the stages of a recording whose files were written again."""
    return [
        stage
        for stage, name in STAGE_FILES.items()
        if before[f"{recording}_{name}"][1] != after[f"{recording}_{name}"][1]
    ]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Two good recordings and four that are not."""
    folder = tmp_path_factory.mktemp("in")
    with mne.use_log_level("error"):
        raw = simulated()
        raw.save(folder / "blinks_raw.fif")
        simulated(1, n_blinks=0).save(folder / "still_raw.fif")
        misc = raw.copy().set_channel_types(dict.fromkeys(raw.ch_names, "misc"))
        misc.save(folder / "misc_raw.fif")
        mne.export.export_raw(folder / "cut.edf", raw)
    edf = (folder / "cut.edf").read_bytes()
    (folder / "cut.edf").write_bytes(edf[: len(edf) // 2])
    (folder / "empty.edf").touch()
    (folder / "text_raw.fif").write_text("no EEG at all")
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def finished(inputs, tmp_path_factory):
    """Return the results of all the recordings, and the exit status."""
    out = tmp_path_factory.mktemp("study") / "out"
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in inputs]
    with mne.use_log_level("error"):
        status = main(["run", *map(str, inputs), "--out", str(out)])
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in inputs] == before
    return out, status


@pytest.fixture
def good(inputs):
    return [path for path in inputs if path.name.startswith(("blinks", "still"))]


@pytest.fixture
def blinks(inputs):
    return inputs[[path.name for path in inputs].index("blinks_raw.fif")]


@pytest.fixture
def out(finished, tmp_path):
    """A copy of the results, to be changed."""
    return Path(shutil.copytree(finished[0], tmp_path / "out"))


# %% What comes out


def test_one_bad_recording_stops_no_other(finished):
    out, status = finished
    rows = summary(out)
    assert status == 1
    assert {name: row["status"] for name, row in rows.items()} == {
        "blinks": "cleaned",
        "still": "none",
        "misc": "failed",
        "cut": "failed",
        "empty": "failed",
        "text": "failed",
    }
    assert "is cut short" in rows["cut"]["message"]
    assert "is empty" in rows["empty"]["message"]
    assert "cannot be read" in rows["text"]["message"]
    assert "0 EEG channels" in rows["misc"]["message"]
    assert list(rows)[-1] == "blinks", "the best comes last"
    assert not [name for name in contents(out) if name.startswith(("cut", "empty", "text"))]


def test_tables_have_the_right_types(finished):
    pd = pytest.importorskip("pandas")
    table = read_study(finished[0]).to_data_frame().set_index("recording")
    assert table.status["blinks"] == "cleaned"
    assert pd.api.types.is_integer_dtype(table.components)
    assert pd.api.types.is_bool_dtype(table.converged)
    assert pd.api.types.is_float_dtype(table.benefit)
    by_kind = read_study(finished[0]).to_data_frame("kind")
    assert sorted(by_kind.kind[by_kind.recording == "blinks"]) == sorted(kinds())
    # The files have the same types for pandas' reader.
    read = pd.read_csv(finished[0] / "summary.tsv", sep="\t", dtype_backend="numpy_nullable")
    read = read.set_index("recording")
    for name in read:
        assert read[name].dtype.kind == table[name].dtype.kind, name
    assert read.removed["still"] == "none"
    read = pd.read_csv(finished[0] / "summary_kinds.tsv", sep="\t")
    assert read.benefit.dtype == float
    assert len(read) == len(by_kind)


def test_a_study_gives_what_clean_raw_gives(finished, good):
    for path in good:
        raw = mne.io.read_raw_fif(path)
        cleaned = clean_raw(raw)
        name = path.name.removesuffix("_raw.fif")
        saved = mne.io.read_raw_fif(finished[0] / f"{name}_proc-clean_raw.fif")
        assert_allclose(saved.get_data(), cleaned.raw.get_data(), rtol=1e-5, atol=1e-11)
        assert saved.annotations == raw.annotations
        row = summary(finished[0])[name]
        assert row["message"] == cleaned.verdict
        assert row["events"] == str(len(cleaned.events))
        assert row["duration"] == "30"
        assert row["converged"] == "true"


def test_what_earns_its_place_depends_on_the_removal(blinks, tmp_path):
    options = dict(artifacts="all", removal="component")
    cleaned = clean_raw(mne.io.read_raw_fif(blinks), **options)
    study = clean_study([blinks], tmp_path, **options)
    assert study.rows[0]["message"] == cleaned.verdict
    assert study.ica("blinks").exclude == sorted(cleaned.ica.exclude)
    fit = dict(stages=STAGES[2:], overwrite=True)
    assert clean_study([blinks], tmp_path, **fit).rows[0]["message"] == cleaned.verdict


def test_table_of_components_is_that_of_the_pipeline(finished):
    with open(finished[0] / "blinks_proc-ica_components.tsv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert list(rows[0])[:8] == [
        # Of mne-bids-pipeline, then of mne-icalabel
        *("component", "type", "description", "status", "status_description"),
        *("annotate_method", "annotate_author", "ic_type"),
    ]
    assert list(rows[0])[8:] == [*kinds(), "stability"]
    assert {row["ic_type"] for row in rows if row["status"] == "bad"} == {"eye blink"}
    ica = mne.preprocessing.read_ica(finished[0] / "blinks_proc-ica_ica.fif")
    assert [int(row["component"]) for row in rows] == list(range(ica.n_components_))
    bad = [row for row in rows if row["status"] == "bad"]
    assert [int(row["component"]) for row in bad] == ica.exclude
    assert bad[0]["status_description"].startswith("Auto-detected blink (mne-otica): has ")
    fitted = mne.preprocessing.read_ica(finished[0] / "blinks_proc-icafit_ica.fif")
    assert fitted.exclude == []


def test_each_kind_has_its_row(blinks, finished, tmp_path):
    clean_study([blinks], tmp_path, artifacts=["blink", "heartbeat"])
    row, rows = summary(tmp_path)["blinks"], by_kind(tmp_path, "blinks")
    cleaned = clean_raw(mne.io.read_raw_fif(blinks), artifacts=["blink", "heartbeat"])
    for kind in ("blink", "heartbeat"):
        one = cleaned.kinds[kind]
        assert rows[kind]["found"] == one.answer
        assert rows[kind]["removed"] == " ".join(component_names(one.components)) or "none"
        for column, value in (("benefit", one.gone), ("harm", one.cost)):
            told = rows[kind][column]
            assert told == "n/a" if value is None else abs(float(told) - value) < 1e-5
    assert rows["blink"]["benefit"] == row["benefit"]
    assert rows["blink"]["harm"] == row["harm"]
    # What was not to be removed is told of, and not more.
    alone = by_kind(finished[0], "blinks")
    assert alone["heartbeat"]["found"] in ("yes", "no", "unsure")
    assert alone["heartbeat"]["removed"] == alone["eye movement"]["benefit"] == "n/a"
    text = (tmp_path / "summary.html").read_text(encoding="utf-8")
    assert f"</svg>{100 * cleaned.kinds['blink'].gone:.0f} % /" in text


def test_sidecars_say_where_results_come_from(finished):
    out, _ = finished
    fit = json.loads((out / "blinks_proc-icafit_ica.json").read_text())
    assert fit["Sources"] == ["blinks_raw.fif"]
    assert fit["Parameters"]["random_state"] == 0
    assert set(fit["Versions"]) == {"python", "mne_otica", "mne", "numpy", "scipy"}
    assert list(fit["Outputs"]) == ["blinks_proc-icafit_ica.fif"]
    description = json.loads((out / "dataset_description.json").read_text())
    assert description["GeneratedBy"][0]["Name"] == "mne-otica"
    assert not any(str(out) in content.decode("latin-1") for content in contents(out).values())


def test_page_needs_nothing_else_and_leads_to_reports(finished):
    out, _ = finished
    text = (out / "summary.html").read_text(encoding="utf-8")
    assert "blinks_proc-clean_report.html" in text
    assert "http" not in text
    assert "<script" not in text
    assert text.count("<svg") == 1, "one removal"


def test_page_shows_names_as_they_are():
    row = empty_row(Recording(Path("x"), Name(Path(), "<script>alert(1)</script>")))
    text = page([row | {"status": "failed", "message": "a < b & c"}])
    assert "<script" not in text
    assert "a &lt; b &amp; c" in text


def test_how_far_the_components_can_be_trusted_is_in_the_tables(blinks, finished, tmp_path):
    clean_study([blinks], tmp_path, stability=True)
    row = summary(tmp_path)["blinks"]
    table = tmp_path / "blinks_proc-ica_components.tsv"
    with open(table, encoding="utf-8") as file:
        components = list(csv.DictReader(file, delimiter="\t"))
    removed = [one for one in components if one["status"] == "bad"]
    assert removed
    assert row["stability"] == min((one["stability"] for one in removed), key=float)
    assert all(0 <= float(one["stability"]) <= 1 for one in components)
    # The blinks of this recording are far from everything else in it.
    assert row["stability"] == "1"
    text = (tmp_path / "summary.html").read_text(encoding="utf-8")
    assert "stability 1.00" in text
    assert "stability" not in summary(finished[0])["blinks"], "no column without a value"


# %% What is done again, and what is not


def test_second_run_does_nothing(out, inputs):
    before = state(out)
    assert main(["run", *map(str, inputs), "--out", str(out)]) == 1
    assert state(out) == before
    assert main(["run", *(str(path) for path in inputs[:1]), "--out", str(out)]) == 0
    assert state(out) == before
    assert len(summary(out)) == len(inputs), "the other recordings stay in the summary"


def test_times_and_notes_do_not_matter(out, blinks):
    """A study that was copied is not done again, nor one whose notes were lost."""
    before = state(out)
    shutil.rmtree(out / files.WORK)
    os.utime(blinks)
    clean_study([blinks], out)
    assert state(out) == before


@pytest.mark.parametrize(
    ("change", "stages"),
    [
        ({"max_components": 1}, ["find", "apply", "evaluate"]),
        ({"l_freq": 1.5}, ["fit", "find", "apply", "evaluate"]),
        ({"overwrite": True}, ["fit", "find", "apply", "evaluate"]),
    ],
)
def test_what_changed_is_done_again(out, blinks, change, stages):
    before = state(out)
    clean_study([blinks], out, **change)
    assert redone(before, state(out)) == stages
    if "overwrite" in change:
        assert contents(out) == {name: content for name, (content, _) in before.items()}


def test_changed_recording_is_done_again(good, blinks, tmp_path):
    own = [Path(shutil.copy(path, tmp_path)) for path in good]
    out = tmp_path / "own"
    clean_study(own, out)
    before = state(out)
    simulated(seed=2).save(tmp_path / blinks.name, overwrite=True)
    clean_study(own, out)
    assert redone(before, state(out)) == list(STAGE_FILES)
    assert redone(before, state(out), "still") == []


@pytest.mark.parametrize("stage", STAGE_FILES)
@pytest.mark.parametrize("damage", ["cut", "delete"])
def test_damaged_results_are_repaired(out, blinks, stage, damage):
    before = contents(out)
    path = out / f"blinks_{STAGE_FILES[stage]}"
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:1000])
    else:
        path.unlink()
    clean_study([blinks], out)
    assert contents(out) == before


def test_dry_run_writes_nothing(out, good, tmp_path):
    before = state(out.parent)
    with mne.utils.catch_logging() as log:
        clean_study(good, out, dry_run=True, max_components=1, verbose="info")
        clean_study(good, tmp_path / "elsewhere", dry_run=True, verbose="info")
    assert state(out.parent) == before
    assert not (tmp_path / "elsewhere").exists()
    lines = log.getvalue().splitlines()
    assert lines[0] == "blinks: find, apply, evaluate"
    assert lines[3] == "still: fit, find, apply, evaluate"


def test_stages_one_by_one_are_the_run(finished, good, tmp_path):
    for stage in STAGE_FILES:
        assert main([stage, *map(str, good), "--out", str(tmp_path)]) == 0
    expected = contents(finished[0])
    assert contents(tmp_path) == expected


def test_stage_without_the_one_before(out, blinks, tmp_path):
    study = clean_study([blinks], tmp_path, stages=["find"])
    assert "'fit' has not been done" in study.rows[0]["message"]
    (out / "blinks_proc-ica_ica.json").unlink()
    study = clean_study([blinks], out, stages=["apply"])
    assert "'find' has not been done; do it first: mne_otica find" in study.rows[0]["message"]


# %% People


def edit(table, component, status):
    """Change one status as a person would, and save as a spreadsheet would."""
    lines = table.read_text(encoding="utf-8-sig").splitlines()
    cells = lines[1 + component].split("\t")
    cells[3:5] = [status, "I looked"]
    lines[1 + component] = "\t".join(cells)
    table.write_text("\r\n".join(lines) + "\r\n", encoding="utf-8-sig", newline="")


def test_edits_win_and_are_never_lost(out, blinks):
    table = out / "blinks_proc-ica_components.tsv"
    removed = bad_components(read_table(table, 10))
    edit(table, removed[0], "good")
    edit(table, 3, "bad")
    edited = table.read_bytes()
    before = state(out)
    study = clean_study([blinks], out)
    after = state(out)
    assert redone(before, after)[-2:] == ["apply", "evaluate"]
    assert table.read_bytes() == edited
    row = study.rows[0]
    assert (row["removed"], row["status"]) == ("ICA003", "cleaned")
    assert "by hand" in row["message"]
    # The table is what every file says afterwards.
    ica = mne.preprocessing.read_ica(out / "blinks_proc-ica_ica.fif")
    assert ica.exclude == ica.labels_["blink"] == [3]
    clean_study([blinks], out)
    assert redone(after, state(out)) == []
    raw = mne.io.read_raw_fif(blinks, preload=True)
    saved = mne.io.read_raw_fif(out / "blinks_proc-clean_raw.fif")
    assert_allclose(saved.get_data(), ica.apply(raw).get_data(), atol=1e-10)
    # Another parameter: the scores are new, the decisions are the person's.
    clean_study([blinks], out, stages=STAGES[:3], max_components=1)
    assert bad_components(read_table(table, 10)) == [3]
    aside = list(out.glob("blinks_proc-ica_components_edited-*.tsv"))
    assert [path.read_bytes() for path in aside] == [edited]
    # Another fit: the numbers mean other components, so the table starts anew.
    again = table.read_bytes()
    clean_study([blinks], out, stages=STAGES[:3], l_freq=2.0)
    assert "I looked" not in table.read_text(encoding="utf-8")
    aside = list(out.glob("blinks_proc-ica_components_edited-*.tsv"))
    assert {path.read_bytes() for path in aside} == {edited, again}


def test_words_do_not_contradict_an_edited_status(out, blinks):
    table = out / "blinks_proc-ica_components.tsv"
    (removed,) = bad_components(read_table(table, 10))
    why = decided(table)[removed][1]
    assert why.startswith("Auto-detected blink")
    text = table.read_text(encoding="utf-8")
    table.write_text(text.replace("\tbad\t", "\tgood\t"), encoding="utf-8")
    clean_study([blinks], out)
    assert decided(table)[removed] == ("good", f"Kept by hand; before: {why}")
    assert mne.preprocessing.read_ica(out / "blinks_proc-ica_ica.fif").exclude == []
    assert summary(out)["blinks"]["removed"] == "none"


def test_nothing_removed_by_hand(out, blinks):
    edit(out / "blinks_proc-ica_components.tsv", 0, "good")
    assert main(["apply", str(blinks), "-o", str(out)]) == 0
    saved = mne.io.read_raw_fif(out / "blinks_proc-clean_raw.fif")
    assert_array_equal(saved.get_data(), mne.io.read_raw_fif(blinks).get_data())
    assert main(["evaluate", str(blinks), "-o", str(out)]) == 0
    assert "by hand" in summary(out)["blinks"]["message"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("component,status\n0,bad\n", "no column component and status"),
        ("component\tstatus\n10\tbad\n", "line 2: component '10' is not one of 0 to 9"),
        ("component\tstatus\n../x\tbad\n", "component '../x' is not one of"),
        ("component\tstatus\n0\tugly\n", "status 'ugly' is neither"),
        ("component\tstatus\n0\tbad\n0\tgood\n", "line 3: component 0 has two rows"),
        ("component\tstatus\n0\t\xe4\n".encode("latin-1"), "not encoded in UTF-8"),
    ],
)
def test_tables_that_make_no_sense(tmp_path, text, message):
    path = tmp_path / "components.tsv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=message):
        read_table(path, 10)


def test_sidecars_of_others_lead_nowhere(out, blinks, tmp_path):
    """Names in them are not followed, and what makes no sense is done again."""
    secret = tmp_path / "secret"
    secret.write_text("x")
    path = out / "blinks_proc-clean_artifacts.json"
    content = json.loads(path.read_text())
    content["Outputs"] = {"../secret": Notes(out, "x").hash_of(secret)}
    content["Results"]["report"] = "../../secret"
    path.write_text(json.dumps(content))
    (out / files.WORK / "rows" / "x.json").write_text('{"input": "/", "row": {"status": "x"}}')
    (out / "blinks_proc-icafit_ica.json").write_text("[not json")
    before = state(out)
    clean_study([blinks], out)
    assert redone(before, state(out))[0] == "fit"
    assert ".." not in (out / "summary.tsv").read_text()
    assert "x" not in summary(out)


# %% Names


def test_names_tell_recordings_apart(tmp_path):
    paths = ["a/rest.edf", "b/rest.edf", "b/task_raw.fif", "c/d/x.set", "c/e/x.set", "c/e/y.vhdr"]
    names = [recording.name.label for recording in find_files(tmp_path / path for path in paths)]
    assert names == ["a_rest", "b_rest", "task", "d_x", "e_x", "y"]
    both = find_files([tmp_path / "x.edf", tmp_path / "x.set"])
    assert [recording.name.label for recording in both] == ["x_edf", "x_set"]
    with pytest.raises(ValueError, match="more than once"):
        find_files([tmp_path / "x.edf"] * 2)


def test_runs_in_names_make_units(tmp_path):
    paths = [tmp_path / name for name in ("s1_run-1.edf", "s1_run-2.edf", "s2_run-1.edf")]
    units = group(find_files(paths), concatenate_runs=True)
    assert {unit.name.label: len(unit.recordings) for unit in units} == {"s1": 2, "s2": 1}


# %% Writing


def test_all_files_or_none(tmp_path):
    (tmp_path / "a.txt").write_text("old")

    def fail_halfway():
        with files.staged(tmp_path, tmp_path) as scratch:
            (scratch / "a.txt").write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_halfway()
    assert (tmp_path / "a.txt").read_text() == "old"
    assert not list((tmp_path / files.WORK / "tmp").iterdir())


HOLD = """
import sys
from pathlib import Path
from mne_otica.study import scratch_and_locks
with scratch_and_locks.staged(Path(sys.argv[1]), Path(sys.argv[1])) as scratch:
    (scratch / "part").touch()
    print(scratch, flush=True)
    sys.stdin.read()
"""


def test_leftovers_of_the_dead_are_removed_and_those_of_the_living_are_not(tmp_path):
    tmp = tmp_path / files.WORK / "tmp"
    for name in ("host-1-a", "host-abc-def", "notes"):  # of others
        (tmp / name).mkdir(parents=True)
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with subprocess.Popen(command, **pipes) as process:
        scratch = Path(process.stdout.readline().strip())
        files.discard_leftovers(tmp_path)
        assert (scratch / "part").exists()
        process.kill()
        process.wait()
    assert scratch.exists()
    files.discard_leftovers(tmp_path)
    assert sorted(path.name for path in tmp.iterdir()) == ["host-1-a", "host-abc-def", "notes"]


@pytest.mark.parametrize("link", [files.WORK, f"{files.WORK}/tmp"])
def test_scratch_is_not_made_or_removed_through_links(blinks, tmp_path, link):
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    (elsewhere / "tmp" / "a-b-c").mkdir(parents=True)
    (elsewhere / "0123.lock").touch()
    (elsewhere / "0123").mkdir()
    (out / link).parent.mkdir(parents=True, exist_ok=True)
    (out / link).symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    with pytest.raises(OSError, match="is a symbolic link"):
        clean_study([blinks], out)
    assert sorted(elsewhere.rglob("*")) == before


def test_link_in_place_of_a_scratch_folder_is_not_followed(tmp_path):
    tmp, mine = tmp_path / files.WORK / "tmp", tmp_path / "mine"
    tmp.mkdir(parents=True)
    mine.mkdir()
    (mine / "file").touch()
    (tmp / "0123.lock").touch()
    (tmp / "0123").symlink_to(mine)
    files.discard_leftovers(tmp_path)
    assert (mine / "file").exists()


# %% Usage


def test_wrong_calls_say_what_is_right(tmp_path, blinks, capsys):
    out = ["--out", str(tmp_path / "out")]
    other, own = tmp_path / "other", tmp_path / "blinks_proc-clean_raw.fif"
    other.mkdir()
    (other / "dataset_description.json").write_text("{}")
    for argv, message in [
        (["run", *out], "either a list of files or bids_root"),
        (["run", str(blinks)], "no output folder; .*--out FOLDER"),
        (["run", str(blinks), *out, "--subject", "01"], "BIDS studies only"),
        (["run", "--bids-root", str(tmp_path)], "is no BIDS study"),
        (["run", str(blinks), "--out", str(blinks)], "is a file"),
        (["run", str(blinks), "--out", str(other)], "holds another data set"),
        (["run", str(blinks), str(own), "--out", str(own.parent)], "is an input"),
    ]:
        assert main(argv) == 1
        assert re.search(message, capsys.readouterr().err), (argv, message)
    with pytest.raises(ValueError, match="Invalid value for the 'stages'"):
        clean_study([blinks], tmp_path, stages=["dance"])


def test_one_line_for_each_recording(inputs, tmp_path, capsys):
    (empty,) = [path for path in inputs if path.name == "empty.edf"]
    assert main(["run", str(empty), "-o", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert said.err == ""
    assert "[1/1] empty: failed, empty.edf is empty (0 bytes)." in said.out


def test_a_bad_channel_that_nobody_marked_is_left_out_and_named(tmp_path):
    sim = simulate_raw(16, 40.0, 128.0, n_blinks=12, random_state=3)
    name, raw = sim.raw.ch_names[7], sim.raw.copy()
    raw._data[7] *= 20
    raw.save(tmp_path / "loud_raw.fif")
    study = clean_study([tmp_path / "loud_raw.fif"], out=tmp_path / "out")
    row = study.rows[0]
    assert f"suspect channels: {name}" in row["message"]
    assert study.raw("loud").info["bads"] == [name]
    # Later stages know it from the fit.
    again = clean_study(
        [tmp_path / "loud_raw.fif"], out=tmp_path / "out", stages=["evaluate"], overwrite=True
    )
    assert again.rows[0]["message"] == row["message"]
    kept = clean_study([tmp_path / "loud_raw.fif"], out=tmp_path / "2", find_bad_channels=False)
    assert kept.raw("loud").info["bads"] == []
