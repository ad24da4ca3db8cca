"""`latchkey move`: moves everything from a file into PostgreSQL and compares it, or moves nothing. Runs if
LATCHKEY_POSTGRES names a server and the servers under test use files."""

from __future__ import annotations

import json
import secrets
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import databases
import pytest
from clients import Client, assertion, conflict, fresh_email, password, provider_ids, session
from latchkey.v1.event_service_pb2 import EVENT_TYPE_ACCOUNT_CREATED
from processes import LATCHKEYD, Server, Simulator

pytestmark = pytest.mark.skipif(
    databases.ON_POSTGRES or not databases.POSTGRES, reason="it needs a file and a database")

LATCHKEY = LATCHKEYD.parent / "latchkey"
# The exit codes in the help of `latchkey move`.
DONE, REFUSED, USAGE, UNREACHABLE = range(4)


@pytest.fixture
def conninfo() -> Iterator[str]:
    """An empty schema."""
    schema = f"scenario_{secrets.token_hex(8)}"
    with databases.connected(databases.POSTGRES) as database:
        database.execute(f"CREATE SCHEMA {schema}")
        yield f"{databases.POSTGRES} options='-c search_path={schema}'"
        database.execute("SET client_min_messages = warning")
        database.execute(f"DROP SCHEMA {schema} CASCADE")


def move(file: Path, conninfo: str, *more: str) -> list[str | Path]:
    return [LATCHKEY, "move", "--from", file, "--to", conninfo, *more]


def moved(file: Path, conninfo: str, code: int = DONE) -> Any:
    """Machine-readable output: one document on standard output, and nothing else."""
    ended = subprocess.run(move(file, conninfo, "--json"), capture_output=True, text=True, timeout=120)
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert ended.stderr == ""
    return json.loads(ended.stdout)


def counted(conninfo: str, table: str) -> int:
    with databases.connected(conninfo) as database:
        count: int = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        return count


def test_a_user_who_signed_up_before_a_move_signs_in_after_it(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator, conninfo: str) -> None:
    server = serve()
    before = connect(server)
    email = fresh_email()
    made = before.create(email)
    exists = conflict(before.sign_in(assertion(simulator, "oidc.corp", email=email)))
    others = [before.create(fresh_email()) for _ in range(20)]
    told = connect(server, key="admin").watch("")
    cursor = next(response.cursor for response in told if response.event.account_id == made.account.account_id)
    told.cancel()
    file, in_file = server.database, server.settings["store"]
    assert moved(file, conninfo, USAGE)["error"]["option"] == "--from", "the server is running"
    server.stop()
    held = file.read_bytes()

    report = moved(file, conninfo)
    assert report["outcome"] == "moved" and all(table["same"] for table in report["tables"])
    rows = {table["name"]: table["to"]["rows"] for table in report["tables"]}
    assert rows["accounts"] == 21 and rows["sessions"] == 21 and rows["pendings"] == 1
    assert file.read_bytes() == held
    assert "holds rows already" in moved(file, conninfo, REFUSED)["error"]["message"]

    server.settings["store"] = {"postgres": {"conninfo": conninfo}}
    server.launch()
    after = connect(server)
    assert after.verify(made.id_token).account_id == made.account.account_id
    assert after.refresh(made.refresh_token).session_id == made.session_id
    linked = session(after.sign_in(password(email), pending_token=exists.pending_token))
    assert provider_ids(linked.account) == {"password", "oidc.corp"}
    # A watcher continues at its cursor.
    stream = connect(server, key="admin").watch(cursor)
    following = [next(response for response in stream if response.HasField("event")) for _ in range(21)]
    stream.cancel()
    accounts = [each.event.account_id for each in following if each.event.type == EVENT_TYPE_ACCOUNT_CREATED]
    assert accounts == [other.account.account_id for other in others]

    # Moving back is possible: the file still serves its contents.
    server.stop()
    server.settings["store"] = in_file
    server.launch()
    assert session(connect(server).sign_in(password(email))).account.account_id == made.account.account_id


def test_a_killed_move_leaves_nothing_and_can_be_repeated(
        serve: Callable[..., Server], conninfo: str) -> None:
    old = serve()
    old.stop()
    with sqlite3.connect(old.database) as file:
        file.execute("""
            INSERT INTO audit WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 41000)
            SELECT i, 'e' || i, i, 'ann', 'SIGNED_IN', 'shop', '{"padding":"' || hex(zeroblob(200)) || '"}' FROM n""")
    mover = subprocess.Popen(move(old.database, conninfo))
    with databases.connected(databases.POSTGRES) as database:
        deadline = time.monotonic() + 60
        copying = "SELECT count(*) FROM pg_stat_progress_copy WHERE command = 'COPY FROM' AND tuples_processed > 1000"
        while database.execute(copying).fetchone()[0] == 0:
            assert mover.poll() is None and time.monotonic() < deadline
    mover.send_signal(signal.SIGKILL)
    mover.wait()
    for table in ("accounts", "audit", "signing_keys"):
        assert counted(conninfo, table) == 0
    assert moved(old.database, conninfo)["outcome"] == "moved"
    assert counted(conninfo, "audit") >= 40_000


@pytest.mark.parametrize(("to", "why"), [
    ("host=/tmp dbname=x password=secret", "password"), ("dbname=x", "host"),
    ("host=db.example.com dbname=x", "sslmode"), ("?", "keywords"),
])
def test_a_conninfo_that_the_server_would_refuse_is_refused(tmp_path: Path, to: str, why: str) -> None:
    error = moved(tmp_path / "none", to, USAGE)["error"]
    assert error["option"] == "--to" and why in error["message"] and "secret" not in error["message"]


def test_a_database_that_does_not_answer_has_its_own_exit_code(serve: Callable[..., Server], tmp_path: Path) -> None:
    old = serve()
    old.stop()
    assert "cannot be reached" in moved(old.database, f"host={tmp_path} dbname=x", UNREACHABLE)["error"]["message"]
    assert moved(tmp_path / "none", f"host={tmp_path} dbname=x", USAGE)["error"]["option"] == "--from"
