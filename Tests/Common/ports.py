"""Ports of loopback for the servers that tests start."""

from __future__ import annotations

import socket


def free_port() -> int:
    """One that was not given out before: a server's database, log and outbox are named after its port."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port not in _given_ports:
            _given_ports.add(port)
            return port


_given_ports: set[int] = set()
