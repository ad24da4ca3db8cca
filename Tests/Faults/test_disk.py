"""The n-th disk call fails, for every n that a user's calls make: errors, a full disk, cut writes, syncs.

A call fails with STORE_UNAVAILABLE or its connection is closed, and a failed sync stops the process. When the database
is opened again, no acknowledged change is missing.
"""

from __future__ import annotations

import errno
import secrets
import signal
import sqlite3
from typing import Any

import pytest
from clients import anonymous
from conftest import step
from faults import Point, every_failure
from latchkey.v1 import auth_service_pb2 as auth
from patient import Patient
from script import Caller, Refused

# The kinds of disk failures, and the distance between tried failures in the short form.
WRITES = {"EIO": {"error": errno.EIO}, "ENOSPC": {"error": errno.ENOSPC},
          "cut, then EIO": {"error": errno.EIO, "short": True, "count": 2}}
OTHERS = [Point.STORE_READ, Point.STORE_LOCK, Point.STORE_OPEN, Point.STORE_MAP, Point.STORE_TRUNCATE]
WHOLE_RUN = 1 << 40
FULL_SAYS = "the disk of the store is full"
SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"
SYNC_SAYS = "the store cannot be synced to disk"


def sound_after_kill(patient: Patient) -> None:
    """After the kill, the files are sound, and the next server finds the acknowledged changes in them."""
    patient.server.kill()
    rows = sqlite3.connect(f"file:{patient.server.database}?mode=ro", uri=True)
    assert rows.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    rows.close()
    patient.server.launch()
    patient.live_undisturbed()


@pytest.mark.parametrize("way", WRITES)
@pytest.mark.timeout(1800)
def test_every_failed_write_is_answered_and_nothing_acknowledged_is_missing(patient: Patient, way: str) -> None:
    failures = every_failure(patient.faults, Point.STORE_WRITE, patient.live, patient.check, **WRITES[way])
    assert failures >= 5, "the day commits, each time by one write"
    sound_after_kill(patient)


@pytest.mark.parametrize("point", OTHERS, ids=lambda point: point.name.removeprefix("STORE_").lower())
@pytest.mark.timeout(1800)
def test_every_other_call_to_the_disk_may_fail_too(patient: Patient, point: Point) -> None:
    every_failure(patient.faults, point, patient.live, patient.check, step=step(3), error=errno.EIO)
    sound_after_kill(patient)


@pytest.mark.timeout(600)
def test_every_failed_sync_stops_the_process_and_loses_nothing_acknowledged(patient: Patient) -> None:
    """The pages' state is unknown, and a second sync would report pages as safe that the kernel has dropped."""
    tried = 0

    def check(number: int) -> None:
        nonlocal tried
        if patient.faults.failures(Point.STORE_SYNC) == 0:
            return
        tried += 1
        process = patient.server.process
        assert process is not None
        assert process.wait(60) in (-signal.SIGILL, -signal.SIGTRAP)
        assert SYNC_SAYS in patient.said()
        patient.start_over()
        patient.live_undisturbed()

    every_failure(patient.faults, Point.STORE_SYNC, patient.live, check, error=errno.EIO)
    assert tried >= 5, "the day commits"
    sound_after_kill(patient)


def test_a_full_disk_rejects_only_changes_and_the_server_recovers_with_free_room(patient: Patient) -> None:
    known = patient.day
    assert health(patient) == SERVING
    with patient.faults.armed(Point.STORE_WRITE, 1, count=WHOLE_RUN, error=errno.ENOSPC), Caller(patient.server) as one:
        for _ in range(20):
            with pytest.raises(Refused, match="STORE_UNAVAILABLE"):
                sign_in_anonymously(one, secrets.token_hex(8))
        fetched = one.call("AuthService/FetchProviders", auth.FetchProvidersRequest(email=known.email),
                           auth.FetchProvidersResponse)
        assert fetched.registered
        assert health(patient) == NOT_SERVING
    assert patient.wait_until(lambda: health(patient) == SERVING, 30), "a probe finds that there is room"
    full = [line for line in patient.server.lines() if line["message"] == FULL_SAYS]
    assert len(full) == 1, "one line, not one for each call"
    with Caller(patient.server) as one:
        assert sign_in_anonymously(one, secrets.token_hex(8)).session.account.anonymous
    sound_after_kill(patient)


def health(patient: Patient) -> bytes:
    with Caller(patient.server) as caller:
        return caller.health()


def sign_in_anonymously(caller: Caller, key: str) -> Any:
    request = auth.SignInRequest(credential=anonymous(), idempotency_key=key, client={"device_id": "a browser"})
    return caller.call("AuthService/SignIn", request, auth.SignInResponse)


@pytest.mark.parametrize("point", [Point.STORE_WRITE, Point.STORE_SYNC, Point.STORE_TRUNCATE, Point.STORE_READ],
                         ids=lambda point: point.name.removeprefix("STORE_").lower())
@pytest.mark.timeout(1800)
def test_a_stop_whose_checkpoint_fails_loses_nothing(patient: Patient, point: Point) -> None:
    """The stop writes the log into the file. If that fails, the log stays, and the next start reads it."""
    def stop() -> None:
        patient.server.signal(signal.SIGTERM)
        assert patient.server.wait() in (0, -signal.SIGILL, -signal.SIGTRAP)

    def check(number: int) -> None:
        patient.server.launch()
        patient.live_undisturbed()

    every_failure(patient.faults, point, stop, check, step=step(6), error=errno.EIO)
    sound_after_kill(patient)


@pytest.mark.parametrize("point", [Point.STORE_OPEN, Point.STORE_READ, Point.STORE_WRITE, Point.STORE_SYNC,
                                   Point.STORE_LOCK, Point.STORE_MAP, Point.EPOLL_MAKE, Point.EVENTFD_MAKE],
                         ids=lambda point: point.name.lower())
@pytest.mark.timeout(1800)
def test_a_failed_start_reports_why_and_leaves_a_sound_database(patient: Patient, point: Point) -> None:
    def start() -> None:
        patient.server.kill()
        patient.try_to_launch()

    error = errno.EMFILE if point in (Point.EPOLL_MAKE, Point.EVENTFD_MAKE) else errno.EIO
    every_failure(patient.faults, point, start, lambda number: patient.start_again(), step=step(4), error=error)
    sound_after_kill(patient)
