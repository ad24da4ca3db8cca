#!/usr/bin/env python3
"""Lets eight callers at a time use the same few accounts while the network and the servers fail, and checks that one
order of their calls explains all answers.

    LATCHKEYD=.build/release/latchkeyd .venv/tests/bin/python Tests/Faults/histories.py --histories 500 --seed 1

With SQLite one server answers: `kill` kills it at random times, `proxy` is a bad network in front of each caller. With
PostgreSQL two replicas answer, and each may be killed; `terminate`, `pause` and `crash` are faults of the database. A
seed repeats the calls, but not their times. The script prints the history of a violation, shortened as far as possible,
and keeps the whole one in the folder of `--keep`; `--judge FILE...` checks such files again. Exits with 1 if a history
has no explanation or was not decided.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import surroundings  # noqa: F401

import grpc
from callers import CALLERS, Caller, Line, World
from calls import Service
from clients import channel_credentials
from grounds import FAULTS, FAULTS_OF_SQLITE, Grounds
from kept import keep, read
from linear import Operation, check, shorten
from processes import prepare

# Concurrent histories, each on keys of its own.
TOGETHER = 10
CALLS_EACH = 12
# Violations that are shortened, which takes a while, and printed.
SHOWN_MOST = 3
CHANNEL = [("grpc.use_local_subchannel_pool", 1), ("grpc.initial_reconnect_backoff_ms", 50),
           ("grpc.min_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 200), ("grpc.enable_retries", 0)]


@dataclass
class Result:
    """The result of a run. A violation is a text that shows the history."""

    seed: int
    histories: int = 0
    calls: int = 0
    unheard: int = 0
    undecided: int = 0
    violations: list[str] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    seconds: float = 0
    checking_seconds: float = 0

    @property
    def is_good(self) -> bool:
        return not self.violations and not self.undecided

    def __str__(self) -> str:
        befallen = ", ".join(f"{count} {name}" for name, count in sorted(self.faults.items())) or "nothing failed"
        return (f"{self.histories} histories (seed {self.seed}) of {self.calls} calls, {self.unheard} of them "
                f"unanswered; {befallen}: {len(self.violations)} cannot be explained, {self.undecided} not decided; "
                f"{self.seconds:.0f} s in all, {self.checking_seconds:.0f} s of them to check")


class Run:
    """Histories on one store."""

    def __init__(self, folder: Path, seed: int, store: str, faults: list[str], kept: Path | None = None) -> None:
        self.folder, self.store, self.faults, self.result, self.kept = folder, store, faults, Result(seed), kept

    def run(self, histories: int, is_enough: Callable[[Result], bool] = lambda _: True) -> Result:
        """Makes so many histories, and then more until the result is enough."""
        begun = time.monotonic()
        with Grounds(prepare(self.folder), self.store, self.faults) as grounds:
            asyncio.run(self._run(grounds, histories, is_enough))
            self.result.faults = grounds.befallen
        self.result.seconds = time.monotonic() - begun
        return self.result

    async def _run(self, grounds: Grounds, histories: int, is_enough: Callable[[Result], bool]) -> None:
        credentials = channel_credentials(self.folder, certificate="web")
        lines = [Line(grpc.aio.secure_channel(f"localhost:{port}", credentials, CHANNEL))
                 for port in grounds.ports(CALLERS)]
        await asyncio.gather(*(line.channel.channel_ready() for line in lines))
        collecting = asyncio.create_task(grounds.collect_mail())
        first = 0
        while first < histories or not is_enough(self.result):
            numbers = range(first, min(first + TOGETHER, histories) if first < histories else first + TOGETHER)
            first = numbers.stop
            worlds = [World(random.Random(f"{self.result.seed} {number}"), grounds.simulator, grounds.mailed)
                      for number in numbers]
            over, calls = asyncio.Event(), len(worlds) * len(lines) * CALLS_EACH

            def share(worlds: list[World] = worlds, calls: int = calls) -> float:
                return sum(len(world.history) for world in worlds) / calls

            async with asyncio.TaskGroup() as befalling:
                for fault in self.faults:
                    if fault in FAULTS:
                        befalling.create_task(grounds.befall(fault, share, over))
                await asyncio.gather(*(Caller(number, world, line).work(CALLS_EACH)
                                       for world in worlds for number, line in enumerate(lines)))
                over.set()
            for number, world in zip(numbers, worlds, strict=True):
                self.judge(number, world.history)
        collecting.cancel()
        for line in lines:
            await line.channel.close()

    def judge(self, number: int, history: list[Operation]) -> None:
        begun = time.monotonic()
        self.result.histories += 1
        self.result.calls += len(history)
        self.result.unheard += sum(each.answer is None for each in history)
        self.result.kinds.update(f"{each.call.kind} {outcome(each)}" for each in history)
        verdict, part = check(history, service(history))
        if self.kept and not verdict.holds:
            keep(self.kept / f"{self.result.seed}-{number}.jsonl", history)
        if verdict.holds is None:
            self.result.undecided += 1
        elif not verdict.holds:
            told = explain(part, service(history)) if len(self.result.violations) < SHOWN_MOST else ""
            self.result.violations.append(f"history {number} of seed {self.result.seed}\n{told}")
        self.result.checking_seconds += time.monotonic() - begun


def service(history: list[Operation]) -> Service:
    asked = Counter(each.call.key for each in history if each.call.key)
    return Service({key for key, times in asked.items() if times > 1})


def explain(history: list[Operation], model: Service) -> str:
    """The part of the history without an explanation, shortened."""
    verdict, short = check(shorten(history, model), model)
    return show(short, {each.number for each in verdict.stuck})


def outcome(operation: Operation) -> str:
    answer = operation.answer
    return "unheard" if answer is None else answer.reason or answer.outcome


def show(history: list[Operation], stuck: set[int]) -> str:
    """One line for each call, in the order of their beginnings, with times in milliseconds and shortened names. Marks
    the calls that cannot come next in the longest order that the search found."""
    begun = min(each.called for each in history)
    names: dict[str, str] = {}

    def short(value: object) -> str:
        if isinstance(value, frozenset):
            return "+".join(sorted(value))
        text = str(value)
        if len(text) < 16 or text in ("True", "False"):
            return text
        return names.setdefault(text, f"#{len(names) + 1}")

    def fields(thing: object) -> str:
        return " ".join(f"{name}={short(value)}" for name, value in vars(thing).items()
                        if value and name not in ("kind", "outcome", "reason"))

    lines = []
    for each in sorted(history, key=lambda operation: operation.called):
        ended = f"{(each.returned - begun) * 1000:8.1f}" if each.answer else "   never"
        said = f"{outcome(each)} {fields(each.answer)}" if each.answer else "unheard"
        mark = ">" if each.number in stuck else " "
        lines.append(f"{mark} {(each.called - begun) * 1000:8.1f} {ended} caller {each.client} {each.call.kind} "
                     f"{fields(each.call)} -> {said}")
    return "\n".join(lines)


def judge(files: list[Path]) -> int:
    verdicts = []
    for file in files:
        history = read(file)
        verdict, part = check(history, service(history))
        verdicts.append(verdict.holds)
        print(f"{file}: {verdict.holds}")
        if verdict.holds is False:
            print(explain(part, service(history)))
    return 0 if all(verdicts) else 1


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--histories", type=int, default=500)
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite")
    options.add_argument("--faults", default="kill,proxy", help="of kill, proxy, terminate, pause and crash; or none")
    options.add_argument("--keep", type=Path, help="a folder for histories without an explanation")
    options.add_argument("--judge", type=Path, nargs="+", metavar="FILE", help="judge histories that were kept")
    chosen = options.parse_args()
    if chosen.judge:
        return judge(chosen.judge)
    faults = [each for each in chosen.faults.split(",") if each not in ("", "none")]
    if unknown := set(faults) - {*(FAULTS if chosen.store == "postgres" else FAULTS_OF_SQLITE), "proxy"}:
        options.error(f"no such fault of {chosen.store}: {', '.join(sorted(unknown))}")
    folder = Path(tempfile.mkdtemp(prefix="latchkey-histories-"))
    try:
        result = Run(folder, chosen.seed, chosen.store, faults, chosen.keep).run(chosen.histories)
    finally:
        shutil.rmtree(folder)
    for violation in result.violations:
        print(violation)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(result.kinds.items())))
    print(result)
    return 0 if result.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
