"""A fixed sequence of calls of one user on one connection, and the rules that apply in spite of failures.

Every step has an idempotency key if the service accepts one, so that the same sequence can be repeated. Acknowledged
steps must return the same result again, and the others must be possible.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clients import PASSWORD, assertion, fresh_email, password
from configuration import KEYS
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from latchkey.v1 import account_service_pb2 as accounts
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1 import session_service_pb2 as sessions
from latchkey.v1 import types_pb2 as types
from processes import Server, Simulator
from raw import Connection, Reply, client_context, message, request

OK = 0
# These need no reason of the service: a deadline, and an internal error of the server.
OF_THE_LIBRARY = {4: "DEADLINE_EXCEEDED", 13: "INTERNAL"}
CORP = "oidc.corp"


class Lost(Exception):
    """The connection ended or the stream was reset, so the effect of the call is unknown."""


class Refused(Exception):
    """The server rejected the call, with a reason."""

    def __init__(self, status: int, reason: str, text: str) -> None:
        super().__init__(f"status {status} {reason}: {text}")
        self.status, self.reason = status, reason


class Caller:
    """Typed calls on one raw connection, without automatic retries."""

    def __init__(self, server: Server, port: int | None = None, timeout_seconds: float = 10) -> None:
        self._timeout_seconds = timeout_seconds
        try:
            self._connection = Connection(port or server.port, client_context(None), patience_seconds=timeout_seconds)
        except TimeoutError:
            raise
        except OSError as error:
            raise Lost(f"no connection: {error}") from None

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.socket.close()

    def call(self, method: str, asked: Message, answer: type[Message]) -> Any:
        fields = request(f"/latchkey.v1.{method}", ("authorization", f"Bearer {KEYS['admin']}"))
        body = message(asked.SerializeToString())
        return read(method, self._connection.call(fields, body, timeout_seconds=self._timeout_seconds), answer)


    def health(self) -> bytes:
        """The encoded answer of Health/Check."""
        return self._connection.call(request("/grpc.health.v1.Health/Check"), message(b"")).data[5:]


def read(method: str, reply: Reply, answer: type[Message]) -> Any:
    """Returns a whole answer. Raises a typed rejection, or `Lost`."""
    if reply.closed or reply.reset is not None:
        raise Lost(str(reply))
    if reply.status == OK:
        assert reply.data[:1] == b"\0" and int.from_bytes(reply.data[1:5]) == len(reply.data) - 5, f"{method}: {reply}"
        return answer.FromString(reply.data[5:])
    if reply.status in OF_THE_LIBRARY:
        raise Refused(reply.status, OF_THE_LIBRARY[reply.status], reply.first("grpc-message") or "")
    status = status_pb2.Status.FromString(reply.binary("grpc-status-details-bin") or b"")
    info = error_details_pb2.ErrorInfo()
    for detail in status.details:
        detail.Unpack(info)
    assert status.code == reply.status and info.domain == "latchkey", f"{method} is refused without a reason: {reply}"
    raise Refused(reply.status or 0, info.reason, status.message)


@dataclass
class Step:
    name: str
    method: str
    answer: type[Message]
    asked: Callable[[Day], Message]
    # The part of the answer that must be the same when the step is repeated.
    lasting: Callable[[Any], Any]
    # The step that consumes the answer of this one, so that it cannot be repeated afterwards.
    used_by: str = ""


class Day:
    """One user, with the requests that were made for it."""

    def __init__(self, simulator: Simulator) -> None:
        self.email = fresh_email("büro.example")
        self.credential = assertion(simulator, CORP, email=self.email)
        # Requests of the steps with a key, which is valid only for the same request.
        self.asked: dict[str, Message] = {}
        # Acknowledged values, by step.
        self.told: dict[str, Any] = {}

    def request(self, step: Step) -> Message:
        if step.name in self.asked:
            return self.asked[step.name]
        asked = step.asked(self)
        if "idempotency_key" in asked.DESCRIPTOR.fields_by_name:
            asked.idempotency_key = secrets.token_hex(8)
            self.asked[step.name] = asked
        return asked

    @property
    def password(self) -> types.Credential:
        return password(self.email, PASSWORD)

    def live(self, caller: Caller) -> None:
        """Takes every step in turn, and repeats each that was rejected. Raises the errors of the second try."""
        for step in STEPS:
            before = self.told.get(step.name)
            if before is not None and step.used_by in self.asked:
                continue
            try:
                now = self.ask(caller, step)
            except Refused:
                now = self.ask(caller, step)
            if before is not None:
                assert step.lasting(now) == step.lasting(before), f"{step.name}: acknowledged {before}, found {now}"
            self.told[step.name] = now

    def ask(self, caller: Caller, step: Step) -> Any:
        """A correct password is never reported as wrong, in spite of failures in lower layers."""
        try:
            return caller.call(step.method, self.request(step), step.answer)
        except Refused as refusal:
            assert refusal.reason != "INVALID_LOGIN_CREDENTIALS", f"{step.name}: {refusal}"
            raise


def account_of(answer: Any) -> tuple[str, str]:
    return answer.session.account.account_id, answer.session.session_id


STEPS = [
    Step("create", "AccountService/Create", accounts.CreateResponse,
         lambda day: accounts.CreateRequest(email=day.email, password=PASSWORD), account_of),
    Step("sign in", "AuthService/SignIn", auth.SignInResponse,
         lambda day: auth.SignInRequest(credential=day.password), account_of),
    Step("fetch", "AuthService/FetchProviders", auth.FetchProvidersResponse,
         lambda day: auth.FetchProvidersRequest(email=day.email), lambda answer: answer.registered),
    Step("conflict", "AuthService/SignIn", auth.SignInResponse,
         lambda day: auth.SignInRequest(credential=day.credential), lambda answer: answer.WhichOneof("outcome"),
         used_by="complete"),
    Step("complete", "AuthService/SignIn", auth.SignInResponse,
         lambda day: auth.SignInRequest(
             credential=day.password, pending_token=day.told["conflict"].account_exists.pending_token),
         account_of, used_by="unlink"),
    Step("unlink", "AuthService/Unlink", auth.UnlinkResponse,
         lambda day: auth.UnlinkRequest(id_token=day.told["complete"].session.id_token, provider_id=CORP), account_of),
    Step("refresh", "SessionService/Refresh", sessions.RefreshResponse,
         lambda day: sessions.RefreshRequest(refresh_token=day.told["unlink"].session.refresh_token), account_of),
]
