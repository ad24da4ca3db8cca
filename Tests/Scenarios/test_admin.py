"""Administrative changes of accounts, which no other caller can make."""

from __future__ import annotations

from collections.abc import Callable

import outbox
import pytest
from authenticators import enrolled
from clients import Client, anonymous, custom, factor_required, fresh_email, password, session
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import admin_service_pb2 as administration
from latchkey.v1.errors_pb2 import ERROR_REASON_EMAIL_ALREADY_IN_USE, ERROR_REASON_TOKEN_REVOKED
from processes import Server, Simulator

NOT_ALLOWED = (StatusCode.PERMISSION_DENIED, "CALLER_NOT_ALLOWED")


def test_S10_a_disabled_account_is_rejected_immediately_and_can_be_enabled_again(web: Client, admin: Client) -> None:
    email = fresh_email()
    made = web.create(email)
    account_id = made.account.account_id
    assert web.verify(made.id_token).active
    assert admin.set_disabled(account_id, True).disabled
    assert not web.verify(made.id_token).active
    for call in (lambda: web.refresh(made.refresh_token), lambda: web.get(made.id_token)):
        with expect_failure(StatusCode.PERMISSION_DENIED, "USER_DISABLED"):
            call()
    with expect_failure(StatusCode.PERMISSION_DENIED, "USER_DISABLED"):
        web.sign_in(password(email))
    assert not admin.set_disabled(account_id, False).disabled
    assert session(web.sign_in(password(email))).account.account_id == account_id


def test_claims_are_in_the_tokens_from_the_next_refresh_on(web: Client, admin: Client) -> None:
    made = web.create(fresh_email())
    account = admin.set_claims(made.account.account_id, '{"role":"editor"}')
    assert account.custom_claims_json == '{"role":"editor"}'
    refreshed = web.refresh(made.refresh_token)
    assert '"role":"editor"' in web.verify(refreshed.id_token).claims_json
    assert admin.set_claims(made.account.account_id, "").custom_claims_json == ""


@pytest.mark.parametrize("claims, reason", [
    ('{"sub":"x"}', "FORBIDDEN_CLAIM"), ('{"SUB":"x"}', "FORBIDDEN_CLAIM"), ('{"i\u017fs":1}', "FORBIDDEN_CLAIM"),
    (r'{"a\u0000":1}', "FORBIDDEN_CLAIM"), ('{"role":1,"Role":2}', "FORBIDDEN_CLAIM"),
    ('{"a":"' + "x" * 1000 + '"}', "CLAIMS_TOO_LARGE"), ("[1]", "INVALID_FIELD")])
def test_claims_are_limited_and_reserved_names_are_rejected(
        web: Client, admin: Client, claims: str, reason: str) -> None:
    made = web.create(fresh_email())
    with expect_failure(StatusCode.INVALID_ARGUMENT, reason, field="claims_json"):
        admin.set_claims(made.account.account_id, claims)
    assert admin.lookup(account_id=made.account.account_id).custom_claims_json == ""


def test_revoking_ends_every_session_and_the_custom_tokens_from_before(web: Client, admin: Client) -> None:
    email = fresh_email()
    made = web.create(email)
    other = session(web.sign_in(password(email)))
    token = admin.custom_token(made.account.account_id)
    assert admin.revoke_sessions(made.account.account_id) == 2
    for each in (made, other):
        assert not web.verify(each.id_token).active
        with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_REFRESH_TOKEN", "TOKEN_REVOKED"):
            web.refresh(each.refresh_token)
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_CUSTOM_TOKEN"):
        web.sign_in(custom(token))
    assert session(web.sign_in(password(email))).account.account_id == made.account.account_id


def test_a_deleted_account_is_gone_immediately_and_its_address_is_free_again(web: Client, admin: Client) -> None:
    email = fresh_email()
    made = web.create(email)
    account_id = made.account.account_id
    before = admin.custom_token(account_id)
    admin.delete_account(account_id)
    assert not web.verify(made.id_token).active
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_REFRESH_TOKEN", "TOKEN_REVOKED"):
        web.refresh(made.refresh_token)
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS"):
        web.sign_in(password(email))
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
        web.sign_in(custom(before))
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND", field="account_id"):
        admin.custom_token(account_id)
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
        admin.lookup(account_id=account_id)
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
        admin.delete_account(account_id)
    assert web.create(email).account.account_id != account_id


def test_a_user_who_lost_every_factor_signs_in_by_password_once_they_are_removed(
        server: Server, web: Client, admin: Client, simulator: Simulator) -> None:
    person = enrolled(web, simulator)
    waiting = factor_required(web.sign_in(password(person.email)))
    token = admin.custom_token(person.account_id)
    answer = admin.remove_factors(person.account_id)
    assert answer.removed == 2 and answer.account.account_id == person.account_id
    assert not answer.account.second_factors
    assert web.verify(person.session.id_token).inactive_reason == ERROR_REASON_TOKEN_REVOKED
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_REFRESH_TOKEN", "TOKEN_REVOKED"):
        web.refresh(person.session.refresh_token)
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_CUSTOM_TOKEN"):
        web.sign_in(custom(token))
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_MISMATCH"):
        web.finish_factor(waiting.pending_token, person.authenticator.factor_id, "123456")
    signed = session(web.sign_in(password(person.email)))
    assert signed.account.account_id == person.account_id
    assert "sign_in_second_factor" not in web.claims(signed.id_token)["latchkey"]
    assert outbox.wait_for(server, "factor_withdrawn", person.email).values == {"factor": "totp"}
    again = admin.remove_factors(person.account_id)
    assert again.removed == 0 and again.account.account_id == person.account_id
    assert web.verify(signed.id_token).active, "nothing was changed"


def test_pages_hold_every_account_once_while_others_come_and_go(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    web, admin = connect(server), connect(server, key="admin")
    made = [session(web.sign_in(anonymous())) for _ in range(25)]
    expected = {each.account.account_id for each in made}
    found: list[str] = []
    token, pages = "", 0
    while pages == 0 or token:
        page = admin.list_accounts(token, 10)
        assert len(page.accounts) <= 10
        found += [account.account_id for account in page.accounts]
        token, pages = page.next_page_token, pages + 1
        # A listed account is removed, and another one is added.
        gone = next(each for each in made if each.account.account_id == found[0])
        if pages == 1:
            web.delete(gone.id_token)
            session(web.sign_in(anonymous()))
    assert expected <= set(found) and len(found) == len(set(found)) and pages == 3
    assert admin.list_accounts().accounts


@pytest.mark.parametrize("page_size, page_token, field", [(-1, "", "page_size"), (1001, "", "page_size"),
                                                          (10, "x", "page_token"), (10, "x" * 300, "page_token")])
def test_an_invalid_page_is_rejected(admin: Client, page_size: int, page_token: str, field: str) -> None:
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field=field):
        admin.list_accounts(page_token, page_size)


def test_an_unknown_account_is_not_found(admin: Client) -> None:
    for change in (lambda: admin.set_disabled("nobody", True), lambda: admin.set_claims("nobody", "{}"),
                   lambda: admin.revoke_sessions("nobody"), lambda: admin.delete_account("nobody"),
                   lambda: admin.remove_factors("nobody"), lambda: admin.unlink_provider("nobody", "password")):
        with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
            change()


def test_check_114_only_an_administrator_can_call_an_administrators_methods(
        web: Client, shop: Client, nobody: Client, admin: Client) -> None:
    """The user's own token is valid, and the method must fail for any account."""
    made = web.create(fresh_email())
    account_id = made.account.account_id
    row = administration.ImportedAccount(email=fresh_email(), email_verified=True)

    def calls(client: Client) -> list[Callable[[], object]]:
        return [lambda: client.lookup(account_id=account_id), lambda: client.list_accounts(),
                lambda: client.set_disabled(account_id, True), lambda: client.set_claims(account_id, "{}"),
                lambda: client.revoke_sessions(account_id), lambda: client.delete_account(account_id),
                lambda: client.remove_factors(account_id), lambda: client.unlink_provider(account_id, "password"),
                lambda: client.custom_token(account_id),
                lambda: client.import_accounts([[row]]), lambda: client.export_accounts(include_secrets=True),
                lambda: client.backup(), lambda: client.master_keys()]

    for client in (web, shop):
        for call in calls(client):
            with expect_failure(*NOT_ALLOWED):
                call()
    for call in calls(nobody):
        with expect_failure(StatusCode.PERMISSION_DENIED, "CALLER_NOT_ALLOWED"):
            call()
    assert web.verify(made.id_token).active
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
        admin.lookup(email=row.email)


def test_check_109_only_an_administrators_import_marks_an_address_as_verified(web: Client, admin: Client) -> None:
    own = web.create(fresh_email())
    assert not own.account.email_verified
    row = administration.ImportedAccount(email=fresh_email(), email_verified=True)
    with expect_failure(*NOT_ALLOWED):
        web.import_accounts([[row]])
    [answer] = admin.import_accounts([[row]])
    assert answer.imported == 1 and admin.lookup(email=row.email).email_verified
    # An import cannot replace an existing account: its address stays as it is.
    [answer] = admin.import_accounts([[administration.ImportedAccount(email=own.account.email, email_verified=True)]])
    assert [error.reason for error in answer.errors] == [ERROR_REASON_EMAIL_ALREADY_IN_USE]
    assert not admin.lookup(email=own.account.email).email_verified


def test_an_export_has_every_account_and_secrets_only_on_request(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    web, admin = connect(server), connect(server, key="admin")
    assert admin.export_accounts() == []
    emails = {web.create(fresh_email()).account.email for _ in range(5)}
    anonymous_ids = {session(web.sign_in(anonymous())).account.account_id for _ in range(230)}
    plain = admin.export_accounts()
    assert {each.account.email for each in plain if each.account.email} == emails
    assert anonymous_ids <= {each.account.account_id for each in plain} and len(plain) == 235
    assert not any(each.password_hash for each in plain)
    hashes = {each.password_hash for each in admin.export_accounts(include_secrets=True) if each.account.email}
    assert len(hashes) == 5 and all(each.startswith("$argon2id$") for each in hashes)
