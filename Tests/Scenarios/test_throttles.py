"""Limits on frequent failures and sign-ups, by account, device and network."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import latchkey_settings
from clients import PAGE, PASSWORD, Client, anonymous, assertion, fresh_email, password, session
from failures import Refusal, expect_failure
from grpc import StatusCode
from processes import Server, Simulator
from verification import POLICY, arriving, fresh_number, phone_code

WRONG = "not the password at all"


def fail(client: Client, email: str, **context: str) -> None:
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS"):
        client.sign_in(password(email, WRONG), client=context)


def blocked(client: Client, email: str, secret: str = PASSWORD, **context: str) -> Refusal:
    with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_ATTEMPTS") as refusal:
        client.sign_in(password(email, secret), client=context)
    assert refusal.retry_seconds is not None and refusal.retry_seconds > 0
    return refusal


def test_checks_104_and_105_a_hundred_failures_block_the_password_of_that_account_and_no_other_method(
        web: Client, simulator: Simulator) -> None:
    email, other = fresh_email(), fresh_email()
    web.create(other)
    made = web.create(email, client={"device_id": "own device of " + email})
    session(web.link(made.id_token, assertion(simulator, "oidc.corp", subject=email)))
    for _ in range(100):
        fail(web, email)
    refusal = blocked(web, email)
    assert 800 < (refusal.retry_seconds or 0) <= 900
    with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_ATTEMPTS"):
        web.reauthenticate(made.id_token, password(email))
    signed = session(web.sign_in(assertion(simulator, "oidc.corp", subject=email)))
    assert signed.account.account_id == made.account.account_id
    session(web.sign_in(password(other)))
    own = session(web.sign_in(password(email), client={"device_id": "own device of " + email}))
    assert own.account.account_id == made.account.account_id, "a device that signed in before counts separately"
    blocked(web, email, device_id="another device")


def test_check_105_a_known_device_gets_its_codes_whatever_other_users_request(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(policy=POLICY, throttles={"sends_per_recipient_max": 2, "code_failures_max": 3})
    client, number, own = connect(server), fresh_number(), {"device_id": "own device"}

    def sent(device: dict[str, str]) -> tuple[str, str]:
        answer, message = arriving(
            server, "phone_code", number, lambda: client.send_phone_code(number, client=device))
        return answer.verification_id, message.values["code"]

    made = session(client.sign_in(phone_code(*sent(own)), client=own))
    handle, code = sent({})
    wrong = f"{(int(code) + 1) % 1_000_000:06}"
    for _ in range(3):
        with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_CODE"):
            client.sign_in(phone_code(handle, wrong))
    with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_ATTEMPTS"):
        client.sign_in(phone_code(handle, code))
    with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_ATTEMPTS"):
        client.send_phone_code(number)
    again = session(client.sign_in(phone_code(*sent(own)), client=own))
    assert again.account.account_id == made.account.account_id


def test_check_104_the_block_survives_a_restart_and_applies_to_unknown_addresses(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(throttles={"password_failures_max": 3})
    client = connect(server)
    known, unknown = fresh_email(), fresh_email()
    client.create(known)
    for email in (known, unknown):
        for _ in range(3):
            fail(client, email)
    server.kill()
    server.launch()
    client = connect(server)
    first, second = (blocked(client, email) for email in (known, unknown))
    assert first.text == second.text


def test_check_104_fifty_concurrent_failures_count_fifty(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    client = connect(serve(throttles={"password_failures_max": 51}))
    email = fresh_email()
    client.create(email)
    with ThreadPoolExecutor(50) as pool:
        list(pool.map(lambda _: fail(client, email), range(50)))
    fail(client, email)
    blocked(client, email)


def test_check_104_failures_from_one_ipv6_network_count_together(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    client = connect(serve(throttles={"password_failures_per_network_max": 5}))
    for number in range(5):
        fail(client, fresh_email(), ip_address=f"2001:db8:1:2:{number:x}::{number:x}")
    email = fresh_email()
    client.create(email)
    blocked(client, email, ip_address="2001:db8:1:2:ffff::1")
    session(client.sign_in(password(email), client={"ip_address": "2001:db8:1:3::1"}))
    session(client.sign_in(password(email)))


def test_a_success_resets_the_count_of_failures(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    client = connect(serve(throttles={"password_failures_max": 3}))
    email = fresh_email()
    client.create(email)
    for _ in range(3):
        fail(client, email)
        fail(client, email)
        session(client.sign_in(password(email)))


def test_a_block_ends_and_the_next_one_is_longer(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    client = connect(serve(throttles={"password_failures_max": 3, "failures_again_max": 1, "block_seconds": 3}))
    email = fresh_email()
    client.create(email)
    for _ in range(3):
        fail(client, email)
    assert (blocked(client, email).retry_seconds or 0) <= 3
    time.sleep(3.1)
    fail(client, email)
    assert 3 < (blocked(client, email).retry_seconds or 0) <= 6
    time.sleep(6.1)
    session(client.sign_in(password(email)))


def test_sign_ups_from_one_address_are_limited_and_those_of_others_are_not(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    client = connect(serve(throttles={"sign_ups_per_network_max": 3}))
    here, there = {"ip_address": "192.0.2.1"}, {"ip_address": "192.0.2.2"}
    email = fresh_email()
    client.create(email, client=here)
    with expect_failure(StatusCode.ALREADY_EXISTS, "EMAIL_ALREADY_IN_USE"):
        client.create(email, client=here)
    session(client.sign_in(anonymous(), client=here))
    for call in (lambda: client.create(fresh_email(), client=here), lambda: client.sign_in(anonymous(), client=here)):
        with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_ATTEMPTS"):
            call()
    client.create(fresh_email(), client=there)
    client.create(fresh_email())
    for spelling in ("192.0.2.1:51514", " 192.0.2.1", "::ffff:192.0.2.1", "[::ffff:c000:201]:443"):
        with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_ATTEMPTS"):
            client.create(fresh_email(), client={"ip_address": spelling})


def test_flows_from_one_network_are_limited_and_those_of_others_are_not(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    providers = latchkey_settings.providers(simulator.base)
    client = connect(serve(providers=providers, throttles={"flow_starts_per_network_max": 3}))
    for host in range(3):
        client.start_flow("google.com", PAGE, client={"ip_address": f"2001:db8::{host}"})
    with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_ATTEMPTS") as refusal:
        client.start_flow("google.com", PAGE, client={"ip_address": "2001:db8::9"})
    assert 0 < (refusal.retry_seconds or 0) <= 600
    client.start_flow("google.com", PAGE, client={"ip_address": "2001:db8:0:1::1"})
    client.start_flow("google.com", PAGE)
