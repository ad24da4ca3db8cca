"""Prints which tests prove each row of proto/SEMANTICS.md.

A test proves a row that its name contains, such as `S7` or `L12`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

TESTS = Path(__file__).parents[1]
SEMANTICS = TESTS.parent / "proto/SEMANTICS.md"


def rows() -> list[str]:
    """The rows of all tables, in their order."""
    return re.findall(r"^\| ([A-Z]\d+[a-z]?) \|", SEMANTICS.read_text(), re.MULTILINE)


def tests() -> dict[str, list[str]]:
    """The tests of each row, as `path: name`."""
    found: dict[str, list[str]] = defaultdict(list)
    known = set(rows())
    for path in sorted(TESTS.rglob("*")):
        if path.suffix == ".swift":
            names = re.findall(r"func `([^`]+)`", path.read_text())
        elif path.suffix == ".py":
            names = re.findall(r"def (test_\w+)", path.read_text())
        else:
            continue
        for name in names:
            words = set(re.split(r"[^A-Za-z0-9]", name.replace("_", " ")))
            # A test of the row S6 as a whole would prove neither S6a nor S6b, so it needs both names.
            for row in known & words:
                found[row].append(f"{path.relative_to(TESTS)}: {name}")
    return found


def main() -> None:
    found = tests()
    print("| Row | Unit tests | Scenarios |\n|---|---|---|")
    for row in rows():
        units = [test for test in found[row] if ".swift: " in test]
        scenarios = [test for test in found[row] if ".py: " in test]
        print(f"| {row} | {len(units)} | {len(scenarios)} |")
    print()
    for row in rows():
        for test in found[row]:
            print(f"{row}  {test}")


if __name__ == "__main__":
    main()
