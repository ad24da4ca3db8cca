"""Rules A1 to A12 of a gRPC response: the shape of answers, early answers, deadlines, resets, limits and pings.

If the gRPC documents leave a choice, the tests expect the behavior of the gRPC C core, and their names state it.
"""

from __future__ import annotations

import re
import time
from urllib.parse import unquote

import pytest
from google.rpc import error_details_pb2, status_pb2
from hyperframe import frame as frames

from raw import (ACK, CANCEL, CHECK, DATA, END_STREAM, ENHANCE_YOUR_CALM, NO_ERROR, PING, REFUSED_STREAM, WATCH,
                 Connection, frame, message, request, reset)

OK, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, UNIMPLEMENTED = 0, 3, 4, 5, 12
FETCH_PROVIDERS = "/latchkey.v1.AuthService/FetchProviders"
UNKNOWN_SERVICE = message(b"\x0a\x07nowhere")
STREAMS_MAX = 100


def hold(connection: Connection, count: int) -> list[int]:
    """Opens calls without a message, so that they stay in flight as long as the test needs."""
    streams = [connection.stream() for _ in range(count)]
    connection.write(*[connection.headers(stream, request()) for stream in streams], frame(PING, 0, 0, b"all held"))
    assert isinstance(connection.until(frames.PingFrame), frames.PingFrame), "and the server has read them"
    return streams


def finish(connection: Connection, streams: list[int]) -> list[int | None]:
    connection.write(*[frame(DATA, END_STREAM, stream, message()) for stream in streams])
    statuses: dict[int, int | None] = {}
    while len(statuses) < len(streams):
        got = connection.read()
        assert got is not None, "the connection was closed"
        if got.stream_id in streams and "END_STREAM" in got.flags:
            statuses[got.stream_id] = int(dict(got.fields)["grpc-status"])
        elif isinstance(got, frames.RstStreamFrame):
            statuses[got.stream_id] = None
    return [statuses[stream] for stream in streams]


def settled(connection: Connection) -> Connection:
    """Completes the exchange of SETTINGS: the server knows that the client has its limits."""
    connection.until(frames.SettingsFrame)
    connection.call()
    return connection


@pytest.mark.parametrize("kind", ["application/grpc", "application/grpc+proto"])
def test_A1_an_answer_is_headers_data_and_trailers_of_plain_grpc_type_as_the_c_core_does(
        connection: Connection, kind: str) -> None:
    reply = connection.call(request(content_type=kind))
    kinds = [type(got) for got in reply.frames if not isinstance(got, frames.WindowUpdateFrame)]
    assert kinds == [frames.HeadersFrame, frames.DataFrame, frames.HeadersFrame]
    head, trailers = map(dict, reply.header_blocks)
    assert (head[":status"], head["content-type"]) == ("200", "application/grpc")
    assert trailers["grpc-status"] == "0" and ":status" not in trailers
    assert reply.data == message(b"\x08\x01"), "SERVING"


def test_A2_an_immediate_failure_is_one_block_of_headers(connection: Connection) -> None:
    reply = connection.call(request("/nowhere/Nothing"))
    assert reply.trailers_only
    fields = dict(reply.header_blocks[0])
    assert (fields[":status"], fields["content-type"]) == ("200", "application/grpc")
    assert fields["grpc-status"] == str(UNIMPLEMENTED)


@pytest.mark.parametrize("path, body", [(CHECK, message()), (CHECK, UNKNOWN_SERVICE), ("/nowhere/Nothing", message()),
                                        (CHECK, b""), (CHECK, message(b"\xff"))])
def test_A3_the_status_is_there_once_as_plain_decimal(connection: Connection, path: str, body: bytes) -> None:
    reply = connection.call(request(path), body)
    values = [value for block in reply.header_blocks for name, value in block if name == "grpc-status"]
    assert len(values) == 1 and re.fullmatch(r"0|[1-9][0-9]?", values[0])


@pytest.mark.parametrize("name", ["\u00e9\u4f60\u597d%25 %", "a\r\n\tb\u2603", "a b/%zz~\x7f"])
def test_A4_a_message_is_percent_encoded_utf_8_for_every_request(connection: Connection, name: str) -> None:
    service = name.encode()
    reply = connection.call(body=message(bytes([0x0A, len(service)]) + service))
    text = reply.first("grpc-message") or ""
    assert reply.status == NOT_FOUND
    assert unquote(text).endswith(name)
    assert re.fullmatch(r"(?:[\x20-\x24\x26-\x7e]|%[0-9A-F]{2})*", text), text


def test_A5_details_are_a_status_whose_code_and_message_equal_the_plain_ones(connection: Connection) -> None:
    reply = connection.call(request(FETCH_PROVIDERS), message())
    status = status_pb2.Status.FromString(reply.binary("grpc-status-details-bin") or b"")
    assert reply.status == status.code == INVALID_ARGUMENT
    assert reply.first("grpc-message") == status.message != ""
    assert "=" not in (reply.first("grpc-status-details-bin") or "")
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    assert any(detail.Unpack(info) for detail in status.details) and re.fullmatch(r"[A-Z][A-Z0-9_]{0,62}", info.reason)
    assert any(detail.Unpack(bad) for detail in status.details) and bad.field_violations[0].field


def test_A6_an_answer_before_the_end_of_the_request_is_followed_by_a_reset_no_error(connection: Connection) -> None:
    connection.write(connection.headers(1, request("/nowhere/Nothing")))
    reply = connection.reply(1, wait_for_reset=True)
    assert reply.trailers_only and reply.status == UNIMPLEMENTED and reply.reset == NO_ERROR
    assert isinstance(reply.frames[-1], frames.RstStreamFrame)


def test_A7_a_stream_past_its_deadline_ends_with_deadline_exceeded(connection: Connection) -> None:
    began = time.monotonic()
    reply = connection.call(request(WATCH, ("grpc-timeout", "300m")))
    assert reply.status == DEADLINE_EXCEEDED and reply.reset is None
    assert 0.25 < time.monotonic() - began < 20


def test_A7_a_call_past_its_deadline_before_its_message_came_is_ended_and_reset(connection: Connection) -> None:
    connection.write(connection.headers(1, request(CHECK, ("grpc-timeout", "200m"))))
    reply = connection.reply(1, wait_for_reset=True)
    assert reply.status == DEADLINE_EXCEEDED and reply.trailers_only and reply.reset == NO_ERROR


def test_A8_a_reset_frees_the_place_of_its_call(connection: Connection) -> None:
    settled(connection)
    held = hold(connection, STREAMS_MAX)
    connection.write(*[reset(stream, CANCEL) for stream in held[:50]])
    time.sleep(0.1)  # The C core counts a stream until it has cleaned up its call.
    assert finish(connection, hold(connection, 50) + held[50:]) == [OK] * STREAMS_MAX


@pytest.mark.peer_differs("the C core answers a PING before it has handled the reset before it", strict=False)
def test_A8_a_reset_ends_a_stream_without_a_further_frame(connection: Connection) -> None:
    connection.write(connection.headers(1, request(WATCH)), frame(DATA, END_STREAM, 1, message()))
    assert isinstance(connection.until(frames.DataFrame), frames.DataFrame)
    connection.write(reset(1, CANCEL), frame(PING, 0, 0, b"settled!"))
    assert connection.until(frames.PingFrame).opaque_data == b"settled!"
    connection.write(connection.headers(3, request()), frame(DATA, END_STREAM, 3, message()))
    seen = []
    while not (seen and seen[-1].stream_id == 3 and "END_STREAM" in seen[-1].flags):
        seen.append(connection.read())
    assert not [got for got in seen if got.stream_id == 1 and not isinstance(got, frames.WindowUpdateFrame)]


def test_A9_a_stream_past_the_limit_is_refused_and_earlier_ones_are_served(connection: Connection) -> None:
    settled(connection)
    held = hold(connection, STREAMS_MAX)
    assert connection.call().reset == REFUSED_STREAM
    assert finish(connection, held) == [OK] * STREAMS_MAX


def test_A11_a_ping_is_echoed(connection: Connection) -> None:
    connection.write(frame(PING, 0, 0, b"\x00\x01ping\xff\xfe"))
    got = connection.until(frames.PingFrame)
    assert got.opaque_data == b"\x00\x01ping\xff\xfe" and "ACK" in got.flags


def test_A11_the_third_strike_of_pings_ends_the_connection_as_the_c_core_does(connection: Connection) -> None:
    settled(connection)
    time.sleep(0.1)
    for _ in range(3):  # The first one is free, then there are two strikes.
        connection.write(frame(PING, 0, 0, b"too many"))
        assert isinstance(connection.until((frames.PingFrame, frames.GoAwayFrame)), frames.PingFrame)
    with pytest.raises(TimeoutError):
        connection.until(frames.GoAwayFrame, 0.1)
    connection.write(frame(PING, 0, 0, b"too many"))
    got = connection.until(frames.GoAwayFrame)
    assert (got.error_code, got.additional_data) == (ENHANCE_YOUR_CALM, b"too_many_pings")
    assert connection.until(frames.DataFrame) is None, "closed at once"


def test_A11_an_answer_of_the_server_forgives_the_strikes(connection: Connection) -> None:
    for _ in range(6):
        connection.write(frame(PING, 0, 0, b"patience"))
        assert connection.call().status == OK


def test_A11_an_unrequested_acknowledgement_is_ignored(connection: Connection) -> None:
    connection.write(frame(PING, ACK, 0, b"unasked!"))
    assert connection.call().status == OK


def test_A12_nothing_is_compressed_even_for_clients_that_could_read_it(connection: Connection) -> None:
    reply = connection.call(request(CHECK, ("grpc-accept-encoding", "gzip,deflate,identity")))
    assert reply.first("grpc-encoding") in (None, "identity") and reply.data[0] == 0


def test_A12_a_failure_of_the_application_is_not_found_without_data(connection: Connection) -> None:
    assert connection.call(body=UNKNOWN_SERVICE).status == NOT_FOUND
