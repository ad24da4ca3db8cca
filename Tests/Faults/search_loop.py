#!/usr/bin/env python3
"""Measures AdminService.Search on a store with many accounts: how long the index takes, and p50 and p99 of searches.

    LATCHKEYD=.build/release/latchkeyd .venv/tests/bin/python Tests/Faults/search_loop.py --accounts 1000000

With LATCHKEY_TEST_STORE=postgres and LATCHKEY_POSTGRES it measures a schema on that server. The accounts are written by
SQL, since a million calls would take hours. Exits with 1 if a search does not find what it must.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import surroundings  # noqa: F401

import databases
import latchkey
from clients import Client
from processes import Server, Simulator, prepare

SYLLABLES = ["al", "ber", "cor", "den", "el", "fan", "gor", "hil", "ine", "jor", "kat", "lor", "min", "nor", "ost",
             "pel", "quin", "ros", "san", "tov", "ul", "ver", "wen", "xan", "yor", "zel"]
COLUMNS = ("id, version, email, display_name, photo_url, custom_claims, phone_number, email_link, custom_token, "
           "anonymous, disabled, made_by_administrator, created_at, last_sign_in_at, idle_since")
CREATED_MILLIS = 1_700_000_000_000
PORTION = 10_000


def word(letters: random.Random) -> str:
    return "".join(letters.choice(SYLLABLES) for _ in range(3))


def account(number: int, letters: random.Random) -> tuple[Any, ...]:
    first, last = word(letters), word(letters)
    flags = (False, False, False, number % 100 == 0, False)
    return (f"{number:08}{letters.randbytes(10).hex()}", 1, f"{first}.{last}{number}@example.com",
            f"{first.title()} {last.title()}", "", "", f"+4915{number:09}", *flags, CREATED_MILLIS + number, None, 0)


def fill(server: Server, count: int, samples: list[tuple[Any, ...]]) -> None:
    """Adds the accounts, and keeps some of them."""
    letters = random.Random(1)
    store = server.settings["store"]
    if "postgres" in store:
        with databases.connected(store["postgres"]["conninfo"]) as database, database.cursor() as cursor:
            with cursor.copy(f"COPY accounts ({COLUMNS}) FROM STDIN") as copy:
                for number in range(count):
                    copy.write_row(row := account(number, letters))
                    if number % max(1, count // 1_000) == 0:
                        samples.append(row)
        return
    with sqlite3.connect(server.folder / store["path"], isolation_level=None) as database:
        database.execute("PRAGMA synchronous = OFF")
        marks = ", ".join("?" * len(COLUMNS.split(",")))
        for start in range(0, count, PORTION):
            rows = [account(number, letters) for number in range(start, min(start + PORTION, count))]
            database.execute("BEGIN")
            database.executemany(f"INSERT INTO accounts ({COLUMNS}) VALUES ({marks})", rows)
            database.execute("COMMIT")
            samples += rows[::max(1, count // 1_000)]
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def built(client: Client, longest_seconds: float) -> float:
    """Waits until searches are answered, and returns how long it took."""
    begun = time.monotonic()
    while True:
        try:
            client.search("xyz")
            return time.monotonic() - begun
        except latchkey.LatchkeyError as error:
            if error.reason != "SEARCH_NOT_READY" or time.monotonic() - begun > longest_seconds:
                raise
            time.sleep(0.2)


def measure(client: Client, calls: int,
            query: Callable[[], tuple[str, dict[str, Any], str]]) -> tuple[list[float], int]:
    """The times in milliseconds, and the number of searches that did not find their account."""
    times, wrong = [], 0
    for _ in range(calls):
        text, fields, wanted = query()
        begun = time.perf_counter()
        page = client.search(text, **fields)
        times.append((time.perf_counter() - begun) * 1_000)
        if wanted and wanted not in {each.account_id for each in page.accounts}:
            wrong += 1
    return sorted(times), wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accounts", type=int, default=100_000)
    parser.add_argument("--calls", type=int, default=300)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="latchkey-search-"))
    simulator = Simulator.start(prepare(folder))
    server = Server.start(folder, simulator, store={"search": False})
    failed = 0
    try:
        samples: list[tuple[Any, ...]] = []
        server.stop()
        begun = time.monotonic()
        fill(server, options.accounts, samples)
        print(f"{options.accounts:,} accounts filled in {time.monotonic() - begun:.1f} s", flush=True)
        server.settings["store"]["search"] = True
        server.launch()
        client = Client(server, key="admin")
        print(f"index built in {built(client, 7_200):.1f} s", flush=True)
        part = client.search("xyz").match == 1
        letters = random.Random(2)

        def sample() -> tuple[Any, ...]:
            return letters.choice(samples)

        def email() -> tuple[str, dict[str, Any], str]:
            row = sample()
            return row[2], {}, row[0]

        def phone() -> tuple[str, dict[str, Any], str]:
            row = sample()
            return row[6], {}, row[0]

        def middle() -> tuple[str, dict[str, Any], str]:
            row = sample()
            return row[2].split("@")[0][4:], {}, row[0]

        def name() -> tuple[str, dict[str, Any], str]:
            row = sample()
            return row[3].lower(), {"page_size": 100}, ""

        def common() -> tuple[str, dict[str, Any], str]:
            return ("example.com" if part else letters.choice(SYLLABLES)[:2] + "a"), {}, ""

        def rare() -> tuple[str, dict[str, Any], str]:
            return f"{word(letters)}{word(letters)}", {}, ""

        kinds = {"whole email": email, "phone number": phone, "name": name, "common text": common, "no match": rare,
                 "filter alone": lambda: ("", {"disabled": True}, ""),
                 "text and filter": lambda: (word(letters)[:4] if part else "ala", {"disabled": True}, "")}
        if part:
            kinds["middle of an email"] = middle
        for kind, query in kinds.items():
            times, wrong = measure(client, options.calls, query)
            failed += wrong
            print(f"{kind:20} p50 {statistics.median(times):7.2f} ms   p99 {times[int(len(times) * 0.99)]:7.2f} ms   "
                  f"max {times[-1]:7.2f} ms   wrong {wrong}", flush=True)
        client.close()
    finally:
        server.stop()
        simulator.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
