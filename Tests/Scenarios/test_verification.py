"""VerificationService and its credentials: phone codes, emailed links, resets, changes of address."""

from __future__ import annotations

import functools
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import outbox
import pytest
from authenticators import enrol_totp
from clients import (Client, anonymous, assertion, conflict, factor_required, fresh_email, held, in_use, password,
                     provider_ids, session)
from failures import expect_failure, read
from grpc import RpcError, StatusCode
from latchkey.v1 import types_pb2 as types
from latchkey.v1.verification_service_pb2 import CODE_MODE_REVERT_EMAIL, CODE_MODE_SIGN_IN
from processes import Server, Simulator
from timing import assert_same_time
from verification import (POLICY, arriving, by_mail, by_phone, change_code, code_in, email_link, fresh_number,
                          phone_code, reset_code, verification_code)

NEW_PASSWORD = "an entirely new password"
INVALID_CODE = (StatusCode.INVALID_ARGUMENT, "INVALID_CODE")
EXPIRED_CODE = (StatusCode.FAILED_PRECONDITION, "EXPIRED_CODE")


@pytest.fixture
def client(mailing: Server) -> Iterator[Client]:
    opened = Client(mailing, key="web")
    yield opened
    opened.close()


def off_by(code: Any, offset: int) -> Any:
    """The phone code with other digits; with the same digits for 0."""
    sent = code.phone_code
    return phone_code(sent.verification_id, f"{(int(sent.code) + offset) % 1_000_000:06}")


def outcome(client: Client, credential: Any) -> str:
    """The result of signing in with it: "in", or the reason of the error."""
    try:
        session(client.sign_in(credential))
    except RpcError as error:
        return read(error).reason
    return "in"


# Phones.

def test_a_user_with_only_a_phone_changes_the_number(mailing: Server, client: Client) -> None:
    old, new = fresh_number(), fresh_number()
    made = session(client.sign_in(by_phone(mailing, client, old)))
    linking = by_phone(mailing, client, new, purpose=types.PROOF_PURPOSE_LINK, id_token=made.id_token)
    linked = session(client.link(made.id_token, linking))
    assert linked.account.phone_number == new and linked.account.account_id == made.account.account_id
    assert outbox.wait_for(mailing, "unlinked", old).values == {"provider_id": "phone"}
    assert session(client.sign_in(by_phone(mailing, client, new))).account.account_id == made.account.account_id
    assert session(client.sign_in(by_phone(mailing, client, old))).is_new_account, "the old number is free"


def test_a_phone_code_signs_up_signs_in_and_links(mailing: Server, client: Client) -> None:
    number = fresh_number()
    made = session(client.sign_in(by_phone(mailing, client, number)))
    assert made.is_new_account and made.account.phone_number == number
    assert provider_ids(made.account) == {"phone"} and made.account.providers[0].HasField("linked_at")
    again = session(client.sign_in(by_phone(mailing, client, number)))
    assert again.account.account_id == made.account.account_id and not again.is_new_account

    owner, other = client.create(fresh_email()), fresh_number()
    linking = by_phone(mailing, client, other, purpose=types.PROOF_PURPOSE_LINK, id_token=owner.id_token)
    linked = session(client.link(owner.id_token, linking))
    assert provider_ids(linked.account) == {"password", "phone"} and linked.account.phone_number == other
    reauthenticating = by_phone(
        mailing, client, other, purpose=types.PROOF_PURPOSE_REAUTHENTICATE, id_token=linked.id_token)
    client.reauthenticate(linked.id_token, reauthenticating)
    assert provider_ids(client.unlink(linked.id_token, "phone").account) == {"password"}


def test_a_number_and_its_code_are_accepted_as_pasted(mailing: Server, client: Client) -> None:
    number = fresh_number()
    pasted = f"\u202a{number[:3]} (0){number[3:6]}\u00a0{number[6:]}\u202c"
    spell: list[Callable[[str], str]] = [
        lambda digits: f" {digits[:3]} {digits[3:]}\n", lambda digits: f"{digits[:3]}-{digits[3:]}",
        lambda digits: "".join(chr(0xff10 + int(each)) for each in digits)]
    for spelling in spell:
        sent, message = arriving(mailing, "phone_code", number, lambda: client.send_phone_code(pasted))
        code = phone_code(sent.verification_id, spelling(message.values["code"]))
        assert session(client.sign_in(code)).account.phone_number == number


def test_L2_the_pending_token_of_a_number_in_use_signs_in_to_its_owner(
        mailing: Server, client: Client) -> None:
    number = fresh_number()
    owner = session(client.sign_in(by_phone(mailing, client, number)))
    guest = session(client.sign_in(anonymous()))
    code = by_phone(
        mailing, client, number, purpose=types.PROOF_PURPOSE_LINK, id_token=guest.id_token)
    handle = in_use(client.link(guest.id_token, code)).pending_token
    assert client.get(guest.id_token).anonymous
    assert session(client.sign_in(held(handle))).account.account_id == owner.account.account_id


def test_check_106_a_phone_code_is_valid_once_for_five_tries_and_until_the_next(
        mailing: Server, client: Client) -> None:
    number = fresh_number()
    used = by_phone(mailing, client, number)
    session(client.sign_in(used))
    with expect_failure(*EXPIRED_CODE):
        client.sign_in(used)
    former = by_phone(mailing, client, number)
    latter = by_phone(mailing, client, number)
    with expect_failure(*INVALID_CODE):
        client.sign_in(former)
    for _ in range(5):
        with expect_failure(*INVALID_CODE):
            client.sign_in(off_by(latter, 1))
    with expect_failure(*EXPIRED_CODE):
        client.sign_in(latter)


def test_check_106_the_right_code_is_rejected_after_five_parallel_wrong_guesses(
        mailing: Server, client: Client) -> None:
    code = by_phone(mailing, client, fresh_number())
    with ThreadPoolExecutor(20) as pool:
        first = Counter(pool.map(lambda offset: outcome(client, off_by(code, offset)), range(1, 21)))
        # Parallel tries may be processed together, but their counts are written before any is answered.
        assert first["INVALID_CODE"] >= 5 and set(first) <= {"INVALID_CODE", "EXPIRED_CODE"}, first
        later = Counter(pool.map(lambda offset: outcome(client, off_by(code, offset)), range(21, 41)))
    assert later == {"EXPIRED_CODE": 20}
    with expect_failure(*EXPIRED_CODE):
        client.sign_in(code)


def test_check_106_at_most_one_of_many_parallel_guesses_signs_in(
        mailing: Server, client: Client) -> None:
    for _ in range(5):
        code = by_phone(mailing, client, fresh_number())
        guesses = random.sample([off_by(code, offset) for offset in [*range(1, 16), *[0] * 5]], 20)
        with ThreadPoolExecutor(20) as pool:
            answers = Counter(pool.map(lambda guess: outcome(client, guess), guesses))
        assert answers["in"] <= 1, answers
        assert set(answers) <= {"in", "INVALID_CODE", "EXPIRED_CODE", "OVERLOADED"}, answers
        with expect_failure(*EXPIRED_CODE):
            client.sign_in(code)


def test_check_106_a_phone_code_is_for_one_purpose_and_account(mailing: Server, client: Client) -> None:
    owner, other = client.create(fresh_email()), client.create(fresh_email())
    link = {"purpose": types.PROOF_PURPOSE_LINK, "id_token": owner.id_token}
    code = by_phone(mailing, client, fresh_number(), **link)
    with expect_failure(*INVALID_CODE):
        client.sign_in(code)
    with expect_failure(*INVALID_CODE):
        client.link(other.id_token, code)
    with expect_failure(*INVALID_CODE):
        client.reauthenticate(owner.id_token, code)
    assert session(client.link(owner.id_token, code)).account.phone_number


def test_check_106_the_database_has_no_clear_code_and_no_digest_that_can_be_guessed(
        mailing: Server, client: Client) -> None:
    code = by_phone(mailing, client, fresh_number())
    link = by_mail(mailing, client, fresh_email())
    rows = str(mailing.rows("SELECT * FROM pendings"))
    assert link.email_link.code not in rows and f"'{code.phone_code.code}'" not in rows
    assert code.phone_code.code.encode().hex() not in rows


def test_two_parallel_redemptions_of_a_code_sign_in_once(mailing: Server, client: Client) -> None:
    for credential in (by_phone(mailing, client, fresh_number()), by_mail(mailing, client, fresh_email())):
        def redeem(_: int, credential: Any = credential) -> str:
            try:
                return str(client.sign_in(credential).WhichOneof("outcome"))
            except RpcError:
                return "refused"

        with ThreadPoolExecutor(10) as pool:
            assert sorted(set(pool.map(redeem, range(10)))) == ["refused", "session"]


# Emailed links.

def test_a_sign_in_link_signs_up_signs_in_links_and_completes(
        mailing: Server, client: Client, simulator: Simulator) -> None:
    email = fresh_email()
    made = session(client.sign_in(by_mail(mailing, client, email)))
    assert made.is_new_account and (made.account.email, made.account.email_verified) == (email, True)
    again = session(client.sign_in(by_mail(mailing, client, email)))
    assert again.account.account_id == made.account.account_id

    exists = conflict(client.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    assert list(exists.sign_in_methods) == ["emailLink"]
    done = session(client.sign_in(by_mail(mailing, client, email), pending_token=exists.pending_token))
    assert provider_ids(done.account) == {"emailLink", "oidc.trusted"}
    assert done.account.account_id == made.account.account_id
    client.reauthenticate(done.id_token, by_mail(mailing, client, email))

    guest = session(client.sign_in(anonymous()))
    linked = session(client.link(guest.id_token, by_mail(mailing, client, fresh_email())))
    assert linked.account.account_id == guest.account.account_id and linked.account.email_verified


def test_a_wrong_address_does_not_use_up_the_link_and_a_page_learns_its_purpose(
        mailing: Server, client: Client) -> None:
    email = fresh_email()
    link = by_mail(mailing, client, email)
    check = client.check_code(link.email_link.code)
    assert (check.mode, check.email) == (CODE_MODE_SIGN_IN, email) and check.HasField("expires_at")
    with expect_failure(*INVALID_CODE):
        client.sign_in(email_link(fresh_email(), link.email_link.code))
    assert session(client.sign_in(link)).account.email == email


def test_check_23_an_email_link_of_one_browser_completes_nothing_in_another(
        mailing: Server, client: Client, simulator: Simulator) -> None:
    email = fresh_email()
    session(client.sign_in(by_mail(mailing, client, email)))
    mine, theirs = "the browser of the person", "the browser of an attacker"
    credential = assertion(simulator, "oidc.trusted", email=email, email_verified=True)
    exists = conflict(client.sign_in(credential, binding=theirs))
    link = by_mail(mailing, client, email, binding=mine)
    # Neither the user's link in the attacker's browser, nor the attacker's handle in the user's.
    with expect_failure(*INVALID_CODE):
        client.sign_in(link, binding=theirs, pending_token=exists.pending_token)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_MISMATCH"):
        client.sign_in(link, binding=mine, pending_token=exists.pending_token)
    assert session(client.sign_in(link, binding=mine)).account.email == email


def test_a_link_can_lead_only_to_the_callers_pages(mailing: Server, client: Client) -> None:
    for page in ("https://evil.example/", "http://localhost:3000/callback/", "http://localhost:3000/callback?next=x"):
        for send in (client.send_email_link, client.send_password_reset):
            with expect_failure(StatusCode.PERMISSION_DENIED, "REDIRECT_URI_NOT_ALLOWED"):
                send(fresh_email(), continue_uri=page)


# Verification.

def test_a_confirmation_needs_a_session_of_the_account(mailing: Server, client: Client) -> None:
    email = fresh_email()
    owner, other = client.create(email), client.create(fresh_email())
    code = verification_code(mailing, client, email, owner.id_token)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "REQUIRES_RECENT_LOGIN"):
        client.confirm_email(code)
    with expect_failure(StatusCode.PERMISSION_DENIED, "USER_MISMATCH"):
        client.confirm_email(code, other.id_token)
    confirmed = client.confirm_email(code, owner.id_token)
    assert confirmed.email == email and client.get(confirmed.session.id_token).email_verified
    again = client.confirm_email(code, owner.id_token)
    assert again.session.session_id == owner.session_id, "a second click in the same session succeeds"
    with expect_failure(*EXPIRED_CODE):
        client.confirm_email(code, session(client.sign_in(password(email))).id_token)


def test_check_109_no_claim_of_a_caller_verifies_an_address_or_a_number(
        mailing: Server, client: Client, simulator: Simulator) -> None:
    email = fresh_email()
    owner = client.create(email, display_name="email_verified")
    linked = session(client.link(owner.id_token, assertion(simulator, "oidc.corp", email=email, email_verified=True)))
    assert not linked.account.email_verified, "the provider is not trusted to have verified it"
    for made_up in ("", "nonsense", "A" * 43):
        with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", "INVALID_CODE"):
            client.confirm_email(made_up, owner.id_token)
    number = fresh_number()
    sent = client.send_phone_code(
        number, purpose=types.PROOF_PURPOSE_LINK, id_token=owner.id_token)
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"):
        client.link(owner.id_token, phone_code(sent.verification_id, ""))
    account = client.get(linked.id_token)
    assert not account.email_verified and not account.phone_number


# Password resets.

def test_a_reset_replaces_the_password_and_ends_every_session(
        mailing: Server, client: Client, simulator: Simulator) -> None:
    email = fresh_email()
    made = session(client.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    session(client.link(made.id_token, password(email)))
    signed_in = session(client.sign_in(password(email)))
    code = reset_code(mailing, client, email)
    with expect_failure(StatusCode.INVALID_ARGUMENT, "WEAK_PASSWORD"):
        client.reset_password(code, "short")
    answer = client.reset_password(code, NEW_PASSWORD)
    assert answer.email == email and not answer.revoked_provider_ids
    for ended in (made, signed_in):
        with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
            client.get(ended.id_token)
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS"):
        client.sign_in(password(email))
    again = session(client.sign_in(password(email, NEW_PASSWORD)))
    assert provider_ids(again.account) == {"oidc.trusted", "password"}
    outbox.wait_for(mailing, "password_changed", email)
    with expect_failure(*EXPIRED_CODE):
        client.reset_password(code, NEW_PASSWORD)


def test_check_8_without_sign_in_links_the_mailbox_owner_claims_by_a_reset(
        server: Server, web: Client, admin: Client, simulator: Simulator) -> None:
    email = fresh_email()
    stranger = {"subject": fresh_email(), "email": email}
    planted = session(web.sign_in(assertion(simulator, "oidc.corp", **stranger))).account
    assert planted.email == email and not planted.email_verified
    with expect_failure(StatusCode.FAILED_PRECONDITION, "OPERATION_NOT_ALLOWED"):
        web.send_email_link(email)
    with expect_failure(StatusCode.ALREADY_EXISTS, "EMAIL_ALREADY_IN_USE"):
        web.create(email)

    code = reset_code(server, web, email)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "UNVERIFIED_EMAIL", field="code") as refusal:
        web.reset_password(code, NEW_PASSWORD)
    assert "claim_address" in refusal.text
    answer = web.reset_password(code, NEW_PASSWORD, claim_address=True)
    assert answer.email == email and answer.is_new_account and not answer.revoked_provider_ids
    with expect_failure(*INVALID_CODE):
        web.reset_password(code, NEW_PASSWORD, claim_address=True)

    mine = session(web.sign_in(password(email, NEW_PASSWORD))).account
    assert mine.email_verified and mine.account_id != planted.account_id and provider_ids(mine) == {"password"}
    theirs = session(web.sign_in(assertion(simulator, "oidc.corp", **stranger))).account
    assert theirs.account_id == planted.account_id and not theirs.email
    assert admin.lookup(email=email).account_id == mine.account_id


def test_check_39_resets_links_and_phone_codes_do_not_reveal_who_is_known(
        mailing: Server, client: Client) -> None:
    known, unknown, number = fresh_email(), fresh_email(), fresh_number()
    client.create(known)
    session(client.sign_in(by_phone(mailing, client, number)))

    def shape(answer: Any) -> set[str]:
        assert 0 < answer.expires_at.seconds - time.time() < 7 * 3600
        return {field.name for field, _ in answer.ListFields()}

    for send in (client.send_password_reset, client.send_email_link):
        assert shape(send(known)) == shape(send(unknown)) == {"expires_at"}
    for each in (number, fresh_number()):
        assert shape(client.send_phone_code(each)) == {"verification_id", "expires_at"}
    outbox.wait_for(mailing, "reset_password", known)
    outbox.wait_for(mailing, "email_link", unknown)
    outbox.none_comes(mailing, "reset_password", unknown)


@pytest.mark.timed
def test_check_39_known_and_unknown_take_the_same_time(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    """A commit with its sync takes milliseconds, and both make one. An email costs far less in addition."""
    client = connect(serve(policy=POLICY, throttles={"resets_per_recipient_max": 0}))
    emails = {"known": fresh_email(), "unknown": fresh_email()}
    client.create(emails["known"])
    assert_same_time({
        kind: functools.partial(client.send_password_reset, email) for kind, email in emails.items()
    }, tolerance=0.3, rounds=300)


# Change of address, and its reversal.

def test_a_change_of_address_is_confirmed_at_the_new_and_revertible_at_the_old_one(
        mailing: Server, client: Client) -> None:
    old, new = fresh_email(), fresh_email()
    owner = session(client.sign_in(by_mail(mailing, client, old)))
    owner = session(client.link(owner.id_token, password(old)))
    elsewhere = session(client.sign_in(password(old)))
    code = change_code(mailing, client, new, owner.id_token)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "REQUIRES_RECENT_LOGIN"):
        client.confirm_email(code)
    changed = client.confirm_email(code, owner.id_token)
    assert (changed.email, changed.session.account.email_verified) == (new, True)
    with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
        client.get(elsewhere.id_token)
    assert session(client.sign_in(password(new))).account.account_id == owner.account.account_id

    notice = outbox.wait_for(mailing, "email_changed", old)
    back = code_in(notice, "revertEmail")
    assert "link" not in outbox.wait_for(mailing, "email_changed", new).values
    assert client.check_code(back).mode == CODE_MODE_REVERT_EMAIL
    reverted = client.confirm_email(back)
    assert reverted.email == old and not reverted.HasField("session")
    with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
        client.get(changed.session.id_token)
    account = session(client.sign_in(password(old))).account
    assert account.account_id == owner.account.account_id and account.email_verified


def test_only_the_mailbox_of_a_new_address_learns_whether_it_is_free(mailing: Server, client: Client) -> None:
    taken = fresh_email()
    client.create(taken)
    owner = client.create(fresh_email())
    answer, message = arriving(
        mailing, "change_email", taken, lambda: client.send_email_change(owner.id_token, taken))
    free = client.send_email_change(owner.id_token, fresh_email())
    assert {field.name for field, _ in answer.ListFields()} == {field.name for field, _ in free.ListFields()}
    with expect_failure(*INVALID_CODE):
        client.confirm_email(code_in(message, "changeEmail"), owner.id_token)
    code = change_code(mailing, client, taken, owner.id_token)
    with expect_failure(StatusCode.ALREADY_EXISTS, "EMAIL_ALREADY_IN_USE"):
        client.confirm_email(code, owner.id_token)


def test_a_change_of_address_needs_a_recent_login(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    client = connect(serve(policy={**POLICY, "recent_login_seconds": 1}))
    owner = client.create(fresh_email())
    time.sleep(1.1)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "REQUIRES_RECENT_LOGIN"):
        client.send_email_change(owner.id_token, fresh_email())


# Features that are not allowed.

def test_a_method_that_is_disabled_or_has_no_transport_is_not_allowed(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    closed = connect(serve())
    mute = connect(serve(policy=POLICY, delivery={"mail": "off", "text_messages": "off"}))
    refused = (StatusCode.FAILED_PRECONDITION, "OPERATION_NOT_ALLOWED")
    for client in (closed, mute):
        with expect_failure(*refused):
            client.send_phone_code(fresh_number())
        with expect_failure(*refused):
            client.send_email_link(fresh_email())
    with expect_failure(*refused):
        mute.send_password_reset(fresh_email())
    with expect_failure(*refused):
        mute.send_email_verification(mute.create(fresh_email()).id_token)
    for credential in (phone_code("A" * 43, "123456"), email_link(fresh_email(), "A" * 43)):
        with expect_failure(*refused):
            closed.sign_in(credential)


def test_messages_to_one_address_are_limited_whether_it_is_known_or_not(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    """Links do not use up the resets."""
    limits = {"sends_per_recipient_max": 3, "resets_per_recipient_max": 2}
    client = connect(serve(policy=POLICY, throttles=limits))
    known = fresh_email()
    client.create(known)
    for email in (known, fresh_email()):
        for send, times in ((client.send_email_link, 3), (client.send_password_reset, 2)):
            for _ in range(times):
                send(email)
            with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_ATTEMPTS"):
                send(email)


def test_malformed_requests_name_their_field(mailing: Server, client: Client) -> None:
    for call in (
        lambda: client.send_phone_code("12345"), lambda: client.send_phone_code("+0123456789"),
    ):
        with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_PHONE_NUMBER"):
            call()
    for call in (lambda: client.send_email_link("nobody"), lambda: client.send_password_reset("")):
        with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_EMAIL"):
            call()
    for call in (
        lambda: client.send_phone_code(fresh_number(), purpose=9),
        lambda: client.send_phone_code(fresh_number(), purpose=2),
        lambda: client.send_email_link(fresh_email(), continue_uri=""),
        lambda: client.check_code(""), lambda: client.reset_password("A" * 129, NEW_PASSWORD),
    ):
        with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"):
            call()


# Second factors.

def test_check_89_a_sign_in_link_a_phone_code_and_a_reset_still_require_the_second_factor(
        mailing: Server, client: Client) -> None:
    email, number = fresh_email(), fresh_number()
    made = session(client.sign_in(by_mail(mailing, client, email)))
    code = by_phone(mailing, client, number, purpose=types.PROOF_PURPOSE_LINK, id_token=made.id_token)
    session(client.link(made.id_token, code))
    made = session(client.sign_in(by_mail(mailing, client, email)))
    authenticator, _ = enrol_totp(client, made)

    link = by_mail(mailing, client, email)
    required = factor_required(client.sign_in(link))
    with expect_failure(*EXPIRED_CODE):
        client.sign_in(link)
    done = client.finish_factor(required.pending_token, authenticator.factor_id, authenticator.code())
    assert session(done).account.account_id == made.account.account_id

    required = factor_required(client.sign_in(by_phone(mailing, client, number)))
    done = client.finish_factor(required.pending_token, authenticator.factor_id, authenticator.code())
    assert session(done).account.account_id == made.account.account_id

    client.reset_password(reset_code(mailing, client, email), NEW_PASSWORD)
    factor_required(client.sign_in(password(email, NEW_PASSWORD)))
    assert not client.verify(session(done).id_token).active
