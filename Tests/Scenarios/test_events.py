"""EventService.Watch with a stock client: it reports every event, in order and at least once."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from clients import Client, anonymous, assertion, fresh_email, password, session
from configuration import KEYS
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1.event_service_pb2 import EventType
from processes import LATCHKEYD, Server, Simulator


def take(stream: Any, account_ids: set[str], count: int) -> list[Any]:
    """The next responses with events of these accounts."""
    found = []
    for response in stream:
        if response.HasField("event") and response.event.account_id in account_ids:
            found.append(response)
            if len(found) == count:
                break
    stream.cancel()
    return found


def types(responses: list[Any]) -> list[str]:
    return [EventType.Name(response.event.type).removeprefix("EVENT_TYPE_") for response in responses]


def test_minting_a_custom_token_causes_an_event(admin: Client) -> None:
    stream = admin.watch("now", "CUSTOM_TOKEN_CREATED")
    next(stream)
    account_id = fresh_email("nobody.example")
    token = admin.custom_token(account_id, lifetime_seconds=60)
    [told] = take(stream, {account_id}, 1)
    assert told.event.caller == "admin" and token not in str(told)
    expires_at_millis = int(json.loads(told.event.details_json)["expires_at_millis"])
    assert 0 < expires_at_millis - told.event.occurred_at.ToMilliseconds() <= 60_000


def test_a_watcher_receives_events_as_they_happen(web: Client, admin: Client, simulator: Simulator) -> None:
    stream = admin.watch("now")
    first = next(stream)
    assert first.cursor and not first.HasField("event"), "the first response has a cursor"
    email = fresh_email()
    made = web.create(email)
    account_id = made.account.account_id
    signed = session(web.sign_in(password(email)))
    linked = session(web.link(signed.id_token, assertion(simulator, "oidc.corp")))
    again = session(web.sign_in(password(email)))
    web.reauthenticate(again.id_token, password(email))
    unlinked = web.unlink(linked.id_token, "oidc.corp")
    web.sign_out(refresh_token=again.refresh_token)
    web.delete(unlinked.id_token)
    told = take(stream, {account_id}, 8)
    assert types(told) == ["ACCOUNT_CREATED", "SIGNED_IN", "LINKED", "SIGNED_IN", "REAUTHENTICATED", "UNLINKED",
                           "SIGNED_OUT", "DELETED"]
    assert len({response.event.event_id for response in told}) == len(told)
    assert all(response.event.caller == "web" and response.event.occurred_at.seconds > 0 for response in told)
    details = json.loads(told[1].event.details_json)
    assert details.pop("request_id")
    assert details == {"provider_id": "password", "session_id": signed.session_id}


def test_a_cursor_stays_valid_after_a_restart_and_a_kill_without_loss(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    web, admin = connect(server), connect(server, key="admin")
    made = [session(web.sign_in(anonymous())).account.account_id for _ in range(5)]
    before = take(admin.watch(), set(made), 4)
    server.signal()
    server.wait()
    server.launch()
    web = connect(server)
    made += [session(web.sign_in(anonymous())).account.account_id for _ in range(5)]
    server.kill()
    server.launch()
    web, admin = connect(server), connect(server, key="admin")
    made += [session(web.sign_in(anonymous())).account.account_id for _ in range(5)]
    after = take(admin.watch(before[-1].cursor), set(made), 26)
    told = before + after
    assert types(told) == ["ACCOUNT_CREATED", "SIGNED_IN"] * 15
    assert [response.event.account_id for response in told] == [each for each in made for _ in range(2)]
    assert len({response.event.event_id for response in told}) == len(told)


def test_more_events_than_one_read_returns_arrive_completely_and_in_order(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    web, admin = connect(server), connect(server, key="admin")
    made = [session(web.sign_in(anonymous())).account.account_id for _ in range(200)]
    told = take(admin.watch("", "ACCOUNT_CREATED"), set(made), 200)
    assert [response.event.account_id for response in told] == made
    assert set(types(told)) == {"ACCOUNT_CREATED"}


def test_a_watcher_receives_heartbeats_while_nothing_is_new(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(limits={"watch_heartbeat_seconds": 1})
    stream = connect(server, key="admin").watch("now")
    cursors = [next(stream).cursor for _ in range(3)]
    assert len(set(cursors)) == 1


@pytest.mark.parametrize("cursor", ["b1", "a", "a01", "a-1", "A1", "nows", "a" + "z" * 20, "azzzzzz"])
def test_a_cursor_that_was_never_returned_is_rejected(admin: Client, cursor: str) -> None:
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="cursor"):
        next(admin.watch(cursor))


@pytest.mark.parametrize("unknown", ["UNSPECIFIED", 9_999, -1])
def test_an_unknown_event_type_is_rejected(admin: Client, unknown: str | int) -> None:
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="types"):
        next(admin.watch("", "LINKED", unknown))


def test_only_callers_with_the_right_to_events_watch(web: Client, nobody: Client) -> None:
    for client in (web, nobody):
        with expect_failure(StatusCode.PERMISSION_DENIED, "CALLER_NOT_ALLOWED"):
            next(client.watch())


def test_watchers_of_one_caller_are_limited_and_a_place_is_freed(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(limits={"watchers_per_caller_max": 2})
    admin = connect(server, key="admin")
    streams = [admin.watch("now") for _ in range(2)]
    for stream in streams:
        next(stream)
    with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED"):
        next(admin.watch("now"))
    streams[0].cancel()
    # The reset travels on the same connection, before the next call.
    next(admin.watch("now"))


def test_a_watch_ends_when_the_server_stops(serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    stream = connect(server, key="admin").watch("now")
    next(stream)
    server.signal()
    with pytest.raises(grpc.RpcError) as ended:
        next(stream)
    assert ended.value.code() == StatusCode.UNAVAILABLE  # type: ignore[attr-defined]
    assert server.wait() == 0


def test_the_command_prints_events_and_continues_from_a_cursor(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    made = [session(connect(server).sign_in(anonymous())).account.account_id for _ in range(2)]

    def watch(*words: str, key: str = "admin") -> subprocess.CompletedProcess[str]:
        environment = {"LATCHKEY_SERVER": server.address, "LATCHKEY_CA": str(server.folder / "authority.pem"),
                       "LATCHKEY_API_KEY": KEYS[key], "HOME": str(server.folder)}
        return subprocess.run([LATCHKEYD.parent / "latchkey", "watch", *words], capture_output=True, text=True,
                              timeout=30, env=os.environ | environment)

    ended = watch("--from", "oldest", "--type", "ACCOUNT_CREATED", "--count", "1", "--json")
    assert ended.returncode == 0, ended.stderr
    event = json.loads(ended.stdout)
    assert (event["type"], event["account_id"], event["caller"]) == ("ACCOUNT_CREATED", made[0], "web")
    ended = watch("--from", event["cursor"], "--type", "ACCOUNT_CREATED", "--count", "1")
    assert ended.returncode == 0 and "ACCOUNT_CREATED" in ended.stdout and made[1] in ended.stdout
    assert watch(key="web").returncode == 1
