"""Health over HTTP and gRPC: the server answers, is ready, and says why it is not."""

from __future__ import annotations

import http.client
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import databases
import pytest
from clients import Client, fresh_email
from metrics import ON_A_FREE_PORT, Scrape, address, eventually
from processes import Server, Simulator
from waiting import until

SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"
IMPORT = "latchkey.v1.AdminService/ImportAccounts"


def ask(server: Server, path: str, method: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection(*address(server), timeout=10)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def health(client: Client) -> bytes:
    answer: bytes = client.channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=60)
    return answer


def test_a_server_is_live_and_ready_and_its_store_is_sound(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(metrics=ON_A_FREE_PORT)
    assert ask(server, "/livez") == (200, "live\n")
    assert ask(server, "/readyz") == (200, "ready\n")
    assert ask(server, "/readyz", "HEAD") == (200, "")
    assert ask(server, "/readyz", "POST")[0] == 405
    assert ask(server, "/healthz")[0] == 404
    assert health(connect(server)) == SERVING
    state = "off" if databases.ON_POSTGRES else "sound"
    seen = eventually(server, lambda scrape: scrape("latchkey_store_check", state=state) == 1)
    assert seen("latchkey_ready") == 1 and seen("latchkey_reactors_stalled") == 0
    assert seen.sum("latchkey_store_check") == 1 and seen.sum("latchkey_store_trouble") == 0


def test_a_stopping_server_is_not_ready_but_live(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(metrics=ON_A_FREE_PORT, limits={"drain_seconds": 60})
    web = connect(server, key="admin")
    watch = web.channel.unary_stream("/grpc.health.v1.Health/Watch")(b"")
    assert next(watch) == SERVING
    # The drain waits for an import.
    ended = threading.Event()
    held = web.channel.stream_stream(f"/{IMPORT}")(nothing_until(ended))
    eventually(server, lambda scrape: scrape("latchkey_calls_in_flight", method=IMPORT) == 1)
    server.signal()
    assert next(watch) == NOT_SERVING
    until(lambda: ask(server, "/readyz") == (503, "not ready: the server is stopping\n"))
    assert ask(server, "/livez") == (200, "live\n")
    held.cancel()
    ended.set()
    watch.cancel()
    server.wait()


def nothing_until(ended: threading.Event) -> Iterator[bytes]:
    ended.wait(60)
    yield from ()


@pytest.mark.skipif(databases.ON_POSTGRES, reason="PostgreSQL checks its own files")
def test_a_damaged_file_is_found_after_the_start_and_is_never_ready(
        folder: Path, simulator: Simulator, connect: Callable[..., Client]) -> None:
    server = Server.start(folder, simulator, metrics=ON_A_FREE_PORT)
    try:
        web = connect(server)
        for _ in range(40):
            web.create(fresh_email())
        server.stop()
        damage(server.database)
        server.launch()
        until(lambda: ask(server, "/readyz") == (503, "not ready: the store is corrupt\n"))
        assert ask(server, "/livez")[0] == 200
        assert health(connect(server)) == NOT_SERVING
        seen = Scrape.of(server)
        assert seen("latchkey_store_trouble", trouble="corrupt") == seen("latchkey_store_check", state="corrupt") == 1
        assert seen("latchkey_ready") == 0
        lines = [line for line in server.lines() if line["message"] == "the store is corrupt"]
        assert len(lines) == 1 and lines[0]["level"] == "error" and lines[0]["why"] and lines[0]["fix"]
    finally:
        server.stop()


def damage(database: Path) -> None:
    """Overwrites the pages of an index that no start reads."""
    rows = sqlite3.connect(database)
    (root,) = rows.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'sessions_by_device'").fetchone()
    (size,) = rows.execute("PRAGMA page_size").fetchone()
    rows.close()
    with database.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xaa" * size)
