"""The IDs of a call: taken from its caller or made, and the same in the response, the log and the events."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from clients import PASSWORD, Client, anonymous, fresh_email
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1 import event_service_pb2 as events
from latchkey.v1.auth_service_pb2_grpc import AuthServiceStub
from latchkey.v1.event_service_pb2_grpc import EventServiceStub
from processes import Server
from waiting import until

MADE = re.compile("[0-9a-f]{32}")


def call(client: Client, request: Any, method: str = "SignIn", **sent: str) -> tuple[dict[str, str], Any]:
    """The IDs in the response, and its status or message."""
    metadata = [(name.replace("_", "-"), value) for name, value in sent.items()]
    answer, made = getattr(AuthServiceStub(client.channel), method).with_call(request, metadata=metadata, timeout=10)
    every = [*made.initial_metadata(), *made.trailing_metadata()]
    return {name: value for name, value in every if name in ("x-request-id", "x-trace-id")}, answer


def sign_in() -> auth.SignInRequest:
    return auth.SignInRequest(credential=anonymous(), idempotency_key=secrets.token_hex(8),
                              client={"device_id": "a browser"})


def line_of(server: Server, request_id: str) -> dict[str, str]:
    def found() -> list[dict[str, str]]:
        return [line for line in server.lines() if line.get("request_id") == request_id]
    until(found)
    [line] = found()
    return line


def event_of(server: Server, connect: Callable[..., Client], account_id: str) -> dict[str, str]:
    stub = EventServiceStub(connect(server, key="admin").channel)
    for told in stub.Watch(events.WatchRequest(), timeout=60):
        if told.event.account_id == account_id and told.event.type == events.EVENT_TYPE_SIGNED_IN:
            details: dict[str, str] = json.loads(told.event.details_json)
            return details
    raise AssertionError("no event")


def test_a_call_without_ids_gets_one_that_is_in_the_response_the_log_and_the_event(
        server: Server, web: Client, connect: Callable[..., Client]) -> None:
    ids, answer = call(web, sign_in())
    assert ids.keys() == {"x-request-id"} and MADE.fullmatch(ids["x-request-id"])
    account_id = answer.session.account.account_id
    line = line_of(server, ids["x-request-id"])
    assert line["account_id"] == account_id and int(line["took_micros"]) > 0 and "trace_id" not in line
    details = event_of(server, connect, account_id)
    assert details["request_id"] == ids["x-request-id"] and "trace_id" not in details
    again, _ = call(web, sign_in())
    assert again["x-request-id"] != ids["x-request-id"]


def test_the_ids_of_the_caller_are_kept_and_returned(
        server: Server, web: Client, connect: Callable[..., Client]) -> None:
    trace, request_id = secrets.token_hex(16), f"order/{secrets.token_hex(4)}"
    ids, answer = call(web, sign_in(), x_request_id=request_id, traceparent=f"00-{trace}-00f067aa0ba902b7-01")
    assert ids == {"x-request-id": request_id, "x-trace-id": trace}
    assert line_of(server, request_id)["trace_id"] == trace
    details = event_of(server, connect, answer.session.account.account_id)
    assert (details["request_id"], details["trace_id"]) == (request_id, trace)


@pytest.mark.parametrize("sent", [
    {"traceparent": "00-" + "0" * 32 + "-00f067aa0ba902b7-01"},
    {"traceparent": "ff-" + "1" * 32 + "-" + "2" * 16 + "-01"},
    {"x_request_id": "a b"}, {"x_request_id": "x" * 129}, {"x_request_id": '"'},
], ids=str)
def test_invalid_ids_are_replaced(web: Client, sent: dict[str, str]) -> None:
    ids, _ = call(web, sign_in(), **sent)
    assert ids.keys() == {"x-request-id"} and MADE.fullmatch(ids["x-request-id"])


def test_look_ups_and_failures_have_ids_too(server: Server, web: Client) -> None:
    email = fresh_email()
    web.create(email)
    ids, _ = call(web, auth.FetchProvidersRequest(email=email), "FetchProviders")
    assert MADE.fullmatch(ids["x-request-id"])
    wrong = auth.SignInRequest(credential={"password": {"email": email, "password": PASSWORD + "x"}})
    with pytest.raises(grpc.RpcError) as raised:
        call(web, wrong, x_request_id="failing-1")
    metadata = dict(raised.value.trailing_metadata())
    assert metadata["x-request-id"] == "failing-1" and MADE.fullmatch(metadata["x-trace-id"])
    line = line_of(server, "failing-1")
    assert line["outcome"] == "INVALID_LOGIN_CREDENTIALS" and line["account_id"] and line["trace_id"]
