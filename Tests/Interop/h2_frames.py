"""The group `http2`, RFC sections 3 to 6.4: preface, frame format, stream states, DATA, HEADERS, PRIORITY, RST_STREAM.

Section numbers are those of RFC 7540, which the conformance tools use.
"""

from __future__ import annotations

import struct

from h2 import (Case, ECHO, alive, answered, body, call, closed, connection_error, echoed, goaway, half_closed, head,
                ping, refused_above, stream_error)
from h2_generic import block, priority
from raw import (CANCEL, COMPRESSION_ERROR, CONTINUATION, DATA, END_HEADERS, END_STREAM, FRAME_SIZE_ERROR, HEADERS,
                 PADDED, PING, PRIORITY, PRIORITY_FLAG, PROTOCOL_ERROR, REFUSED_STREAM, RST_STREAM, STREAM_CLOSED,
                 Connection, frame, message, reset, window_update)

PROTOCOL, SIZE = connection_error(PROTOCOL_ERROR), connection_error(FRAME_SIZE_ERROR)
CLOSED_STREAM = stream_error(STREAM_CLOSED)
CLOSED_OR_PROTOCOL = connection_error(STREAM_CLOSED, PROTOCOL_ERROR)
STREAMS_MAX, FRAME_BYTES_MAX, UNKNOWN = 100, 16384, 0xEE


def was_reset(c: Connection) -> bytes:
    c.write(head(c), reset(1, CANCEL), ping())
    echoed(c)
    return b""


def continuation(c: Connection, stream: int = 1) -> bytes:
    return frame(CONTINUATION, END_HEADERS, stream, block(c))


def self_dependent(c: Connection) -> bytes:
    return frame(HEADERS, END_HEADERS | PRIORITY_FLAG, 1, struct.pack(">IB", 1, 15) + block(c))


def open_block(c: Connection, stream: int = 1) -> bytes:
    """An incomplete header block."""
    return frame(HEADERS, 0, stream, block(c))


def too_many(c: Connection) -> bytes:
    return b"".join(head(c, 2 * number + 1) for number in range(STREAMS_MAX + 1))


def reserved(c: Connection) -> bytes:
    return frame(PING, 0, 1 << 31, ECHO)


STARTING = [
    Case("http2 3.5/1", "a good preface", call, answered),
    Case("http2 4.1/1", "a frame of an unknown type", lambda c: frame(UNKNOWN, 0, 0, b"12345678") + ping(), echoed),
    Case("http2 4.1/2", "a frame with undefined flags", lambda c: frame(PING, 0xFE, 0, ECHO), echoed),
    Case("http2 4.1/3", "a frame with the reserved bit", reserved, echoed),
    Case("http2 4.2/1", "DATA of 2^14 bytes",
         lambda c: head(c) + body(1, message(b"\x0a\xf7\x7f" + b"a" * (FRAME_BYTES_MAX - 8))), answered),
    Case("http2 4.2/2", "DATA above the frame size",
         lambda c: head(c) + body(1, bytes(FRAME_BYTES_MAX + 1)), stream_error(FRAME_SIZE_ERROR)),
    Case("http2 4.2/3", "HEADERS above the frame size",
         lambda c: frame(HEADERS, END_HEADERS, 1, block(c) + bytes(FRAME_BYTES_MAX)), SIZE),
    Case("http2 4.3/1", "a broken header block",
         lambda c: frame(HEADERS, END_HEADERS, 1, block(c) + b"\x40"), connection_error(COMPRESSION_ERROR)),
    Case("http2 4.3/2", "PRIORITY inside a block", lambda c: open_block(c) + priority(1), PROTOCOL),
    Case("http2 4.3/3", "HEADERS of another stream inside a block", lambda c: open_block(c) + head(c, 3), PROTOCOL),
]

STATES = [
    Case("http2 5.1/1", "idle: DATA", lambda c: body(), CLOSED_OR_PROTOCOL),
    Case("http2 5.1/2", "idle: RST_STREAM", lambda c: reset(1), PROTOCOL),
    Case("http2 5.1/3", "idle: WINDOW_UPDATE", lambda c: window_update(1, 100), PROTOCOL),
    Case("http2 5.1/4", "idle: CONTINUATION", continuation, PROTOCOL),
    Case("http2 5.1/5", "half-closed: DATA", lambda c: half_closed(c) + body(), CLOSED_STREAM),
    Case("http2 5.1/6", "half-closed: HEADERS", lambda c: half_closed(c) + head(c), CLOSED_STREAM),
    Case("http2 5.1/7", "half-closed: CONTINUATION", lambda c: half_closed(c) + continuation(c), CLOSED_OR_PROTOCOL),
    Case("http2 5.1/8", "closed by RST_STREAM: DATA", lambda c: was_reset(c) + body(), CLOSED_STREAM),
    Case("http2 5.1/9", "closed by RST_STREAM: HEADERS", lambda c: was_reset(c) + head(c), CLOSED_STREAM),
    Case("http2 5.1/10", "closed by RST_STREAM: CONTINUATION",
         lambda c: was_reset(c) + continuation(c), CLOSED_OR_PROTOCOL),
    Case("http2 5.1/11", "closed: DATA", lambda c: closed(c) + body(), CLOSED_STREAM),
    Case("http2 5.1/12", "closed: HEADERS", lambda c: closed(c) + head(c), connection_error(STREAM_CLOSED)),
    Case("http2 5.1/13", "closed: CONTINUATION", lambda c: closed(c) + continuation(c), CLOSED_OR_PROTOCOL),
    Case("http2 5.1.1/1", "an even stream id", lambda c: head(c, 2), PROTOCOL),
    Case("http2 5.1.1/2", "a stream id going back", lambda c: head(c, 5) + head(c, 3), CLOSED_OR_PROTOCOL),
    Case("http2 5.1.2/1", "more streams than allowed", too_many,
         refused_above(STREAMS_MAX, PROTOCOL_ERROR, REFUSED_STREAM)),
    Case("http2 5.3.1/1", "HEADERS that depend on themselves", self_dependent, stream_error(PROTOCOL_ERROR)),
    Case("http2 5.3.1/2", "PRIORITY that depends on itself", lambda c: priority(1, 1), stream_error(PROTOCOL_ERROR)),
    Case("http2 5.4.1/1", "an error closes the connection", lambda c: frame(PING, 0, 3, ECHO), PROTOCOL),
    Case("http2 5.4.1/2", "an error is reported by GOAWAY", lambda c: frame(PING, 0, 3, ECHO), goaway(PROTOCOL_ERROR)),
    Case("http2 5.5/1", "an unknown frame is ignored", lambda c: frame(UNKNOWN, 0, 0, bytes(8)), alive),
    Case("http2 5.5/2", "an unknown frame inside a block",
         lambda c: open_block(c) + frame(UNKNOWN, 0, 0, bytes(8)), PROTOCOL),
]

FRAMES = [
    Case("http2 6.1/1", "DATA of stream 0", lambda c: body(0), PROTOCOL),
    Case("http2 6.1/2", "DATA of a stream that is not open", lambda c: half_closed(c) + body(), CLOSED_STREAM),
    Case("http2 6.1/3", "DATA with more padding than content",
         lambda c: head(c) + frame(DATA, END_STREAM | PADDED, 1, b"\x10" + message()), PROTOCOL),
    Case("http2 6.2/1", "HEADERS without END_HEADERS, then PRIORITY", lambda c: open_block(c) + priority(1), PROTOCOL),
    Case("http2 6.2/2", "HEADERS without END_HEADERS, then another stream",
         lambda c: open_block(c) + head(c, 3), PROTOCOL),
    Case("http2 6.2/3", "HEADERS of stream 0", lambda c: head(c, 0), PROTOCOL),
    Case("http2 6.2/4", "HEADERS with more padding than content",
         lambda c: frame(HEADERS, END_HEADERS | PADDED, 1, b"\xff" + block(c)), PROTOCOL),
    Case("http2 6.3/1", "PRIORITY of stream 0", lambda c: priority(0), PROTOCOL),
    Case("http2 6.3/2", "PRIORITY of another length than 5",
         lambda c: frame(PRIORITY, 0, 1, bytes(4)), stream_error(FRAME_SIZE_ERROR)),
    Case("http2 6.4/1", "RST_STREAM of stream 0", lambda c: reset(0), PROTOCOL),
    Case("http2 6.4/2", "RST_STREAM of an idle stream", lambda c: reset(1), PROTOCOL),
    Case("http2 6.4/3", "RST_STREAM of another length than 4",
         lambda c: head(c) + frame(RST_STREAM, 0, 1, bytes(3)), SIZE),
]
