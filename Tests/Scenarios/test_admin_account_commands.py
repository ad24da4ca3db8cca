"""Accounts on the command line of an administrator: creation, changes, batches by file, search, export."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path

import pytest
from clients import PASSWORD, fresh_email
from configuration import KEYS
from processes import Server
from test_latchkey_command import DONE, REFUSED, USAGE, Person


@pytest.fixture
def staff(server: Server, tmp_path: Path) -> Person:
    person = Person(server, tmp_path)
    person.environment |= {"LATCHKEY_API_KEY": KEYS["admin"], "LATCHKEY_ACTOR": "carol@example.com"}
    return person


def test_an_account_is_created_changed_and_forgotten(staff: Person) -> None:
    email, account_id = fresh_email(), f"made-{uuid.uuid4()}"
    secret = staff.file("password", PASSWORD)
    made = staff.json("create-account", "--id", account_id, "--email", email, "--verified", "--password-file", secret)
    assert made["account"]["account_id"] == account_id and made["account"]["email_verified"]
    new = fresh_email()
    changed = staff.json("update-account", account_id, "--email", new, "--verified", "yes", "--display-name", "Ada")
    assert changed["account"]["email"] == new and changed["account"]["display_name"] == "Ada"
    assert staff.json("link-identity", account_id, "google.com", str(uuid.uuid4()))["already_linked"] is False
    factors = staff.json("set-factors", account_id, "--phone", "+4915112345678",
                         "--totp-secret-file", staff.file("secret", "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"))["factor_ids"]
    assert len(factors) == 2
    assert staff.json("set-factors", account_id, "--keep", factors[0])["factor_ids"] == factors[:1]
    link = staff.run("email-link", "reset", new, "--continue-uri", "http://localhost:3000/callback", "--for", "web")
    assert link.stdout.startswith("http://localhost:3000/callback?mode=resetPassword&code=")
    document = json.loads(staff.run("export-account", account_id).stdout)
    assert document["account"]["id"] == account_id
    assert {event["details"]["actor"] for event in document["events"]} == {"carol@example.com"}
    assert staff.json("delete-account", account_id, "--yes")["outcome"] == "deleted"
    assert staff.json("forget-account", account_id)["outcome"] == "forgotten"
    assert staff.json("create-account", "--id", account_id)["account"]["account_id"] == account_id


def test_a_file_names_accounts_by_id_and_address(staff: Person) -> None:
    emails = [fresh_email() for _ in range(3)]
    ids = [staff.json("create-account", "--email", email)["account"]["account_id"] for email in emails]
    listed = staff.file("accounts", "\n".join(
        ["# to disable", ids[0], "", emails[1], f"id:{ids[2]}", fresh_email(), "unknown", "x" * 129,
         "a b@example.com", "a@" + "b" * 100_000 + ".example", "x" * 2_000_000]))
    report = staff.json("disable", "--file", listed, code=REFUSED)
    assert report["changed"] == 3 and report["unchanged"] == 0
    assert [(each["line"], each["reason"]) for each in report["errors"]] == [
        (6, "ACCOUNT_NOT_FOUND"), (7, "ACCOUNT_NOT_FOUND"), (8, "INVALID_FIELD"), (9, "INVALID_EMAIL"),
        (10, "INVALID_FIELD"), (11, "INVALID_FIELD")]
    assert staff.json("disable", "--file", listed, code=REFUSED)["unchanged"] == 3
    # A byte order mark is not part of the first id.
    valid = staff.file("valid", "\ufeff" + "\n".join(ids))
    assert staff.json("enable", "--file", valid)["changed"] == 3
    ended = staff.run("delete-account", "--file", "-", "--yes", typed="\n".join(emails))
    assert ended.returncode == DONE and "3 deleted, 0 unchanged, 0 rejected." in ended.stdout
    again = staff.json("delete-account", "--file", valid, "--yes")
    assert (again["changed"], again["unchanged"], again["errors"]) == (0, 3, [])


@pytest.mark.parametrize("words", [
    ("disable",), ("disable", "x", "--file", "y"), ("delete-account", "--file", "y"), ("update-account", "x"),
    ("update-account", "x", "--password-file", "y", "--remove-password"), ("search", "--created-from", "yesterday"),
    ("enable", "--file", "/nonexistent"), ("lookup", "--id", "x", "--actor", "Zoë")])
def test_wrong_words_are_rejected_before_any_call(staff: Person, words: tuple[str, ...]) -> None:
    assert staff.run(*words).returncode == USAGE


def test_a_search_shows_pages_and_filters(staff: Person) -> None:
    mark = uuid.uuid4().hex[:12]
    for number in range(3):
        staff.json("create-account", "--email", f"{mark}-{number}@example.com")
    deadline = time.monotonic() + 30
    while (ended := staff.run("search", mark, "--json")).returncode != DONE and time.monotonic() < deadline:
        assert json.loads(ended.stdout)["error"]["reason"] == "SEARCH_NOT_READY"
        time.sleep(0.5)
    assert len(json.loads(ended.stdout)["accounts"]) == 3
    first = staff.json("search", mark, "--size", "2")
    second = staff.json("search", mark, "--size", "2", "--page-token", first["next_page_token"])
    emails = {account["email"] for page in (first, second) for account in page["accounts"]}
    assert emails == {f"{mark}-{number}@example.com" for number in range(3)}
    assert staff.json("search", mark, "--disabled")["accounts"] == []
    assert staff.json("search", "ab", code=REFUSED)["error"]["reason"] == "INVALID_FIELD"
