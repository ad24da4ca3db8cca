"""The n-th write or sync fails while many changes share a transaction: each caller gets the right answer."""

from __future__ import annotations

import errno
import secrets
import signal
import sqlite3
import threading

import pytest
from conftest import step
from faults import Point, every_failure
from patient import Patient
from script import Caller, Lost, Refused
from test_disk import WRITES, sign_in_anonymously, sound_after_kill


class Crowd:
    """Clients that sign up concurrently, so that their changes share transactions."""

    SIZE = 40

    def __init__(self, patient: Patient) -> None:
        self.patient = patient
        self.told: dict[str, str] = {}
        self.asked: list[str] = []

    def sign_up(self) -> None:
        callers = [Caller(self.patient.server) for _ in range(self.SIZE)]
        start = threading.Barrier(self.SIZE)
        threads = [threading.Thread(target=self.one, args=(caller, start)) for caller in callers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def one(self, caller: Caller, start: threading.Barrier) -> None:
        key = secrets.token_hex(8)
        self.asked.append(key)
        with caller:
            start.wait()
            try:
                self.told[key] = sign_in_anonymously(caller, key).session.account.account_id
            except (Refused, Lost):
                pass

    def ask_again(self) -> None:
        """Repeats of acknowledged calls return the same, the others succeed now, and no account exists twice."""
        with Caller(self.patient.server) as caller:
            for key in self.asked:
                again = sign_in_anonymously(caller, key).session.account.account_id
                assert self.told.setdefault(key, again) == again
        rows = sqlite3.connect(f"file:{self.patient.server.database}?mode=ro", uri=True)
        there = [account_id for account_id, in rows.execute("SELECT id FROM accounts WHERE anonymous = 1")]
        rows.close()
        assert sorted(there) == sorted(self.told.values())
        self.asked.clear()


@pytest.mark.parametrize("way", WRITES)
@pytest.mark.timeout(1800)
def test_changes_that_share_a_transaction_each_get_the_right_answer(patient: Patient, way: str) -> None:
    crowd = Crowd(patient)
    every_failure(patient.faults, Point.STORE_WRITE, crowd.sign_up, lambda number: crowd.ask_again(), step=step(6),
                  **WRITES[way])
    sound_after_kill(patient)
    crowd.ask_again()


@pytest.mark.timeout(600)
def test_a_failed_sync_under_load_acknowledges_nothing_that_may_be_lost(patient: Patient) -> None:
    crowd = Crowd(patient)
    for number in range(1, 4):
        with patient.faults.armed(Point.STORE_SYNC, number, error=errno.EIO):
            while patient.faults.failures(Point.STORE_SYNC) == 0:
                crowd.sign_up()
        assert patient.server.wait(10) in (-signal.SIGILL, -signal.SIGTRAP)
        patient.start_over()
        crowd.ask_again()
    sound_after_kill(patient)
