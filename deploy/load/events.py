"""Fills a store with accounts and events, and measures the calls of AdminService that help a user.

    events.py --accounts N --events N --calls N

LATCHKEYD names the server. LATCHKEY_TEST_STORE and LATCHKEY_POSTGRES select the store, as in Tests/Scenarios.
deploy/bench-events runs it.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "Tests/Common"), str(ROOT / "Tests/Scenarios")]

import databases  # noqa: E402
from clients import Client  # noqa: E402
from latchkey.v1 import admin_support_pb2 as support  # noqa: E402
from latchkey.v1.event_service_pb2 import EVENT_TYPE_DELETED  # noqa: E402
from processes import Server, Simulator, prepare  # noqa: E402

# The account with a hundredth of all events.
BUSY = "bench-0"
HOUR_MILLIS = 3_600_000
COLUMNS = {
    "accounts": "id, version, email, display_name, photo_url, custom_claims, email_link, custom_token, anonymous, "
                "disabled, made_by_administrator, created_at, idle_since",
    "audit": "position, id, at, account_id, event, caller, details",
    "failures": "key, account_id, reason, call, method, limit_name, caller, network, count, first_at, last_at, "
                "kept_until",
}


def fill_file(path: Path, accounts: int, events: int, now: int) -> None:
    series = "WITH RECURSIVE series (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM series WHERE n + 1 < {})"
    owner = f"CASE WHEN n % 100 = 0 THEN '{BUSY}' ELSE 'bench-' || (abs(random()) % {accounts}) END"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute(
            f"{series.format(accounts)} INSERT INTO accounts ({COLUMNS['accounts']}) SELECT 'bench-' || n, 1, "
            f"'bench-' || n || '@example.com', '', '', '', 0, 0, 0, 0, 0, {now}, {now} FROM series")
        database.execute(
            f"{series.format(events)} INSERT INTO audit ({COLUMNS['audit']}) SELECT n + 1, 'e' || n, "
            f"{now} - ({events} - n) * 100, {owner}, 'SIGNED_IN', 'web', '{{}}' FROM series")
        database.execute(
            f"{series.format(events // 50)} INSERT INTO failures ({COLUMNS['failures']}) SELECT randomblob(32), "
            f"{owner}, 'INVALID_LOGIN_CREDENTIALS', 'SignIn', 'password', '', 'web', '192.0.2.0/24', 3, "
            f"{now} - n * 1000, {now} - n * 1000, {now} + 30 * 86400000 FROM series")
        database.execute("ANALYZE")
    database.close()


def fill_database(conninfo: str, accounts: int, events: int, now: int) -> None:
    owner = f"CASE WHEN n % 100 = 0 THEN '{BUSY}' ELSE 'bench-' || floor(random() * {accounts})::bigint END"
    with databases.connected(conninfo) as database:
        database.execute(
            f"INSERT INTO accounts ({COLUMNS['accounts']}) SELECT 'bench-' || n, 1, 'bench-' || n || '@example.com', "
            f"'', '', '', false, false, false, false, false, {now}, {now} FROM generate_series(0, {accounts - 1}) AS n")
        database.execute(
            f"INSERT INTO audit ({COLUMNS['audit']}) SELECT n + 1, 'e' || n, "
            f"{now} - ({events} - n) * 100::bigint, {owner}, "
            f"'SIGNED_IN', 'web', '{{}}' FROM generate_series(0, {events - 1}) AS n")
        database.execute(f"UPDATE audit_position SET last = {events} WHERE id = 1")
        database.execute(
            f"INSERT INTO failures ({COLUMNS['failures']}) SELECT sha256(n::text::bytea), {owner}, "
            f"'INVALID_LOGIN_CREDENTIALS', 'SignIn', 'password', '', 'web', '192.0.2.0/24', 3, "
            f"{now} - n * 1000::bigint, {now} - n * 1000::bigint, "
            f"{now} + 30 * 86400000::bigint FROM generate_series(0, {events // 50 - 1}) AS n")
        database.execute("ANALYZE")


def measure(name: str, calls: int, call: Callable[[], object]) -> None:
    taken = []
    for _ in range(calls):
        begun = time.perf_counter()
        call()
        taken.append((time.perf_counter() - begun) * 1000)
    taken.sort()
    p50, p99 = (taken[min(len(taken) - 1, len(taken) * share // 100)] for share in (50, 99))
    print(f"| {name} | {p50:.1f} | {p99:.1f} | {taken[-1]:.1f} |", flush=True)


def run(server: Server, accounts: int, calls: int) -> None:
    client = Client(server, key="admin")
    chance = random.Random(7)

    def anyone() -> str:
        return f"bench-{chance.randrange(accounts)}"

    def events(**fields: object) -> support.ListEventsResponse:
        return client.list_events(**fields)

    first = events(account_id=BUSY, page_size=200)
    assert len(first.events) == 200 and first.next_page_token, "the busy account has several pages"
    second = first.next_page_token
    rare = [EVENT_TYPE_DELETED]
    print("| Call | p50 ms | p99 ms | max ms |\n|---|---|---|---|")
    measure("ListEvents of any account", calls, lambda: events(account_id=anyone()))
    measure("ListEvents by email address", calls, lambda: events(email=anyone() + "@example.com"))
    measure("ListEvents of the busy account, first page of 200", calls, lambda: events(account_id=BUSY, page_size=200))
    measure("the same, second page", calls, lambda: events(account_id=BUSY, page_size=200, page_token=second))
    measure("the same, a rare type", max(1, calls // 10), lambda: events(account_id=BUSY, types=rare))
    measure("DiagnoseSignIn", calls, lambda: client.diagnose(email=anyone() + "@example.com"))
    client.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("accounts", "events", "calls"):
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=ROOT / ".build") as name:
        folder = prepare(Path(name))
        simulator = Simulator.start(folder)
        server = Server.start(folder, simulator)
        try:
            server.stop()
            begun, now = time.monotonic(), int(time.time() * 1000) // HOUR_MILLIS * HOUR_MILLIS
            if databases.ON_POSTGRES:
                conninfo = server.settings["store"]["postgres"]["conninfo"]
                fill_database(conninfo, options.accounts, options.events, now)
            else:
                fill_file(server.database, options.accounts, options.events, now)
            store = "PostgreSQL" if databases.ON_POSTGRES else "SQLite"
            print(f"\n{store}: {options.accounts:,} accounts, {options.events:,} events, filled in "
                  f"{time.monotonic() - begun:.0f} s\n", flush=True)
            server.launch()
            run(server, options.accounts, options.calls)
        finally:
            server.stop()
            simulator.stop()


if __name__ == "__main__":
    main()
