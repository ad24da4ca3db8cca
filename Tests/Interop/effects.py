"""The effects of the attacks on the honest client, as a table for the end of the run and for ATTACKS.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from attacker import MEETS

ATTACKS_FILE = Path(__file__).with_name("ATTACKS.md")
BEGIN, END = "<!-- effects -->\n", "<!-- end of effects -->\n"
HEAD = ["Attack", "Met at the limit", "Calm p99", "Attacked p99", "Ratio"]


@dataclass
class Effect:
    """Latencies in milliseconds, and growth of resident memory in bytes."""

    name: str
    met: dict[str, int]
    calm: float
    attacked: float
    growth: int

    @property
    def row(self) -> list[str]:
        return [f"`{self.name}`", f"{MEETS[self.name]}", f"{self.calm:.1f} ms", f"{self.attacked:.1f} ms",
                f"{self.attacked / self.calm:.1f}"]


EFFECTS: list[Effect] = []


def table(effects: list[Effect]) -> str:
    rows = [HEAD, ["---"] * len(HEAD), *[effect.row for effect in effects]]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def save(effects: list[Effect]) -> None:
    text = ATTACKS_FILE.read_text()
    between = re.compile(re.escape(BEGIN) + ".*" + re.escape(END), re.DOTALL)
    assert between.search(text)
    ATTACKS_FILE.write_text(between.sub(BEGIN + table(effects) + END, text))
