"""CHECKS.md names a proof for every security check that is due, and each name in it is a test of this repository."""

from __future__ import annotations

import re
from pathlib import Path

CHECKS = Path(__file__).with_name("CHECKS.md")
TESTS = CHECKS.parent.parent
DUE = [*range(1, 5), *range(9, 23), *range(24, 30), *range(31, 39), *range(40, 47), *range(51, 56), 60, 97, 99, 100,
       102, 103, 108, *range(110, 118)]


def test_every_check_that_is_due_is_listed() -> None:
    assert [int(number) for number in re.findall(r"^- (\d+):", CHECKS.read_text(), re.MULTILINE)] == DUE


def test_every_name_in_the_list_is_a_test() -> None:
    text = " ".join(CHECKS.read_text().split())
    python = "".join(path.read_text() for path in TESTS.rglob("test_*.py"))
    swift = "".join(path.read_text() for path in TESTS.rglob("*.swift"))
    unknown = [name for name in re.findall(r"`(test_\w+)`", text) if f"def {name}(" not in python]
    unknown += [title for title in re.findall(r'"([^"]+)"', text) if f"func `{title}" not in swift]
    assert unknown == []
