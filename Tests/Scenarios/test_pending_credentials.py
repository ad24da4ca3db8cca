"""Pending credentials: bound, single use with a repeatable answer, limited, expiring, encrypted at rest."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable

import latchkey_settings
from authenticators import enrol_totp
from clients import (
    PAGE, Client, assertion, conflict, factor_required, fresh_email, held, password, provider_ids, session)
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import types_pb2 as types
from latchkey.v1.types_pb2 import FACTOR_KIND_RECOVERY_CODE
from metrics import ON_A_FREE_PORT, Scrape
from processes import Server, Simulator
from verification import POLICY

MISMATCH = (StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_MISMATCH")


def met(client: Client, simulator: Simulator, **fields: str) -> tuple[str, types.AccountExists]:
    """A password account's address, and its conflict with oidc.corp."""
    email = fresh_email()
    client.create(email)
    return email, conflict(client.sign_in(assertion(simulator, "oidc.corp", email=email), **fields))


def test_check_12_completing_twice_links_once_and_returns_the_same_account(web: Client, simulator: Simulator) -> None:
    email, exists = met(web, simulator)
    first = session(web.sign_in(password(email), pending_token=exists.pending_token))
    again = session(web.sign_in(password(email), pending_token=exists.pending_token))
    assert again.account.account_id == first.account.account_id
    assert [each.provider_id for each in again.account.providers].count("oidc.corp") == 1


def test_check_11_a_credential_of_one_subject_does_not_complete_anothers_conflict(
        web: Client, simulator: Simulator) -> None:
    email = fresh_email()
    web.create(email)
    one, two = (conflict(web.sign_in(assertion(simulator, "oidc.corp", subject=f"{n}-{email}", email=email)))
                for n in (1, 2))
    linked = session(web.sign_in(password(email), pending_token=one.pending_token))
    subjects = {each.subject for each in linked.account.providers if each.provider_id == "oidc.corp"}
    assert subjects == {f"1-{email}"}
    with expect_failure(StatusCode.ALREADY_EXISTS, "PROVIDER_ALREADY_LINKED"):
        web.sign_in(password(email), pending_token=two.pending_token)


def test_check_15_another_callers_pending_token_is_rejected_as_unknown(
        web: Client, admin: Client, simulator: Simulator) -> None:
    email, exists = met(web, simulator)
    with expect_failure(*MISMATCH) as foreign:
        admin.sign_in(password(email), pending_token=exists.pending_token)
    unknown = base64.urlsafe_b64encode(b"u" * 32).rstrip(b"=").decode()
    with expect_failure(*MISMATCH) as never_made:
        admin.sign_in(password(email), pending_token=unknown)
    assert foreign.everything == never_made.everything
    with expect_failure(*MISMATCH):
        admin.fetch(pending_token=exists.pending_token)
    assert "oidc.corp" in provider_ids(
        session(web.sign_in(password(email), pending_token=exists.pending_token)).account)


def test_check_10_a_row_with_a_binding_is_completed_with_the_same_binding_only(
        web: Client, simulator: Simulator) -> None:
    browser, other = "browser-session-0001", "browser-session-0002"
    email, exists = met(web, simulator, binding=browser)
    for fields in ({}, {"binding": other}):
        with expect_failure(*MISMATCH):
            web.sign_in(password(email), pending_token=exists.pending_token, **fields)
    linked = session(web.sign_in(password(email), pending_token=exists.pending_token, binding=browser))
    assert "oidc.corp" in provider_ids(linked.account)


def test_check_18_signing_in_to_another_account_does_not_complete_the_row(web: Client, simulator: Simulator) -> None:
    email, exists = met(web, simulator)
    stranger = fresh_email()
    web.create(stranger)
    with expect_failure(*MISMATCH):
        web.sign_in(password(stranger), pending_token=exists.pending_token)
    assert provider_ids(session(web.sign_in(password(stranger))).account) == {"password"}


def test_check_16_pending_tokens_with_256_bits_and_provider_tokens_are_not_stored(
        server: Server, web: Client, simulator: Simulator) -> None:
    email = fresh_email()
    web.create(email)
    company = assertion(simulator, "oidc.corp", email=email, name="Sealed-Name-" + email)
    company.provider_token.access_token = "access-token-" + email
    exists = conflict(web.sign_in(company))
    assert exists.provider_credential.access_token == "access-token-" + email, "handed back, not kept"
    secret = base64.urlsafe_b64decode(exists.pending_token + "==")
    assert len(secret) * 8 >= 256
    stored = server.stored()
    assert email.encode() in stored, "the search below would find plain text"
    for hidden in (secret, exists.pending_token.encode(), company.provider_token.access_token.encode(),
                   company.provider_token.id_token.encode(), b"Sealed-Name-"):
        assert hidden not in stored


def test_check_14_a_pending_token_is_expired_at_first_and_unknown_after_the_sweep(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    client = connect(serve(policy={"pending_lifetime_seconds": 1}))
    email, exists = met(client, simulator)
    time.sleep(1.1)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_EXPIRED", "PENDING_CREDENTIAL_MISMATCH"):
        client.sign_in(password(email), pending_token=exists.pending_token)
    assert provider_ids(session(client.sign_in(password(email))).account) == {"password"}


def test_wrong_attempts_use_up_a_pending_token(serve: Callable[..., Server], connect: Callable[..., Client],
                                        simulator: Simulator) -> None:
    client = connect(serve(policy={"pending_attempts_max": 2}))
    email, exists = met(client, simulator)
    stranger = fresh_email()
    client.create(stranger)
    for _ in range(2):
        with expect_failure(*MISMATCH):
            client.sign_in(password(stranger), pending_token=exists.pending_token)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_USED"):
        client.sign_in(password(email), pending_token=exists.pending_token)


def test_rows_are_limited_per_account_with_a_retry_delay(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    client = connect(serve(policy={"pending_per_account_max": 3}))
    email = fresh_email()
    client.create(email)
    for _ in range(3):
        conflict(client.sign_in(assertion(simulator, "oidc.corp", email=email)))
    with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED", "TOO_MANY_ATTEMPTS") as refused:
        client.sign_in(assertion(simulator, "oidc.corp", email=email))
    assert refused.retry_seconds is not None and refused.retry_seconds > 0
    verified = assertion(simulator, "oidc.trusted", email=email, email_verified=True)
    exists = conflict(client.sign_in(verified))
    assert "oidc.trusted" in provider_ids(
        session(client.sign_in(password(email), pending_token=exists.pending_token)).account)


def test_check_20_a_row_of_a_deleted_account_cannot_be_completed(web: Client, simulator: Simulator) -> None:
    email, exists = met(web, simulator)
    web.delete(session(web.sign_in(password(email))).id_token)
    web.create(email)
    with expect_failure(*MISMATCH):
        web.sign_in(password(email), pending_token=exists.pending_token)


def test_check_21_a_row_whose_provider_has_been_disabled_cannot_be_completed(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = serve()
    client = connect(server)
    email, exists = met(client, simulator)
    server.stop()
    server.settings["providers"] = [each for each in server.settings["providers"] if each["id"] != "oidc.corp"]
    server.launch()
    with expect_failure(StatusCode.FAILED_PRECONDITION, "OPERATION_NOT_ALLOWED", "PENDING_CREDENTIAL_MISMATCH"):
        connect(server).sign_in(password(email), pending_token=exists.pending_token)


def test_an_anonymous_credential_cannot_complete_a_row(web: Client, simulator: Simulator) -> None:
    _, exists = met(web, simulator)
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"):
        web.sign_in(types.Credential(anonymous=types.AnonymousCredential()), pending_token=exists.pending_token)


def test_a_pending_token_as_the_only_credential_is_spent_by_its_first_success(
        web: Client, simulator: Simulator) -> None:
    company = assertion(simulator, "oidc.corp")
    session(web.sign_in(company))
    mine = web.create(fresh_email())
    handle = web.link(mine.id_token, company).credential_in_use.pending_token
    first = session(web.sign_in(held(handle), idempotency_key="spend-" + handle[:20]))
    again = session(web.sign_in(held(handle), idempotency_key="spend-" + handle[:20]))
    assert again.session_id == first.session_id
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_USED"):
        web.sign_in(held(handle))


def test_a_binding_can_be_required(serve: Callable[..., Server], connect: Callable[..., Client],
                                          simulator: Simulator) -> None:
    client = connect(serve(policy={"require_binding": True}))
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="binding"):
        client.sign_in(assertion(simulator, "oidc.corp"))
    session(client.sign_in(assertion(simulator, "oidc.corp"), binding="browser-session-0001"))


def test_a_network_that_fills_the_places_for_flows_makes_room_for_other_networks(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = serve(
        metrics=ON_A_FREE_PORT, policy={**POLICY, "pending_per_caller_max": 20},
        providers=latchkey_settings.providers(simulator.base),
        throttles={"flow_starts_per_network_max": 0, "flow_starts_per_caller_max": 0})
    client = connect(server)
    hostile, own = ({"ip_address": address} for address in ("2001:db8:bad::1", "198.51.100.7"))
    for _ in range(20):
        client.start_flow("google.com", PAGE, client=hostile)
    with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED"):
        client.start_flow("google.com", PAGE, client={"ip_address": "2001:db8:bad:ffff::1"})
    for _ in range(5):
        client.start_flow("google.com", PAGE, client=own)
    assert Scrape.of(server)("latchkey_pending_rows_removed_total", purpose="flow") == 5
    email = fresh_email("gmail.com")
    google = assertion(simulator, "google.com", email=email, email_verified=True)
    _, finished = enrol_totp(client, session(client.sign_in(google, client=own)))
    required = factor_required(client.sign_in(google, client=own))
    recovery = next(each for each in required.hints if each.kind == FACTOR_KIND_RECOVERY_CODE)
    session(client.finish_factor(required.pending_token, recovery.factor_id, finished.recovery_codes[0]))
    other = fresh_email()
    client.create(other, client=own)
    exists = conflict(client.sign_in(assertion(simulator, "oidc.corp", email=other), client=own))
    session(client.sign_in(password(other), pending_token=exists.pending_token, client=own))
