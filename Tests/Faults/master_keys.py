#!/usr/bin/env python3
"""Replaces the master key of three replicas on PostgreSQL under load, kills one of them while rows are sealed again,
and compares what clients were answered with what they find afterwards.

    LATCHKEYD=.build/release/latchkeyd .venv/tests/bin/python Tests/Faults/master_keys.py --accounts 200000

The load is that of drill.py. Prints one line for each phase and one with the result. Exits with 1 if a call failed, an
answered change was lost, a call took effect twice, a limit was exceeded, or the old key cannot be removed.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import surroundings  # noqa: F401

import grpc
import latchkey
from clients import password
from drill import Drill, Load, arguments, execute, phase
from latchkey.v1 import admin_service_pb2 as admin
from postgres import Database
from processes import Server
from replicas import replica

REPLICAS, LIMIT = 3, 20
# The time until rows are sealed again after the last restart, and for each 1,000 rows.
QUIET_SECONDS, SECONDS_PER_THOUSAND = 150.0, 10.0


class MasterKeys(Drill):
    def __init__(self, folder: Path, database: Database, options: argparse.Namespace) -> None:
        self.old, self.new = "master.key", "new-master.key"
        (folder / self.new).write_text(secrets.token_hex(32))
        (folder / self.new).chmod(0o600)
        # Where the log of each server began at its last start, by port.
        self.log_begun: dict[int, int] = {}
        super().__init__(folder, database, options)

    def start(self, database: Database) -> list[Server]:
        return [replica(self.folder, self.simulator, database.conninfo, policy={"custom_token": True},
                        throttles={"password_failures_max": LIMIT}) for _ in range(REPLICAS)]

    # MARK: phases

    def restart(self, server: Server, *files: str) -> None:
        server.stop()
        server.settings["secrets"] = {"master_key_files": list(files)}
        self.log_begun[server.port] = server.log.stat().st_size
        server.launch()

    def roll(self, *files: str) -> None:
        for server in self.servers:
            self.restart(server, *files)
            time.sleep(self.options.between)

    def mixed(self) -> None:
        """Restarts one replica after the other with the new key first, and checks a limit while their order differs."""
        self.restart(self.servers[0], self.new, self.old)
        self.check_limit()
        for server in self.servers[1:]:
            # Clients must be connected to the previous one again.
            time.sleep(self.options.between)
            self.restart(server, self.new, self.old)

    def check_limit(self) -> None:
        email = f"{secrets.token_hex(8)}@example.com"
        self.web.create(email)

        def guess(_: int) -> str:
            try:
                self.web.sign_in(password(email, "not the password at all"))
            except grpc.RpcError as error:
                return latchkey.LatchkeyError(error).reason
            return "signed in"

        with ThreadPoolExecutor(8) as callers:
            answers = Counter(callers.map(guess, range(3 * LIMIT)))
        if answers != {"INVALID_LOGIN_CREDENTIALS": LIMIT, "TOO_MANY_ATTEMPTS": 2 * LIMIT}:
            self.tally.lose(f"a limit of {LIMIT}: {dict(answers)}")

    def old_rows(self) -> int:
        """The number of rows under the old key. The call has no retries, so a killed replica may fail it."""
        while True:
            try:
                return sum(each.rows for key in self.operator.master_keys()[1:] for each in key.sealed_rows)
            except grpc.RpcError:
                time.sleep(0.1)

    def seal_again(self) -> float:
        """Waits until rows are sealed again, kills one replica in the middle, and waits for the end."""
        total, deadline = self.old_rows(), time.monotonic() + QUIET_SECONDS
        while not (sealing := [server for server in self.servers if self.is_sealing(server)]):
            if time.monotonic() > deadline:
                self.tally.lose("rows were not sealed again")
                return 0
            time.sleep(0.01)
        victim = sealing[0]
        time.sleep(total / 1_000 * self.options.kill_after)
        victim.kill()
        begun = time.monotonic()
        print(f"killed a replica with {self.old_rows()} of {total} rows under the old key", flush=True)
        victim.launch()
        deadline = time.monotonic() + QUIET_SECONDS + total / 1_000 * SECONDS_PER_THOUSAND
        while self.old_rows():
            if time.monotonic() > deadline:
                self.tally.lose(f"{self.old_rows()} rows are still under the old key")
                break
            time.sleep(1)
        return time.monotonic() - begun

    def is_sealing(self, server: Server) -> bool:
        """Whether the server has begun since its last start."""
        return any(line["message"] == "sealing rows again" for line in server.lines(self.log_begun[server.port]))

    def run(self) -> bool:
        begun = time.monotonic()
        users = self.fill()
        phase(begun, f"{self.options.accounts} accounts, {len(users)} sessions, "
                     f"{sum(user.totp is not None for user in users)} authenticator apps")
        load = Load(self, users)
        time.sleep(self.options.between)
        self.roll(self.old, self.new)
        phase(begun, "all replicas know both keys")
        self.mixed()
        phase(begun, "all replicas have the new key first")
        seconds = self.seal_again()
        phase(begun, f"all rows are sealed again, {seconds:.0f} s after the kill")
        states = [admin.MasterKeyState.Name(each.state) for each in self.operator.master_keys()]
        if states != ["MASTER_KEY_STATE_SEALS", "MASTER_KEY_STATE_AGES_OUT"]:
            self.tally.lose(f"the states of the keys are {states}")
        load.stop()
        self.verify(users)
        # The tokens and digests of these users have aged out now, because each of them has called since.
        self.roll(self.new)
        phase(begun, "the old key is removed")
        self.verify(users)
        states = [admin.MasterKeyState.Name(each.state) for each in self.operator.master_keys()]
        if states != ["MASTER_KEY_STATE_SEALS", "MASTER_KEY_STATE_REMOVED"]:
            self.tally.lose(f"the states of the keys are {states}")
        return self.report(begun)


def main() -> int:
    options = arguments(__doc__, accounts=200_000)
    options.add_argument("--kill-after", type=float, default=0.1,
                         help="seconds from the first row to the kill, for each 1,000 rows")
    return execute(MasterKeys, options.parse_args())


if __name__ == "__main__":
    sys.exit(main())
