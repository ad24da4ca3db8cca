"""Fills a store with accounts by writing rows directly. Each account has a password and one Google identity.

The server made the file and its schema before, so this script relies on the migrations alone.
Usage: fill_store.py STORE ACCOUNTS PASSWORD_HASH
"""

from __future__ import annotations

import random
import sqlite3
import sys

CREATED_MILLIS = 1_700_000_000_000
TIER_AUTHORITATIVE = 2

# SQLite counts and formats by itself, several times as fast as with rows that Python passes one by one. An account's id
# has 28 characters in no order, like the server's ids.
NUMBERS = "WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :count)"
ACCOUNTS = f"""
{NUMBERS}
INSERT INTO accounts (number, id, version, email, email_verification, email_verification_provider_id, email_source,
  display_name, photo_url, custom_claims, password_hash, password_set_at, email_link, custom_token, anonymous, disabled,
  made_by_administrator, created_at, idle_since, identity_count)
SELECT n + 1, id_of(n), 1, 'person' || n || '@example.com', 'assertion', 'google.com', 'google.com', 'Person ' || n, '',
  '', :password_hash, :created, 0, 0, 0, 0, 0, :created + n, 0, 1 FROM numbers
"""
IDENTITIES = f"""
{NUMBERS}
INSERT INTO identities (account_number, provider_id, subject, email, tier, display_name, photo_url, username, linked_at)
SELECT n + 1, 'google.com', '1' || printf('%020d', n), 'person' || n || '@example.com', :tier, 'Person ' || n, '', '',
  :created + n FROM numbers
"""


def fill(path: str, count: int, password_hash: str) -> None:
    letters = random.Random(1)
    store = sqlite3.connect(path, isolation_level=None)
    store.create_function("id_of", 1, lambda number: letters.randbytes(14).hex())
    for setting in ("synchronous = OFF", "cache_size = -4000000", "wal_autocheckpoint = 100000"):
        store.execute(f"PRAGMA {setting}")
    values = {"count": count, "password_hash": password_hash, "created": CREATED_MILLIS, "tier": TIER_AUTHORITATIVE}
    for statement in (ACCOUNTS, IDENTITIES):
        store.execute(statement, values)
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()


if __name__ == "__main__":
    fill(sys.argv[1], int(sys.argv[2]), sys.argv[3])
