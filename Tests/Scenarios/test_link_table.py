"""The rows of the link table that a caller can reach (L11 is in test_second_factors.py)."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from clients import (Client, anonymous, assertion, conflict, custom, fresh_email, held, in_use, password, provider,
                     provider_ids, session)
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import types_pb2 as types
from processes import Server, Simulator


def test_L1_linking_the_same_identity_again_returns_the_callers_complete_session(
        web: Client, simulator: Simulator) -> None:
    company = assertion(simulator, "oidc.corp")
    made = session(web.sign_in(company))
    response = web.link(made.id_token, company)
    again = session(response)
    assert response.already_linked and again.account == made.account and again.session_id == made.session_id
    assert web.verify(made.id_token).active and web.verify(again.id_token).active
    for refresh_token in (made.refresh_token, again.refresh_token):
        assert web.refresh(refresh_token).session_id == made.session_id


def test_L1_and_check_46_uses_up_a_single_use_token(web: Client, simulator: Simulator) -> None:
    subject = fresh_email()

    def token() -> types.Credential:
        nonce = fresh_email()
        return provider("oidc.strict", simulator.token("oidc.strict", subject=subject, nonce=nonce), raw_nonce=nonce)

    made = session(web.sign_in(token()))
    # The first link moves the session on. The second one only has to use up the token.
    for key in ("", secrets.token_urlsafe(24)):
        again = token()
        assert web.link(made.id_token, again, idempotency_key=key).already_linked
        with expect_failure(StatusCode.UNAUTHENTICATED, "MISSING_OR_INVALID_NONCE"):
            web.sign_in(again)
        with expect_failure(StatusCode.UNAUTHENTICATED, "MISSING_OR_INVALID_NONCE"):
            web.link(made.id_token, again)
    repeated = web.link(made.id_token, again, idempotency_key=key)
    assert repeated.already_linked and session(repeated).session_id == made.session_id


def test_L2_and_check_29_the_pending_token_of_an_identity_in_use_opens_its_account(
        web: Client, admin: Client, simulator: Simulator) -> None:
    owned = assertion(simulator, "oidc.corp", email=fresh_email())
    owner = session(web.sign_in(owned))
    mine = web.create(fresh_email())
    response = web.link(mine.id_token, owned)
    used = in_use(response)
    assert owner.account.account_id.encode() not in response.SerializeToString()
    assert provider_ids(web.get(mine.id_token)) == {"password"} and web.verify(mine.id_token).active
    there = session(web.sign_in(held(used.pending_token)))
    assert there.account.account_id == owner.account.account_id
    assert provider_ids(admin.lookup(account_id=owner.account.account_id)) == {"oidc.corp"}


def test_L3_another_subject_of_a_provider_that_is_linked_is_refused(web: Client, simulator: Simulator) -> None:
    made = session(web.sign_in(assertion(simulator, "oidc.corp")))
    with expect_failure(StatusCode.ALREADY_EXISTS, "PROVIDER_ALREADY_LINKED", field="credential"):
        web.link(made.id_token, assertion(simulator, "oidc.corp"))


def test_L4_an_identity_whose_address_is_another_accounts_is_refused(web: Client, simulator: Simulator) -> None:
    email = fresh_email("gmail.com")
    web.create(email)
    mine = web.create(fresh_email())
    with expect_failure(StatusCode.ALREADY_EXISTS, "EMAIL_ALREADY_IN_USE", field="credential"):
        web.link(mine.id_token, assertion(simulator, "google.com", email=email, email_verified=True))
    assert provider_ids(web.get(mine.id_token)) == {"password"}


def test_L5_an_account_without_an_address_gets_it_verified_by_tier(web: Client, simulator: Simulator) -> None:
    for provider_id, verified in (("oidc.trusted", True), ("oidc.corp", False)):
        email = fresh_email()
        made = session(web.sign_in(assertion(simulator, "oidc.partner")))
        linked = session(web.link(made.id_token, assertion(simulator, provider_id, email=email, email_verified=True)))
        assert (linked.account.email, linked.account.email_verified) == (email, verified)


def test_L6_only_a_verified_assertion_verifies_an_equal_address(web: Client, simulator: Simulator) -> None:
    for provider_id, verified in (("oidc.trusted", True), ("oidc.corp", False)):
        email = fresh_email()
        made = web.create(email)
        linked = session(web.link(made.id_token, assertion(simulator, provider_id, email=email, email_verified=True)))
        assert linked.account.email_verified is verified
        assert session(web.sign_in(password(email))).account.account_id == made.account.account_id


def test_L7_a_different_free_address_leaves_the_accounts_own(web: Client, simulator: Simulator) -> None:
    email = fresh_email()
    made = web.create(email)
    other = assertion(simulator, "oidc.trusted", email=fresh_email(), email_verified=True)
    assert session(web.link(made.id_token, other)).account.email == email
    assert session(web.link(made.id_token, assertion(simulator, "oidc.corp"))).account.email == email


def test_L8_a_password_belongs_to_the_accounts_own_address(web: Client, simulator: Simulator) -> None:
    email, foreign = fresh_email(), fresh_email()
    web.create(foreign)
    made = session(web.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    with expect_failure(StatusCode.ALREADY_EXISTS, "EMAIL_ALREADY_IN_USE", field="credential.password.email"):
        web.link(made.id_token, password(foreign))
    linked = session(web.link(made.id_token, password(email)))
    assert linked.account.email_verified and provider_ids(linked.account) == {"oidc.trusted", "password"}
    with expect_failure(StatusCode.ALREADY_EXISTS, "PROVIDER_ALREADY_LINKED", field="credential.password"):
        web.link(linked.id_token, password(email, "another good password"))


def test_L8_an_account_of_a_custom_token_gets_a_password_with_its_address(web: Client, admin: Client) -> None:
    account_id, email = f"customer-{fresh_email()}", fresh_email()
    made = session(web.sign_in(custom(admin.custom_token(account_id))))
    assert made.is_new_account and not made.account.email and not provider_ids(made.account)
    linked = session(web.link(made.id_token, password(email)))
    assert linked.account.account_id == account_id and provider_ids(linked.account) == {"password"}
    assert (linked.account.email, linked.account.email_verified) == (email, False)
    for credential in (password(email), custom(admin.custom_token(account_id))):
        signed = session(web.sign_in(credential))
        assert signed.account.account_id == account_id and not signed.is_new_account


def test_L9_an_anonymous_account_becomes_permanent_and_keeps_its_id(web: Client, simulator: Simulator) -> None:
    for credential in (password(fresh_email()), assertion(simulator, "oidc.corp", name="Al", picture="https://x.y/z")):
        made = session(web.sign_in(anonymous()))
        linked = session(web.link(made.id_token, credential))
        assert linked.account.account_id == made.account.account_id and not linked.account.anonymous
        assert session(web.sign_in(credential)).account.account_id == made.account.account_id
    assert (linked.account.display_name, linked.account.photo_url) == ("Al", "https://x.y/z")


def test_check_31_an_anonymous_user_whose_identity_has_an_account_loses_neither(
        web: Client, simulator: Simulator) -> None:
    company = assertion(simulator, "oidc.corp")
    old = session(web.sign_in(company))
    guest = session(web.sign_in(anonymous()))
    for _ in range(2):
        used = in_use(web.link(guest.id_token, company))
        assert web.get(guest.id_token).anonymous, "retrying changes nothing"
    there = session(web.sign_in(held(used.pending_token)))
    assert there.account.account_id == old.account.account_id != guest.account.account_id
    assert web.get(guest.id_token).account_id == guest.account.account_id


def test_L10_a_pending_credential_is_linked_only_by_its_own_account(
        web: Client, simulator: Simulator) -> None:
    email = fresh_email()
    web.create(email)
    exists = conflict(web.sign_in(assertion(simulator, "oidc.corp", email=email)))
    stranger = web.create(fresh_email())
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_MISMATCH"):
        web.link(stranger.id_token, held(exists.pending_token))
    known = session(web.sign_in(password(email)))
    assert "oidc.corp" in provider_ids(session(web.link(known.id_token, held(exists.pending_token))).account)


def test_L12_an_old_login_is_rejected_except_of_guests_or_after_the_conflict(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    client = connect(serve(policy={"link_recent_login_seconds": 2}))
    email = fresh_email()
    made = client.create(email)
    guest = session(client.sign_in(anonymous()))
    exists = conflict(client.sign_in(assertion(simulator, "oidc.corp", email=email)))
    completing = session(client.sign_in(password(email)))
    time.sleep(2.1)
    for credential in (assertion(simulator, "oidc.partner"), held(exists.pending_token)):
        with expect_failure(StatusCode.FAILED_PRECONDITION, "REQUIRES_RECENT_LOGIN"):
            client.link(made.id_token, credential)
    linked = session(client.link(completing.id_token, held(exists.pending_token)))
    assert "oidc.corp" in provider_ids(linked.account)
    assert not session(client.link(guest.id_token, assertion(simulator, "oidc.corp"))).account.anonymous


def test_check_28_a_failed_link_leaves_session_and_refresh_token_unchanged(
        web: Client, simulator: Simulator) -> None:
    made = session(web.sign_in(assertion(simulator, "oidc.corp")))
    with expect_failure(StatusCode.ALREADY_EXISTS, "PROVIDER_ALREADY_LINKED"):
        web.link(made.id_token, assertion(simulator, "oidc.corp"))
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_CREDENTIAL"):
        web.link(made.id_token, assertion(simulator, "oidc.partner", wrong_key=True))
    assert web.verify(made.id_token).active
    assert web.refresh(made.refresh_token).session_id == made.session_id


def test_only_sign_in_methods_can_be_linked(web: Client, admin: Client) -> None:
    made = web.create(fresh_email())
    for credential in (anonymous(), custom(admin.custom_token("somebody"))):
        with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"):
            web.link(made.id_token, credential)
