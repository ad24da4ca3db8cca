"""The commands that list and end sessions, one or all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from clients import PASSWORD, fresh_email
from configuration import KEYS, callers
from processes import Server
from test_latchkey_command import NOBODY, REFUSED, USAGE, Person


@pytest.fixture
def person(server: Server, tmp_path: Path) -> Person:
    return Person(server, tmp_path)


def test_the_sessions_of_an_account_are_listed_and_ended_together(person: Person) -> None:
    email = fresh_email()
    person.sign_up(email)
    person.json("sign-in", "--email", email, "--profile", "other", LATCHKEY_PASSWORD=PASSWORD)
    listed = person.json("sessions")["sessions"]
    assert [each["current"] for each in listed] == [False, True]
    assert {each["sign_in_provider"] for each in listed} == {"password"}
    assert len({each["session_id"] for each in listed}) == 2
    lines = person.run("sessions", "--profile", "other").stdout.splitlines()
    assert [line[:2] for line in lines] == ["* ", "  "] and all("password" in line for line in lines)

    assert person.run("sign-out", "--all", "--local").returncode == USAGE
    assert person.json("sign-out", "--all") == {"outcome": "signed_out", "closed": 2}
    assert person.run("whoami").returncode == NOBODY
    ended = person.json("refresh", "--profile", "other", code=REFUSED)
    assert ended["error"]["reason"] == "TOKEN_REVOKED"


def test_one_session_is_ended_by_its_id_by_the_user_and_by_an_administrator(person: Person) -> None:
    email, profiles = fresh_email(), ("phone", "tablet")
    person.sign_up(email)
    for profile in profiles:
        person.json("sign-in", "--email", email, "--profile", profile, LATCHKEY_PASSWORD=PASSWORD)
    tablet, phone, own = (each["session_id"] for each in person.json("sessions")["sessions"])
    lines = person.run("sessions").stdout.splitlines()
    assert [line.rpartition(", ")[2] for line in lines] == [f"id {each}" for each in (tablet, phone, own)]
    assert person.run("sign-out", "--session", phone, "--all").returncode == USAGE
    assert person.json("sign-out", "--session", phone) == {"outcome": "signed_out", "closed": 1}
    assert person.run("sign-out", "--session", phone).stdout == f"No open session: {phone}.\n"
    assert person.json("refresh", "--profile", "phone", code=REFUSED)["error"]["reason"] == "TOKEN_REVOKED"

    key = {"LATCHKEY_API_KEY": KEYS["admin"]}
    assert person.json("revoke", "--session", tablet, code=REFUSED)["error"]["reason"] == "CALLER_NOT_ALLOWED"
    assert person.run("revoke", "--session", tablet, **key).stdout == f"Ended: session {tablet}.\n"
    assert person.json("revoke", "--session", tablet, **key) == {"outcome": "revoked", "closed": 0}
    assert person.run("whoami", "--profile", "tablet").returncode == REFUSED
    assert person.json("sign-out", "--session", own)["closed"] == 1
    assert person.run("whoami").returncode == NOBODY, "the stored session is deleted"


def test_ending_the_stored_session_by_its_id_needs_no_further_right(
        serve: Callable[..., Server], tmp_path: Path) -> None:
    services = [f"latchkey.v1.{name}" for name in
                ("AuthService/*", "AccountService/*", "SessionService/EndSession", "SessionService/ListSessions")]
    person = Person(serve(callers=[{**caller, "methods": services} for caller in callers() if caller["name"] == "web"]),
                    tmp_path)
    person.sign_up(fresh_email())
    [own] = person.json("sessions")["sessions"]
    assert person.json("sign-out", "--session", own["session_id"]) == {"outcome": "signed_out", "closed": 1}
    assert person.run("whoami").returncode == NOBODY
