"""The n-th allocation of each C library fails, for every n that a user's calls make (the tests of SQLite and nghttp2 do
the same).

If a C library lacks memory, the call fails with a reason or its connection is closed. Acknowledged changes stay, no
memory leaks, and a correct password is never reported as wrong (`script.Day.ask`). Swift's own allocations cannot fail
without ending the process, and a few functions without an error result also end it (`patient.MEANT`). The kill loop
shows that this loses nothing.
"""

from __future__ import annotations

import errno

import pytest
from conftest import step
from faults import Faults, Point, every_failure
from patient import Patient

# The distance between tried failures in the short form; primes, so that repeated allocations are not in step.
LIBRARIES = {Point.MEMORY_NGHTTP2: 1, Point.MEMORY_OPENSSL: 13, Point.MEMORY_SQLITE: 11, Point.MEMORY_SODIUM: 1,
             Point.MEMORY_TEXT: 5}


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda point: point.name.removeprefix("MEMORY_").lower())
@pytest.mark.timeout(1800)
def test_every_allocation_that_fails_once_ends_in_a_typed_answer_or_a_closed_connection(
        patient: Patient, library: Point) -> None:
    failures = every_failure(patient.faults, library, patient.live, patient.check, step=step(LIBRARIES[library]))
    assert failures > 5, "the day takes allocations of this library"


@pytest.mark.parametrize("library", [Point.MEMORY_NGHTTP2, Point.MEMORY_OPENSSL, Point.MEMORY_SQLITE],
                         ids=lambda point: point.name.removeprefix("MEMORY_").lower())
@pytest.mark.timeout(1800)
def test_allocations_that_fail_for_a_while_have_the_same_effect(patient: Patient, library: Point) -> None:
    every_failure(patient.faults, library, patient.live, patient.check, step=step(10 * LIBRARIES[library]), count=25)


@pytest.mark.timeout(1800)
def test_a_start_without_memory_ends_with_an_error_and_leaves_a_sound_database(patient: Patient) -> None:
    """Spread over the start, since it makes forty thousand allocations."""
    starts = 400 if step(0) == 1 else 8
    for library in (Point.MEMORY_SQLITE, Point.MEMORY_OPENSSL):
        patient.server.kill()
        before = patient.faults.passages(library)
        patient.server.launch()
        passages = patient.faults.passages(library) - before
        for number in range(1, passages, passages // starts):
            patient.server.kill()
            with patient.faults.armed(library, number):
                patient.try_to_launch()
            patient.start_again()


@pytest.mark.timeout(1800)
def test_a_fetch_without_memory_ends_in_a_typed_answer(patient: Patient) -> None:
    """A new process has no provider keys, and libcurl allocates most of its memory at the first fetch."""
    def run() -> None:
        patient.server.kill()
        patient.try_to_launch()
        if patient.is_running:
            patient.live()

    def check(number: int) -> None:
        # A failed fetch is not repeated for seconds (KeyCache), so a new process avoids the wait.
        patient.server.stop()
        patient.start_over()
        patient.live_undisturbed()

    assert every_failure(patient.faults, Point.MEMORY_CURL, run, check, step=step(11)) > 50


def test_the_helper_stops_after_a_run_without_a_failure(faults: Faults) -> None:
    tried: list[int] = []
    passages = 3

    def run() -> None:
        # What the object does at each passage of an armed point.
        for number in range(1, passages + 1):
            now = faults.passages(Point.STORE_SYNC) + 1
            faults._set(Point.STORE_SYNC, passages=now)
            if faults._get(Point.STORE_SYNC, "from") == now:
                faults._set(Point.STORE_SYNC, failures=1)
                tried.append(number)

    assert every_failure(faults, Point.STORE_SYNC, run, lambda number: None, error=errno.EIO) == passages
    assert tried == [1, 2, 3]
