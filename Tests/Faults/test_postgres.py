"""Short runs of database faults, first on PostgreSQL alone: the tools cause the fault that they name, and no other."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from checker import Ledger, PostgresCheck
from database_loop import DatabaseLoop
from journal import Entry
from postgres import Database
from postgres_pair import Pair
from proxy import Cut, HalfClose, Proxy, Slow, Stall
from skipping import skipping
from waiting import until

DISK_MEBIBYTES = 160
# Outages that callers may see if the database returns immediately, and if its machine is lost (its lease is 8 s).
OUTAGE_SECONDS_MOST, FAILOVER_SECONDS_MOST = 32.0, 100.0


# The tools.

class Writer:
    """Counts up in a table, in one transaction each, until it is stopped. Remembers acknowledged numbers."""

    def __init__(self, conninfo: str, connect_seconds: int) -> None:
        self.conninfo = f"{conninfo} connect_timeout={connect_seconds}"
        self.acknowledged, self.failures = list[int](), 0
        with psycopg.connect(conninfo, autocommit=True) as made:
            made.execute("CREATE TABLE IF NOT EXISTS counted (number BIGINT PRIMARY KEY)")
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        number = 0
        while not self.is_over.is_set():
            try:
                with psycopg.connect(self.conninfo, autocommit=True) as rows:
                    while not self.is_over.is_set():
                        number += 1
                        rows.execute("INSERT INTO counted VALUES (%s)", [number])
                        self.acknowledged.append(number)
            except psycopg.Error:
                self.failures += 1
                time.sleep(0.02)

    def stop(self) -> None:
        self.is_over.set()
        self.thread.join()

    def lost(self, conninfo: str) -> set[int]:
        with psycopg.connect(conninfo) as rows:
            return set(self.acknowledged) - {number for number, in rows.execute("SELECT number FROM counted")}


@contextlib.contextmanager
def writing(conninfo: str, connect_seconds: int = 30) -> Iterator[Writer]:
    writer = Writer(conninfo, connect_seconds)
    try:
        yield writer
    finally:
        writer.stop()


def wait_for_more(writer: Writer) -> None:
    """Waits until it has written again."""
    known = len(writer.acknowledged)
    until(lambda: len(writer.acknowledged) > known, otherwise="nothing is written any more")


def test_a_killed_database_restarts_with_everything_that_it_acknowledged(database: Database) -> None:
    with writing(database.conninfo) as writer:
        for _ in range(3):
            wait_for_more(writer)
            database.kill()
            database.launch()
        wait_for_more(writer)
    assert writer.failures >= 3 and writer.lost(database.conninfo) == set()


def test_terminated_back_ends_do_not_end_the_database_server(database: Database) -> None:
    with writing(database.conninfo) as writer:
        wait_for_more(writer)
        assert database.terminate_backends() == 1
        wait_for_more(writer)
    assert writer.failures == 1 and writer.lost(database.conninfo) == set()


def test_a_paused_database_does_not_answer_and_continues_afterwards(database: Database) -> None:
    with writing(database.conninfo) as writer:
        wait_for_more(writer)
        with database.paused():
            time.sleep(0.2)
            known = len(writer.acknowledged)
            time.sleep(0.5)
            assert len(writer.acknowledged) == known
        wait_for_more(writer)
    assert writer.failures == 0 and writer.lost(database.conninfo) == set()


def test_a_full_disk_refuses_writes_until_there_is_room() -> None:
    with contextlib.ExitStack() as stack:
        with skipping():
            database = stack.enter_context(Database.started(DISK_MEBIBYTES))
        with psycopg.connect(database.conninfo, autocommit=True) as rows:
            rows.execute("CREATE TABLE filled (text TEXT)")
            with database.full(), pytest.raises(psycopg.Error):
                for _ in range(10_000):
                    rows.execute("INSERT INTO filled VALUES (repeat('x', 4000))")
        database.serve_again()
        with psycopg.connect(database.conninfo, autocommit=True) as rows:
            rows.execute("INSERT INTO filled VALUES ('there is room')")


@pytest.mark.parametrize("trouble", [Cut, HalfClose, Stall, Slow], ids=lambda trouble: trouble.__name__)
def test_a_bad_network_before_the_database_costs_connections(database: Database, trouble: type) -> None:
    proxy = Proxy(database.port)
    proxy.behaviour = lambda: trouble(0.01) if trouble is Slow else trouble("up", 2_000)
    # No answer counts as an end too, since psycopg would wait forever for a stalled connection.
    impatient = " tcp_user_timeout=500 keepalives_idle=1"
    with psycopg.connect(Database.conninfo_by(proxy.port) + impatient, autocommit=True, connect_timeout=30) as rows:
        timer = threading.Timer(2 if trouble is Stall else 60, proxy.cut_all)
        timer.start()
        begun = time.monotonic()
        with contextlib.suppress(psycopg.Error):
            for _ in range(40):
                rows.execute("SELECT %s::text", ["x" * 100])
        took, is_broken = time.monotonic() - begun, rows.broken
        timer.cancel()
    assert is_broken == (trouble is not Slow)
    assert took > 0.5 if trouble in (Stall, Slow) else took < 12
    proxy.behaviour = Slow
    with psycopg.connect(Database.conninfo_by(proxy.port), connect_timeout=30) as rows:
        assert rows.execute("SELECT 1").fetchone() == (1,)
    proxy.stop()


@pytest.mark.timeout(300)
def test_a_synchronous_standby_replaces_a_lost_primary_without_loss() -> None:
    with contextlib.ExitStack() as stack:
        with skipping():
            pair = stack.enter_context(Pair.started())
        first = pair.primary
        # The lost machine does not answer.
        with writing(pair.conninfo, connect_seconds=2) as writer:
            wait_for_more(writer)
            took = pair.fail_over()
            wait_for_more(writer)
            # The lost machine is back, and follows the new primary.
            pair.wait_for_both()
            assert pair.primary is not first
        print(f"no writes for {took:.1f} s; {len(writer.acknowledged)} rows acknowledged")
        assert took < FAILOVER_SECONDS_MOST and writer.lost(pair.conninfo) == set()


# The checker with PostgreSQL.

TABLES = """
    CREATE TABLE accounts (id TEXT, email TEXT);
    CREATE TABLE identities (account_id TEXT, provider_id TEXT, subject TEXT);
    CREATE TABLE sessions (id TEXT, account_id TEXT, refresh_digest BYTEA, parent_digest BYTEA, closed_at BIGINT);
    CREATE TABLE pendings (account_id TEXT);
    CREATE TABLE pending_counts (scope TEXT, held BIGINT);
    CREATE TABLE count_parts (scope TEXT, held BIGINT);
    CREATE TABLE audit (id TEXT, account_id TEXT, event TEXT);
    CREATE TABLE audit_unplaced (id TEXT, account_id TEXT, event TEXT);
    INSERT INTO accounts VALUES ('a', 'x@example.com');
    INSERT INTO audit VALUES ('1', 'a', 'ACCOUNT_CREATED')
"""


def test_the_check_finds_missing_and_duplicate_rows(database: Database) -> None:
    def found(*people: str) -> tuple[int, int, int]:
        ledger = Ledger()
        # Its session is not checked: a replay has ended it.
        ledger.add(Entry("refused", f"{each} r", "replay", each) for each in people)
        for each in people:
            ledger.people[each].events.clear()
            ledger.add([Entry("told", each, "sign_up", each, email=f"{each}@example.com", account_id=each)])
        seen = PostgresCheck.of_database(database.conninfo, ledger)
        return len(seen.lost), len(seen.doubled), len(seen.broken)

    with psycopg.connect(database.conninfo, autocommit=True) as rows:
        rows.execute(TABLES)
        assert found("a") == (0, 0, 0)
        assert found("a", "b") == (1, 0, 0), "an account that is only in the journal"
        assert found() == (0, 1, 0), "an account without a request"
        rows.execute("INSERT INTO audit_unplaced VALUES ('1', 'a', 'ACCOUNT_CREATED')")
        assert found("a") == (0, 2, 0), "an event that exists twice"


# Replicas of the server.

@pytest.fixture
def loop(tmp_path: Path) -> DatabaseLoop:
    return DatabaseLoop(tmp_path, secrets.randbelow(1 << 32))


@pytest.mark.parametrize("kind", ["kill", "pause", "termination", "network", "full disk"])
@pytest.mark.timeout(300)
def test_nothing_acknowledged_is_lost_or_doubled_by_faults_of_the_database(loop: DatabaseLoop, kind: str) -> None:
    with skipping():
        result = loop.run({kind: 3})
    print(result)
    assert result.is_good, "\n".join([str(result), *result.found.all])
    assert result.befallen[kind] == 3 and result.told > 50
    assert result.outages_seconds[kind] < OUTAGE_SECONDS_MOST


@pytest.mark.timeout(300)
def test_nothing_acknowledged_is_lost_or_doubled_by_a_failover(loop: DatabaseLoop) -> None:
    with skipping():
        result = loop.run({"failover": 1})
    print(result)
    assert result.is_good, "\n".join([str(result), *result.found.all])
    assert result.befallen["failover"] == 1 and result.outages_seconds["failover"] < FAILOVER_SECONDS_MOST
