"""Every transport limit that rejects calls or connections, and every end of a handshake, appears in the metrics."""

from __future__ import annotations

import re
import signal
import socket
import ssl
import time
from functools import partial
from pathlib import Path
from typing import Callable, Iterator

import pytest

import attacks
import server as servers
from attacker import ATTACKS, MEETS, Attacker
from metered import Metered
from raw import (CANCEL, CHECK, DATA, END_STREAM, INITIAL_WINDOW_SIZE, PING, PRIORITY, WATCH, Connection,
                 client_context, client_hello, frame, message, request, reset, settings, window_update)
from server import Server
from test_limits import FIELDS_MAX, MESSAGE_BYTES_MAX, STREAMS_MAX
from test_response_rules import hold, settled

OK, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED = 0, 4, 8

pytestmark = [pytest.mark.latchkey_only("the metrics of the C core are not tested"),
              pytest.mark.filterwarnings("ignore:ssl.TLSVersion")]

HERE = Path(__file__).resolve().parent
KINDS = HERE.parents[1] / "Sources/Observability/LimitKind.swift"


def test_every_limit_that_a_client_can_meet_is_counted_by_a_test() -> None:
    body = KINDS.read_text().partition("\n}\n")[0]
    names = re.findall(r"case (\w+)(?: = \"(\w+)\")?$", body, re.MULTILINE)
    text = "".join((HERE / file).read_text() for file in ("test_refusals.py", "test_hostile.py"))
    assert len(names) > 25
    assert [name or case for case, name in names if f'"{name or case}"' not in text] == []


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
        assert connection.reply(stream).status not in (None, OK)
        assert metered.new("request_time") == 1


def test_a_client_deadline_does_not_count_as_a_server_limit(metered: Metered) -> None:
    with settled(Connection(metered.port)) as connection:
        stream = connection.stream()
        connection.write(connection.headers(stream, request(CHECK, ("grpc-timeout", "100m"))))
        assert connection.reply(stream).status == DEADLINE_EXCEEDED
        assert metered.counted()["request_time"] == metered.seen["request_time"]


# Violations that end their connection.

def flood(metered: Metered, *parts: bytes, times: int) -> Connection:
    connection = settled(Connection(metered.port))
    for _ in range(times):
        connection.write(*parts)
    return connection


def ended(connection: Connection) -> bool:
    """Whether the server has closed."""
    try:
        while connection.read() is not None:
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
        # After the client has acknowledged the limit, each further stream is rejected with a reset.
        hold(connection, STREAMS_MAX)
        connection.write(*[connection.headers(connection.stream(), request()) for _ in range(51)])
        assert ended(connection)
        assert metered.new("too_many_stream_errors") == 1


@pytest.fixture(scope="module")
def hasty(folder: Path) -> Iterator[Metered]:
    """A server with short timeouts for stalled connections."""
    one = Metered(partial(servers.start, folder), reactors=1, offences_per_address_max=1_000_000, request_millis=500,
                  answer_still_seconds=1, answer_seconds=2)
    yield one
    assert one.server.process.poll() is None
    one.server.stop()


@pytest.mark.parametrize("limit, name", [
    ("slow_frame", "slow_frame"), ("slow_frame", "slow_greeting"), ("slow_frame", "slow_header_block"),
    ("too_many_premature_streams", "streams_past_a_limit_never_acknowledged"),
    ("too_many_control_frames", "unknown_frames"), ("too_many_continuations", "continuation_flood"),
    ("too_many_large_header_lists", "header_lists_past_the_limit"), ("header_list_bomb", "hpack_bomb"),
    ("too_many_untaken_answers", "zero_window"), ("untaken_answer", "zero_window"),
    ("unsent_bytes", "answers_behind_a_window"), ("held_request_bytes", "messages_in_parts"),
    ("too_many_key_updates", "key_update_flood")])
def test_an_attack_is_counted_by_the_limit_that_it_meets(hasty: Metered, limit: str, name: str) -> None:
    hasty.seen = hasty.counted()
    attacker = Attacker(hasty.port, patience_seconds=8)
    attacker.until = time.monotonic() + 60
    ATTACKS[name](attacker)
    assert attacker.met[MEETS[name]] and "open" not in attacker.met
    assert hasty.new(limit) >= 1


def test_a_client_that_does_not_read_its_socket(start_server: Callable[..., Server]) -> None:
    """First the server stops reading, then it closes."""
    # The other limits would end the call on a slow machine.
    metered = Metered(start_server, reactors=1, answer_still_seconds=60, answer_seconds=60, write_still_seconds=3)
    with settled(Connection(metered.port, receive_buffer_bytes=4096)) as deaf:
        deaf.write(window_update(0, 2**31 - 1 - 65535), settings((INITIAL_WINDOW_SIZE, 2**31 - 1)))
        stream = deaf.stream()
        deaf.write(deaf.headers(stream, request(attacks.REFLECT)))
        deadline = time.monotonic() + 25
        while metered.counted()["unread_frames"] == metered.seen["unread_frames"]:
            assert time.monotonic() < deadline
            for _ in range(20):
                # Larger frames would ask for more than one call may leave unsent.
                deaf.write(frame(DATA, 0, stream, attacks.LIST_SERVICES * 25))
        assert metered.new("slow_socket") == 1


# Connections and handshakes.

def test_a_connection_too_many(start_server: Callable[..., Server]) -> None:
    metered = Metered(start_server, connections_max=2)
    held = [Connection(metered.port) for _ in range(2)]
    assert [one.call().status for one in held] == [OK, OK]
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", metered.port), 20) as past:
            assert past.recv(1) == b""
    assert metered.new("connections", 3) == 3


def test_new_connections_past_the_handshake_limit_wait(start_server: Callable[..., Server]) -> None:
    metered = Metered(start_server, reactors=1, handshake_millis=60_000)
    # The connections arrive while the process is stopped. When it continues, it accepts them faster than it begins
    # their handshakes, so that more than 64 wait for theirs.
    metered.server.signal(signal.SIGSTOP)
    held = [socket.create_connection(("127.0.0.1", metered.port), 20) for _ in range(200)]
    for one in held:
        one.sendall(client_hello())
    metered.server.signal(signal.SIGCONT)
    assert metered.new("newcomers") >= 1
    for one in held:
        one.close()


def test_a_handshake_that_does_not_end_in_time(start_server: Callable[..., Server]) -> None:
    metered = Metered(start_server, handshake_millis=200)
    with socket.create_connection(("127.0.0.1", metered.port), 8) as silent:
        assert silent.recv(100)[:1] in (b"", b"\x15")
    assert metered.new("handshake") == 1
    assert metered.counted()["timed_out"] == 1


def test_handshakes_in_full_and_resumed(metered: Metered) -> None:
    context = client_context(None)
    with Connection(metered.port, context) as connection:
        assert connection.call().status == OK
        session = connection.socket.session
        assert metered.new("full") == 1
    with socket.create_connection(("127.0.0.1", metered.port), 20) as plain:
        with context.wrap_socket(plain, server_hostname="localhost", session=session) as resumed:
            assert resumed.session_reused
            assert metered.new("resumed") == 1


def test_a_client_that_leaves_before_the_handshake_is_complete(metered: Metered) -> None:
    socket.create_connection(("127.0.0.1", metered.port), 20).close()
    assert metered.new("closed") == 1


@pytest.mark.parametrize("result, context", [
    ("no_h2", lambda: client_context(None, alpn=("http/1.1",))), ("no_h2", lambda: client_context(None, alpn=())),
    ("version", lambda: old_version()), ("client_alert", lambda: distrustful())])
def test_a_handshake_that_fails(metered: Metered, result: str, context: Callable[[], ssl.SSLContext]) -> None:
    with socket.create_connection(("127.0.0.1", metered.port), 20) as plain:
        with pytest.raises(ssl.SSLError):
            context().wrap_socket(plain, server_hostname="localhost").recv(1)
    assert metered.new(result) == 1


def old_version() -> ssl.SSLContext:
    context = client_context(None)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    return context


def distrustful() -> ssl.SSLContext:
    """A context that trusts none of our authorities."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["h2"])
    return context


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"\0" * 100])
def test_bytes_that_are_not_tls(metered: Metered, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", metered.port), 20) as plain:
        plain.sendall(sent)
        while plain.recv(1_000):
            pass
    assert metered.new("not_tls") == 1


def test_a_client_without_the_required_certificate(start_server: Callable[..., Server]) -> None:
    metered = Metered(start_server, client_certificates="required")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        with socket.create_connection(("127.0.0.1", metered.port), 20) as plain:
            client_context(None).wrap_socket(plain, server_hostname="localhost").recv(1)
    assert metered.new("client_certificate") == 1
