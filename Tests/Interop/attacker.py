"""Common parts of all attacks: the target, the end time, and the results."""

from __future__ import annotations

import time
from collections import Counter
from typing import Callable, Iterator

from hyperframe import frame as frames

from raw import CHECK, DATA, END_STREAM, PING, Connection, frame, message, request

# The time that an attack waits for its result. It is short, so that attackers return soon.
PATIENCE_SECONDS = 0.5

Attack = Callable[["Attacker"], None]
ATTACKS: dict[str, Attack] = {}
# The result of each attack at its limit: the debug data of a GOAWAY, a status, a reset, or a closed connection.
MEETS: dict[str, str] = {}


def attack(meets: str) -> Callable[[Attack], Attack]:
    def note(function: Attack) -> Attack:
        ATTACKS[function.__name__], MEETS[function.__name__] = function, meets
        return function
    return note


class Attacker:
    """The target, the end time, and the results: debug data of GOAWAYs, statuses, and ends of connections."""

    def __init__(self, port: int, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.port, self.patience_seconds = port, patience_seconds
        self.until, self.met = 0.0, Counter[str]()

    @property
    def goes_on(self) -> bool:
        return time.monotonic() < self.until

    def connect(self, **options: object) -> Connection:
        return Connection(self.port, patience_seconds=self.patience_seconds, **options)  # type: ignore[arg-type]

    def settled(self, **options: object) -> Connection:
        connection = self.connect(**options)
        connection.until(frames.SettingsFrame)
        connection.write(frame(PING, 0, 0, b"settled?"))
        connection.until(frames.PingFrame)
        return connection

    def flood(self, connection: Connection, parts: Iterator[bytes] | Callable[[], bytes], rounds: int = 10_000) -> None:
        """Writes until the connection has ended or after so many rounds, then records the result."""
        with connection:
            for _ in range(rounds):
                if not self.goes_on:
                    return
                part = next(parts, None) if isinstance(parts, Iterator) else parts()
                if part is None or not sent(connection, part):
                    break
            self.note_end(connection)

    def note_end(self, connection: Connection) -> None:
        """Records the end of a connection, which must come now."""
        try:
            word = "closed"
            while (got := connection.read(self.patience_seconds)) is not None:
                if isinstance(got, frames.GoAwayFrame):
                    word = got.additional_data.decode("latin-1") or f"goaway {got.error_code}"
                    break
            self.met[word] += 1
        except TimeoutError:
            self.met["open"] += 1

    def note_reply(self, connection: Connection, stream: int) -> None:
        reply = connection.reply(stream, self.patience_seconds)
        self.met[f"status {reply.status}" if reply.status is not None else f"reset {reply.reset}"] += 1

    def calls(self, body: bytes, path: str = CHECK, answers: int = 1000) -> None:
        """Repeats the same call on one connection."""
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
