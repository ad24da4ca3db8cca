"""The environment of histories: the servers of one store, the network to their callers, and the faults."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import surroundings  # noqa: F401

from configuration import CHEAP_PASSWORDS, Settings
from postgres import Database
from processes import Server, Simulator
from proxy import Behaviour, Cut, Proxy, Slow
from replicas import replica

# Limits that a history would otherwise reach.
SETTINGS: dict[str, Settings] = {
    "passwords": {**CHEAP_PASSWORDS, "queue_max": 4096},
    "policy": {"pending_per_account_max": 1000, "pending_attempts_max": 100},
    "throttles": {
        "password_failures_max": 100_000, "code_failures_max": 100_000, "password_failures_per_network_max": 0,
        "password_failures_per_caller_max": 0, "code_failures_per_network_max": 0, "code_failures_per_caller_max": 0,
        "sign_ups_per_network_max": 0, "sign_ups_per_caller_max": 0, "flow_starts_per_network_max": 0,
        "flow_starts_per_caller_max": 0, "sends_per_recipient_max": 0, "resets_per_recipient_max": 0,
        "sends_per_network_max": 0, "sends_per_caller_max": 0,
        "changes_per_account_max": 0},
    "limits": {"offences_per_address_max": 1_000_000, "resets_max": 10_000},
}
MAIL_SECONDS = 0.02
REPLICAS = 2
# Seconds that a database hangs, or is away.
HUNG_SECONDS = 0.5
# The share of calls before the first fault of a kind.
FIRST = (0.1, 0.6)
# Faults of a server or its database, and the seconds between two of a kind. A killed database and its servers need time
# to recover.
FAULTS = {"kill": (0.1, 0.6), "terminate": (0.1, 0.6), "pause": (0.3, 1.2), "crash": (1.5, 3.0)}
# The other faults are for PostgreSQL only.
FAULTS_OF_SQLITE = ("kill",)


class Grounds:
    """A context manager that stops at its end everything that it started."""

    def __init__(self, folder: Path, store: str, faults: list[str]) -> None:
        self.folder, self.store, self.faults = folder, store, faults
        self.befallen: Counter[str] = Counter()
        self.chance = random.Random()
        self.servers: list[Server] = []
        self.proxies: list[Proxy] = []
        # Serializes faults, since a server needs its database to start.
        self.turn = asyncio.Lock()
        # Emailed codes by address.
        self.mailed: dict[str, str] = {}

    def __enter__(self) -> Grounds:
        with ExitStack() as stack:
            self.simulator = Simulator.start(self.folder)
            stack.callback(self.simulator.stop)
            if self.store == "postgres":
                self.database = stack.enter_context(Database.started())
            stack.callback(lambda: [each.stop() for each in [*self.proxies, *self.servers]])
            if self.store == "postgres":
                for _ in range(REPLICAS):
                    self.servers.append(replica(self.folder, self.simulator, self.database.conninfo, **SETTINGS))
            else:
                self.servers.append(Server.start(self.folder, self.simulator, **SETTINGS))
            if "proxy" in self.faults:
                self.proxies = [Proxy(server.port) for server in self.servers]
                for proxy in self.proxies:
                    proxy.behaviour = self.behaviour
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def ports(self, count: int) -> list[int]:
        """The ports of the callers. Half of them are direct."""
        return [(self.proxies if self.proxies and number % 2 else self.servers)[number // 2 % len(self.servers)].port
                for number in range(count)]

    def behaviour(self) -> Behaviour:
        """The behavior of one connection: slow, or cut after some calls."""
        self.befallen["bad connections"] += 1
        way = self.chance.choice(["up", "down"])
        if self.chance.random() < 0.2:
            return Slow(self.chance.uniform(0, 0.01))
        return Cut(way, self.chance.randrange(10_000, 200_000))

    async def befall(self, fault: str, share: Callable[[], float], over: asyncio.Event) -> None:
        """Causes the fault once while the share of calls that began grows, and then repeatedly until the histories are
        over."""
        first = self.chance.uniform(*FIRST)
        while share() < first:
            await asyncio.sleep(0.005)
        await self._act(fault)
        while not over.is_set():
            try:
                await asyncio.wait_for(over.wait(), self.chance.uniform(*FAULTS[fault]))
            except TimeoutError:
                await self._act(fault)

    async def _act(self, fault: str) -> None:
        acts = {"kill": self.kill, "terminate": self.terminate, "pause": self.pause, "crash": self.crash}
        async with self.turn:
            await asyncio.to_thread(acts[fault])
        self.befallen[fault] += 1

    def kill(self) -> None:
        server = self.chance.choice(self.servers)
        server.kill()
        server.launch()

    def terminate(self) -> None:
        self.database.terminate_backends()

    def pause(self) -> None:
        with self.database.paused():
            time.sleep(self.chance.uniform(0, HUNG_SECONDS))

    def crash(self) -> None:
        self.database.kill()
        self.database.launch()

    async def collect_mail(self) -> None:
        """Collects codes for a change of address, and removes each file that it has read."""
        while True:
            for server in self.servers:
                for path in (server.folder / str(server.settings["delivery"]["outbox_folder"])).glob("*.json"):
                    message = json.loads(path.read_text())
                    path.unlink()
                    if message["kind"] == "change_email":
                        query = parse_qs(urlsplit(message["values"]["link"]).query)
                        self.mailed[message["to"]] = query["code"][0]
            await asyncio.sleep(MAIL_SECONDS)
