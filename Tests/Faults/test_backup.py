"""The n-th disk call or allocation of a backup fails: it leaves no file, and the next backup is complete."""

from __future__ import annotations

import errno
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import step
from faults import Faults, Point, every_failure
from latchkey.v1 import admin_service_pb2 as admin
from patient import Patient
from processes import Server, Simulator
from script import Caller, Lost, Refused

WHOLE_RUN = 1 << 40
REASONS = {"BACKUP_FAILED", "BACKUP_STORAGE_FULL", "STORE_UNAVAILABLE"}
POINTS = {Point.STORE_OPEN: errno.EIO, Point.STORE_READ: errno.EIO, Point.STORE_WRITE: errno.ENOSPC,
          Point.STORE_LOCK: errno.EIO, Point.STORE_MAP: errno.ENOMEM, Point.STORE_TRUNCATE: errno.EIO,
          Point.MEMORY_SQLITE: errno.ENOMEM}


class Keeper:
    """An administrator of one server, who makes backups."""

    def __init__(self, server: Server, copies: Path) -> None:
        self.server, self.copies = server, copies
        self.made: list[str] = []
        self.outcomes: Counter[str] = Counter()

    def back_up(self) -> None:
        with Caller(self.server, timeout_seconds=30) as caller:
            answer = caller.call("AdminService/Backup", admin.BackupRequest(), admin.BackupResponse)
        self.made.append(answer.file_name)

    def try_to_back_up(self) -> None:
        try:
            self.back_up()
            self.outcomes["made"] += 1
        except Refused as refusal:
            assert refusal.reason in REASONS, refusal
            self.outcomes[refusal.reason] += 1
        except Lost:
            self.outcomes["connection closed"] += 1

    def look(self) -> None:
        digests = [f"{name}.sha256" for name in self.made]
        assert sorted(path.name for path in self.copies.iterdir()) == sorted(self.made + digests)
        rows = sqlite3.connect(f"file:{self.copies / self.made[-1]}?mode=ro", uri=True)
        assert rows.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows.close()

    def check(self, number: int) -> None:
        self.look()
        self.back_up()
        self.look()


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    return tmp_path / "copies"


@pytest.fixture
def keeper(serve: Callable[..., Server], faults: Faults, simulator: Simulator, copies: Path) -> Keeper:
    server = serve(faults, reactors=1, passwords={"workers": 1}, store={"backup_folder": str(copies)})
    # The rows that a user's calls leave in the database, and the statements that are prepared once.
    Patient(server, faults, simulator)
    keeper = Keeper(server, copies)
    keeper.back_up()
    return keeper


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name.lower())
@pytest.mark.timeout(1800)
def test_a_failed_backup_leaves_nothing_and_the_next_one_is_complete(
        keeper: Keeper, faults: Faults, point: Point) -> None:
    # A backup makes hundreds of allocations, and dozens of disk calls.
    short = 60 if point is Point.MEMORY_SQLITE else 7
    every_failure(faults, point, keeper.try_to_back_up, keeper.check, step=step(short), error=POINTS[point])
    print(dict(keeper.outcomes))


def test_a_full_disk_is_reported_as_full_and_nothing_is_left(keeper: Keeper, faults: Faults) -> None:
    with faults.armed(Point.STORE_WRITE, 1, count=WHOLE_RUN, error=errno.ENOSPC):
        keeper.try_to_back_up()
    assert keeper.outcomes == {"BACKUP_STORAGE_FULL": 1}
    keeper.check(1)
