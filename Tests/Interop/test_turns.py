"""The turns of a reactor: however much one client sends, another's call is answered before most of that work.

The server is stopped while all input is sent, so that it finds everything when it continues. The tests compare the
times of the answers with each other, so that they do not depend on the server's speed.
"""

from __future__ import annotations

import select
import signal
import socket
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Callable, Iterator

import pytest

import server as servers
from attacker import ask
from attacks import LIST_SERVICES, REFLECT
from raw import (DATA, END_STREAM, INITIAL_WINDOW_SIZE, Connection, client_hello, frame, message, request, settings,
                 window_update)
from server import Server
from test_response_rules import settled

OK = 0
# Other work of the machine can delay one answer.
ATTEMPTS = 3

pytestmark = [pytest.mark.latchkey_only("the scheduling of the C core is not tested"), pytest.mark.timed]


@pytest.fixture(scope="module")
def one_reactor(folder: Path) -> Iterator[Server]:
    server = servers.start(folder, reactors=1, connections_per_address_max=1_000)
    yield server
    assert server.process.poll() is None
    server.stop()


@contextmanager
def stopped(server: Server) -> Iterator[None]:
    server.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.signal(signal.SIGCONT)


def share(server: Server, send: Callable[[], None], wait: Callable[[], None]) -> float:
    """The time of another client's answer, as a share of the time until `wait` has seen the end of all input."""
    with settled(Connection(server.port, source="127.0.0.2")) as other:
        stream = other.stream()
        with stopped(server):
            send()
            other.write(other.headers(stream, request()), frame(DATA, END_STREAM, stream, message()))
        begun = time.monotonic()
        assert other.reply(stream, 20).status == OK
        answered = time.monotonic()
        wait()
        return (answered - begun) / (time.monotonic() - begun)


def least(measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(ATTEMPTS))


def test_two_thousand_messages_of_one_call_do_not_delay_another_call(one_reactor: Server) -> None:
    def measure() -> float:
        with settled(Connection(one_reactor.port)) as greedy:
            greedy.write(settings((INITIAL_WINDOW_SIZE, 2**31 - 1)), window_update(0, 2**31 - 1 - 65535))
            stream = greedy.stream()
            asked = [frame(DATA, 0, stream, LIST_SERVICES * 100)] * 19 + [
                frame(DATA, END_STREAM, stream, LIST_SERVICES * 100)]
            head = greedy.headers(stream, request(REFLECT))
            replies = []
            spent = share(one_reactor, lambda: greedy.write(head, *asked),
                          lambda: replies.append(greedy.reply(stream, 20)))
            assert replies[0].status == OK and len(replies[0].data) > 2_000 * 100
            return spent

    assert least(measure) < 0.25


def test_sixteen_thousand_records_of_one_byte_do_not_delay_another_call(one_reactor: Server) -> None:
    def measure() -> float:
        with settled(Connection(one_reactor.port)) as greedy:
            stream = greedy.stream()
            call = greedy.headers(stream, request()) + frame(DATA, END_STREAM, stream, message(b"\x0a\x00" * 8_000))

            def send() -> None:
                greedy.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
                for byte in call:
                    greedy.socket.send(bytes([byte]))
                greedy.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)

            return share(one_reactor, send, lambda: assert_ok(greedy, stream))

    assert least(measure) < 0.25


def assert_ok(connection: Connection, stream: int) -> None:
    assert connection.reply(stream, 20).status == OK


def test_a_hundred_handshakes_do_not_delay_a_call(one_reactor: Server) -> None:
    def measure() -> float:
        with ExitStack() as held:
            greetings = [client_hello() for _ in range(100)]
            new: list[socket.socket] = []

            def send() -> None:
                for greeting in greetings:
                    new.append(held.enter_context(socket.create_connection(("127.0.0.1", one_reactor.port), 20)))
                    new[-1].sendall(greeting)

            def wait() -> None:
                assert all(one.recv(1) for one in new)

            return share(one_reactor, send, wait)

    assert least(measure) < 0.5


def test_the_first_of_200_ready_connections_are_answered_before_the_last_are_read(
        one_reactor: Server) -> None:
    def measure() -> float:
        with ExitStack() as held:
            many = [settled(held.enter_context(Connection(one_reactor.port))) for _ in range(200)]
            with stopped(one_reactor):
                for connection in many:
                    ask(connection, 10)
            begun, times = time.monotonic(), []
            waiting = select.poll()
            for connection in many:
                waiting.register(connection.socket, select.POLLIN)
            while len(times) < len(many):
                for descriptor, _ in waiting.poll(20_000):
                    times.append(time.monotonic() - begun)
                    waiting.unregister(descriptor)
            return times[0] / times[-1]

    assert least(measure) < 0.5
