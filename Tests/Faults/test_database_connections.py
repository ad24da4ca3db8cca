"""Bad connections to the database: one that hangs, while it is made or at the start; too few of them; and all of them
busy with look-ups."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from clients import Client, fresh_email
from grpc import RpcError
from postgres import OWNER, Database
from processes import LATCHKEYD, Server, Simulator, write
from proxy import Behaviour, Proxy, Stall
from replicas import CONNECTIONS, replica
from waiting import until

# The exit code for a temporary problem, after which a supervisor starts the server again.
EXIT_PASSING = 1
SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"
# Bytes that a connection has received when it is logged in and prepares its statements.
LOGIN_BYTES = 700
# The statement's own five seconds, and one for the network; then a pause and a good connection.
RECOVERY_SECONDS_MOST = 30.0


def health(client: Client) -> bytes:
    answer: bytes = client.channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=30)
    return answer


def messages(server: Server) -> list[str]:
    return [line["message"] for line in server.lines() if "database" in line["message"]]


@contextmanager
def served(server: Server) -> Iterator[Client]:
    client = Client(server, key="web")
    try:
        yield client
    finally:
        client.close()
        server.stop()


def test_a_connection_attempt_that_hangs_does_not_block_other_attempts(
        database: Database, folder: Path, simulator: Simulator) -> None:
    proxy = Proxy(database.port)
    attempts = 0

    def first_hangs() -> Behaviour:
        nonlocal attempts
        attempts += 1
        return Stall("down", LOGIN_BYTES) if attempts == 1 else Behaviour()

    try:
        with served(replica(folder, simulator, Database.conninfo_by(proxy.port), reactors=1)) as client:
            token = client.create(fresh_email()).refresh_token
            proxy.behaviour = first_hangs
            proxy.cut_all()

            def refreshes() -> bool:
                try:
                    return bool(client.refresh(token).refresh_token)
                except RpcError:
                    return False

            until(refreshes, RECOVERY_SECONDS_MOST)
            assert attempts > 1
    finally:
        proxy.stop()


@pytest.mark.parametrize("lost_bytes", [1, 100])
def test_a_start_with_a_database_that_hangs_ends_and_reports_why(
        database: Database, folder: Path, simulator: Simulator, lost_bytes: int) -> None:
    proxy = Proxy(database.port)
    try:
        # The first start makes the schema. Another start checks on its first connection that the schema is current.
        server = replica(folder, simulator, Database.conninfo_by(proxy.port), reactors=1)
        server.stop()
        looking = len(proxy.links)
        server.launch()
        server.stop()
        heard_bytes = proxy.links[looking].passed["down"] - lost_bytes
        proxy.behaviour = lambda: Stall("down", heard_bytes)
        ended = subprocess.run([LATCHKEYD, "--config", write(server)], capture_output=True, text=True, timeout=60)
        assert ended.returncode == EXIT_PASSING, ended.stderr
        [line] = [line for line in ended.stderr.splitlines() if not line.startswith("{")]
        assert "store.postgres.conninfo" in line and "did not answer" in line, line
    finally:
        proxy.stop()


def test_a_server_that_gets_fewer_connections_than_configured_serves_and_warns(
        database: Database, folder: Path, simulator: Simulator) -> None:
    limit = 2 * CONNECTIONS - 2
    with database.connect() as administrator:
        administrator.execute(f"ALTER ROLE {OWNER} CONNECTION LIMIT {limit}")
    server = replica(folder, simulator, database.conninfo, reactors=1, limits={"store_gone_seconds": 1})
    refused = "the database refuses further connections"
    with served(server) as client:
        until(lambda: refused in messages(server))
        until_seconds = time.monotonic() + 6
        while time.monotonic() < until_seconds:
            client.create(fresh_email())
            assert health(client) == SERVING
            time.sleep(0.2)
        told = messages(server)
        assert told[told.index(refused):] == [refused]


def test_a_server_with_a_thread_without_a_connection_reports_not_serving(
        database: Database, folder: Path, simulator: Simulator) -> None:
    with database.connect() as administrator:
        administrator.execute(f"ALTER ROLE {OWNER} CONNECTION LIMIT 3")
    # The connection pool and three reactors need one each at first.
    server = replica(folder, simulator, database.conninfo, reactors=3, limits={"store_gone_seconds": 1})
    with served(server) as client:
        until(lambda: health(client) == NOT_SERVING)
        assert messages(server)[0] == "the database cannot be reached"
        with database.connect() as administrator:
            administrator.execute(f"ALTER ROLE {OWNER} CONNECTION LIMIT -1")
        until(lambda: health(client) == SERVING)
        client.create(fresh_email())


def test_changes_are_carried_out_during_any_number_of_look_ups(
        database: Database, folder: Path, simulator: Simulator) -> None:
    emails = [fresh_email() for _ in range(4)]
    with served(replica(folder, simulator, database.conninfo, reactors=1)) as client:
        tokens = [client.create(email).refresh_token for email in emails]
        with psycopg.connect(f"{database.conninfo.replace(f'user={OWNER}', 'user=postgres')}", autocommit=True) as rows:
            # A database that is slower than the reactor, so that look-ups wait.
            rows.execute("""
                CREATE FUNCTION slowly() RETURNS boolean LANGUAGE plpgsql VOLATILE
                  AS $$ BEGIN PERFORM pg_sleep(0.005); RETURN true; END $$;
                ALTER TABLE accounts ENABLE ROW LEVEL SECURITY;
                ALTER TABLE accounts FORCE ROW LEVEL SECURITY;
                CREATE POLICY slow ON accounts USING (slowly());
            """)
        is_over = threading.Event()

        looked_up: list[int] = []

        def look_up(number: int) -> None:
            while not is_over.is_set():
                client.fetch(email=emails[number % len(emails)])
                looked_up.append(number)

        # More than all connections can process concurrently (16 each).
        with ThreadPoolExecutor(80) as callers:
            looking = [callers.submit(look_up, number) for number in range(80)]
            try:
                time.sleep(1)
                until(lambda: len(looked_up) > 100)
                for token in tokens:
                    client.refresh(token)
            finally:
                is_over.set()
            for each in looking:
                each.result()
