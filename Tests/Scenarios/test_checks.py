"""CHECKS.md names a proof for every security check that is due, and each name in it is a test of this repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CHECKS = Path(__file__).with_name("CHECKS.md")
MISSION = Path(__file__).with_name("MISSION.md")
TESTS = CHECKS.parent.parent
DUE = [*range(1, 118)]


def test_every_check_that_is_due_is_listed() -> None:
    assert [int(number) for number in re.findall(r"^- (\d+):", CHECKS.read_text(), re.MULTILINE)] == DUE


@pytest.mark.parametrize("document", [CHECKS, MISSION], ids=lambda path: path.name)
def test_every_name_in_the_list_is_a_test(document: Path) -> None:
    text = " ".join(document.read_text().split())
    python = "".join(path.read_text() for path in TESTS.rglob("test_*.py"))
    swift = "".join(path.read_text() for path in TESTS.rglob("*.swift"))
    unknown = [name for name in re.findall(r"`(test_\w+)`", text) if f"def {name}(" not in python]
    unknown += [title for title in re.findall(r'"([^"]+)"', text) if f"func `{title}" not in swift]
    assert unknown == []
