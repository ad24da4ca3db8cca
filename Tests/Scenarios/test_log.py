"""The server's log of its calls: JSON lines that name the caller and contain no secret."""

from __future__ import annotations

from collections.abc import Callable

import grpc
import pytest
import verification
from clients import PASSWORD, Client, assertion, conflict, fresh_email, password, provider, session
from configuration import Settings
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1.auth_service_pb2_grpc import AuthServiceStub
from metrics import ON_A_FREE_PORT, eventually
from processes import Server, Simulator
from waiting import until

SIGN_IN = "latchkey.v1.AuthService/SignIn"


def test_the_log_is_json_lines_and_names_the_address_once_it_takes_calls(server: Server) -> None:
    text = server.log.read_text()
    assert all(line.startswith("{") for line in text.splitlines())
    listening = [line for line in server.lines() if line["message"] == "listening"]
    assert [line["address"] for line in listening] == [f"127.0.0.1:{server.port}"]


def test_no_log_line_holds_a_password_a_token_or_a_key(server: Server, web: Client, simulator: Simulator) -> None:
    email = fresh_email()
    made = web.create(email)
    token = simulator.token("oidc.corp", email=email)
    exists = web.sign_in(provider("oidc.corp", token)).account_exists
    linked = session(web.sign_in(password(email), pending_token=exists.pending_token))
    refreshed = web.refresh(linked.refresh_token)
    text = server.log.read_text()
    for secret in (PASSWORD, token, exists.pending_token, made.id_token, made.refresh_token, linked.id_token,
                   refreshed.refresh_token, "lk_"):
        assert secret not in text


def test_forbidden_calls_are_logged_and_unidentified_clients_cannot_flood_the_log(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    with expect_failure(StatusCode.PERMISSION_DENIED, "CALLER_NOT_ALLOWED"):
        connect(server).lookup(account_id="somebody")
    stranger = connect(server, key="lk_" + "0" * 64)
    for _ in range(3):
        with expect_failure(StatusCode.UNAUTHENTICATED, "CALLER_UNIDENTIFIED"):
            stranger.create(fresh_email())
    # Any client may check the health, with any content.
    health = connect(server, key=None)
    check = health.channel.unary_unary("/grpc.health.v1.Health/Check")
    for body in [b"\x0a\x01x", b"\x0a\x09x", b"\x0a\x01\xff"] * 3:
        with pytest.raises(grpc.RpcError):
            check(body, timeout=10)
    # It may not name a user for whom it acts.
    acting = connect(server, key=None).channel.unary_unary("/grpc.health.v1.Health/Check")
    for _ in range(3):
        with expect_failure(StatusCode.PERMISSION_DENIED, "CALLER_NOT_ALLOWED"):
            acting(b"", metadata=[("x-latchkey-actor", "a")], timeout=10)
    web = connect(server)
    web.create(fresh_email())
    until(lambda: any(line.get("outcome") == "OK" for line in server.lines()))
    seen = [(line.get("caller"), line["outcome"], line["method"].rpartition("/")[2], line["peer"])
            for line in server.lines() if line["message"] == "call" and line["outcome"] != "OK"]
    assert seen == [("web", "CALLER_NOT_ALLOWED", "Lookup", "127.0.0.1"),
                    (None, "CALLER_UNIDENTIFIED", "Create", "127.0.0.1"),
                    ("unidentified", "NOT_FOUND", "Check", "127.0.0.1"),
                    ("unidentified", "CALLER_NOT_ALLOWED", "Check", "127.0.0.1")]


def test_successful_look_ups_have_no_log_line_with_any_kind_of_store(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = serve(policy=verification.POLICY)
    web, shop, admin = (connect(server, key=key) for key in ("web", "shop", "admin"))
    email = fresh_email()
    made = web.create(email)
    # A caller that may not see the owner's sign-in methods: they are emailed.
    held = conflict(shop.sign_in(assertion(simulator, "oidc.corp", email=email))).pending_token
    _, mail = verification.arriving(server, "reset_password", email, lambda: web.send_password_reset(email))
    for _ in range(2):
        web.fetch(email=email)
        shop.fetch(pending_token=held)
        web.get(made.id_token)
        web.list_sessions(made.id_token)
        web.check_code(verification.code_in(mail, "resetPassword"))
        web.signing_keys()
        assert web.verify(made.id_token).active
        admin.lookup(email=email)
        admin.list_accounts()
    # The holder of the token is the user.
    admin.custom_token(made.account.account_id)
    web.sign_out(id_token=made.id_token)
    changes = ["Create", "SignIn", "SendPasswordReset", "CreateCustomToken", "SignOut"]
    until(lambda: len(called(server)) >= len(changes))
    assert called(server) == changes


def called(server: Server) -> list[str]:
    """The methods of the successful calls in the log."""
    return [line["method"].rpartition("/")[2] for line in server.lines() if line.get("outcome") == "OK"]


def test_a_call_whose_client_has_gone_is_logged_and_counted_by_its_result(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = serve(metrics=ON_A_FREE_PORT, fetch={"total_millis": 2000})
    simulator.behave("oidc.hanging", "hang")
    try:
        request = auth.SignInRequest(credential=assertion(simulator, "oidc.hanging"))
        call = AuthServiceStub(connect(server).channel).SignIn.future(request)
        eventually(server, lambda scrape: scrape("latchkey_calls_in_flight", method=SIGN_IN) == 1)
        call.cancel()
        seen = eventually(server, lambda scrape: scrape("latchkey_streams") == 0)
        assert seen("latchkey_calls_in_flight", method=SIGN_IN) == 1, "its work goes on"
        seen = eventually(server, lambda scrape: scrape("latchkey_calls_in_flight", method=SIGN_IN) == 0)
    finally:
        simulator.behave("oidc.hanging", "well")
    assert seen("latchkey_calls_total", method=SIGN_IN, code="UNAVAILABLE") == 1
    assert seen.sum("latchkey_calls_total", method=SIGN_IN) == seen("latchkey_calls_client_gone_total") == 1
    assert seen("latchkey_failures_total", reason="PROVIDER_UNAVAILABLE") == 1

    def calls() -> list[Settings]:
        return [line for line in server.lines() if line["message"] == "call"]

    until(calls)
    [line] = calls()
    assert (line["method"], line["caller"]) == ("/" + SIGN_IN, "web")
    assert (line["outcome"], line["client"]) == ("PROVIDER_UNAVAILABLE", "gone")
