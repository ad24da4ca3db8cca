"""The state of a simulator folder: users, codes, tokens and nonces, in one SQLite file.

`serve` and the commands that mint are different processes, so a token minted by one is immediately known to the other.
Only digests of codes and tokens are stored, as a provider would.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

Record = dict[str, Any]

SCHEMA = """
create table if not exists held (
  kind text not null, digest blob not null, record text not null, expires real not null, used integer not null,
  origin blob, primary key (kind, digest)) without rowid;
create index if not exists held_by_origin on held (origin) where origin is not null;
create table if not exists people (username text primary key, record text not null) without rowid;
"""


def digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


class Ledger:
    """Kinds separate the records of providers: a code of one is unknown to another."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "ledger.db"
        self._local = threading.local()

    @property
    def _database(self) -> sqlite3.Connection:
        """One connection for each thread, and so for each connection of a client."""
        if not hasattr(self._local, "database"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self.path, timeout=20, isolation_level=None)
            database.execute("pragma journal_mode = wal")
            database.execute("pragma synchronous = off")
            database.executescript(SCHEMA)
            self._local.database = database
        connection: sqlite3.Connection = self._local.database
        return connection

    def put(self, kind: str, secret: str, record: Record, lifetime_seconds: float, origin: str = "") -> None:
        """`origin` is the code that this was made from, so that a replay of the code can revoke it."""
        self._database.execute("insert or replace into held values (?, ?, ?, ?, 0, ?)", (
            kind, digest(secret), json.dumps(record), time.time() + lifetime_seconds,
            digest(origin) if origin else None))

    def get(self, kind: str, secret: str) -> Record | None:
        """The record, unless it has expired or was taken."""
        row = self._database.execute(
            "select record from held where kind = ? and digest = ? and used = 0 and expires > ?",
            (kind, digest(secret), time.time())).fetchone()
        return json.loads(row[0]) if row else None

    def take(self, kind: str, secret: str) -> Record | None:
        """The same, and marks the record as used."""
        row = self._database.execute(
            "update held set used = 1 where kind = ? and digest = ? and used = 0 and expires > ? returning record",
            (kind, digest(secret), time.time())).fetchone()
        return json.loads(row[0]) if row else None

    def was_taken(self, kind: str, secret: str) -> bool:
        row = self._database.execute(
            "select 1 from held where kind = ? and digest = ? and used = 1", (kind, digest(secret))).fetchone()
        return row is not None

    def is_new(self, kind: str, secret: str, lifetime_seconds: float) -> bool:
        """True the first time that the service sees this value."""
        return self._database.execute("insert or ignore into held values (?, ?, '{}', ?, 0, null)", (
            kind, digest(secret), time.time() + lifetime_seconds)).rowcount == 1

    def revoke(self, kind: str, secret: str) -> None:
        self._database.execute("delete from held where kind = ? and digest = ?", (kind, digest(secret)))

    def origin(self, kind: str, secret: str) -> bytes | None:
        """The digest of the code that this was made from."""
        row = self._database.execute(
            "select origin from held where kind = ? and digest = ?", (kind, digest(secret))).fetchone()
        return row[0] if row else None

    def revoke_made_from(self, origin: bytes) -> None:
        """Revokes everything that was made from the code with this digest."""
        self._database.execute("delete from held where origin = ?", (origin,))

    def revoke_all(self, kind: str, person: str, client_id: str) -> None:
        """Revokes the user's consent to an application, with all of its tokens."""
        self._database.execute(
            "delete from held where kind = ? and json_extract(record, '$.person') = ?"
            " and json_extract(record, '$.client_id') = ?", (kind, person, client_id))

    def revoke_from(self, origin: str) -> None:
        """Revokes everything that was made from this code (RFC 6749 section 4.1.2)."""
        self._database.execute("delete from held where origin = ?", (digest(origin),))

    def save_person(self, username: str, record: Record) -> None:
        self._database.execute("insert or replace into people values (?, ?)", (username, json.dumps(record)))

    def person(self, username: str) -> Record | None:
        row = self._database.execute("select record from people where username = ?", (username,)).fetchone()
        return json.loads(row[0]) if row else None

    def people(self) -> list[Record]:
        return [json.loads(row[0]) for row in self._database.execute("select record from people order by username")]
