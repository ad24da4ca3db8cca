"""Compares the answers that clients received with the contents of the store, while no client uses it.

For SQLite it reads a copy of the file with its log, with Python's SQLite, which recovers the same state as the next
server. For PostgreSQL it reads one snapshot. Every acknowledged change must be there. A change without an answer may be
there once. Nothing else may be there.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from journal import Entry

EVENTS = {"sign_up": "ACCOUNT_CREATED", "link": "LINKED", "unlink": "UNLINKED", "delete": "DELETED",
          "replay": "REFRESH_REPLAYED"}
# Events that clients do not count.
UNCOUNTED = ("SIGNED_IN", "SIGNED_OUT", "REAUTHENTICATED")
Identity = tuple[str, str]


@dataclass
class Believed:
    """One user's account as its client knows it."""

    name: str
    email: str = ""
    account_id: str = ""
    identities: set[Identity] = field(default_factory=set)
    events: Counter[str] = field(default_factory=Counter)
    session_id: str = ""
    refresh_token: str = ""
    is_deleted: bool = False
    is_ended: bool = False
    # The only operation that still has no answer.
    unheard: Entry | None = None


@dataclass
class Found:
    """The result of a check."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    @property
    def all(self) -> list[str]:
        return self.lost + self.doubled + self.broken


class Ledger:
    """All answers to clients of one database, combined into the expected state."""

    def __init__(self) -> None:
        self.people: dict[str, Believed] = {}
        self.told: set[str] = set()
        self.owners: dict[str, set[str]] = {}

    def add(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            person = self.people.setdefault(entry.person, Believed(entry.person, email=entry.email))
            if entry.event in ("asked", "unheard"):
                person.unheard = entry
                continue
            person.unheard = None
            if entry.event == "told":
                self.believe(person, entry)
            elif entry.kind == "replay":
                person.is_ended = True
                person.events[EVENTS["replay"]] = 1

    def believe(self, person: Believed, entry: Entry) -> None:
        if entry.operation not in self.told and entry.kind in EVENTS:
            person.events[EVENTS[entry.kind]] += 1
        self.told.add(entry.operation)
        identity = (entry.provider_id, entry.subject)
        match entry.kind:
            case "sign_up":
                person.account_id = entry.account_id
                person.identities |= asked_identities(entry)
                if entry.email:
                    self.owners.setdefault(entry.email, set()).add(entry.account_id)
            case "link":
                person.identities.add(identity)
            case "unlink":
                person.identities.discard(identity)
            case "delete":
                person.is_deleted = True
        if entry.session_id:
            person.session_id, person.refresh_token = entry.session_id, entry.refresh_token


def asked_identities(entry: Entry) -> set[Identity]:
    return {(entry.provider_id, entry.subject)} if entry.subject else set()


class Check:
    """A comparison of the rows of a store with a ledger."""

    # The columns of each row: the reference, id and address of an account; the account of an identity; and all events.
    ACCOUNTS = "SELECT number, id, email FROM accounts"
    IDENTITIES = "SELECT account_number, provider_id, subject FROM identities"
    EVENTS = "SELECT account_id, event FROM audit"
    SESSION = "SELECT refresh_digest, parent_digest, closed_at FROM sessions WHERE id = ?"
    COUNTS = "pending_counts",
    Broken: type[Exception] = sqlite3.DatabaseError

    def __init__(self, rows: Any, ledger: Ledger) -> None:
        self.rows, self.ledger, self.found = rows, ledger, Found()
        try:
            self.run()
        except self.Broken as error:
            self.found.broken.append(f"store: {error}")

    @classmethod
    def of_copy(cls, database: Path, ledger: Ledger) -> Found:
        scratch = database.with_name("copy-of-" + database.name)
        for ending in ("", "-wal"):
            if (source := database.with_name(database.name + ending)).exists():
                shutil.copyfile(source, scratch.with_name(scratch.name + ending))
        found = cls.of_file(scratch, ledger)
        for path in scratch.parent.glob(scratch.name + "*"):
            path.unlink()
        return found

    @classmethod
    def of_file(cls, database: Path, ledger: Ledger) -> Found:
        """Opens the file itself, so it should be a copy."""
        with closing(sqlite3.connect(database)) as rows:
            return cls(rows, ledger).found

    def run(self) -> None:
        if not self.is_made():
            return
        accounts = self.read()
        for person in self.ledger.people.values():
            if person.account_id:
                self.compare(person, accounts.pop(person.account_id, None))
        self.attribute(accounts)
        for email, owners in self.ledger.owners.items():
            if len(owners) > 1:
                self.found.doubled.append(f"{email} was given to {len(owners)} accounts")

    def is_made(self) -> bool:
        """Whether the store has its tables. Also checks that it is sound."""
        # The check needs no durability.
        self.rows.execute("PRAGMA synchronous = OFF")
        sound = [row[0] for row in self.rows.execute("PRAGMA integrity_check")]
        if sound != ["ok"]:
            self.found.broken += [f"integrity check: {line}" for line in sound]
        self.found.broken += [f"foreign key: {row}" for row in self.rows.execute("PRAGMA foreign_key_check")]
        return bool(self.ledger.told or self.rows.execute("PRAGMA user_version").fetchone()[0])

    def read(self) -> dict[str, Believed]:
        """The accounts of the file, each with its identities and its audit rows."""
        accounts, numbers = {}, {}
        for number, account_id, email in self.rows.execute(self.ACCOUNTS):
            accounts[account_id] = numbers[number] = Believed("", email=email or "", account_id=account_id)
        for number, provider_id, subject in self.rows.execute(self.IDENTITIES):
            if number in numbers:
                numbers[number].identities.add((provider_id, subject))
            else:
                self.found.broken.append(f"{provider_id} {subject} is of no account")
        for account_id, event in self.rows.execute(self.EVENTS):
            if event in UNCOUNTED:
                continue
            gone = Believed("", account_id=account_id, is_deleted=True)
            accounts.setdefault(account_id, gone).events[event] += 1
        for table in ("sessions", "pendings"):
            self.found.broken += [f"{table} of {account_id}, who is gone" for account_id, in self.rows.execute(
                f"SELECT account_id FROM {table} WHERE account_id NOT IN (SELECT id FROM accounts)")]
        rows = self.rows.execute("SELECT count(*) FROM pendings").fetchone()[0]
        counted = sum(self.rows.execute(f"SELECT sum(held) FROM {table} WHERE scope = 'total'").fetchone()[0] or 0
                      for table in self.COUNTS)
        if rows != counted:
            self.found.broken.append(f"{rows} pending rows are counted as {counted}")
        return accounts

    def compare(self, told: Believed, there: Believed | None) -> None:
        maybe = told.unheard
        if there is None:
            self.found.lost.append(f"{told.name} received an account that left no trace")
            return
        if there.is_deleted and not told.is_deleted and not (maybe and maybe.kind == "delete"):
            self.found.lost.append(f"the account of {told.name} is gone")
            return
        if told.is_deleted and not there.is_deleted:
            self.found.lost.append(f"{told.name} received a deletion, and the account still exists")
        self.compare_events(told, there)
        if not there.is_deleted:
            self.compare_identities(told, there)
            self.compare_session(told)

    def compare_events(self, told: Believed, there: Believed) -> None:
        for event in EVENTS.values():
            more = there.events[event] - told.events[event]
            may_be_more = int(told.unheard is not None and EVENTS.get(told.unheard.kind) == event
                              and told.unheard.operation not in self.ledger.told)
            if more < 0:
                self.found.lost.append(f"{event} of {told.name} is not there {-more} times")
            elif more > may_be_more:
                self.found.doubled.append(f"{event} of {told.name} exists {more} times more than acknowledged")

    def compare_identities(self, told: Believed, there: Believed) -> None:
        maybe = told.unheard
        differing = told.identities ^ there.identities
        if maybe and maybe.kind in ("link", "unlink"):
            differing.discard((maybe.provider_id, maybe.subject))
        if differing:
            self.found.lost.append(f"{told.name} received other identities than those that exist: {sorted(differing)}")

    def compare_session(self, told: Believed) -> None:
        """The last session of the answers is open with the last token, or one step further. A link or an unlink
        continues in another session, and the server removes ended ones."""
        row = self.rows.execute(self.SESSION, [told.session_id]).fetchone()
        may_be_over = told.is_ended or (told.unheard is not None and told.unheard.kind in ("link", "unlink", "replay"))
        if row is None:
            if not may_be_over:
                self.found.lost.append(f"the session of {told.name} is missing")
            return
        digest, parent, closed_at = row
        told_digest = hashlib.sha256(base64.urlsafe_b64decode(told.refresh_token.partition(".")[2])[:32]).digest()
        if told_digest != digest and not (told.unheard and told_digest == parent):
            self.found.lost.append(f"the refresh token of {told.name} is not the one that it received")
        if told.is_ended and closed_at is None:
            self.found.lost.append(f"{told.name}'s session continues after its token was replayed")
        if closed_at is not None and not may_be_over:
            self.found.lost.append(f"the session of {told.name} was ended without a request")

    def attribute(self, others: dict[str, Believed]) -> None:
        """An unanswered call must account for the rest: at most one account for each call."""
        waiting = [person for person in self.ledger.people.values()
                   if not person.account_id and person.unheard and person.unheard.kind == "sign_up"]
        for there in others.values():
            fits = [person for person in waiting if (person.email, asked_identities(person.unheard)) == (
                there.email, there.identities) and not there.is_deleted]
            if not fits or there.events != Counter([EVENTS["sign_up"]]):
                self.found.doubled.append(
                    f"account {there.account_id} ({there.email}, {sorted(there.identities)}, {dict(there.events)}), "
                    "which no client received")
            else:
                waiting.remove(fits[0])


class PostgresCheck(Check):
    """The same for PostgreSQL, whose rows refer to an account by its id."""

    ACCOUNTS = "SELECT id, id, email FROM accounts"
    IDENTITIES = "SELECT account_id, provider_id, subject FROM identities"
    EVENTS = "SELECT account_id, event FROM audit UNION ALL SELECT account_id, event FROM audit_unplaced"
    SESSION = "SELECT refresh_digest, parent_digest, closed_at FROM sessions WHERE id = %s"
    COUNTS = "pending_counts", "count_parts"
    Broken = psycopg.Error

    @classmethod
    def of_database(cls, conninfo: str, ledger: Ledger) -> Found:
        with psycopg.connect(conninfo, connect_timeout=10) as rows:
            rows.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            return cls(rows, ledger).found

    def is_made(self) -> bool:
        """Positions of events are unique. Table constraints enforce all other rules."""
        twice = self.rows.execute(
            "SELECT id FROM (SELECT id FROM audit UNION ALL SELECT id FROM audit_unplaced) AS events "
            "GROUP BY id HAVING count(*) > 1").fetchall()
        self.found.doubled += [f"event {each} is there twice" for each, in twice]
        return True
