"""The operator's rules for sign-up and use: invitations, domains, countries of numbers, lists of passwords."""

from __future__ import annotations

import hashlib
import os
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import outbox
import pytest
import reloads
from authenticators import enrolled
from clients import PAGE, PASSWORD, Client, anonymous, assertion, factor_required, fresh_email, password, session
from configuration import KEYS
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1.event_service_pb2 import EVENT_TYPE_PASSWORD_COMPROMISED as PASSWORD_COMPROMISED
from metrics import ON_A_FREE_PORT, Scrape
from processes import Server, Simulator
from test_latchkey_command import Person
from verification import POLICY, code_in, fresh_number

CLOSED = (StatusCode.FAILED_PRECONDITION, "SIGN_UP_CLOSED")
DOMAIN = (StatusCode.FAILED_PRECONDITION, "EMAIL_DOMAIN_NOT_ALLOWED")
COUNTRY = (StatusCode.FAILED_PRECONDITION, "PHONE_COUNTRY_NOT_ALLOWED")
WEAK = (StatusCode.INVALID_ARGUMENT, "WEAK_PASSWORD")
RULES = ("sign_up_closed", "email_domain", "phone_country", "password_length", "password_common",
         "password_block_list")
DIGESTS = int(os.environ.get("LATCHKEY_BLOCKED_DIGESTS", "1000000"))


def test_with_closed_sign_up_only_invited_users_have_accounts(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = serve(policy={**POLICY, "email_code": "code", "sign_up": "closed"})
    client, admin = connect(server), connect(server, key="admin")
    email = fresh_email()
    for attempt in (
            lambda: client.create(fresh_email()), lambda: client.sign_in(anonymous()),
            lambda: client.send_email_code(fresh_email(), purpose=4),
            lambda: client.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True))):
        with expect_failure(*CLOSED):
            attempt()

    invited = admin.invite(email, display_name="Ada")
    assert invited.is_new_account
    message = outbox.wait_for(server, "invitation", email)
    client.reset_password(code_in(message, "resetPassword"), "battery staple horse")
    made = session(client.sign_in(password(email, "battery staple horse"))).account
    assert made.account_id == invited.account_id and made.email_verified and made.display_name == "Ada"
    with expect_failure(StatusCode.ALREADY_EXISTS, "EMAIL_ALREADY_IN_USE"):
        admin.invite(email)


def test_the_command_invites(serve: Callable[..., Server], tmp_path: Path) -> None:
    server, email = serve(policy=POLICY), fresh_email()
    person = Person(server, tmp_path)
    answer = person.json("invite", email, "--continue-uri", PAGE, "--for", "web", "--sign-in",
                         LATCHKEY_API_KEY=KEYS["admin"])
    assert answer["is_new_account"]
    assert code_in(outbox.wait_for(server, "invitation", email), "signIn")


def test_domains_and_countries_are_limited_and_a_reload_reads_the_file_again(
        serve: Callable[..., Server], connect: Callable[..., Client], tmp_path: Path) -> None:
    blocked = tmp_path / "domains"
    blocked.write_text("# disposable\nthrowaway.example\n")
    server = serve(policy={
        **POLICY, "blocked_email_domains_file": str(blocked), "allowed_phone_countries": ["+49"]})
    client = connect(server)
    with expect_failure(*DOMAIN) as refusal:
        client.create("a@mail.throwaway.example")
    assert refusal.field == "email"
    client.create("a@fine.example")
    client.send_phone_code(fresh_number())
    with expect_failure(*COUNTRY):
        client.send_phone_code("+14155550101")
    blocked.write_text("fine.example\n")
    assert reloads.names(reloads.hang_up(server)) == {"policy.blocked_email_domains_file"}
    with expect_failure(*DOMAIN):
        client.create("b@fine.example")
    client.create("b@mail.throwaway.example")


def test_a_listed_password_is_rejected_and_reported_at_sign_in(
        serve: Callable[..., Server], connect: Callable[..., Client], tmp_path: Path) -> None:
    listed = tmp_path / "passwords"
    listed.write_text("some other password\n")
    server = serve(passwords={"block_list_file": str(listed), "block_list_at_sign_in": True})
    client, admin, email = connect(server), connect(server, key="admin"), fresh_email()
    made = client.create(email, "tall ships in a bottle")
    with expect_failure(*WEAK) as refusal:
        client.create(fresh_email(), "Some Other Password")
    assert refusal.metadata["rule"] == "block_list"
    with expect_failure(*WEAK) as refusal:
        client.create(fresh_email(), "iloveyou2")
    assert refusal.metadata["rule"] == "common"
    listed.write_text("tall ships in a bottle\n")
    assert reloads.names(reloads.hang_up(server)) == {"passwords.block_list_file"}
    session(client.sign_in(password(email, "tall ships in a bottle")))
    with expect_failure(*WEAK):
        client.create(fresh_email(), "tall ships in a bottle")
    events = admin.list_events(account_id=made.account.account_id).events
    assert PASSWORD_COMPROMISED in [each.event.type for each in events]


def test_a_listed_password_is_reported_although_a_second_factor_follows(
        serve: Callable[..., Server], connect: Callable[..., Client], tmp_path: Path, simulator: Simulator) -> None:
    listed = tmp_path / "passwords"
    listed.write_text("some other password\n")
    server = serve(passwords={"block_list_file": str(listed), "block_list_at_sign_in": True})
    client, admin = connect(server), connect(server, key="admin")
    person = enrolled(client, simulator)
    listed.write_text(f"{PASSWORD}\n")
    assert reloads.names(reloads.hang_up(server)) == {"passwords.block_list_file"}
    factor_required(client.sign_in(password(person.email)))
    events = admin.list_events(account_id=person.account_id).events
    assert [each.event.type for each in events].count(PASSWORD_COMPROMISED) == 1


def test_rejections_are_counted_by_their_rule(
        serve: Callable[..., Server], connect: Callable[..., Client], tmp_path: Path) -> None:
    listed = tmp_path / "passwords"
    listed.write_text("tall ships in a bottle\n")
    server = serve(
        policy={**POLICY, "allowed_email_domains": ["staff.example"], "allowed_phone_countries": ["+49"]},
        passwords={"block_list_file": str(listed)}, metrics=ON_A_FREE_PORT)
    client, email = connect(server), "ada@staff.example"
    for attempt, failure in [
            (lambda: client.create("ada@other.example"), DOMAIN), (lambda: client.create(email, "short"), WEAK),
            (lambda: client.create(email, "iloveyou2"), WEAK),
            (lambda: client.create(email, "tall ships in a bottle"), WEAK),
            (lambda: client.send_phone_code("+14155550101"), COUNTRY)]:
        with expect_failure(*failure):
            attempt()
    seen = Scrape.of(server)
    assert {rule: seen("latchkey_rule_rejections_total", rule=rule) for rule in RULES} == {
        **dict.fromkeys(RULES, 1), "sign_up_closed": 0}
    reloads.change(server, policy={**POLICY, "sign_up": "closed"})
    with expect_failure(*CLOSED):
        client.create(email)
    assert Scrape.of(server)("latchkey_rule_rejections_total", rule="sign_up_closed") == 1


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["passwords", "digests"])
def test_a_large_list_is_small_in_memory_and_fast(
        serve: Callable[..., Server], connect: Callable[..., Client], tmp_path: Path, kind: str) -> None:
    """A million passwords, and as many SHA-1 digests; `LATCHKEY_BLOCKED_DIGESTS` sets another number.

    The time of a check is that of a rejected call with the list, minus that of a call that another rule rejects.
    """
    listed = tmp_path / kind
    known = "tall ships in a bottle"
    if kind == "passwords":
        with listed.open("w") as file:
            file.writelines(f"password number {number}\n" for number in range(999_999))
            file.write(known + "\n")
    else:
        digests = [os.urandom(20) for _ in range(DIGESTS - 1)] + [hashlib.sha1(known.encode()).digest()]
        digests.sort()
        with listed.open("w") as file:
            file.writelines(f"{digest.hex().upper()}:{digest[0]}\r\n" for digest in digests)
        del digests
    plain = serve()
    begun = time.monotonic()
    server = serve(passwords={"block_list_file": str(listed)})
    started = time.monotonic() - begun
    grown = memory(server) - memory(plain)
    client = connect(server)
    times: dict[str, list[float]] = {known: [], "short": []}
    for _ in range(300):
        for text, taken in times.items():
            begun = time.perf_counter()
            with expect_failure(*WEAK):
                client.create(fresh_email(), text)
            taken.append(time.perf_counter() - begun)
    medians = {text: statistics.median(taken) for text, taken in times.items()}
    check = medians[known] - medians["short"]
    print(f"\n{kind}: {listed.stat().st_size / 1e6:.0f} MB, start {started:.2f} s, memory +{grown / 1e6:.1f} MB, "
          f"check {check * 1e6:.0f} µs")
    assert grown < 64e6 and check < 0.005


def memory(server: Server) -> int:
    fields = Path(f"/proc/{server.process.pid}/statm").read_text().split()
    return int(fields[1]) * resource.getpagesize()
