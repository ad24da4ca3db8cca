"""The connection to a hook: one that has gone silent is replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator

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
from tcp_proxy import Proxy
from waiting import until


@pytest.fixture
def proxy(hook: Hook) -> Iterator[Proxy]:
    running = Proxy(hook.port)
    yield running
    running.stop()


@pytest.fixture
def web(serve: Callable[..., Server], connect: Callable[..., Client], hook: Hook, proxy: Proxy) -> Client:
    """A client of a server that asks the hook through the proxy."""
    settings = hook.settings(
        endpoint=f"https://localhost:{proxy.port}", events=["before_sign_in"], timeout_millis=3_000)
    return connect(serve(hooks=[settings], policy=verification.POLICY))


@pytest.fixture
def email(web: Client, proxy: Proxy) -> str:
    """The address of a user for whose sign-in the server has asked once."""
    email = fresh_email()
    web.create(email)
    session(web.sign_in(password(email)))
    assert proxy.accepted == 1
    return email


def test_a_connection_on_which_nothing_arrives_is_replaced_after_the_time_limit(
        web: Client, email: str, proxy: Proxy) -> None:
    for connections in (2, 3):
        proxy.freeze()
        with expect_failure(StatusCode.UNAVAILABLE, "HOOK_UNAVAILABLE"):
            web.sign_in(password(email))
        session(web.sign_in(password(email)))
        assert proxy.accepted == connections


def test_calls_with_short_deadlines_replace_a_silent_connection_too(web: Client, email: str, proxy: Proxy) -> None:
    request, sign_in = SignInRequest(credential=password(email)), AuthServiceStub(web.channel).SignIn

    def signs_in() -> bool:
        try:
            session(sign_in(request, timeout=1.5))
        except grpc.RpcError:
            return False
        return True

    proxy.freeze()
    assert not signs_in()
    until(signs_in)
    assert proxy.accepted == 2
