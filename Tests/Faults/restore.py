#!/usr/bin/env python3
"""Restores a backup next to the write-ahead log of a killed server, and counts what is lost.

    LATCHKEYD=.build/release/latchkeyd .venv/tests/bin/python Tests/Faults/restore.py --rounds 5

In each round, users sign up with the Python package while the server makes a backup, and continue until the server is
killed. A copy of the backup over the database must then be refused at the start, because of the log. After
`latchkey restore`, exactly the accounts up to the backup's event cursor must be there, and their sessions continue.

Prints one line for each round and one with the result. Exits with 1 if an account from before the backup is missing, if
one from after it is there, or if a start or a restore did not end as it must.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import surroundings  # noqa: F401

import grpc
from clients import Client, fresh_email
from latchkey.v1.event_service_pb2 import EVENT_TYPE_ACCOUNT_CREATED
from processes import LATCHKEYD, Server, Simulator, prepare
from waiting import until

LATCHKEY = LATCHKEYD.parent / "latchkey"
# Users who sign up before a backup, and after it.
ANSWERED_LEAST = 20
SETTINGS = {"throttles": {"sign_ups_per_caller_max": 0}}


@dataclass
class Result:
    kept: int = 0
    lost: int = 0
    sessions: int = 0
    violations: list[str] = field(default_factory=list)


class Follower:
    """All events of the server, in their order, until its connection ends."""

    def __init__(self, client: Client) -> None:
        # The cursor of each event, and the account that it created.
        self.events: list[tuple[str, str]] = []
        self._stream = client.watch("", timeout=None)
        self._thread = threading.Thread(target=self._follow)
        self._thread.start()

    def _follow(self) -> None:
        try:
            for each in self._stream:
                if each.HasField("event"):
                    made = each.event.type == EVENT_TYPE_ACCOUNT_CREATED
                    self.events.append((each.cursor, each.event.account_id if made else ""))
        except grpc.RpcError:
            pass

    def wait(self, cursor: str) -> None:
        until(lambda: any(each == cursor for each, _ in self.events), otherwise="the backup's last event did not come")

    def join(self) -> None:
        self._thread.join()

    def split(self, cursor: str) -> tuple[set[str], set[str]]:
        """The accounts that were created up to the cursor, and after it."""
        at = [each for each, _ in self.events].index(cursor) + 1
        return ({account for _, account in self.events[:at] if account},
                {account for _, account in self.events[at:] if account})


class Crowd:
    """Users who sign up until the server is gone."""

    def __init__(self, server: Server, users: int) -> None:
        self.answered: dict[str, str] = {}
        self._threads = [threading.Thread(target=self._sign_up, args=(Client(server, key="web"),))
                         for _ in range(users)]
        for thread in self._threads:
            thread.start()

    def _sign_up(self, client: Client) -> None:
        try:
            while True:
                made = client.create(fresh_email())
                self.answered[made.account.account_id] = made.refresh_token
        except Exception:
            client.close()

    def work(self, seconds: float) -> None:
        """Waits so many seconds, and until enough further users were answered."""
        wanted = len(self.answered) + ANSWERED_LEAST
        time.sleep(seconds)
        until(lambda: len(self.answered) >= wanted)

    def join(self) -> None:
        for thread in self._threads:
            thread.join()


def round_of(folder: Path, simulator: Simulator, options: argparse.Namespace, result: Result) -> str:
    copies = Path(tempfile.mkdtemp(prefix="copies-", dir=folder))
    server = Server.start(folder, simulator, store={"backup_folder": str(copies)}, **SETTINGS)
    try:
        admin = Client(server, key="admin")
        follower, crowd = Follower(admin), Crowd(server, options.users)
        crowd.work(options.seconds)
        before = set(crowd.answered)
        backup = admin.backup()
        after = set(crowd.answered)
        crowd.work(options.seconds)
        follower.wait(backup.event_cursor)
        server.kill()
        crowd.join()
        follower.join()
        log = Path(f"{server.database}-wal").stat().st_size
        copy = copies / backup.file_name

        shutil.copy(copy, server.database)
        try:
            server.launch()
            result.violations.append("a server started on the backup with the log of the former database")
        except RuntimeError as error:
            if "belongs to another database file" not in str(error):
                result.violations.append(f"the start failed for another reason: {error}")
        done = subprocess.run([LATCHKEY, "restore", copy, "--to", server.database], capture_output=True, text=True)
        if done.returncode:
            result.violations.append(f"the restore failed: {done.stderr}")
            return "failed"
        server.launch()
        web, admin = Client(server, key="web"), Client(server, key="admin")
        there = {each.account.account_id for each in admin.export_accounts()}
        kept, gone = follower.split(backup.event_cursor)
        for account in kept - there:
            result.violations.append(f"{account} was created before the backup, and is missing")
        for account in there - kept:
            result.violations.append(f"{account} was created after the backup, and is there")
        for account in before - there:
            result.violations.append(f"{account} was answered before the backup was requested, and is missing")
        # Answers that came after the response of the backup are of later changes only if their events are.
        lost = gone | (set(crowd.answered) - kept)
        for account in list(before)[:options.sessions]:
            try:
                web.refresh(crowd.answered[account])
                result.sessions += 1
            except Exception as error:
                result.violations.append(f"the session of {account}: {error!r}")
        result.kept += len(kept)
        result.lost += len(lost)
        return (f"log of {log >> 10} KiB; {len(kept)} accounts kept, {len(lost)} lost, of which "
                f"{len(lost - after)} were answered after the backup")
    finally:
        server.stop()


def run(folder: Path, options: argparse.Namespace) -> Result:
    simulator, result = Simulator.start(prepare(folder)), Result()
    try:
        for number in range(options.rounds):
            print(f"round {number + 1}: {round_of(folder, simulator, options, result)}", flush=True)
    finally:
        simulator.stop()
    return result


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--users", type=int, default=6)
    options.add_argument("--seconds", type=float, default=5.0, help="load before and after the backup")
    options.add_argument("--sessions", type=int, default=200, help="sessions to continue in each round")
    return options.parse_args(words)


def main() -> int:
    options = arguments()
    folder = Path(tempfile.mkdtemp(prefix="latchkey-restore-"))
    result = run(folder, options)
    for violation in result.violations[:20]:
        print(violation)
    print(f"{options.rounds} restores: {result.kept} accounts kept, {result.lost} lost since the backup, "
          f"{result.sessions} sessions continued, {len(result.violations)} violations")
    shutil.rmtree(folder)
    return 1 if result.violations else 0


if __name__ == "__main__":
    sys.exit(main())
