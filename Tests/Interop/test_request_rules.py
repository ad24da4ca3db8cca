"""Rules R1 to R23 of a gRPC request: what the server accepts, and how it rejects each violation.

If the gRPC documents leave a choice, the tests expect the behavior of the gRPC C core, and their names state it.
"""

from __future__ import annotations

import gzip

import pytest
from hyperframe import frame as frames

from raw import (CHECK, DATA, END_HEADERS, END_STREAM, INTERNAL_ERROR, NO_ERROR,
                 PROTOCOL_ERROR, WATCH, Connection, Field, Reply, frame, message, request)

OK, INVALID_ARGUMENT, NOT_FOUND, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNIMPLEMENTED, INTERNAL = 0, 3, 5, 4, 8, 12, 13
LIMIT_BYTES = 65536


def refused(reply: Reply, status: int) -> bool:
    """A trailers-only answer, like every error before the handler."""
    return reply.trailers_only and reply.http == "200" and reply.status == status


def malformed(reply: Reply) -> bool:
    """RFC 9113 section 8.1.1: a malformed request is a stream error of type PROTOCOL_ERROR."""
    return reply.reset == PROTOCOL_ERROR and not reply.closed


def still_serves(connection: Connection) -> bool:
    return connection.call().status == OK


@pytest.mark.peer_differs("the C core answers a GET or PUT with RST_STREAM INTERNAL_ERROR, others with HTTP 200")
@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD", "OPTIONS", "post"])
def test_R1_another_method_than_post_is_http_405_and_internal(connection: Connection, method: str) -> None:
    reply = connection.call(request(method=method))
    assert (reply.http, reply.status) == ("405", INTERNAL) and still_serves(connection), reply
    # RFC 9110 section 15.5.6.
    assert reply.first("allow") == "POST"


@pytest.mark.parametrize("kind", ["application/grpc", "application/grpc+proto", "application/grpc;charset=utf-8"])
def test_R2_content_types_of_grpc_are_served(connection: Connection, kind: str) -> None:
    assert connection.call(request(content_type=kind)).status == OK


@pytest.mark.peer_differs("the C core logs another content type and serves the call")
@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/grpcx", "application/grpc-web", ""])
def test_R2_another_content_type_is_http_415(connection: Connection, kind: str) -> None:
    reply = connection.call(request(content_type=kind))
    assert reply.http == "415" and not reply.data and still_serves(connection), reply


@pytest.mark.peer_differs("the C core serves a call without a content type")
def test_R2_no_content_type_is_http_415(connection: Connection) -> None:
    assert connection.call(request(drop=["content-type"])).http == "415"


def test_R3_a_request_without_te_is_reset_with_internal_error_as_the_c_core_does(connection: Connection) -> None:
    reply = connection.call(request(drop=["te"]))
    assert reply.reset == INTERNAL_ERROR and not reply.header_blocks and still_serves(connection), reply


@pytest.mark.parametrize("te", ["gzip", "trailers, deflate"])
def test_R3_a_te_other_than_trailers_is_refused(connection: Connection, te: str) -> None:
    reply = connection.call(request(te=te))
    assert refused(reply, INTERNAL) or malformed(reply), reply


@pytest.mark.parametrize("path", [
    "/grpc.health.v1.Health/Nope", "/grpc.health.v1.Nope/Check", "/grpc.health.v1.health/check", CHECK + "/",
    CHECK + "?x=1", "//" + CHECK, "/"])
def test_R4_a_path_that_is_not_exactly_a_method_is_unimplemented(connection: Connection, path: str) -> None:
    assert refused(connection.call(request(path)), UNIMPLEMENTED)


@pytest.mark.parametrize("path", ["*", "grpc.health.v1.Health/Check"])
def test_R4_a_path_without_its_slash_is_refused(connection: Connection, path: str) -> None:
    reply = connection.call(request(path))
    assert refused(reply, UNIMPLEMENTED) or malformed(reply), reply


@pytest.mark.parametrize("timeout", ["1H", "1M", "1S", "900m", "900000u", "99999999n", "00000009S"])
def test_R5_each_unit_and_up_to_eight_digits_are_read(connection: Connection, timeout: str) -> None:
    fields = request(CHECK, ("grpc-timeout", timeout))
    # In one write, since the shortest timeout is a tenth of a second.
    connection.write(connection.headers(1, fields), frame(DATA, END_STREAM, 1, message()))
    assert connection.reply(1).status == OK


@pytest.mark.parametrize("timeout", ["1", "S", "-1S", "+1S", "1s", "1.5S", "0x1S", "1SS", ""])
def test_R5_a_malformed_timeout_is_internal_with_http_200_as_the_c_core_does(
        connection: Connection, timeout: str) -> None:
    reply = connection.call(request(CHECK, ("grpc-timeout", timeout)))
    assert refused(reply, INTERNAL) and still_serves(connection), reply


@pytest.mark.peer_differs("the C core reads nine digits")
def test_R5_nine_digits_are_internal(connection: Connection) -> None:
    assert refused(connection.call(request(CHECK, ("grpc-timeout", "100000000S"))), INTERNAL)


def test_R5_the_longest_timeout_is_clamped_and_served(connection: Connection) -> None:
    assert connection.call(request(CHECK, ("grpc-timeout", "99999999H"))).status == OK


@pytest.mark.parametrize("timeout", ["0S", "0m", "0n"])
def test_R6_a_deadline_already_over_is_deadline_exceeded(connection: Connection, timeout: str) -> None:
    assert refused(connection.call(request(WATCH, ("grpc-timeout", timeout))), DEADLINE_EXCEEDED)


@pytest.mark.parametrize("value", ["q6ur", "qw==", "qw", "qwE", "qwE=", ""])
def test_R7_binary_values_are_read_with_and_without_padding(connection: Connection, value: str) -> None:
    assert connection.call(request(CHECK, ("x-trace-bin", value))).status == OK


@pytest.mark.peer_differs("the C core does not split a list before decoding it")
@pytest.mark.parametrize("value", ["qw==,q6ur", "qw,qw", "qw==, q6ur"])
def test_R7_a_list_of_binary_values_is_split_at_its_commas(connection: Connection, value: str) -> None:
    assert connection.call(request(CHECK, ("x-trace-bin", value))).status == OK


@pytest.mark.parametrize("value", ["!!!!", "a", "qw==qw==", "q\u00e9ur"])
def test_R7_bad_base64_is_internal_with_http_200_as_the_c_core_does(connection: Connection, value: str) -> None:
    reply = connection.call(request(CHECK, ("x-trace-bin", value.encode("latin-1"))))
    assert refused(reply, INTERNAL) and still_serves(connection), reply


@pytest.mark.parametrize("value", [b"a b", b"a\tb", b"", b"~!@#$%^&*()"])
def test_R8_printable_values_are_accepted(connection: Connection, value: bytes) -> None:
    assert connection.call(request(CHECK, ("x-note", value))).status == OK


@pytest.mark.parametrize("value", [b"caf\xc3\xa9", b" a", b"a\t", b"a\x01b", b"a\x7fb", b"a\x00b", b"a\r\nb"])
def test_R8_other_values_are_dropped_or_refused_and_harm_no_later_call(connection: Connection, value: bytes) -> None:
    reply = connection.call(request(CHECK, ("x-note", value)))
    assert reply.status in (OK, INTERNAL) or malformed(reply), reply
    assert still_serves(connection)


@pytest.mark.peer_differs("the C core answers an upper-case name with INTERNAL")
def test_R8_a_name_with_upper_case_is_malformed(connection: Connection) -> None:
    assert malformed(connection.call(request(CHECK, ("X-Note", "a"))))


@pytest.mark.parametrize("name", [b"x note", b"x(note", b"x\xc3\xa9"])
def test_R8_another_bad_name_is_dropped_or_refused(connection: Connection, name: bytes) -> None:
    reply = connection.call(request(CHECK, (name, "a")))
    assert reply.status in (OK, INTERNAL) or malformed(reply), reply
    assert still_serves(connection)


def test_R9_an_unknown_reserved_name_is_ignored_as_the_c_core_does(connection: Connection) -> None:
    assert connection.call(request(CHECK, ("grpc-unheard-of", "a"))).status == OK


def test_R10_repeated_names_and_lists_are_accepted(connection: Connection) -> None:
    twice: list[Field] = [("x-note", "a"), ("x-note", "b, c"), ("x-trace-bin", "qw"), ("x-trace-bin", "q6ur")]
    assert connection.call(request(CHECK, *twice)).status == OK


@pytest.mark.peer_differs("the C core announces its limit and does not hold clients to it")
def test_R11_a_list_past_the_limit_is_resource_exhausted_and_the_connection_stays(connection: Connection) -> None:
    reply = connection.call(request(CHECK, ("x-note", "v" * 17000)))
    assert reply.status == RESOURCE_EXHAUSTED and still_serves(connection), reply


def test_R12_a_host_instead_of_authority_is_accepted_as_the_c_core_does(connection: Connection) -> None:
    assert connection.call(request(CHECK, ("host", "localhost"), drop=[":authority"])).status == OK
    assert connection.call(request(CHECK, ("host", "localhost"))).status == OK


@pytest.mark.peer_differs("the C core accepts any authority, and resets a call without one")
@pytest.mark.parametrize("fields", [
    request(drop=[":authority"]), request(authority=""), request(authority="local host"),
    request(authority="user@localhost"), request(CHECK, ("host", "other.test"))],
    ids=["none", "empty", "space", "userinfo", "disagreeing host"])
def test_R12_a_missing_bad_or_disagreeing_authority_is_refused(connection: Connection, fields: list[Field]) -> None:
    reply = connection.call(fields)
    assert reply.http == "400" or malformed(reply), reply
    assert still_serves(connection)


@pytest.mark.parametrize("body", [message(), message(b"\x0a\x00"), message(b"\x78\x01")],
                         ids=["empty", "a field", "an unknown field"])
def test_R13_one_prefixed_message_is_a_body(connection: Connection, body: bytes) -> None:
    assert connection.call(body=body).status == OK


@pytest.mark.peer_differs("the C core treats every flag except 1 as 0")
@pytest.mark.parametrize("flag", [2, 3, 128, 255])
def test_R14_another_flag_than_0_or_1_is_internal(connection: Connection, flag: int) -> None:
    assert refused(connection.call(body=message(flag=flag)), INTERNAL)


@pytest.mark.parametrize("extra", [[], [("grpc-encoding", "identity")]], ids=["without", "identity"])
def test_R15_a_compressed_flag_without_an_encoding_is_internal(connection: Connection, extra: list[Field]) -> None:
    assert refused(connection.call(request(CHECK, *extra), message(b"\x0a\x00", flag=1)), INTERNAL)


@pytest.mark.peer_differs("the C core supports gzip, and rejects other encodings with INTERNAL")
@pytest.mark.parametrize("flag", [0, 1])
@pytest.mark.parametrize("encoding", ["gzip", "snappy"])
def test_R16_an_unknown_encoding_is_unimplemented_and_the_known_ones_are_named(
        connection: Connection, encoding: str, flag: int) -> None:
    body = message(gzip.compress(b"\x0a\x00"), flag=1) if flag else message()
    reply = connection.call(request(CHECK, ("grpc-encoding", encoding)), body)
    assert refused(reply, UNIMPLEMENTED) and reply.first("grpc-accept-encoding") == "identity", reply


@pytest.mark.parametrize("length", [LIMIT_BYTES + 1, 2**32 - 1])
def test_R17_a_length_past_the_limit_is_rejected_from_the_head_as_the_c_core_does(
        connection: Connection, length: int) -> None:
    stream = connection.stream()
    connection.write(connection.headers(stream, request()), frame(DATA, 0, stream, message(length=length)))
    reply = connection.reply(stream, wait_for_reset=True)
    assert refused(reply, RESOURCE_EXHAUSTED) and reply.reset == NO_ERROR and still_serves(connection), reply


def test_R18_each_byte_may_arrive_in_a_frame_of_its_own(connection: Connection) -> None:
    stream, body = connection.stream(), message(b"\x0a\x00")
    connection.write(connection.headers(stream, request()))
    last = len(body) - 1
    connection.split([frame(DATA, END_STREAM if at == last else 0, stream, body[at:at + 1]) for at in range(last + 1)])
    assert connection.reply(stream).status == OK


def test_R18_each_byte_of_the_frames_may_arrive_in_a_record_of_its_own(connection: Connection) -> None:
    stream = connection.stream()
    whole = connection.headers(stream, request()) + frame(DATA, END_STREAM, stream, message(b"\x0a\x00"))
    connection.split([whole[at:at + 1] for at in range(len(whole))], pause_seconds=0.001)
    assert connection.reply(stream).status == OK


@pytest.mark.parametrize("end_on_headers", [True, False])
def test_R19_no_message_is_unimplemented_as_the_c_core_does(connection: Connection, end_on_headers: bool) -> None:
    stream = connection.stream()
    connection.write(connection.headers(stream, request(), END_HEADERS | (END_STREAM if end_on_headers else 0)),
                     b"" if end_on_headers else frame(DATA, END_STREAM, stream))
    assert refused(connection.reply(stream), UNIMPLEMENTED)


@pytest.mark.peer_differs("the C core answers before it has read the second message")
def test_R19_two_messages_are_unimplemented(connection: Connection) -> None:
    assert refused(connection.call(body=message() + message()), UNIMPLEMENTED)


@pytest.mark.peer_differs("grpcio treats a broken message as none and answers UNIMPLEMENTED")
@pytest.mark.parametrize("body", [b"\0", b"\0\0\0", message(b"\x0a", length=9)], ids=["head 1", "head 3", "message"])
def test_R20_an_end_inside_a_message_is_internal(connection: Connection, body: bytes) -> None:
    assert refused(connection.call(body=body), INTERNAL)


@pytest.mark.peer_differs("grpcio waits for more")
@pytest.mark.parametrize("body", [b"\2\0\0\0\0", message(b"\x0a", length=9), message(length=LIMIT_BYTES + 1)],
                         ids=["flag", "cut", "length"])
def test_R20_a_broken_message_ends_a_streaming_call_that_was_answered_already(
        connection: Connection, body: bytes) -> None:
    connection.write(connection.headers(1, request(WATCH)), frame(DATA, 0, 1, message()))
    connection.until(frames.DataFrame)
    connection.write(frame(DATA, END_STREAM, 1, body))
    reply = connection.reply(1)
    assert reply.ended and reply.status in (INTERNAL, RESOURCE_EXHAUSTED), reply


@pytest.mark.parametrize("last", [frame(DATA, 0, 1, message()) + frame(DATA, END_STREAM, 1),
                                  frame(DATA, END_STREAM, 1, message())], ids=["empty DATA", "last DATA"])
def test_R21_the_end_may_arrive_on_the_last_data_or_after_it(connection: Connection, last: bytes) -> None:
    connection.write(connection.headers(1, request()), last)
    assert connection.reply(1).status == OK


@pytest.mark.parametrize("trailer", [("x-note", "a"), ("grpc-status", "13"), ("grpc-timeout", "0S")])
def test_R22_trailers_of_the_client_are_ignored(connection: Connection, trailer: Field) -> None:
    connection.write(connection.headers(1, request()), frame(DATA, 0, 1, message()),
                     connection.headers(1, [trailer], END_HEADERS | END_STREAM))
    assert connection.reply(1).status == OK


@pytest.mark.parametrize("body", [b"\xff\xff\xff", b"\x0a\x05ab", b"\x00\x01"], ids=["varint", "length", "field 0"])
def test_R23_a_message_that_does_not_parse_is_internal(connection: Connection, body: bytes) -> None:
    assert refused(connection.call(body=message(body)), INTERNAL)


@pytest.mark.peer_differs("the C core treats text that is not UTF-8 as a message that does not parse")
@pytest.mark.parametrize("text", [b"\xff", b"a\0b"], ids=["UTF-8", "NUL"])
def test_R23_text_that_is_not_utf_8_is_an_invalid_argument_of_the_application(
        connection: Connection, text: bytes) -> None:
    reply = connection.call(body=message(bytes([0x0A, len(text)]) + text))
    assert refused(reply, INVALID_ARGUMENT) and "service" in (reply.first("grpc-message") or "")
