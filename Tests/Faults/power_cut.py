#!/usr/bin/env python3
"""Cuts the power at every sync of a load, and checks that acknowledged changes are on the disk.

    .venv/tests/bin/python Tests/Faults/power_cut.py --cuts 20000 --seed 1

SIGKILL loses nothing that was written, so it proves nothing about syncs. Here the server runs once, and the preloaded
object (interpose/trace.c) records each write, truncation and sync of the database and its log, and each outgoing
answer. The script then simulates cuts offline: synced bytes are there, and each later write is lost, kept, or torn at
its sectors, by chance. It assumes that creating and removing a file is durable.
"""

from __future__ import annotations

import argparse
import bisect
import random
import shutil
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

import surroundings  # noqa: F401

from checker import Check, Found, Ledger
from faults import Faults, build
from journal import Entry, Journal, read
from kill_loop import guarded, together
from people import Actor
from processes import Server, Simulator, prepare

RECORD = struct.Struct("<IIQQ")
SECTOR_BYTES = 512
# The files, with their name suffixes. The journal exists while a new database is made.
DATABASE, LOG, JOURNAL, LOCK = range(4)
ENDINGS = {DATABASE: "", LOG: "-wal", JOURNAL: "-journal", LOCK: ".lock"}
WAYS = ("lost", "kept", "some lost", "torn")
CLIENTS, CHANGES_EACH = 3, 60


class Kind(IntEnum):
    WRITE, TRUNCATE, SYNC, SENT, UNLINK = range(5)


@dataclass
class Record:
    # Its offset in the trace.
    offset: int
    kind: Kind
    file: int
    at: int
    bytes: bytes = b""


def records(trace: bytes) -> Iterator[Record]:
    offset = 0
    while offset < len(trace):
        kind, file, at, count = RECORD.unpack_from(trace, offset)
        begun, offset = offset, offset + RECORD.size
        body = trace[offset:offset + count] if kind == Kind.WRITE else b""
        offset += len(body)
        yield Record(begun, Kind(kind), file, at, body)


@dataclass
class Disk:
    """The files as they are certainly on the disk, and the changes since their last sync."""

    synced: dict[int, bytearray] = field(default_factory=lambda: {file: bytearray() for file in ENDINGS})
    unsynced: dict[int, list[Record]] = field(default_factory=lambda: {file: [] for file in ENDINGS})

    def apply(self, record: Record) -> None:
        if record.kind == Kind.UNLINK:
            self.synced[record.file].clear()
            self.unsynced[record.file].clear()
        elif record.kind == Kind.SYNC:
            for each in self.unsynced[record.file]:
                carry_out(each, self.synced[record.file])
            self.unsynced[record.file].clear()
        elif record.kind != Kind.SENT:
            self.unsynced[record.file].append(record)

    def after_cut(self, file: int, way: str, chance: random.Random) -> bytearray:
        content = bytearray(self.synced[file])
        for record in self.unsynced[file]:
            if way == "torn" and record.kind == Kind.WRITE:
                for sector in sectors(record):
                    if chance.random() < 0.5:
                        carry_out(sector, content)
            elif way == "kept" or (way != "lost" and chance.random() < 0.5):
                carry_out(record, content)
        return content


def carry_out(record: Record, content: bytearray) -> None:
    end = record.at + len(record.bytes)
    if record.kind == Kind.TRUNCATE:
        del content[record.at:]
    content.extend(bytes(max(0, end - len(content))))
    content[record.at:end] = record.bytes


def sectors(record: Record) -> Iterator[Record]:
    """Splits a write at the sectors of the file, because a disk writes whole sectors."""
    at, end = record.at, record.at + len(record.bytes)
    while at < end:
        until = min(end, at - at % SECTOR_BYTES + SECTOR_BYTES)
        yield Record(record.offset, Kind.WRITE, record.file, at, record.bytes[at - record.at:until - record.at])
        at = until


@dataclass
class Recording:
    """The records of one load: changes of the disk, and answers to clients."""

    records: list[Record]
    entries: list[Entry]

    @property
    def syncs(self) -> int:
        return sum(record.kind == Kind.SYNC for record in self.records)


def record(folder: Path, seed: int) -> Recording:
    """Runs the load: changes of several clients, a stop with its checkpoint, and as many changes again."""
    faults, trace = Faults(folder, build(folder)), folder / "trace"
    simulator = Simulator.start(prepare(folder))
    server = Server.start(folder, simulator, faults.environment | {"LATCHKEY_TRACE": str(trace)})
    journals = [folder / f"journal-{number}" for number in range(CLIENTS)]
    actors = [Actor(str(number), Journal(path, lambda: trace.stat().st_size), simulator,
                    random.Random(f"{seed} {number}")) for number, path in enumerate(journals)]
    for _ in range(2):
        for actor in actors:
            actor.greet(server)
        for _ in range(CHANGES_EACH):
            together([threading.Thread(target=guarded, args=(actor, change, actor)) for actor in actors])
        server.stop()
        server.launch()
    server.kill()
    simulator.stop()
    violations = [violation for actor in actors for violation in actor.violations]
    assert not violations, violations
    made = list(records(trace.read_bytes()))
    return Recording(made, settled([entry for path in journals for entry in read(path)[0]], made))


def change(actor: Actor) -> None:
    actor.perform(actor.choose())


def settled(entries: list[Entry], made: list[Record]) -> list[Entry]:
    """Sorts the entries by the trace. A client records an answer shortly after it left the server, so the answer is at
    the latest the last one that left before."""
    sent = [record.offset for record in made if record.kind == Kind.SENT]
    for entry in entries:
        if entry.event in ("told", "refused"):
            entry.at = sent[bisect.bisect_left(sent, entry.at) - 1]
    return sorted(entries, key=lambda entry: entry.at)


@dataclass
class Result:
    seed: int
    cuts: int = 0
    syncs: int = 0
    told: int = 0
    found: Found = field(default_factory=Found)
    seconds: float = 0

    def __str__(self) -> str:
        return (f"{self.cuts} power cuts (seed {self.seed}) at {self.syncs} syncs of {self.told} acknowledged changes: "
                f"{len(self.found.lost)} lost, {len(self.found.doubled)} doubled, {len(self.found.broken)} broken; "
                f"{self.seconds:.0f} s")


def cut(recording: Recording, cuts: int, seed: int, folder: Path, *, honours_syncs: bool = True) -> Result:
    """Spreads the cuts evenly over the syncs, each kind in turn. `honours_syncs` is false to test the check itself."""
    result, disk, ledger, waiting = Result(seed, syncs=recording.syncs), Disk(), Ledger(), list(recording.entries)
    begun, sync = time.monotonic(), 0
    for each in recording.records:
        if each.kind == Kind.SYNC:
            sync += 1
            known = bisect.bisect_right([entry.at for entry in waiting], each.offset)
            ledger.add(waiting[:known])
            del waiting[:known]
            while result.cuts < cuts * sync // recording.syncs:
                way, chance = WAYS[result.cuts % len(WAYS)], random.Random(f"{seed} {result.cuts}")
                note(result.found, look(disk, way, chance, ledger, folder), f"cut {result.cuts} ({way}) at sync {sync}")
                result.cuts += 1
        if honours_syncs or each.kind != Kind.SYNC:
            disk.apply(each)
    result.told, result.seconds = len(ledger.told), time.monotonic() - begun
    return result


def look(disk: Disk, way: str, chance: random.Random, ledger: Ledger, folder: Path) -> Found:
    database = folder / "cut.db"
    for file, ending in ENDINGS.items():
        database.with_name(database.name + ending).write_bytes(disk.after_cut(file, way, chance))
    database.with_name(database.name + "-shm").unlink(missing_ok=True)
    alarm = false_alarm(database)
    found = Check.of_file(database, ledger)
    if alarm:
        found.broken.append(alarm)
    return found


def false_alarm(database: Path) -> str:
    """The rule of StoreSQLite/FileMark.swift: whether the next start would take the log for that of another file."""
    record = database.with_name(database.name + ".lock").read_bytes()
    if not record.startswith(b"latchkey-store 1 marks") or len(record) != 64 or record[-1:] != b"\n":
        return ""
    marks = {int(word, 16) for word in record.split()[3:]}
    header = database.read_bytes()[68:72]
    mark = int.from_bytes(header, "big") if len(header) == 4 else 0
    log = database.with_name(database.name + "-wal").stat().st_size
    return f"the log is refused: mark {mark:x}, record {record!r}" if log and marks and mark not in marks else ""


def note(into: Found, found: Found, where: str) -> None:
    for kind in ("lost", "doubled", "broken"):
        getattr(into, kind).extend(f"{where}: {violation}" for violation in getattr(found, kind))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cuts", type=int, default=20_000)
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    chosen = options.parse_args()
    # The loop makes thousands of temporary files there.
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="latchkey-cuts-", dir=memory if memory.is_dir() else None))
    result = cut(record(folder, chosen.seed), chosen.cuts, chosen.seed, folder)
    for violation in result.found.all[:20]:
        print(violation)
    print(result)
    shutil.rmtree(folder)
    return 1 if result.found.all else 0


if __name__ == "__main__":
    sys.exit(main())
