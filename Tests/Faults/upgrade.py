#!/usr/bin/env python3
"""Upgrades two servers on one PostgreSQL database under load, rolls them back, and upgrades them again.

    LATCHKEYD=.build/release/latchkeyd .venv/tests/bin/python Tests/Faults/upgrade.py --previous OLD/latchkeyd

The load is that of drill.py. One server is replaced after the other, so both programs share the database for a while,
and the newer one has migrated it. Prints one line for each phase and one with the result. Exits with 1 if a call
failed, an answered change was lost, or a call took effect twice.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import surroundings  # noqa: F401

from drill import Drill, Load, arguments, execute, phase
from postgres import Database
from processes import LATCHKEYD, Server
from replicas import older_replica

SERVERS = 2


class Upgrade(Drill):
    """Begins with the previous program."""

    def __init__(self, folder: Path, database: Database, options: argparse.Namespace) -> None:
        self.previous: Path = options.previous.resolve()
        super().__init__(folder, database, options)

    def start(self, database: Database) -> list[Server]:
        return [older_replica(self.folder, self.simulator, database.conninfo, self.previous,
                              policy={"custom_token": True}) for _ in range(SERVERS)]

    def replace(self, program: Path) -> None:
        for server in self.servers:
            server.stop()
            server.program = program
            server.launch()
            time.sleep(self.options.between)

    def run(self) -> bool:
        begun = time.monotonic()
        users = self.fill()
        phase(begun, f"{version(self.previous)}: {self.options.accounts} accounts, {len(users)} sessions")
        load = Load(self, users)
        time.sleep(self.options.between)
        for program, what in ((LATCHKEYD, "upgraded"), (self.previous, "rolled back"), (LATCHKEYD, "upgraded again")):
            self.replace(program)
            time.sleep(self.options.between)
            calls, failed = sum(self.tally.calls.values()), sum(self.tally.failed.values())
            phase(begun, f"{what} to {version(program)}, {calls} actions, {failed} failed")
        load.stop()
        self.verify(users)
        return self.report(begun)


def version(program: Path) -> str:
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    options = arguments(__doc__, accounts=2_000)
    options.add_argument("--previous", type=Path, required=True, metavar="PROGRAM",
                         help="latchkeyd of the previous release")
    return execute(Upgrade, options.parse_args())


if __name__ == "__main__":
    sys.exit(main())
