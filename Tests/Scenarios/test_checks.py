"""CHECKS.md names tests for every required security check, and every name in it is a test of this repository.

Every section or row that comments refer to is in SEMANTICS.md, and every file that it names exists.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import semantics_rows

CHECKS = Path(__file__).with_name("CHECKS.md")
MISSION = Path(__file__).with_name("MISSION.md")
TESTS = CHECKS.parent.parent
IDENTITY = TESTS.parent / "Sources/Identity"
SEMANTICS = TESTS.parent / "proto/SEMANTICS.md"
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


def test_every_row_and_section_that_code_cites_is_in_the_semantics() -> None:
    paths = [*IDENTITY.rglob("*.swift"), *(TESTS / "IdentityTests").rglob("*.swift")]
    code = "\n".join(path.read_text() for path in paths)
    text = SEMANTICS.read_text()
    rows = set(re.findall(r"^\| ([A-Z]\d+[ab]?) \|", text, re.MULTILINE))
    letters = "".join({row[0] for row in rows})
    spoken = set(re.findall(rf"\b[{letters}](?:1[0-6]|[1-9])[ab]?\b", code))
    assert spoken - rows == set() and rows - spoken == set()
    # Without sections of an RFC, whose name precedes the section.
    spoken = set(re.findall(r"(?<!\d )\b[Ss]ections? (\d+(?:\.\d)?)", code))
    headings = set(re.findall(r"^#+ (\d+(?:\.\d)?)\.? ", text, re.MULTILINE))
    assert spoken and spoken - headings == set()


def test_every_row_of_the_semantics_has_a_test_that_names_it() -> None:
    tests = semantics_rows.tests()
    assert [row for row in semantics_rows.rows() if not tests[row]] == []


def test_every_file_that_the_semantics_name_exists() -> None:
    known = {path.name for path in IDENTITY.rglob("*.swift")}
    named = re.findall(r"`([\w/]+\.swift)`", SEMANTICS.read_text())
    assert named
    assert [name for name in named if name not in known
            and not any((folder / name).exists() for folder in (IDENTITY, IDENTITY.parent))] == []
