"""The five pre-hijacking attacks (arXiv 2205.10174): an attacker uses the address before its owner. Attacker and victim
are both real sessions of a stock client; the victim arrives by each method that verifies the address."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from clients import Client, assertion, conflict, fresh_email, password, provider_ids, session
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import types_pb2 as types
from processes import Server, Simulator
from verification import by_mail, by_phone, change_code, fresh_number, reset_code, verification_code

VICTIMS_PASSWORD = "the password of the victim"
PATHS = ("google", "link", "reset")
INVALID_CODE = (StatusCode.INVALID_ARGUMENT, "INVALID_CODE")


class Stage:
    """A server with an attacker and a victim, each with their own connections."""

    def __init__(self, server: Server, simulator: Simulator) -> None:
        self.server, self.simulator = server, simulator
        self.attacker, self.victim = Client(server, key="web"), Client(server, key="web")
        self.email = fresh_email("gmail.com")

    def google(self) -> types.Credential:
        return assertion(
            self.simulator, "google.com", subject=self.email, email=self.email, email_verified=True)

    def arrive(self, path: str) -> types.Session:
        """The victim signs in for the first time, and succeeds."""
        if path == "google":
            return session(self.victim.sign_in(self.google()))
        if path == "link":
            return session(self.victim.sign_in(by_mail(self.server, self.victim, self.email)))
        code = reset_code(self.server, self.victim, self.email)
        assert list(self.victim.reset_password(code, VICTIMS_PASSWORD).revoked_provider_ids) == ["password"]
        return session(self.victim.sign_in(password(self.email, VICTIMS_PASSWORD)))

    def assert_shut_out(self, planted: types.Session) -> None:
        """Everything that the attacker had is useless."""
        with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS"):
            self.attacker.sign_in(password(self.email))
        with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_REFRESH_TOKEN", "TOKEN_REVOKED"):
            self.attacker.refresh(planted.refresh_token)
        assert not self.attacker.verify(planted.id_token).active
        with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
            self.attacker.link(planted.id_token, assertion(self.simulator, "oidc.corp"))
        with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
            self.attacker.send_email_change(planted.id_token, fresh_email())

    def close(self) -> None:
        self.attacker.close()
        self.victim.close()


@pytest.fixture
def stage(mailing: Server, simulator: Simulator) -> Iterator[Stage]:
    opened = Stage(mailing, simulator)
    yield opened
    opened.close()


@pytest.mark.parametrize("path", PATHS)
def test_check_5_a_password_from_before_the_victim_is_invalid(stage: Stage, path: str) -> None:
    planted = stage.attacker.create(stage.email, display_name="not the victim")
    mine = stage.arrive(path)
    stage.assert_shut_out(planted)
    account = stage.victim.get(mine.id_token)
    assert account.account_id == planted.account.account_id and account.email_verified
    assert provider_ids(account) == {"google": {"google.com"}, "link": {"emailLink"}, "reset": {"password"}}[path]
    assert account.display_name != "not the victim"


@pytest.mark.parametrize("path", PATHS)
def test_check_6_a_session_that_was_kept_alive_ends_when_the_victim_arrives(stage: Stage, path: str) -> None:
    planted = stage.attacker.create(stage.email)
    second = session(stage.attacker.sign_in(password(stage.email)))
    for _ in range(10):
        planted = stage.attacker.refresh(planted.refresh_token)
    stage.arrive(path)
    for each in (planted, second):
        stage.assert_shut_out(each)


@pytest.mark.parametrize("path", PATHS)
def test_check_7_a_pending_change_of_address_of_the_attacker_is_invalid(stage: Stage, path: str) -> None:
    evil = fresh_email()
    planted = stage.attacker.create(stage.email)
    held = change_code(stage.server, stage.attacker, evil, planted.id_token)
    mine = stage.arrive(path)
    stage.assert_shut_out(planted)
    for id_token in ("", planted.id_token, mine.id_token):
        with expect_failure(*INVALID_CODE):
            stage.attacker.confirm_email(held, id_token)
    assert stage.victim.get(mine.id_token).email == stage.email


def test_check_7_an_unverified_address_that_was_changed_gets_no_revert_link(stage: Stage) -> None:
    """The attacker moves on to their own mailbox: the address is free for the victim, and cannot be taken back."""
    evil = fresh_email()
    planted = stage.attacker.create(stage.email)
    code = change_code(stage.server, stage.attacker, evil, planted.id_token)
    assert stage.attacker.confirm_email(code, planted.id_token).email == evil
    mine = session(stage.victim.sign_in(stage.google()))
    assert mine.is_new_account and mine.account.account_id != planted.account.account_id


def test_check_7_a_click_of_the_victim_alone_does_not_verify_for_the_attacker(stage: Stage) -> None:
    planted = stage.attacker.create(stage.email)
    code = verification_code(stage.server, stage.attacker, stage.email, planted.id_token)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "REQUIRES_RECENT_LOGIN"):
        stage.victim.confirm_email(code)
    assert not stage.attacker.get(planted.id_token).email_verified
    stage.arrive("link")
    with expect_failure(*INVALID_CODE):
        stage.victim.confirm_email(code)


Trojan = Callable[[], types.Credential]


def plant_phone(stage: Stage, planted: types.Session) -> Trojan:
    """Links a phone of the attacker, and returns a function that makes a credential of it."""
    number = fresh_number()
    code = by_phone(stage.server, stage.attacker, number, purpose=types.PROOF_PURPOSE_LINK,
                    id_token=planted.id_token)
    session(stage.attacker.link(planted.id_token, code))
    return lambda: by_phone(stage.server, stage.attacker, number)


def plant_provider(stage: Stage, planted: types.Session) -> Trojan:
    subject = fresh_email()
    credential = assertion(stage.simulator, "oidc.corp", subject=subject)
    session(stage.attacker.link(planted.id_token, credential))
    return lambda: assertion(stage.simulator, "oidc.corp", subject=subject)


@pytest.mark.parametrize("plant", [plant_phone, plant_provider])
@pytest.mark.parametrize("path", ["google", "link"])
def test_check_8_a_planted_identifier_stays_with_the_attacker_without_the_address(
        stage: Stage, path: str, plant: Callable[[Stage, types.Session], Trojan]) -> None:
    planted = stage.attacker.create(stage.email)
    trojan = plant(stage, planted)
    credential = stage.google() if path == "google" else by_mail(stage.server, stage.victim, stage.email)
    told = conflict(stage.victim.sign_in(credential))
    assert told.can_claim_address, "the victim can claim the address"

    again = stage.google() if path == "google" else credential
    mine = session(stage.victim.sign_in(again, claim_address=True))
    assert mine.is_new_account and mine.account.email == stage.email and mine.account.email_verified
    assert mine.account.account_id != planted.account.account_id
    stage.assert_shut_out(planted)
    theirs = session(stage.attacker.sign_in(trojan())).account
    assert theirs.account_id == planted.account.account_id and not theirs.email


@pytest.mark.parametrize("plant", [plant_phone, plant_provider])
def test_check_8_a_reset_does_not_sign_the_victim_in_to_the_attackers_account(
        stage: Stage, plant: Callable[[Stage, types.Session], Trojan]) -> None:
    planted = stage.attacker.create(stage.email)
    trojan = plant(stage, planted)
    code = reset_code(stage.server, stage.victim, stage.email)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "UNVERIFIED_EMAIL"):
        stage.victim.reset_password(code, VICTIMS_PASSWORD)

    assert stage.victim.reset_password(code, VICTIMS_PASSWORD, claim_address=True).is_new_account
    mine = session(stage.victim.sign_in(password(stage.email, VICTIMS_PASSWORD))).account
    assert mine.email_verified and mine.account_id != planted.account.account_id
    stage.assert_shut_out(planted)
    theirs = session(stage.attacker.sign_in(trojan())).account
    assert theirs.account_id == planted.account.account_id and not theirs.email


def test_a_provider_that_verifies_nothing_opens_no_account(stage: Stage) -> None:
    """The fifth attack: the attacker's provider asserts any address."""
    claimed = {"subject": fresh_email(), "email": stage.email, "email_verified": True}
    planted = session(stage.attacker.sign_in(assertion(stage.simulator, "oidc.corp", **claimed)))
    assert not planted.account.email_verified
    assert conflict(stage.victim.sign_in(stage.google())).can_claim_address
    mine = session(stage.victim.sign_in(stage.google(), claim_address=True))
    theirs = session(stage.attacker.sign_in(assertion(stage.simulator, "oidc.corp", **claimed)))
    assert theirs.account.account_id == planted.account.account_id != mine.account.account_id
    assert not theirs.account.email and mine.account.email == stage.email
    # The same if the victim was first.
    late = assertion(stage.simulator, "oidc.partner", email=stage.email, email_verified=True)
    assert not conflict(stage.attacker.sign_in(late)).can_claim_address
