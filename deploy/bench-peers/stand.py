"""The common parts of all rows: the cores, the servers, their stores and tokens, and rounds in turn."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import bounds
import calls
import configuration
import h2load
import metrics
from calls import Client
from figures import Rate, Series
from latchkey_load import LatchkeyLoad
from people import PASSWORD, People, addresses, email
from servers import Server, Unmeasurable, free_port
from stores import Stores

PEERS = Path(__file__).resolve().parent / "peers"
LATCHKEY, CPP, GO, PYTHON, NGHTTPD = "Latchkey", "gRPC C++", "grpc-go", "Python grpcio", "nghttpd, a constant"


@dataclass(frozen=True)
class Options:
    home: Path
    latchkeyd: Path
    latchkey_load: Path
    accounts: int
    rounds: int
    seconds: int
    server_core: int
    client_core: int


class Stand:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.home = options.home
        self.authority = self.home / "authority.pem"
        self.tools = self.home / "peers"
        self.load = LatchkeyLoad(options.latchkey_load, self.authority)
        self.metrics_port = free_port()
        self.stores = Stores(self.home, self._make_empty, self.password_hash)
        self.people = People(self.home, options.client_core, self.stores, options.accounts)
        self._servers: dict[str, Server] = {}
        # This process and its children make the load. Servers run on their own core.
        os.sched_setaffinity(0, {options.client_core})

    def tell(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def turns(self, subjects: Mapping[str, Callable[[], Rate]]) -> dict[str, Series]:
        """Measures each subject once in each round, so that a slow minute of the machine affects all of them.

        One round before them does not count: it fills caches and maps pages.
        """
        rates: dict[str, list[Rate]] = {name: [] for name in subjects}
        for measure in subjects.values():
            measure()
        for number in range(self.options.rounds):
            for name, measure in subjects.items():
                rates[name].append(measure())
            self.tell(f"  round {number + 1} of {self.options.rounds}: "
                      + ", ".join(f"{name} {values[-1].per_cpu_second:,.0f}" for name, values in rates.items()))
        return {name: Series.of(name, values) for name, values in rates.items()}

    # Accounts

    @property
    def email(self) -> str:
        return email(self.options.accounts // 2)

    @property
    def addresses(self) -> str:
        return addresses(self.options.accounts)

    def password_hash(self) -> str:
        return bounds.password_hash(
            self.tools / "argon2id", PASSWORD, configuration.PASSWORD_MEMORY_KIB, configuration.PASSWORD_ITERATIONS)

    # Servers

    def server(self, name: str) -> Server:
        """Starts the server at its first use, checks it with a real client, and keeps it."""
        if name not in self._servers:
            server = self._make(name)
            try:
                server.start(self.options.server_core)
                self._examine(name, server)
                if name == LATCHKEY:
                    metrics.wait_for_store_check(self.metrics_port)
            except BaseException:
                server.stop()
                raise
            self._servers[name] = server
        return self._servers[name]

    def peers(self, *names: str) -> dict[str, Server]:
        """The servers that are available. Prints a line for each one that it skips."""
        found = {}
        for name in names:
            try:
                found[name] = self.server(name)
            except Unmeasurable as missing:
                self.tell(f"  skipped: {missing}")
        return found

    def stop(self) -> None:
        for server in self._servers.values():
            server.stop()
        self.people.stop()

    def latchkeyd(self, store: Path, name: str, metrics_port: int = 0) -> Server:
        """A server of our own on this store, not started yet."""
        return self._latchkeyd(configuration.in_file(store), name, metrics_port)

    def replica(self, conninfo: str, name: str) -> Server:
        """The same on a database that other servers may use as well."""
        return self._latchkeyd(configuration.in_postgres(conninfo), name, free_port())

    def _latchkeyd(self, store: str, name: str, metrics_port: int) -> Server:
        port = free_port()
        file = self.home / f"{name}.json5"
        file.write_text(configuration.text(port, store, self.people.simulator.port, metrics_port))
        return Server(LATCHKEY, [str(self.options.latchkeyd), "--config", str(file)], port, self.home / f"{name}.log")

    def _make_empty(self, store: Path) -> None:
        server = self.latchkeyd(store, "empty")
        server.start(self.options.server_core)
        server.stop()

    def _make(self, name: str) -> Server:
        port = free_port()
        arguments = [str(self.home), str(port), str(self.options.accounts)]
        if name == LATCHKEY:
            return self.latchkeyd(self.stores.fresh(self.options.accounts), "latchkeyd", self.metrics_port)
        if name == NGHTTPD:
            need(shutil.which("nghttpd"), "nghttpd is not installed")
            command = ["nghttpd", "-n1", "-d", str(self._pages()), "--trailer=grpc-status: 0", str(port),
                       str(self.home / "server.key"), str(self.home / "server.pem")]
            return Server(name, command, port, self.home / "nghttpd.log")
        if name == PYTHON:
            return Server(name, [sys.executable, str(PEERS / "grpc_peer.py"), *arguments], port,
                          self.home / "grpcio.log")
        program = {CPP: "grpc_peer_cpp", GO: "grpc_peer_go"}[name]
        need((self.tools / program).exists(), f"{name}: its server is not built here")
        return Server(name, [str(self.tools / program), *arguments], port, self.home / f"{program}.log",
                      {"GOMAXPROCS": "1"})

    def _examine(self, name: str, server: Server) -> None:
        if name == NGHTTPD:
            calls.need_page(server, calls.check(), self.authority)
        else:
            with Client(server, self.authority) as client:
                client.check()
                client.fetch_providers(self.email)
        self.tell(f"  {name}: {h2load.agreed_tls(server, calls.check().write(self.home))}")

    def _pages(self) -> Path:
        """The pages that nghttpd sends, of the same length as the real answers."""
        pages = self.home / "pages"
        for call in (calls.check(), calls.fetch_providers(self.email)):
            page = pages / call.method[1:]
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_bytes(calls.frame(call.answer))
        return pages


def need(there: object, why: str) -> None:
    if not there:
        raise Unmeasurable(why)
