"""The observed behavior of each provider, printed as a table at the end of the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from paths import ROOT

COLUMNS = ("sign in, new", "sign in, again", "link", "reauthenticate", "unlink", "conflict", "completion",
           "import")
REPORT = ROOT / ".build/reports/provider-matrix.txt"


class Matrix:
    def __init__(self) -> None:
        self.cells: dict[str, dict[str, str]] = {}

    @contextmanager
    def cell(self, row: str, column: str, word: str = "yes") -> Iterator[None]:
        """Fills the cell with the word if the body succeeds. A cell without a check stays empty."""
        cells = self.cells.setdefault(row, dict.fromkeys(COLUMNS, ""))
        cells[column] = "FAILED"
        yield
        cells[column] = word

    def lines(self) -> list[str]:
        width = max(map(len, self.cells), default=0)
        head = " " * width + "  " + "  ".join(COLUMNS)
        rows = (f"{row:{width}}  " + "  ".join(f"{cells[column]:{len(column)}}" for column in COLUMNS)
                for row, cells in sorted(self.cells.items()))
        return [head, *(row.rstrip() for row in rows)]

    def write(self) -> None:
        REPORT.parent.mkdir(parents=True, exist_ok=True)
        REPORT.write_text("\n".join(self.lines()) + "\n")


MATRIX = Matrix()
