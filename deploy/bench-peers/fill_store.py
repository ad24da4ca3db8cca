"""Fills a store with accounts, each with a password and one Google identity, by writing rows past the server.

The server made the file and its schema before, so that this writes into what the migrations say and nothing else.
Usage: fill_store.py STORE ACCOUNTS
"""

from __future__ import annotations

import random
import sqlite3
import string
import sys
from typing import Iterator

CREATED_MILLIS = 1_700_000_000_000
# Long as a real one is, so that rows take the space that they would.
PASSWORD_HASH = "$argon2id$v=19$m=19456,t=2,p=1$" + "c2FsdHNhbHRzYWx0c2FsdA" + "$" + "aGFz" * 10 + "aGE"
PORTION = 50_000


def accounts(numbers: range, ids: list[str]) -> Iterator[tuple[object, ...]]:
    for number, account in zip(numbers, ids):
        yield (number + 1, account, 1, f"person{number}@example.com", "assertion", "google.com", "google.com",
               f"Person {number}", "", "", PASSWORD_HASH, CREATED_MILLIS, 0, 0, 0, 0, CREATED_MILLIS + number, 1)


def identities(numbers: range) -> Iterator[tuple[object, ...]]:
    for number in numbers:
        yield (number + 1, "google.com", f"{10**20 + number}", f"person{number}@example.com", 2, f"Person {number}", "",
               "", CREATED_MILLIS + number)


def fill(path: str, count: int) -> None:
    letters = random.Random(1)
    alphabet = string.digits + string.ascii_letters
    store = sqlite3.connect(path, isolation_level=None)
    store.execute("PRAGMA synchronous = OFF")
    store.execute("PRAGMA cache_size = -400000")
    store.execute("BEGIN")
    for start in range(0, count, PORTION):
        numbers = range(start, min(start + PORTION, count))
        ids = ["".join(letters.choices(alphabet, k=28)) for _ in numbers]
        store.executemany(
            "INSERT INTO accounts (number, id, version, email, email_proof, email_proof_provider_id, email_source,"
            " display_name, photo_url, custom_claims, password_hash, password_set_at, email_link, anonymous, disabled,"
            f" made_by_administrator, created_at, identity_count) VALUES ({','.join('?' * 18)})",
            accounts(numbers, ids))
        store.executemany(
            "INSERT INTO identities (account_number, provider_id, subject, email, tier, display_name, photo_url,"
            f" username, linked_at) VALUES ({','.join('?' * 9)})", identities(numbers))
    store.execute("COMMIT")
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()


if __name__ == "__main__":
    fill(sys.argv[1], int(sys.argv[2]))
