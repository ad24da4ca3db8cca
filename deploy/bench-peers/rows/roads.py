"""Unary calls from the socket to the answer and back, beside other servers with the same messages."""

from __future__ import annotations

from functools import partial

import calls
import h2load
from calls import Call, Client
from figures import Comparison, Finding, Goal
from h2load import Shot
from servers import Server
from stand import CPP, GO, LATCHKEY, NGHTTPD, PYTHON, Stand

PEERS = (CPP, GO, PYTHON, NGHTTPD)
SMALL = 10_000
LARGE = 10_000_000


def check(stand: Stand) -> list[Finding]:
    return [_beside_peers(stand, calls.check(), "Health.Check, calls per CPU-second",
                          {CPP: Goal(3, 5), NGHTTPD: Goal(aim=0.7)})]


def fetch(stand: Stand) -> list[Finding]:
    what = f"FetchProviders, {stand.options.accounts:,} accounts, calls per CPU-second"
    return [_beside_peers(stand, calls.fetch_providers(stand.email), what, {CPP: Goal(2, 4), GO: Goal(1.2, 2.5)})]


def _beside_peers(stand: Stand, call: Call, what: str, goals: dict[str, Goal]) -> Finding:
    shot = call.write(stand.home)
    servers = {LATCHKEY: stand.server(LATCHKEY), **stand.peers(*PEERS)}
    series = stand.turns({
        name: partial(h2load.throughput, server, shot, stand.options.seconds)
        for name, server in servers.items()})
    own = series.pop(LATCHKEY)
    return Finding(what, own, tuple(Comparison(each, goals.get(name, Goal())) for name, each in series.items()))


def growth(stand: Stand) -> list[Finding]:
    """The same call for an account of a small store and of one that is a thousand times as large."""
    servers: dict[str, Server] = {}
    shots: dict[str, Shot] = {}
    try:
        for accounts in (LARGE, SMALL):
            name = f"{accounts:,} accounts"
            server = stand.latchkeyd(stand.stores.filled(accounts), f"latchkeyd-{accounts}")
            servers[name] = server
            server.start(stand.options.server_core)
            email = f"person{accounts // 2}@example.com"
            with Client(server, stand.authority) as client:
                client.fetch_providers(email)
            shots[name] = calls.fetch_providers(email).write(stand.home / str(accounts))
        large, small = stand.turns({
            name: partial(h2load.throughput, server, shots[name], stand.options.seconds)
            for name, server in servers.items()}).values()
    finally:
        for server in servers.values():
            server.stop()
    what = f"FetchProviders, {LARGE:,} accounts, calls per CPU-second"
    return [Finding(what, large, (Comparison(small, Goal(0.7, 0.9)),))]
