#!/usr/bin/env python3
"""Replaces the master key of three replicas on PostgreSQL under load, kills one of them while rows are sealed again,
and compares what clients were answered with what they find afterwards.

    LATCHKEYD=.build/release/latchkeyd .venv/faults/bin/python Tests/Faults/master_keys.py --accounts 200000

The load comes from the Python package, with the retries and the load balancing of proto/service-config.json: refreshes,
sign-ins with an authenticator app, conflicts that are completed, and repeated calls. Prints one line for each phase and
one with the result. Exits with 1 if a call failed, an answered change was lost, a call took effect twice, a limit was
exceeded, or the old key cannot be removed.
"""

from __future__ import annotations

import argparse
import random
import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import surroundings  # noqa: F401

import grpc
import latchkey
import pyotp
from clients import Client, anonymous, assertion, conflict, custom, factor_required, password, session
from configuration import KEYS
from latchkey.v1 import admin_service_pb2 as admin
from latchkey.v1 import types_pb2 as types
from postgres import Database, Unavailable
from processes import Server, Simulator, prepare
from replicas import replica

REPLICAS, LIMIT = 3, 20
BATCH = 1_000
STEP_SECONDS = 30
# The time until rows are sealed again after the last restart, and for each 1,000 rows.
QUIET_SECONDS, SECONDS_PER_THOUSAND = 150.0, 10.0


class StockClient(Client):
    """A channel to all replicas, with the package's own service configuration."""

    def __init__(self, folder: Path, addresses: Iterable[str], *, key: str) -> None:
        target = "ipv4:" + ",".join(addresses)
        self.open(latchkey.connect(
            target, ca_file=folder / "authority.pem", api_key=KEYS[key],
            options=[("grpc.ssl_target_name_override", "localhost"), ("grpc.use_local_subchannel_pool", 1)]))


@dataclass
class User:
    account_id: str
    refresh_token: str
    session_id: str
    # Valid for an hour, and for any number of sign-ins.
    custom_token: str
    totp: pyotp.TOTP | None = None
    factor_id: str = ""
    last_step: int = 0

    def code(self) -> str:
        """The next code of the authenticator app; each is accepted once."""
        # The oldest code that is still valid when the call arrives.
        step = max(int(time.time() + 3) // STEP_SECONDS - 1, self.last_step + 1)
        while step > int(time.time()) // STEP_SECONDS + 1:
            time.sleep(0.2)
        self.last_step = step
        assert self.totp
        return self.totp.at(step * STEP_SECONDS)


@dataclass
class Tally:
    """The calls of the load, by kind, and the failures with their reasons."""

    calls: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, failure: str | None = None) -> None:
        with self.lock:
            self.calls[kind] += 1
            if failure:
                self.failed[f"{kind}: {failure}"] += 1

    def lose(self, what: str) -> None:
        with self.lock:
            self.lost.append(what)


class Load:
    """Threads that call the service until they are ended. Each has its own users, because a session has one client."""

    def __init__(self, drill: Drill, users: list[User]) -> None:
        self.drill, self.tally, self.is_over = drill, drill.tally, threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(users[number::drill.threads], number), daemon=True)
                        for number in range(drill.threads)]
        for thread in self.threads:
            thread.start()

    def run(self, users: list[User], number: int) -> None:
        chance = random.Random(self.drill.seed + number)
        kinds: list[Callable[[User], None]] = [self.refresh, self.refresh, self.repeat, self.resolve]
        while not self.is_over.wait(self.drill.pause_seconds):
            user = chance.choice(users)
            ready = user.totp and user.last_step < int(time.time()) // STEP_SECONDS
            self.attempt(self.sign_in if ready and chance.random() < 0.3 else chance.choice(kinds), user)

    def attempt(self, act: Callable[[User], None], user: User) -> None:
        try:
            act(user)
            self.tally.note(act.__name__)
        except grpc.RpcError as error:
            self.tally.note(act.__name__, told(error))
        except AssertionError as error:
            self.tally.note(act.__name__, f"another answer: {error}")

    def refresh(self, user: User) -> None:
        answer = self.drill.web.refresh(user.refresh_token, idempotency_key=secrets.token_hex(8))
        if answer.session_id != user.session_id:
            self.tally.lose(f"the session of {user.account_id}")
        user.refresh_token = answer.refresh_token

    def sign_in(self, user: User) -> None:
        required = factor_required(
            self.drill.web.sign_in(custom(user.custom_token), idempotency_key=secrets.token_hex(8)))
        session(self.drill.web.finish_factor(
            required.pending_token, user.factor_id, user.code(), idempotency_key=secrets.token_hex(8)))

    def repeat(self, _: User) -> None:
        """Sends one call three times, to replicas in turn."""
        key = secrets.token_hex(8)
        made = {session(self.drill.web.sign_in(anonymous(), idempotency_key=key, client={"device_id": "d"})).session_id
                for _ in range(3)}
        if len(made) != 1:
            self.tally.lose("a repeated call took effect twice")

    def resolve(self, user: User) -> None:
        """A conflict at one replica, completed at another."""
        email = f"{secrets.token_hex(8)}@example.com"
        made = self.drill.web.create(email, idempotency_key=secrets.token_hex(8))
        credential = assertion(self.drill.simulator, "oidc.corp", email=email)
        exists = conflict(self.drill.web.sign_in(credential, idempotency_key=secrets.token_hex(8)))
        linked = session(self.drill.web.sign_in(
            password(email), pending_token=exists.pending_token, idempotency_key=secrets.token_hex(8)))
        if linked.account.account_id != made.account.account_id:
            self.tally.lose(f"a pending credential of {email}")

    def stop(self) -> None:
        self.is_over.set()
        for thread in self.threads:
            thread.join()


class Drill:
    def __init__(self, folder: Path, database: Database, options: argparse.Namespace) -> None:
        self.folder, self.seed, self.threads = folder, options.seed, options.threads
        self.pause_seconds, self.options, self.tally = options.pause, options, Tally()
        self.simulator = Simulator.start(prepare(folder))
        self.old, self.new = "master.key", "new-master.key"
        (folder / self.new).write_text(secrets.token_hex(32))
        (folder / self.new).chmod(0o600)
        self.log_begun: dict[int, int] = {}
        self.servers = self.start(database)
        addresses = [f"127.0.0.1:{server.port}" for server in self.servers]
        self.web = StockClient(folder, addresses, key="web")
        self.operator = StockClient(folder, addresses, key="admin")

    def start(self, database: Database) -> list[Server]:
        return [replica(self.folder, self.simulator, database.conninfo, policy={"custom_token": True},
                        throttles={"password_failures_max": LIMIT}) for _ in range(REPLICAS)]

    def stop(self) -> None:
        for client in (self.web, self.operator):
            client.close()
        for server in self.servers:
            server.stop()
        self.simulator.stop()

    # MARK: accounts

    def fill(self) -> list[User]:
        """Imports all accounts; a share of them signs in, and a share of these enrolls an authenticator app."""
        rows = [admin.ImportedAccount(account_id=f"drill-{number}", email=f"drill-{number}@example.com",
                                      email_verified=True) for number in range(self.options.accounts)]
        self.operator.import_accounts([rows[start:start + BATCH] for start in range(0, len(rows), BATCH)])
        signed_in = [row.account_id for row in rows[:max(1, len(rows) * self.options.sessions // 100)]]
        enrolled = max(1, len(rows) * self.options.factors // 100)
        with ThreadPoolExecutor(self.threads) as callers:
            return list(callers.map(self.user, signed_in, (number < enrolled for number in range(len(signed_in)))))

    def user(self, account_id: str, is_enrolled: bool) -> User:
        token = self.operator.custom_token(account_id)
        made = session(self.web.sign_in(custom(token)))
        user = User(account_id, made.refresh_token, made.session_id, token)
        if is_enrolled:
            started = self.web.start_enrollment(made.id_token, types.FACTOR_KIND_TOTP)
            program = pyotp.parse_uri(started.totp_uri)
            assert isinstance(program, pyotp.TOTP)
            user.totp = program
            kept = self.web.finish_enrollment(made.id_token, started.enrollment_id, user.code()).session
            user.refresh_token, user.session_id = kept.refresh_token, kept.session_id
            user.factor_id = next(each.factor_id for each in kept.account.second_factors
                                  if each.kind == types.FACTOR_KIND_TOTP)
        return user

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
            # Clients need a moment to connect again to the one before.
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

    def verify(self, users: list[User]) -> None:
        """Every session continues, and authenticator apps still match."""
        load = Load.__new__(Load)
        load.drill, load.tally = self, self.tally
        with ThreadPoolExecutor(self.threads) as callers:
            list(callers.map(lambda user: load.attempt(load.refresh, user), users))
            enrolled = [user for user in users if user.totp][:self.options.sample]
            list(callers.map(lambda user: load.attempt(load.sign_in, user), enrolled))

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

    def report(self, begun: float) -> bool:
        failed = sum(self.tally.failed.values())
        print(f"{sum(self.tally.calls.values())} actions ({dict(self.tally.calls)}), {failed} failed, "
              f"{len(self.tally.lost)} lost; {time.monotonic() - begun:.0f} s in all (seed {self.seed})")
        for what, count in self.tally.failed.items():
            print(f"  {count} × {what}")
        for what in self.tally.lost[:20]:
            print(f"  lost: {what}")
        return not failed and not self.tally.lost


def told(error: grpc.RpcError) -> str:
    return f"{error.code().name} {latchkey.LatchkeyError(error).reason or error.details()}"


def phase(begun: float, what: str) -> None:
    print(f"{time.monotonic() - begun:7.1f} s  {what}", flush=True)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--accounts", type=int, default=200_000)
    options.add_argument("--sessions", type=int, default=10, help="per cent of the accounts that sign in")
    options.add_argument("--factors", type=int, default=5, help="per cent of the accounts with an authenticator app")
    options.add_argument("--sample", type=int, default=500, help="authenticator apps that are checked at the end")
    options.add_argument("--threads", type=int, default=8)
    options.add_argument("--kill-after", type=float, default=0.1,
                         help="seconds from the first row to the kill, for each 1,000 rows")
    options.add_argument("--pause", type=float, default=0.01, help="seconds between the actions of a thread")
    options.add_argument("--between", type=float, default=3, help="seconds between the restarts of replicas")
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    chosen: Any = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="latchkey-master-keys-"))
    try:
        with Database.started() as database:
            drill = Drill(folder, database, chosen)
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
