"""Session cookies: a long token for the browser of a web server's user."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import jwt
import pytest
from clients import Client, fresh_email, password, session
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1.errors_pb2 import ERROR_REASON_INVALID_ID_TOKEN, ERROR_REASON_TOKEN_REVOKED
from processes import Server, Simulator
from test_latchkey_command import REFUSED, Person

FORTNIGHT = 14 * 86_400


@pytest.fixture(scope="module")
def baker(folder: Path, simulator: Simulator) -> Iterator[Server]:
    server = Server.start(folder, simulator, tokens={"session_cookies": True})
    yield server
    server.stop()


@pytest.fixture(scope="module")
def web(baker: Server) -> Iterator[Client]:
    client = Client(baker)
    yield client
    client.close()


def test_a_cookie_is_verified_by_the_key_set_and_by_the_service(web: Client) -> None:
    made = web.create(fresh_email())
    cookie = web.create_session_cookie(made.id_token, FORTNIGHT)
    assert abs(cookie.expires_at.seconds - time.time() - FORTNIGHT) < 60
    keys = {each["kid"]: jwt.PyJWK(each) for each in json.loads(web.signing_keys())["keys"]}
    header = jwt.get_unverified_header(cookie.session_cookie)
    assert header["typ"] == "latchkey-session+jwt"
    plain = json.loads(web.verify(made.id_token).claims_json)
    claims = jwt.decode(cookie.session_cookie, keys[header["kid"]], algorithms=[header["alg"]], audience=plain["aud"],
                        issuer=plain["iss"] + "/session")
    assert (claims["sid"], claims["exp"]) == (cookie.session_id, cookie.expires_at.seconds)
    own = ("iss", "sid", "iat", "exp")
    assert {name: value for name, value in claims.items() if name not in own} == {
        name: value for name, value in plain.items() if name not in own}
    verified = web.verify_session_cookie(cookie.session_cookie)
    assert verified.active and verified.account_id == made.account.account_id
    assert json.loads(verified.claims_json) == claims
    with pytest.raises(jwt.InvalidIssuerError):
        jwt.decode(cookie.session_cookie, keys[header["kid"]], algorithms=[header["alg"]], audience=plain["aud"],
                   issuer=plain["iss"])


def test_a_cookie_is_no_id_token_and_an_id_token_is_no_cookie(web: Client) -> None:
    made = web.create(fresh_email())
    cookie = web.create_session_cookie(made.id_token).session_cookie
    assert web.verify(cookie).inactive_reason == ERROR_REASON_INVALID_ID_TOKEN
    assert web.verify_session_cookie(made.id_token).inactive_reason == ERROR_REASON_INVALID_ID_TOKEN
    for call in (web.list_sessions, web.create_session_cookie, web.revoke_all):
        with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_ID_TOKEN"):
            call(cookie)


def test_a_cookie_outlives_the_sign_out_of_its_session_and_ends_by_its_own(web: Client) -> None:
    email = fresh_email()
    made = web.create(email)
    cookies = [web.create_session_cookie(made.id_token) for _ in range(3)]
    web.sign_out(refresh_token=made.refresh_token)
    assert all(web.verify_session_cookie(each.session_cookie).active for each in cookies)
    web.sign_out(session_cookie=cookies[0].session_cookie)
    assert web.verify_session_cookie(cookies[0].session_cookie).inactive_reason == ERROR_REASON_TOKEN_REVOKED
    again = session(web.sign_in(password(email)))
    assert {each.session_id for each in web.list_sessions(again.id_token)} == {
        cookies[1].session_id, cookies[2].session_id, again.session_id}
    assert web.end_session(cookies[1].session_id, again.id_token)
    assert [web.verify_session_cookie(each.session_cookie).active for each in cookies] == [False, False, True]
    web.revoke_all(again.id_token)
    assert not web.verify_session_cookie(cookies[2].session_cookie).active


def test_a_cookie_survives_a_restart(baker: Server, web: Client) -> None:
    cookie = web.create_session_cookie(web.create(fresh_email()).id_token)
    baker.stop()
    baker.launch()
    assert web.verify_session_cookie(cookie.session_cookie).active


def test_the_command_prints_a_cookie_with_the_requested_lifetime(baker: Server, web: Client, tmp_path: Path) -> None:
    person = Person(baker, tmp_path)
    account_id = person.sign_up(fresh_email())["account"]["account_id"]
    printed = person.run("token", "--session-cookie", "3600")
    assert printed.returncode == 0 and printed.stdout.count("\n") == 1
    verified = web.verify_session_cookie(printed.stdout.strip())
    assert verified.active and verified.account_id == account_id
    answer = person.json("token", "--session-cookie", "300")
    claims = json.loads(web.verify_session_cookie(answer["session_cookie"]).claims_json)
    assert claims["sid"] == answer["session_id"] and 290 < claims["exp"] - time.time() <= 301
    for seconds in ("299", "1209601"):
        refused = person.json("token", "--session-cookie", seconds, code=REFUSED)
        assert refused["error"]["reason"] == "INVALID_FIELD"
    # The session of the command continues, and its sign-out leaves the cookies.
    person.json("sign-out")
    assert web.verify_session_cookie(answer["session_cookie"]).active


def test_a_repeat_under_its_key_returns_the_same_session_with_the_same_end(web: Client) -> None:
    made = web.create(fresh_email())
    first = web.create_session_cookie(made.id_token, idempotency_key="cookie")
    again = web.create_session_cookie(made.id_token, idempotency_key="cookie")
    assert (again.session_id, again.expires_at) == (first.session_id, first.expires_at)
    assert all(web.verify_session_cookie(each.session_cookie).active for each in (first, again))
    assert len(web.list_sessions(made.id_token)) == 2
    with expect_failure(StatusCode.INVALID_ARGUMENT, "IDEMPOTENCY_KEY_REUSED"):
        web.create_session_cookie(made.id_token, 400, idempotency_key="cookie")
    web.end_session(first.session_id, made.id_token)
    with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
        web.create_session_cookie(made.id_token, idempotency_key="cookie")
    assert web.create_session_cookie(made.id_token).session_id != first.session_id


def test_the_command_needs_cookies_to_be_configured(server: Server, tmp_path: Path) -> None:
    person = Person(server, tmp_path)
    person.sign_up(fresh_email())
    assert person.json("token", "--session-cookie", "3600", code=REFUSED)["error"]["reason"] == "OPERATION_NOT_ALLOWED"


def test_cookies_are_off_unless_configured(server: Server, connect: Callable[..., Client]) -> None:
    plain = connect(server)
    made = plain.create(fresh_email())
    with expect_failure(StatusCode.FAILED_PRECONDITION, "OPERATION_NOT_ALLOWED"):
        plain.create_session_cookie(made.id_token)
