"""Replicas that share one PostgreSQL database, with the same keys, issuer and certificates."""

from __future__ import annotations

from pathlib import Path

import surroundings  # noqa: F401

from configuration import Settings, settings
from ports import free_port
from processes import Server, Simulator

# Connections of one reactor.
CONNECTIONS = 4


def replica(folder: Path, simulator: Simulator, conninfo: str, **overrides: Settings) -> Server:
    """A further running server for this database."""
    port = free_port()
    chosen = settings(folder, port, simulator.base, **overrides)
    chosen["store"] = {"postgres": {"conninfo": conninfo, "connections": CONNECTIONS}}
    server = Server(folder, port, chosen)
    server.launch()
    return server
