"""Write the results of the benchmarks into the pages that show them.

    python -m benchmarks.results

A benchmark that is run with ``--write`` keeps its tables, the date and the versions in
``benchmarks/results``. This command writes the pages from these files alone: ``RESULTS.md``,
and the blocks of README and documentation that stand between
``<!-- table: NAME -->`` and ``<!-- end of table -->``. ``tests/test_numbers.py`` fails if a page
differs.
"""

import datetime
import json
import os
import platform
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path

import numpy as np

import mne_otica

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks" / "results"
PAGE = ROOT / "benchmarks" / "RESULTS.md"
# Names of the recordings in the table of the solver, and in that of held-out halves.
HALVES_OF = {"Shipped recording": "mne_sample_24s", "EEGLAB recording": "eeglab_data"}
PACKAGES = ("mne-otica", "mne", "numpy", "scipy", "scikit-learn", "python-picard", "jamica")


def _installed() -> dict[str, str]:
    versions = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:  # not every benchmark needs all the peers
            continue
    return versions


@dataclass(frozen=True)
class Environment:
    """When and with what something was measured."""

    date: str
    cores: int
    threads: str
    versions: dict[str, str]

    def __str__(self) -> str:
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        return f"{self.date}, {self.cores} cores, BLAS threads: {self.threads}, {versions}."

    def short(self) -> str:
        """Return the date and the version of this package; RESULTS.md has the others."""
        measured = self.versions["mne-otica"]
        earlier = "" if measured == mne_otica.__version__ else ", an earlier version"
        return f"Measured {self.date} with mne-otica {measured}{earlier}."


def environment() -> Environment:
    """Return the date of today, the machine and the versions."""
    threads = os.environ.get("OMP_NUM_THREADS", "all")
    return Environment(str(datetime.date.today()), os.cpu_count(), threads, _installed())


@dataclass
class Table:
    """A table, with the heading above it."""

    heading: str
    columns: list[str]
    rows: list[list[str]]

    def __str__(self) -> str:
        heading = f"### {self.heading}\n\n" if self.heading else ""
        return heading + markdown(self.columns, self.rows)

    def by_column(self) -> list[dict[str, str]]:
        """Return the rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass
class Record:
    """One run of a benchmark: its title, when and with what it ran, its tables and remarks."""

    title: str
    environment: Environment
    parts: list[str | Table]

    @classmethod
    def of_lines(cls, title: str, environment: Environment, lines: Iterable[str]) -> "Record":
        """Return the record of what a benchmark printed."""
        parts: list[str | Table] = []
        heading = ""
        printed = "\n".join(lines).strip().splitlines()
        for start, group in groupby(
            printed, lambda line: line[:1] if line[:1] in "|#" else "words"
        ):
            first, *others = group
            if start == "#":
                heading = first.removeprefix("### ")
            elif start == "|":
                rows = [_cells(line) for line in others if set(line) - set("|- ")]
                parts.append(Table(heading, _cells(first), rows))
                heading = ""
            elif start:
                parts.append("\n".join([first, *others]))
        return cls(title, environment, parts)

    @property
    def path(self) -> Path:
        """The file that keeps it, named after the title without the command."""
        words = re.findall(r"[a-z0-9]+", self.title.split(": `")[0].lower())
        return FOLDER / f"{'-'.join(words)}.json"

    @classmethod
    def read(cls, name: str) -> "Record":
        """Return the record of a name."""
        kept = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        if "lines" in kept:  # as printed
            return cls.of_lines(kept["title"], Environment(**kept["environment"]), kept["lines"])
        parts = [part if isinstance(part, str) else Table(**part) for part in kept["parts"]]
        return cls(kept["title"], Environment(**kept["environment"]), parts)

    def write(self) -> None:
        """Keep the record."""
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        # A row of a table on one line: the innermost lists hold nothing but text without brackets.
        text = re.sub(r"\[\n[^\[\]{}]*\]", lambda row: " ".join(row[0].split()), text)
        self.path.write_text(f"{text}\n", encoding="utf-8")

    def text(self) -> str:
        """Return the tables and remarks in Markdown."""
        return "\n\n".join(str(part) for part in self.parts)

    def section(self) -> str:
        """Return the section of the page."""
        return f"## {self.title}\n\n{self.environment}\n\n{self.text()}\n"

    def tables(self) -> dict[str, list[dict[str, str]]]:
        """Return the rows of the tables, by the heading above each of them."""
        tables = [part for part in self.parts if isinstance(part, Table)]
        return {table.heading: table.by_column() for table in tables}


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def show(title: str, lines: Iterable[str], write: bool) -> None:
    """Print the lines as they come, and keep them as a record if asked to."""
    now, printed = environment(), []
    print(f"## {title}\n\n{now}\n")
    for line in lines:
        print(line, flush=True)
        printed.append(line)
    if write:
        Record.of_lines(title, now, printed).write()
        write_pages()


def comparison() -> str:
    """Return the table of README: seconds and dependence on the two real recordings."""
    record = Record.read("solver")
    header, columns = ["method"], []
    for name, rows in record.tables().items():
        header += [f"{name.replace(': ', ', ')}: seconds", "dependence", "held out"]
        columns += [
            {r["method"]: r[key] for r in rows} for key in ("seconds", "residual dependence")
        ]
        columns.append(_held_out(HALVES_OF[name.split(":")[0]]))
    best = [min(column.values(), key=float) for column in columns]
    rows = []
    for method in columns[0]:
        cells = [column.get(method, "not run") for column in columns]
        pairs = zip(cells, best, strict=True)
        rows.append([method, *(f"**{cell}**" if cell == low else cell for cell, low in pairs)])
    return f"{markdown(header, rows)}\n\n{record.environment.short()}"


def _held_out(recording: str) -> dict[str, str]:
    """Return the dependence of each method in the halves that it was not fitted to, their mean."""
    (rows,) = Record.read("solver-held-out-halves").tables().values()
    found: dict[str, list[float]] = {}
    for row in rows:
        if row["recording"] == recording:
            found.setdefault(row["method"], []).append(float(row["held out"]))
    return {method: f"{sum(values) / len(values):.3f}" for method, values in found.items()}


def regimes() -> str:
    """Return the sentence on the mixtures of the paper."""
    from benchmarks.paper.table import cells_won

    won, total, trials = cells_won()
    return (
        "On the mixtures of the paper (nine kinds of sources, each with 10, 20 and 30 of them) "
        f"OT-ICA has the lowest mean error in {won} of {total} cells, compared with FastICA, JADE "
        f"and Picard of both kinds ({trials} trials each; `python -m benchmarks.paper table`, "
        "`benchmarks/PAPER.md`)."
    )


def removal() -> str:
    """Return the summary of real blinks put into real EEG, cleaned by methods of one's own."""
    record = Record.read("removal-of-blinks-real-eeg-with-real-blinks-put-in")
    tables = [part for part in record.parts if isinstance(part, Table)]
    names = {
        "by events": "**mne-otica**",
        "whole component": "the whole component, as usual after ICA",
        "EOGRegression": "regression on the EOG (MNE)",
        "wavelets, as wICA": "wavelets in the component (wICA)",
        "ASR, meegkit": "ASR (meegkit)",
    }
    found = {row["method"]: row for row in tables[-1].by_column()}
    header = ["median error", "at blinks", "away from them", "worst away"]
    keys = ["median error at blinks", "away", "worst away"]
    rows = [[name, *(found[method][key] for key in keys)] for method, name in names.items()]
    return f"{markdown(header, rows)}\n\n{record.environment.short()}"


# Beginnings of the names of cells of benchmarks.rivals, and what was put in.
PUT_IN = {
    "blinks": "blinks",
    "eye movement": "eye movements",
    "heartbeat": "heartbeats",
    "muscle": "muscle",
    "nothing put in": "nothing",
}


def rivals_cells() -> tuple[Record, list[dict[str, str]]]:
    """Return the record of benchmarks.rivals, and its cells."""
    record = Record.read("cleaning-beside-other-tools")
    (table,) = (part for part in record.parts if isinstance(part, Table))
    totals = ("seconds", "MB")
    return record, [row for row in table.by_column() if not row["cell"].startswith(totals)]


def rivals() -> str:
    """Return the table of README: medians of the errors of other tools by what was put in."""
    record, cells = rivals_cells()
    tools = [name for name in cells[0] if name != "cell"]
    rows = []
    for start, name in PUT_IN.items():
        some = [row for row in cells if row["cell"].startswith(start)]
        errors = [_median_errors([row[tool] for row in some]) for tool in tools]
        # Bold is the lowest error, if it is below that of nothing.
        low = min(error[0] for error in errors[1:] if error)
        low = low if name == "nothing" or low < errors[0][0] - 0.005 else -1.0
        texts = [_errors(error, low) if error else "failed" for error in errors]
        rows.append([f"{name} ({len(some)})", *texts])
    header = ["put in (recordings)", *tools]
    return f"{markdown(header, rows)}\n\n{record.environment.short()}"


def _median_errors(cells: Iterable[str]) -> tuple[float, ...]:
    """Return the medians of errors at artifacts and away, over the cells that have figures."""
    known = [re.findall(r"[\d.]+|nan", cell) for cell in cells]
    numbers = np.array([cell for cell in known if cell], dtype=float)
    return tuple(np.nanmedian(numbers, axis=0)) if len(numbers) else ()


def _errors(error: tuple[float, ...], best: float) -> str:
    text = " / ".join(f"{x:.2f}" for x in error)
    return f"**{text}**" if f"{error[0]:.2f}" == f"{best:.2f}" else text


def rivals_full() -> str:
    """Return every cell of benchmarks.rivals, with the tools and their versions."""
    record, _ = rivals_cells()
    (table,) = (part for part in record.parts if isinstance(part, Table))
    rows = [[row[0], *(cell.replace(" / ", "/") for cell in row[1:])] for row in table.rows]
    remarks = [part for part in record.parts[1:] if isinstance(part, str)]
    return "\n\n".join([markdown(table.columns, rows), *remarks, record.environment.short()])


def tables_of(*names: str) -> str:
    """Return the tables of records, below a section of a page, with dates and versions."""
    records = [Record.read(name) for name in names]
    parts = [f"{record.text()}\n\n{record.environment.short()}" for record in records]
    return "\n\n".join(parts).replace("### ", "#### ")


def real_summary() -> str:
    """Return medians and worst cases over the real recordings."""
    record = Record.read("real-recordings")
    only, all_kinds = (part.by_column()[:-2] for part in record.parts if isinstance(part, Table))
    rows = []
    for asked, recordings, artifact in (
        ("blinks", only, "blink"),
        ("all kinds", all_kinds, "blink"),
        ("all kinds", all_kinds, "saccade"),
        ("all kinds", all_kinds, "heartbeat"),
    ):
        seen = [row for row in recordings if row[artifact].endswith("%")]
        shares, rest = (
            [float(row[key].rstrip(" %")) for row in seen] for key in (artifact, "elsewhere")
        )
        middle = f"{np.median(shares):.0f} %, {np.median(rest):.1f} %"
        rows.append(
            [
                asked,
                f"{artifact}s",
                str(len(seen)),
                middle,
                f"{min(shares):.0f} %, {max(rest):.1f} %",
            ]
        )
    free = [row["elsewhere"] for row in only if not row["blink"]]
    changed = [share for share in free if share != "0.0 %"]
    told = f", {len(changed)} by {' and '.join(changed)}" if changed else ""
    header = [
        "asked for",
        "in recordings with",
        "number",
        "median removed, elsewhere",
        "worst of each",
    ]
    return (
        f"{markdown(header, rows)}\n\nOf {len(free)} recordings without blinks, "
        f"{len(free) - len(changed)} were not changed when blinks were asked for"
        f"{told}. "
        f"{record.environment.short()}"
    )


def last_table(name: str) -> str:
    """Return the last table of a record, the summary of the others."""
    record = Record.read(name)
    tables = [part for part in record.parts if isinstance(part, Table)]
    return f"{tables[-1]}\n\n{record.environment.short()}"


def first_table(name: str) -> str:
    """Return the first table of a record without its heading."""
    record = Record.read(name)
    table = next(part for part in record.parts if isinstance(part, Table))
    return f"{markdown(table.columns, table.rows)}\n\n{record.environment.short()}"


def remarks_of(name: str) -> str:
    """Return a record without its tables."""
    record = Record.read(name)
    remarks = [part for part in record.parts if isinstance(part, str)]
    return "\n\n".join([*remarks, record.environment.short()])


def first_remark(name: str) -> str:
    """Return the first words of a record."""
    record = Record.read(name)
    remark = next(part for part in record.parts if isinstance(part, str))
    return f"{remark}\n\n{record.environment.short()}"


def training() -> str:
    """Return how well the curves of the kinds did out of their folds."""
    path = ROOT / "mne_otica" / "artifacts" / "model.json"
    rows = []
    for kind, data in json.loads(path.read_text(encoding="utf-8"))["kinds"].items():
        training = data["training"]
        for origin in ("simulated", "real") if "real" in training else ("",):
            found = training[origin] if origin else training
            name = f"{kind}, {origin}" if origin else kind
            cells = [name, str(found["n"]), str(found["n_holding"]), f"{found['brier']:.4f}"]
            cells += [f"{found['sensitivity']:.1%}", f"{found['specificity']:.2%}"]
            rows.append([*cells, f"{found['right_above_0_9']:.1%}"])
    head = "kind, components, holding it, Brier score, found, left alone, given 0.9 or more: right"
    return markdown(head.split(", "), rows)


BLOCKS = {
    "rivals": rivals,
    "rivals_full": rivals_full,
    "removal": removal,
    "rivals_effects": lambda: tables_of("effects-beside-other-tools"),
    "real_summary": real_summary,
    "real": lambda: first_table("real-recordings"),
    "training": training,
    "kinds_removal": lambda: tables_of("kinds-of-artifacts-removal-from-simulated-recordings"),
    "comparison": comparison,
    "regimes": regimes,
    "memory": lambda: tables_of("memory-of-a-fit"),
    "hours": lambda: tables_of("hours-of-recording"),
    "study": lambda: tables_of("studies-40-recordings-of-60-s"),
    "channels": lambda: tables_of("few-channels"),
    "perturbed": lambda: last_table("changes-that-should-not-matter"),
    "index": lambda: remarks_of("stability-judge"),
    "refits": lambda: first_remark("stability-time"),
}


def markdown(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    header = list(header)
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def with_blocks(text: str) -> str:
    """Return a page with what stands in its blocks written anew."""

    def block(found: re.Match) -> str:
        return f"{found[1]}{BLOCKS[found[2]]()}\n{found[3]}"

    pattern = r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)"
    return re.sub(pattern, block, text, flags=re.DOTALL)


def records_page() -> str:
    """Return the page of all records."""
    head = (
        "# Benchmark results\n\nWritten by `python -m benchmarks.results` from "
        "`benchmarks/results`; edit nothing here by hand. The\nexperiments of the paper are in "
        "`PAPER.md`.\n"
    )
    names = sorted(path.stem for path in FOLDER.glob("*.json"))
    return "\n".join([head, *(Record.read(name).section() for name in names)])


def pages() -> dict[Path, str]:
    """Return what the pages with blocks, and the page of all records, have to say."""
    written = [ROOT / "README.md", ROOT / "paper.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = {path: with_blocks(path.read_text(encoding="utf-8")) for path in written}
    return {**found, PAGE: records_page()}


def write_pages() -> None:
    """Write the pages."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_pages()
