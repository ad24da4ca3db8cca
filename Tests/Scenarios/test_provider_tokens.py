"""ID tokens of providers end to end: each wrong one is rejected, and broken key sets fail closed (checks 40 to 55)."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable

import grpc
import pytest
from clients import Client, assertion, fresh_email, provider, session
from failures import expect_failure, read
from grpc import StatusCode
from latchkey.v1 import types_pb2 as types
from processes import Server, Simulator

INVALID = (StatusCode.UNAUTHENTICATED, "INVALID_CREDENTIAL")
UNAVAILABLE = (StatusCode.UNAVAILABLE, "PROVIDER_UNAVAILABLE")
MISCONFIGURED = (StatusCode.FAILED_PRECONDITION, "PROVIDER_MISCONFIGURED")
NONCE = (StatusCode.UNAUTHENTICATED, "MISSING_OR_INVALID_NONCE")


@pytest.mark.parametrize("provider_id", ["google.com", "oidc.corp"])
@pytest.mark.parametrize("order", [
    {"audiences": ["somebody-else"]},
    {"audiences": ["latchkey", "google-client", "untrusted"]},
    {"authorized_party": "untrusted"},
    {"issuer": "https://accounts.google.com/"},
    {"issuer": "http://accounts.google.com"},
    {"issuer": "https://127.0.0.1/corp"},
    {"algorithm": "none"},
    {"algorithm": "HS256"},
    {"algorithm": "RS512"},
    {"wrong_key": True},
    {"wrong_key": True, "header": {"jku": "https://evil.example/jwks", "x5u": "https://evil.example/x5u"}},
    {"issued_seconds": 600, "expires_seconds": 4200},
    {"not_before_seconds": 600},
    {"without": ["exp"]},
    {"without": ["iat"]},
    {"without": ["sub"]},
    {"without": ["aud"]},
    {"subject": ""},
    {"claims": {"exp": "tomorrow"}},
], ids=str)
def test_checks_40_to_45_a_wrong_token_is_refused(
        web: Client, simulator: Simulator, provider_id: str, order: dict[str, object]) -> None:
    with expect_failure(*INVALID):
        web.sign_in(assertion(simulator, provider_id, **order))


@pytest.mark.parametrize("seconds, accepted", [(-3600, False), (-90, False), (-20, True)])
def test_check_45_an_expired_token_is_refused_past_a_skew_of_at_most_a_minute(
        web: Client, simulator: Simulator, seconds: int, accepted: bool) -> None:
    expired = assertion(simulator, "oidc.corp", issued_seconds=seconds - 60, expires_seconds=seconds)
    if accepted:
        session(web.sign_in(expired))
        return
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_CREDENTIAL", "TOKEN_EXPIRED"):
        web.sign_in(expired)


def test_check_40_a_token_of_one_provider_is_not_valid_for_another(web: Client, simulator: Simulator) -> None:
    for minted, presented in (("oidc.corp", "oidc.partner"), ("google.com", "oidc.corp"), ("oidc.corp", "google.com")):
        with expect_failure(*INVALID):
            web.sign_in(provider(presented, simulator.token(minted)))


def test_check_41_several_trusted_audiences_need_a_trusted_authorized_party(
        web: Client, simulator: Simulator) -> None:
    both = ["google-client", "google-android"]
    session(web.sign_in(assertion(simulator, "google.com", audiences=both, authorized_party="google-android")))
    with expect_failure(*INVALID):
        web.sign_in(assertion(simulator, "google.com", audiences=both, authorized_party="google-ios"))
    with expect_failure(*INVALID):
        web.sign_in(assertion(simulator, "google.com", audiences=both))


@pytest.mark.parametrize("algorithm", [
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"])
def test_check_43_each_pinned_algorithm_works(web: Client, simulator: Simulator, algorithm: str) -> None:
    assert session(web.sign_in(assertion(simulator, "oidc.many", algorithm=algorithm))).is_new_account


def test_check_44_keys_named_by_the_token_itself_are_ignored(web: Client, simulator: Simulator) -> None:
    stray = {"kty": "RSA", "n": "sXch", "e": "AQAB"}
    session(web.sign_in(assertion(simulator, "oidc.corp", header={"jwk": stray, "jku": "https://evil.example/"})))


def test_check_46_a_nonce_must_match_and_a_required_one_is_single_use(web: Client, simulator: Simulator) -> None:
    raw = "raw-nonce-" + fresh_email()
    token = simulator.token("oidc.strict", nonce=raw)
    for wrong in ({}, {"raw_nonce": "another"}):
        with expect_failure(*NONCE):
            web.sign_in(provider("oidc.strict", token, **wrong))
    session(web.sign_in(provider("oidc.strict", token, raw_nonce=raw)))
    with expect_failure(*NONCE):
        web.sign_in(provider("oidc.strict", token, raw_nonce=raw))
    with expect_failure(*NONCE):
        web.sign_in(assertion(simulator, "oidc.strict"))
    with expect_failure(*NONCE):
        web.sign_in(provider("google.com", simulator.token("google.com"), raw_nonce=raw))


def test_check_52_an_access_token_must_match_its_id_token(web: Client, simulator: Simulator) -> None:
    token = simulator.token("oidc.corp", access_token="the-right-one")
    signed = session(web.sign_in(provider("oidc.corp", token, access_token="the-right-one")))
    assert signed.provider_credential.access_token == "the-right-one"
    with expect_failure(*INVALID):
        web.sign_in(provider("oidc.corp", token, access_token="another"))


@pytest.mark.parametrize("said", ["true", "false", "0", 1, 0, None])
def test_check_55_only_the_boolean_true_marks_an_address_as_verified(
        web: Client, simulator: Simulator, said: object) -> None:
    for provider_id in ("oidc.trusted", "google.com"):
        made = session(web.sign_in(assertion(simulator, provider_id, email=fresh_email(), email_verified=said)))
        assert made.account.email and not made.account.email_verified


def test_check_60_google_is_authoritative_only_for_gmail_and_hosted_domains(
        web: Client, simulator: Simulator) -> None:
    """Visible from outside: only an authoritative assertion takes over an unverified account (S6a)."""
    for email, hosted_domain, reclaims in ((fresh_email("gmail.com"), None, True),
                                           (fresh_email("firm.example"), "firm.example", True),
                                           (fresh_email("firm.example"), None, False)):
        web.create(email)
        response = web.sign_in(assertion(
            simulator, "google.com", email=email, email_verified=True, hosted_domain=hosted_domain))
        assert response.WhichOneof("outcome") == ("session" if reclaims else "account_exists")


def test_the_error_for_a_bare_access_token_says_what_to_do(web: Client) -> None:
    bare = types.Credential(provider_token=types.ProviderTokenCredential(
        provider_id="oidc.corp", access_token="something"))
    with expect_failure(StatusCode.UNAUTHENTICATED, "AUDIENCE_UNVERIFIABLE"):
        web.sign_in(bare)


def test_a_provider_that_is_not_configured_is_not_allowed(web: Client, simulator: Simulator) -> None:
    with expect_failure(StatusCode.FAILED_PRECONDITION, "OPERATION_NOT_ALLOWED"):
        web.sign_in(provider("oidc.nowhere", simulator.token("oidc.corp")))


def test_the_profile_and_the_providers_own_tokens_are_returned(web: Client, simulator: Simulator) -> None:
    token = simulator.token("oidc.corp", username="al", name="Al", claims={"department": "R&D"})
    signed = session(web.sign_in(provider("oidc.corp", token)))
    info = signed.additional_user_info
    assert (info.provider_id, info.username) == ("oidc.corp", "al")
    assert json.loads(info.profile_json)["department"] == "R&D"
    assert signed.provider_credential.id_token == token


def test_check_53_unknown_keys_cause_a_few_fetches_and_then_one_every_ten_seconds(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    client = connect(serve())
    session(client.sign_in(assertion(simulator, "oidc.rotating")))
    before, reasons = simulator.fetches("oidc.rotating", "jwks"), Counter[str]()
    begun = time.monotonic()
    for _ in range(20):
        with pytest.raises(grpc.RpcError) as refused:
            client.sign_in(assertion(simulator, "oidc.rotating", unknown_key=True))
        reasons[read(refused.value).reason] += 1
    allowed = 4 + int((time.monotonic() - begun) / 10)
    fetches = simulator.fetches("oidc.rotating", "jwks") - before
    assert 1 <= fetches <= allowed
    assert set(reasons) == {"INVALID_CREDENTIAL", "PROVIDER_UNAVAILABLE"} and reasons["INVALID_CREDENTIAL"] <= allowed
    session(client.sign_in(assertion(simulator, "oidc.rotating")))


def test_check_53_a_new_key_is_found_immediately_and_the_old_one_still_verifies(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    client = connect(serve())
    old = assertion(simulator, "oidc.rotating")
    session(client.sign_in(old))
    simulator.rotate("oidc.rotating")
    before = simulator.fetches("oidc.rotating", "jwks")
    session(client.sign_in(assertion(simulator, "oidc.rotating")))
    session(client.sign_in(old))
    assert simulator.fetches("oidc.rotating", "jwks") == before + 1


def test_check_53_a_new_key_is_found_even_after_a_request_for_a_made_up_one(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    client = connect(serve())
    session(client.sign_in(assertion(simulator, "oidc.rotating")))
    for _ in range(2):
        with expect_failure(*INVALID):
            client.sign_in(assertion(simulator, "oidc.rotating", unknown_key=True))
    simulator.rotate("oidc.rotating")
    session(client.sign_in(assertion(simulator, "oidc.rotating")))


@pytest.mark.parametrize("document", ["discovery", "jwks"])
@pytest.mark.parametrize(("behaviour", "failure"), [
    ("error", UNAVAILABLE), ("huge", UNAVAILABLE), ("broken", UNAVAILABLE), ("html", UNAVAILABLE),
    ("redirect", MISCONFIGURED)])
def test_checks_53_and_54_a_faulty_provider_fails_closed_and_recovers(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator, document: str,
        behaviour: str, failure: tuple[StatusCode, str]) -> None:
    client = connect(serve())
    simulator.behave("oidc.broken", behaviour, document=document)
    try:
        with expect_failure(*failure):
            client.sign_in(assertion(simulator, "oidc.broken"))
        session(client.sign_in(assertion(simulator, "oidc.corp")))
    finally:
        simulator.behave("oidc.broken", "well")


@pytest.mark.parametrize(("body", "failure"), [
    pytest.param({"keys": []}, MISCONFIGURED, id="no keys"),
    pytest.param({"keys": [{"kty": "RSA", "n": "Dw", "e": "AQAB", "kid": "tiny", "use": "sig"}]}, MISCONFIGURED,
                 id="a modulus of four bits"),
    pytest.param({"keys": [{"kty": "RSA", "n": "!!!", "e": "AQAB", "kid": "bad"}]}, MISCONFIGURED, id="not base64url"),
    pytest.param({"keys": "none"}, UNAVAILABLE, id="keys is no list"),
    pytest.param([], UNAVAILABLE, id="no object")])
def test_check_54_a_key_set_without_a_usable_key_fails_closed_without_a_crash(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator, body: object,
        failure: tuple[StatusCode, str]) -> None:
    client = connect(serve())
    simulator.behave("oidc.broken", "well", document="jwks", body=json.dumps(body))
    try:
        with expect_failure(*failure):
            client.sign_in(assertion(simulator, "oidc.broken"))
        session(client.sign_in(assertion(simulator, "oidc.corp")))
    finally:
        simulator.behave("oidc.broken", "well")


def test_a_provider_that_hangs_is_unavailable_in_time_and_delays_no_other_call(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    client = connect(serve())
    simulator.behave("oidc.hanging", "hang")
    try:
        with expect_failure(StatusCode.UNAVAILABLE, "PROVIDER_UNAVAILABLE"):
            client.sign_in(assertion(simulator, "oidc.hanging"))
        session(client.sign_in(assertion(simulator, "oidc.corp")))
    finally:
        simulator.behave("oidc.hanging", "well")
