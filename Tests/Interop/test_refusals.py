"""Every limit of the transport that turns somebody away, and every way a handshake ends, shows in the metrics."""

from __future__ import annotations

import re
import socket
import ssl
import time
import urllib.request
from functools import partial
from pathlib import Path
from typing import Callable, Iterator

import pytest

import server as servers
from raw import (CANCEL, CHECK, DATA, END_STREAM, PING, PRIORITY, WATCH, Connection, client_context,
                 frame, message, request, reset, settings)
from server import Server
from test_limits import FIELDS_MAX, MESSAGE_BYTES_MAX, STREAMS_MAX
from test_response_rules import hold, settled

OK, RESOURCE_EXHAUSTED = 0, 8

pytestmark = [pytest.mark.latchkey_only("what the C core counts is its own matter"),
              pytest.mark.filterwarnings("ignore:ssl.TLSVersion")]


class Metered:
    """A server with its metrics, and what has been counted since the last look."""

    def __init__(self, start: Callable[..., Server], **overrides: object) -> None:
        self.server = start(metrics_port=0, **overrides)
        self.port = self.server.port
        self.metrics_port = self.find()
        self.seen = self.counted()

    def find(self) -> int:
        """From the log, which a thread of its own writes."""
        log, deadline = self.server.folder / f"server-{self.port}.log", time.monotonic() + 5
        while not (found := re.search(r'"message":"metrics","address":"127\.0\.0\.1:(\d+)"', log.read_text())):
            assert time.monotonic() < deadline, "the metrics are not served"
            time.sleep(0.02)
        return int(found[1])

    def text(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=5) as answer:
            return answer.read().decode()

    def counted(self) -> dict[str, int]:
        found = re.findall(r'^latchkey_(?:refusals|tls_handshakes)_total\{\w+="(\w+)"\} (\d+)$', self.text(),
                           re.MULTILINE)
        return {label: int(number) for label, number in found}

    def new(self, label: str, at_least: int = 1) -> int:
        """How often since the last look; a connection's end may be counted after its client has noticed."""
        deadline = time.monotonic() + 3
        while self.counted()[label] - self.seen[label] < at_least and time.monotonic() < deadline:
            time.sleep(0.02)
        now = self.counted()
        count = now[label] - self.seen[label]
        self.seen = now
        return count


@pytest.fixture(scope="module")
def metered(folder: Path) -> Iterator[Metered]:
    one = Metered(partial(servers.start, folder))
    yield one
    one.server.stop()


# Limits of one call.

def test_a_header_list_too_large(metered: Metered) -> None:
    with Connection(metered.port) as connection:
        for _ in range(3):
            fields = request(CHECK, *[(f"x-{number}", "v") for number in range(FIELDS_MAX)])
            assert connection.call(fields).status == RESOURCE_EXHAUSTED
        assert metered.new("header_list") == 3


def test_a_message_too_large(metered: Metered) -> None:
    with Connection(metered.port) as connection:
        stream = connection.stream()
        connection.write(connection.headers(stream, request()),
                         frame(DATA, 0, stream, message(length=MESSAGE_BYTES_MAX + 1)))
        assert connection.reply(stream).status == RESOURCE_EXHAUSTED
        assert metered.new("message_bytes") == 1


def test_a_stream_too_many(metered: Metered) -> None:
    with Connection(metered.port) as connection:
        hold(settled(connection), STREAMS_MAX)
        for _ in range(2):
            assert connection.call().reset is not None
        assert metered.new("streams") == 2


def test_a_streaming_call_too_many(metered: Metered) -> None:
    with Connection(metered.port) as connection:
        settled(connection)
        for _ in range(16):
            stream = connection.stream()
            connection.write(connection.headers(stream, request(WATCH)), frame(DATA, END_STREAM, stream, message()))
        assert connection.call(request(WATCH)).status == RESOURCE_EXHAUSTED
        assert metered.new("streaming_calls") == 1


def test_a_request_that_does_not_end_in_time(start_server: Callable[..., Server]) -> None:
    metered = Metered(start_server, request_millis=200)
    with Connection(metered.port) as connection:
        stream, = hold(settled(connection), 1)
        assert connection.reply(stream, 2).status not in (None, OK)
        assert metered.new("request_time") == 1


# Nuisances that end their connection.

def flood(metered: Metered, *parts: bytes, times: int) -> Connection:
    connection = settled(Connection(metered.port))
    for _ in range(times):
        connection.write(*parts)
    return connection


def ended(connection: Connection) -> bool:
    """The server has closed."""
    try:
        while connection.read(3) is not None:
            pass
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize("limit, part, times", [
    ("too_many_settings", settings(), 12), ("too_many_priorities", frame(PRIORITY, 0, 99, b"\0\0\0\0\x10"), 101),
    ("too_many_pings", frame(PING, 0, 0, b"too soon"), 4)])
def test_too_many_frames_of_a_kind(metered: Metered, limit: str, part: bytes, times: int) -> None:
    assert ended(flood(metered, part, times=times))
    assert metered.new(limit) == 1


def test_too_many_resets(metered: Metered) -> None:
    with settled(Connection(metered.port)) as connection:
        for _ in range(101):
            stream = connection.stream()
            connection.write(connection.headers(stream, request()) + reset(stream, CANCEL))
        assert ended(connection)
        assert metered.new("too_many_resets") == 1


def test_too_many_empty_frames(metered: Metered) -> None:
    with settled(Connection(metered.port)) as connection:
        stream, = hold(connection, 1)
        connection.write(*[frame(DATA, 0, stream) for _ in range(11)])
        assert ended(connection)
        assert metered.new("too_many_empty_frames") == 1


def test_too_many_provoked_resets(metered: Metered) -> None:
    with settled(Connection(metered.port)) as connection:
        # Past the limit that it has acknowledged each stream is refused by a reset.
        hold(connection, STREAMS_MAX)
        connection.write(*[connection.headers(connection.stream(), request()) for _ in range(51)])
        assert ended(connection)
        assert metered.new("too_many_stream_errors") == 1


# Connections and handshakes.

def test_a_connection_too_many(start_server: Callable[..., Server]) -> None:
    metered = Metered(start_server, connections_max=2)
    held = [Connection(metered.port) for _ in range(2)]
    assert [one.call().status for one in held] == [OK, OK]
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", metered.port), 5) as past:
            assert past.recv(1) == b""
    assert metered.new("connections", 3) == 3


def test_a_handshake_that_does_not_end_in_time(start_server: Callable[..., Server]) -> None:
    metered = Metered(start_server, handshake_millis=200)
    with socket.create_connection(("127.0.0.1", metered.port), 5) as silent:
        assert silent.recv(100)[:1] in (b"", b"\x15")
    assert metered.new("handshake") == 1
    assert metered.counted()["timed_out"] == 1


def test_handshakes_in_full_and_resumed(metered: Metered) -> None:
    context = client_context(None)
    with Connection(metered.port, context) as connection:
        assert connection.call().status == OK
        session = connection.socket.session
        assert metered.new("full") == 1
    with socket.create_connection(("127.0.0.1", metered.port), 5) as plain:
        with context.wrap_socket(plain, server_hostname="localhost", session=session) as resumed:
            assert resumed.session_reused
            assert metered.new("resumed") == 1


def test_a_client_that_goes_before_the_handshake_is_done(metered: Metered) -> None:
    socket.create_connection(("127.0.0.1", metered.port), 5).close()
    assert metered.new("closed") == 1


@pytest.mark.parametrize("result, context", [
    ("no_h2", lambda: client_context(None, alpn=("http/1.1",))), ("no_h2", lambda: client_context(None, alpn=())),
    ("version", lambda: old_version()), ("client_alert", lambda: distrustful())])
def test_a_handshake_that_fails(metered: Metered, result: str, context: Callable[[], ssl.SSLContext]) -> None:
    with socket.create_connection(("127.0.0.1", metered.port), 5) as plain:
        with pytest.raises(ssl.SSLError):
            context().wrap_socket(plain, server_hostname="localhost").recv(1)
    assert metered.new(result) == 1


def old_version() -> ssl.SSLContext:
    context = client_context(None)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    return context


def distrustful() -> ssl.SSLContext:
    """It knows none of our authorities."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["h2"])
    return context


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"\0" * 100])
def test_what_is_not_tls(metered: Metered, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", metered.port), 5) as plain:
        plain.sendall(sent)
        while plain.recv(1_000):
            pass
    assert metered.new("not_tls") == 1


def test_a_client_without_the_certificate_that_is_demanded(start_server: Callable[..., Server]) -> None:
    metered = Metered(start_server, client_certificates="required")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        with socket.create_connection(("127.0.0.1", metered.port), 5) as plain:
            client_context(None).wrap_socket(plain, server_hostname="localhost").recv(1)
    assert metered.new("client_certificate") == 1
