#!/usr/bin/env python3
"""Takes the database away from two replicas under load, again and again, and compares its contents with the answers to
clients.

    LATCHKEYD=.build/release/latchkeyd .venv/tests/bin/python Tests/Faults/database_loop.py --kills 50 --failovers 10

A kill is SIGKILL to the postmaster of one database, which is started again. A failover is the loss of the machine of a
primary, whose synchronous standby replaces it (Patroni over etcd). `--pauses`, `--terminations`, `--networks` and
`--full-disks` set the number of those faults. Prints one line. Exits with 1 if a change was lost, doubled or broken, or
if a call got no answer within its deadline.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import surroundings  # noqa: F401

import grpc
from checker import Found, Ledger, PostgresCheck
from clients import Client, fresh_email, password
from journal import Entry, Journal, read
from kill_loop import Loads, wait_for_changes
from postgres import Database, Unavailable
from postgres_pair import Pair
from processes import Server, Simulator, prepare
from proxy import Behaviour, Cut, HalfClose, Proxy, Slow, Stall
from replicas import replica

REPLICAS = 2
# The parts of a round: the load before the fault, and the time that a database is away or hangs.
BEFORE_SECONDS, AWAY_SECONDS, HUNG_SECONDS = (0.2, 1.0), (0.0, 1.0), (0.5, 6.0)
NETWORK_SECONDS, FULL_SECONDS = 3.0, 1.0
# Acknowledged changes before each fault, for which a slow machine needs longer than that.
CHANGES_BEFORE = 20
SERVING_SECONDS = 120.0
PROBE_PAUSE_SECONDS = 0.02
DISK_MEBIBYTES = 160


@dataclass
class Result:
    seed: int
    befallen: Counter[str] = field(default_factory=Counter)
    told: int = 0
    unheard: int = 0
    # Calls that reached their own deadline.
    late: int = 0
    found: Found = field(default_factory=Found)
    # The longest time without an answered sign-in, by fault.
    outages_seconds: dict[str, float] = field(default_factory=dict)
    seconds: float = 0

    @property
    def is_good(self) -> bool:
        return not self.found.all and not self.late

    def __str__(self) -> str:
        befallen = ", ".join(f"{count} × {kind}" for kind, count in self.befallen.items())
        outages = ", ".join(f"{seconds:.1f} s by {kind}" for kind, seconds in self.outages_seconds.items())
        return (f"{befallen} (seed {self.seed}), {self.told} acknowledged changes, {self.unheard} calls unanswered and "
                f"asked again, {self.late} late: {len(self.found.lost)} lost, {len(self.found.doubled)} doubled, "
                f"{len(self.found.broken)} broken; longest outage {outages}; {self.seconds:.0f} s in all")


class Probe:
    """A client that signs in at one replica all the time, and records how long sign-ins fail."""

    def __init__(self, server: Server, journal: Journal) -> None:
        self.client = Client(server, certificate="web")
        self.email = fresh_email("probe.example")
        made = self.client.create(self.email)
        journal.write(Entry("told", f"probe {self.email}", "sign_up", f"probe {self.email}", email=self.email,
                            account_id=made.account.account_id, session_id=made.session_id,
                            refresh_token=made.refresh_token))
        self.late, self.longest_seconds, self.last = 0, 0.0, time.monotonic()
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        while not self.is_over.wait(PROBE_PAUSE_SECONDS):
            try:
                self.client.sign_in(password(self.email))
                now = time.monotonic()
                self.longest_seconds, self.last = max(self.longest_seconds, now - self.last), now
            except grpc.RpcError as error:
                self.late += error.code() == grpc.StatusCode.DEADLINE_EXCEEDED

    def take(self) -> float:
        """The longest outage since the last call, including one that still lasts."""
        longest = max(self.longest_seconds, time.monotonic() - self.last)
        self.longest_seconds = 0.0
        return longest

    def stop(self) -> None:
        self.is_over.set()
        self.thread.join()
        self.client.close()


class Field:
    """One database, or one pair, with its replicas and their clients."""

    def __init__(self, stack: ExitStack, loop: DatabaseLoop, name: str, conninfo: str, direct: str) -> None:
        """`conninfo` is the connection of the replicas, `direct` is that of the checker."""
        self.loop, self.name, self.direct = loop, name, direct
        self.ledger, self.ends = Ledger(), dict[Path, int]()
        self.servers = [replica(loop.folder, loop.simulator, conninfo) for _ in range(REPLICAS)]
        for server in self.servers:
            stack.callback(server.stop)
        loop.loads.tell("database", loop.folder, loop.simulator, name)
        probing = Journal(loop.folder / f"journal-{name}-probes")
        self.probes = [Probe(server, probing) for server in self.servers]
        for probe in self.probes:
            stack.callback(probe.stop)

    def round(self, number: int, kind: str, befall: Callable[[], None]) -> None:
        """Runs a load, calls `befall` during it, and then checks the store."""
        loop = self.loop
        # Clients repeat calls without an answer at the other replica.
        loop.result.found.broken += loop.loads.tell("greet", *self.servers[number % 2:], *self.servers[:number % 2])
        for probe in self.probes:
            probe.take()
        loop.loads.tell("load", f"rush-{self.name}-{number}@example.com")
        time.sleep(loop.chance.uniform(*BEFORE_SECONDS))
        wait_for_changes(loop.folder.glob(f"journal-{self.name}-*"), self.ends, CHANGES_BEFORE)
        befall()
        self.wait_until_served()
        loop.result.befallen[kind] += 1
        loop.result.found.broken += loop.loads.tell("end")
        outage = max(probe.take() for probe in self.probes)
        loop.result.outages_seconds[kind] = max(loop.result.outages_seconds.get(kind, 0.0), outage)
        self.check()

    def wait_until_served(self) -> None:
        """Waits until each replica serves again after the fault."""
        begun = time.monotonic()
        while any(probe.last < begun for probe in self.probes):
            if time.monotonic() - begun > SERVING_SECONDS:
                self.loop.result.found.broken.append(f"no client is served {SERVING_SECONDS:.0f} s after the fault")
                return
            time.sleep(0.05)

    def check(self) -> None:
        result = self.loop.result
        for path in sorted(self.loop.folder.glob(f"journal-{self.name}-*")):
            entries, self.ends[path] = read(path, self.ends.get(path, 0))
            self.ledger.add(entries)
            unheard = [entry for entry in entries if entry.event == "unheard"]
            result.unheard += len(unheard)
            result.late += sum(entry.reason == grpc.StatusCode.DEADLINE_EXCEEDED.name for entry in unheard)
            result.told += sum(entry.event == "told" for entry in entries)
        result.late += sum(probe.late for probe in self.probes)
        for probe in self.probes:
            probe.late = 0
        found = PostgresCheck.of_database(self.direct, self.ledger)
        for kind in ("lost", "doubled", "broken"):
            getattr(result.found, kind).extend(getattr(found, kind))


class DatabaseLoop:
    """All faults of a database, each as often as requested."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.chance, self.result = folder, random.Random(seed), Result(seed)
        self.simulator, self.loads = Simulator.start(prepare(folder)), Loads()
        self.loads.start(seed)

    def run(self, counts: dict[str, int]) -> Result:
        begun = time.monotonic()
        try:
            alone = [kind for kind in ("kill", "pause", "termination", "network") for _ in range(counts.get(kind, 0))]
            self.chance.shuffle(alone)
            for name, kinds, use in (
                    ("alone", alone, self.use_database),
                    ("full", ["full disk"] * counts.get("full disk", 0), self.use_small_disk),
                    ("pair", ["failover"] * counts.get("failover", 0), self.use_pair)):
                if kinds and not self.result.found.all:
                    with ExitStack() as stack:
                        use(stack, name, kinds)
        finally:
            self.loads.stop()
            self.simulator.stop()
        self.result.seconds = time.monotonic() - begun
        return self.result

    def use_database(self, stack: ExitStack, name: str, kinds: list[str]) -> None:
        database = stack.enter_context(Database.started())
        proxy = Proxy(database.port)
        stack.callback(proxy.stop)
        field = Field(stack, self, name, Database.conninfo_by(proxy.port), database.conninfo)
        acts = {"kill": lambda: self.kill(database), "pause": lambda: self.pause(database),
                "termination": lambda: [database.terminate_backends() for _ in range(3)],
                "network": lambda: self.trouble(proxy)}
        self.repeat(field, kinds, acts)

    def use_small_disk(self, stack: ExitStack, name: str, kinds: list[str]) -> None:
        database = stack.enter_context(Database.started(DISK_MEBIBYTES))
        self.repeat(Field(stack, self, name, database.conninfo, database.conninfo), kinds,
                    {"full disk": lambda: self.fill(database)})

    def use_pair(self, stack: ExitStack, name: str, kinds: list[str]) -> None:
        pair = stack.enter_context(Pair.started())
        self.repeat(Field(stack, self, name, pair.conninfo, pair.conninfo), kinds, {"failover": pair.fail_over})

    def repeat(self, field: Field, kinds: list[str], acts: dict[str, Callable[[], object]]) -> None:
        for number, kind in enumerate(kinds):
            field.round(number, kind, acts[kind])
            if self.result.found.all:
                return  # The files stay for inspection, as far as they outlive this process.

    def kill(self, database: Database) -> None:
        database.kill()
        time.sleep(self.chance.uniform(*AWAY_SECONDS))
        database.launch()

    def pause(self, database: Database) -> None:
        with database.paused():
            time.sleep(self.chance.uniform(*HUNG_SECONDS))

    def fill(self, database: Database) -> None:
        with database.full():
            time.sleep(FULL_SECONDS)
        database.serve_again()

    def trouble(self, proxy: Proxy) -> None:
        """Breaks existing connections, and makes new ones bad, in one way at a time."""
        kind = self.chance.choice([Cut, HalfClose, Stall, Slow])

        def behaviour() -> Behaviour:
            if kind is Slow:
                return Slow(self.chance.uniform(0.01, 0.1))
            return kind(self.chance.choice(["up", "down"]), self.chance.randrange(100_000))

        proxy.behaviour = behaviour
        proxy.cut_all()
        time.sleep(NETWORK_SECONDS)
        proxy.behaviour = Behaviour
        proxy.cut_all()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, count in (("kills", 50), ("failovers", 10), ("pauses", 5), ("terminations", 10), ("networks", 10),
                        ("full-disks", 3)):
        options.add_argument(f"--{name}", type=int, default=count)
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    chosen = options.parse_args()
    counts = {"kill": chosen.kills, "failover": chosen.failovers, "pause": chosen.pauses,
              "termination": chosen.terminations, "network": chosen.networks, "full disk": chosen.full_disks}
    folder = Path(tempfile.mkdtemp(prefix="latchkey-databases-"))
    try:
        result = DatabaseLoop(folder, chosen.seed).run(counts)
    except Unavailable as reason:
        shutil.rmtree(folder)
        print(reason)
        return 2
    for violation in result.found.all:
        print(violation)
    print(result)
    if not result.is_good:
        print(f"journals and logs: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
