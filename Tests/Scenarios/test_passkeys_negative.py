"""Answers of authenticators that are wrong in one place: the server rejects each, and names the check."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from clients import Client, session
from configuration import callers
from failures import expect_failure, read
from grpc import StatusCode
from latchkey.v1 import types_pb2 as types
from passkey_faults import AUTHORITY, Fault, assertions, registrations
from processes import Server, Simulator
from soft_authenticator import EDDSA, ES256, MODEL, RS256, Authenticator

ORIGIN = "https://app.example.com"
RP = "example.com"
# Each fault demands a relying party with these settings, or none in particular.
SITES: dict[str, dict[str, Any]] = {
    RP: {}, "verified.example": {"user_verification": "required"},
    "attested.example": {"attestation": "direct", "attestation_roots_file": "passkey-roots.pem",
                         "allowed_aaguids": [MODEL.hex()]},
    "newer.example": {"algorithms": ["EdDSA", "RS256"]},
}
NUMBERS = itertools.count(1)


def site_of(fault: Fault) -> str:
    """The relying party that a fault needs."""
    if "user_verification" in fault.site:
        return "verified.example"
    if "roots" in fault.site:
        return "attested.example"
    return "newer.example" if "algorithms" in fault.site else RP


def origin_of(site: str) -> str:
    return ORIGIN if site == RP else f"https://{site}"


@pytest.fixture(scope="module")
def server(folder: Path, simulator: Simulator) -> Iterator[Server]:
    (folder / "passkey-roots.pem").write_text(AUTHORITY.pem)
    parties = [{"id": id, "origins": [origin_of(id)], **settings} for id, settings in SITES.items()]
    allowed = [{**each, "relying_parties": list(SITES)} if each["name"] == "web" else each for each in callers()]
    # Each fault is a failed attempt of one client.
    limits = {f"{name}_per_caller_max": 0 for name in ("code_failures", "sign_ups", "flow_starts")}
    running = Server.start(folder, simulator, relying_parties=parties, callers=allowed, throttles=limits)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[Client]:
    calling = Client(server, key="web")
    yield calling
    calling.close()


def client_context() -> types.ClientContext:
    """Another network address for each attempt, so that no throttle ends the test."""
    number = next(NUMBERS)
    return types.ClientContext(ip_address=f"2001:db8:{number >> 8:x}:{number & 255:x}::1")


def registration(client: Client, answer: Any, site: str = RP) -> Any:
    """Starts a sign-up, lets `answer` make the response, and finishes it."""
    context = client_context()
    started = client.start_registration(rp_id=site, client=context)
    return client.sign_in(types.Credential(passkey=types.PasskeyCredential(
        registration_id=started.registration_id, credential_json=answer(json.loads(started.options_json)))),
        client=context)


def sign_in(client: Client, answer: Any, site: str = RP) -> Any:
    context = client_context()
    started = client.start_passkey_sign_in(rp_id=site, client=context)
    return client.sign_in(types.Credential(passkey=types.PasskeyCredential(
        sign_in_id=started.sign_in_id, credential_json=answer(json.loads(started.options_json)))), client=context)


def rejected(flaw: str, call: Any) -> None:
    """Checks the error. A field that is empty or too large is rejected before the response is read."""
    try:
        call()
    except grpc.RpcError as error:
        failure = read(error)
    else:
        raise AssertionError("it was accepted")
    if failure.code is StatusCode.INVALID_ARGUMENT:
        assert flaw in ("too_large", "malformed_json"), failure.everything
        assert (failure.reason, failure.field) == ("INVALID_FIELD", "credential.passkey.credential_json")
        return
    assert (failure.code, failure.reason) == (StatusCode.UNAUTHENTICATED, "INVALID_PASSKEY"), failure.everything
    assert failure.metadata["check"] == flaw, failure.everything


@pytest.mark.parametrize("fault", registrations(), ids=lambda fault: fault.name)
def test_P3_a_wrong_registration_is_rejected_with_its_check(client: Client, fault: Fault) -> None:
    authenticator, site = Authenticator(**fault.authenticator), site_of(fault)
    rejected(fault.flaw, lambda: registration(
        client, lambda options: fault.answer(authenticator.create, options, origin_of(site)), site))


@pytest.fixture(scope="module")
def registered(client: Client) -> dict[str, Authenticator]:
    """An authenticator with one passkey at each site that a fault of an assertion needs."""
    made = {}
    for site in {site_of(fault) for fault in assertions()}:
        made[site] = Authenticator(counts=False)
        session(registration(client, lambda options: made[site].create(options, origin_of(site)), site))
    return made


@pytest.mark.parametrize("fault", assertions(), ids=lambda fault: fault.name)
def test_P3_a_wrong_assertion_is_rejected_with_its_check(
        client: Client, registered: dict[str, Authenticator], fault: Fault) -> None:
    site = site_of(fault)
    rejected(fault.flaw, lambda: sign_in(
        client, lambda options: fault.answer(registered[site].get, options, origin_of(site)), site))


@pytest.mark.parametrize("algorithm", [ES256, EDDSA, RS256])
def test_a_passkey_of_each_algorithm_signs_in(client: Client, algorithm: int) -> None:
    authenticator = Authenticator(algorithm=algorithm)
    made = session(registration(client, lambda options: authenticator.create(options, ORIGIN)))
    again = session(sign_in(client, lambda options: authenticator.get(options, ORIGIN)))
    assert made.account.account_id == again.account.account_id


@pytest.mark.parametrize(("attestation", "algorithm"), [("packed", ES256), ("tpm", RS256)])
def test_an_attested_model_registers_where_attestation_is_required(
        client: Client, attestation: str, algorithm: int) -> None:
    authenticator = Authenticator(algorithm, attestation=attestation, aaguid=MODEL, authority=AUTHORITY)
    site = "attested.example"
    made = session(registration(client, lambda options: authenticator.create(options, origin_of(site)), site))
    (listed,) = client.list_passkeys(made.id_token)
    assert bytes.fromhex(listed.aaguid.replace("-", "")) == MODEL


def test_a_passkey_of_one_relying_party_signs_in_at_no_other(client: Client) -> None:
    authenticator, site = Authenticator(), "verified.example"
    session(registration(client, lambda options: authenticator.create(options, ORIGIN)))

    def answer(options: dict[str, Any]) -> str:
        # A client that ignores which relying party a passkey belongs to.
        return authenticator.get(options | {"rpId": RP}, origin_of(site), rp_id=site)

    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_PASSKEY"):
        sign_in(client, answer, site)


def test_five_hundred_mutated_answers_do_no_harm(
        client: Client, server: Server, registered: dict[str, Authenticator]) -> None:
    """The unit tests mutate 10,000; here the whole path reads them."""
    chance = random.Random(34)

    def mutated(text: str) -> str:
        letters = list(text)
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(letters))
            letters[at] = chance.choice(["", chance.choice('{}[]",:\\0aZ_-='), letters[at] * 2, "\u00e9", "\u0000"])
        return "".join(letters)

    for number in range(500):
        wrong = ""

        def answer(options: dict[str, Any], number: int = number) -> str:
            nonlocal wrong
            sound = (Authenticator().create if number % 2 else registered[RP].get)(options, ORIGIN)
            wrong = mutated(sound)
            return wrong

        try:
            (registration if number % 2 else sign_in)(client, answer)
        except grpc.RpcError as error:
            assert error.code() in (StatusCode.UNAUTHENTICATED, StatusCode.INVALID_ARGUMENT), (error, wrong)
        else:
            # Only what nothing signs may differ: transports, an unused member, or an insignificant letter.
            assert number % 2 or json.loads(wrong)["response"]["signature"], wrong
    session(sign_in(client, lambda options: registered[RP].get(options, ORIGIN)))
    assert not [line for line in server.lines() if line.get("level") in ("error", "critical")]
