"""The connection to a hook: one that has gone silent is replaced."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
import verification
from clients import Client, fresh_email, password, session
from failures import expect_failure
from grpc import StatusCode
from hooks import Hook
from latchkey.v1.auth_service_pb2 import SignInRequest
from latchkey.v1.auth_service_pb2_grpc import AuthServiceStub
from processes import Server
from waiting import until


class Forwarder:
    """Forwards TCP connections. `freeze` stops those that exist without closing them, like a balancer in front of a
    machine that is gone; new ones work."""

    def __init__(self, port: int) -> None:
        self._target, self._frozen = port, threading.Event()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("localhost", 0))
        self.port = self._listener.getsockname()[1]
        self.accepted = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def freeze(self) -> None:
        self._frozen.set()
        self._frozen = threading.Event()

    def stop(self) -> None:
        for each in [self._listener, *self._sockets]:
            each.close()

    def _serve(self) -> None:
        while True:
            try:
                ours, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            theirs = socket.create_connection(("localhost", self._target))
            self._sockets += [ours, theirs]
            for source, sink in ((ours, theirs), (theirs, ours)):
                threading.Thread(target=self._carry, args=(source, sink, self._frozen), daemon=True).start()

    @staticmethod
    def _carry(source: socket.socket, sink: socket.socket, frozen: threading.Event) -> None:
        try:
            while data := source.recv(65_536):
                if not frozen.is_set():
                    sink.sendall(data)
            if not frozen.is_set():
                sink.shutdown(socket.SHUT_WR)
        except OSError:
            return


@pytest.fixture
def hook(folder: Path) -> Iterator[Hook]:
    running = Hook(folder)
    yield running
    running.stop()


@pytest.fixture
def forwarder(hook: Hook) -> Iterator[Forwarder]:
    running = Forwarder(hook.port)
    yield running
    running.stop()


def test_a_connection_on_which_nothing_arrives_is_replaced_after_the_time_limit(
        serve: Callable[..., Server], connect: Callable[..., Client], hook: Hook, forwarder: Forwarder) -> None:
    settings = hook.settings(
        endpoint=f"https://localhost:{forwarder.port}", events=["before_sign_in"], timeout_millis=3_000)
    web, email = connect(serve(hooks=[settings], policy=verification.POLICY)), fresh_email()
    web.create(email)
    session(web.sign_in(password(email)))
    assert forwarder.accepted == 1
    for connections in (2, 3):
        forwarder.freeze()
        with expect_failure(StatusCode.UNAVAILABLE, "HOOK_UNAVAILABLE"):
            web.sign_in(password(email))
        session(web.sign_in(password(email)))
        assert forwarder.accepted == connections


def test_calls_with_short_deadlines_replace_a_silent_connection_too(
        serve: Callable[..., Server], connect: Callable[..., Client], hook: Hook, forwarder: Forwarder) -> None:
    settings = hook.settings(
        endpoint=f"https://localhost:{forwarder.port}", events=["before_sign_in"], timeout_millis=3_000)
    web, email = connect(serve(hooks=[settings], policy=verification.POLICY)), fresh_email()
    web.create(email)
    session(web.sign_in(password(email)))
    forwarder.freeze()

    request, sign_in = SignInRequest(credential=password(email)), AuthServiceStub(web.channel).SignIn

    def signs_in() -> bool:
        try:
            session(sign_in(request, timeout=1.5))
        except grpc.RpcError:
            return False
        return True

    assert not signs_in()
    until(signs_in)
    assert forwarder.accepted == 2
