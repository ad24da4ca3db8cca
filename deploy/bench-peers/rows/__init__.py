"""The rows of the table, in order. Each row measures with a stand and returns its findings."""

from __future__ import annotations

from collections.abc import Callable

from figures import Finding
from rows import counts, handshakes, memory, refresh, replicas, roads, sign_in, start
from stand import Stand

Row = Callable[[Stand], list[Finding]]

ROWS: dict[str, Row] = {
    "check": roads.check,
    "fetch": roads.fetch,
    "sign-in-token": sign_in.by_id_token,
    "sign-in-password": sign_in.by_password,
    "latency": sign_in.latency_beside,
    "refresh": refresh.refresh,
    "growth": roads.growth,
    "handshakes": handshakes.handshakes,
    "memory": memory.memory,
    "start": start.start,
    "counts": counts.counts,
    "postgres-fetch": replicas.fetch_in_postgres,
    "postgres-refresh": replicas.refresh_in_postgres,
    "replicas": replicas.two_replicas,
}
