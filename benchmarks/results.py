"""Write the results of the benchmarks into the pages that show them.

    python -m benchmarks.results

A benchmark that is run with ``--write`` keeps its tables, the date and the versions in
``benchmarks/results``. This command writes the pages from these files alone: ``RESULTS.md``,
``docs/results.md``, and the blocks of README and documentation that stand between
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
from pathlib import Path

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


def environment() -> Environment:
    """Return the date of today, the machine and the versions."""
    threads = os.environ.get("OMP_NUM_THREADS", "all")
    return Environment(str(datetime.date.today()), os.cpu_count(), threads, _installed())


@dataclass
class Record:
    """One run of a benchmark: its title, when and with what it ran, and its tables."""

    title: str
    environment: Environment
    lines: list[str]

    @property
    def path(self) -> Path:
        """The file that keeps it, named after the title without the command."""
        words = re.findall(r"[a-z0-9]+", self.title.split(": `")[0].lower())
        return FOLDER / f"{'-'.join(words)}.json"

    @classmethod
    def read(cls, name: str) -> "Record":
        """Return the record of a name."""
        kept = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        return cls(kept["title"], Environment(**kept["environment"]), kept["lines"])

    def write(self) -> None:
        """Keep the record."""
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        self.path.write_text(f"{text}\n", encoding="utf-8")

    def text(self) -> str:
        """Return the tables and what is said about them."""
        return "\n".join(self.lines).strip()

    def section(self) -> str:
        """Return the section of the page."""
        return f"## {self.title}\n\n{self.environment}\n\n{self.text()}\n"

    def tables(self) -> dict[str, list[dict[str, str]]]:
        """Return the rows of the tables, by the heading above each of them."""
        found: dict[str, list[dict[str, str]]] = {}
        heading, header = "", None
        for line in "\n".join(self.lines).splitlines():
            if not line.startswith("|"):
                heading, header = line.removeprefix("### ") or heading, None
            elif header is None:
                header = _cells(line)
                found[heading] = []
            elif set(line) - set("|- "):
                found[heading].append(dict(zip(header, _cells(line), strict=True)))
        return found


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def show(title: str, lines: Iterable[str], write: bool) -> None:
    """Print the lines as they come, and keep them as a record if asked to."""
    record = Record(title, environment(), [])
    print(f"## {title}\n\n{record.environment}\n")
    for line in lines:
        print(line, flush=True)
        record.lines += line.split("\n")
    if write:
        record.write()
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
    return f"{markdown(header, rows)}\n\n{record.environment}"


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
        "`docs/results.md`)."
    )


def tables_of(*names: str) -> str:
    """Return the tables of records, below a section of a page, with dates and versions."""
    records = [Record.read(name) for name in names]
    parts = [f"{record.text()}\n\n{record.environment}" for record in records]
    return "\n\n".join(parts).replace("### ", "#### ")


def training() -> str:
    """Return how well the curves of the kinds did out of their folds."""
    path = ROOT / "mne_otica" / "artifacts" / "model.json"
    rows = []
    for kind, data in json.loads(path.read_text(encoding="utf-8"))["kinds"].items():
        one = data["training"]
        cells = [kind, str(one["n"]), str(one["n_holding"]), f"{one['brier']:.4f}"]
        cells += [f"{one['sensitivity']:.1%}", f"{one['specificity']:.2%}"]
        rows.append([*cells, f"{one['right_above_0_9']:.1%}"])
    head = "kind, components, holding it, Brier score, found, left alone, given 0.9 or more: right"
    return markdown(head.split(", "), rows)


BLOCKS = {
    "training": training,
    "kinds": lambda: tables_of("kinds-of-artifacts-simulated-recordings"),
    "kinds_removal": lambda: tables_of("kinds-of-artifacts-removal-from-simulated-recordings"),
    "kinds_real": lambda: tables_of("kinds-of-artifacts-real-recordings"),
    "comparison": comparison,
    "regimes": regimes,
    "simulations": lambda: tables_of("solver-simulations"),
    "memory": lambda: tables_of("memory-of-a-fit"),
    "long": lambda: tables_of("long-and-dense-recordings"),
    "study": lambda: tables_of("studies-40-recordings-of-60-s"),
    "channels": lambda: tables_of("few-channels"),
    "unseen": lambda: tables_of("seeds-not-used-before"),
    "index": lambda: tables_of("stability-judge"),
    "refits": lambda: tables_of("stability-time"),
    "recordings": lambda: tables_of("stability-recordings"),
    "numbers": lambda: tables_of("stability-numbers"),
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
        "`docs/results.md`.\n"
    )
    names = sorted(path.stem for path in FOLDER.glob("*.json"))
    return "\n".join([head, *(Record.read(name).section() for name in names)])


def pages() -> dict[Path, str]:
    """Return what the pages with blocks, and the page of all records, have to say."""
    written = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = {path: with_blocks(path.read_text(encoding="utf-8")) for path in written}
    return {**found, PAGE: records_page()}


def write_pages() -> None:
    """Write the pages."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_pages()
