"""What every row works with: the folder, the cores, the servers, and rounds that take turns."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import bounds
import calls
import configuration
from calls import Client
from figures import Rate, Series
from servers import Server, Unmeasurable, free_port

HERE = Path(__file__).resolve().parent
PASSWORD = "correct horse battery staple"
LATCHKEY, CPP, GO, PYTHON, NGHTTPD = "Latchkey", "gRPC C++", "grpc-go", "Python grpcio", "nghttpd, a constant"


@dataclass(frozen=True)
class Options:
    home: Path
    latchkeyd: Path
    accounts: int
    rounds: int
    seconds: float
    server_core: int
    client_core: int


class Stand:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.home = options.home
        self.authority = self.home / "authority.pem"
        self.simulator_port = free_port()
        self.tools = self.home / "peers"
        self._servers: dict[str, Server] = {}
        self._simulator: Server | None = None
        # The load is made here and by children of this process; servers are sent to their own core.
        os.sched_setaffinity(0, {options.client_core})

    # MARK: Turns

    def turns(self, subjects: Mapping[str, Callable[[], Rate]]) -> dict[str, Series]:
        """Each subject once a round, so that a slow minute of the machine falls on all of them."""
        rates: dict[str, list[Rate]] = {name: [] for name in subjects}
        for number in range(self.options.rounds):
            for name, measure in subjects.items():
                rates[name].append(measure())
            self.tell(f"  round {number + 1} of {self.options.rounds}: "
                      + ", ".join(f"{name} {values[-1].per_cpu_second:,.0f}" for name, values in rates.items()))
        return {name: Series.of(name, values) for name, values in rates.items()}

    def tell(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    # MARK: Servers

    def server(self, name: str) -> Server:
        """Started and asked by a real client at its first use, and kept."""
        if name not in self._servers:
            server = self._make(name)
            self._servers[name] = server
            server.start(self.options.server_core)
            self._examine(name, server)
        return self._servers[name]

    def peers(self, *names: str) -> dict[str, Server]:
        """Those of them that are here; of each other one a line says that it is skipped."""
        found = {}
        for name in names:
            try:
                found[name] = self.server(name)
            except Unmeasurable as missing:
                self.tell(f"  skipped: {missing}")
        return found

    def stop(self) -> None:
        for server in [*self._servers.values(), *([self._simulator] if self._simulator else [])]:
            server.stop()

    def forget(self, name: str) -> None:
        self._servers.pop(name).stop()

    def latchkeyd(self, store: Path, name: str) -> Server:
        """One of our own on this store, not started yet."""
        port = free_port()
        file = self.home / f"{name}.json5"
        file.write_text(configuration.text(port, store, self.simulator_port))
        return Server(LATCHKEY, [str(self.options.latchkeyd), "--config", str(file)], port, self.home / f"{name}.log")

    def _make(self, name: str) -> Server:
        port = free_port()
        arguments = [str(self.home), str(port), str(self.options.accounts)]
        if name == LATCHKEY:
            return self.latchkeyd(self.copy_of_store(self.options.accounts), "latchkeyd")
        if name == NGHTTPD:
            need(shutil.which("nghttpd"), "nghttpd is not installed")
            pages = self._pages()
            command = ["nghttpd", "-n1", "-d", str(pages), "--trailer=grpc-status: 0", str(port),
                       str(self.home / "server.key"), str(self.home / "server.pem")]
            return Server(name, command, port, self.home / "nghttpd.log")
        if name == PYTHON:
            return Server(name, [sys.executable, str(HERE / "peers/grpc_peer.py"), *arguments], port,
                          self.home / "grpcio.log")
        program = {CPP: "grpc_peer_cpp", GO: "grpc_peer_go"}[name]
        need((self.tools / program).exists(), f"{name}: its server is not built here")
        return Server(name, [str(self.tools / program), *arguments], port, self.home / f"{program}.log",
                      {"GOMAXPROCS": "1"})

    def _examine(self, name: str, server: Server) -> None:
        if name == NGHTTPD:
            calls.need_page(server, calls.check(), calls.frame(calls.SERVING), self.authority)
            return
        with Client(server, self.authority) as client:
            client.check()
            client.fetch_providers(self.email())

    def _pages(self) -> Path:
        """What nghttpd sends back: as long as the true answers."""
        pages = self.home / "pages"
        answers = ((calls.check(), calls.SERVING), (calls.fetch_providers(self.email()), calls.REGISTERED))
        for call, answer in answers:
            page = pages / call.method[1:]
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_bytes(calls.frame(answer))
        return pages

    # MARK: Accounts

    def email(self) -> str:
        return f"person{self.options.accounts // 2}@example.com"

    def id_token(self) -> str:
        """Of the provider simulator, for the account of `email`, with everything as its identity in the store is."""
        self._start_simulator()
        number = self.options.accounts // 2
        return self._simulate("mint", "--issuer", "google", "--subject", f"1{number:020}", "--email", self.email(),
                              "--verified", "--hd", "example.com", "--name", f"Person {number}")

    def copy_of_store(self, accounts: int) -> Path:
        """The filled store, copied because sign-ins are written into it."""
        filled = self.filled_store(accounts)
        copy = self.home / "working.db"
        self.remove_store(copy)
        subprocess.run(["cp", "--reflink=auto", filled, copy], check=True)
        return copy

    def copy_of_running_store(self, name: str) -> Path:
        """Taken by SQLite's own backup: the newest rows are in the log of the server that has it open."""
        copy = self.home / name
        self.remove_store(copy)
        subprocess.run(["sqlite3", "-readonly", self.home / "working.db", f".backup {copy}"], check=True)
        return copy

    def remove_store(self, store: Path) -> None:
        for path in self.home.glob(f"{store.name}*"):
            path.unlink()

    def filled_store(self, accounts: int) -> Path:
        """The server makes the file; rows are written past it, since a million sign-ins would take hours."""
        store = self.home / f"store-{accounts}.db"
        done = self.home / f"store-{accounts}.filled"
        sources = [HERE / "fill_store.py", HERE.parents[1] / "Sources/StoreSQLite/Migrations.swift"]
        if done.exists() and all(done.stat().st_mtime > source.stat().st_mtime for source in sources):
            return store
        done.unlink(missing_ok=True)
        self.remove_store(store)
        empty = self.latchkeyd(store, "empty")
        empty.start(self.options.server_core)
        empty.stop()
        self.tell(f"Filling a store with {accounts:,} accounts")
        subprocess.run(["/usr/bin/python3", HERE / "fill_store.py", store, str(accounts), self.password_hash()],
                       check=True)
        done.touch()
        return store

    def password_hash(self) -> str:
        return bounds.password_hash(
            self.tools / "argon2id", PASSWORD, configuration.PASSWORD_MEMORY_KIB, configuration.PASSWORD_ITERATIONS)

    def _start_simulator(self) -> None:
        if self._simulator:
            return
        port = self.simulator_port
        command = [sys.executable, str(HERE.parent / "simulator/simulator.py"), "serve", "--folder",
                   str(self.home / "simulator"), "--port", str(port), "--certificate", str(self.home / "simulator.pem"),
                   "--key", str(self.home / "simulator.key")]
        self._simulator = Server("the provider simulator", command, port, self.home / "simulator.log")
        self._simulator.start(self.options.client_core)

    def _simulate(self, *arguments: str) -> str:
        command = [sys.executable, HERE.parent / "simulator/simulator.py", arguments[0], "--folder",
                   self.home / "simulator", *arguments[1:]]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def need(there: object, why: str) -> None:
    if not there:
        raise Unmeasurable(why)
