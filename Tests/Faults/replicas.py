"""Replicas that share one PostgreSQL database, with the same keys, issuer and certificates."""

from __future__ import annotations

from pathlib import Path

import surroundings  # noqa: F401

from configuration import Settings, callers, settings
from ports import free_port
from processes import LATCHKEYD, Server, Simulator

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


def older_replica(
        folder: Path, simulator: Simulator, conninfo: str, program: Path = LATCHKEYD, **overrides: Settings) -> Server:
    """The same with settings that the previous release knows too, for a program of either release."""
    port = free_port()
    chosen = settings(folder, port, simulator.base, callers=[short(caller) for caller in callers()], **overrides)
    chosen["secrets"] = {"master_key_file": "master.key"}
    chosen["store"] = {"postgres": {"conninfo": conninfo, "connections": CONNECTIONS}}
    server = Server(folder, port, chosen, program=program)
    server.launch()
    return server


def short(caller: Settings) -> Settings:
    known = {name: value for name, value in caller.items() if name not in ("api_keys", "actor", "email_links")}
    return known | {"api_key_sha256": caller["api_keys"][0]["sha256"]}
