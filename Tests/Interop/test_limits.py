"""Each limit, and one more: header list, messages, streams, connections, time for handshake and request."""

from __future__ import annotations

import socket
import ssl
import time
from typing import Callable

import pytest
from hyperframe import frame as frames

from raw import (CHECK, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, MAX_CONCURRENT_STREAMS,
                 MAX_HEADER_LIST_SIZE, NO_ERROR, PING, Connection, Field, Reply, frame, message, request)
from server import Server
from test_response_rules import finish, hold, settled
from waiting import until

OK, NOT_FOUND, RESOURCE_EXHAUSTED, INTERNAL = 0, 5, 8, 13
LIST_BYTES_MAX, FIELDS_MAX, MESSAGE_BYTES_MAX, STREAMS_MAX = 16384, 64, 65536, 100


def list_bytes(fields: list[Field]) -> int:
    """RFC 9113 section 6.5.2: name, value and 32 for each field."""
    return sum(len(name) + len(value) + 32 for name, value in fields)


def sized(total: int) -> list[Field]:
    """A valid call whose header list has exactly `total` bytes."""
    fields = request(CHECK, ("x-fill", ""))
    return [*fields[:-1], ("x-fill", "v" * (total - list_bytes(fields)))]


def call_in_parts(connection: Connection, fields: list[Field], part_bytes: int = 16384) -> Reply:
    """A call whose header block is split into HEADERS and as many CONTINUATION frames as necessary."""
    stream, block = connection.stream(), connection.encoder.encode(fields)
    parts = [block[at:at + part_bytes] for at in range(0, len(block), part_bytes)]
    last = len(parts) - 1
    connection.write(*[frame(CONTINUATION if at else HEADERS, END_HEADERS if at == last else 0, stream, part)
                       for at, part in enumerate(parts)], frame(DATA, END_STREAM, stream, message()))
    return connection.reply(stream)


def check_with(name_bytes: int) -> bytes:
    """A HealthCheckRequest of exactly `name_bytes` with an unknown service."""
    text = name_bytes - 4
    return b"\x0a" + bytes([text & 127 | 128, text >> 7 & 127 | 128, text >> 14]) + b"a" * text


def test_the_announced_limits_are_enforced(connection: Connection) -> None:
    announced = connection.until(frames.SettingsFrame).settings
    assert announced[MAX_HEADER_LIST_SIZE] == LIST_BYTES_MAX
    assert announced[MAX_CONCURRENT_STREAMS] == STREAMS_MAX


def test_a_header_list_of_exactly_the_limit_is_served(connection: Connection) -> None:
    assert call_in_parts(connection, sized(LIST_BYTES_MAX)).status == OK


@pytest.mark.peer_differs("the C core announces its limit and does not hold clients to it")
@pytest.mark.parametrize("total", [LIST_BYTES_MAX + 1, 2 * LIST_BYTES_MAX, 50_000])
def test_a_header_list_past_the_limit_is_resource_exhausted_and_the_connection_stays(
        connection: Connection, total: int) -> None:
    assert call_in_parts(connection, sized(total)).status == RESOURCE_EXHAUSTED
    assert connection.call().status == OK, "the HPACK states still agree"


def test_as_many_fields_as_allowed_are_served(connection: Connection) -> None:
    fields = request(CHECK, *[(f"x-{number}", "v") for number in range(FIELDS_MAX - len(request()))])
    assert connection.call(fields).status == OK


@pytest.mark.peer_differs("the C core does not count fields")
def test_one_field_more_is_resource_exhausted(connection: Connection) -> None:
    fields = request(CHECK, *[(f"x-{number}", "v") for number in range(FIELDS_MAX - len(request()) + 1)])
    assert connection.call(fields).status == RESOURCE_EXHAUSTED
    assert connection.call().status == OK


@pytest.mark.peer_differs("the C core announces its limit and does not hold clients to it")
def test_many_references_to_one_long_entry_are_counted_at_full_length(connection: Connection) -> None:
    fields = request(CHECK, *[("x-bomb", "b" * 3900)] * 30)
    block = connection.encoder.encode(fields)
    assert len(block) < 5000, "small on the wire"
    connection.write(frame(HEADERS, END_HEADERS, 1, block), frame(DATA, END_STREAM, 1, message()))
    assert connection.reply(1).status == RESOURCE_EXHAUSTED
    connection.next_stream = 3
    assert connection.call().status == OK


@pytest.mark.peer_differs("the C core reads them all")
def test_endless_continuations_end_the_connection(connection: Connection) -> None:
    connection.write(frame(HEADERS, 0, 1, connection.encoder.encode(request())))
    for _ in range(2000):
        connection.write(frame(CONTINUATION, 0, 1, b"\x00\x01x\x01y" * 100))
    reply = connection.reply(1)
    assert reply.closed or reply.goaway not in (None, NO_ERROR), "long before the megabyte was read"


def whole_call(connection: Connection, body: bytes) -> Reply:
    connection.until(frames.SettingsFrame)
    stream = connection.stream()
    connection.write(connection.headers(stream, request()))
    connection.body(stream, message(body))
    return connection.reply(stream)


def test_a_message_of_exactly_the_limit_reaches_its_handler(connection: Connection) -> None:
    assert whole_call(connection, check_with(MESSAGE_BYTES_MAX)).status == NOT_FOUND


def test_a_message_one_byte_past_the_limit_is_resource_exhausted(connection: Connection) -> None:
    assert whole_call(connection, check_with(MESSAGE_BYTES_MAX + 1)).status == RESOURCE_EXHAUSTED


@pytest.mark.latchkey_only("the C core's limit is 4 MiB")
@pytest.mark.parametrize("limit", [100_000, 1_500_000])
def test_a_raised_message_limit_is_accepted_to_its_last_byte(start_server: Callable[..., Server], limit: int) -> None:
    server = start_server(message_bytes_max=limit)
    with Connection(server.port) as edge, Connection(server.port) as past:
        assert whole_call(edge, check_with(limit)).status == NOT_FOUND
        assert whole_call(past, check_with(limit + 1)).status == RESOURCE_EXHAUSTED


def test_a_message_is_rejected_by_its_head_before_the_body_arrives(connection: Connection) -> None:
    edge, past = connection.stream(), connection.stream()
    connection.write(connection.headers(edge, request()), connection.headers(past, request()),
                     frame(DATA, 0, edge, message(length=MESSAGE_BYTES_MAX)),
                     frame(DATA, 0, past, message(length=MESSAGE_BYTES_MAX + 1)))
    assert connection.reply(past).status == RESOURCE_EXHAUSTED
    with pytest.raises(TimeoutError):
        connection.reply(edge, 0.2)


def test_windows_are_returned_for_many_messages_of_the_limit_on_one_connection(
        connection: Connection) -> None:
    connection.until(frames.SettingsFrame)
    for _ in range(40):
        stream = connection.stream()
        connection.write(connection.headers(stream, request()))
        connection.body(stream, message(check_with(MESSAGE_BYTES_MAX)))
        assert connection.reply(stream).status == NOT_FOUND


def test_rejected_messages_return_the_window_of_the_connection(connection: Connection) -> None:
    connection.until(frames.SettingsFrame)
    for _ in range(40):
        stream = connection.stream()
        connection.write(connection.headers(stream, request("/nowhere/Nothing")))
        connection.body(stream, message(b"a" * 60000))
        connection.reply(stream)
    assert connection.call().status == OK


def test_a_hundred_streams_are_open_at_once_and_served(connection: Connection) -> None:
    settled(connection)
    assert finish(connection, hold(connection, STREAMS_MAX)) == [OK] * STREAMS_MAX


def test_a_deeply_nested_message_is_internal(connection: Connection) -> None:
    assert whole_call(connection, b"\x0b" * 60000).status == INTERNAL


@pytest.mark.latchkey_only("the C core waits for a request without a limit")
def test_a_request_past_its_time_limit_is_ended_and_the_connection_stays(
        start_server: Callable[..., Server]) -> None:
    with Connection(start_server(request_millis=500).port) as connection:
        stream, = hold(settled(connection), 1)
        reply = connection.reply(stream)
        assert not reply.closed and (reply.reset is not None or reply.status not in (None, OK)), reply
        assert connection.call().status == OK


def takes_another(server: Server) -> bool:
    """Whether a new connection is served, or else closed at once. A connection without an answer is an error."""
    try:
        with Connection(server.port) as another:
            reply = another.call()
    except (ssl.SSLError, ConnectionError):
        return False
    assert reply.closed or reply.status == OK
    return not reply.closed


@pytest.mark.latchkey_only("the C core does not limit connections")
def test_a_connection_past_the_limit_is_closed_and_earlier_ones_are_served(
        start_server: Callable[..., Server]) -> None:
    server = start_server(connections_max=8)
    held = [Connection(server.port) for _ in range(8)]
    assert [one.call().status for one in held] == [OK] * 8
    assert not takes_another(server)
    assert [one.call().status for one in held] == [OK] * 8
    held.pop().socket.close()
    until(lambda: takes_another(server), otherwise="no place was free again")


@pytest.mark.latchkey_only("the C core allows two minutes")
@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01\x02\x00\x01"], ids=["silent", "half a hello"])
def test_a_handshake_that_does_not_end_in_time_is_closed(start_server: Callable[..., Server], sent: bytes) -> None:
    server = start_server(handshake_millis=500)
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), 8) as silent:
        silent.sendall(sent)
        assert silent.recv(100)[:1] in (b"", b"\x15")
        assert 0.4 < time.monotonic() - began < 8
    # On a busy machine, an honest handshake may take too long as well.
    until(lambda: takes_another(server))


def test_a_peer_that_never_reads_its_answers_does_not_slow_the_others(server: Server) -> None:
    with Connection(server.port, receive_buffer_bytes=4096) as deaf, Connection(server.port) as other:
        for _ in range(60):
            deaf.write(*[deaf.headers(deaf.stream(), request("/nowhere/Nothing"), END_HEADERS | END_STREAM)
                         for _ in range(50)])
        began = time.monotonic()
        assert [other.call().status for _ in range(20)] == [OK] * 20
        assert time.monotonic() - began < 10


def test_a_silent_connection_is_kept(connection: Connection) -> None:
    settled(connection)
    time.sleep(1)
    connection.write(frame(PING, 0, 0, b"awake???"))
    assert isinstance(connection.until(frames.PingFrame), frames.PingFrame)
