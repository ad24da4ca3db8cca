"""A caller without the right cannot find out whether an address has an account (checks 35 to 38)."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable

import outbox
import pytest
from clients import Client, anonymous, assertion, conflict, fresh_email, password, session
from configuration import REAL_PASSWORDS
from failures import Refusal, expect_failure
from grpc import StatusCode
from processes import Server, Simulator

WRONG = (StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS")
TRIES = 1_000
BUDGET_SECONDS = 55
TRIES_MIN = 300
SPREAD_MAX = 0.02


def three_addresses(client: Client, simulator: Simulator) -> dict[str, str]:
    """An unknown address, one with another password than the tried one, and one of an account without a password."""
    wrong, without = fresh_email(), fresh_email()
    client.create(wrong)
    session(client.sign_in(assertion(simulator, "oidc.trusted", email=without, email_verified=True)))
    return {"unknown": fresh_email(), "wrong": wrong, "without": without}


def refuse(client: Client, email: str) -> Refusal:
    with expect_failure(*WRONG) as refusal:
        client.sign_in(password(email, "surely not the password"))
    return refusal


def test_check_35_unknown_address_wrong_password_and_no_password_get_one_answer(
        web: Client, simulator: Simulator) -> None:
    answers = {refuse(web, email).everything for email in three_addresses(web, simulator).values()}
    assert len(answers) == 1


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.timeout(150)
def test_check_35_all_three_take_the_same_time_over_a_thousand_interleaved_tries(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    """With the real cost of a hash. A slow machine makes fewer tries, but at least 300 of each kind. A real difference
    shows twice; a difference that the machine caused between two kinds does not."""
    client = connect(serve(passwords=REAL_PASSWORDS, throttles={"password_failures_max": 1_000_000}))
    addresses = three_addresses(client, simulator)
    spreads = [spread_of_medians(client, addresses)]
    if spreads[0] > SPREAD_MAX:
        spreads.append(spread_of_medians(client, addresses))
    assert min(spreads) <= SPREAD_MAX, spreads


def spread_of_medians(client: Client, addresses: dict[str, str]) -> float:
    times: dict[str, list[float]] = {kind: [] for kind in addresses}
    end = time.monotonic() + BUDGET_SECONDS
    for attempt in range(TRIES):
        if attempt >= TRIES_MIN and time.monotonic() > end:
            break
        # A fixed order would give each kind a fixed place in periodic noise of the machine.
        for kind in random.sample(list(addresses), len(addresses)):
            begun = time.perf_counter()
            refuse(client, addresses[kind])
            times[kind].append(time.perf_counter() - begun)
    medians = {kind: statistics.median(values) for kind, values in times.items()}
    spread = max(medians.values()) / min(medians.values()) - 1
    counts = len(times["unknown"])
    print(f"\n{counts} tries of each, medians in ms: "
          f"{ {kind: round(value * 1000, 3) for kind, value in medians.items()} }, spread {spread:.2%}")
    return spread


def test_check_36_a_caller_without_the_right_gets_one_answer_for_every_address(
        web: Client, shop: Client, simulator: Simulator) -> None:
    answers = {shop.fetch(email=email).SerializeToString() for email in three_addresses(web, simulator).values()}
    assert len(answers) == 1
    assert not shop.fetch(email=fresh_email()).registered


def test_a_caller_with_the_right_sees_the_sign_in_methods_of_an_address(web: Client, simulator: Simulator) -> None:
    email, linked = fresh_email(), fresh_email()
    made = web.create(email)
    session(web.link(made.id_token, assertion(simulator, "oidc.trusted", email=linked, email_verified=True)))
    ways = web.fetch(email=email.upper())
    assert ways.registered and not ways.HasField("pending")
    assert list(ways.sign_in_methods) == ["password", "oidc.trusted"]
    assert set(ways.provider_ids) == {"password", "oidc.trusted"}
    assert web.fetch(email=linked).registered, "a verified address of a linked identity counts"
    unknown = web.fetch(email=fresh_email())
    assert not unknown.registered and not unknown.sign_in_methods


def test_an_unverified_address_of_a_linked_identity_does_not_count(web: Client, simulator: Simulator) -> None:
    linked = fresh_email()
    made = web.create(fresh_email())
    session(web.link(made.id_token, assertion(simulator, "oidc.corp", email=linked)))
    assert not web.fetch(email=linked).registered


def test_check_37_only_a_verified_assertions_pending_token_reveals_the_methods(
        shop: Client, simulator: Simulator) -> None:
    for provider_id, reveals in (("oidc.trusted", True), ("oidc.corp", False)):
        email = fresh_email()
        shop.create(email)
        exists = conflict(shop.sign_in(assertion(simulator, provider_id, email=email, email_verified=True)))
        ways = shop.fetch(pending_token=exists.pending_token)
        assert ways.methods_mailed != reveals
        wanted = ["password"] if reveals else []
        assert list(exists.sign_in_methods) == list(ways.sign_in_methods) == wanted
        assert ways.pending.provider_id == provider_id, "the bearer may see its own credential"


def test_check_37_methods_that_are_not_revealed_are_mailed_to_the_address_once(
        server: Server, shop: Client, simulator: Simulator) -> None:
    email = fresh_email()
    shop.create(email)
    exists = conflict(shop.sign_in(assertion(simulator, "oidc.corp", email=email)))
    assert all(shop.fetch(pending_token=exists.pending_token).methods_mailed for _ in range(3))
    mail = outbox.wait_for(server, "sign_in_methods", email)
    assert mail.values == {"methods": "password", "provider_id": "oidc.corp"} and "password" in mail.text
    assert len(outbox.messages(server, "sign_in_methods", email)) == 1


def test_methods_can_be_revealed_always(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    shop = connect(serve(policy={"conflict_reveals_methods": "always"}), key="shop")
    email = fresh_email()
    shop.create(email)
    exists = conflict(shop.sign_in(assertion(simulator, "oidc.corp", email=email)))
    assert list(exists.sign_in_methods) == ["password"]


def test_without_protection_every_caller_may_ask(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    shop = connect(serve(policy={"email_enumeration_protection": False}), key="shop")
    email = fresh_email()
    shop.create(email)
    assert shop.fetch(email=email).registered and not shop.fetch(email=fresh_email()).registered


def test_check_38_no_error_names_an_account_to_a_call_without_its_credential(
        web: Client, simulator: Simulator) -> None:
    email = fresh_email("gmail.com")
    victim = session(web.sign_in(assertion(simulator, "google.com", email=email, email_verified=True)))
    guest = session(web.sign_in(anonymous()))
    refusals = []
    with expect_failure(StatusCode.ALREADY_EXISTS, "EMAIL_ALREADY_IN_USE") as refusal:
        web.create(email)
    refusals.append(refusal)
    with expect_failure(StatusCode.ALREADY_EXISTS, "EMAIL_ALREADY_IN_USE") as refusal:
        web.link(guest.id_token, password(email))
    refusals += [refusal, refuse(web, email)]
    assert all(victim.account.account_id not in each.everything for each in refusals)
