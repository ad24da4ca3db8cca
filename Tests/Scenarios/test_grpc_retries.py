"""The retries of a stock gRPC client with proto/service-config.json, which the Python package sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import latchkey
from clients import Client
from configuration import KEYS
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1.auth_service_pb2_grpc import (
    AuthServiceServicer, AuthServiceStub, add_AuthServiceServicer_to_server)
from processes import Server, Simulator
from test_flows import BACK, everywhere, response


@contextmanager
def retrying(address: str, folder: Path) -> Iterator[AuthServiceStub]:
    with latchkey.connect(address, ca_file=folder / "authority.pem", api_key=KEYS["web"]) as channel:
        yield AuthServiceStub(channel)


def test_a_call_that_has_used_up_its_flow_is_not_repeated(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = serve(**everywhere(simulator))
    started = connect(server).start_flow("github.com", BACK)
    callback = simulator.walk(started.authorization_url, simulator.person())
    request = auth.SignInRequest(credential=response(started, callback))
    before = simulator.fetches("github.com", "token")
    simulator.behave("github.com", "error", document="token")
    try:
        # A retry would get FLOW_USED, which hides the cause.
        with retrying(server.address, server.folder) as client, \
                expect_failure(StatusCode.UNAVAILABLE, "PROVIDER_UNAVAILABLE"):
            client.SignIn(request)
    finally:
        simulator.behave("github.com", "well", document="token")
    assert simulator.fetches("github.com", "token") == before + 1


class UnavailableOnce(AuthServiceServicer):
    def __init__(self) -> None:
        self.calls = 0

    def SignIn(self, request: auth.SignInRequest, context: grpc.ServicerContext) -> auth.SignInResponse:  # noqa: N802
        self.calls += 1
        if self.calls == 1:
            context.abort(StatusCode.UNAVAILABLE, "try again")
        return auth.SignInResponse()


def test_a_call_that_may_succeed_is_repeated(folder: Path) -> None:
    service, server = UnavailableOnce(), grpc.server(ThreadPoolExecutor(2))
    add_AuthServiceServicer_to_server(service, server)
    pair = ((folder / "server.key").read_bytes(), (folder / "server.pem").read_bytes())
    port = server.add_secure_port("localhost:0", grpc.ssl_server_credentials([pair]))
    server.start()
    try:
        with retrying(f"localhost:{port}", folder) as client:
            client.SignIn(auth.SignInRequest())
    finally:
        server.stop(None).wait()
    assert service.calls == 2
