"""Malformed input is INVALID_ARGUMENT with the field, before other errors, and before any look-up."""

from __future__ import annotations

import grpc
import pytest
from clients import PASSWORD, Client, anonymous, fresh_email, held, password, provider, session
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1 import types_pb2 as types
from processes import Server

INVALID = StatusCode.INVALID_ARGUMENT
TOO_LONG = "x" * 40_000


MALFORMED: list[tuple[types.Credential, str]] = [
    (types.Credential(), "credential"),
    (password(""), "credential.password.email"),
    (password("a@example.com", ""), "credential.password.password"),
    (password("a@example.com", "x" * 4_000), "credential.password.password"),
    (password("a\0b@example.com"), "credential.password.email"),
    (password("a@example.com", "pass\0word"), "credential.password.password"),
    (provider("", "token"), "credential.provider_token.provider_id"),
    (provider("oidc.corp\0", "token"), "credential.provider_token.provider_id"),
    (provider("oidc.corp", "to\0ken"), "credential.provider_token.id_token"),
    (provider("oidc.corp", TOO_LONG), "credential.provider_token.id_token"),
    (provider("oidc.corp", "a.b.c", raw_nonce=TOO_LONG), "credential.provider_token.raw_nonce"),
    (held("p\0"), "credential.pending_token"),
    (held(TOO_LONG), "credential.pending_token"),
    (types.Credential(custom_token=types.CustomTokenCredential(token="t\0")), "credential.custom_token.token"),
    (types.Credential(custom_token=types.CustomTokenCredential()), "credential.custom_token.token"),
]


@pytest.mark.parametrize("credential, field", MALFORMED, ids=[field for _, field in MALFORMED])
def test_a_malformed_credential_names_its_field(web: Client, credential: types.Credential, field: str) -> None:
    with expect_failure(INVALID, "INVALID_FIELD", "INVALID_EMAIL", field=field):
        web.sign_in(credential)


def test_a_request_without_a_credential_names_it(web: Client) -> None:
    call = web.channel.unary_unary("/latchkey.v1.AuthService/SignIn")
    with expect_failure(INVALID, "INVALID_FIELD", field="credential"):
        call(b"", timeout=5)


@pytest.mark.parametrize("email", ["no-at-sign", "@example.com", "a@", "a@@example.com", "a b@example.com",
                                   "a@exa mple.com", "a@-example-.com", "a@example..com", "a" * 300 + "@example.com",
                                   "a@" + "b" * 70 + ".com", "\uff41@example.com"])
def test_a_bad_address_is_an_invalid_email_in_every_call(web: Client, email: str) -> None:
    with expect_failure(INVALID, "INVALID_EMAIL", field="credential.password.email"):
        web.sign_in(password(email))
    with expect_failure(INVALID, "INVALID_EMAIL", field="email"):
        web.create(email)
    with expect_failure(INVALID, "INVALID_EMAIL", field="email"):
        web.fetch(email=email)


@pytest.mark.parametrize("secret, reason", [
    ("short", "WEAK_PASSWORD"), ("seven77", "WEAK_PASSWORD"), ("password123", "WEAK_PASSWORD"),
    ("qwertyuiop", "WEAK_PASSWORD"), ("x" * 1025, "INVALID_FIELD"), ("\u00e4" * 513, "INVALID_FIELD")])
def test_check_103_a_weak_or_oversized_password_is_refused_when_it_is_set(
        web: Client, secret: str, reason: str) -> None:
    email = fresh_email()
    with expect_failure(INVALID, reason, field="password"):
        web.create(email, secret)
    guest = session(web.sign_in(anonymous()))
    with expect_failure(INVALID, reason, field="credential.password.password"):
        web.link(guest.id_token, password(email, secret))
    assert web.get(guest.id_token).anonymous


@pytest.mark.parametrize("secret", [
    "x7" * 32, "p\u00e4ssw\u00f6rter \u4f60\u597d \U0001f511", "aaaa bbbb cccc", "q9" * 512])
def test_check_103_long_and_unicode_passwords_are_valid_without_composition_rules(
        web: Client, secret: str) -> None:
    email = fresh_email()
    made = web.create(email, secret)
    assert session(web.sign_in(password(email, secret))).account.account_id == made.account.account_id


def test_check_103_a_password_is_the_same_in_every_unicode_form(web: Client) -> None:
    email = fresh_email()
    web.create(email, "p\u00e4sswort-\u2460-lang")
    session(web.sign_in(password(email, "pa\u0308sswort-1-lang")))
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS"):
        web.sign_in(password(email, "passwort-1-lang"))


MALFORMED_BESIDE: list[tuple[dict[str, object], str]] = [
    ({"idempotency_key": "k" * 5_000}, "idempotency_key"),
    ({"idempotency_key": "k\0"}, "idempotency_key"),
    ({"binding": "too-short"}, "binding"),
    ({"binding": "b" * 5_000}, "binding"),
    ({"pending_token": "p" * 5_000}, "pending_token"),
    ({"client": {"user_agent": "a\0"}}, "client.user_agent"),
    ({"client": {"ip_address": "i" * 5_000}}, "client.ip_address"),
    ({"client": {"ip_address": "198.51.100.1, 203.0.113.77"}}, "client.ip_address"),
    ({"client": {"ip_address": "unknown"}}, "client.ip_address"),
    ({"client": {"ip_address": " "}}, "client.ip_address"),
]


@pytest.mark.parametrize("fields, field", MALFORMED_BESIDE, ids=[field for _, field in MALFORMED_BESIDE])
def test_the_error_names_a_malformed_field_outside_the_credential(
        web: Client, fields: dict[str, object], field: str) -> None:
    with expect_failure(INVALID, "INVALID_FIELD", field=field):
        web.sign_in(anonymous(), **fields)


def test_an_overlong_user_agent_does_not_prevent_a_sign_in(web: Client) -> None:
    assert session(web.sign_in(anonymous(), client={"user_agent": "Mozilla/5.0 " + "x" * 500}))
    made = session(web.sign_in(anonymous(), client={"user_agent": "\u00e9" * 5_000, "device_id": "d" * 5_000}))
    [listed] = web.list_sessions(made.id_token)
    assert listed.client.user_agent == "\u00e9" * 256 and 0 < len(listed.client.device_id) <= 128


@pytest.mark.parametrize("address, kept", [
    ("203.0.113.77:51514", "203.0.113.77"), ("[2001:DB8::7]:443", "2001:db8::7"), ("\t203.0.113.77 ", "203.0.113.77"),
    ("::ffff:203.0.113.77", "203.0.113.77"), ("fe80::1%eth0", "fe80::1")])
def test_an_ip_address_is_kept_in_its_one_spelling(web: Client, address: str, kept: str) -> None:
    made = session(web.sign_in(anonymous(), client={"ip_address": address}))
    assert [each.client.ip_address for each in web.list_sessions(made.id_token)] == [kept]


def test_a_name_is_kept_without_its_control_characters(web: Client) -> None:
    name = "Ada\tLovelace\r\n\u202e\x1b\U0001f469\u200d\U0001f680"
    made = web.create(fresh_email(), display_name=name, photo_url="https://example.com/\na\x7f")
    assert made.account.display_name == "Ada Lovelace \U0001f469\u200d\U0001f680"
    assert made.account.photo_url == "https://example.com/a"
    changed = web.update(made.id_token, "display_name", account=types.Account(display_name="Eve\u2028\x9b"))
    assert changed.account.display_name == "Eve"


def test_the_error_names_an_empty_field(web: Client, admin: Client) -> None:
    made = web.create(fresh_email())
    for call, field in (
            (lambda: web.unlink(made.id_token, ""), "provider_id"),
            (lambda: web.unlink("", "password"), "id_token"),
            (lambda: web.link("", password(fresh_email())), "id_token"),
            (lambda: web.reauthenticate("", password(fresh_email())), "id_token"),
            (lambda: web.get(""), "id_token"),
            (lambda: web.delete(""), "id_token"),
            (lambda: web.refresh(""), "refresh_token"),
            (lambda: web.verify(""), "id_token"),
            (lambda: web.create("", PASSWORD), "email"),
            (lambda: web.create(fresh_email(), ""), "password"),
            (lambda: web.create(fresh_email(), display_name="n" * 5_000), "display_name"),
            (lambda: web.create(fresh_email(), photo_url="javascript:alert(1)"), "photo_url"),
            (lambda: admin.custom_token(""), "account_id"),
            (lambda: admin.custom_token("i" * 129), "account_id"),
            (lambda: admin.custom_token("nicht \u00e4scii"), "account_id"),
            (lambda: admin.custom_token("somebody", lifetime_seconds=3601), "lifetime"),
            (lambda: admin.custom_token("somebody", lifetime_seconds=-1), "lifetime")):
        with expect_failure(INVALID, "INVALID_FIELD", "INVALID_EMAIL", "WEAK_PASSWORD", field=field):
            call()


def test_a_request_without_a_subject_or_a_session_is_rejected(web: Client, admin: Client) -> None:
    for call in (web.fetch, web.sign_out, admin.lookup):
        with expect_failure(INVALID, "INVALID_FIELD") as refused:
            call()
        assert refused.in_request


def test_text_that_is_not_utf8_is_refused_naming_the_field(web: Client) -> None:
    """Sent without the stubs, which would reject it: FetchProvidersRequest.email with the one byte 0xff."""
    call = web.channel.unary_unary("/latchkey.v1.AuthService/FetchProviders")
    with expect_failure(INVALID, "INVALID_FIELD", "INVALID_EMAIL", field="email"):
        call(b"\x0a\x01\xff", timeout=5)


def test_a_field_of_a_newer_client_is_ignored(web: Client) -> None:
    """Field 99 as a varint (check 116): an unknown field is not an error."""
    call = web.channel.unary_unary("/latchkey.v1.AuthService/FetchProviders")
    request = auth.FetchProvidersRequest(email=fresh_email()).SerializeToString() + b"\x98\x06\x07"
    assert auth.FetchProvidersResponse.FromString(call(request, timeout=5)).registered is False


def test_check_112_an_oversized_message_is_rejected_and_the_server_keeps_running(server: Server, web: Client) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        web.create(fresh_email(), display_name="x" * 100_000)
    assert refused.value.code() == StatusCode.RESOURCE_EXHAUSTED
    assert web.signing_keys() and server.process is not None and server.process.poll() is None


def test_check_116_a_method_of_a_newer_contract_is_unimplemented(web: Client) -> None:
    call = web.channel.unary_unary("/latchkey.v1.AccountService/Divide")
    with pytest.raises(grpc.RpcError) as refused:
        call(b"", timeout=5)
    assert refused.value.code() == StatusCode.UNIMPLEMENTED
