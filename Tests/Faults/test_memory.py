"""The n-th allocation of each C library fails, for every n that a user's calls make (the tests of SQLite and nghttp2 do
the same).

If a C library lacks memory, the call fails with a reason or its connection is closed. Acknowledged changes stay, no
memory leaks, and a correct password is never reported as wrong (`script.Day.ask`). Swift's own allocations cannot fail
without ending the process, and a few functions without an error result also end it (`patient.MEANT`). The kill loop
shows that this loses nothing.
"""

from __future__ import annotations

import errno
from collections.abc import Callable

import passkeys
import pytest
from conftest import step
from faults import Faults, Point, every_failure
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1 import passkey_service_pb2 as service_messages
from passkeys import Device
from patient import Patient
from processes import Server, Simulator
from script import Caller, Lost, Refused

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


@pytest.mark.timeout(1800)
def test_a_passkey_without_memory_ends_in_a_typed_answer(
        serve: Callable[..., Server], faults: Faults, simulator: Simulator) -> None:
    """A right response may be rejected as a wrong one: the user starts again. A wrong one is never accepted."""
    settings = {**passkeys.SETTINGS, "policy": {"passkey": True}}
    server = serve(faults, reactors=1, passwords={"workers": 1}, **settings)
    patient = Patient(server, faults, simulator)

    def run() -> None:
        device = Device()
        try:
            with Caller(server) as caller:
                account = use(caller, device)
                assert use(caller, device, wrong=True) == "INVALID_PASSKEY" and use(caller, device) == account
            patient.outcomes["whole"] += 1
        except Refused as refusal:
            patient.outcomes[f"refused {refusal.reason}"] += 1
        except Lost:
            patient.outcomes["connection closed"] += 1

    run()
    assert patient.outcomes["whole"] == 1
    assert every_failure(faults, Point.MEMORY_FIDO2, run, patient.check, step=step(1)) > 50
    # A release build traps without a message.
    stops = {"process stopped: libfido2 has no memory", "process stopped: release build"}
    assert set(patient.outcomes) <= {"whole", "connection closed", "refused INVALID_PASSKEY"} | stops, patient.outcomes
    assert sum(patient.outcomes[stop] for stop in stops) < 10, patient.outcomes


def use(caller: Caller, device: Device, wrong: bool = False) -> str:
    """Signs up with a device, or in if it has a passkey. Returns the account, or why a wrong response was rejected."""
    service = "PasskeyService"
    if device.is_registered:
        begun = caller.call(f"{service}/StartSignIn", service_messages.StartSignInRequest(),
                            service_messages.StartSignInResponse)
        changes = {"signature": lambda value: value[:-1] + bytes([value[-1] ^ 1])} if wrong else {}
        credential = passkeys.used(begun.sign_in_id, device.get(begun.options_json, **changes))
    else:
        begun = caller.call(f"{service}/StartRegistration", service_messages.StartRegistrationRequest(),
                            service_messages.StartRegistrationResponse)
        credential = passkeys.registered(begun.registration_id, device.create(begun.options_json))
    try:
        answer = caller.call("AuthService/SignIn", auth.SignInRequest(credential=credential), auth.SignInResponse)
    except Refused as refusal:
        if not wrong:
            raise
        return refusal.reason
    assert not wrong, "a wrong signature was accepted"
    return str(answer.session.account.account_id)


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
