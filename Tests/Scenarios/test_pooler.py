"""PgBouncer between the server and PostgreSQL: found at the start in transaction mode, accepted in session mode."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import databases
import pytest
from clients import Client, fresh_email
from configuration import settings
from ports import free_port
from processes import LATCHKEYD, Server, Simulator, end, write
from waiting import until

pytestmark = [
    pytest.mark.skipif(not databases.ON_POSTGRES, reason="the servers keep files"),
    pytest.mark.skipif(shutil.which("pgbouncer") is None, reason="PgBouncer is not installed"),
]


@pytest.fixture
def database() -> Iterator[str]:
    name = f"scenario_{secrets.token_hex(8)}"
    with databases.connected(databases.POSTGRES) as server:
        server.execute(f"CREATE DATABASE {name}")
        yield name
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def pooled(database: str, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Starts PgBouncer with these settings, and returns the connection string of a database behind it."""
    running: list[subprocess.Popen[bytes]] = []
    place = dict(pair.split("=", 1) for pair in databases.POSTGRES.split())

    def start(**more: str | int) -> str:
        port = free_port()
        # PgBouncer refuses to run as root. Its files must be readable for the user of the database.
        folder = Path(f"/tmp/latchkey-pooler-{secrets.token_hex(6)}")
        folder.mkdir(mode=0o755)
        (folder / "users").write_text(f'"{place["user"]}" ""\n')
        lines = {"listen_addr": "127.0.0.1", "listen_port": port, "auth_type": "trust", "unix_socket_dir": "",
                 "auth_file": folder / "users", "default_pool_size": 60, "max_client_conn": 200, **more}
        (folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host={place['host']}\n[pgbouncer]\n"
            + "".join(f"{name} = {value}\n" for name, value in lines.items()))
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        with (tmp_path / "pgbouncer.log").open("ab") as log:
            running.append(subprocess.Popen(
                [*as_user, shutil.which("pgbouncer"), folder / "pgbouncer.ini"], stdout=log, stderr=log))
        conninfo = f"host=127.0.0.1 port={port} user={place['user']} dbname={database}"
        until(lambda: answers(conninfo), otherwise=(tmp_path / "pgbouncer.log").read_text())
        return conninfo

    yield start
    for each in running:
        end(each)


def answers(conninfo: str) -> bool:
    try:
        with databases.connected(conninfo) as server:
            return bool(server.execute("SELECT 1").fetchone())
    except Exception:  # noqa: BLE001
        return False


def configured(folder: Path, simulator: Simulator, conninfo: str) -> Server:
    port = free_port()
    store = {"postgres": {"conninfo": conninfo + " sslmode=disable"}}
    return Server(folder, port, {**settings(folder, port, simulator.base), "store": store})


@pytest.mark.parametrize("round_robin, busy", [(0, 0), (1, 0), (0, 4), (1, 4)])
def test_transaction_mode_is_found_at_the_start_and_named(
        folder: Path, simulator: Simulator, pooled: Callable[..., str], round_robin: int, busy: int) -> None:
    conninfo = pooled(pool_mode="transaction", server_round_robin=round_robin)
    # Idle sessions of other clients, among which PgBouncer chooses.
    others = [databases.connected(conninfo) for _ in range(busy)]
    opened = [each.__enter__() for each in others]
    for each in opened:
        each.execute("BEGIN")
    for each in opened:
        each.execute("ROLLBACK")
    server = configured(folder, simulator, conninfo)
    begun = time.monotonic()
    ended = subprocess.run([LATCHKEYD, "--config", write(server)], capture_output=True, text=True, timeout=90)
    for each in others:
        each.__exit__(None, None, None)
    assert ended.returncode == 78, ended.stderr[-500:]
    assert "store.postgres.conninfo: a pooler such as PgBouncer in transaction mode" in ended.stderr
    assert time.monotonic() - begun < 60


def test_session_mode_is_accepted(
        folder: Path, simulator: Simulator, pooled: Callable[..., str], connect: Callable[..., Client]) -> None:
    server = configured(folder, simulator, pooled(pool_mode="session"))
    server.launch()
    try:
        client = connect(server)
        made = client.create(fresh_email())
        assert client.verify(made.id_token).active
    finally:
        server.stop()
