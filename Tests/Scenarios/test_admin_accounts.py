"""Accounts that an administrator creates, changes, finds, exports and forgets."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, urlsplit

import latchkey_settings
import outbox
import pyotp
import pytest
import verification
from authenticators import Authenticator
from clients import PASSWORD, Client, assertion, custom, factor_required, fresh_email, password, session
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import admin_accounts_pb2 as administration
from latchkey.v1.errors_pb2 import ERROR_REASON_ACCOUNT_NOT_FOUND
from processes import Server, Simulator
from verification import fresh_number
from waiting import until

NOT_ALLOWED = (StatusCode.PERMISSION_DENIED, "CALLER_NOT_ALLOWED")
CALL_IDS = ("request_id", "trace_id")
IN_USE = StatusCode.ALREADY_EXISTS


def code_of(link: str) -> str:
    return parse_qs(urlsplit(link).query)["code"][0]


def details(admin: Client, account_id: str) -> list[tuple[str, dict[str, str]]]:
    """The events of an account with their details, the oldest first, without the ids of the calls."""
    events = admin.export_account(account_id)["events"]
    return [(event["event"], {name: value for name, value in event["details"].items() if name not in CALL_IDS})
            for event in reversed(events)]


def test_an_account_is_created_with_every_field_and_its_user_signs_in(web: Client, admin: Client) -> None:
    email, account_id = fresh_email(), f"made-{uuid.uuid4()}"
    made = admin.create_account(
        account_id=account_id, email=email, email_verified=True, display_name="Ada", password=PASSWORD,
        custom_claims_json='{"role":"editor"}', actor="carol@example.com")
    assert made.account_id == account_id and made.email_verified and made.display_name == "Ada"
    signed_in = session(web.sign_in(password(email)))
    assert signed_in.account.account_id == account_id
    assert '"role":"editor"' in web.verify(signed_in.id_token).claims_json
    event, found = details(admin, account_id)[0]
    assert event == "ACCOUNT_CREATED"
    assert found == {"actor": "carol@example.com", "by": "administrator", "provider_id": "password"}
    with expect_failure(IN_USE, "ACCOUNT_ID_IN_USE", field="account_id"):
        admin.create_account(account_id=account_id)
    with expect_failure(IN_USE, "EMAIL_ALREADY_IN_USE", field="email"):
        admin.create_account(email=email)
    with expect_failure(StatusCode.INVALID_ARGUMENT, "WEAK_PASSWORD", field="password"):
        admin.create_account(email=fresh_email(), password="password")


def test_only_a_caller_with_the_right_names_an_actor(web: Client, admin: Client) -> None:
    made = web.create(fresh_email())
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="x-latchkey-actor"):
        admin.update_account(made.account.account_id, display_name="A", actor="x" * 129)
    assert admin.update_account(made.account.account_id, display_name="A", actor="x" * 128).display_name == "A"
    with expect_failure(*NOT_ALLOWED, field="x-latchkey-actor"):
        web.get(made.id_token, actor="carol")


def test_every_field_of_an_account_can_be_changed_and_cleared(server: Server, web: Client, admin: Client) -> None:
    email = fresh_email()
    made = web.create(email)
    account_id = made.account.account_id
    number = fresh_number()
    changed = admin.update_account(
        account_id, display_name="Ada", photo_url="https://a.example/a.png", phone_number=number, email_verified=True)
    assert (changed.display_name, changed.photo_url, changed.phone_number) == (
        "Ada", "https://a.example/a.png", number)
    assert changed.email_verified and web.verify(made.id_token).active
    cleared = admin.update_account(account_id, display_name="", photo_url="", phone_number="", email_verified=False)
    assert not (cleared.display_name or cleared.photo_url or cleared.phone_number or cleared.email_verified)
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="account.email"):
        admin.update_account(account_id, email="")
    new = fresh_email()
    assert admin.update_account(account_id, email=new, email_verified=True).email == new
    assert not web.verify(made.id_token).active
    again = session(web.sign_in(password(new)))
    admin.update_account(account_id, "password", password="battery staple horse")
    assert not web.verify(again.id_token).active
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS"):
        web.sign_in(password(new))
    last = session(web.sign_in(password(new, "battery staple horse")))
    assert admin.update_account(account_id, disabled=True).disabled and not web.verify(last.id_token).active
    bare = admin.update_account(account_id, "password", email="", disabled=False)
    assert not bare.email and not bare.providers and not bare.disabled
    expected = ["ACCOUNT_CREATED", "SIGNED_IN"]
    assert [event for event, _ in details(admin, account_id) if event not in expected] == [
        "LINKED", "PROFILE_CHANGED", "EMAIL_VERIFIED", "UNLINKED", "PROFILE_CHANGED", "EMAIL_UNVERIFIED",
        "EMAIL_CHANGED", "EMAIL_VERIFIED", "PASSWORD_CHANGED", "DISABLED", "UNLINKED", "EMAIL_CHANGED", "ENABLED",
        "ACCOUNT_EXPORTED"]
    outbox.wait_for(server, "email_changed", new)
    outbox.wait_for(server, "password_changed", new)


def test_addresses_and_numbers_of_others_are_conflicts_also_for_parallel_callers(admin: Client) -> None:
    email = fresh_email()
    ids = [admin.create_account().account_id for _ in range(8)]
    barrier = threading.Barrier(len(ids))

    def take(account_id: str) -> str:
        barrier.wait()
        try:
            return admin.update_account(account_id, email=email).email
        except Exception as error:  # noqa: BLE001
            return getattr(error, "reason", "")

    with ThreadPoolExecutor(len(ids)) as pool:
        found = list(pool.map(take, ids))
    assert sorted(found) == sorted([email] + ["EMAIL_ALREADY_IN_USE"] * 7)


def test_an_identity_from_elsewhere_is_linked_once(web: Client, admin: Client, simulator: Simulator) -> None:
    made = admin.create_account(email=fresh_email())
    subject = str(uuid.uuid4())
    assert not admin.link_identity(made.account_id, "google.com", subject).already_linked
    assert admin.link_identity(made.account_id, "google.com", subject).already_linked
    signed_in = session(web.sign_in(assertion(simulator, "google.com", subject=subject)))
    assert signed_in.account.account_id == made.account_id
    other = admin.create_account()
    with expect_failure(IN_USE, "PROVIDER_ALREADY_LINKED", field="subject"):
        admin.link_identity(other.account_id, "google.com", subject)
    with expect_failure(IN_USE, "PROVIDER_ALREADY_LINKED", field="provider_id"):
        admin.link_identity(made.account_id, "google.com", "another")
    for provider in ("password", "phone", "emailLink"):
        with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="provider_id"):
            admin.link_identity(made.account_id, provider, "x")


def test_an_identity_is_found_and_unlinked_by_the_id_that_linked_it(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    directory, person, number = str(uuid.uuid4()), str(uuid.uuid4()), fresh_number()
    entry = {**latchkey_settings.microsoft(simulator.base, "simulator"), "allowed_tenants": [directory]}
    admin = connect(serve(providers=[entry], policy=verification.POLICY), key="admin")
    made = admin.create_account(email=fresh_email(), phone_number=number, password=PASSWORD)
    linked = admin.link_identity(made.account_id, "microsoft.com", person).account
    assert f"{directory}.{person}" in {each.subject for each in linked.providers}
    for provider_id, subject in (("microsoft.com", person), ("microsoft.com", f"{directory}.{person}"),
                                 ("phone", number)):
        found = admin.lookup(identity={"provider_id": provider_id, "subject": subject})
        assert found.account_id == made.account_id
    left = admin.unlink_provider(made.account_id, "microsoft.com", person)
    assert "microsoft.com" not in {each.provider_id for each in left.providers}
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
        admin.lookup(identity={"provider_id": "microsoft.com", "subject": "no id"})


def test_second_factors_are_set_and_required(web: Client, admin: Client) -> None:
    email = fresh_email()
    account = admin.create_account(email=email, email_verified=True, password=PASSWORD)
    secret = pyotp.random_base32(32)
    totp = administration.SecondFactorSetting(factor_id="app", totp_secret=pyotp.TOTP(secret).byte_secret())
    phone = administration.SecondFactorSetting(factor_id="phone", phone_number="+4915112345678", display_name="Work")
    kept = admin.set_factors(account.account_id, totp, phone)
    assert {each.factor_id for each in kept.second_factors} == {"app", "phone"}
    assert admin.set_factors(account.account_id, totp, phone) == kept
    waiting = factor_required(web.sign_in(password(email)))
    authenticator = Authenticator(pyotp.TOTP(secret))
    authenticator.factor_id = "app"
    assert session(web.finish_factor(waiting.pending_token, "app", authenticator.code()))
    assert admin.set_factors(account.account_id).second_factors == []
    assert session(web.sign_in(password(email)))
    with expect_failure(StatusCode.NOT_FOUND, "SECOND_FACTOR_NOT_FOUND", field="factors.factor_id"):
        admin.set_factors(account.account_id, administration.SecondFactorSetting(factor_id="app"))
    unverified = web.create(fresh_email()).account.account_id
    with expect_failure(StatusCode.FAILED_PRECONDITION, "UNVERIFIED_EMAIL", field="account_id"):
        admin.set_factors(unverified, totp)


def test_a_link_works_like_an_emailed_one_and_needs_its_own_right(web: Client, admin: Client) -> None:
    email = fresh_email()
    account = admin.create_account(email=email)
    link = admin.create_email_link("RESET_PASSWORD", email)
    assert link.startswith("http://localhost:3000/callback?mode=resetPassword&code=")
    web.reset_password(code_of(link), PASSWORD)
    signed_in = session(web.sign_in(password(email)))
    assert signed_in.account.account_id == account.account_id
    new = fresh_email()
    changed = web.confirm_email(
        code_of(admin.create_email_link("CHANGE_EMAIL", new, account_id=account.account_id)), signed_in.id_token)
    assert changed.email == new
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND", field="email"):
        admin.create_email_link("RESET_PASSWORD", fresh_email())
    with expect_failure(StatusCode.PERMISSION_DENIED, "REDIRECT_URI_NOT_ALLOWED", field="continue_uri"):
        admin.create_email_link("RESET_PASSWORD", new, continue_uri="https://evil.example/")
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="caller"):
        admin.create_email_link("RESET_PASSWORD", new, caller="unknown")
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="mode"):
        admin.create_email_link("REVERT_EMAIL", new)


def test_a_batch_changes_every_valid_row(web: Client, admin: Client) -> None:
    ids = [admin.create_account().account_id for _ in range(60)]
    disabled = admin.set_accounts_disabled(True, *ids, "unknown")
    assert disabled.changed == 60 and disabled.unchanged == 0
    assert [(each.row, each.account_id, each.reason) for each in disabled.errors] == [
        (60, "unknown", ERROR_REASON_ACCOUNT_NOT_FOUND)]
    assert admin.set_accounts_disabled(True, *ids).unchanged == 60
    # Concurrent deletions of the same rows: each account is deleted once.
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: admin.delete_accounts(*ids), range(4)))
    assert sum(each.deleted for each in answers) == 60
    assert all(each.deleted + len(each.errors) == 60 for each in answers)
    for count in (0, 1_001):
        with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="account_ids"):
            admin.delete_accounts(*["x"] * count)


def test_a_forgotten_id_is_free_and_old_tokens_stay_invalid(web: Client, admin: Client) -> None:
    email = fresh_email()
    made = web.create(email)
    account_id = made.account.account_id
    token = admin.custom_token(account_id)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "OPERATION_NOT_ALLOWED", field="account_id"):
        admin.forget_account(account_id)
    admin.delete_account(account_id)
    with expect_failure(IN_USE, "ACCOUNT_ID_IN_USE", field="account_id"):
        admin.create_account(account_id=account_id)
    expiry = admin.forget_account(account_id).id_tokens_expire_at.ToSeconds()
    assert expiry > time.time() and admin.forget_account(account_id).id_tokens_expire_at.ToSeconds() == expiry
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
        web.sign_in(custom(token))
    again = admin.create_account(account_id=account_id, email=email, password=PASSWORD)
    assert again.account_id == account_id
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_CUSTOM_TOKEN"):
        web.sign_in(custom(token))
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_REFRESH_TOKEN", "TOKEN_REVOKED"):
        web.refresh(made.refresh_token)
    assert not web.verify(made.id_token).active
    assert session(web.sign_in(custom(admin.custom_token(account_id)))).account.account_id == account_id
    # The former user's events are not the new user's.
    assert [event for event, _ in details(admin, account_id)][0] == "ACCOUNT_CREATED"
    assert len([event for event, _ in details(admin, account_id) if event == "ACCOUNT_CREATED"]) == 1
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND", field="account_id"):
        admin.forget_account("never-existed")


def found(admin: Client, query: str, **fields: Any) -> set[str]:
    """The ids of all pages. Waits until the index is built."""
    ids: set[str] = set()
    token, deadline = "", time.monotonic() + 30
    while True:
        try:
            page = admin.search(query, page_token=token, **fields)
        except Exception as error:  # noqa: BLE001
            if getattr(error, "reason", "") != "SEARCH_NOT_READY" or time.monotonic() > deadline:
                raise
            time.sleep(0.2)
            continue
        new = {account.account_id for account in page.accounts}
        assert len(new) == len(page.accounts) and not new & ids
        ids |= new
        if not (token := page.next_page_token):
            return ids


def test_accounts_are_found_by_a_part_of_each_field(web: Client, admin: Client) -> None:
    mark = uuid.uuid4().hex[:12]
    number = fresh_number()
    account = admin.create_account(
        email=f"find.{mark}@example.com", display_name=f"Zo\u00cb {mark.upper()} Smith", phone_number=number)
    account_id = account.account_id
    admin.link_identity(account_id, "google.com", f"subject-{mark}")
    assert found(admin, mark) == {account_id}
    part = admin.search(mark).match == administration.SEARCH_MATCH_PART
    for query in (f"find.{mark}", number) + ((mark[2:], "SMITH", f"{mark} smi", number[3:]) if part else ()):
        assert account_id in found(admin, query), query
    assert account_id in found(admin, f"subject-{mark}")
    for query, fields in ((mark, {"disabled": True}), (mark, {"provider_id": "password"}), (mark + "x", {})):
        assert found(admin, query, **fields) == set()
    assert found(admin, mark, unverified=True, provider_id="google.com") == {account_id}
    admin.update_account(account_id, email=f"moved.{mark}@example.com", display_name="")
    assert found(admin, f"moved.{mark}") == {account_id} and found(admin, f"find.{mark}") == set()
    admin.delete_account(account_id)
    assert found(admin, f"moved.{mark}") == set()


def test_pages_of_a_search_are_disjoint_and_complete(admin: Client) -> None:
    mark = uuid.uuid4().hex[:12]
    ids = {admin.create_account(email=f"{mark}-{number}@example.com").account_id for number in range(25)}
    assert found(admin, mark, page_size=7) == ids
    assert found(admin, mark, page_size=100) == ids
    admin.set_accounts_disabled(True, *list(ids)[:5])
    assert len(found(admin, mark, disabled=True, page_size=2)) == 5
    for query in ("ab", "x"):
        with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="query"):
            admin.search(query)
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="page_token"):
        admin.search(mark, page_token="wrong")


def test_an_export_has_everything_about_the_user_and_no_secret(
        web: Client, admin: Client, simulator: Simulator) -> None:
    email = fresh_email()
    made = web.create(email)
    account_id = made.account.account_id
    web.sign_in(password(email))
    web.send_email_verification(made.id_token)
    admin.link_identity(account_id, "google.com", subject := str(uuid.uuid4()))
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS"):
        web.sign_in(password(email, "not the password"))
    # Failures are written apart from the calls, once a second.
    until(lambda: admin.export_account(account_id)["failures"])
    document = admin.export_account(account_id)
    assert list(document) == [
        "format", "exported_at", "account", "identities", "factors", "unlinks", "throttles", "sessions", "pendings",
        "failures", "deliveries", "sent_messages", "events"]
    assert document["account"]["id"] == account_id and document["account"]["email"] == email
    assert document["account"]["has_password"] is True
    assert [each["subject"] for each in document["identities"]] == [subject]
    assert len(document["sessions"]) == 2 and {"verify_email"} == {each["purpose"] for each in document["pendings"]}
    assert "password_failures_per_account" in {each["kind"] for each in document["throttles"]}
    assert "INVALID_LOGIN_CREDENTIALS" in {each["reason"] for each in document["failures"]}
    assert document["events"][0]["event"] == "ACCOUNT_EXPORTED"
    assert document["events"][-1]["event"] == "ACCOUNT_CREATED"
    text = json.dumps(document)
    for secret in ("password_hash", "argon2", "digest", "sealed", made.refresh_token, made.id_token):
        assert secret not in text, secret
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
        admin.export_account("unknown")


@pytest.mark.parametrize("call", [
    lambda web: web.create_account(), lambda web: web.update_account("x", display_name="y"),
    lambda web: web.link_identity("x", "google.com", "y"), lambda web: web.set_factors("x"),
    lambda web: web.create_email_link("SIGN_IN", "a@example.com"), lambda web: web.delete_accounts("x"),
    lambda web: web.set_accounts_disabled(True, "x"), lambda web: web.forget_account("x"),
    lambda web: web.search("abc"), lambda web: web.export_account("x")])
def test_no_other_caller_administers_accounts(web: Client, call: Callable[[Client], Any]) -> None:
    with expect_failure(*NOT_ALLOWED):
        call(web)
