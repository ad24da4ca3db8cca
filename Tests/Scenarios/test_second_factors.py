"""A second factor from its enrollment to its withdrawal, with a foreign authenticator (pyotp)."""

from __future__ import annotations

import base64
import secrets
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import outbox
from authenticators import enrol_totp, enrolled
from clients import (
    Client,
    anonymous,
    assertion,
    conflict,
    factor_required,
    fresh_email,
    held,
    in_use,
    password,
    provider_ids,
    session,
)
from failures import expect_failure, read
from grpc import StatusCode
from latchkey.v1.errors_pb2 import ERROR_REASON_TOKEN_REVOKED
from latchkey.v1.types_pb2 import FACTOR_KIND_PHONE, FACTOR_KIND_RECOVERY_CODE, FACTOR_KIND_TOTP
from processes import Server, Simulator

BINDING = "the browser of the person, by a name nobody guesses"


def kinds(account: Any) -> list[int]:
    return [each.kind for each in account.second_factors]


def test_S11_totp_is_enrolled_and_required_by_every_later_sign_in(web: Client, simulator: Simulator) -> None:
    email = fresh_email("gmail.com")
    google = assertion(simulator, "google.com", email=email, email_verified=True)
    made, other = session(web.sign_in(google)), session(web.sign_in(google))
    authenticator, finished = enrol_totp(web, made, display_name="phone at home")
    assert authenticator.totp.issuer == "Latchkey" and authenticator.totp.name == email
    assert len(set(finished.recovery_codes)) == 10
    assert kinds(finished.session.account) == [FACTOR_KIND_TOTP, FACTOR_KIND_RECOVERY_CODE]
    assert finished.session.account.second_factors[0].display_name == "phone at home"
    told = web.claims(finished.session.id_token)
    assert told["latchkey"]["sign_in_second_factor"] == "totp" and {"fed", "otp", "mfa"} == set(told["amr"])
    for over in (made, other):
        assert web.verify(over.id_token).inactive_reason == ERROR_REASON_TOKEN_REVOKED, "every other session is over"

    required = factor_required(web.sign_in(google))
    assert [each.kind for each in required.hints] == [FACTOR_KIND_TOTP, FACTOR_KIND_RECOVERY_CODE]
    started = web.start_factor(required.pending_token, authenticator.factor_id)
    assert started.verification_id == "" and started.expires_at == required.expires_at
    finished_sign_in = web.finish_factor(required.pending_token, authenticator.factor_id, authenticator.code())
    told = web.claims(session(finished_sign_in).id_token)
    assert told["latchkey"]["sign_in_second_factor"] == "totp" and {"fed", "otp", "mfa"} == set(told["amr"])
    assert told["latchkey"]["second_factor_identifier"] == authenticator.factor_id
    refreshed = web.refresh(finished_sign_in.session.refresh_token)
    assert web.claims(refreshed.id_token)["amr"] == told["amr"]


def test_check_106_five_wrong_codes_end_the_attempt(web: Client, simulator: Simulator) -> None:
    person = enrolled(web, simulator)
    required = factor_required(web.sign_in(password(person.email)))
    factor_id = person.authenticator.factor_id
    for _ in range(5):
        with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_CODE", field="code"):
            web.finish_factor(required.pending_token, factor_id, person.authenticator.wrong())
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_USED"):
        web.finish_factor(required.pending_token, factor_id, person.authenticator.code())


def test_check_107_a_step_and_a_recovery_code_are_valid_once(web: Client, simulator: Simulator) -> None:
    person = enrolled(web, simulator)
    code = person.authenticator.code()
    recovery = next(each.factor_id for each in person.session.account.second_factors
                    if each.kind == FACTOR_KIND_RECOVERY_CODE)
    for factor_id, shown in ((person.authenticator.factor_id, code), (recovery, person.recovery_codes[3].upper())):
        first = factor_required(web.sign_in(password(person.email)))
        opened = session(web.finish_factor(first.pending_token, factor_id, shown))
        assert opened.account.account_id == person.account_id
        second = factor_required(web.sign_in(password(person.email)))
        with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_CODE", field="code"):
            web.finish_factor(second.pending_token, factor_id, shown)
    told = web.claims(opened.id_token)
    assert told["latchkey"]["sign_in_second_factor"] == "recovery_code" and set(told["amr"]) == {
        "pwd", "recovery_code", "mfa"}


def test_recovery_codes_are_replaced_and_the_old_ones_are_invalid(web: Client, simulator: Simulator) -> None:
    person = enrolled(web, simulator)
    started = web.start_enrollment(person.session.id_token, FACTOR_KIND_RECOVERY_CODE)
    replaced = web.finish_enrollment(person.session.id_token, started.enrollment_id)
    assert len(set(replaced.recovery_codes)) == 10 and not set(replaced.recovery_codes) & set(person.recovery_codes)
    assert kinds(replaced.session.account) == [FACTOR_KIND_TOTP, FACTOR_KIND_RECOVERY_CODE]
    recovery = replaced.session.account.second_factors[1].factor_id
    required = factor_required(web.sign_in(password(person.email)))
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_CODE"):
        web.finish_factor(required.pending_token, recovery, person.recovery_codes[0])
    session(web.finish_factor(required.pending_token, recovery, replaced.recovery_codes[0]))


def test_another_caller_or_browser_gets_the_error_of_an_unknown_pending_token(
        web: Client, shop: Client, simulator: Simulator) -> None:
    person = enrolled(web, simulator)
    required = factor_required(web.sign_in(password(person.email), binding=BINDING))
    code, factor_id = person.authenticator.code(), person.authenticator.factor_id
    refusals = []
    for client, token, binding in ((web, required.pending_token, BINDING[:-1] + "!"), (web, required.pending_token, ""),
                                   (shop, required.pending_token, BINDING), (web, "A" * 43, BINDING)):
        for call in (lambda: client.start_factor(token, factor_id, binding=binding),
                     lambda: client.finish_factor(token, factor_id, code, binding=binding)):
            with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_MISMATCH") as refused:
                call()
            refusals.append(refused.everything)
    assert len(set(refusals)) == 1
    session(web.finish_factor(required.pending_token, factor_id, code, binding=BINDING))


def test_an_unknown_factor_is_not_found_and_its_pending_token_has_no_other_use(
        web: Client, simulator: Simulator) -> None:
    person = enrolled(web, simulator)
    required = factor_required(web.sign_in(password(person.email)))
    with expect_failure(StatusCode.NOT_FOUND, "SECOND_FACTOR_NOT_FOUND"):
        web.start_factor(required.pending_token, "nobody-has-this")
    with expect_failure(StatusCode.NOT_FOUND, "SECOND_FACTOR_NOT_FOUND"):
        web.finish_factor(required.pending_token, "nobody-has-this", "123456")
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_MISMATCH"):
        web.sign_in(held(required.pending_token))
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_MISMATCH"):
        web.sign_in(password(person.email), pending_token=required.pending_token)


def test_check_19_a_conflict_is_completed_only_after_the_second_factor(web: Client, simulator: Simulator) -> None:
    person = enrolled(web, simulator)
    company = assertion(simulator, "oidc.corp", email=person.email)
    exists = conflict(web.sign_in(company))
    required = factor_required(web.sign_in(password(person.email), pending_token=exists.pending_token))
    assert provider_ids(web.get(person.session.id_token)) == {"password", "google.com"}, "nothing is written before"
    linked = session(web.finish_factor(
        required.pending_token, person.authenticator.factor_id, person.authenticator.code()))
    assert provider_ids(linked.account) == {"password", "google.com", "oidc.corp"}
    assert linked.account.account_id == person.account_id
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_USED"):
        web.sign_in(password(person.email), pending_token=exists.pending_token)


def test_a_credential_in_use_signs_in_to_its_owner_after_the_factor(web: Client, simulator: Simulator) -> None:
    person = enrolled(web, simulator)
    stranger = web.create(fresh_email())
    used = in_use(web.link(stranger.id_token, person.google))
    required = factor_required(web.sign_in(held(used.pending_token)))
    finished = session(web.finish_factor(
        required.pending_token, person.authenticator.factor_id, person.authenticator.code()))
    assert finished.account.account_id == person.account_id
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_USED"):
        web.sign_in(held(used.pending_token))


def test_the_factor_finishes_reauthenticate_and_updates_auth_time(web: Client, simulator: Simulator) -> None:
    person = enrolled(web, simulator)
    before = web.claims(person.session.id_token)["auth_time"]
    time.sleep(1.1)
    required = factor_required(web.prove_again(person.session.id_token, password(person.email)))
    reauthenticated = session(web.finish_factor(
        required.pending_token, person.authenticator.factor_id, person.authenticator.code()))
    assert web.claims(reauthenticated.id_token)["auth_time"] > before
    assert reauthenticated.session_id != person.session.session_id and web.verify(person.session.id_token).active


def test_L11_check_80_a_session_whose_factor_was_withdrawn_must_step_up(web: Client, simulator: Simulator) -> None:
    person = enrolled(web, simulator)
    second, finished = enrol_totp(web, person.session)
    left = web.withdraw(finished.session.id_token, second.factor_id)
    assert kinds(left.account) == [FACTOR_KIND_TOTP, FACTOR_KIND_RECOVERY_CODE]
    told = web.claims(left.id_token)
    assert "sign_in_second_factor" not in told["latchkey"] and not {"otp", "mfa"} & set(told["amr"])
    with expect_failure(StatusCode.FAILED_PRECONDITION, "REQUIRES_SECOND_FACTOR"):
        web.unlink(left.id_token, "google.com")
    with expect_failure(StatusCode.FAILED_PRECONDITION, "REQUIRES_SECOND_FACTOR"):
        web.withdraw(left.id_token, person.authenticator.factor_id)

    # Only Link returns the outcome (L11): the credential is pending, and linked after the factor.
    company = assertion(simulator, "oidc.corp")
    required = factor_required(web.link(left.id_token, company))
    assert provider_ids(web.get(left.id_token)) == {"password", "google.com"}
    finish = web.finish_factor(required.pending_token, person.authenticator.factor_id, person.authenticator.code())
    linked = session(finish)
    assert provider_ids(linked.account) == {"password", "google.com", "oidc.corp"} and not finish.already_linked
    assert web.claims(linked.id_token)["latchkey"]["sign_in_second_factor"] == "totp"
    assert provider_ids(web.unlink(linked.id_token, "oidc.corp").account) == {"password", "google.com"}


def test_a_refresh_shows_that_a_factor_was_withdrawn(web: Client, simulator: Simulator) -> None:
    person = enrolled(web, simulator)
    required = factor_required(web.sign_in(password(person.email)))
    other = session(web.finish_factor(
        required.pending_token, person.authenticator.factor_id, person.authenticator.code()))
    left = web.withdraw(person.session.id_token, person.authenticator.factor_id)
    assert kinds(left.account) == [], "with the last factor the recovery codes go"
    told = web.claims(web.refresh(other.refresh_token).id_token)
    assert set(told["latchkey"]) == {"identities", "sign_in_provider"} and told["amr"] == ["pwd"]
    assert session(web.sign_in(password(person.email))).account.account_id == person.account_id


def test_a_factor_that_was_withdrawn_after_the_start_cannot_finish(web: Client, simulator: Simulator) -> None:
    person = enrolled(web, simulator)
    required = factor_required(web.sign_in(password(person.email)))
    web.withdraw(person.session.id_token, person.authenticator.factor_id)
    with expect_failure(StatusCode.NOT_FOUND, "SECOND_FACTOR_NOT_FOUND"):
        web.finish_factor(required.pending_token, person.authenticator.factor_id, person.authenticator.code())


def test_the_finish_decides_the_result_of_the_first_factor_again(web: Client, simulator: Simulator) -> None:
    """The identity was unlinked between start and finish: now the address is a conflict, and the sign-in fails."""
    person = enrolled(web, simulator)
    required = factor_required(web.sign_in(person.google))
    web.unlink(person.session.id_token, "google.com")
    answer = web.finish_factor(
        required.pending_token, person.authenticator.factor_id, person.authenticator.code())
    assert conflict(answer).email == person.email and "password" in answer.account_exists.sign_in_methods


def test_one_of_the_parallel_finishes_with_one_code_wins(web: Client, simulator: Simulator) -> None:
    person = enrolled(web, simulator)
    rows = [factor_required(web.sign_in(password(person.email))).pending_token for _ in range(3)]
    code = person.authenticator.code()

    def finish(number: int) -> str:
        try:
            return web.finish_factor(rows[number % 3], person.authenticator.factor_id, code).WhichOneof("outcome")
        except grpc.RpcError as error:
            return read(error).reason

    with ThreadPoolExecutor(12) as pool:
        outcomes = Counter(pool.map(finish, range(12)))
    assert outcomes["session"] == 1, outcomes
    assert set(outcomes) <= {"session", "INVALID_CODE", "PENDING_CREDENTIAL_USED", "OVERLOADED"}, outcomes


def test_a_repeated_finish_returns_the_session_that_the_first_opened(web: Client, simulator: Simulator) -> None:
    person = enrolled(web, simulator)
    required = factor_required(web.sign_in(password(person.email)))
    code, key = person.authenticator.code(), fresh_email()
    first = session(web.finish_factor(
        required.pending_token, person.authenticator.factor_id, code, idempotency_key=key))
    again = session(web.finish_factor(
        required.pending_token, person.authenticator.factor_id, code, idempotency_key=key))
    assert again.session_id == first.session_id
    with expect_failure(StatusCode.INVALID_ARGUMENT, "IDEMPOTENCY_KEY_REUSED"):
        web.finish_factor(required.pending_token, person.authenticator.factor_id, "000000", idempotency_key=key)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_USED"):
        web.finish_factor(required.pending_token, person.authenticator.factor_id, code)


def test_a_restart_between_start_and_finish_loses_nothing_and_secrets_are_sealed(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = serve()
    client = connect(server)
    person = enrolled(client, simulator)
    started = client.start_enrollment(person.session.id_token, FACTOR_KIND_TOTP)
    required = factor_required(client.sign_in(password(person.email)))
    code = person.authenticator.code()
    server.kill()
    server.launch()
    client = connect(server)
    opened = session(client.finish_factor(required.pending_token, person.authenticator.factor_id, code))
    assert opened.account.account_id == person.account_id
    required = factor_required(client.sign_in(password(person.email)))
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_CODE"):
        client.finish_factor(required.pending_token, person.authenticator.factor_id, code)
    server.stop()
    stored = server.stored()
    for secret in (person.authenticator.totp.secret, started.totp_secret):
        assert secret.encode() not in stored and base64.b32decode(secret) not in stored
    for recovery_code in person.recovery_codes:
        assert recovery_code.encode() not in stored and recovery_code.replace("-", "").encode() not in stored


def test_enrolment_requires_a_verified_address_and_a_permanent_account(web: Client, simulator: Simulator) -> None:
    with expect_failure(StatusCode.FAILED_PRECONDITION, "UNVERIFIED_EMAIL"):
        web.start_enrollment(web.create(fresh_email()).id_token, FACTOR_KIND_TOTP)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "UNSUPPORTED_FIRST_FACTOR"):
        web.start_enrollment(session(web.sign_in(anonymous())).id_token, FACTOR_KIND_TOTP)
    person = enrolled(web, simulator)
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="kind"):
        web.start_enrollment(person.session.id_token, 99)
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_PHONE_NUMBER", field="phone_number"):
        web.start_enrollment(person.session.id_token, FACTOR_KIND_PHONE, phone_number="12")


def test_enrolment_is_bound_to_its_session_and_five_wrong_codes_end_it(web: Client, simulator: Simulator) -> None:
    person = enrolled(web, simulator)
    stranger = enrolled(web, simulator)
    started = web.start_enrollment(person.session.id_token, FACTOR_KIND_TOTP)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_MISMATCH"):
        web.finish_enrollment(stranger.session.id_token, started.enrollment_id, "123456")
    for _ in range(5):
        with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_CODE", field="code"):
            web.finish_enrollment(person.session.id_token, started.enrollment_id, "not it")
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_USED"):
        web.finish_enrollment(person.session.id_token, started.enrollment_id, "not it")
    assert kinds(web.get(person.session.id_token)) == [FACTOR_KIND_TOTP, FACTOR_KIND_RECOVERY_CODE]


def test_an_account_has_five_factors_at_most(web: Client, simulator: Simulator) -> None:
    person = enrolled(web, simulator)
    current = person.session
    for _ in range(4):
        _, finished = enrol_totp(web, current)
        assert list(finished.recovery_codes) == [], "they came with the first"
        current = finished.session
    with expect_failure(StatusCode.FAILED_PRECONDITION, "SECOND_FACTOR_LIMIT"):
        web.start_enrollment(current.id_token, FACTOR_KIND_TOTP)


def test_enrolment_and_withdrawal_require_a_recent_login(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    client = connect(serve(policy={"recent_login_seconds": 4}))
    person = enrolled(client, simulator)
    time.sleep(4.1)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "REQUIRES_RECENT_LOGIN"):
        client.start_enrollment(person.session.id_token, FACTOR_KIND_TOTP)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "REQUIRES_RECENT_LOGIN"):
        client.withdraw(person.session.id_token, person.authenticator.factor_id)


def number() -> str:
    """A number from a range that is reserved for such uses."""
    return f"+4930{secrets.randbelow(10**8):08d}"


def test_a_phone_is_enrolled_and_signs_in_by_the_codes_that_it_receives(
        server: Server, web: Client, simulator: Simulator) -> None:
    person = enrolled(web, simulator)
    phone = number()
    started = web.start_enrollment(person.session.id_token, FACTOR_KIND_PHONE, phone_number=phone, locale="de")
    assert started.totp_secret == started.totp_uri == ""
    message = outbox.wait_for(server, "second_factor_code", phone)
    assert message.channel == "text_message" and message.values["code"] in message.text and message.locale == "de"
    finished = web.finish_enrollment(person.session.id_token, started.enrollment_id, message.values["code"])
    hint = finished.session.account.second_factors[1]
    assert hint.kind == FACTOR_KIND_PHONE and hint.masked_phone_number == "+" + "*" * 8 + phone[-4:]
    assert outbox.wait_for(server, "factor_enrolled", person.email, count=2).values == {"factor": "phone"}
    with expect_failure(StatusCode.ALREADY_EXISTS, "SECOND_FACTOR_EXISTS"):
        web.start_enrollment(finished.session.id_token, FACTOR_KIND_PHONE, phone_number=phone)

    required = factor_required(web.sign_in(password(person.email)))
    sent = web.start_factor(required.pending_token, hint.factor_id, locale="de-AT")
    message = outbox.wait_for(server, "second_factor_code", phone, count=2)
    code = message.values["code"]
    assert message.locale == "de-AT"
    other = factor_required(web.sign_in(password(person.email)))
    for token, verification_id in ((other.pending_token, sent.verification_id), (required.pending_token, "")):
        with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_CODE"):
            web.finish_factor(token, hint.factor_id, code, verification_id=verification_id)
    opened = session(web.finish_factor(
        required.pending_token, hint.factor_id, code, verification_id=sent.verification_id))
    assert set(web.claims(opened.id_token)["amr"]) == {"pwd", "sms", "mfa"}
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_USED"):
        web.finish_factor(required.pending_token, hint.factor_id, code, verification_id=sent.verification_id)


def test_check_106_a_new_code_invalidates_the_earlier_one(server: Server, web: Client, simulator: Simulator) -> None:
    person = enrolled(web, simulator)
    phone = number()
    started = web.start_enrollment(person.session.id_token, FACTOR_KIND_PHONE, phone_number=phone)
    code = outbox.wait_for(server, "second_factor_code", phone).values["code"]
    finished = web.finish_enrollment(person.session.id_token, started.enrollment_id, code)
    factor_id = finished.session.account.second_factors[1].factor_id
    required = factor_required(web.sign_in(password(person.email)))
    tries = []
    for count in (2, 3, 4):
        sent = web.start_factor(required.pending_token, factor_id)
        code = outbox.wait_for(server, "second_factor_code", phone, count=count).values["code"]
        tries.append((code, sent.verification_id))
    with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_ATTEMPTS") as refused:
        web.start_factor(required.pending_token, factor_id)
    assert refused.retry_seconds is None, "only a new sign-in sends another one"
    for code, verification_id in tries[:2]:
        with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_CODE"):
            web.finish_factor(required.pending_token, factor_id, code, verification_id=verification_id)
    session(web.finish_factor(required.pending_token, factor_id, tries[2][0], verification_id=tries[2][1]))


def test_no_phone_is_enrolled_if_text_messages_are_off(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    client = connect(serve(delivery={"text_messages": "off"}))
    person = enrolled(client, simulator)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "OPERATION_NOT_ALLOWED"):
        client.start_enrollment(person.session.id_token, FACTOR_KIND_PHONE, phone_number=number())
