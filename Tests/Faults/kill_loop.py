#!/usr/bin/env python3
"""Kills the server at random times under load, and compares the contents of its store with the answers to clients.

    LATCHKEYD=.build/release/latchkeyd .venv/tests/bin/python Tests/Faults/kill_loop.py --kills 1000 --seed 1

Prints one line, and exits with 1 if a change was lost, doubled or broken.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path

import surroundings  # noqa: F401

from checker import Check, Found, Ledger
from journal import TOLD, Journal, read
from people import Actor
from processes import Server, Simulator, prepare
from waiting import comes_true

PROCESSES, CLIENTS_EACH = 2, 4
# Kills before a new database replaces the old one, since an integrity check reads all of it.
KILLS_PER_DATABASE = 50
KILL_AFTER_SECONDS = (0.005, 0.3)
# Acknowledged changes before a kill, for which a slow machine needs longer than that.
CHANGES_BEFORE_MOST = 16
WAIT_SECONDS_MOST = 60.0


def serve_loads(number: int, seed: int, orders: Connection) -> None:
    """A process of clients. Its orders are a new database, a started server, a load, and the end."""
    actors: list[Actor] = []
    server, threads, gone = None, [], threading.Event()
    while (order := orders.recv()) is not None:
        match order:
            case "database", folder, simulator, era:
                actors = [
                    Actor(f"{era}.{number}.{each}", Journal(folder / f"journal-{era}-{number}-{each}"), simulator,
                          random.Random(f"{seed} {era} {number} {each}")) for each in range(CLIENTS_EACH)]
            case "greet", *servers:
                server = servers[number % len(servers)]
                together([threading.Thread(target=guarded, args=(actor, actor.greet, server)) for actor in actors])
            case "load", rush_email:
                gone.clear()
                threads = [threading.Thread(target=guarded, args=(actor, actor.work, rush_email, gone))
                           for actor in actors]
                for thread in threads:
                    thread.start()
            case "end",:
                gone.set()
                for thread in threads:
                    thread.join()
                for actor in actors:
                    actor.client.close()
        orders.send([violation for actor in actors for violation in actor.violations])


def guarded(actor: Actor, act: Callable[..., None], *arguments: object) -> None:
    """Reports any exception of a client as a violation, since its thread has no caller that could catch it."""
    try:
        act(*arguments)
    except Exception as error:
        actor.violations.append(f"{actor.name}: {error!r}")


def together(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@dataclass
class Loads:
    """The client processes, which receive the same orders at the same time."""

    pipes: list[Connection] = field(default_factory=list)
    processes: list[multiprocessing.process.BaseProcess] = field(default_factory=list)

    def start(self, seed: int) -> None:
        context = multiprocessing.get_context("spawn")
        for number in range(PROCESSES):
            ours, theirs = context.Pipe()
            self.pipes.append(ours)
            self.processes.append(context.Process(target=serve_loads, args=(number, seed, theirs), daemon=True))
            self.processes[-1].start()

    def tell(self, *order: object) -> list[str]:
        """The violations that clients saw so far. Processes stay here: clients only connect to them."""
        known = [replace(each, process=None) if isinstance(each, Simulator | Server) else each for each in order]
        for pipe in self.pipes:
            pipe.send(tuple(known))
        return [violation for pipe in self.pipes for violation in pipe.recv()]

    def stop(self) -> None:
        for pipe in self.pipes:
            pipe.send(None)
        for process in self.processes:
            process.join()


def wait_for_changes(journals: Iterable[Path], ends: dict[Path, int], count: int) -> None:
    """Waits for acknowledged changes after these ends of the journals. Without them, the result shows what is wrong."""
    paths = list(journals)
    comes_true(lambda: sum(path.read_bytes()[ends.get(path, 0):].count(TOLD) for path in paths) >= count,
               WAIT_SECONDS_MOST)


@dataclass
class Result:
    seed: int
    kills: int = 0
    told: int = 0
    unheard: int = 0
    found: Found = field(default_factory=Found)
    starts_seconds: list[float] = field(default_factory=list)
    seconds: float = 0

    def __str__(self) -> str:
        starts = self.starts_seconds or [0.0]
        return (f"{self.kills} kills (seed {self.seed}), {self.told} acknowledged changes, {self.unheard} calls "
                f"unanswered and asked again: {len(self.found.lost)} lost, {len(self.found.doubled)} doubled, "
                f"{len(self.found.broken)} broken; start after a kill {statistics.median(starts):.2f} s "
                f"(slowest {max(starts):.2f} s); {self.seconds:.0f} s in all")


class KillLoop:
    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.chance, self.result = folder, random.Random(seed), Result(seed)
        self.simulator, self.loads = Simulator.start(prepare(folder)), Loads()
        self.loads.start(seed)

    def run(self, kills: int) -> Result:
        begun = time.monotonic()
        try:
            for era in range(0, kills, KILLS_PER_DATABASE):
                self.use_database(era, min(KILLS_PER_DATABASE, kills - era))
                if self.result.found.all:
                    break
        finally:
            self.loads.stop()
            self.simulator.stop()
        self.result.seconds = time.monotonic() - begun
        return self.result

    def use_database(self, era: int, kills: int) -> None:
        ledger, ends = Ledger(), dict[Path, int]()
        self.loads.tell("database", self.folder, self.simulator, era)
        server = Server.start(self.folder, self.simulator)
        for kill in range(era, era + kills):
            self.result.found.broken += self.loads.tell("greet", server)
            self.loads.tell("load", f"rush-{kill}@example.com")
            time.sleep(self.chance.uniform(*KILL_AFTER_SECONDS))
            wait_for_changes(self.folder.glob(f"journal-{era}-*"), ends, self.chance.randint(0, CHANGES_BEFORE_MOST))
            server.kill()
            self.result.kills += 1
            self.result.found.broken += self.loads.tell("end")
            for path in sorted(self.folder.glob(f"journal-{era}-*")):
                entries, ends[path] = read(path, ends.get(path, 0))
                ledger.add(entries)
                self.result.unheard += sum(entry.event == "unheard" for entry in entries)
                self.result.told += sum(entry.event == "told" for entry in entries)
            found = Check.of_copy(server.database, ledger)
            for kind in ("lost", "doubled", "broken"):
                getattr(self.result.found, kind).extend(getattr(found, kind))
            if self.result.found.all:
                return  # The files stay for inspection.
            begun = time.monotonic()
            server.launch()
            self.result.starts_seconds.append(time.monotonic() - begun)
        server.stop()
        for path in self.folder.glob(f"{server.database.name}*"):
            path.unlink()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kills", type=int, default=1000)
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    chosen = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="latchkey-kills-"))
    result = KillLoop(folder, chosen.seed).run(chosen.kills)
    for violation in result.found.all:
        print(violation)
    print(result)
    if result.found.all:
        print(f"database and journals: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
