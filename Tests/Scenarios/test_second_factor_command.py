"""Second factors on the command line: enrollment, sign-in, listing and withdrawal."""

from __future__ import annotations

import json
from pathlib import Path

import pyotp
import pytest
from authenticators import Authenticator
from clients import PASSWORD, assertion, fresh_email
from configuration import KEYS
from processes import Server, Simulator
from test_latchkey_command import DONE, REFUSED, UNFINISHED, USAGE, Person, of_different_names


@pytest.fixture
def person(server: Server, tmp_path: Path) -> Person:
    return Person(server, tmp_path)


def enrolled(person: Person, simulator: Simulator) -> tuple[str, Authenticator, list[str]]:
    """Signed in with a verified address, a password and an authenticator app."""
    email = fresh_email("gmail.com")
    token = assertion(simulator, "google.com", email=email, email_verified=True).provider_token.id_token
    person.json("sign-in", "--provider", "google.com", "--id-token-file", person.file("google.jwt", token))
    person.json("link", "--email", email, LATCHKEY_PASSWORD=PASSWORD)
    started = person.json("enroll", "totp", "--display-name", "at home")
    program = pyotp.parse_uri(started["totp_uri"])
    assert isinstance(program, pyotp.TOTP) and program.secret == started["totp_secret"]
    authenticator = Authenticator(program)
    finished = person.json("enroll", "totp", "--totp-code", authenticator.code())
    assert len(finished["recovery_codes"]) == 10
    shown = person.json("whoami")["account"]["second_factors"]
    assert [each["kind"] for each in shown] == ["totp", "recovery_code"] and shown[0]["display_name"] == "at home"
    authenticator.factor_id = shown[0]["factor_id"]
    return email, authenticator, finished["recovery_codes"]


def test_a_factor_is_enrolled_shown_and_withdrawn(person: Person, simulator: Simulator) -> None:
    email, authenticator, _ = enrolled(person, simulator)
    person.json("sign-out")
    ended = person.json("sign-in", "--email", email, code=UNFINISHED, LATCHKEY_PASSWORD=PASSWORD)
    assert ended["outcome"] == "second_factor_required" and ended["kinds"] == ["totp", "recovery_code"]
    refused = person.json("second-factor", "--totp-code", authenticator.wrong(), code=REFUSED)
    assert refused["error"]["reason"] == "INVALID_CODE"
    assert person.json("second-factor", "--totp-code", authenticator.code())["outcome"] == "session"
    assert "at home" in person.run("whoami").stdout
    assert person.run("withdraw", authenticator.factor_id).returncode == DONE
    assert person.json("whoami")["account"]["second_factors"] == []
    person.json("sign-out")
    assert person.json("sign-in", "--email", email, LATCHKEY_PASSWORD=PASSWORD)["outcome"] == "session"


def test_every_administrator_command_prints_each_factor_once(person: Person, simulator: Simulator) -> None:
    enrolled(person, simulator)
    shown = person.json("whoami")["account"]
    key = {"LATCHKEY_API_KEY": KEYS["admin"]}
    account_id = shown["account_id"]
    looked_up = person.json("lookup", "--id", account_id, **key)["account"]
    assert looked_up["second_factors"] == shown["second_factors"] and len(shown["second_factors"]) == 2
    for words in (["disable", account_id], ["enable", account_id], ["set-claims", account_id, "{}"]):
        assert person.json(*words, **key)["account"]["second_factors"] == shown["second_factors"]
    assert all("second_factors" in each for each in person.json("list", "--size", "1000", **key)["accounts"])
    lines = person.run("export", **key).stdout.splitlines()
    exported = [json.loads(line, object_pairs_hook=of_different_names) for line in lines]
    [found] = [each for each in exported if each.get("account_id") == account_id]
    assert found["second_factors"] == shown["second_factors"]


def test_an_administrator_removes_every_factor_of_a_user_who_has_lost_them(
        person: Person, simulator: Simulator) -> None:
    email, _, _ = enrolled(person, simulator)
    account_id = person.json("whoami")["account"]["account_id"]
    key = {"LATCHKEY_API_KEY": KEYS["admin"]}
    answer = person.json("remove-factors", account_id, **key)
    assert answer["removed"] == 2 and answer["account"]["second_factors"] == []
    assert person.run("refresh").returncode == REFUSED, "the session is over"
    assert person.json("sign-in", "--email", email, LATCHKEY_PASSWORD=PASSWORD)["outcome"] == "session"
    readable = person.run("remove-factors", account_id, **key)
    assert readable.returncode == DONE
    assert readable.stdout.startswith(f"Removed 0 second factors: account {account_id}\n")
    assert person.run("refresh").returncode == DONE, "nothing was changed"


def test_a_recovery_code_is_read_from_a_file_and_never_stored(person: Person, simulator: Simulator) -> None:
    email, _, codes = enrolled(person, simulator)
    ended = person.run("sign-in", "--email", email, LATCHKEY_PASSWORD=PASSWORD)
    assert ended.returncode == UNFINISHED and "latchkey second-factor --recovery-code-file -" in ended.stderr
    done = person.run("second-factor", "--recovery-code-file", "-", typed=codes[0] + "\n")
    assert done.returncode == DONE, done.stderr
    assert not any(code in person.sessions.read_text() for code in codes)
    replaced = person.json("enroll", "recovery-codes")["recovery_codes"]
    assert len(replaced) == 10 and not set(replaced) & set(codes)


def test_a_second_factor_without_a_waiting_sign_in_is_a_usage_error(
        person: Person, simulator: Simulator) -> None:
    person.sign_up(fresh_email())
    assert person.run("second-factor", "--totp-code", "123456").returncode == USAGE
    assert person.run("enroll", "totp", "--totp-code", "123456").returncode == USAGE
    assert person.run("enroll", "passkey").returncode == USAGE
    refused = person.json("enroll", "totp", code=REFUSED)
    assert refused["error"]["reason"] == "UNVERIFIED_EMAIL"
