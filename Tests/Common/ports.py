"""Loopback ports for the servers of tests."""

from __future__ import annotations

import os
import random
import socket

# Below the ephemeral ports of Linux (ip_local_port_range), so that no client's socket can take one in between.
FIRST, END = 10_000, 32_768
WORKERS_MAX = 16


def free_port() -> int:
    """A port that was not returned before, and that no other worker of pytest-xdist returns."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % WORKERS_MAX
    while True:
        port = random.randrange(FIRST + worker, END, WORKERS_MAX)
        # A server's database, log and outbox are named after its port.
        if port in _given_ports:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given_ports.add(port)
        return port


_given_ports: set[int] = set()
