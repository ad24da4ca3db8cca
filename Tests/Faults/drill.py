"""What drills on several servers share: a load of stock clients, what they were answered, and what is found afterwards.

The load comes from the Python package, with the retries and the load balancing of proto/service-config.json: refreshes,
sign-ins with an authenticator app, conflicts that are completed, and repeated calls.
"""

from __future__ import annotations

import argparse
import random
import secrets
import shutil
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

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

BATCH = 1_000
STEP_SECONDS = 30


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


class Actions:
    """What users do, each with its outcome in the tally."""

    def __init__(self, drill: Drill) -> None:
        self.drill, self.tally = drill, drill.tally

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


class Load(Actions):
    """Threads that act until they are ended. Each has its own users, because a session has one client."""

    def __init__(self, drill: Drill, users: list[User]) -> None:
        super().__init__(drill)
        self.is_over = threading.Event()
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

    def stop(self) -> None:
        self.is_over.set()
        for thread in self.threads:
            thread.join()


class Drill(ABC):
    """Servers on one database, and clients that balance their calls over all of them."""

    def __init__(self, folder: Path, database: Database, options: argparse.Namespace) -> None:
        self.folder, self.seed, self.threads = folder, options.seed, options.threads
        self.pause_seconds, self.options, self.tally = options.pause, options, Tally()
        self.simulator = Simulator.start(prepare(folder))
        self.servers = self.start(database)
        addresses = [f"127.0.0.1:{server.port}" for server in self.servers]
        self.web = StockClient(folder, addresses, key="web")
        self.operator = StockClient(folder, addresses, key="admin")

    @abstractmethod
    def start(self, database: Database) -> list[Server]:
        """Starts the servers."""

    @abstractmethod
    def run(self) -> bool:
        """Returns whether no call failed and nothing was lost."""

    def stop(self) -> None:
        for client in (self.web, self.operator):
            client.close()
        for server in self.servers:
            server.stop()
        self.simulator.stop()

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

    def verify(self, users: list[User]) -> None:
        """Every session continues, and authenticator apps still match."""
        actions = Actions(self)
        with ThreadPoolExecutor(self.threads) as callers:
            list(callers.map(lambda user: actions.attempt(actions.refresh, user), users))
            enrolled = [user for user in users if user.totp][:self.options.sample]
            list(callers.map(lambda user: actions.attempt(actions.sign_in, user), enrolled))

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


def arguments(documentation: str | None, accounts: int) -> argparse.ArgumentParser:
    """The options that all drills have."""
    options = argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--accounts", type=int, default=accounts)
    options.add_argument("--sessions", type=int, default=10, help="per cent of the accounts that sign in")
    options.add_argument("--factors", type=int, default=5, help="per cent of the accounts with an authenticator app")
    options.add_argument("--sample", type=int, default=500, help="authenticator apps that are checked at the end")
    options.add_argument("--threads", type=int, default=8)
    options.add_argument("--pause", type=float, default=0.01, help="seconds between the actions of a thread")
    options.add_argument("--between", type=float, default=3, help="seconds between the restarts of servers")
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    return options


def execute(drill: Callable[[Path, Database, argparse.Namespace], Drill], options: argparse.Namespace) -> int:
    """Runs a drill, and returns the exit code. The logs stay if it fails."""
    folder = Path(tempfile.mkdtemp(prefix="latchkey-drill-"))
    try:
        with Database.started() as database:
            running = drill(folder, database, options)
            try:
                is_good = running.run()
            finally:
                running.stop()
    except Unavailable as why:
        shutil.rmtree(folder)
        print(why)
        return 2
    if not is_good:
        print(f"logs: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0
