#!/usr/bin/env python3
"""Revokes signing keys under load, and counts failed calls and lost sessions.

    LATCHKEYD=.build/release/latchkeyd .venv/tests/bin/python Tests/Faults/signing_keys.py --revocations 20

The load comes from the Python package with its own settings: users who read their account, have their ID token
verified, refresh, sign in again and sign up. A client that gets INVALID_ID_TOKEN refreshes, as the guides say. With
`--replicas N` the servers share a PostgreSQL database. Every second revocation follows a rotation, so that a key waits.

Prints one line for each revocation and one with the result. Exits with 1 if a call failed for another reason than a
token of a revoked key, if a token of a revoked key was accepted too late, or if a session or an account was lost.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import surroundings  # noqa: F401

import jwt
import latchkey
from clients import Client, fresh_email, password, session
from configuration import KEYS
from postgres import Database
from processes import Server, Simulator, prepare
from replicas import replica

SETTINGS = {"throttles": {"sign_ups_per_caller_max": 0}, "limits": {}}
# How long other servers may lack a successor that no one published before: they read the keys once a second when they
# meet an unknown one.
CHANGE_OVER_SECONDS = 3.0


class StockClient(Client):
    """The package's channel with its service configuration, which retries what it may."""

    def __init__(self, server: Server, *, key: str) -> None:
        super().__init__(server, key=key)
        self.channel.close()
        self.open(latchkey.connect(
            server.address, ca_file=server.folder / "authority.pem", api_key=KEYS[key],
            options=[("grpc.use_local_subchannel_pool", 1)]))


@dataclass
class Revoked:
    """The revoked keys, with the times between which servers may or must reject their tokens."""

    begun: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)
    # Successors that no server had published before, and since when.
    successors: dict[str, float] = field(default_factory=dict)

    def may_fail(self, kid: str, at: float) -> bool:
        fresh = self.successors.get(kid)
        return kid in self.begun or (fresh is not None and at < fresh + CHANGE_OVER_SECONDS)

    def must_fail(self, kid: str, sent: float, grace: float) -> bool:
        return kid in self.ended and sent > self.ended[kid] + grace


@dataclass
class Result:
    calls: Counter[str] = field(default_factory=Counter)
    documented: int = 0
    failed: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    @property
    def violations(self) -> list[str]:
        return self.failed + self.late + self.lost


def kid(id_token: str) -> str:
    return str(jwt.get_unverified_header(id_token)["kid"])


class User:
    """One user, whose calls go to all servers in turn."""

    def __init__(self, clients: list[Client], result: Result, revoked: Revoked, grace: float, seed: str) -> None:
        self.clients, self.result, self.revoked, self.grace = clients, result, revoked, grace
        self.random = random.Random(seed)
        self.emails = [fresh_email()]
        self.session = self.client.create(self.emails[0])
        self.gone = threading.Event()

    @property
    def client(self) -> Client:
        return self.random.choice(self.clients)

    def work(self) -> None:
        while not self.gone.is_set():
            self.act(self.random.choice(["get", "get", "verify", "verify", "refresh", "sign in", "sign up"]))

    def act(self, what: str) -> None:
        token, sent = self.session.id_token, time.monotonic()
        self.result.calls[what] += 1
        try:
            match what:
                case "get":
                    self.client.get(token)
                case "verify":
                    answer = self.client.verify(token)
                    if not answer.active:
                        return self.rejected(what, token, f"inactive {answer.inactive_reason}")
                case "refresh":
                    self.session = self.client.refresh(self.session.refresh_token)
                    return None
                case "sign in":
                    self.session = session(self.client.sign_in(password(self.emails[0])))
                    return None
                case "sign up":
                    email = fresh_email()
                    self.client.create(email)
                    self.emails.append(email)
                    return None
        except Exception as error:
            if what in ("get", "verify") and getattr(error, "reason", "") == "INVALID_ID_TOKEN":
                return self.rejected(what, token, "INVALID_ID_TOKEN")
            self.result.failed.append(f"{what}: {error!r}")
            return None
        if self.revoked.must_fail(kid(token), sent, self.grace):
            self.result.late.append(f"{what} accepted a token of {kid(token)}")
        return None

    def rejected(self, what: str, token: str, why: str) -> None:
        if self.revoked.may_fail(kid(token), time.monotonic()):
            self.result.documented += 1
        else:
            self.result.failed.append(f"{what}: {why} with the valid key {kid(token)}")
        self.act("refresh")

    def check(self) -> None:
        """Every session continues, and every account is there."""
        try:
            self.session = self.client.refresh(self.session.refresh_token)
            assert self.client.verify(self.session.id_token).active
        except Exception as error:
            self.result.lost.append(f"the session of {self.emails[0]}: {error!r}")
        for email in self.emails:
            try:
                session(self.client.sign_in(password(email)))
            except Exception as error:
                self.result.lost.append(f"the account {email}: {error!r}")


def drill(servers: list[Server], options: argparse.Namespace, seed: int) -> Result:
    result, revoked = Result(), Revoked()
    # The others read the keys at least once a minute, and a call may take a moment.
    grace = 1.0 if len(servers) == 1 else 62.0
    admin = StockClient(servers[0], key="admin")
    users = [User([StockClient(server, key="web") for server in servers], result, revoked, grace, f"{seed} {number}")
             for number in range(options.users)]
    threads = [threading.Thread(target=user.work) for user in users]
    for thread in threads:
        thread.start()
    for number in range(options.revocations):
        time.sleep(options.pause)
        keys = admin.list_signing_keys()
        if number % 2:
            keys = admin.rotate_signing_keys().keys
            time.sleep(2.0)
        stolen = keys[0].key_id
        before, documented = sum(result.calls.values()), result.documented
        revoked.begun[stolen] = time.monotonic()
        answer = admin.revoke_signing_key(stolen)
        revoked.ended[stolen] = time.monotonic()
        if answer.successor_key_id not in {key.key_id for key in keys} or len(servers) > 1:
            revoked.successors[answer.successor_key_id] = time.monotonic()
        time.sleep(options.pause)
        print(f"revocation {number + 1} ({'of a rotated key' if number % 2 else 'without a rotation'}): "
              f"{sum(result.calls.values()) - before} calls, {result.documented - documented} with a token of the key",
              flush=True)
    for user in users:
        user.gone.set()
    for thread in threads:
        thread.join()
    for user in users:
        user.check()
    return result


def run(folder: Path, options: argparse.Namespace, seed: int) -> Result:
    simulator = Simulator.start(prepare(folder))
    servers: list[Server] = []
    try:
        if options.replicas == 1:
            servers = [Server.start(folder, simulator, **SETTINGS)]
            return drill(servers, options, seed)
        with Database.started() as database:
            servers = [replica(folder, simulator, database.conninfo, **SETTINGS) for _ in range(options.replicas)]
            return drill(servers, options, seed)
    finally:
        for server in servers:
            server.stop()
        simulator.stop()


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--revocations", type=int, default=20)
    options.add_argument("--replicas", type=int, default=1)
    options.add_argument("--users", type=int, default=8)
    options.add_argument("--pause", type=float, default=3.0, help="seconds before and after each revocation")
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    return options.parse_args(words)


def main() -> int:
    options = arguments()
    folder = Path(tempfile.mkdtemp(prefix="latchkey-keys-"))
    result = run(folder, options, options.seed)
    for violation in result.violations[:20]:
        print(violation)
    print(f"{options.revocations} revocations on {options.replicas} servers (seed {options.seed}): "
          f"{sum(result.calls.values())} calls, {result.documented} rejected with a token of a revoked key, "
          f"{len(result.failed)} failed otherwise, {len(result.late)} accepted too late, {len(result.lost)} lost")
    shutil.rmtree(folder)
    return 1 if result.violations else 0


if __name__ == "__main__":
    sys.exit(main())
