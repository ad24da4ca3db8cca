"""Removing a sign-in method without locking the user out, and reauthentication of the same user (sections 5 and 6)."""

from __future__ import annotations

import time
from collections.abc import Callable

from clients import Client, anonymous, assertion, fresh_email, held, password, provider_ids, session
from failures import expect_failure
from grpc import StatusCode
from processes import Server, Simulator


def test_unlink_removes_google_but_not_the_last_sign_in_method_and_names_what_could_be_added(
        web: Client, simulator: Simulator) -> None:
    email = fresh_email("gmail.com")
    google = assertion(simulator, "google.com", email=email, email_verified=True)
    made = session(web.sign_in(google))
    linked = session(web.link(made.id_token, password(email)))
    other = session(web.sign_in(google))

    left = web.unlink(linked.id_token, "google.com")
    assert provider_ids(left.account) == {"password"}
    assert left.session_id != linked.session_id, "the caller's session continues under a new id (check 99)"
    assert (left.account.email, left.account.email_verified) == (email, True), "the password still uses it as its name"
    with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
        web.get(linked.id_token)
    with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
        web.get(other.id_token)

    with expect_failure(StatusCode.FAILED_PRECONDITION, "LAST_SIGN_IN_METHOD") as refused:
        web.unlink(left.id_token, "password")
    assert "google.com" in refused.everything and "oidc.corp" in refused.everything
    assert web.get(left.id_token).email == email, "a rejected unlink does not change the session"


def test_a_method_that_is_not_linked_cannot_be_unlinked(web: Client) -> None:
    made = web.create(fresh_email())
    with expect_failure(StatusCode.NOT_FOUND, "NO_SUCH_PROVIDER"):
        web.unlink(made.id_token, "google.com")


def test_check_81_an_address_from_one_provider_is_removed_with_it_and_becomes_free(
        web: Client, simulator: Simulator) -> None:
    email = fresh_email()
    made = session(web.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    linked = session(web.link(made.id_token, assertion(simulator, "oidc.corp")))
    assert linked.account.email == email
    left = web.unlink(linked.id_token, "oidc.trusted")
    assert left.account.email == "" and not left.account.email_verified
    assert web.create(email).account.account_id != made.account.account_id


def test_check_83_links_of_a_removed_provider_stay_and_count_again_with_it(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = serve()
    company = assertion(simulator, "oidc.corp")
    email = fresh_email()
    client = connect(server)
    made = session(client.link(client.create(email).id_token, company))
    providers = server.settings["providers"]
    server.settings["providers"] = [each for each in providers if each["id"] != "oidc.corp"]
    server.stop()
    server.launch()

    client = connect(server)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "OPERATION_NOT_ALLOWED"):
        client.sign_in(company)
    kept = session(client.sign_in(password(email)))
    assert "oidc.corp" in provider_ids(kept.account), "the link is kept"
    with expect_failure(StatusCode.FAILED_PRECONDITION, "LAST_SIGN_IN_METHOD"):
        client.unlink(kept.id_token, "password")

    server.settings["providers"] = providers
    server.stop()
    server.launch()
    assert session(connect(server).sign_in(company)).account.account_id == made.account.account_id


def test_check_82_after_an_unlink_that_provider_signs_in_to_another_account(web: Client, simulator: Simulator) -> None:
    company = assertion(simulator, "oidc.corp")
    made = session(web.sign_in(company))
    linked = session(web.link(made.id_token, assertion(simulator, "oidc.partner")))
    web.unlink(linked.id_token, "oidc.corp")
    again = session(web.sign_in(company))
    assert again.is_new_account and again.account.account_id != made.account.account_id


def test_reauthenticate_updates_auth_time_and_returns_fresh_tokens(web: Client) -> None:
    email = fresh_email()
    made = web.create(email)
    time.sleep(1.1)
    reauthenticated = web.reauthenticate(made.id_token, password(email))
    assert web.verify(made.id_token).active, "other windows of the same user still have its tokens"
    assert reauthenticated.session_id != made.session_id
    assert web.claims(reauthenticated.id_token)["auth_time"] > made.account.created_at.seconds


def test_check_85_another_accounts_credential_is_rejected_and_nothing_is_written(
        web: Client, admin: Client, simulator: Simulator) -> None:
    email, stranger = fresh_email(), fresh_email()
    made, theirs = web.create(email), web.create(stranger)
    known = assertion(simulator, "oidc.partner", subject=stranger)
    session(web.link(theirs.id_token, known))
    for credential in (password(stranger), known, assertion(simulator, "oidc.corp", subject="never-seen-before")):
        with expect_failure(StatusCode.PERMISSION_DENIED, "USER_MISMATCH"):
            web.reauthenticate(made.id_token, credential)
    assert web.verify(made.id_token).active, "the session is unchanged"
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
        admin.lookup(identity={"provider_id": "oidc.corp", "subject": "never-seen-before"})
    assert provider_ids(web.get(made.id_token)) == {"password"}


def test_check_86_reauthenticate_accepts_only_the_linked_subject(web: Client, simulator: Simulator) -> None:
    order = {"subject": fresh_email()}
    made = session(web.sign_in(assertion(simulator, "oidc.corp", **order)))
    reauthenticated = web.reauthenticate(made.id_token, assertion(simulator, "oidc.corp", **order))
    with expect_failure(StatusCode.PERMISSION_DENIED, "USER_MISMATCH"):
        web.reauthenticate(reauthenticated.id_token, assertion(simulator, "oidc.corp"))


def test_check_88_a_token_with_an_old_login_does_not_reauthenticate(web: Client, simulator: Simulator) -> None:
    subject = fresh_email()
    made = session(web.sign_in(assertion(simulator, "oidc.corp", subject=subject)))

    def token(age_seconds: int) -> types.Credential:
        return assertion(simulator, "oidc.corp", subject=subject,
                         claims={"auth_time": int(time.time()) - age_seconds})

    with expect_failure(StatusCode.FAILED_PRECONDITION, "REQUIRES_RECENT_LOGIN",
                        field="credential.provider_token") as refused:
        web.reauthenticate(made.id_token, token(24 * 3600))
    assert refused.metadata["methods"] == "oidc.corp" and refused.metadata["confirmed"] == "required"
    assert web.verify(made.id_token).active
    reauthenticated = web.reauthenticate(made.id_token, token(0))
    assert web.claims(reauthenticated.id_token)["amr"] == ["fed", "fresh"]


def test_reauthenticate_with_a_wrong_password_keeps_the_session(web: Client) -> None:
    email = fresh_email()
    made = web.create(email)
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS"):
        web.reauthenticate(made.id_token, password(email, "not the password"))
    assert web.verify(made.id_token).active


def test_reauthenticate_rejects_anonymous_and_pending_credentials(web: Client, simulator: Simulator) -> None:
    email = fresh_email()
    made = web.create(email)
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"):
        web.reauthenticate(made.id_token, anonymous())
    exists = web.sign_in(assertion(simulator, "oidc.corp", email=email)).account_exists
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_MISMATCH"):
        web.reauthenticate(made.id_token, held(exists.pending_token))


def test_checks_79_and_87_an_old_login_must_be_renewed_and_a_refresh_does_not_renew_it(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    client = connect(serve(policy={"recent_login_seconds": 3}))
    email = fresh_email()
    made = session(client.link(client.create(email).id_token, assertion(simulator, "oidc.corp")))
    time.sleep(3.1)
    refreshed = client.refresh(made.refresh_token)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "REQUIRES_RECENT_LOGIN") as refused:
        client.unlink(refreshed.id_token, "oidc.corp")
    assert refused.metadata["max_age_seconds"] == "3"
    assert set(refused.metadata["methods"].split(",")) == {"password", "oidc.corp"}
    with expect_failure(StatusCode.FAILED_PRECONDITION, "REQUIRES_RECENT_LOGIN"):
        client.delete(refreshed.id_token)
    reauthenticated = client.reauthenticate(refreshed.id_token, password(email))
    assert provider_ids(client.unlink(reauthenticated.id_token, "oidc.corp").account) == {"password"}
