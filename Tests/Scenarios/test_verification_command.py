"""Codes and emailed links on the command line."""

from __future__ import annotations

from pathlib import Path

import outbox
import pytest
from clients import PAGE, PASSWORD, Client, assertion, fresh_email, session
from processes import Server, Simulator
from test_latchkey_command import REFUSED, USAGE, Person
from verification import fresh_number

NEW_PASSWORD = "an entirely new password"


@pytest.fixture
def person(mailing: Server, tmp_path: Path) -> Person:
    return Person(mailing, tmp_path)


def test_a_user_signs_in_by_phone(person: Person) -> None:
    number = fresh_number()
    assert person.run("sign-in", "--phone-code").returncode == USAGE, "no code was sent"
    sent = person.run("send-phone-code", number)
    assert sent.returncode == 0 and "latchkey sign-in --phone-code" in sent.stdout
    code = outbox.wait_for(person.server, "phone_code", number).values["code"]
    wrong = person.file("wrong", f"{(int(code) + 1) % 1_000_000:06}")
    refused = person.json("sign-in", "--phone-code", "--code-file", wrong, code=REFUSED)
    assert refused["error"]["reason"] == "INVALID_CODE"
    answer = person.json("sign-in", "--phone-code", "--code-file", person.file("code", code))
    assert {each["provider_id"] for each in answer["account"]["providers"]} == {"phone"}


def test_a_user_signs_in_by_a_link_and_changes_the_address(person: Person) -> None:
    email, new = fresh_email(), fresh_email()
    person.json("send-email-link", "--email", email, "--continue-uri", PAGE)
    link = outbox.wait_for(person.server, "email_link", email).values["link"]
    answer = person.json("sign-in", "--email-link", email, "--code-file", person.file("link", link))
    assert answer["account"]["email"] == email
    person.json("change-email", new, "--continue-uri", PAGE)
    link = outbox.wait_for(person.server, "change_email", new).values["link"]
    changed = person.json("confirm-email", "--code-file", person.file("link", link))
    assert changed["account"]["email"] == new
    back = outbox.wait_for(person.server, "email_changed", email).values["link"]
    assert person.json("confirm-email", "--code-file", person.file("link", back))["email"] == email


def test_a_user_verifies_the_address_and_resets_the_password(person: Person) -> None:
    email = fresh_email()
    person.sign_up(email)
    person.json("verify-email", "--continue-uri", PAGE)
    link = outbox.wait_for(person.server, "verify_email", email).values["link"]
    verified = person.json("confirm-email", "--code-file", person.file("link", link))
    assert verified["account"]["email_verified"]
    person.json("reset-password", "--email", email, "--continue-uri", PAGE)
    link = outbox.wait_for(person.server, "reset_password", email).values["link"]
    reset = person.json(
        "reset-password", "--code-file", person.file("link", link), LATCHKEY_PASSWORD=NEW_PASSWORD)
    assert reset == {"outcome": "reset", "email": email, "revoked_provider_ids": [], "is_new_account": False}
    refused = person.json("sign-in", "--email", email, code=REFUSED, LATCHKEY_PASSWORD=PASSWORD)
    assert refused["error"]["reason"] == "INVALID_LOGIN_CREDENTIALS"
    person.json("sign-in", "--email", email, LATCHKEY_PASSWORD=NEW_PASSWORD)
    assert person.run("reset-password").returncode == USAGE


def test_a_user_claims_an_address_by_a_reset(person: Person, simulator: Simulator) -> None:
    email = fresh_email()
    stranger = Client(person.server, key="web")
    session(stranger.sign_in(assertion(simulator, "oidc.corp", email=email)))
    stranger.close()
    asking = ("reset-password", "--email", email, "--continue-uri", PAGE)
    assert person.run(*asking, "--claim-address").returncode == USAGE
    person.json(*asking)
    link = person.file("link", outbox.wait_for(person.server, "reset_password", email).values["link"])
    following = ("reset-password", "--code-file", link)
    refused = person.json(*following, code=REFUSED, LATCHKEY_PASSWORD=NEW_PASSWORD)
    assert refused["error"]["reason"] == "UNVERIFIED_EMAIL"
    claimed = person.json(*following, "--claim-address", LATCHKEY_PASSWORD=NEW_PASSWORD)
    assert claimed == {"outcome": "reset", "email": email, "revoked_provider_ids": [], "is_new_account": True}
    assert person.json("sign-in", "--email", email, LATCHKEY_PASSWORD=NEW_PASSWORD)["account"]["email_verified"]
