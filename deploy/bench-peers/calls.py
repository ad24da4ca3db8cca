"""Calls as bytes for h2load, and a check of each server's answers by a stock client."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from google.protobuf.message import Message
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1 import auth_service_pb2_grpc

from h2load import Shot
from servers import Server, Unmeasurable

DEADLINE_SECONDS = 20


@dataclass(frozen=True)
class Call:
    """A call that h2load repeats, and its expected answer."""

    method: str
    request: Message
    answer: Message

    def write(self, folder: Path) -> Shot:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / (self.method.rpartition("/")[2] + ".request")
        path.write_bytes(frame(self.request))
        return Shot(self.method, path, len(frame(self.answer)))


def frame(message: Message) -> bytes:
    data: bytes = message.SerializeToString()
    return b"\0" + len(data).to_bytes(4, "big") + data


SERVING = health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)
REGISTERED = auth.FetchProvidersResponse(
    registered=True, provider_ids=["password", "google.com"], sign_in_methods=["password", "google.com"])


def check() -> Call:
    return Call("/grpc.health.v1.Health/Check", health_pb2.HealthCheckRequest(), SERVING)


def fetch_providers(email: str) -> Call:
    return Call("/latchkey.v1.AuthService/FetchProviders", auth.FetchProvidersRequest(email=email), REGISTERED)


class Client:
    """A stock client. h2load ignores `grpc-status`, so this client checks each server before the load."""

    def __init__(self, server: Server, authority: Path) -> None:
        self.title = server.title
        credentials = grpc.ssl_channel_credentials(authority.read_bytes())
        self.channel = grpc.secure_channel(f"localhost:{server.port}", credentials)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.channel.close()

    def check(self) -> None:
        self._need(check(), health_pb2_grpc.HealthStub(self.channel).Check)

    def fetch_providers(self, email: str) -> None:
        self._need(fetch_providers(email), auth_service_pb2_grpc.AuthServiceStub(self.channel).FetchProviders)

    def _need(self, call: Call, stub: Callable[..., Message]) -> None:
        try:
            right = stub(call.request, timeout=DEADLINE_SECONDS) == call.answer
        except grpc.RpcError as error:
            raise Unmeasurable(f"{self.title} refuses {call.method}: {error}") from error
        if not right:
            raise Unmeasurable(f"{self.title} answers {call.method} wrongly")


def need_page(server: Server, call: Call, authority: Path) -> None:
    """Checks that nghttpd, which does not implement gRPC, sends these bytes."""
    address = f"https://localhost:{server.port}{call.method}"
    answer = subprocess.run(["curl", "--silent", "--fail", "--http2", "--cacert", authority, address],
                            capture_output=True, check=False)
    if answer.stdout != frame(call.answer):
        raise Unmeasurable(f"{server.title} does not send the page of {call.method}")
