"""The rows of the sign-in table that a caller can reach; S5 to S7 have modules of their own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from clients import Client, anonymous, assertion, conflict, custom, fresh_email, held, password, provider_ids, session
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1.errors_pb2 import ERROR_REASON_TOKEN_REVOKED
from latchkey.v1.types_pb2 import CONFLICT_REASON_ASK_ADMINISTRATOR, CONFLICT_REASON_SUBJECT_CHANGED
from processes import Server, Simulator


def test_S1_identity_takes_precedence_over_email_and_only_empty_fields_are_filled(
        web: Client, simulator: Simulator) -> None:
    subject, email, owner = fresh_email(), fresh_email(), fresh_email()
    made = session(web.sign_in(assertion(simulator, "oidc.trusted", subject=subject, name="Al")))
    assert made.is_new_account and made.account.email == ""
    taken = web.create(owner)
    again = session(web.sign_in(assertion(
        simulator, "oidc.trusted", subject=subject, name="Bo", email=owner, email_verified=True)))
    assert again.account.account_id == made.account.account_id != taken.account.account_id
    assert again.account.display_name == "Al" and again.account.email == ""
    filled = session(web.sign_in(assertion(
        simulator, "oidc.trusted", subject=subject, email=email, email_verified=True)))
    assert (filled.account.email, filled.account.email_verified) == (email, True)


def test_S1_an_identity_with_another_free_address_keeps_its_account(
        web: Client, shop: Client, simulator: Simulator) -> None:
    subject, old, new = fresh_email(), fresh_email(), fresh_email()
    made = session(web.sign_in(assertion(
        simulator, "oidc.trusted", subject=subject, email=old, email_verified=True)))
    assert not web.fetch(email=new).registered
    again = session(web.sign_in(assertion(
        simulator, "oidc.trusted", subject=subject, email=new, email_verified=True)))
    assert again.account.account_id == made.account.account_id and not again.is_new_account
    assert (again.account.email, again.account.email_verified) == (old, True), "an address is filled, never exchanged"
    assert [each.email for each in again.account.providers] == [new]
    for email in (old, new):
        ways = web.fetch(email=email)
        assert ways.registered and list(ways.sign_in_methods) == ["oidc.trusted"]
        assert not shop.fetch(email=email).registered, "a caller without the right sees neither"

    # It has no owner yet, and an owner takes precedence over an identity that merely asserted it.
    owner = web.create(new)
    assert owner.account.account_id != made.account.account_id
    assert list(web.fetch(email=new).sign_in_methods) == ["password"]


def test_S2_and_check_25_an_account_without_an_address_never_uses_the_user_name(
        web: Client, simulator: Simulator) -> None:
    made = session(web.sign_in(assertion(simulator, "oidc.corp", username="victim@example.com", name="V")))
    assert made.is_new_account and made.account.email == "" and made.account.display_name == "V"
    assert made.additional_user_info.username == "victim@example.com"
    assert not web.fetch(email="victim@example.com").registered


def test_S3_an_authoritative_or_verified_assertion_creates_a_verified_account(
        web: Client, simulator: Simulator) -> None:
    for provider_id, domain in (("google.com", "gmail.com"), ("oidc.mail", "mail.example"),
                                ("oidc.trusted", "example.com"), ("google.com", "example.com")):
        order = {"email": fresh_email(domain), "email_verified": True}
        made = session(web.sign_in(assertion(simulator, provider_id, **order)))
        assert made.is_new_account and made.account.email == order["email"] and made.account.email_verified


def test_S4_an_unverified_assertion_creates_an_unverified_account(web: Client, simulator: Simulator) -> None:
    for provider_id, verified in (("oidc.corp", True), ("oidc.trusted", False), ("google.com", False)):
        made = session(web.sign_in(assertion(
            simulator, provider_id, email=fresh_email(), email_verified=verified)))
        assert made.is_new_account and made.account.email and not made.account.email_verified


def test_S8_and_check_26_another_subject_of_the_same_provider_is_a_conflict_never_a_login(
        web: Client, simulator: Simulator) -> None:
    email = fresh_email("gmail.com")
    order = {"email": email, "email_verified": True}
    made = session(web.sign_in(assertion(simulator, "google.com", subject="first-" + email, **order)))
    session(web.link(made.id_token, password(email)))
    recycled = assertion(simulator, "google.com", subject="second-" + email, **order)
    exists = conflict(web.sign_in(recycled))
    assert exists.reason == CONFLICT_REASON_SUBJECT_CHANGED and list(exists.sign_in_methods) == ["password"]
    with expect_failure(StatusCode.ALREADY_EXISTS, "PROVIDER_ALREADY_LINKED"):
        web.sign_in(password(email), pending_token=exists.pending_token)
    assert not conflict(web.sign_in(recycled, claim_address=True)).can_claim_address
    known = session(web.sign_in(password(email)))
    web.unlink(known.id_token, "google.com")
    linked = session(web.sign_in(password(email), pending_token=exists.pending_token))
    assert session(web.sign_in(recycled)).account.account_id == linked.account.account_id


def test_S8_without_another_sign_in_method_only_an_administrator_can_help(
        web: Client, simulator: Simulator) -> None:
    order = {"email": fresh_email("gmail.com"), "email_verified": True}
    session(web.sign_in(assertion(simulator, "google.com", **order)))
    exists = conflict(web.sign_in(assertion(simulator, "google.com", **order)))
    assert not exists.sign_in_methods
    assert exists.reason in (CONFLICT_REASON_SUBJECT_CHANGED, CONFLICT_REASON_ASK_ADMINISTRATOR)


def test_S8_after_an_administrators_unlink_the_new_subject_gets_the_same_account(
        web: Client, admin: Client, simulator: Simulator) -> None:
    email = fresh_email("gmail.com")
    order = {"email": email, "email_verified": True}
    former = assertion(simulator, "google.com", subject="former-" + email, **order)
    recreated = assertion(simulator, "google.com", subject="recreated-" + email, **order)
    made = session(web.sign_in(former))
    account_id = made.account.account_id
    assert conflict(web.sign_in(recreated)).reason == CONFLICT_REASON_ASK_ADMINISTRATOR
    with expect_failure(StatusCode.NOT_FOUND, "NO_SUCH_PROVIDER", field="provider_id"):
        admin.unlink_provider(account_id, "password")
    left = admin.unlink_provider(account_id, "google.com")
    assert not provider_ids(left) and (left.email, left.email_verified) == (email, True)
    assert web.verify(made.id_token).inactive_reason == ERROR_REASON_TOKEN_REVOKED
    assert not conflict(web.sign_in(former)).can_claim_address
    signed = session(web.sign_in(recreated))
    assert signed.account.account_id == account_id and not signed.is_new_account
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
        admin.lookup(identity={"provider_id": "google.com", "subject": "former-" + email})


def test_S9_existing_only_creates_nothing(web: Client, admin: Client, simulator: Simulator) -> None:
    subject, email = fresh_email(), fresh_email()
    for order in ({"subject": subject}, {"subject": subject, "email": email, "email_verified": True}):
        with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
            web.sign_in(assertion(simulator, "oidc.trusted", **order), existing_only=True)
    assert not web.fetch(email=email).registered
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
        admin.lookup(identity={"provider_id": "oidc.trusted", "subject": subject})
    made = session(web.sign_in(assertion(simulator, "oidc.trusted", subject=subject)))
    again = session(web.sign_in(assertion(simulator, "oidc.trusted", subject=subject), existing_only=True))
    assert again.account.account_id == made.account.account_id


def test_check_27_a_user_name_never_links(web: Client, simulator: Simulator) -> None:
    one = session(web.sign_in(assertion(simulator, "oidc.corp", username="sam")))
    two = session(web.sign_in(assertion(simulator, "oidc.partner", username="sam")))
    assert one.account.account_id != two.account.account_id


def test_check_24_one_address_is_compared_in_one_form_and_look_alikes_do_not_match(
        web: Client, simulator: Simulator) -> None:
    email = fresh_email("b\u00fccher.example")
    made = web.create(f"  {email.upper()} ")
    assert made.account.email == email.replace("b\u00fccher.example", "xn--bcher-kva.example")
    local = email.split("@")[0]
    for same in (email, f"{local.upper()}@XN--BCHER-KVA.EXAMPLE"):
        with expect_failure(StatusCode.ALREADY_EXISTS, "EMAIL_ALREADY_IN_USE"):
            web.create(same)
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_EMAIL"):
        web.create(f"{local}\uff20example.com")
    cyrillic = "\u0430" + local
    other = web.create(f"{cyrillic}@example.com")
    assert web.create(f"a{local}@example.com").account.account_id != other.account.account_id
    exists = conflict(web.sign_in(assertion(simulator, "oidc.corp", email=f"{local.upper()}@B\u00dcCHER.example")))
    assert exists.email == made.account.email


def test_each_anonymous_sign_in_creates_an_account_of_its_own(web: Client) -> None:
    one, two = session(web.sign_in(anonymous())), session(web.sign_in(anonymous()))
    assert one.account.anonymous and one.is_new_account and not provider_ids(one.account)
    assert one.account.account_id != two.account.account_id


def test_a_custom_token_creates_and_then_signs_in(web: Client, admin: Client) -> None:
    account_id = "imported-" + fresh_email()
    token = admin.custom_token(account_id)
    made = session(web.sign_in(custom(token)))
    assert made.is_new_account and made.account.account_id == account_id
    assert not session(web.sign_in(custom(admin.custom_token(account_id)))).is_new_account


@pytest.mark.parametrize("setting, wanted", [
    ({"anonymous": False}, anonymous), ({"password": False}, lambda: password(fresh_email()))])
def test_a_disabled_sign_in_method_is_not_allowed(
        serve: Callable[..., Server], connect: Callable[..., Client], setting: dict[str, bool],
        wanted: Callable[[], object]) -> None:
    client = connect(serve(policy=setting))
    with expect_failure(StatusCode.FAILED_PRECONDITION, "OPERATION_NOT_ALLOWED"):
        client.sign_in(wanted())


def test_duplicate_mode_never_compares_addresses_of_providers(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    client = connect(serve(policy={"one_account_per_email": False}))
    email = fresh_email("gmail.com")
    made = client.create(email)
    google = session(client.sign_in(assertion(simulator, "google.com", email=email, email_verified=True)))
    assert google.is_new_account and google.account.account_id != made.account.account_id
    assert google.account.email == ""
    with expect_failure(StatusCode.ALREADY_EXISTS, "EMAIL_ALREADY_IN_USE"):
        client.create(email)
    assert list(client.fetch(email=email).sign_in_methods) == ["password"]


def test_checks_3_and_4_auto_link_needs_an_authoritative_assertion_and_a_verified_account(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    client = connect(serve(policy={"auto_link": "authoritative"}))
    email = fresh_email("gmail.com")
    google = assertion(simulator, "google.com", email=email, email_verified=True)
    made = session(client.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    conflict(client.sign_in(assertion(simulator, "oidc.partner", email=email, email_verified=True)))
    linked = session(client.sign_in(google))
    assert linked.account.account_id == made.account.account_id
    assert provider_ids(linked.account) == {"oidc.trusted", "google.com"}

    unverified = fresh_email("gmail.com")
    old = client.create(unverified)
    session(client.link(old.id_token, assertion(simulator, "oidc.corp")))
    conflict(client.sign_in(assertion(simulator, "google.com", email=unverified, email_verified=True)))
    assert session(client.sign_in(password(unverified))).account.account_id == old.account.account_id

    left = client.unlink(linked.id_token, "google.com")
    assert provider_ids(left.account) == {"oidc.trusted"}
    conflict(client.sign_in(google))


def test_a_pending_token_is_a_credential_only_with_that_purpose(web: Client, simulator: Simulator) -> None:
    email = fresh_email()
    web.create(email)
    exists = conflict(web.sign_in(assertion(simulator, "oidc.corp", email=email)))
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_MISMATCH"):
        web.sign_in(held(exists.pending_token))


def test_S12_an_account_that_nobody_entered_is_opened_only_by_an_authoritative_address(
        web: Client, admin: Client, simulator: Simulator) -> None:
    email = fresh_email("gmail.com")
    prepared = admin.create_account(email=email, email_verified=True)
    met = conflict(web.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    assert list(met.sign_in_methods) == [], "this server sends no links"
    assert met.reason == CONFLICT_REASON_ASK_ADMINISTRATOR
    entered = session(web.sign_in(assertion(simulator, "google.com", email=email, email_verified=True)))
    assert entered.account.account_id == prepared.account_id and not entered.is_new_account
    assert provider_ids(entered.account) == {"google.com"}
