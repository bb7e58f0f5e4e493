"""Where an experiment keeps what it measured: a table of numbers, a figure, a section of a page.

Rows are written as they are measured, so a run that was stopped goes on where it was. Lines that
start with "#" give the machine and the versions with which the rows below them were measured.
"""

import datetime
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from benchmarks.results import environment

ROOT = Path(__file__).parents[2]
HEADING = """\
# The paper, reproduced

Every number of the paper beside what this package measures. Each section is written by the command
below its title, from the numbers in `benchmarks/results`; `docs/differences.md` says where the
package departs from the paper on purpose.
"""
COMMENT = "#"
# Each method has its own marker and line, so that colour is not needed.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))


@dataclass
class Output:
    """The places of one experiment below a folder, by default that of the repository."""

    name: str
    root: Path = ROOT

    @property
    def rows_path(self) -> Path:
        """The table of numbers."""
        return self.root / "benchmarks" / "results" / f"{self.name}.csv"

    def rows(self) -> pd.DataFrame:
        """Return the rows measured so far."""
        path = self.rows_path
        return pd.read_csv(path, comment=COMMENT) if path.exists() else pd.DataFrame()

    def environments(self) -> list[str]:
        """Return with what the rows were measured."""
        path = self.rows_path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [line.removeprefix(COMMENT).strip() for line in lines if line.startswith(COMMENT)]

    def write_rows(self, rows: Iterable[dict], report: bool = False) -> pd.DataFrame:
        """Replace all rows, or with ``report`` return those there are."""
        if report:
            return self.rows()
        self.rows_path.unlink(missing_ok=True)
        for row in rows:
            self.append(row)
        return self.rows()

    def append(self, row: dict) -> None:
        """Add a row with the date of today."""
        path = self.rows_path
        path.parent.mkdir(parents=True, exist_ok=True)
        frame = pd.DataFrame([{"date": datetime.date.today().isoformat(), **row}])
        is_new, now = not path.exists(), str(environment())
        if now not in self.environments():
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{COMMENT} {now}\n")
        frame.to_csv(path, mode="a", header=is_new, index=False)

    def missing(self, cells: Sequence[dict], redo: bool = False) -> list[dict]:
        """Return the cells that have no row yet; with ``redo``, forget the rows of all of them."""
        rows = self.rows()
        if rows.empty:
            return list(cells)
        keys = list(cells[0])
        wanted = {tuple(cell.values()) for cell in cells}
        measured = list(rows[keys].itertuples(index=False, name=None))
        if redo:
            head = "".join(f"{COMMENT} {one}\n" for one in self.environments())
            kept = rows[[key not in wanted for key in measured]].to_csv(index=False)
            self.rows_path.write_text(head + kept, encoding="utf-8")
            return list(cells)
        return [cell for cell in cells if tuple(cell.values()) not in set(measured)]

    def figure(self, figure: Figure, caption: str) -> str:
        """Save a figure, and return the line that shows it on the page."""
        path = self.root / "docs" / "_static" / "results" / f"{self.name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=90)
        plt.close(figure)
        return f"![{caption}](../docs/_static/results/{self.name}.png)\n\n*{caption}*"

    def section(self, title: str, *parts: str) -> None:
        """Print the section, and keep it on the page."""
        command = f"`python -m benchmarks.paper {self.name}`"
        text = "\n\n".join([command, *parts, *self.environments()])
        print(f"## {title}\n\n{text}")
        page = self.root / "benchmarks" / "PAPER.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        replace_section(page, title, text, HEADING)


def replace_section(page: Path, title: str, text: str, heading: str) -> None:
    """Put a section in the place of the one with its title, or at the end of the page."""
    content = page.read_text(encoding="utf-8") if page.exists() else heading
    section = f"## {title}\n\n{text.strip()}\n"
    # A section ends where the next one begins; a function, so that backslashes stay as they are.
    pattern = re.compile(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    content, n_found = pattern.subn(lambda _: f"{section}\n", content)
    if not n_found:
        content = f"{content.rstrip()}\n\n{section}"
    page.write_text(f"{content.rstrip()}\n", encoding="utf-8")


def beside(ours: float, paper: float, digits: int) -> tuple[str, str, str]:
    """Return a number of the paper, ours, and the difference."""
    difference = round(ours - paper, digits) + 0.0  # no negative zero
    return f"{paper:.{digits}f}", f"{ours:.{digits}f}", f"{difference:+.{digits}f}"
