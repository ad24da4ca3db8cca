"""The store in PostgreSQL: compared with pgbench on the same statements, and two replicas compared with one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from calls import Client
from database import Database, Trip
from figures import Comparison, Finding, Goal, Rate, Series
from latchkey_load import Shape
from people import email
from pgbench import DIGEST, script
from servers import Server
from stand import LATCHKEY, Stand, need

CALLERS = 256
CLIENTS = 4
SHAPE = Shape(connections=16, streams=16)
# Each session belongs to a different account of the filled database.
SESSIONS = """
INSERT INTO sessions (id, account_id, caller, refresh_digest, auth_time, sign_in_provider_id, began_with, methods,
  audience, claims_json, created_at, last_used_at, idle_expires_at, expires_at, expires_day, ip_address, user_agent,
  device_id, ends_at, ends_day)
SELECT 'bench' || n, left(md5(n::text), 28), 'anybody', decode('{digest}', 'hex'), 0, 'google.com', 'google.com', 'fed',
  'bench', '', 0, 0, 1900000000000, 1900000000000, 21990, '127.0.0.1', '', '', 1900000000000, 21990
FROM generate_series(1, {count}) AS n
"""


def fetch_in_postgres(stand: Stand) -> list[Finding]:
    with _database(stand) as (database, server):
        with Client(server, stand.authority) as client:
            trips = database.trips_of(lambda: client.fetch_providers(email(1)))
        head = f"\\set n random(0, {stand.options.accounts - 1})"
        file = _write(stand, "fetch", script(head, [trips[_last(trips, "ways_in_by_linked_email")]]))
        series = stand.turns({
            LATCHKEY: partial(_both, stand, database, server, "fetch", ["--addresses", stand.addresses]),
            "pgbench": _pgbench(stand, database, file)})
    what = f"FetchProviders in PostgreSQL, {stand.options.accounts:,} accounts, calls per CPU-second of both"
    return [_finding(what, series, Goal(0.9, 1))]


def refresh_in_postgres(stand: Stand) -> list[Finding]:
    """Two trips for each call: one reads the session, one replaces it."""
    options = ["--prepare", str(CALLERS)]
    with _database(stand) as (database, server):
        one = ["--prepare", "1"]
        trips = database.trips_of(
            lambda: stand.load.throughput(server, "refresh", 1, one, Shape(connections=1, streams=1)))
        change = _last(trips, "rotate_session")
        database.query(SESSIONS.format(digest=DIGEST, count=CALLERS))
        head = f"\\set s random(1, {CALLERS})\n\\set a random(0, 1000000000000)\n\\set b random(0, 1000000000000)"
        file = _write(
            stand, "refresh", script(head, [trips[_last(trips[:change], "session")], trips[change]]))
        series = stand.turns({
            LATCHKEY: partial(_both, stand, database, server, "refresh", options),
            "pgbench": _pgbench(stand, database, file)})
    what = f"Refresh in PostgreSQL by {CALLERS} callers, calls per CPU-second of both"
    return [_finding(what, series, Goal(0.5, 0.7))]


def _finding(what: str, series: dict[str, Series], goal: Goal) -> Finding:
    return Finding(what, series[LATCHKEY], (Comparison(series["pgbench"], goal),))


def _both(stand: Stand, database: Database, server: Server, workload: str, options: list[str]) -> Rate:
    return stand.load.throughput(
        server, workload, stand.options.seconds, options, SHAPE,
        cpu_seconds=lambda: server.cpu_seconds() + database.cpu_seconds())


def _write(stand: Stand, name: str, text: str) -> Path:
    file = stand.home / f"{name}.pgbench"
    file.write_text(text)
    return file


def _pgbench(stand: Stand, database: Database, file: Path) -> Callable[[], Rate]:
    return partial(database.pgbench, file, CLIENTS, stand.options.seconds, stand.options.client_core,
                   {"digest": DIGEST})


def _last(trips: list[Trip], name: str) -> int:
    """The index of the last trip that contains this statement."""
    places = [place for place, trip in enumerate(trips) if any(each == name for each, _ in trip)]
    need(len(places) > 0, f"the database was not asked for {name}")
    return places[-1]


def two_replicas(stand: Stand) -> list[Finding]:
    """The same load on one server, and split over two servers that share the database."""
    findings = []
    with _database(stand) as (database, first):
        second = stand.replica(database.conninfo, "replica-2")
        try:
            second.start(stand.options.server_core)
            for workload, options, name in (
                ("fetch", ["--addresses", stand.addresses], "FetchProviders"),
                ("sign-in-id-token", stand.people.options_for_tokens(), "SignIn with an ID token"),
            ):
                series = stand.turns({
                    "two": partial(_together, stand, [first, second], workload, options),
                    "one": partial(_together, stand, [first], workload, options)})
                findings.append(Finding(
                    f"{name} by two replicas, calls per CPU-second of both", series["two"],
                    (Comparison(series["one"], Goal(0.9, 0.95)),)))
        finally:
            second.stop()
    return findings


def _together(stand: Stand, servers: list[Server], workload: str, options: list[str]) -> Rate:
    rates: list[Rate] = []

    def load(server: Server) -> None:
        shape = Shape(SHAPE.connections // len(servers), SHAPE.streams)
        rates.append(stand.load.throughput(server, workload, stand.options.seconds, options, shape))

    threads = [threading.Thread(target=load, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    need(len(rates) == len(servers), "a replica could not be measured")
    per_second = sum(rate.per_second for rate in rates)
    return Rate(per_second / sum(rate.per_second / rate.per_cpu_second for rate in rates), per_second)


@contextmanager
def _database(stand: Stand) -> Iterator[tuple[Database, Server]]:
    """A filled database with one server, both on the servers' core."""
    database = Database(Path("/tmp") / f"latchkey-bench-{stand.metrics_port}", stand.options.server_core)
    server = None
    try:
        database.start()
        server = stand.replica(database.conninfo, "replica-1")
        server.start(stand.options.server_core)
        database.fill(stand.options.accounts, stand.password_hash())
        yield database, server
    finally:
        if server:
            server.stop()
        database.stop()
