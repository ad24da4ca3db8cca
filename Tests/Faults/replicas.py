"""Servers that share one PostgreSQL database, as replicas of one service do: the same keys, issuer and certificates."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import surroundings  # noqa: F401

from configuration import Settings, settings
from postgres import Unavailable
from processes import LATCHKEYD, Server, Simulator, free_port

# Connections of one reactor.
CONNECTIONS = 4


@cache
def keeps_postgres() -> bool:
    """Whether the server under test has this store at all."""
    listed = subprocess.run([LATCHKEYD, "--list-settings"], check=True, capture_output=True, text=True).stdout
    return "store.postgres" in listed


def require_store() -> None:
    if not keeps_postgres():
        raise Unavailable(f"{LATCHKEYD} has no setting store.postgres: it keeps its data in SQLite only")


def replica(folder: Path, simulator: Simulator, conninfo: str, **overrides: Settings) -> Server:
    """One more server of this database, running."""
    port = free_port()
    chosen = settings(folder, port, simulator.base, **overrides)
    chosen["store"] = {"postgres": {"conninfo": conninfo, "connections": CONNECTIONS}}
    server = Server(folder, port, chosen)
    server.launch()
    return server
