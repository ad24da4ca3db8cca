"""The groups `generic` and `hpack`: valid uses of each frame and each HPACK representation, and invalid HPACK."""

from __future__ import annotations

import struct
from typing import Callable

from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH

from h2 import (Case, acknowledged, alive, alive_or_closed, answered, body, call, closed, connection_error, echoed,
                half_closed, head, ping)
from raw import (CANCEL, COMPRESSION_ERROR, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS,
                 MAX_CONCURRENT_STREAMS, NO_ERROR, PADDED, PRIORITY, PRIORITY_FLAG, Connection, frame, message, request,
                 reset, settings, window_update)

Send = Callable[[Connection], bytes]
COMPRESSION = connection_error(COMPRESSION_ERROR)
USER_AGENT_4_BITS = b"\x0f\x2b"  # Static entry 58 with a prefix of 4 bits: 15, then 43 (RFC 7541 section 5.1).
HUFFMAN = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH)


def plain(text: bytes) -> bytes:
    return bytes([len(text)]) + text


def huffman(text: bytes) -> bytes:
    coded = HUFFMAN.encode(text)
    return bytes([0x80 | len(coded)]) + coded


def priority(stream: int, depends_on: int = 0, weight: int = 16, exclusive: bool = False) -> bytes:
    return frame(PRIORITY, 0, stream, struct.pack(">IB", depends_on | exclusive << 31, weight - 1))


def block(c: Connection) -> bytes:
    return c.encoder.encode(request())


def padded_head(c: Connection) -> bytes:
    return frame(HEADERS, END_HEADERS | PADDED, 1, b"\x08" + block(c) + bytes(8)) + body()


def priority_head(c: Connection) -> bytes:
    return frame(HEADERS, END_HEADERS | PRIORITY_FLAG, 1, struct.pack(">IB", 0, 255) + block(c)) + body()


def continued(c: Connection, parts: int) -> bytes:
    """The block of a valid call in HEADERS and `parts` CONTINUATION frames."""
    whole, cut = block(c), 10
    pieces = [whole[at * cut:(at + 1) * cut] for at in range(parts)] + [whole[parts * cut:]]
    frames = [frame(CONTINUATION if at else HEADERS, END_HEADERS if at == parts else 0, 1, piece)
              for at, piece in enumerate(pieces)]
    return b"".join(frames) + body()


def with_field(coded: bytes, before: bytes = b"") -> Send:
    """A valid call with one more field (or table size update), given as HPACK bytes."""
    return lambda c: frame(HEADERS, END_HEADERS, 1, before + block(c) + coded) + body()


GENERIC = [
    Case("generic 1/1", "the preface is taken", call, answered),
    Case("generic 2/1", "PRIORITY in idle", lambda c: priority(1) + call(c), answered),
    Case("generic 2/2", "WINDOW_UPDATE in half-closed", lambda c: call(c) + window_update(1, 100), answered),
    Case("generic 2/3", "PRIORITY in half-closed", lambda c: call(c) + priority(1), answered),
    Case("generic 2/4", "RST_STREAM in half-closed", lambda c: half_closed(c) + reset(1, CANCEL), alive),
    Case("generic 2/5", "PRIORITY in closed", lambda c: closed(c) + priority(1), alive),
    Case("generic 3.1/1", "one DATA", call, answered),
    Case("generic 3.1/2", "several DATA", lambda c: head(c) + body(1, b"\0\0", 0) + body(1, b"\0\0\0"), answered),
    Case("generic 3.1/3", "padded DATA",
         lambda c: head(c) + frame(DATA, END_STREAM | PADDED, 1, b"\x05" + message() + bytes(5)), answered),
    Case("generic 3.2/1", "HEADERS", lambda c: head(c, flags=END_HEADERS | END_STREAM), answered),
    Case("generic 3.2/2", "padded HEADERS", padded_head, answered),
    Case("generic 3.2/3", "HEADERS with priority", priority_head, answered),
    Case("generic 3.3/1", "PRIORITY of weight 1", lambda c: priority(1, weight=1) + call(c), answered),
    Case("generic 3.3/2", "PRIORITY of weight 256", lambda c: priority(1, weight=256) + call(c), answered),
    Case("generic 3.3/3", "PRIORITY with a dependency", lambda c: priority(1, 3) + call(c), answered),
    Case("generic 3.3/4", "exclusive PRIORITY", lambda c: priority(1, 3, exclusive=True) + call(c), answered),
    Case("generic 3.3/5", "PRIORITY of a later stream first", lambda c: priority(5) + call(c), answered),
    Case("generic 3.4/1", "RST_STREAM", lambda c: head(c) + reset(1, CANCEL), alive),
    Case("generic 3.5/1", "SETTINGS", lambda c: settings((MAX_CONCURRENT_STREAMS, 100)), acknowledged),
    Case("generic 3.7/1", "PING", lambda c: ping(), echoed),
    Case("generic 3.8/1", "GOAWAY", lambda c: frame(GOAWAY, 0, 0, struct.pack(">II", 0, NO_ERROR)), alive_or_closed),
    Case("generic 3.9/1", "WINDOW_UPDATE of the connection", lambda c: window_update(0, 1) + call(c), answered),
    Case("generic 3.9/2", "WINDOW_UPDATE of a stream",
         lambda c: head(c) + window_update(1, 1) + body(), answered),
    Case("generic 3.10/1", "one CONTINUATION", lambda c: continued(c, 1), answered),
    Case("generic 3.10/2", "several CONTINUATIONs", lambda c: continued(c, 3), answered),
    Case("generic 4/1", "a GET is answered", lambda c: head(c, 1, request(method="GET"), 5), answered),
    Case("generic 4/2", "a HEAD is answered", lambda c: head(c, 1, request(method="HEAD"), 5), answered),
    Case("generic 4/3", "a POST is answered", call, answered),
    Case("generic 4/4", "a POST with trailers is answered",
         lambda c: head(c) + body(flags=0) + head(c, 1, [("x-test", "ok")], END_HEADERS | END_STREAM), answered),
    Case("generic 5/1", "indexed field", with_field(b"\x90"), answered),
    Case("generic 5/2", "indexing, indexed name", with_field(b"\x7a" + plain(b"test")), answered),
    Case("generic 5/3", "indexing, indexed name, Huffman", with_field(b"\x7a" + huffman(b"test")), answered),
    Case("generic 5/4", "indexing, new name", with_field(b"\x40" + plain(b"x-test") + plain(b"test")), answered),
    Case("generic 5/5", "indexing, new name, Huffman",
         with_field(b"\x40" + huffman(b"x-test") + huffman(b"test")), answered),
    Case("generic 5/6", "no indexing, indexed name", with_field(USER_AGENT_4_BITS + plain(b"test")), answered),
    Case("generic 5/7", "no indexing, indexed name, Huffman",
         with_field(USER_AGENT_4_BITS + huffman(b"test")), answered),
    Case("generic 5/8", "no indexing, new name", with_field(b"\x00" + plain(b"x-test") + plain(b"test")), answered),
    Case("generic 5/9", "no indexing, new name, Huffman",
         with_field(b"\x00" + huffman(b"x-test") + huffman(b"test")), answered),
    Case("generic 5/10", "never indexed, indexed name", with_field(b"\x1f\x2b" + plain(b"test")), answered),
    Case("generic 5/11", "never indexed, indexed name, Huffman",
         with_field(b"\x1f\x2b" + huffman(b"test")), answered),
    Case("generic 5/12", "never indexed, new name", with_field(b"\x10" + plain(b"x-test") + plain(b"test")), answered),
    Case("generic 5/13", "never indexed, new name, Huffman",
         with_field(b"\x10" + huffman(b"x-test") + huffman(b"test")), answered),
    Case("generic 5/14", "a table size update", with_field(b"", b"\x3f\xe1\x1f"), answered),
    Case("generic 5/15", "two table size updates", with_field(b"", b"\x20\x3f\xe1\x1f"), answered),
]

TEST = HUFFMAN.encode(b"test")  # 20 bits, so the last byte ends with 4 bits of padding.

HPACK = [
    Case("hpack 2.3.3/1", "an index past both tables", with_field(b"\xff\x7f"), COMPRESSION),
    Case("hpack 2.3.3/2", "a name's index past both tables", with_field(b"\x7f\x7f" + plain(b"test")), COMPRESSION),
    Case("hpack 4.2/1", "a table size update at the end of a block", with_field(b"\x20"), COMPRESSION),
    Case("hpack 5.2/1", "Huffman padding of more than 7 bits",
         with_field(b"\x00" + plain(b"x-test") + b"\x84" + TEST + b"\xff"), COMPRESSION),
    Case("hpack 5.2/2", "Huffman padding of zeros",
         with_field(b"\x00" + plain(b"x-test") + b"\x83" + TEST[:2] + bytes([TEST[2] & 0xF0])), COMPRESSION),
    Case("hpack 5.2/3", "Huffman with EOS inside",
         with_field(b"\x00" + plain(b"x-test") + b"\x87" + TEST + b"\xff\xff\xff\xff"), COMPRESSION),
    Case("hpack 6.1/1", "index 0", with_field(b"\x80"), COMPRESSION),
    Case("hpack 6.3/1", "a table size above the setting", with_field(b"", b"\x3f\xe1\xff\x03"), COMPRESSION),
]
