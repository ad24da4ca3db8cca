"""Time from the start of the program to the first answer that a client receives."""

from __future__ import annotations

import time
from pathlib import Path

from calls import Client
from figures import Finding, Goal, Series
from servers import Unmeasurable
from stand import LATCHKEY, Stand

STARTS = 20
POLL_SECONDS = 0.001
START_SECONDS = 20


def start(stand: Stand) -> list[Finding]:
    """The file is in the page cache. Each figure includes the client's connection and handshake."""
    store = stand.stores.filled(stand.options.accounts)
    times = tuple(_start(stand, store) for _ in range(STARTS))
    what = f"Start to first answer, {stand.options.accounts:,} accounts, ms"
    return [Finding(what, Series(LATCHKEY, times), goal=Goal(150, 60, at_least=False))]


def _start(stand: Stand, store: Path) -> float:
    server = stand.latchkeyd(store, "starting")
    begun = time.monotonic()
    server.launch(stand.options.server_core)
    try:
        while not server.is_open():
            if time.monotonic() - begun > START_SECONDS:
                raise Unmeasurable(f"Latchkey does not start; see {server.log}")
            time.sleep(POLL_SECONDS)
        with Client(server, stand.authority) as client:
            client.check()
        return (time.monotonic() - begun) * 1000
    finally:
        server.stop()
