"""How caller and log learn of a call that ends early: its deadline passes, or its caller disconnects."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from clients import Client, assertion, fresh_email, password, session
from latchkey.v1 import account_service_pb2 as accounts
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1.account_service_pb2_grpc import AccountServiceStub
from postgres import Database
from processes import Server, Simulator
from raw import Connection, message, request
from replicas import replica
from waiting import until

CREATE, SIGN_IN = "/latchkey.v1.AccountService/Create", "/latchkey.v1.AuthService/SignIn"
DEADLINE_EXCEEDED = 4
OK = {"outcome": "OK"}
PASSWORD = "correct horse battery staple"


@pytest.fixture
def server(database: Database, folder: Path, simulator: Simulator) -> Iterator[Server]:
    # A count of one row, so that its lock blocks every sign-up, for as long as a test needs.
    running = replica(folder, simulator, database.conninfo, throttles={"sign_ups_per_caller_max": 1_000},
                      store={"postgres": {"lock_seconds": 60, "statement_seconds": 60}})
    yield running
    running.stop()


class Locked:
    """Blocks all sign-ups: another transaction locks the counts that each of them updates."""

    def __init__(self, database: Database, server: Server) -> None:
        self.database = database
        # Only existing rows can be locked.
        with contextlib.closing(Client(server)) as client:
            client.create(fresh_email())

    def __enter__(self) -> Locked:
        self.holder = psycopg.connect(self.database.conninfo)
        self.holder.execute("SELECT * FROM throttles FOR UPDATE")
        return self

    def __exit__(self, *_: object) -> None:
        self.holder.close()

    def waiting(self) -> list[int]:
        """The back ends that wait for the lock."""
        with self.database.connect() as administrator:
            return [row[0] for row in administrator.execute(
                "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'")]

    def end_who_waits(self) -> None:
        with self.database.connect() as administrator:
            for backend in self.waiting():
                administrator.execute("SELECT pg_terminate_backend(%s)", [backend])


def lines(server: Server, method: str) -> list[dict[str, str]]:
    """The log lines for calls of this method, without times, caller, ids and request data."""
    left_out = ("at", "level", "message", "method", "caller", "peer", "credential", "took_micros", "request_id",
                "account_id")
    return [{name: value for name, value in line.items() if name not in left_out}
            for line in server.lines() if line.get("method") == method]


def test_a_change_that_commits_after_its_caller_has_gone_is_logged_as_done(
        database: Database, server: Server) -> None:
    email, locked, client = fresh_email(), Locked(database, server), Client(server)
    with contextlib.closing(client):
        with locked:
            wanted = accounts.CreateRequest(email=email, password=PASSWORD)
            call = AccountServiceStub(client.channel).Create.future(wanted)
            until(locked.waiting)
            call.cancel()
            time.sleep(1.5)
            assert lines(server, CREATE) == [OK]
        until(lambda: len(lines(server, CREATE)) == 2)
        assert lines(server, CREATE) == [OK, OK | {"client": "gone"}]
        session(client.sign_in(password(email, PASSWORD)))


def test_a_change_that_fails_after_the_deadline_ends_with_deadline_exceeded(
        database: Database, server: Server) -> None:
    wanted = accounts.CreateRequest(email=fresh_email(), password=PASSWORD).SerializeToString()
    with Locked(database, server) as locked, Connection(server.port) as connection:
        stream = connection.stream()
        connection.write(connection.headers(stream, request(CREATE, ("grpc-timeout", "3000m"))))
        connection.body(stream, message(wanted))
        until(locked.waiting)
        # The change is in progress: until its outcome is known, the caller receives no answer.
        with pytest.raises(TimeoutError):
            connection.reply(stream, timeout_seconds=3.5)
        locked.end_who_waits()
        assert connection.reply(stream).status == DEADLINE_EXCEEDED
    until(lambda: len(lines(server, CREATE)) == 2)
    assert lines(server, CREATE) == [OK, {"outcome": "DEADLINE_EXCEEDED"}]


def test_a_call_past_its_deadline_has_one_log_line_although_its_work_ends_later(
        serve: Callable[..., Server], simulator: Simulator) -> None:
    server = serve(fetch={"total_millis": 1000})
    wanted = auth.SignInRequest(credential=assertion(simulator, "oidc.hanging")).SerializeToString()
    simulator.behave("oidc.hanging", "hang")
    try:
        with Connection(server.port) as connection:
            reply = connection.call(request(SIGN_IN, ("grpc-timeout", "300m")), message(wanted))
            assert reply.status == DEADLINE_EXCEEDED
            # Wait until the fetch has given up, too.
            time.sleep(1.2)
            until(lambda: lines(server, SIGN_IN))
    finally:
        simulator.behave("oidc.hanging", "well")
    assert lines(server, SIGN_IN) == [{"outcome": "DEADLINE_EXCEEDED"}]
