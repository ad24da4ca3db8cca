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
    return launched(folder, conninfo, settings(folder, free_port(), simulator.base, **overrides), LATCHKEYD)


def older_replica(
        folder: Path, simulator: Simulator, conninfo: str, program: Path = LATCHKEYD, **overrides: Settings) -> Server:
    """The same with settings that the previous release knows too, for a program of either release."""
    short = [{name: value for name, value in caller.items() if name not in ("api_keys", "actor", "email_links")}
             | {"api_key_sha256": caller["api_keys"][0]["sha256"]} for caller in callers()]
    for caller in short:
        if "methods" in caller:
            caller["methods"] = [method for method in caller["methods"] if "PasskeyService" not in method]
    chosen = settings(folder, free_port(), simulator.base, callers=short, **overrides)
    return launched(folder, conninfo, chosen | {"secrets": {"master_key_file": "master.key"}}, program)


def launched(folder: Path, conninfo: str, chosen: Settings, program: Path) -> Server:
    further = chosen["store"].get("postgres", {})
    chosen["store"] = {"postgres": {"conninfo": conninfo, "connections": CONNECTIONS} | further}
    server = Server(folder, chosen["listen"]["port"], chosen, program=program)
    server.launch()
    return server
