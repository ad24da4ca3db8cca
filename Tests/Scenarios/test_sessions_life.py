"""Many sessions of one user: listed, ended alone and together, refreshed concurrently, and stolen."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import grpc
from clients import Client, channel_credentials, fresh_email, password, session
from failures import expect_failure, read
from grpc import StatusCode
from latchkey.v1 import session_service_pb2 as sessions
from latchkey.v1 import types_pb2 as types
from latchkey.v1.errors_pb2 import ERROR_REASON_TOKEN_REVOKED
from latchkey.v1.session_service_pb2_grpc import SessionServiceStub
from processes import Server

DEAD = (StatusCode.UNAUTHENTICATED, "INVALID_REFRESH_TOKEN", "TOKEN_REVOKED")
CALLERS, CONNECTIONS = 100, 10


def audit(server: Server, account_id: str) -> list[tuple[str, dict[str, str]]]:
    """The events of an account with their details, in order, from a stopped server."""
    rows = server.rows("SELECT event, details FROM audit WHERE account_id = ? ORDER BY id", account_id)
    # Every call has a request ID of its own.
    named = [(event, json.loads(details)) for event, details in rows]
    assert all(details.pop("request_id") for _, details in named)
    return named


def refresh_together(server: Server, token: str) -> list[str]:
    """A hundred concurrent refreshes of one token, over ten connections."""
    async def every_one() -> list[str]:
        credentials = channel_credentials(server.folder, key="web")
        own = [("grpc.use_local_subchannel_pool", 1)]
        channels = [grpc.aio.secure_channel(server.address, credentials, own) for _ in range(CONNECTIONS)]
        for channel in channels:
            await channel.channel_ready()
        request = sessions.RefreshRequest(refresh_token=token)
        answers = await asyncio.gather(
            *(SessionServiceStub(channels[caller % CONNECTIONS]).Refresh(request) for caller in range(CALLERS)))
        for channel in channels:
            await channel.close()
        return [answer.session.refresh_token for answer in answers]

    return asyncio.run(every_one())


def test_checks_93_to_95_a_hundred_refreshes_raise_no_alarm_and_a_grandparent_does(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    web = connect(server)
    made = web.create(fresh_email())
    token = made.refresh_token
    for _ in range(3):
        before, successors = token, set(refresh_together(server, token))
        assert len(successors) == 1 and before not in successors
        token = successors.pop()
    last = web.refresh(token)
    assert web.verify(last.id_token).active, "no false alarm"
    with expect_failure(*DEAD):
        web.refresh(before)
    for dead in (last.refresh_token, token, made.refresh_token):
        with expect_failure(*DEAD):
            web.refresh(dead)
    ended = web.verify(last.id_token)
    assert (ended.active, ended.inactive_reason) == (False, ERROR_REASON_TOKEN_REVOKED)
    server.stop()
    assert audit(server, made.account.account_id)[1:] == [("REFRESH_REPLAYED", {"session_id": made.session_id})]


def test_the_open_sessions_are_listed_with_the_latest_first_and_their_details(web: Client) -> None:
    email = fresh_email()
    first = web.create(email, client=types.ClientContext(ip_address="192.0.2.1", user_agent="one", device_id="d"))
    gone, last = session(web.sign_in(password(email))), session(web.sign_in(password(email)))
    web.sign_out(id_token=gone.id_token)
    time.sleep(0.01)
    web.refresh(first.refresh_token)
    listed = web.list_sessions(first.id_token)
    assert [(each.session_id, each.current) for each in listed] == [(last.session_id, False), (first.session_id, True)]
    assert {each.sign_in_provider for each in listed} == {"password"}
    own = listed[1]
    assert (own.client.ip_address, own.client.user_agent, own.client.device_id) == ("192.0.2.1", "one", "d")
    assert own.signed_in_at.ToMilliseconds() < own.last_used_at.ToMilliseconds()
    assert listed[0].signed_in_at.ToMilliseconds() <= listed[0].last_used_at.ToMilliseconds()
    someone = web.create(fresh_email())
    assert [each.session_id for each in web.list_sessions(someone.id_token)] == [someone.session_id]


def test_check_98_sign_out_everywhere_ends_every_session_and_introspection_shows_it(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    web, email = connect(server), fresh_email()
    made = web.create(email)
    opened = [made, *(session(web.sign_in(password(email))) for _ in range(3))]
    bystander = web.create(fresh_email())
    assert web.revoke_all(opened[2].id_token) == 4
    # Other connections see it as well.
    for client in (web, connect(server, certificate="web", key=None)):
        for each in opened:
            answer = client.verify(each.id_token)
            assert (answer.active, answer.inactive_reason) == (False, ERROR_REASON_TOKEN_REVOKED)
            with expect_failure(*DEAD):
                client.refresh(each.refresh_token)
            for call in (client.get, client.list_sessions, client.revoke_all):
                with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
                    call(each.id_token)
    assert web.verify(bystander.id_token).active
    assert web.refresh(bystander.refresh_token).session_id == bystander.session_id
    again = session(web.sign_in(password(email)))
    assert [each.session_id for each in web.list_sessions(again.id_token)] == [again.session_id]
    server.stop()
    assert ("SESSIONS_REVOKED", {"closed": "4"}) in audit(server, made.account.account_id)


def test_both_calls_require_an_id_token_of_their_callers_audience(web: Client, shop: Client) -> None:
    made = web.create(fresh_email())
    for call in (shop.revoke_all, shop.list_sessions):
        with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_ID_TOKEN"):
            call(made.id_token)
    for call in (web.revoke_all, web.list_sessions):
        with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="id_token"):
            call("")
        with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_ID_TOKEN"):
            call(made.refresh_token)
    assert web.verify(made.id_token).active


def assert_ended(web: Client, each: types.Session) -> None:
    """The session's tokens are rejected."""
    answer = web.verify(each.id_token)
    assert (answer.active, answer.inactive_reason) == (False, ERROR_REASON_TOKEN_REVOKED)
    with expect_failure(*DEAD):
        web.refresh(each.refresh_token)
    with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
        web.get(each.id_token)


def test_E1_check_98_one_session_is_ended_from_another_one_and_all_others_stay_open(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    web, email = connect(server), fresh_email()
    own = web.create(email)
    lost, kept = session(web.sign_in(password(email))), session(web.sign_in(password(email)))
    someone = web.create(fresh_email())
    old_tokens, lost = lost, web.refresh(lost.refresh_token)
    assert web.end_session(lost.session_id, own.id_token)
    for client in (web, connect(server, certificate="web", key=None)):
        for each in (old_tokens, lost):
            assert_ended(client, each)
        assert [each.session_id for each in client.list_sessions(own.id_token)] == [kept.session_id, own.session_id]
    assert not web.end_session(lost.session_id, own.id_token), "it has ended already"
    for each in (own, kept, someone):
        assert web.refresh(each.refresh_token).session_id == each.session_id
    again = session(web.sign_in(password(email)))
    assert web.verify(again.id_token).active
    server.stop()
    events = [each for each in audit(server, own.account.account_id) if each[0] == "SIGNED_OUT"]
    assert events == [("SIGNED_OUT", {"session_id": lost.session_id})]


def test_E2_E4_a_user_ends_the_session_of_the_call_and_can_repeat_the_call(web: Client) -> None:
    email = fresh_email()
    own, other = web.create(email), session(web.sign_in(password(email)))
    assert web.end_session(own.session_id, own.id_token)
    assert_ended(web, own)
    assert not web.end_session(own.session_id, own.id_token)
    with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
        web.end_session(other.session_id, own.id_token)
    web.sign_out(id_token=other.id_token)
    assert not web.end_session(other.session_id, other.id_token), "it was signed out"


def test_E3_a_session_of_another_account_gets_the_same_answer_as_an_unknown_one(
        web: Client, shop: Client) -> None:
    own, someone = web.create(fresh_email()), web.create(fresh_email())
    for session_id in (someone.session_id, "no-such-session", own.session_id.swapcase()):
        assert not web.end_session(session_id, own.id_token)
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="session_id"):
        web.end_session("", own.id_token)
    for client, token in ((shop, own.id_token), (web, own.refresh_token)):
        with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_ID_TOKEN"):
            client.end_session(own.session_id, token)
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="client.ip_address"):
        web.end_session(own.session_id, own.id_token, client=types.ClientContext(ip_address="nowhere"))
    for each in (own, someone):
        assert web.verify(each.id_token).active


def test_E5_E6_check_114_only_an_administrator_ends_a_session_without_an_id_token(
        server: Server, web: Client, admin: Client, nobody: Client, connect: Callable[..., Client]) -> None:
    email = fresh_email()
    made = web.create(email)
    lost = session(web.sign_in(password(email)))
    # `web` has the right to SessionService alone, `reader` not even to EndSession.
    for client in (web, nobody, connect(server, key="reader")):
        for session_id in (lost.session_id, "no-such-session"):
            with expect_failure(StatusCode.PERMISSION_DENIED, "CALLER_NOT_ALLOWED") as denied:
                client.end_session(session_id)
            assert made.account.account_id not in denied.everything
    assert web.verify(lost.id_token).active
    stream = admin.watch("now", "SIGNED_OUT")
    next(stream)
    assert admin.end_session(lost.session_id)
    assert_ended(web, lost)
    assert not admin.end_session(lost.session_id) and not admin.end_session("no-such-session")
    assert web.refresh(made.refresh_token).session_id == made.session_id
    event = next(each.event for each in stream if each.event.account_id == made.account.account_id)
    stream.cancel()
    details = json.loads(event.details_json)
    assert details.pop("request_id")
    assert details == {"by": "administrator", "session_id": lost.session_id}
    assert event.caller == "admin"


def test_check_98_one_of_many_concurrent_ends_takes_effect_and_no_refresh_survives(
        server: Server, web: Client) -> None:
    email = fresh_email()
    own = web.create(email)

    async def together(requests: list[sessions.EndSessionRequest], token: str = "",
                       *, ahead: bool = False) -> tuple[list[Any], list[Any]]:
        """The answers to one refresh of the token on each connection, and to all requests. An error is an answer.
        With `ahead`, the first refresh has ended before the requests are sent."""
        credentials = channel_credentials(server.folder, key="web")
        channels = [grpc.aio.secure_channel(server.address, credentials, [("grpc.use_local_subchannel_pool", 1)])
                    for _ in range(CONNECTIONS)]
        stubs = [SessionServiceStub(channel) for channel in channels]
        refresh = sessions.RefreshRequest(refresh_token=token)
        refreshes = [stub.Refresh(refresh) for stub in stubs if token]
        if ahead:
            await refreshes[0]
        ends = [stubs[number % CONNECTIONS].EndSession(each) for number, each in enumerate(requests)]
        answers = await asyncio.gather(*refreshes, *ends, return_exceptions=True)
        for channel in channels:
            await channel.close()
        return answers[:len(refreshes)], answers[len(refreshes):]

    refreshed = 0
    for ahead in [False, True] * 5:
        other = session(web.sign_in(password(email)))
        one = sessions.EndSessionRequest(id_token=own.id_token, session_id=other.session_id)
        refreshes, ends = asyncio.run(together([one] * 20, other.refresh_token, ahead=ahead))
        assert not any(isinstance(each, Exception) for each in ends), ends
        assert [each.ended for each in ends].count(True) == 1
        for answer in refreshes:
            if isinstance(answer, grpc.RpcError):
                refusal = read(answer)
                assert (refusal.code, refusal.reason) == (StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED")
            else:
                refreshed += 1
                with expect_failure(*DEAD):
                    web.refresh(answer.session.refresh_token)
        assert_ended(web, other)
    assert refreshed >= 5
    for _ in range(10):
        left, right = session(web.sign_in(password(email))), session(web.sign_in(password(email)))
        each_other = [sessions.EndSessionRequest(id_token=here.id_token, session_id=there.session_id)
                      for here, there in ((left, right), (right, left))]
        _, ends = asyncio.run(together(each_other * 5))
        errors = [each for each in ends if isinstance(each, grpc.RpcError)]
        assert {read(each).reason for each in errors} <= {"TOKEN_REVOKED"}
        assert [each.ended for each in ends if each not in errors].count(True) == 1
        assert [web.verify(each.id_token).active for each in (left, right)].count(True) == 1
    assert web.verify(own.id_token).active
