"""Codes of six digits by email: SendEmailCode and the calls that redeem them."""

from __future__ import annotations

import functools
import html
import re
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import outbox
import pytest
from clients import PAGE, Client, assertion, conflict, fresh_email, password, session
from configuration import callers
from failures import expect_failure, read
from grpc import RpcError, StatusCode
from latchkey.v1 import types_pb2 as types
from latchkey.v1 import verification_service_pb2 as verification
from metrics import ON_A_FREE_PORT, Scrape
from processes import Server, Simulator
from test_latchkey_command import Person
from timing import assert_same_time
from verification import (POLICY, arriving, by_mail, by_phone, code_in, email_link, fresh_number, phone_code)

NEW_PASSWORD = "an entirely new password"
INVALID_CODE = (StatusCode.INVALID_ARGUMENT, "INVALID_CODE")
EXPIRED_CODE = (StatusCode.FAILED_PRECONDITION, "EXPIRED_CODE")
SIGN_IN, LINK, REAUTHENTICATE, SIGN_UP, VERIFY, RESET, CHANGE = range(1, 8)
KINDS = {SIGN_UP: "sign_up_code", VERIFY: "verify_email_code", RESET: "reset_password_code",
         CHANGE: "change_email_code"}


@pytest.fixture(scope="module")
def coding(folder: Path, simulator: Simulator) -> Iterator[Server]:
    running = Server.start(folder, simulator, policy={**POLICY, "email_code": "code_and_link"})
    yield running
    running.stop()


@pytest.fixture
def client(coding: Server) -> Iterator[Client]:
    opened = Client(coding, key="web")
    yield opened
    opened.close()


def mailed(
        server: Server, client: Client, email: str, purpose: int = SIGN_IN, **fields: Any,
) -> tuple[str, outbox.Message]:
    """The verification id, and the email with the digits."""
    kind = KINDS.get(purpose, "email_code")
    recipient = "" if purpose in (REAUTHENTICATE, VERIFY) else email
    sent, message = arriving(
        server, kind, email, lambda: client.send_email_code(recipient, purpose=purpose, **fields))
    assert message.channel == "mail" and message.values["code"] in message.text
    return sent.verification_id, message


def credential(verification_id: str, code: str) -> types.Credential:
    return types.Credential(email_code=types.EmailCodeCredential(verification_id=verification_id, code=code))


def by_code(server: Server, client: Client, email: str, purpose: int = SIGN_IN, **fields: Any) -> types.Credential:
    handle, message = mailed(server, client, email, purpose, **fields)
    return credential(handle, message.values["code"])


def off_by(code: types.Credential, offset: int) -> types.Credential:
    sent = code.email_code
    return credential(sent.verification_id, f"{(int(sent.code) + offset) % 1_000_000:06}")


def outcome(client: Client, code: types.Credential) -> str:
    try:
        session(client.sign_in(code))
    except RpcError as error:
        return read(error).reason
    return "in"


def test_a_code_signs_up_signs_in_and_reauthenticates(coding: Server, client: Client) -> None:
    email = fresh_email()
    made = session(client.sign_in(by_code(coding, client, email)))
    assert made.is_new_account and made.account.email_verified
    assert [each.provider_id for each in made.account.providers] == ["emailLink"]
    again = session(client.sign_in(by_code(coding, client, email)))
    assert again.account.account_id == made.account.account_id and not again.is_new_account
    code = by_code(coding, client, email, REAUTHENTICATE, id_token=again.id_token)
    with expect_failure(*INVALID_CODE):
        client.reauthenticate(made.id_token, code)
    client.reauthenticate(again.id_token, code)


def test_a_code_verifies_changes_and_resets(coding: Server, client: Client) -> None:
    email, new = fresh_email(), fresh_email()
    made = client.create(email)
    handle, message = mailed(coding, client, email, VERIFY, id_token=made.id_token)
    confirmed = client.confirm_email(message.values["code"], made.id_token, verification_id=handle)
    assert confirmed.session.account.email_verified
    assert client.confirm_email(message.values["code"], made.id_token, verification_id=handle).email == email

    token = confirmed.session.id_token
    handle, message = mailed(coding, client, new, CHANGE, id_token=token, continue_uri=PAGE)
    changed = client.confirm_email(message.values["code"], token, verification_id=handle)
    assert changed.email == new and changed.session.account.email_verified
    assert "link" in outbox.wait_for(coding, "email_changed", email).values

    handle, message = mailed(coding, client, new, RESET)
    assert client.reset_password(message.values["code"], NEW_PASSWORD, verification_id=handle).email == new
    assert session(client.sign_in(password(new, NEW_PASSWORD))).account.account_id == made.account.account_id


def test_a_code_signs_up_with_a_password(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(policy={**POLICY, "email_code": "code", "sign_up": "verify_first"})
    client, email = connect(server), fresh_email()
    handle, message = mailed(server, client, email, SIGN_UP)
    assert "link" not in message.values
    made = client.create(email, code=message.values["code"], verification_id=handle)
    assert made.account.email_verified
    client.send_email_code(email, purpose=SIGN_UP)
    assert not outbox.wait_for(server, "sign_up_known", email).values


def test_L5_a_code_adds_an_address_in_its_session_only(
        coding: Server, client: Client) -> None:
    email = fresh_email()
    guest = session(client.sign_in(types.Credential(anonymous=types.AnonymousCredential())))
    other = session(client.sign_in(types.Credential(anonymous=types.AnonymousCredential())))
    code = by_code(coding, client, email, LINK, id_token=guest.id_token)
    for attempt in (lambda: client.link(other.id_token, code), lambda: client.sign_in(code)):
        with expect_failure(*INVALID_CODE):
            attempt()
    linked = session(client.link(guest.id_token, code))
    assert linked.account.email == email and linked.account.email_verified


def test_a_code_completes_a_conflict(coding: Server, client: Client, simulator: Simulator) -> None:
    email = fresh_email()
    session(client.sign_in(by_code(coding, client, email)))
    exists = conflict(client.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    assert list(exists.sign_in_methods) == ["emailLink", "emailCode"] and list(exists.provider_ids) == ["emailLink"]
    done = session(client.sign_in(by_code(coding, client, email), pending_token=exists.pending_token))
    assert {each.provider_id for each in done.account.providers} == {"emailLink", "oidc.trusted"}


def test_the_right_code_is_rejected_after_parallel_wrong_guesses(coding: Server, client: Client) -> None:
    code = by_code(coding, client, fresh_email())
    with ThreadPoolExecutor(20) as pool:
        first = Counter(pool.map(lambda offset: outcome(client, off_by(code, offset)), range(1, 21)))
    assert first["in"] == 0 and first["INVALID_CODE"] >= 5
    assert outcome(client, code) == "EXPIRED_CODE"


def test_an_address_is_blocked_after_thirty_wrong_guesses_at_many_codes(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    """The first part of the bound of brute force, whatever number of codes the attacker requests. GuessTests.swift
    computes how many guesses follow in days."""
    server = serve(policy={**POLICY, "email_code": "code"}, throttles={"sends_per_recipient_max": 0})
    client, email = connect(server), fresh_email()
    ends: Counter[str] = Counter()
    for _ in range(8):
        code = by_code(server, client, email)
        ends.update(outcome(client, off_by(code, offset)) for offset in range(1, 6))
    assert ends == {"INVALID_CODE": 30, "TOO_MANY_ATTEMPTS": 10}
    assert outcome(client, by_code(server, client, email)) == "TOO_MANY_ATTEMPTS"


class LandingPage(ThreadingHTTPServer):
    """The page of the links. As the guide shows, it asks the service what a link is for, also for HEAD."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, str]] = []
        self.client: Client
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                [code] = parse_qs(urlsplit(self.path).query)["code"]
                outer.opened.append((self.command, outer.client.check_code(code).email))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            do_HEAD = do_GET

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/landing"


@pytest.fixture
def page() -> Iterator[LandingPage]:
    running = LandingPage()
    yield running
    running.shutdown()
    running.server_close()


def scan(message: outbox.Message) -> None:
    """Requests every link of an email, as the scanners of mail servers do."""
    links = re.findall(r"https?://[^\s\"'<>]+", message.text + html.unescape(message.html or ""))
    assert message.values["link"] in links
    for link in links:
        for method in ("HEAD", "GET", "GET"):
            with urllib.request.urlopen(urllib.request.Request(link, method=method), timeout=5) as response:
                assert response.status == 200


@pytest.mark.parametrize("chosen", ["code", "link"])
def test_a_link_scanner_uses_up_neither_the_code_nor_the_link(
        serve: Callable[..., Server], connect: Callable[..., Client], page: LandingPage, chosen: str) -> None:
    server = serve(policy={**POLICY, "email_code": "code_and_link"}, callers=[
        {**each, "redirect_uris": [page.address]} if each["name"] == "web" else each for each in callers()])
    client, email = connect(server), fresh_email()
    page.client = client

    def scanned(purpose: int, **fields: Any) -> tuple[str, str, str]:
        """The verification id, the digits and the code of the link, after a scan."""
        handle, message = mailed(server, client, email, purpose, continue_uri=page.address, **fields)
        scan(message)
        return handle, message.values["code"], parse_qs(urlsplit(message.values["link"]).query)["code"][0]

    handle, digits, code = scanned(SIGN_IN)
    both = {"code": credential(handle, digits), "link": email_link(email, code)}
    made = session(client.sign_in(both.pop(chosen)))
    with expect_failure(*INVALID_CODE):
        client.sign_in(both.popitem()[1])
    handle, digits, code = scanned(RESET)
    proofs = {"code": (digits, handle), "link": (code, "")}
    text, verification_id = proofs[chosen]
    assert client.reset_password(text, NEW_PASSWORD, verification_id=verification_id).email == email
    assert session(client.sign_in(password(email, NEW_PASSWORD))).account.account_id == made.account.account_id
    assert {method for method, _ in page.opened} == {"GET", "HEAD"} and {to for _, to in page.opened} == {email}


def test_wrong_and_expired_codes_are_counted_by_their_kind(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(policy={**POLICY, "email_code": "code"}, metrics=ON_A_FREE_PORT)
    client, email = connect(server), fresh_email()
    code = by_code(server, client, email)
    assert [outcome(client, off_by(code, offset)) for offset in range(1, 6)] == ["INVALID_CODE"] * 5
    assert outcome(client, code) == "EXPIRED_CODE"
    link = by_mail(server, client, email)
    session(client.sign_in(link))
    assert outcome(client, link) == "EXPIRED_CODE"
    number = fresh_number()
    texted = by_phone(server, client, number)
    assert outcome(client, phone_code(texted.phone_code.verification_id, "x")) == "INVALID_CODE"
    name, seen = "latchkey_code_rejections_total", Scrape.of(server)
    assert {(kind, result): seen(name, kind=kind, result=result) for kind in (
        "phone", "email_code", "email_link", "second_factor") for result in ("wrong", "expired")} == {
        ("phone", "wrong"): 1, ("phone", "expired"): 0, ("email_code", "wrong"): 5, ("email_code", "expired"): 1,
        ("email_link", "wrong"): 0, ("email_link", "expired"): 1, ("second_factor", "wrong"): 0,
        ("second_factor", "expired"): 0}


def test_the_link_of_an_email_makes_its_code_invalid(coding: Server, client: Client) -> None:
    email = fresh_email()
    handle, message = mailed(coding, client, email, continue_uri=PAGE)
    session(client.sign_in(email_link(email, code_in(message, "signIn"))))
    with expect_failure(*INVALID_CODE):
        client.sign_in(credential(handle, message.values["code"]))


def test_check_39_known_and_unknown_addresses_get_one_answer(coding: Server, client: Client) -> None:
    known, unknown = fresh_email(), fresh_email()
    client.create(known)
    for purpose in (SIGN_IN, SIGN_UP, RESET):
        answers = [client.send_email_code(email, purpose=purpose) for email in (known, unknown)]
        for answer in answers:
            assert {field.name for field, _ in answer.ListFields()} == {"verification_id", "expires_at"}
            assert 590 < answer.expires_at.seconds - time.time() <= 601
    outbox.wait_for(coding, "reset_password_code", known)
    outbox.none_comes(coding, "reset_password_code", unknown)
    outbox.none_comes(coding, "sign_up_code", known)


@pytest.mark.slow
@pytest.mark.timed
def test_check_39_known_and_unknown_take_the_same_time_over_a_thousand_interleaved_requests(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(
        policy={**POLICY, "email_code": "code"},
        throttles={"sends_per_recipient_max": 0, "sends_per_caller_max": 0, "sends_per_network_max": 0})
    client = connect(server)
    emails = {"known": fresh_email(), "unknown": fresh_email()}
    client.create(emails["known"])
    assert_same_time({
        kind: functools.partial(client.send_email_code, email) for kind, email in emails.items()}, tolerance=0.05)


def test_requests_that_do_not_fit_their_purpose_are_rejected(coding: Server, client: Client) -> None:
    made = client.create(fresh_email())
    other = fresh_email()
    for field, send in {
            "id_token": lambda: client.send_email_code(other, id_token=made.id_token),
            "email": lambda: client.send_email_code(other, purpose=VERIFY, id_token=made.id_token),
            "continue_uri": lambda: client.send_email_code(other, purpose=CHANGE, id_token=made.id_token),
            "purpose": lambda: client.send_email_code(other, purpose=99),
    }.items():
        with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD") as refusal:
            send()
        assert refusal.field == field
    with expect_failure(StatusCode.PERMISSION_DENIED, "REDIRECT_URI_NOT_ALLOWED"):
        client.send_email_code(other, continue_uri="https://evil.example/")


def test_the_command_signs_in_and_resets_by_code(coding: Server, tmp_path: Path) -> None:
    person, email = Person(coding, tmp_path), fresh_email()
    person.json("send-email-code", email)
    code = outbox.wait_for(coding, "email_code", email).values["code"]
    answer = person.json("sign-in", "--email-code", "--code-file", person.file("code", code))
    assert answer["account"]["email"] == email
    person.json("send-email-code", email, "--for", "reset-password")
    code = outbox.wait_for(coding, "reset_password_code", email).values["code"]
    reset = person.json("reset-password", "--email-code", "--code-file", person.file("code", code),
                        LATCHKEY_PASSWORD=NEW_PASSWORD)
    assert reset["email"] == email


def test_the_command_verifies_an_address_by_code(coding: Server, tmp_path: Path) -> None:
    person, email = Person(coding, tmp_path), fresh_email()
    person.sign_up(email)
    person.json("send-email-code", "--for", "verify-email")
    code = outbox.wait_for(coding, "verify_email_code", email).values["code"]
    verified = person.json("confirm-email", "--email-code", "--code-file", person.file("code", code))
    assert verified["account"]["email_verified"]
