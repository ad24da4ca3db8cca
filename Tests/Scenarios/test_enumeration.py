"""A caller without the right cannot find out whether an address has an account (checks 35 to 38)."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable

import outbox
import pytest
from clients import Client, anonymous, assertion, conflict, fresh_email, password, session
from configuration import REAL_PASSWORDS
from failures import Refusal, expect_failure
from grpc import StatusCode
from processes import Server, Simulator
from timing import assert_same_time, shown_difference

WRONG = (StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS")


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
def test_check_35_all_three_take_the_same_time_over_a_thousand_interleaved_tries(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    """With the real cost of a hash."""
    client = connect(serve(passwords=REAL_PASSWORDS, throttles={"password_failures_max": 1_000_000}))
    assert_same_time({
        kind: functools.partial(refuse, client, email) for kind, email in three_addresses(client, simulator).items()
    }, tolerance=0.02)


def test_a_real_difference_is_shown_and_noise_is_not() -> None:
    """The comparison of these tests itself, with times like those of a busy machine."""
    chance = random.Random(35)

    def taken(usual: float) -> list[float]:
        return [usual + chance.expovariate(1 / 0.005) for _ in range(1_000)]

    assert shown_difference({"unknown": taken(0.030), "wrong": taken(0.030), "without": taken(0.030)}) == 0
    assert shown_difference({"unknown": taken(0.030), "wrong": taken(0.032), "without": taken(0.030)}) > 0.02


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
