"""A verified address meets an account that never verified it: reclaim (S6a) and claim (S6b)."""

from __future__ import annotations

from clients import Client, assertion, conflict, custom, fresh_email, password, provider_ids, session
from failures import expect_failure
from grpc import StatusCode
from processes import Simulator


def test_S6a_the_mailbox_owner_gets_an_unverified_account_without_its_old_data(
        web: Client, simulator: Simulator) -> None:
    email = fresh_email("gmail.com")
    planted = web.create(email, display_name="not me")
    held_before = conflict(web.sign_in(assertion(simulator, "oidc.corp", email=email)))
    order = {"subject": email, "email": email, "email_verified": True}

    taken = session(web.sign_in(assertion(simulator, "google.com", **order)))
    assert taken.account.account_id == planted.account.account_id
    assert list(taken.revoked_provider_ids) == ["password"]
    assert taken.account.email_verified and not taken.is_new_account
    assert provider_ids(taken.account) == {"google.com"}
    assert taken.account.display_name != "not me"

    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS"):
        web.sign_in(password(email))
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_REFRESH_TOKEN", "TOKEN_REVOKED"):
        web.refresh(planted.refresh_token)
    with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
        web.get(planted.id_token)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_MISMATCH"):
        web.sign_in(assertion(simulator, "google.com", **order), pending_token=held_before.pending_token)
    assert session(web.sign_in(assertion(simulator, "google.com", **order))).account.email == email


def test_checks_5_and_6_a_reclaim_ends_a_planted_session_that_keeps_refreshing(
        web: Client, simulator: Simulator) -> None:
    email = fresh_email("gmail.com")
    planted = web.create(email)
    for _ in range(3):
        planted = web.refresh(planted.refresh_token)
    session(web.sign_in(assertion(simulator, "google.com", email=email, email_verified=True)))
    assert not web.verify(planted.id_token).active
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_REFRESH_TOKEN", "TOKEN_REVOKED"):
        web.refresh(planted.refresh_token)


def unverified_account_with_an_identity(web: Client, simulator: Simulator, email: str) -> str:
    made = web.create(email)
    session(web.link(made.id_token, assertion(simulator, "oidc.corp", email=email)))
    return made.account.account_id


def test_check_5_an_account_with_custom_tokens_is_not_reclaimed(
        web: Client, admin: Client, simulator: Simulator) -> None:
    email, planted_id = fresh_email("gmail.com"), f"customer-{fresh_email()}"
    planted = session(web.sign_in(custom(admin.custom_token(planted_id))))
    session(web.link(planted.id_token, password(email)))
    google = assertion(simulator, "google.com", email=email, email_verified=True)
    assert conflict(web.sign_in(google)).can_claim_address
    mine = session(web.sign_in(google, claim_address=True))
    assert mine.account.account_id != planted_id and mine.account.email == email
    assert not session(web.sign_in(custom(admin.custom_token(planted_id)))).account.email


def test_S6b_an_account_with_an_identity_is_not_reclaimed_but_its_address_can_be_claimed(
        web: Client, admin: Client, simulator: Simulator) -> None:
    email = fresh_email("gmail.com")
    old_id = unverified_account_with_an_identity(web, simulator, email)
    google = assertion(simulator, "google.com", email=email, email_verified=True)

    exists = conflict(web.sign_in(google))
    assert exists.can_claim_address
    assert provider_ids(admin.lookup(account_id=old_id)) == {"password", "oidc.corp"}

    claimed = session(web.sign_in(google, claim_address=True))
    assert claimed.is_new_account and claimed.account.account_id != old_id
    assert (claimed.account.email, claimed.account.email_verified) == (email, True)
    old = admin.lookup(account_id=old_id)
    assert old.email == "" and provider_ids(old) == {"oidc.corp"}, "it keeps its identities, not the address"


def test_S6b_a_merely_verified_assertion_cannot_claim(web: Client, admin: Client, simulator: Simulator) -> None:
    email = fresh_email()
    old_id = unverified_account_with_an_identity(web, simulator, email)
    trusted = assertion(simulator, "oidc.trusted", email=email, email_verified=True)
    assert not conflict(web.sign_in(trusted)).can_claim_address
    assert not conflict(web.sign_in(trusted, claim_address=True)).can_claim_address
    assert admin.lookup(account_id=old_id).email == email


def test_S6b_a_merely_verified_assertion_does_not_reclaim_a_password_account(
        web: Client, simulator: Simulator) -> None:
    email = fresh_email()
    web.create(email)
    conflict(web.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    assert session(web.sign_in(password(email))).account.email == email


def test_check_9_no_sign_in_removes_a_credential_of_a_verified_account(
        web: Client, admin: Client, simulator: Simulator) -> None:
    email = fresh_email("gmail.com")
    made = session(web.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    session(web.link(made.id_token, password(email)))
    google = assertion(simulator, "google.com", email=email, email_verified=True)
    conflict(web.sign_in(google))
    conflict(web.sign_in(google, claim_address=True))
    assert provider_ids(admin.lookup(email=email)) == {"oidc.trusted", "password"}
    assert session(web.sign_in(password(email))).account.account_id == made.account.account_id
