"""Why a user cannot sign in: prepared troubles, and what an administrator sees and does about them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import databases
import pytest
from authenticators import enrolled
from clients import (PAGE, PASSWORD, Client, assertion, conflict, factor_required, fresh_email, password, session)
from configuration import KEYS
from failures import expect_failure
from grpc import StatusCode
from hooks import Hook, deny
from latchkey.v1 import admin_service_pb2 as administration
from ports import free_port
from processes import Server, Simulator
from test_latchkey_command import REFUSED, Person
from verification import POLICY, arriving
from waiting import until

WRONG = "not the password at all"
ADMIN = {"LATCHKEY_API_KEY": KEYS["admin"]}
NOT_ALLOWED = "CALLER_NOT_ALLOWED"


class Support(Person):
    """An administrator at a terminal."""

    def json(self, *words: str, code: int = 0, **variables: str) -> Any:
        return super().json(*words, code=code, **ADMIN, **variables)

    def cause(self, who: str, wanted: str) -> dict[str, Any]:
        """Runs `why` until it states this cause: failed attempts are written within a second."""
        answer: dict[str, Any] = {}

        def states() -> bool:
            answer.update(self.json("why", who))
            if answer["cause"] != wanted:
                return False
            # An attempt may be written between the two commands.
            text = self.run("why", who, **ADMIN).stdout.splitlines()
            return text[:2] == [answer["summary"], answer["advice"]]

        until(states, otherwise=f"{who} never has the cause {wanted}")
        assert answer["summary"].endswith(".") and answer["advice"].endswith(".")
        return answer


@pytest.fixture
def support(server: Server, tmp_path: Path) -> Support:
    return Support(server, tmp_path)


@pytest.fixture
def one_hour() -> None:
    """Failures are grouped by the hour of the clock, so a test of one group does not begin at the end of an hour."""
    left = 3_600 - time.time() % 3_600
    if left < 60:
        time.sleep(left + 1)


def fail(client: Client, email: str, times: int = 1) -> None:
    for _ in range(times):
        with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS"):
            client.sign_in(password(email, WRONG), client={"ip_address": "192.0.2.7", "device_id": "tablet"})


# One prepared trouble in each test.


@pytest.mark.usefixtures("one_hour")
def test_no_account_has_the_address(web: Client, support: Support) -> None:
    email = fresh_email()
    answer = support.cause(email, "NO_ACCOUNT")
    assert answer["account"] is None and answer["failures"] == []
    fail(web, email, 2)
    until(lambda: [each["count"] for each in support.json("why", email)["failures"]] == [2])
    assert "2 attempts" in support.json("why", email)["summary"]


def test_the_account_is_disabled(web: Client, admin: Client, support: Support) -> None:
    email = fresh_email()
    admin.set_disabled(web.create(email).account.account_id, True)
    answer = support.cause(email, "ACCOUNT_DISABLED")
    assert "by admin" in answer["summary"] and answer["account"]["disabled"]


@pytest.mark.usefixtures("one_hour")
def test_the_password_is_wrong_again_and_again(web: Client, support: Support) -> None:
    email = fresh_email()
    web.create(email)
    fail(web, email, 3)
    until(lambda: [each["count"] for each in support.json("why", email)["failures"]] == [3])
    answer = support.cause(email, "WRONG_PASSWORD")
    [failure] = answer["failures"]
    assert {**failure, "first_at": "", "last_at": ""} == {
        "kind": "failures", "reason": "INVALID_LOGIN_CREDENTIALS", "count": 3, "first_at": "", "last_at": "",
        "call": "SignIn", "sign_in_method": "password", "limit": "", "caller": "web", "network": "192.0.2.0/24",
        "device_digest": failure["device_digest"]}
    assert len(failure["device_digest"]) == 16
    session(web.sign_in(password(email)))
    support.cause(email, "NOTHING_FOUND")


def test_a_throttle_blocks_the_user_until_an_administrator_unlocks(
        serve: Callable[..., Server], connect: Callable[..., Client], tmp_path: Path) -> None:
    server = serve(throttles={"password_failures_max": 3})
    web, support, email = connect(server), Support(server, tmp_path), fresh_email()
    web.create(email)
    fail(web, email, 3)
    with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_ATTEMPTS"):
        web.sign_in(password(email))
    answer = support.cause(email, "BLOCKED")
    assert [each["limit"] for each in answer["blocks"]] == ["password_failures_per_account"]
    assert support.run("unlock", email).returncode == REFUSED
    lifted = support.json("unlock", email)["lifted"]
    assert [each["limit"] for each in lifted] == ["password_failures_per_account"]
    session(web.sign_in(password(email)))
    assert support.json("unlock", email) == {"outcome": "unlocked", "lifted": []}
    [event] = support.json("events", email, "--type", "UNLOCKED")["events"]
    assert event["caller"] == "admin" and '"lifted":"1"' in event["details_json"]
    support.cause(email, "NOTHING_FOUND")


@pytest.mark.usefixtures("one_hour")
def test_a_hook_denies_the_user_or_does_not_answer(
        serve: Callable[..., Server], connect: Callable[..., Client], folder: Path, tmp_path: Path) -> None:
    hook = Hook(folder)
    try:
        server = serve(hooks=[hook.settings(events=["before_sign_in"])])
        web, support, email, other = connect(server), Support(server, tmp_path), fresh_email(), fresh_email()
        web.create(email)
        hook.rule = lambda event, request, context: deny("DOMAIN", "Only for staff.")
        for _ in range(2):
            with expect_failure(StatusCode.PERMISSION_DENIED, "DENIED_BY_HOOK"):
                web.sign_in(password(email))
        until(lambda: [each["count"] for each in support.json("why", email)["failures"]] == [2])
        assert "2 attempts" in support.cause(email, "DENIED_BY_HOOK")["summary"]
        events = support.json("events", email, "--type", "HOOK_DENIED")["events"]
        assert all('"hook":"rules"' in each["details_json"] for each in events) and len(events) == 2
        with expect_failure(StatusCode.PERMISSION_DENIED, "DENIED_BY_HOOK"):
            web.create(other)
        assert support.cause(other, "DENIED_BY_HOOK")["account"] is None
        hook.stop()
        with expect_failure(StatusCode.UNAVAILABLE, "HOOK_UNAVAILABLE"):
            web.sign_in(password(email))
        support.cause(email, "HOOK_UNAVAILABLE")
    finally:
        hook.stop()


def test_the_account_has_a_provider_but_no_password(web: Client, simulator: Simulator, support: Support) -> None:
    email = fresh_email()
    session(web.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    fail(web, email)
    answer = support.cause(email, "NO_PASSWORD")
    assert answer["sign_in_methods"] == ["oidc.trusted"]


def test_the_second_factor_fails(web: Client, simulator: Simulator, support: Support) -> None:
    user = enrolled(web, simulator)
    required = factor_required(web.sign_in(password(user.email)))
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_CODE"):
        web.finish_factor(required.pending_token, user.authenticator.factor_id, user.authenticator.wrong())
    answer = support.cause(user.email, "SECOND_FACTOR_FAILED")
    assert "second_factor" in {each["purpose"] for each in answer["pendings"]}


def test_the_address_is_not_verified_where_the_call_requires_it(
        mailing: Server, connect: Callable[..., Client], simulator: Simulator, tmp_path: Path) -> None:
    web, support, email = connect(mailing), Support(mailing, tmp_path), fresh_email()
    session(web.link(web.create(email).id_token, assertion(simulator, "oidc.corp")))
    _, message = arriving(
        mailing, "reset_password", email, lambda: web.send_password_reset(email, continue_uri=PAGE))
    code = message.values["link"].partition("code=")[2].partition("&")[0]
    with expect_failure(StatusCode.FAILED_PRECONDITION, "UNVERIFIED_EMAIL"):
        web.reset_password(code, "another long password")
    support.cause(email, "EMAIL_NOT_VERIFIED")


def test_a_message_is_not_delivered_and_is_sent_again(
        serve: Callable[..., Server], connect: Callable[..., Client], folder: Path, tmp_path: Path) -> None:
    (folder / "relay.password").write_text("secret\n")
    port = free_port()
    server = serve(policy=POLICY, delivery={
        "mail": "smtp", "text_messages": "off", "ca_file": "authority.pem", "allow_private_addresses": True,
        "retry_seconds": 600, "retry_max_seconds": 600, "attempt_seconds": 2,
        "smtp": {"host": "localhost", "port": port, "user": "u", "password_file": "relay.password",
                 "from": "no-reply@latchkey.example"}})
    web, support, email = connect(server), Support(server, tmp_path), fresh_email()
    account_id = web.create(email).account.account_id
    web.send_password_reset(email, continue_uri=PAGE)

    def waiting() -> dict[str, Any]:
        return support.json("messages", account_id)["messages"][0]

    until(lambda: waiting()["error"] != "")
    answer = support.cause(email, "MESSAGE_NOT_DELIVERED")
    [message] = answer["messages"]
    assert message["kind"] == "reset_password" and message["state"] == "waiting" and message["can_resend"]
    assert message["masked_recipient"] == email[0] + "***@example.com" and message["attempts"] == 1
    again = support.json("resend", message["message_id"])
    assert again["message"]["message_id"] == message["message_id"]
    until(lambda: waiting()["attempts"] == 2)
    unknown = support.json("resend", "no-such-message", code=REFUSED)
    assert unknown["error"]["reason"] == "MESSAGE_NOT_FOUND"
    [event] = support.json("events", account_id, "--type", "MESSAGE_RESENT")["events"]
    assert event["caller"] == "admin" and message["message_id"] in event["details_json"]


def test_a_sent_message_is_listed_without_its_content_and_cannot_be_sent_again(
        mailing: Server, connect: Callable[..., Client], tmp_path: Path) -> None:
    web, support, email = connect(mailing), Support(mailing, tmp_path), fresh_email()
    account_id = web.create(email).account.account_id
    arriving(mailing, "reset_password", email, lambda: web.send_password_reset(email, continue_uri=PAGE))
    until(lambda: [each["state"] for each in support.json("messages", account_id)["messages"]] == ["sent"])
    [message] = support.json("messages", account_id)["messages"]
    assert message["settled_at"] and not message["can_resend"]
    gone = support.json("resend", message["message_id"], code=REFUSED)
    assert gone["error"]["reason"] == "MESSAGE_CONTENT_GONE"


def test_the_provider_of_the_account_fails(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator, tmp_path: Path) -> None:
    server = serve()
    web, support, email = connect(server), Support(server, tmp_path), fresh_email()
    made = web.create(email)
    session(web.link(made.id_token, assertion(simulator, "oidc.corp")))
    server.stop()
    for provider in server.settings["providers"]:
        if provider["id"] == "oidc.corp":
            provider["discovery_url"] = f"https://localhost:{free_port()}/openid-configuration"
    server.launch()
    web = connect(server)
    with expect_failure(StatusCode.UNAVAILABLE, "PROVIDER_UNAVAILABLE"):
        web.sign_in(assertion(simulator, "oidc.corp", email=email))
    answer = support.cause(email, "PROVIDER_FAILING")
    assert "oidc.corp" in answer["summary"] and "PROVIDER_UNAVAILABLE" in answer["summary"]


def test_a_conflict_was_left_open(web: Client, simulator: Simulator, support: Support) -> None:
    email = fresh_email()
    web.create(email)
    conflict(web.sign_in(assertion(simulator, "oidc.corp", email=email)))
    answer = support.cause(email, "CONFLICT_OPEN")
    [pending] = answer["pendings"]
    assert pending["purpose"] == "link" and pending["provider_id"] == "oidc.corp" and pending["caller"] == "web"


def test_the_sessions_were_revoked(web: Client, admin: Client, support: Support) -> None:
    email = fresh_email()
    made = web.create(email)
    admin.revoke_sessions(made.account.account_id)
    with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
        web.refresh(made.refresh_token)
    answer = support.cause(email, "SESSIONS_ENDED")
    assert [each["end_reason"] for each in answer["sessions"]] == ["revoked"]
    ended = support.json("sessions", "--account", made.account.account_id, "--ended")["sessions"]
    assert [each["end_reason"] for each in ended] == ["revoked"]
    assert support.json("sessions", "--account", made.account.account_id)["sessions"] == []


@pytest.mark.skipif(databases.ON_POSTGRES, reason="removes a row from the file")
def test_the_key_of_the_imported_hash_is_missing(
        serve: Callable[..., Server], connect: Callable[..., Client], tmp_path: Path) -> None:
    server = serve()
    email = fresh_email()
    row = administration.ImportedAccount(
        account_id="imported-1", email=email, email_verified=True, password_hash=bytes(32), salt=b"salt")
    options = administration.ImportOptions(hash=administration.ImportHash(
        algorithm=administration.HASH_ALGORITHM_HMAC_SHA256, key=b"the key of the former service"))
    [answer] = connect(server, key="admin").import_accounts([[row]], options)
    assert answer.imported == 1
    server.stop()
    with sqlite3.connect(server.database) as database:
        database.execute("DELETE FROM import_keys")
    database.close()
    server.launch()
    fail(connect(server), email)
    assert not Support(server, tmp_path).cause(email, "IMPORTED_PASSWORD_UNUSABLE")["password_usable"]


def test_the_account_was_deleted_or_merged(web: Client, admin: Client, simulator: Simulator, support: Support) -> None:
    account_id = web.create(fresh_email()).account.account_id
    admin.delete_account(account_id)
    assert support.cause(account_id, "ACCOUNT_DELETED")["removed_account"]["removed_at"]
    kept = session(web.sign_in(assertion(simulator, "oidc.trusted", email=fresh_email(), email_verified=True)))
    other = session(web.sign_in(assertion(simulator, "oidc.corp")))
    web.merge(kept, other)
    answer = support.cause(other.account.account_id, "ACCOUNT_MERGED")
    assert answer["removed_account"]["merged_into"] == kept.account.account_id


# Events, rights and bounds.


@pytest.mark.usefixtures("one_hour")
def test_events_and_failures_are_listed_in_pages_the_newest_first(web: Client, support: Support) -> None:
    email = fresh_email()
    made = web.create(email)
    session(web.sign_in(password(email)))
    fail(web, email)
    until(lambda: support.json("events", email)["events"][0]["kind"] == "failures")
    everything = support.json("events", email)["events"]
    assert [each.get("type", each.get("reason")) for each in everything] == [
        "INVALID_LOGIN_CREDENTIALS", "SIGNED_IN", "ACCOUNT_CREATED"]
    pages, token = [], ""
    while True:
        rest = ["--page-token", token] if token else []
        page = support.json("events", made.account.account_id, "--size", "1", *rest)
        pages += page["events"]
        token = page["next_page_token"]
        if not token:
            break
    assert pages == everything
    assert [each["kind"] for each in support.json("events", email, "--failures")["events"]] == ["failures"]
    later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 60))
    assert support.json("events", email, "--since", later)["events"] == []
    unknown = support.json("events", fresh_email(), code=REFUSED)
    assert unknown["error"]["reason"] == "ACCOUNT_NOT_FOUND"
    text = support.run("events", email, "--size", "2", **ADMIN).stdout.splitlines()
    assert "FAILED  INVALID_LOGIN_CREDENTIALS" in text[0] and text[2].startswith("Next: latchkey events")


@pytest.mark.parametrize("words", [
    ("why", "a@example.com"), ("events", "some-id"), ("unlock", "a@example.com"), ("messages", "some-id"),
    ("resend", "some-id"), ("sessions", "--account", "some-id")])
def test_only_administrators_may_help(support: Support, words: tuple[str, ...]) -> None:
    refused = Person.json(support, *words, code=REFUSED)
    assert refused["error"]["reason"] == NOT_ALLOWED


def test_a_flood_of_wrong_passwords_fills_a_bounded_number_of_rows(
        serve: Callable[..., Server], connect: Callable[..., Client], tmp_path: Path) -> None:
    attempts = 400
    server = serve(throttles={"password_failures_max": 1_000_000, "password_failures_per_network_max": 0})
    web, email = connect(server), fresh_email()
    account_id = web.create(email).account.account_id
    for number in range(attempts):
        context = {"ip_address": f"10.0.{number % 250}.1", "device_id": f"device {number}", "user_agent": "x" * 5_000}
        with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS"):
            web.sign_in(password(email, WRONG), client=context)
    counted = "SELECT sum(count), count(*) FROM failures WHERE account_id = ?"
    until(lambda: server.rows(counted, account_id)[0][0] == attempts)
    # An attack that lasts into the next hour has as many rows again.
    assert server.rows(counted, account_id)[0][1] in (21, 42)
    server.stop()
    assert b"xxxxxxxxxx" not in server.stored()


def test_failures_of_the_last_second_are_written_when_the_server_stops(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    web, email = connect(server), fresh_email()
    web.create(email)
    fail(web, email)
    server.stop()
    assert server.rows("SELECT count FROM failures") == [(1,)]
