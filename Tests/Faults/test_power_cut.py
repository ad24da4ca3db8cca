"""A short run of power cuts, and a test that a disk without syncs is detected."""

from __future__ import annotations

import random
import secrets
from pathlib import Path

import pytest
from power_cut import LOCK, LOG, Disk, Kind, Record, Recording, cut, record

CUTS = 400


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return record(tmp_path_factory.mktemp("recording"), secrets.randbelow(1 << 32))


@pytest.mark.timeout(300)
def test_nothing_acknowledged_is_lost_by_a_power_cut_at_any_sync(recording: Recording, tmp_path: Path) -> None:
    result = cut(recording, CUTS, secrets.randbelow(1 << 32), tmp_path)
    print(result)
    assert result.found.all == [], str(result)
    marks = [each for each in recording.records if each.kind == Kind.WRITE and each.file == LOCK]
    assert len(marks) == 6, "two records at each of three starts"
    assert result.cuts == CUTS and result.told > 200 and result.syncs > 100, str(result)


@pytest.mark.timeout(300)
def test_a_disk_that_loses_synced_data_is_detected(recording: Recording, tmp_path: Path) -> None:
    assert cut(recording, 20, 1, tmp_path, honours_syncs=False).found.all


def test_unsynced_writes_are_lost_kept_or_torn_at_sectors() -> None:
    disk = Disk()
    for kind, content in ((Kind.WRITE, b"a"), (Kind.SYNC, b""), (Kind.WRITE, b"b")):
        disk.apply(Record(0, kind, LOG, 0, content * 2048))
    after = {way: bytes(disk.after_cut(LOG, way, random.Random(1))) for way in ("lost", "kept", "torn")}
    assert after["lost"] == b"a" * 2048 and after["kept"] == b"b" * 2048
    parts = {after["torn"][at:at + 512] for at in range(0, 2048, 512)}
    assert parts == {b"a" * 512, b"b" * 512}


def test_a_synced_truncation_is_kept_and_a_write_past_the_end_leaves_zeros() -> None:
    disk = Disk()
    for kind, at, content in ((Kind.WRITE, 4, b"abcd"), (Kind.SYNC, 0, b""), (Kind.TRUNCATE, 2, b"")):
        disk.apply(Record(0, kind, LOG, at, content))
    assert disk.after_cut(LOG, "lost", random.Random(1)) == b"\0\0\0\0abcd"
    assert disk.after_cut(LOG, "kept", random.Random(1)) == b"\0\0"
