"""Measured numbers have one source: pages say what the files in benchmarks/results say."""

import re
import shutil

import pytest

from benchmarks.paper.__main__ import NAMES, main
from benchmarks.paper.output import ROOT, Output
from benchmarks.results import BLOCKS, FOLDER, Environment, Record, pages

PAGES = pages()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_page_says_what_was_recorded(path):
    assert path.read_text(encoding="utf-8") == PAGES[path], "run python -m benchmarks.results"


def test_every_block_is_known_and_used():
    text = "".join(PAGES.values())
    used = re.findall(r"^<!-- table: (\w+) -->$", text, re.MULTILINE)
    assert sorted(set(used)) == sorted(BLOCKS)
    assert len(used) == text.count("\n<!-- end of table -->")


def _section(page, name):
    """Return the section of an experiment."""
    sections = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return next(one for one in sections if f"`python -m benchmarks.paper {name}`" in one).strip()


@pytest.mark.parametrize("name", NAMES)
def test_section_of_an_experiment_says_what_was_measured(name, tmp_path):
    again = Output(name, tmp_path)
    again.rows_path.parent.mkdir(parents=True)
    shutil.copy(Output(name).rows_path, again.rows_path)
    main([name, "--report", "--out", str(tmp_path)])
    written = _section(tmp_path / "benchmarks" / "PAPER.md", name)
    assert written == _section(ROOT / "benchmarks" / "PAPER.md", name)
    assert Output(name).environments()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_record_has_a_date_versions_and_tables(path):
    record = Record.read(path.stem)
    assert record.path == path
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", record.environment.date)
    assert {"Python", "mne-otica", "mne", "numpy", "scipy"} <= set(record.environment.versions)
    assert all(record.tables().values())


def test_tables_of_a_record_are_found_by_their_headings():
    lines = ["Some words.", "", "### One: 2 x 3", "", "| a | b |", "|---|---|", "| 1 | x y |"]
    machine = Environment("2026-01-01", 2, "1", {"a": "1"})
    record = Record.of_lines("A title: `command`", machine, lines)
    assert record.parts[0] == "Some words."
    assert record.tables() == {"One: 2 x 3": [{"a": "1", "b": "x y"}]}
    assert record.text() == "\n".join(lines).replace("|---|---|", "| --- | --- |")
    assert record.path.name == "a-title.json"
    assert str(record.environment) == "2026-01-01, 2 cores, BLAS threads: 1, a 1."
