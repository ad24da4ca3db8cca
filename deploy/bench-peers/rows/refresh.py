"""Refresh, with one durable change and one signed token in each call, compared with SQLite and libcrypto alone."""

from __future__ import annotations

import statistics
from dataclasses import replace

import bounds
import metrics
from figures import Comparison, Finding, Goal, Rate, Series
from stand import LATCHKEY, Stand, need

CALLERS = 256
COMMITS = "latchkey_store_commit_changes_count"
CHANGES = "latchkey_store_commit_changes_sum"


def refresh(stand: Stand) -> list[Finding]:
    """In each round SQLite alone makes as many changes a commit as the server just did, in a copy of its file.

    With many changes a commit SQLite needs a quarter of the time of the signature of the new token. The bound for any
    server is both, one after the other.
    """
    server, seconds = stand.server(LATCHKEY), stand.options.seconds
    callers = ["--prepare", str(CALLERS)]
    # The copy must have the sessions of all these callers.
    stand.load.throughput(server, "refresh", 1, callers)
    store = stand.stores.copy_of_working("bare.db")
    batches: list[int] = []

    def call() -> Rate:
        before = metrics.read(stand.metrics_port)
        rate = stand.load.throughput(server, "refresh", seconds, callers)
        after = metrics.read(stand.metrics_port)
        commits = after[COMMITS] - before[COMMITS]
        need(commits > 0, "Latchkey counts no commits")
        batches.append(max(1, round((after[CHANGES] - before[CHANGES]) / commits)))
        return rate

    def change() -> Rate:
        return bounds.session_updates(
            stand.tools / "session_updates", stand.options.server_core, store, batches[-1], seconds)

    def sign() -> Rate:
        return bounds.signatures(stand.options.server_core, seconds)

    own, alone, signed = stand.turns({LATCHKEY: call, "SQLite alone": change, "P-256 signature alone": sign}).values()
    stand.stores.remove(store)
    alone = replace(alone, name=f"SQLite alone, {round(statistics.median(batches))} changes a commit")
    both = Series("the two, one after the other", tuple(map(bounds.in_turn, alone.values, signed.values)),
                  tuple(map(bounds.in_turn, alone.per_second, signed.per_second)))
    what = f"Refresh by {CALLERS} callers, calls per"
    # A commit waits for the disk, so the goal is in wall-clock time; CPU time is listed as well.
    return [
        Finding(f"{what} second", own.by_the_clock(), (
            Comparison(alone.by_the_clock()), Comparison(signed.by_the_clock()),
            Comparison(both.by_the_clock(), Goal(0.4, 0.7)))),
        Finding(f"{what} CPU-second", own.by_cpu_time(), (Comparison(both.by_cpu_time()),)),
    ]
