"""A short run of the kill loop, and a test of its checker."""

from __future__ import annotations

import base64
import hashlib
import secrets
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from checker import Check, Ledger
from journal import Entry
from kill_loop import KillLoop
from processes import Server, Simulator

KILLS = 100
START_SECONDS_MOST = 10.0
APPEND = "INSERT INTO audit (id, at, account_id, event, caller, details) VALUES"
# Later columns have a default.
IDENTITY = """
    INSERT INTO identities
      (account_number, provider_id, subject, email, tier, display_name, photo_url, username, linked_at)
    VALUES ({number}, 'oidc.partner', '{subject}', NULL, 0, '', '', '', 0)"""


@pytest.mark.timeout(600)
def test_nothing_acknowledged_is_lost_or_doubled_by_a_hundred_kills(tmp_path: Path) -> None:
    result = KillLoop(tmp_path, seed=secrets.randbelow(1 << 32)).run(KILLS)
    print(result)
    assert result.found.all == [], str(result)
    assert result.kills == KILLS and result.told > 5 * KILLS and result.unheard > KILLS, str(result)
    starts = sorted(result.starts_seconds)
    assert starts[len(starts) // 2] < START_SECONDS_MOST, str(result)


# A small true history, and copies with one error.

REFRESH = base64.urlsafe_b64encode(bytes(48)).decode()
DIGEST = hashlib.sha256(bytes(32)).digest()


def told(kind: str = "sign_up", person: str = "p", **said: str) -> list[Entry]:
    known = {"account_id": "a", "session_id": "s", "refresh_token": f"s.{REFRESH}"} | said
    operation = f"{person} {kind} {known.get('subject', '')}"
    return [Entry("asked", operation, kind, person, email=known.get("email", "")),
            Entry("told", operation, kind, person, **known)]


def asked(kind: str, person: str, **said: str) -> list[Entry]:
    return [Entry("asked", f"{person} {kind}", kind, person, **said)]


@pytest.fixture
def database(tmp_path: Path, serve: Callable[..., Server], simulator: Simulator) -> Path:
    """One account (a) with one identity and one session (s), in the tables that a server made."""
    server = serve()
    server.stop()
    rows = sqlite3.connect(server.database)
    add_account(rows, "a", 1)
    rows.execute(IDENTITY.format(number=1, subject="x"))
    add_event(rows, "a", "LINKED")
    rows.execute(
        "INSERT INTO sessions (id, account_id, caller, refresh_digest, auth_time, sign_in_provider_id, began_with, "
        "methods, audience, claims_json, created_at, last_used_at, idle_expires_at, expires_at, ip_address, "
        "user_agent, device_id, ends_at, ends_day) "
        "VALUES ('s', 'a', 'web', ?, 0, '', '', '', '', '', 0, 0, 0, 0, '', '', '', 0, 0)", [DIGEST])
    rows.commit()
    rows.close()
    return server.database


def add_account(rows: sqlite3.Connection, account_id: str, number: int) -> None:
    rows.execute("INSERT INTO accounts (number, id, version, display_name, photo_url, custom_claims, email_link, "
                 "custom_token, anonymous, disabled, made_by_administrator, created_at, idle_since) "
                 "VALUES (?, ?, 1, '', '', '', 0, 0, 1, 0, 0, 0, 0)", [number, account_id])
    add_event(rows, account_id, "ACCOUNT_CREATED")


def add_event(rows: sqlite3.Connection, account_id: str, event: str) -> None:
    rows.execute(f"{APPEND} (?, 0, ?, ?, 'web', '{{}}')", [secrets.token_hex(8), account_id, event])


def change(database: Path, *statements: str) -> None:
    rows = sqlite3.connect(database)
    for statement in statements:
        rows.execute(statement)
    rows.commit()
    rows.close()


def check(database: Path, *entries: list[Entry]) -> tuple[int, int, int]:
    """The numbers of lost, doubled and broken changes."""
    ledger = Ledger()
    ledger.add(entry for each in entries for entry in each)
    found = Check.of_copy(database, ledger)
    return len(found.lost), len(found.doubled), len(found.broken)


HISTORY = [told(), told("link", provider_id="oidc.partner", subject="x")]


def test_a_true_history_passes(database: Path) -> None:
    assert check(database, *HISTORY) == (0, 0, 0)


def test_an_account_that_exists_only_in_the_journal_counts_as_lost(database: Path) -> None:
    assert check(database, *HISTORY, told(person="q", account_id="b")) == (1, 0, 0)


def test_an_account_without_a_request_counts_as_doubled(database: Path) -> None:
    assert check(database) == (0, 1, 0)


def test_a_link_that_exists_only_in_the_journal_counts_as_lost(database: Path) -> None:
    lost, _, _ = check(database, *HISTORY, told("link", provider_id="oidc.corp", subject="y"))
    assert lost == 2, "the identity and its audit row"


def test_a_link_that_was_made_twice_counts_as_doubled(database: Path) -> None:
    change(database, f"{APPEND} ('again', 0, 'a', 'LINKED', 'web', '{{}}')")
    assert check(database, *HISTORY) == (0, 1, 0)


def test_an_identity_without_an_account_counts_as_broken(database: Path) -> None:
    change(database, IDENTITY.format(number=9, subject="z"))
    assert check(database, *HISTORY) == (0, 0, 1)


def test_a_refresh_token_that_was_returned_and_is_missing_counts_as_lost(database: Path) -> None:
    change(database, "UPDATE sessions SET refresh_digest = x'00'")
    assert check(database, *HISTORY) == (1, 0, 0)


def test_an_email_address_of_two_accounts_counts_as_doubled(database: Path) -> None:
    change(database, "UPDATE accounts SET email = 'x@example.com'")
    rows = sqlite3.connect(database)
    add_account(rows, "b", 2)
    rows.commit()
    rows.close()
    given = [told(email="x@example.com"), HISTORY[1], told(person="q", account_id="b", email="x@example.com")]
    _, doubled, _ = check(database, *given)
    assert doubled == 1


def test_a_deletion_that_was_acknowledged_and_did_not_happen_counts_as_lost(database: Path) -> None:
    lost, _, _ = check(database, *HISTORY, told("delete"))
    assert lost == 2, "the account exists, and its deletion has no audit row"


def test_a_change_without_an_answer_may_exist_once_or_not_at_all(database: Path) -> None:
    maybe = asked("sign_up", "q")
    assert check(database, *HISTORY, maybe) == (0, 0, 0)
    rows = sqlite3.connect(database)
    add_account(rows, "b", 2)
    rows.commit()
    assert check(database, *HISTORY, maybe) == (0, 0, 0)
    add_account(rows, "c", 3)
    rows.commit()
    rows.close()
    assert check(database, *HISTORY, maybe) == (0, 1, 0)


def test_a_damaged_file_counts_as_broken(database: Path) -> None:
    change(database, "PRAGMA journal_mode = DELETE")
    content = bytearray(database.read_bytes())
    content[-4096:-3900] = bytes(196)
    database.write_bytes(content)
    _, _, broken = check(database, *HISTORY)
    assert broken > 0
