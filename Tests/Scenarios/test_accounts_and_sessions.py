"""The life of an account and of its sessions: create, read, delete, refresh, sign out, verify."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import jwt
import pytest
from clients import Client, assertion, fresh_email, password, provider_ids, session
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1.errors_pb2 import ERROR_REASON_INVALID_ID_TOKEN, ERROR_REASON_TOKEN_REVOKED
from processes import Server, Simulator
from verification import by_mail, by_phone, fresh_number

DEAD = (StatusCode.UNAUTHENTICATED, "INVALID_REFRESH_TOKEN", "TOKEN_REVOKED")


def test_create_returns_an_unverified_account_with_a_session(web: Client) -> None:
    email = fresh_email()
    made = web.create(email, display_name="Al", photo_url="https://x.example/al.png")
    assert made.is_new_account and not made.account.email_verified and not made.account.anonymous
    account = web.get(made.id_token)
    assert (account.email, account.display_name, account.photo_url) == (email, "Al", "https://x.example/al.png")
    assert len(account.account_id) == 28 and account.account_id.isalnum()
    assert session(web.sign_in(password(email))).account.account_id == account.account_id
    with expect_failure(StatusCode.ALREADY_EXISTS, "EMAIL_ALREADY_IN_USE"):
        web.create(email)


def test_delete_removes_the_account_with_everything_that_belongs_to_it(
        web: Client, admin: Client, simulator: Simulator) -> None:
    email = fresh_email()
    made = web.create(email)
    company = assertion(simulator, "oidc.corp")
    linked = session(web.link(made.id_token, company))
    web.delete(linked.id_token)
    for dead in (made, linked):
        assert not web.verify(dead.id_token).active
        with expect_failure(*DEAD):
            web.refresh(dead.refresh_token)
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
        admin.lookup(account_id=made.account.account_id)
    assert session(web.sign_in(company)).is_new_account
    assert web.create(email).account.account_id != made.account.account_id, "ids are never reused"


def test_the_id_token_verifies_with_an_independent_library_and_has_the_right_claims(
        web: Client, simulator: Simulator) -> None:
    email = fresh_email()
    made = session(web.sign_in(assertion(
        simulator, "oidc.trusted", subject="s-" + email, email=email, email_verified=True, name="Al",
        picture="https://x.example/al.png")))
    keys = jwt.PyJWKSet.from_json(web.signing_keys())
    header = jwt.get_unverified_header(made.id_token)
    claims = jwt.decode(made.id_token, keys[header["kid"]].key, algorithms=["ES256"], audience="latchkey",
                        issuer="https://localhost:8443",
                        options={"require": ["iss", "aud", "sub", "iat", "exp", "auth_time", "sid", "amr"]})
    assert header["alg"] == "ES256" and header["typ"]
    assert claims["sub"] == made.account.account_id and claims["sid"] == made.session_id
    assert claims["exp"] - claims["iat"] == 3600 and claims["exp"] == made.id_token_expires_at.seconds
    assert (claims["email"], claims["email_verified"]) == (email, True)
    assert (claims["name"], claims["picture"]) == ("Al", "https://x.example/al.png")
    assert claims["latchkey"]["sign_in_provider"] == "oidc.trusted"
    assert claims["latchkey"]["identities"] == {"oidc.trusted": ["s-" + email], "email": [email]}
    assert "d" not in json.loads(web.signing_keys())["keys"][0]


def test_the_id_token_of_a_phone_user_has_the_number_and_later_the_email_address(
        mailing: Server, connect: Callable[..., Client]) -> None:
    client = connect(mailing)
    for is_verified in (True, False):
        number, email = fresh_number(), fresh_email()
        made = session(client.sign_in(by_phone(mailing, client, number)))
        claims = client.claims(made.id_token)
        assert claims["phone_number"] == number and not {"email", "email_verified"} & set(claims)
        assert claims["latchkey"] == {"identities": {"phone": [number]}, "sign_in_provider": "phone"}

        proof = by_mail(mailing, client, email) if is_verified else password(email)
        linked = client.claims(session(client.link(made.id_token, proof)).id_token)
        assert (linked["phone_number"], linked["email"], linked["email_verified"]) == (number, email, is_verified)
        assert linked["latchkey"]["identities"] == {"phone": [number], "email": [email]}
        # The new tokens contain the linked identity. But a link is not a login, so time and method of the login stay.
        assert linked["latchkey"]["sign_in_provider"] == ("emailLink" if is_verified else "password")
        assert claims["amr"] == ["sms"] == linked["amr"][:1] and linked["auth_time"] == claims["auth_time"]


def test_verify_returns_active_or_the_reason_why_not(web: Client) -> None:
    made = web.create(fresh_email())
    answer = web.verify(made.id_token)
    assert answer.active and answer.account_id == made.account.account_id
    assert json.loads(answer.claims_json)["sid"] == made.session_id
    web.sign_out(id_token=made.id_token)
    ended = web.verify(made.id_token)
    assert not ended.active and ended.inactive_reason == ERROR_REASON_TOKEN_REVOKED
    head, body, signature = made.id_token.split(".")
    for forged in (f"{head}.{body}.{signature[::-1]}", f"{head}.{body}.", "not.a.token", made.refresh_token):
        answer = web.verify(forged)
        assert (answer.active, answer.inactive_reason, answer.account_id) == (False, ERROR_REASON_INVALID_ID_TOKEN, "")


def test_check_100_a_token_of_another_kind_is_refused_where_an_id_token_is_expected(
        web: Client, admin: Client, simulator: Simulator) -> None:
    email = fresh_email()
    made = web.create(email)
    exists = web.sign_in(assertion(simulator, "oidc.corp", email=email)).account_exists
    for other in (made.refresh_token, exists.pending_token, admin.custom_token(made.account.account_id),
                  simulator.token("oidc.corp")):
        with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_ID_TOKEN"):
            web.get(other)
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_REFRESH_TOKEN"):
        web.refresh(made.id_token)


def test_a_refresh_rotates_and_its_parent_gets_the_same_successor_in_the_grace_time(web: Client) -> None:
    made = web.create(fresh_email())
    one = web.refresh(made.refresh_token)
    assert one.refresh_token != made.refresh_token and one.session_id == made.session_id
    assert web.refresh(made.refresh_token).refresh_token == one.refresh_token
    two = web.refresh(one.refresh_token)
    assert two.refresh_token not in (one.refresh_token, made.refresh_token)


def test_checks_93_and_94_the_grandparent_ends_the_family(web: Client) -> None:
    made = web.create(fresh_email())
    one = web.refresh(made.refresh_token)
    two = web.refresh(one.refresh_token)
    with expect_failure(*DEAD):
        web.refresh(made.refresh_token)
    with expect_failure(*DEAD):
        web.refresh(two.refresh_token)
    assert not web.verify(two.id_token).active


def test_check_93_a_spent_token_past_the_grace_time_ends_the_family(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    client = connect(serve(policy={"refresh_grace_seconds": 1}))
    made = client.create(fresh_email())
    one = client.refresh(made.refresh_token)
    time.sleep(1.1)
    with expect_failure(*DEAD):
        client.refresh(made.refresh_token)
    with expect_failure(*DEAD):
        client.refresh(one.refresh_token)


@pytest.mark.parametrize("spoil", [
    lambda token: token[:-1], lambda token: token + "A", lambda token: token + "=", lambda token: token.swapcase(),
    lambda token: token[:-3] + ("A" if token[-3] != "A" else "B") + token[-2:], lambda token: token.split(".")[0]],
    ids=["truncated", "lengthened", "padded", "case changed", "a letter changed", "first part only"])
def test_check_97_a_damaged_refresh_token_is_rejected_and_affects_no_session(
        web: Client, spoil: Callable[[str], str]) -> None:
    made = web.create(fresh_email())
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_REFRESH_TOKEN"):
        web.refresh(spoil(made.refresh_token))
    assert web.refresh(made.refresh_token).session_id == made.session_id


def test_check_96_another_callers_refresh_token_is_refused(web: Client, admin: Client) -> None:
    made = web.create(fresh_email())
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_REFRESH_TOKEN"):
        admin.refresh(made.refresh_token)
    assert web.refresh(made.refresh_token).session_id == made.session_id


def test_sign_out_ends_only_this_session_with_either_token_and_can_be_repeated(web: Client) -> None:
    email = fresh_email()
    web.create(email)
    for kind in ("id_token", "refresh_token"):
        gone, stays = session(web.sign_in(password(email))), session(web.sign_in(password(email)))
        for _ in range(2):
            web.sign_out(**{kind: getattr(gone, kind)})
        assert not web.verify(gone.id_token).active and web.verify(stays.id_token).active
        with expect_failure(*DEAD):
            web.refresh(gone.refresh_token)


def test_check_99_every_sign_in_opens_a_session_of_its_own(web: Client) -> None:
    email = fresh_email()
    ids = {web.create(email).session_id, *(session(web.sign_in(password(email))).session_id for _ in range(3))}
    assert len(ids) == 4


def test_a_token_is_for_its_callers_audience(web: Client, shop: Client) -> None:
    made = shop.create(fresh_email())
    assert jwt.decode(made.id_token, options={"verify_signature": False})["aud"] == "shop"
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_ID_TOKEN"):
        web.get(made.id_token)
    assert provider_ids(shop.get(made.id_token)) == {"password"}


def test_the_signing_key_survives_a_restart_and_old_tokens_stay_valid(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    made = connect(server).create(fresh_email())
    keys = json.loads(connect(server).signing_keys())
    server.stop()
    server.launch()
    client = connect(server)
    assert client.verify(made.id_token).active
    assert [key["kid"] for key in keys["keys"]] == [key["kid"] for key in json.loads(client.signing_keys())["keys"]]
    assert client.refresh(made.refresh_token).session_id == made.session_id
