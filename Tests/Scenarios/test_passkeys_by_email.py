"""StartSignIn with an email address: neither its response nor a later call tells who has an account."""

from __future__ import annotations

import functools
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import passkeys
import pytest
from clients import Client, fresh_email, session
from failures import Refusal, expect_failure, read
from grpc import StatusCode
from latchkey.v1 import types_pb2 as types
from passkeys import Device, add, sign_in, used
from processes import Server, Simulator
from soft_authenticator import decoded, encoded
from timing import assert_same_time

# Without limits of flow starts and sign-ups, which one test client would reach.
THROTTLES = {f"{name}_per_{subject}_max": 0 for name in ("flow_starts", "sign_ups", "code_failures")
             for subject in ("network", "caller")}


@pytest.fixture(scope="module")
def app(folder: Path, simulator: Simulator) -> Iterator[Client]:
    running = Server.start(folder, simulator, **passkeys.SETTINGS, throttles=THROTTLES)
    client = Client(running, key="web")
    yield client
    client.close()
    running.stop()


def allowed(client: Client, email: str) -> list[dict[str, Any]]:
    options = json.loads(client.start_passkey_sign_in(email=email).options_json)
    return list(options["allowCredentials"])


def with_passkey(client: Client, **fields: Any) -> tuple[str, Device]:
    email, device = fresh_email(), Device(**fields)
    add(client, device, client.create(email).id_token)
    return email, device


def shape(options: str) -> Any:
    """The members of options, without the values that differ between any two answers."""
    members = json.loads(options)
    names = [sorted(each.keys() - {"transports"}) for each in members["allowCredentials"]]
    return sorted(members), set(map(tuple, names)), members["rpId"], members["timeout"], members["userVerification"]


def test_check_39_options_for_known_and_unknown_addresses_have_one_shape(app: Client) -> None:
    known, device = with_passkey(app)
    answers = [app.start_passkey_sign_in(email=email) for email in (known, fresh_email())]
    assert shape(answers[0].options_json) == shape(answers[1].options_json)
    assert len(answers[0].sign_in_id) == len(answers[1].sign_in_id)
    assert allowed(app, known) == [
        {"type": "public-key", "id": encoded(device.credential_id), "transports": ["internal"]}]


def test_rare_transports_are_shown_only_to_their_owner(app: Client) -> None:
    email, device = fresh_email(), Device(transports=["ble", "usb"])
    made = add(app, device, app.create(email).id_token).session
    assert "transports" not in allowed(app, email)[0]
    own = app.start_passkey_sign_in(purpose=types.PROOF_PURPOSE_REAUTHENTICATE, id_token=made.id_token)
    assert json.loads(own.options_json)["allowCredentials"][0]["transports"] == ["ble", "usb"]


def test_made_up_answers_differ_as_those_of_users_do(app: Client) -> None:
    answers = [allowed(app, fresh_email()) for _ in range(150)]
    counts = Counter(map(len, answers))
    assert set(counts) <= {1, 2, 3, 4} and counts[1] > counts[2] > 0
    every = [each for answer in answers for each in answer]
    assert len({len(decoded(each["id"])) for each in every}) >= 4
    assert len({tuple(each.get("transports", [])) for each in every}) >= 4


def refusal(call: Callable[[], Any]) -> Refusal:
    try:
        call()
    except grpc.RpcError as error:
        return read(error)
    raise AssertionError("it was accepted")


def rename(credential_id: str, **members: str | None) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """An edit that answers in the name of another passkey, with other members of the response."""

    def edited(answer: dict[str, Any]) -> dict[str, Any]:
        response = {name: value for name, value in (answer["response"] | members).items() if value is not None}
        return answer | {"id": credential_id, "rawId": credential_id, "response": response}

    return edited


@pytest.mark.parametrize("names_email", [True, False], ids=["with the address", "without an address"])
def test_check_39_an_answer_without_the_key_does_not_tell_a_real_id_from_a_made_up_one(
        app: Client, names_email: bool) -> None:
    known, _ = with_passkey(app)
    unknown, stranger = fresh_email(), Device()
    passkeys.sign_up(app, stranger)
    handles = {"a handle of somebody": encoded(os.urandom(64)), "no handle": None}
    changes: dict[str, dict[str, Any]] = {
        "another signature": {}, "without the user": {"flags": 0}, "of another site": {"rp_id": "evil.example"},
        "with backup": {"flags": 0x1D}, "a signature of zeros": {"signature": lambda value: bytes(len(value))}}
    for name, handle in handles.items():
        for what, change in changes.items():
            seen = []
            for email in (known, unknown):
                credential_id = allowed(app, email)[0]["id"]
                started = app.start_passkey_sign_in(email=email if names_email else "")
                answer = stranger.get(
                    started.options_json, answer=rename(credential_id, userHandle=handle), **change)
                failed = refusal(lambda: app.sign_in(used(started.sign_in_id, answer)))
                seen.append((failed.code, failed.reason, failed.text, failed.field, failed.metadata))
            assert seen[0] == seen[1], f"{what}, {name}"
            assert seen[0][1] == "INVALID_PASSKEY"


def test_check_39_a_registration_does_not_tell_a_real_id_from_a_made_up_one(app: Client) -> None:
    known, _ = with_passkey(app)
    for email in (known, fresh_email(), fresh_email()):
        for each in allowed(app, email):
            copy = Device(credential_id=decoded(each["id"]))
            with expect_failure(StatusCode.ALREADY_EXISTS, "PASSKEY_EXISTS"):
                passkeys.sign_up(app, copy)
            with expect_failure(StatusCode.ALREADY_EXISTS, "PASSKEY_EXISTS"):
                add(app, copy, app.create(fresh_email()).id_token)


def test_P10_a_passkey_of_another_account_does_not_answer_for_an_address(app: Client) -> None:
    known, own = with_passkey(app)
    other, foreign = with_passkey(app)
    for email in (known, fresh_email()):
        with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_PASSKEY"):
            sign_in(app, foreign, email=email)
    session(sign_in(app, own, email=known))
    session(sign_in(app, foreign, email=other.upper()))
    session(sign_in(app, foreign))


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize("call", ["start", "finish"])
def test_check_39_passkeys_of_known_and_unknown_addresses_take_the_same_time(app: Client, call: str) -> None:
    known, _ = with_passkey(app)
    emails, stranger = {"known": known, "unknown": fresh_email()}, Device()
    passkeys.sign_up(app, stranger)
    ids = {email: allowed(app, email)[0]["id"] for email in emails.values()}

    def start(email: str) -> None:
        app.start_passkey_sign_in(email=email)

    def finish(email: str) -> float:
        started = app.start_passkey_sign_in(email=email)
        credential = used(started.sign_in_id, stranger.get(
            started.options_json, answer=rename(ids[email], userHandle=None)))
        began = time.perf_counter()
        failed = outcome_of(app, credential)
        taken = time.perf_counter() - began
        assert failed == "INVALID_PASSKEY"
        return taken

    timed = start if call == "start" else finish
    assert_same_time({kind: functools.partial(timed, email) for kind, email in emails.items()}, tolerance=0.05)


def outcome_of(client: Client, credential: types.Credential) -> str:
    try:
        client.sign_in(credential)
    except grpc.RpcError as error:
        return read(error).reason
    return ""
