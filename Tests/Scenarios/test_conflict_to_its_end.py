"""An account exists with another credential: the whole conflict, in two steps and in one (rows S7 and S5)."""

from __future__ import annotations

from clients import (Client, assertion, conflict, fresh_email, held, password, provider_ids, session)
from latchkey.v1.auth_service_pb2 import PENDING_CREDENTIAL_PURPOSE_LINK
from latchkey.v1.types_pb2 import CONFLICT_REASON_UNSPECIFIED
from processes import Simulator


def test_S7_a_password_account_meets_an_unverified_assertion_and_links_it_in_two_steps(
        web: Client, simulator: Simulator) -> None:
    email = fresh_email()
    account_id = web.create(email).account.account_id
    company = assertion(simulator, "oidc.corp", email=email, email_verified=True)

    exists = conflict(web.sign_in(company))
    assert exists.email == email and exists.reason == CONFLICT_REASON_UNSPECIFIED and exists.pending_token
    assert list(exists.provider_ids) == ["password"] and list(exists.sign_in_methods) == ["password"]

    ways = web.fetch(pending_token=exists.pending_token)
    assert ways.registered and list(ways.sign_in_methods) == ["password"]
    assert (ways.pending.purpose, ways.pending.provider_id, ways.pending.email) == (
        PENDING_CREDENTIAL_PURPOSE_LINK, "oidc.corp", email)
    assert ways.pending.expires_at == exists.pending_expires_at

    known = session(web.sign_in(password(email)))
    linked = session(web.link(known.id_token, held(exists.pending_token)))
    assert linked.account.account_id == account_id
    assert provider_ids(linked.account) == {"password", "oidc.corp"}

    again = session(web.sign_in(company))
    assert again.account.account_id == account_id and not again.is_new_account
    assert not again.account.email_verified, "an unverified assertion proves nothing"


def test_S7_the_same_in_one_step(web: Client, simulator: Simulator) -> None:
    email = fresh_email()
    account_id = web.create(email).account.account_id
    company = assertion(simulator, "oidc.corp", email=email)
    exists = conflict(web.sign_in(company))
    linked = session(web.sign_in(password(email), pending_token=exists.pending_token))
    assert provider_ids(linked.account) == {"password", "oidc.corp"}
    assert session(web.sign_in(company)).account.account_id == account_id


def google_account_with_password(web: Client, simulator: Simulator) -> tuple[str, str, dict[str, object]]:
    """A verified gmail.com account that also has a password: its address, its id, and the order for its token."""
    email = fresh_email("gmail.com")
    order: dict[str, object] = {"subject": email, "email": email, "email_verified": True}
    made = session(web.sign_in(assertion(simulator, "google.com", **order)))
    assert made.is_new_account and made.account.email_verified
    linked = session(web.link(made.id_token, password(email)))
    assert linked.account.email_verified, "the account's own address stays verified (L8)"
    return email, made.account.account_id, order


def test_S5_a_verified_account_meets_another_provider_and_links_it_in_two_steps(
        web: Client, simulator: Simulator) -> None:
    email, account_id, order = google_account_with_password(web, simulator)
    company = assertion(simulator, "oidc.corp", email=email)
    exists = conflict(web.sign_in(company))
    assert set(exists.sign_in_methods) == {"google.com", "password"}
    known = session(web.sign_in(assertion(simulator, "google.com", **order)))
    linked = session(web.link(known.id_token, held(exists.pending_token)))
    assert provider_ids(linked.account) == {"google.com", "password", "oidc.corp"}
    assert session(web.sign_in(company)).account.account_id == account_id


def test_S5_the_same_in_one_step_with_either_sign_in_method(web: Client, simulator: Simulator) -> None:
    for by_password in (True, False):
        email, account_id, order = google_account_with_password(web, simulator)
        company = assertion(simulator, "oidc.corp", email=email)
        exists = conflict(web.sign_in(company))
        known = password(email) if by_password else assertion(simulator, "google.com", **order)
        linked = session(web.sign_in(known, pending_token=exists.pending_token))
        assert linked.account.account_id == account_id
        assert provider_ids(linked.account) == {"google.com", "password", "oidc.corp"}
        assert session(web.sign_in(company)).account.account_id == account_id


def test_check_1_a_first_google_sign_in_at_a_verified_account_gets_no_tokens(
        web: Client, admin: Client, simulator: Simulator) -> None:
    email = fresh_email()
    made = session(web.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    session(web.link(made.id_token, password(email)))
    response = web.sign_in(assertion(simulator, "google.com", email=email, email_verified=True))
    assert conflict(response).pending_token and not response.session.id_token
    assert provider_ids(admin.lookup(email=email)) == {"oidc.trusted", "password"}


def test_check_2_an_unverified_assertion_is_the_same_conflict(web: Client, admin: Client, simulator: Simulator) -> None:
    email, account_id, _ = google_account_with_password(web, simulator)
    conflict(web.sign_in(assertion(simulator, "oidc.partner", email=email, email_verified=False)))
    assert admin.lookup(account_id=account_id).email_verified
    assert "oidc.partner" not in provider_ids(admin.lookup(account_id=account_id))


def test_check_38_a_conflict_names_no_account_id(web: Client, simulator: Simulator) -> None:
    email, account_id, _ = google_account_with_password(web, simulator)
    response = web.sign_in(assertion(simulator, "oidc.corp", email=email))
    assert account_id.encode() not in response.SerializeToString()
    ways = web.fetch(pending_token=conflict(response).pending_token)
    assert account_id.encode() not in ways.SerializeToString()
