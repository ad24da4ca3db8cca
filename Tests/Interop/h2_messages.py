"""The group `http2`, RFC sections 6.5 to 8.2: SETTINGS, PING, GOAWAY, windows, CONTINUATION and HTTP itself.

Section numbers are those of RFC 7540, which the conformance tools use.
"""

from __future__ import annotations

import struct

from hyperframe import frame as frames

from h2 import (Case, ECHO, acknowledged, alive, alive_or_closed, answered, body, call, connection_error, data_of,
                echoed, head, malformed, ping, stream_error)
from h2_frames import PROTOCOL, SIZE, continuation, open_block
from h2_generic import Send, continued
from raw import (ACK, CHECK, END_HEADERS, END_STREAM, ENABLE_PUSH, FLOW_CONTROL_ERROR, GOAWAY, INITIAL_WINDOW_SIZE,
                 MAX_FRAME_SIZE, PING, PROTOCOL_ERROR, PUSH_PROMISE, SETTINGS, WINDOW_UPDATE, CONTINUATION, Connection,
                 Field, frame, message, request, reset, settings, window_update)

FLOW = connection_error(FLOW_CONTROL_ERROR)
MALFORMED = stream_error(PROTOCOL_ERROR)
WINDOW_MAX = 2**31 - 1
METHOD, SCHEME, PATH, AUTHORITY, *REST = request()


def window_after_headers(c: Connection) -> bytes:
    """No window at first. The change must reach the waiting stream (RFC 9113 section 6.9.2)."""
    c.write(settings((INITIAL_WINDOW_SIZE, 0)), call(c))
    c.until(frames.HeadersFrame)
    return settings((INITIAL_WINDOW_SIZE, 1))


def negative_window(c: Connection) -> bytes:
    """The client reads three bytes. Then the window shrinks to -1 and is raised by 2: room for one byte."""
    c.write(settings((INITIAL_WINDOW_SIZE, 3)), call(c))
    data_of(3)(c)
    return settings((INITIAL_WINDOW_SIZE, 2)) + window_update(1, 2)


def ping_ack_first(c: Connection) -> bytes:
    return frame(PING, ACK, 0, b"not mine") + ping()


def with_length(length: str, *parts: bytes) -> Send:
    """A call whose content-length differs from the length of its DATA frames."""
    def send(c: Connection) -> bytes:
        flags = [0] * (len(parts) - 1) + [END_STREAM]
        return head(c, 1, request(CHECK, ("content-length", length))) + b"".join(
            body(1, part, flag) for part, flag in zip(parts, flags, strict=True))
    return send


def with_fields(*fields: Field) -> Send:
    return malformed(METHOD, SCHEME, PATH, AUTHORITY, *REST, *fields)


CONTROL = [
    Case("http2 6.5/1", "SETTINGS ack with a payload", lambda c: frame(SETTINGS, ACK, 0, bytes(6)), SIZE),
    Case("http2 6.5/2", "SETTINGS of a stream", lambda c: settings((3, 100), stream=1), PROTOCOL),
    Case("http2 6.5/3", "SETTINGS of a length that is not of sixes", lambda c: frame(SETTINGS, 0, 0, bytes(3)), SIZE),
    Case("http2 6.5.2/1", "ENABLE_PUSH of 2", lambda c: settings((ENABLE_PUSH, 2)), PROTOCOL),
    Case("http2 6.5.2/2", "INITIAL_WINDOW_SIZE of 2^31", lambda c: settings((INITIAL_WINDOW_SIZE, 2**31)), FLOW),
    Case("http2 6.5.2/3", "MAX_FRAME_SIZE below 2^14", lambda c: settings((MAX_FRAME_SIZE, 16383)), PROTOCOL),
    Case("http2 6.5.2/4", "MAX_FRAME_SIZE of 2^24", lambda c: settings((MAX_FRAME_SIZE, 2**24)), PROTOCOL),
    Case("http2 6.5.2/5", "an unknown setting", lambda c: settings((0xFF, 1)), alive),
    Case("http2 6.5.3/1", "the later of two values holds",
         lambda c: settings((INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 1)) + call(c), data_of(1)),
    Case("http2 6.5.3/2", "SETTINGS are acknowledged", lambda c: settings((ENABLE_PUSH, 0)), acknowledged),
    Case("http2 6.7/1", "PING is echoed", lambda c: ping(), echoed),
    Case("http2 6.7/2", "an ack of PING is not answered", ping_ack_first, echoed),
    Case("http2 6.7/3", "PING of a stream", lambda c: frame(PING, 0, 1, ECHO), PROTOCOL),
    Case("http2 6.7/4", "PING of another length than 8", lambda c: frame(PING, 0, 0, b"short"), SIZE),
    Case("http2 6.8/1", "GOAWAY of a stream", lambda c: frame(GOAWAY, 0, 1, bytes(8)), PROTOCOL),
]

WINDOWS = [
    Case("http2 6.9/1", "WINDOW_UPDATE of 0", lambda c: window_update(0, 0), PROTOCOL),
    Case("http2 6.9/2", "WINDOW_UPDATE of 0 on a stream", lambda c: head(c) + window_update(1, 0), MALFORMED),
    Case("http2 6.9/3", "WINDOW_UPDATE of another length than 4",
         lambda c: frame(WINDOW_UPDATE, 0, 0, bytes(3)), SIZE),
    Case("http2 6.9.1/1", "a window of 1 gives DATA of 1",
         lambda c: settings((INITIAL_WINDOW_SIZE, 1)) + call(c), data_of(1)),
    Case("http2 6.9.1/2", "a window of the connection above 2^31-1", lambda c: window_update(0, WINDOW_MAX) * 2, FLOW),
    Case("http2 6.9.1/3", "a window of a stream above 2^31-1",
         lambda c: head(c) + window_update(1, WINDOW_MAX) * 2, stream_error(FLOW_CONTROL_ERROR)),
    Case("http2 6.9.2/1", "INITIAL_WINDOW_SIZE changes after HEADERS", window_after_headers, data_of(1)),
    Case("http2 6.9.2/2", "a window below zero is made up for first", negative_window, data_of(1)),
    Case("http2 6.9.2/3", "INITIAL_WINDOW_SIZE that overflows", lambda c: settings((INITIAL_WINDOW_SIZE, 2**31)), FLOW),
    Case("http2 6.10/1", "several CONTINUATIONs", lambda c: continued(c, 2), answered),
    Case("http2 6.10/2", "CONTINUATION followed by another frame",
         lambda c: open_block(c) + frame(CONTINUATION, 0, 1) + body(), PROTOCOL),
    Case("http2 6.10/3", "CONTINUATION of stream 0", lambda c: open_block(c) + continuation(c, 0), PROTOCOL),
    Case("http2 6.10/4", "CONTINUATION after the end of HEADERS", lambda c: head(c) + continuation(c), PROTOCOL),
    Case("http2 6.10/5", "CONTINUATION after the end of CONTINUATION",
         lambda c: open_block(c) + frame(CONTINUATION, END_HEADERS, 1) + continuation(c), PROTOCOL),
    Case("http2 6.10/6", "CONTINUATION after DATA",
         lambda c: head(c) + body(flags=0) + continuation(c), PROTOCOL),
    Case("http2 7/1", "GOAWAY of an unknown code",
         lambda c: frame(GOAWAY, 0, 0, struct.pack(">II", 0, 0xFF)), alive_or_closed),
    Case("http2 7/2", "RST_STREAM of an unknown code", lambda c: head(c) + reset(1, 0xFF), alive),
]

EXCHANGES = [
    Case("http2 8.1/1", "second HEADERS without END_STREAM",
         lambda c: head(c) + head(c, 1, [("x-test", "ok")]), MALFORMED),
    Case("http2 8.1.2/1", "a name in upper case", with_fields(("X-TEST", "ok")), MALFORMED),
    Case("http2 8.1.2.1/1", "an unknown pseudo field",
         malformed(METHOD, SCHEME, PATH, AUTHORITY, (":test", "ok"), *REST), MALFORMED),
    Case("http2 8.1.2.1/2", "a pseudo field of responses",
         malformed(METHOD, SCHEME, PATH, AUTHORITY, (":status", "200"), *REST), MALFORMED),
    Case("http2 8.1.2.1/3", "a pseudo field in trailers",
         lambda c: head(c) + body(flags=0) + head(c, 1, [(":method", "POST")], END_HEADERS | END_STREAM), MALFORMED),
    Case("http2 8.1.2.1/4", "a pseudo field after another", malformed(METHOD, SCHEME, PATH, *REST, AUTHORITY),
         MALFORMED),
    Case("http2 8.1.2.2/1", "a field of the connection", with_fields(("connection", "keep-alive")), MALFORMED),
    Case("http2 8.1.2.2/2", "te other than trailers",
         malformed(METHOD, SCHEME, PATH, AUTHORITY, ("te", "trailers, deflate"), REST[1]), MALFORMED),
    Case("http2 8.1.2.3/1", "an empty :path", malformed(METHOD, SCHEME, (":path", ""), AUTHORITY, *REST), MALFORMED),
    Case("http2 8.1.2.3/2", "no :method", malformed(SCHEME, PATH, AUTHORITY, *REST), MALFORMED),
    Case("http2 8.1.2.3/3", "no :scheme", malformed(METHOD, PATH, AUTHORITY, *REST), MALFORMED),
    Case("http2 8.1.2.3/4", "no :path", malformed(METHOD, SCHEME, AUTHORITY, *REST), MALFORMED),
    Case("http2 8.1.2.3/5", "two :method", malformed(METHOD, METHOD, SCHEME, PATH, AUTHORITY, *REST), MALFORMED),
    Case("http2 8.1.2.3/6", "two :scheme", malformed(METHOD, SCHEME, SCHEME, PATH, AUTHORITY, *REST), MALFORMED),
    Case("http2 8.1.2.3/7", "two :path", malformed(METHOD, SCHEME, PATH, PATH, AUTHORITY, *REST), MALFORMED),
    Case("http2 8.1.2.6/1", "content-length and one DATA", with_length("1", message()), MALFORMED),
    Case("http2 8.1.2.6/2", "content-length and two DATA", with_length("1", b"\0\0", b"\0\0\0"), MALFORMED),
    Case("http2 8.2/1", "PUSH_PROMISE of a client",
         lambda c: frame(PUSH_PROMISE, END_HEADERS, 1, struct.pack(">I", 3) + c.encoder.encode(request())), PROTOCOL),
]
