#!/usr/bin/env python3
"""Measures which rows of PostgreSQL limit the rate of changes, and what the limits of callers cost.

    LATCHKEYD=.build/release/latchkeyd .venv/tests/bin/python Tests/Faults/hot_rows.py --seconds 5

Each workload runs with one and with three replicas, with commits as fast as the disk and with commits that take 5 ms
longer, and with the caller's limit and without it. The database waits before each commit (`commit_delay`), as for a
distant standby. Prints the rate of each run, the share that remains with the limit, and the statements that waited for
locks, with the number of sampled waits. Exits with 1 if less than the wanted share remains.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import surroundings  # noqa: F401

from configuration import KEYS, Settings
from postgres import Database, Unavailable
from processes import LATCHKEYD, Server, Simulator, prepare
from replicas import older_replica

# Each workload with the limit of its caller.
WORKLOADS = {
    "sign-in-anonymous": "sign_ups_per_caller_max",
    "start-flow": "flow_starts_per_caller_max",
    "send-email-link": "sends_per_caller_max",
}
DELAYS_MILLIS, REPLICAS = (0, 5), (1, 3)
LIMIT = 1_000_000_000
SAMPLE_SECONDS = 0.02
WAITING = """SELECT left(regexp_replace(query, '\\s+', ' ', 'g'), 70) FROM pg_stat_activity
  WHERE wait_event_type = 'Lock'"""


class Sampler:
    """Counts the statements that wait for a lock, by their text."""

    def __init__(self, database: Database) -> None:
        self.database, self.found = database, Counter[str]()
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        with self.database.connect() as connection:
            while not self.is_over.wait(SAMPLE_SECONDS):
                self.found.update(row[0] for row in connection.execute(WAITING))

    def stop(self) -> None:
        self.is_over.set()
        self.thread.join()


def rate(servers: list[Server], workload: str, options: argparse.Namespace) -> float:
    """The completed iterations of all replicas in a second."""
    folder = servers[0].folder
    (folder / "web.api-key").write_text(KEYS["web"])
    running = [subprocess.Popen(
        [options.load, workload, "--server", server.address, "--ca", folder / "authority.pem",
         "--api-key-file", folder / "web.api-key", "--connections", "4", "--streams", "16",
         "--duration", str(options.seconds), "--warm-up", "1", "--json", "-", "--quiet"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for server in servers]
    reports = []
    for each in running:
        out, said = each.communicate()
        if each.returncode:
            raise RuntimeError(f"{workload} ended with {each.returncode}: {said[-1000:]} {out[-1000:]}")
        reports.append(json.loads(out))
    return sum(float(report["calls_per_second"]) for report in reports)


def measure(folder: Path, options: argparse.Namespace) -> float:
    """Returns the smallest share of a rate that remains with a limit."""
    shares = []
    simulator = Simulator.start(prepare(folder))
    try:
        for delay in DELAYS_MILLIS:
            for count in REPLICAS:
                for workload in options.workloads or WORKLOADS:
                    rates = {}
                    for limit in (0, LIMIT):
                        rates[limit], waits = run(folder, simulator, delay, count, workload, limit, options)
                    share = rates[LIMIT] / rates[0]
                    shares.append(share)
                    print(f"+{delay} ms, {count} replicas, {workload}: {rates[LIMIT]:.0f}/s with the limit, "
                          f"{rates[0]:.0f}/s without it: {share:.0%}", flush=True)
                    for text, number in waits.most_common(3):
                        print(f"    {number:6} waits: {text}", flush=True)
    finally:
        simulator.stop()
    return min(shares)


def run(folder: Path, simulator: Simulator, delay: int, count: int, workload: str, limit: int,
        options: argparse.Namespace) -> tuple[float, Counter[str]]:
    with Database.started() as database:
        with database.connect() as administrator:
            for setting, value in {"commit_delay": 1000 * delay, "commit_siblings": 0}.items():
                administrator.execute(f"ALTER SYSTEM SET {setting} = {value}")
            administrator.execute("SELECT pg_reload_conf()")
        overrides: dict[str, Settings] = {
            "throttles": {name: limit for name in WORKLOADS.values()} | {
                "flow_starts_per_network_max": 0, "sends_per_network_max": 0, "sign_ups_per_network_max": 0},
            "policy": {"email_link": True, "pending_per_caller_max": 10_000_000, "pending_total_max": 100_000_000},
            "delivery": {"queue_max": 10_000_000},
        }
        servers = [older_replica(folder, simulator, database.conninfo, **overrides) for _ in range(count)]
        sampler = Sampler(database)
        try:
            return rate(servers, workload, options), sampler.found
        finally:
            sampler.stop()
            for server in servers:
                server.stop()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=int, default=5, help="length of each measurement")
    options.add_argument("--share", type=float, default=0.8, help="the share of a rate that must remain with a limit")
    options.add_argument("--workloads", nargs="*", choices=WORKLOADS, help="only these")
    options.add_argument("--load", type=Path, default=LATCHKEYD.parent / "latchkey-load", help="another load generator")
    chosen: Any = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="latchkey-hot-rows-"))
    begun = time.monotonic()
    try:
        smallest = measure(folder, chosen)
    except Unavailable as why:
        print(why)
        return 2
    finally:
        shutil.rmtree(folder)
    print(f"The smallest share is {smallest:.0%}; {time.monotonic() - begun:.0f} s in all")
    return 0 if smallest >= chosen.share else 1


if __name__ == "__main__":
    sys.exit(main())
