"""A hostile client must not keep memory after it disconnects, exceed its deadline, or block other clients."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Callable

import pytest
from hyperframe import frame as frames

from raw import DATA, END_STREAM, NO_ERROR, PING, WATCH, Connection, frame, message, request, reset
from server import Server
from test_response_rules import settled

OK, DEADLINE_EXCEEDED = 0, 4
MEBIBYTE = 1 << 20

pytestmark = pytest.mark.latchkey_only("the memory of the C core is not tested")


def memory(server: Server) -> int:
    """Resident memory of the server in bytes."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmRSS:"))


def leave_calls_behind(server: Server, connections: int) -> None:
    """Each connection ends with sixteen calls that are nearly complete."""
    part = b"a" * 16000
    for _ in range(connections):
        with Connection(server.port) as connection:
            settled(connection)
            for stream in [connection.stream() for _ in range(16)]:
                connection.write(connection.headers(stream, request()),
                                 *[frame(DATA, 0, stream, body) for body in (message(part, length=60000), part, part)])
            connection.write(frame(PING, 0, 0, b"received"))
            assert connection.until(frames.PingFrame)


def test_the_memory_of_calls_is_freed_with_their_connection(start_server: Callable[..., Server]) -> None:
    server = start_server()
    leave_calls_behind(server, 10)
    before = memory(server)
    leave_calls_behind(server, 60)
    assert memory(server) - before < 15 * MEBIBYTE


def test_a_watch_whose_request_arrives_in_one_piece_ends_at_its_deadline(server: Server) -> None:
    with Connection(server.port) as connection:
        stream = settled(connection).stream()
        connection.write(connection.headers(stream, request(WATCH, ("grpc-timeout", "300m")))
                         + frame(DATA, END_STREAM, stream, message()))
        assert connection.reply(stream).status == DEADLINE_EXCEEDED


def test_a_deadline_past_the_time_limit_of_requests_is_kept(
        start_server: Callable[..., Server]) -> None:
    with Connection(start_server(request_millis=200).port) as connection:
        began = time.monotonic()
        assert connection.call(request(WATCH, ("grpc-timeout", "900m"))).status == DEADLINE_EXCEEDED
        assert 0.85 < time.monotonic() - began < 20


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01\x02\x00\x01"], ids=["silent", "half a hello"])
def test_stalled_handshakes_do_not_block_other_clients(start_server: Callable[..., Server], sent: bytes) -> None:
    # A server of its own, so that remains of one flood do not count for the next.
    server = start_server(handshake_millis=60_000)
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(240)]
    for one in idle:
        one.sendall(sent)
    began = time.monotonic()
    with Connection(server.port) as connection:
        assert connection.call().status == OK
    assert time.monotonic() - began < 20
    for one in idle:
        one.close()


def test_a_client_that_resets_each_call_after_its_answer_stays_connected(server: Server) -> None:
    """Some libraries end every call in this way."""
    with settled(Connection(server.port)) as connection:
        for _ in range(1_000):
            reply = connection.call()
            assert reply.status == OK
            connection.write(reset(reply.frames[0].stream_id, NO_ERROR))
