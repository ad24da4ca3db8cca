"""Measures the rows of the table one after the other and prints the table. deploy/bench runs it."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import machine
import report
from figures import Finding
from rows import ROWS
from servers import Unmeasurable
from stand import Options, Stand


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--latchkeyd", type=Path)
    parser.add_argument("--latchkey-load", type=Path)
    for name in ("--accounts", "--rounds", "--seconds", "--server-core", "--client-core"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--check", action="store_true", help="check the arguments only, before the build")
    given = parser.parse_args()
    if given.save and (given.only or not given.growth):
        parser.error("--save writes the whole table: leave --only out, and give --growth")
    return given


def chosen(only: str, growth: bool) -> list[str]:
    names = only.split(",") if only else [name for name in ROWS if name != "growth" or growth]
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        sys.exit(f"deploy/bench: no row {', '.join(unknown)}; there are: {', '.join(ROWS)}")
    return names


def measure(stand: Stand, names: list[str]) -> tuple[list[Finding], bool]:
    """The findings, and whether every row was measured."""
    findings: list[Finding] = []
    whole = True
    for name in names:
        stand.tell(name)
        try:
            findings += ROWS[name](stand)
        except (Unmeasurable, OSError, subprocess.SubprocessError) as reason:
            stand.tell(f"  not measured: {reason}")
            whole = False
    return findings, whole


def main() -> None:
    given = arguments()
    names = chosen(given.only, given.growth)
    if given.check:
        return
    stand = Stand(Options(given.home, given.latchkeyd, given.latchkey_load, given.accounts, given.rounds, given.seconds,
                          given.server_core, given.client_core))
    try:
        findings, whole = measure(stand, names)
    finally:
        stand.stop()
    about = machine.describe(given.accounts, given.rounds, given.seconds, given.growth)
    print(report.as_json(findings, about) if given.json
          else "\n".join([*(f"{name}: {value}" for name, value in about.items()), "", report.text(findings)]))
    if not whole:
        sys.exit(1)
    if given.save:
        about_line = "; ".join(about.values()) + "."
        given.save.write_text(report.replace(given.save.read_text(), f"{report.markdown(findings)}\n\n{about_line}"))


if __name__ == "__main__":
    main()
