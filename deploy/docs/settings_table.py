#!/usr/bin/env python3
"""Writes the tables of all settings into configuration.md.

    .build/release/latchkeyd --list-settings | python3 deploy/docs/settings_table.py

Replaces the text between the two marker lines. Tests/Scenarios/test_guides.py compares both.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

GUIDE = Path(__file__).resolve().parent / "configuration.md"
BEGIN = "<!-- latchkeyd --list-settings writes from here -->"
END = "<!-- to here -->"


@dataclass
class Setting:
    path: str
    default: str
    allowed: str
    description: str

    @property
    def group(self) -> str:
        """`store` of `store.postgres.conninfo`, `callers[]` of `callers[].name`; the setting itself without a group."""
        return self.path.partition(".")[0]


def parse(listing: str) -> list[Setting]:
    found = re.findall(r"^(\S+) = (.*)\n    (.*)$", listing, re.MULTILINE)
    return [setting(path, default, text) for path, default, text in found]


def setting(path: str, default: str, text: str) -> Setting:
    """Separates the allowed values at the end of a description: `(0 to 65535)` or `(off | smtp)`."""
    allowed, description = "", text
    if ranged := re.fullmatch(r"(.*) \((-?\d+) to (\d+)\)", text):
        description, allowed = ranged[1], f"{ranged[2]} to {ranged[3]}"
    elif chosen := re.fullmatch(r"(.*) \(([^()]* \| [^()]*)\)", text):
        description, allowed = chosen[1], values(chosen[2])
    elif " | " in text:
        head, _, rest = text.partition(", ")
        allowed, description = values(head), rest
    return Setting(path, code(default), allowed, description.replace("<", "&lt;"))


def values(listed: str) -> str:
    return ", ".join(f"`{value.strip()}`" for value in listed.split("|"))


def code(default: str) -> str:
    return "" if default in ('""', "[]") else f"`{default}`"


def tables(listing: str) -> str:
    parts = []
    for group, members in groupby(parse(listing), key=lambda each: each.group):
        rows = [f"| `{each.path}` | {each.default} | {each.allowed} | {each.description} |" for each in members]
        parts.append("\n".join([f"### `{group}`", "", "| Setting | Default | Allowed | Description |",
                                "|---|---|---|---|", *rows]))
    return "\n\n".join(parts)


def replaced(guide: str, listing: str) -> str:
    before, begin, rest = guide.partition(BEGIN + "\n")
    _, end, after = rest.partition(END + "\n")
    if not begin or not end:
        raise ValueError(f"the guide has no lines {BEGIN!r} and {END!r}")
    return f"{before}{begin}\n{tables(listing)}\n\n{end}{after}"


if __name__ == "__main__":
    GUIDE.write_text(replaced(GUIDE.read_text(), sys.stdin.read()))
