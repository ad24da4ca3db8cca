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


def test_cookies_are_off_unless_configured(server: Server, connect: Callable[..., Client]) -> None:
    plain = connect(server)
    made = plain.create(fresh_email())
    with expect_failure(StatusCode.FAILED_PRECONDITION, "OPERATION_NOT_ALLOWED"):
        plain.create_session_cookie(made.id_token)
