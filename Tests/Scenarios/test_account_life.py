"""The life of an account: changes by its user, their effects on sessions, and the final removal (AccountService)."""

from __future__ import annotations

import time
from collections.abc import Callable

import outbox
import pytest
from clients import (PAGE, PASSWORD, Client, anonymous, assertion, custom, fresh_email, password, provider_ids,
                     session)
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import types_pb2 as types
from latchkey.v1.errors_pb2 import ERROR_REASON_TOKEN_REVOKED
from processes import Server, Simulator
from verification import code_in, verification_code
from waiting import until

NEW_PASSWORD = "another horse, another staple"


def test_a_name_and_a_photo_change_and_are_in_the_fresh_tokens(web: Client) -> None:
    made = web.create(fresh_email(), display_name="Ada")
    wanted = types.Account(display_name="Countess", photo_url="https://x.example/ada.png")
    changed = web.update(made.id_token, "display_name", "photo_url", account=wanted)
    assert (changed.account.display_name, changed.account.photo_url) == ("Countess", "https://x.example/ada.png")
    claims = web.claims(changed.id_token)
    assert (claims["name"], claims["picture"]) == ("Countess", "https://x.example/ada.png")
    assert web.verify(made.id_token).active, "a new name does not end other sessions"
    assert web.update(made.id_token, "display_name").account.display_name == ""


def test_fields_that_the_mask_does_not_name_stay(web: Client) -> None:
    made = web.create(fresh_email(), display_name="Ada")
    changed = web.update(made.id_token, "photo_url", account=types.Account(
        display_name="Mallory", photo_url="https://x.example/new.png", email=fresh_email()))
    assert changed.account.display_name == "Ada" and changed.account.email == made.account.email


@pytest.mark.parametrize("path", ["email_verified", "disabled", "phone_number", "custom_claims_json", "account_id",
                                  "anonymous", "providers", "account.email", "*"])
def test_check_109_no_call_of_a_user_marks_an_address_as_verified(web: Client, path: str) -> None:
    made = web.create(fresh_email())
    wanted = types.Account(email=made.account.email, email_verified=True, phone_number="+4915112345678")
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="update_mask"):
        web.update(made.id_token, "email", path, account=wanted)
    changed = web.update(made.id_token, "email", "display_name", account=wanted)
    assert not changed.account.email_verified and not changed.account.phone_number


def test_an_update_without_a_field_is_rejected(web: Client) -> None:
    made = web.create(fresh_email())
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="update_mask"):
        web.update(made.id_token)


def test_a_new_password_ends_every_other_session_and_opens_a_new_one(web: Client) -> None:
    email = fresh_email()
    made = web.create(email)
    other = session(web.sign_in(password(email)))
    changed = web.update(made.id_token, new_password=NEW_PASSWORD)
    assert changed.session_id not in (made.session_id, other.session_id)
    assert web.verify(changed.id_token).active
    for ended in (made, other):
        assert web.verify(ended.id_token).inactive_reason == ERROR_REASON_TOKEN_REVOKED
        with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED", "INVALID_REFRESH_TOKEN"):
            web.refresh(ended.refresh_token)
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS"):
        web.sign_in(password(email))
    assert session(web.sign_in(password(email, NEW_PASSWORD))).account.account_id == made.account.account_id


def test_an_account_without_a_password_gets_one_for_its_address(web: Client, simulator: Simulator) -> None:
    email = fresh_email()
    made = session(web.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    assert provider_ids(web.update(made.id_token, new_password=PASSWORD).account) == {"oidc.trusted", "password"}
    assert session(web.sign_in(password(email))).account.account_id == made.account.account_id
    nameless = session(web.sign_in(assertion(simulator, "oidc.corp")))
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="new_password"):
        web.update(nameless.id_token, new_password=PASSWORD)


def test_an_account_of_a_custom_token_gets_an_address_and_then_a_password(web: Client, admin: Client) -> None:
    account_id, email = f"customer-{fresh_email()}", fresh_email()
    made = session(web.sign_in(custom(admin.custom_token(account_id))))
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="new_password"):
        web.update(made.id_token, new_password=PASSWORD)
    named = web.update(made.id_token, "email", account=types.Account(email=email))
    assert (named.account.email, named.account.email_verified) == (email, False)
    assert not provider_ids(named.account), "an email address alone is no sign-in method"
    # The new address has ended the session that asked for it; the one that was answered goes on.
    assert web.verify(made.id_token).inactive_reason == ERROR_REASON_TOKEN_REVOKED
    assert provider_ids(web.update(named.id_token, new_password=PASSWORD).account) == {"password"}
    signed = session(web.sign_in(password(email)))
    assert signed.account.account_id == account_id and not signed.is_new_account


def test_a_weak_password_is_refused_and_the_old_one_stays(web: Client) -> None:
    email = fresh_email()
    made = web.create(email)
    for weak in ("short", "password123"):
        with expect_failure(StatusCode.INVALID_ARGUMENT, "WEAK_PASSWORD", field="new_password"):
            web.update(made.id_token, new_password=weak)
    assert web.verify(made.id_token).active and session(web.sign_in(password(email)))


def test_a_new_address_is_unverified_ends_sessions_and_cancels_pending_credentials(
        web: Client, simulator: Simulator) -> None:
    email, new = fresh_email("gmail.com"), fresh_email()
    order = {"subject": email, "email": email, "email_verified": True}
    made = session(web.sign_in(assertion(simulator, "google.com", **order)))
    assert made.account.email_verified
    other = session(web.sign_in(assertion(simulator, "google.com", **order)))
    waiting = web.sign_in(assertion(simulator, "oidc.corp", email=email)).account_exists.pending_token
    changed = web.update(made.id_token, "email", account=types.Account(email=new, email_verified=True))
    assert (changed.account.email, changed.account.email_verified) == (new, False)
    assert web.verify(other.id_token).inactive_reason == ERROR_REASON_TOKEN_REVOKED
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_MISMATCH"):
        web.fetch(pending_token=waiting)
    assert web.create(email).account.account_id != made.account.account_id, "the old address is free"


def test_a_changed_verified_address_can_be_restored_from_its_mailbox(server: Server, web: Client) -> None:
    email, new = fresh_email(), fresh_email()
    made = web.create(email)
    verified = web.confirm_email(verification_code(server, web, email, made.id_token), made.id_token).session
    wanted = types.Account(email=new)
    with expect_failure(StatusCode.PERMISSION_DENIED, "REDIRECT_URI_NOT_ALLOWED"):
        web.update(verified.id_token, "email", account=wanted, continue_uri="https://evil.example/")
    changed = web.update(verified.id_token, "email", account=wanted, continue_uri=PAGE, locale="de")
    assert (changed.account.email, changed.account.email_verified) == (new, False)
    message = outbox.wait_for(server, "email_changed", email)
    assert message.locale == "de" and message.values["new_email"] == new and new in message.text
    reverted = web.confirm_email(code_in(message, "revertEmail"))
    assert reverted.email == email and not reverted.HasField("session")
    assert web.verify(changed.id_token).inactive_reason == ERROR_REASON_TOKEN_REVOKED
    account = session(web.sign_in(password(email))).account
    assert account.account_id == made.account.account_id and account.email_verified


def test_check_36_a_caller_that_may_not_look_up_addresses_cannot_change_them_here(web: Client, shop: Client) -> None:
    taken = fresh_email()
    web.create(taken)
    made = shop.create(fresh_email())
    texts = []
    for email in (taken, fresh_email()):
        with expect_failure(StatusCode.FAILED_PRECONDITION, "OPERATION_NOT_ALLOWED") as refused:
            shop.update(made.id_token, "email", account=types.Account(email=email))
        texts.append(refused.everything)
    assert texts[0] == texts[1] and "SendEmailChange" in texts[0]
    mine = web.create(fresh_email())
    with expect_failure(StatusCode.ALREADY_EXISTS, "EMAIL_ALREADY_IN_USE"):
        web.update(mine.id_token, "email", account=types.Account(email=taken))


def test_check_90_each_operation_has_its_window_and_the_error_states_it(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    client = connect(serve(policy={"recent_login_seconds": 600, "password_recent_login_seconds": 4,
                                   "email_recent_login_seconds": 4, "delete_recent_login_seconds": 4,
                                   "unlink_recent_login_seconds": 600}))
    email = fresh_email()
    made = client.create(email)
    linked = session(client.link(made.id_token, assertion(simulator, "oidc.corp")))
    time.sleep(4.1)
    late: list[Callable[[], object]] = [
        lambda: client.update(linked.id_token, new_password=NEW_PASSWORD),
        lambda: client.update(linked.id_token, "email", account=types.Account(email=fresh_email())),
        lambda: client.delete(linked.id_token)]
    for call in late:
        with expect_failure(StatusCode.FAILED_PRECONDITION, "REQUIRES_RECENT_LOGIN") as refused:
            call()
        assert refused.metadata == {"max_age_seconds": "4", "methods": "password,oidc.corp"}
    assert client.update(linked.id_token, "display_name", account=types.Account(display_name="Ada"))
    fresh = client.reauthenticate(linked.id_token, password(email))
    assert client.update(fresh.id_token, new_password=NEW_PASSWORD)
    again = session(client.sign_in(password(email, NEW_PASSWORD)))
    assert provider_ids(client.unlink(again.id_token, "oidc.corp").account) == {"password"}


def test_check_87_a_refresh_does_not_change_the_login_time(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    client = connect(serve(policy={"recent_login_seconds": 1}))
    made = client.create(fresh_email())
    time.sleep(1.1)
    refreshed = client.refresh(made.refresh_token)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "REQUIRES_RECENT_LOGIN"):
        client.update(refreshed.id_token, new_password=NEW_PASSWORD)


def test_check_34_a_repeated_update_returns_the_session_of_the_first(web: Client) -> None:
    made = web.create(fresh_email())
    first = web.update(made.id_token, new_password=NEW_PASSWORD, idempotency_key="once")
    again = web.update(made.id_token, new_password=NEW_PASSWORD, idempotency_key="once")
    assert again.session_id == first.session_id and web.verify(again.id_token).active


def test_an_idle_anonymous_account_is_removed_and_a_permanent_one_stays(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(policy={"anonymous_idle_seconds": 1})
    client, judge = connect(server), connect(server, key="admin")
    guest = session(client.sign_in(anonymous()))
    person = client.create(fresh_email())
    # The sweep runs at the start and twice a minute.
    server.stop()
    time.sleep(1.1)
    server.launch()
    client, judge = connect(server), connect(server, key="admin")
    until(lambda: not client.verify(guest.id_token).active)
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
        judge.lookup(account_id=guest.account.account_id)
    assert judge.lookup(account_id=person.account.account_id).email == person.account.email
