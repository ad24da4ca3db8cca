"""The identity and rights of callers: API keys, client certificates, the rights table, unidentified callers."""

from __future__ import annotations

from collections.abc import Callable

import grpc
import pytest
from clients import Client, assertion, custom, fresh_email, password, session
from failures import expect_failure
from grpc import StatusCode
from processes import Server, Simulator

NOT_ALLOWED = (StatusCode.PERMISSION_DENIED, "CALLER_NOT_ALLOWED")
UNIDENTIFIED = (StatusCode.UNAUTHENTICATED, "CALLER_UNIDENTIFIED")


def test_an_administrator_looks_an_account_up_by_id_address_and_identity(
        web: Client, admin: Client, simulator: Simulator) -> None:
    email = fresh_email()
    made = web.create(email)
    session(web.link(made.id_token, assertion(simulator, "oidc.corp", subject="s-" + email)))
    for subject in ({"account_id": made.account.account_id}, {"email": email.upper()},
                    {"identity": {"provider_id": "oidc.corp", "subject": "s-" + email}}):
        assert admin.lookup(**subject).account_id == made.account.account_id
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
        admin.lookup(email=fresh_email())


def test_an_administrator_mints_custom_tokens_that_sign_in(web: Client, admin: Client) -> None:
    made = web.create(fresh_email())
    token = admin.custom_token(made.account.account_id, '{"level":3}', lifetime_seconds=60)
    signed = session(web.sign_in(custom(token)))
    assert signed.account.account_id == made.account.account_id
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_CUSTOM_TOKEN"):
        web.sign_in(custom(token[:-4] + "AAAA"))
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_CUSTOM_TOKEN"):
        web.sign_in(custom(made.id_token))


@pytest.mark.parametrize("claims, reason", [
    ('{"sub":"x"}', "FORBIDDEN_CLAIM"), ('{"email_verified":true}', "FORBIDDEN_CLAIM"),
    ('{"a":"' + "x" * 1000 + '"}', "CLAIMS_TOO_LARGE"), ("[1]", "INVALID_FIELD"), ("{", "INVALID_FIELD")])
def test_claims_of_a_custom_token_are_limited_and_reserved_ones_are_rejected(
        admin: Client, claims: str, reason: str) -> None:
    with expect_failure(StatusCode.INVALID_ARGUMENT, reason, field="claims_json"):
        admin.custom_token("somebody", claims)


def test_check_114_each_caller_reaches_the_methods_of_its_rights_only(
        server: Server, web: Client, shop: Client, nobody: Client, connect: Callable[..., Client]) -> None:
    made = web.create(fresh_email())
    for client in (web, shop):
        with expect_failure(*NOT_ALLOWED):
            client.lookup(account_id=made.account.account_id)
        with expect_failure(*NOT_ALLOWED):
            client.custom_token(made.account.account_id)
    reader = connect(server, key="reader")
    assert reader.verify(made.id_token).active
    with expect_failure(*NOT_ALLOWED):
        reader.get(made.id_token)
    with expect_failure(*NOT_ALLOWED):
        reader.sign_in(password(fresh_email()))
    with expect_failure(StatusCode.PERMISSION_DENIED, "CALLER_NOT_ALLOWED") as denied:
        nobody.lookup(account_id=made.account.account_id)
    assert made.account.account_id not in denied.everything


def test_check_113_a_client_certificate_identifies_its_caller_by_its_name(
        server: Server, web: Client, connect: Callable[..., Client]) -> None:
    made = web.create(fresh_email())
    admin = connect(server, key=None, certificate="admin")
    assert admin.lookup(account_id=made.account.account_id).account_id == made.account.account_id
    by_certificate = connect(server, key=None, certificate="web")
    with expect_failure(*NOT_ALLOWED):
        by_certificate.lookup(account_id=made.account.account_id)
    assert by_certificate.refresh(made.refresh_token).session_id == made.session_id, "the same caller, either way"


def test_a_certificate_that_names_no_caller_and_an_unknown_key_are_refused(
        server: Server, connect: Callable[..., Client]) -> None:
    for identity in ({"key": None, "certificate": "stranger"}, {"key": "lk_" + "0" * 64}, {"key": "not-even-a-key"}):
        with expect_failure(*UNIDENTIFIED):
            connect(server, **identity).signing_keys()


def test_an_unidentified_caller_may_sign_users_in_if_the_listener_allows_it(nobody: Client) -> None:
    email = fresh_email()
    made = nobody.create(email)
    assert session(nobody.sign_in(password(email))).account.account_id == made.account.account_id


def test_health_needs_no_identified_caller(serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(listen={"allow_unidentified": False})
    for identity in ({"key": None}, {"key": "lk_" + "0" * 64}):
        check = connect(server, **identity).channel.unary_unary("/grpc.health.v1.Health/Check")
        assert check(b"", timeout=5) == b"\x08\x01", "SERVING"


def test_an_unidentified_caller_is_refused_by_default(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(listen={"allow_unidentified": False})
    with expect_failure(*UNIDENTIFIED):
        connect(server, key=None).create(fresh_email())
    with expect_failure(*UNIDENTIFIED):
        connect(server, key=None).signing_keys()
    assert connect(server, key="web").create(fresh_email()).is_new_account


def test_a_listener_that_requires_certificates_refuses_the_handshake_without_one(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(tls={"client_certificates": "required"})
    with pytest.raises(grpc.RpcError) as refused:
        connect(server, key="web").signing_keys()
    assert refused.value.code() == StatusCode.UNAVAILABLE
    assert connect(server, key=None, certificate="web").signing_keys()
