#!/usr/bin/env python3
"""Upgrades two servers on one PostgreSQL database under load, rolls them back, and upgrades them again.

    LATCHKEYD=.build/release/latchkeyd .venv/faults/bin/python Tests/Faults/upgrade.py --previous OLD/latchkeyd

The load and its clients are those of master_keys.py: refreshes, sign-ins with an authenticator app, conflicts that are
completed at another server, and repeated calls. One server is replaced after the other, so both programs share the
database for a while, and the newer one has migrated it. Prints one line for each phase and one with the result. Exits
with 1 if a call failed, an answered change was lost, or a call took effect twice.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import surroundings  # noqa: F401

from master_keys import Drill, Load, phase
from postgres import Database, Unavailable
from processes import LATCHKEYD, Server
from replicas import older_replica

SERVERS = 2


class Upgrade(Drill):
    """Begins with the previous program."""

    def __init__(self, folder: Path, database: Database, options: argparse.Namespace) -> None:
        self.previous = Path(options.previous).resolve()
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
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--previous", required=True, metavar="PROGRAM", help="latchkeyd of the previous release")
    options.add_argument("--accounts", type=int, default=2_000)
    options.add_argument("--sessions", type=int, default=20, help="per cent of the accounts that sign in")
    options.add_argument("--factors", type=int, default=5, help="per cent of the accounts with an authenticator app")
    options.add_argument("--sample", type=int, default=200, help="authenticator apps that are checked at the end")
    options.add_argument("--threads", type=int, default=8)
    options.add_argument("--pause", type=float, default=0.01, help="seconds between the actions of a thread")
    options.add_argument("--between", type=float, default=3, help="seconds between the replacements of servers")
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    chosen: Any = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="latchkey-upgrade-"))
    try:
        with Database.started() as database:
            drill = Upgrade(folder, database, chosen)
            try:
                is_good = drill.run()
            finally:
                drill.stop()
    except Unavailable as why:
        shutil.rmtree(folder)
        print(why)
        return 2
    if not is_good:
        print(f"logs: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
