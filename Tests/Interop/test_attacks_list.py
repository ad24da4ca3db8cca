"""ATTACKS.md names every attack and every limit, and each test that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import attacks  # noqa: F401, which fills the list
from attacker import ATTACKS, MEETS

HERE = Path(__file__).resolve().parent
TESTS, SOURCES = HERE.parent, HERE.parent.parent / "Sources"
TEXT = " ".join((HERE / "ATTACKS.md").read_text().split())
EFFECTS = (HERE / "ATTACKS.md").read_text().partition("<!-- effects -->")[2]
LIMITS = {"Limits": "Transport/Limits.swift", "SessionLimits": "HTTP2/Session.swift", "Budget": "HTTP2/Budget.swift",
          "Life": "HTTP2/Life.swift", "FetchLimits": "HTTPClient/FetchSettings.swift"}
# Limits of other structs, which have rows of their own.
HOLDERS = {"Limits.session", "Limits.life", "Limits.fetch", "SessionLimits.budget"}


def limits(owner: str, path: str) -> set[str]:
    """The stored numbers of a module's `Limits`."""
    source = (SOURCES / path).read_text()
    name = owner if owner in ("SessionLimits", "FetchLimits") else "Limits"
    body = re.search(rf"package struct {name}: Sendable {{(.*?)package init\(\)", source, re.DOTALL)
    assert body
    return {f"{owner}.{field}" for field in re.findall(r"^ +package var (\w+)", body[1], re.MULTILINE)} - HOLDERS


def test_every_attack_is_listed_and_meets_a_limit() -> None:
    assert [name for name in ATTACKS if f"`{name}`" not in TEXT] == []
    assert set(MEETS) == set(ATTACKS)


def test_the_table_of_effects_has_a_row_for_each_attack() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", EFFECTS, re.MULTILINE)
    assert rows == list(ATTACKS)


def test_every_limit_is_listed_and_every_listed_limit_exists() -> None:
    there = set().union(*(limits(*pair) for pair in LIMITS.items()))
    listed = {name for name in re.findall(r"`(\w+\.\w+)`", TEXT) if name.split(".")[0] in LIMITS}
    assert there == listed


def test_every_name_in_the_list_is_a_test() -> None:
    text = TEXT[:TEXT.index("## Effect on the honest client")]
    python = "".join(path.read_text() for path in TESTS.rglob("test_*.py"))
    swift = "".join(path.read_text() for path in TESTS.rglob("*.swift"))
    unknown = [name for name in re.findall(r"`(test_\w+)`", text) if f"def {name}(" not in python]
    unknown += [title for title in re.findall(r'"([^"]+)"', text) if f"func `{title}" not in swift]
    assert unknown == []
