"""Unary calls from the socket to the answer and back, compared with other servers on the same messages."""

from __future__ import annotations

from functools import partial

import calls
import h2load
from calls import Call, Client
from figures import Comparison, Finding, Goal, Series
from people import addresses, email
from servers import Server
from stand import CPP, GO, LATCHKEY, NGHTTPD, PYTHON, Stand

SMALL = 10_000
LARGE = 10_000_000
# Long enough to look up most of them.
WARM_SECONDS = 120


def check(stand: Stand) -> list[Finding]:
    return [_by_h2load(stand, calls.check(), "Health.Check, calls per CPU-second",
                       {CPP: Goal(4, 6), NGHTTPD: Goal(aim=0.7)})]


def fetch(stand: Stand) -> list[Finding]:
    """All addresses by latchkey-load, and one repeated address by h2load, since only h2load can call nghttpd."""
    what = f"FetchProviders, {stand.options.accounts:,} accounts, calls per CPU-second"
    servers = {LATCHKEY: stand.server(LATCHKEY), **stand.peers(CPP, GO, PYTHON)}
    series = stand.turns({
        name: partial(stand.load.throughput, server, "fetch", stand.options.seconds, ["--addresses", stand.addresses])
        for name, server in servers.items()})
    return [
        _finding(what, series, {CPP: Goal(2.7, 4), GO: Goal(2, 3)}),
        _by_h2load(stand, calls.fetch_providers(stand.email), f"{what}, one address", {NGHTTPD: Goal(0.65, 0.85)}),
    ]


def _by_h2load(stand: Stand, call: Call, what: str, goals: dict[str, Goal]) -> Finding:
    shot = call.write(stand.home)
    servers = {LATCHKEY: stand.server(LATCHKEY), **stand.peers(CPP, GO, PYTHON, NGHTTPD)}
    series = stand.turns({
        name: partial(h2load.throughput, server, shot, stand.options.seconds) for name, server in servers.items()})
    return _finding(what, series, goals)


def _finding(what: str, series: dict[str, Series], goals: dict[str, Goal]) -> Finding:
    return Finding(what, series[LATCHKEY], tuple(
        Comparison(each, goals.get(name, Goal())) for name, each in series.items() if name != LATCHKEY))


def growth(stand: Stand) -> list[Finding]:
    """The same call on a small store and on one that is a thousand times as large, with all addresses of each.

    Both servers warm up first, so that they are like servers that have run for hours: their cache of sign-in methods
    holds the accounts that were looked up.
    """
    servers: dict[int, Server] = {}
    try:
        for accounts in (LARGE, SMALL):
            store = stand.stores.filled(accounts)
            stand.stores.read_through(store)
            servers[accounts] = stand.latchkeyd(store, f"latchkeyd-{accounts}")
            servers[accounts].start(stand.options.server_core)
            with Client(servers[accounts], stand.authority) as client:
                client.fetch_providers(email(accounts // 2))
        for accounts, server in servers.items():
            seconds = WARM_SECONDS if accounts == LARGE else stand.options.seconds
            stand.load.throughput(server, "fetch", seconds, ["--addresses", addresses(accounts)])
        large, small = stand.turns({
            f"{accounts:,} accounts": partial(
                stand.load.throughput, server, "fetch", stand.options.seconds, ["--addresses", addresses(accounts)])
            for accounts, server in servers.items()}).values()
    finally:
        for server in servers.values():
            server.stop()
    what = f"FetchProviders, {LARGE:,} accounts, calls per CPU-second"
    return [Finding(what, large, (Comparison(small, Goal(0.9, 1)),))]
