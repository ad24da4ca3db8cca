"""Tests of a store that several servers share, and that can be unreachable. Run with LATCHKEY_TEST_STORE=postgres."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import databases
import pytest
from clients import Client, fresh_email, password, session
from failures import expect_failure
from grpc import RpcError, StatusCode
from processes import Server
from waiting import until

pytestmark = pytest.mark.skipif(not databases.ON_POSTGRES, reason="the servers keep files")

SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"


def health(client: Client) -> bytes:
    answer: bytes = client.channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=5)
    return answer


@pytest.fixture
def database() -> Iterator[str]:
    """A database without other users, so that the test can close it."""
    name = f"scenario_{secrets.token_hex(8)}"
    with databases.connected(databases.POSTGRES) as server:
        server.execute(f"CREATE DATABASE {name}")
        yield name
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def shut(name: str, *, open_again: bool = False) -> None:
    with databases.connected(databases.POSTGRES) as server:
        server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {open_again}")
        if not open_again:
            server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))


def test_servers_on_one_database_act_as_one_service(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    first = serve()
    second = serve(store={"postgres": first.settings["store"]["postgres"]})
    here, there = connect(first), connect(second)
    email = fresh_email()
    made = here.create(email)
    assert session(there.sign_in(password(email))).account.account_id == made.account.account_id
    assert there.verify(made.id_token).account_id == made.account.account_id
    renewed = there.refresh(made.refresh_token)
    assert renewed.session_id == made.session_id

    def take(client: Client) -> str:
        try:
            return client.create(taken).account.account_id
        except RpcError:
            return ""

    for _ in range(20):
        taken = fresh_email()
        with ThreadPoolExecutor(8) as callers:
            owners = list(callers.map(take, [here, there] * 4))
        assert sum(owner != "" for owner in owners) == 1


def test_a_server_reports_a_lost_database_quickly_and_recovers_automatically(
        database: str, serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    conninfo = f"{databases.POSTGRES} dbname={database}"
    server = serve(store={"postgres": {"conninfo": conninfo}}, limits={"store_gone_seconds": 2})
    client = connect(server)
    email = fresh_email()
    made = client.create(email)
    assert health(client) == SERVING
    shut(database)
    time.sleep(1.5)
    for _ in range(20):
        begun = time.monotonic()
        with expect_failure(StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE") as refusal:
            client.sign_in(password(email))
        assert refusal.retry_seconds > 0
        if time.monotonic() - begun < 0.5:
            break
    else:
        raise AssertionError("a call waits for a database that is known to be gone")
    until(lambda: health(client) == NOT_SERVING)
    shut(database, open_again=True)
    until(lambda: health(client) == SERVING)
    assert session(client.sign_in(password(email))).account.account_id == made.account.account_id

    def told() -> list[str]:
        return [line["message"] for line in server.lines() if "database" in line["message"]]

    until(lambda: len(told()) >= 2)
    assert told() == ["the database cannot be reached", "the database can be reached again"]
    assert email not in server.log.read_text()


def test_terminated_connections_fail_no_call(
        database: str, serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(store={"postgres": {"conninfo": f"{databases.POSTGRES} dbname={database}"}})
    client = connect(server)
    for _ in range(5):
        made = client.create(fresh_email())
        with databases.connected(databases.POSTGRES) as other:
            other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (database,))
        assert client.refresh(made.refresh_token).session_id == made.session_id


def test_a_backup_is_not_supported_and_the_error_names_pg_dump(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    with pytest.raises(RuntimeError, match="store.backup_folder"):
        serve(store={"backup_folder": "copies"})
    admin = connect(serve(), key="admin")
    with expect_failure(StatusCode.FAILED_PRECONDITION, "BACKUP_NOT_SUPPORTED") as refusal:
        admin.backup()
    assert "pg_dump" in refusal.text
