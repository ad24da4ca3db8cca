"""The parts of an HTTP/2 conformance case: the bytes that it sends, and the expected result.

An error of a stream may also be answered by an error of the connection, and a connection may be closed without a
GOAWAY (RFC 9113 sections 5.4.1 and 5.4.2). The expectations allow both, as the conformance tools do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from hyperframe import frame as frames

from raw import (DATA, END_HEADERS, END_STREAM, INITIAL_WINDOW_SIZE, NO_ERROR, PING, WATCH, Connection, Field, frame,
                 message, request, settings)

Expect = Callable[[Connection], None]
ECHO = b"conforms"
PATIENCE_SECONDS = 8


@dataclass(frozen=True)
class Case:
    """One case: `send` returns the bytes to write after both sides know each other's SETTINGS."""

    section: str
    promise: str
    send: Callable[[Connection], bytes]
    expect: Expect

    def run(self, connection: Connection) -> None:
        assert connection.until(frames.SettingsFrame), "the server's SETTINGS come first"
        connection.write(self.send(connection))
        self.expect(connection)


def head(c: Connection, stream: int = 1, fields: list[Field] | None = None, flags: int = END_HEADERS) -> bytes:
    return c.headers(stream, request() if fields is None else fields, flags)


def body(stream: int = 1, content: bytes = message(), flags: int = END_STREAM) -> bytes:
    return frame(DATA, flags, stream, content)


def call(c: Connection, stream: int = 1, *extra: Field) -> bytes:
    """One valid call, which the server answers completely."""
    return head(c, stream, request() + list(extra)) + body(stream)


def malformed(*fields: Field) -> Callable[[Connection], bytes]:
    """A call with exactly these fields."""
    return lambda c: head(c, 1, list(fields)) + body()


def half_closed(c: Connection, stream: int = 1) -> bytes:
    """A call that the client has ended and the server cannot end: it has neither a reason nor a window for that."""
    return settings((INITIAL_WINDOW_SIZE, 0)) + head(c, stream, request(WATCH)) + body(stream)


def closed(c: Connection, stream: int = 1) -> bytes:
    """Runs a call to its end, so that the next frame arrives on a closed stream. Returns no bytes."""
    c.write(call(c, stream))
    assert c.reply(stream).ended
    return b""


def ping() -> bytes:
    return frame(PING, 0, 0, ECHO)


def answered(c: Connection) -> None:
    """A complete answer on stream 1, with any contents."""
    reply = c.reply(1, PATIENCE_SECONDS)
    assert reply.http is not None and reply.ended and reply.reset in (None, NO_ERROR), reply


def alive(c: Connection) -> None:
    c.write(ping())
    echoed(c)


def echoed(c: Connection) -> None:
    got = c.until(frames.PingFrame, PATIENCE_SECONDS)
    assert got is not None and got.opaque_data == ECHO and "ACK" in got.flags, got


def alive_or_closed(c: Connection) -> None:
    c.write(ping())
    got = c.until((frames.PingFrame, frames.GoAwayFrame), PATIENCE_SECONDS)
    assert got is None or isinstance(got, frames.PingFrame) or got.error_code == NO_ERROR, got


def acknowledged(c: Connection) -> None:
    """Two acknowledgements: of the SETTINGS in the preface, and of those in the case."""
    for _ in range(2):
        got = c.until(frames.SettingsFrame, PATIENCE_SECONDS)
        assert got is not None and "ACK" in got.flags, got


def connection_error(*codes: int) -> Expect:
    def expect(c: Connection) -> None:
        got = c.until(frames.GoAwayFrame, PATIENCE_SECONDS)
        assert got is None or got.error_code in codes, got
    return expect


def goaway(code: int) -> Expect:
    def expect(c: Connection) -> None:
        got = c.until(frames.GoAwayFrame, PATIENCE_SECONDS)
        assert got is not None and got.error_code == code, got
        assert c.until(frames.DataFrame, PATIENCE_SECONDS) is None, "then the connection is closed"
    return expect


def stream_error(*codes: int) -> Expect:
    def expect(c: Connection) -> None:
        got = c.until((frames.RstStreamFrame, frames.GoAwayFrame), PATIENCE_SECONDS)
        assert got is None or got.error_code in codes, got
    return expect


def refused_above(limit: int, *codes: int) -> Expect:
    """The stream past the limit is reset, and no earlier one."""
    def expect(c: Connection) -> None:
        got = c.until((frames.RstStreamFrame, frames.GoAwayFrame), PATIENCE_SECONDS)
        assert got is None or (got.error_code in codes and got.stream_id in (0, 2 * limit + 1)), got
    return expect


def data_of(*lengths: int) -> Expect:
    """DATA frames of exactly these lengths, as the window allows."""
    def expect(c: Connection) -> None:
        for length in lengths:
            got = c.until(frames.DataFrame, PATIENCE_SECONDS)
            assert got is not None and len(got.data) == length, got
        c.write(ping())
        assert isinstance(c.until((frames.DataFrame, frames.PingFrame), PATIENCE_SECONDS), frames.PingFrame)
    return expect
