"""A raw-frame HTTP/2 client over TLS, so that tests can send what no well-behaved client would.

It can connect, write any bytes, and read frames with a time limit. It keeps no stream states and enforces no rule of
the protocol: that is the server's task, which the tests check.
"""

from __future__ import annotations

import base64
import socket
import ssl
import struct
import time
from dataclasses import dataclass, field
from typing import Iterable, Sequence

import hpack
from hyperframe import frame as frames

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITY_FLAG = 0x1, 0x1, 0x4, 0x8, 0x20
(NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED, FRAME_SIZE_ERROR,
 REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM, INADEQUATE_SECURITY,
 HTTP_1_1_REQUIRED) = range(14)
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = (
    range(1, 7))
CHECK = "/grpc.health.v1.Health/Check"
WATCH = "/grpc.health.v1.Health/Watch"
# The longest wait for an answer. The server itself ends unfinished requests and handshakes after ten seconds.
ANSWER_SECONDS = 8.0

Field = tuple[str | bytes, str | bytes]


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame, valid or not: nothing is checked."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def settings(*pairs: tuple[int, int], flags: int = 0, stream: int = 0) -> bytes:
    return frame(SETTINGS, flags, stream, b"".join(struct.pack(">HI", *pair) for pair in pairs))


def window_update(stream: int, increment: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))


def reset(stream: int, code: int = CANCEL) -> bytes:
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


def message(body: bytes = b"", flag: int = 0, length: int | None = None) -> bytes:
    """One length-prefixed gRPC message."""
    return struct.pack(">BI", flag, len(body) if length is None else length) + body


def request(path: str = CHECK, *extra: Field, drop: Sequence[str] = (), **replace: str) -> list[Field]:
    """The fields of a valid call, without those in `drop`, with others replaced (`_` stands for `-`) or added."""
    fields = {":method": "POST", ":scheme": "https", ":path": path, ":authority": "localhost", "te": "trailers",
              "content-type": "application/grpc"}
    for name, value in replace.items():
        name = name.replace("_", "-")
        fields[":" + name if ":" + name in fields else name] = value
    return [(name, value) for name, value in fields.items() if name not in drop] + list(extra)


@dataclass
class Reply:
    """Everything received on one stream until it ended; `header_blocks` has every block in order."""

    header_blocks: list[list[tuple[str, str]]] = field(default_factory=list)
    data: bytes = b""
    ended: bool = False
    reset: int | None = None
    goaway: int | None = None
    closed: bool = False
    frames: list[frames.Frame] = field(default_factory=list)

    def first(self, name: str) -> str | None:
        return next((value for block in self.header_blocks for key, value in block if key == name), None)

    @property
    def http(self) -> str | None:
        return self.first(":status")

    @property
    def status(self) -> int | None:
        text = self.first("grpc-status")
        return None if text is None else int(text)

    @property
    def trailers_only(self) -> bool:
        return self.ended and len(self.header_blocks) == 1 and not self.data

    def binary(self, name: str) -> bytes | None:
        text = self.first(name)
        return None if text is None else base64.b64decode(text + "=" * (-len(text) % 4))

    def __str__(self) -> str:
        return (f"http={self.http} grpc={self.first('grpc-status')} message={self.first('grpc-message')!r} "
                f"reset={self.reset} goaway={self.goaway} closed={self.closed} data={len(self.data)} "
                f"trailers_only={self.trailers_only}")


def client_context(authority: str | None, alpn: Sequence[str] = ("h2",), certificate: tuple[str, str] | None = None,
                   ) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    if authority:
        context.load_verify_locations(authority)
    else:
        context.verify_mode = ssl.CERT_NONE
    if alpn:
        context.set_alpn_protocols(list(alpn))
    if certificate:
        context.load_cert_chain(*certificate)
    return context


def client_hello() -> bytes:
    """The first message of a handshake."""
    outgoing = ssl.MemoryBIO()
    try:
        client_context(None).wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


class Connection:
    """One TLS connection. By default it acknowledges the server's SETTINGS and PINGs while reading."""

    def __init__(self, port: int, context: ssl.SSLContext | None = None, *, preface: bytes | None = None,
                 acknowledge: bool = True, receive_buffer_bytes: int | None = None, source: str = "",
                 patience_seconds: float = 20) -> None:
        plain = socket.socket()
        if source:
            plain.bind((source, 0))
        if receive_buffer_bytes:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        plain.settimeout(patience_seconds)
        plain.connect(("127.0.0.1", port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = (context or client_context(None)).wrap_socket(plain, server_hostname="localhost")
        self.encoder, self.decoder = hpack.Encoder(), hpack.Decoder()
        self.acknowledge, self.buffer, self.closed, self.next_stream = acknowledge, b"", False, 1
        self.unread: list[frames.Frame] = []
        self.initial_window, self.credit = 65535, {0: 65535}
        self.write(PREFACE + settings() if preface is None else preface)

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def write(self, *parts: bytes) -> None:
        """Sends the parts together. A closed connection is recorded, not raised."""
        try:
            self.socket.sendall(b"".join(parts))
        except OSError:
            pass  # The server's output before the close can still be read.

    def split(self, parts: Iterable[bytes], pause_seconds: float = 0.002) -> None:
        """Sends each part in a TLS record and, because of the pause, usually in its own segment."""
        for part in parts:
            self.write(part)
            time.sleep(pause_seconds)

    def headers(self, stream: int, fields: Iterable[Field], flags: int = END_HEADERS) -> bytes:
        return frame(HEADERS, flags, stream, self.encoder.encode(list(fields)))

    def call(self, fields: Sequence[Field] | None = None, body: bytes | None = None, stream: int | None = None,
             timeout_seconds: float = ANSWER_SECONDS) -> Reply:
        """Sends one whole call (without a body, HEADERS end the stream) and reads its reply."""
        stream = self.stream() if stream is None else stream
        flags = END_HEADERS | (END_STREAM if body == b"" else 0)
        self.write(self.headers(stream, request() if fields is None else fields, flags))
        if body != b"":
            self.write(frame(DATA, END_STREAM, stream, message() if body is None else body))
        return self.reply(stream, timeout_seconds)

    def body(self, stream: int, payload: bytes, timeout_seconds: float = ANSWER_SECONDS) -> None:
        """Sends DATA as the peer's windows allow and ends the stream. Stops if the stream is answered first."""
        deadline = time.monotonic() + timeout_seconds
        while payload:
            room = min(self.credit[0], self.initial_window + self.credit.get(stream, 0), 16384)
            if room > 0:
                part, payload = payload[:room], payload[room:]
                self.write(frame(DATA, 0 if payload else END_STREAM, stream, part))
                self.credit[0] -= len(part)
                self.credit[stream] = self.credit.get(stream, 0) - len(part)
                continue
            got = self.receive(deadline)
            self.unread += [got] if got else []
            over = isinstance(got, frames.HeadersFrame | frames.RstStreamFrame) and got.stream_id == stream
            if got is None or over:
                return

    def stream(self) -> int:
        self.next_stream += 2
        return self.next_stream - 2

    def read(self, timeout_seconds: float = ANSWER_SECONDS) -> frames.Frame | None:
        """The next frame; None at the end of the connection. Raises TimeoutError if nothing arrives in time."""
        return self.unread.pop(0) if self.unread else self.receive(time.monotonic() + timeout_seconds)

    def receive(self, deadline: float) -> frames.Frame | None:
        while True:
            if len(self.buffer) >= 9:
                head, length = frames.Frame.parse_frame_header(memoryview(self.buffer[:9]))
                if len(self.buffer) >= 9 + length:
                    head.parse_body(memoryview(self.buffer[9:9 + length]))
                    self.buffer = self.buffer[9 + length:]
                    return self.noted(head)
            if not self.fill(deadline):
                return None

    def fill(self, deadline: float) -> bool:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("no frame in time")
        self.socket.settimeout(left)
        try:
            more = self.socket.recv(65536)
        except TimeoutError:
            raise TimeoutError("no frame in time") from None
        except OSError:
            more = b""
        self.buffer += more
        self.closed = not more
        return bool(more)

    def noted(self, got: frames.Frame) -> frames.Frame:
        if isinstance(got, (frames.HeadersFrame, frames.ContinuationFrame)):
            got.fields = self.decoder.decode(got.data)  # The servers' blocks are small: one frame each.
        if isinstance(got, frames.WindowUpdateFrame):
            self.credit[got.stream_id] = self.credit.get(got.stream_id, 0) + got.window_increment
        if isinstance(got, frames.SettingsFrame) and "ACK" not in got.flags:
            self.initial_window = got.settings.get(INITIAL_WINDOW_SIZE, self.initial_window)
            self.write(settings(flags=ACK) if self.acknowledge else b"")
        if self.acknowledge and isinstance(got, frames.PingFrame) and "ACK" not in got.flags:
            self.write(frame(PING, ACK, 0, got.opaque_data))
        return got

    def until(self, wanted: type[frames.Frame] | tuple[type[frames.Frame], ...],
              timeout_seconds: float = ANSWER_SECONDS) -> frames.Frame | None:
        """The next frame of this kind, ignoring others; None if the connection ends first."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            got = self.read(deadline - time.monotonic())
            if got is None or isinstance(got, wanted):
                return got

    def reply(self, stream: int, timeout_seconds: float = ANSWER_SECONDS, wait_for_reset: bool = False) -> Reply:
        """Everything on one stream until it ends, is reset, or the connection is closed."""
        reply, deadline = Reply(), time.monotonic() + timeout_seconds
        while not (reply.ended and not wait_for_reset) and reply.reset is None:
            got = self.read(deadline - time.monotonic())
            if got is None:
                reply.closed = True
                return reply
            if isinstance(got, frames.GoAwayFrame):
                reply.goaway = got.error_code
            if got.stream_id == stream:
                self.absorb(reply, got)
        return reply

    @staticmethod
    def absorb(reply: Reply, got: frames.Frame) -> None:
        reply.frames.append(got)
        if isinstance(got, frames.HeadersFrame):
            reply.header_blocks.append([(as_text(name), as_text(value)) for name, value in got.fields])
        elif isinstance(got, frames.DataFrame):
            reply.data += got.data
        elif isinstance(got, frames.RstStreamFrame):
            reply.reset = got.error_code
        reply.ended = reply.ended or "END_STREAM" in got.flags


def as_text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")
