"""`policy.require_second_factor`: grace periods, restricted sessions, and the calls that lead out of them."""

from __future__ import annotations

import datetime
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jwt
import latchkey.v1
import outbox
import passkeys
import pytest
import reloads
from authenticators import enrol_totp
from clients import (
    PAGE,
    PASSWORD,
    Client,
    anonymous,
    assertion,
    custom,
    factor_required,
    fresh_email,
    password,
    session,
)
from configuration import KEYS, Settings
from failures import expect_failure
from google.protobuf import message_factory
from grpc import StatusCode
from latchkey.v1 import types_pb2 as types
from latchkey.v1.admin_support_pb2 import SIGN_IN_CAUSE_NOTHING_FOUND, SIGN_IN_CAUSE_SECOND_FACTOR_NOT_ENROLLED
from latchkey.v1.errors_pb2 import ERROR_REASON_REQUIRES_SECOND_FACTOR_ENROLLMENT as RESTRICTED
from latchkey.v1.types_pb2 import FACTOR_KIND_TOTP, PROOF_PURPOSE_LINK, PROOF_PURPOSE_REAUTHENTICATE
from metrics import ON_A_FREE_PORT, eventually
from processes import Server, Simulator
from test_latchkey_command import Person
from verification import POLICY, by_phone, code_in, fresh_number

REFUSED = (StatusCode.FAILED_PRECONDITION, "REQUIRES_SECOND_FACTOR_ENROLLMENT")
ENDING = "/second-factor-enrollment"
DAYS = 86_400

# The calls that accept the token of a restricted session (F7).
ACCEPTED = {
    "SecondFactorService/StartEnrollment", "SecondFactorService/FinishEnrollment", "PasskeyService/StartRegistration",
    "PasskeyService/FinishRegistration", "AccountService/Get", "SessionService/SignOut", "SessionService/RevokeAll",
    "VerificationService/SendEmailVerification", "VerificationService/ConfirmEmail",
}
# Fields next to the token that a call needs before it looks at the token.
BY_PASSWORD = password("ada@example.com")
FIELDS: dict[str, Settings] = {
    "ProviderFlowService/RevokeToken": {
        "token": {"provider_id": "google.com", "token": "abc", "kind": "PROVIDER_TOKEN_KIND_ACCESS_TOKEN"}},
    "AuthService/Link": {"credential": BY_PASSWORD},
    "AuthService/Unlink": {"provider_id": "password"},
    "AuthService/Reauthenticate": {"credential": BY_PASSWORD},
    "AccountService/Update": {"account": {"display_name": "Ada"}, "update_mask": {"paths": ["display_name"]}},
    "PasskeyService/StartSignIn": {"purpose": PROOF_PURPOSE_REAUTHENTICATE},
    "PasskeyService/RenamePasskey": {"passkey_id": "a", "name": "b"},
    "PasskeyService/RemovePasskey": {"passkey_id": "a"},
    "ProviderFlowService/StartFlow": {"provider_id": "oidc.corp", "redirect_uri": PAGE, "purpose": PROOF_PURPOSE_LINK},
    "SecondFactorService/Withdraw": {"factor_id": "a"},
    "SessionService/EndSession": {"session_id": "a"},
    "SessionService/CreateSessionCookie": {"valid_for_seconds": 3_600},
    "VerificationService/SendPhoneCode": {"phone_number": "+491512345678", "purpose": PROOF_PURPOSE_LINK},
    "VerificationService/SendEmailCode": {"email": "new@example.com", "purpose": 2},
    "VerificationService/SendEmailChange": {"new_email": "new@example.com", "continue_uri": PAGE},
}


def day(offset: int) -> str:
    return str(datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=offset))


# Every session needs a second factor, after a grace period that is over.
OVERDUE: Settings = {"since": "2026-01-01", "grace_days": 0}


@pytest.fixture(scope="module")
def strict(folder: Path, simulator: Simulator) -> Iterator[Server]:
    server = Server.start(
        folder, simulator, policy={**POLICY, "email_code": "code", "require_second_factor": [OVERDUE]},
        tokens={"session_cookies": True}, relying_parties=passkeys.SETTINGS["relying_parties"],
        metrics=ON_A_FREE_PORT)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def app(strict: Server) -> Iterator[Client]:
    client = Client(strict, key="web")
    yield client
    client.close()


def verified(client: Client, simulator: Simulator) -> types.Session:
    """A user with a verified address."""
    email = fresh_email("gmail.com")
    return session(client.sign_in(assertion(simulator, "google.com", email=email, email_verified=True)))


def audience(made: types.Session) -> str:
    """The audience of a token that VerifyIdToken may reject."""
    return str(jwt.decode(made.id_token, options={"verify_signature": False})["aud"])


def calls_with_tokens() -> Iterator[tuple[str, Any, str]]:
    """Each method of each service with the fields of its request that take an ID token."""
    for module in pkgutil.iter_modules(latchkey.v1.__path__):
        if not module.name.endswith("_pb2"):
            continue
        file = importlib.import_module(f"latchkey.v1.{module.name}").DESCRIPTOR
        for service in file.services_by_name.values():
            for method in service.methods:
                for field in method.input_type.fields:
                    if field.name.endswith("id_token"):
                        yield f"{service.name}/{method.name}", method, field.name


def test_F6_every_sign_in_after_the_grace_period_returns_a_restricted_session(
        strict: Server, app: Client, simulator: Simulator) -> None:
    email = fresh_email()
    made = app.create(email)
    number = fresh_number()
    for each in (made, session(app.sign_in(password(email))), verified(app, simulator),
                 session(app.sign_in(by_phone(strict, app, number)))):
        assert each.is_restricted and each.second_factor_due_at.seconds <= each.account.created_at.seconds
        assert audience(each) == "latchkey" + ENDING
        refreshed = app.refresh(each.refresh_token)
        assert refreshed.is_restricted and audience(refreshed) == "latchkey" + ENDING
        status = app.verify(each.id_token)
        assert not status.active and status.inactive_reason == RESTRICTED and not status.claims_json
    counted = {"caller": "web", "outcome": "restricted_session"}
    eventually(strict, lambda seen: seen("latchkey_caller_outcomes_total", **counted) >= 5)


def test_F4_F14_an_anonymous_user_is_exempt_until_a_method_is_linked(app: Client, simulator: Simulator) -> None:
    guest = session(app.sign_in(anonymous()))
    assert not guest.is_restricted and not guest.HasField("second_factor_due_at") and app.verify(guest.id_token).active
    google = assertion(simulator, "google.com", email=fresh_email("gmail.com"), email_verified=True)
    assert session(app.link(guest.id_token, google)).is_restricted


def test_F7_every_call_that_takes_an_id_token_is_refused_unless_it_leads_to_an_enrollment(app: Client) -> None:
    made, other = app.create(fresh_email()), app.create(fresh_email())
    seen = set()
    for name, method, field in calls_with_tokens():
        seen.add(name)
        if name in ACCEPTED or name == "SessionService/VerifyIdToken":
            continue
        request = message_factory.GetMessageClass(method.input_type)(**FIELDS.get(name, {}))
        setattr(request, field, made.id_token)
        if name == "AccountService/Merge":
            other_field = {"survivor_id_token": "other_id_token", "other_id_token": "survivor_id_token"}[field]
            setattr(request, other_field, session(app.sign_in(anonymous())).id_token)
        response = message_factory.GetMessageClass(method.output_type)
        call = app.channel.unary_unary(
            f"/latchkey.v1.{name}", request_serializer=type(request).SerializeToString,
            response_deserializer=response.FromString)
        with expect_failure(*REFUSED) as refusal:
            call(request, timeout=20)
        assert refusal.field == field, name
    assert seen >= ACCEPTED | set(FIELDS), "a name in the lists of this test is no call"
    assert len(seen - ACCEPTED) >= 17
    assert app.get(made.id_token) == made.account and app.get(other.id_token) == other.account


def test_F7_a_restricted_user_signs_out_by_each_token(app: Client) -> None:
    email = fresh_email()
    made = [app.create(email), *(session(app.sign_in(password(email))) for _ in range(2))]
    app.sign_out(id_token=made[0].id_token)
    with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
        app.get(made[0].id_token)
    app.sign_out(refresh_token=made[1].refresh_token)
    assert app.revoke_all(made[2].id_token) == 1


def test_F9_enrollment_opens_a_full_session_and_every_later_sign_in_asks_for_the_factor(
        app: Client, simulator: Simulator) -> None:
    email = fresh_email("gmail.com")
    google = assertion(simulator, "google.com", email=email, email_verified=True)
    made = session(app.sign_in(google))
    authenticator, finished = enrol_totp(app, made)
    full = finished.session
    assert not full.is_restricted and not full.HasField("second_factor_due_at") and len(finished.recovery_codes) == 10
    assert app.claims(full.id_token)["aud"] == "latchkey" and not app.refresh(full.refresh_token).is_restricted
    with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
        app.get(made.id_token)
    required = factor_required(app.sign_in(google))
    again = session(app.finish_factor(required.pending_token, authenticator.factor_id, authenticator.code()))
    assert not again.is_restricted and app.create_session_cookie(again.id_token).session_cookie


def test_F9_a_restricted_user_verifies_the_address_by_link_or_code_and_enrolls(strict: Server, app: Client) -> None:
    for by_code in (False, True):
        email = fresh_email()
        made = app.create(email)
        with expect_failure(StatusCode.FAILED_PRECONDITION, "UNVERIFIED_EMAIL"):
            app.start_enrollment(made.id_token, FACTOR_KIND_TOTP)
        if by_code:
            sent = app.send_email_code("", id_token=made.id_token, purpose=5)
            digits = outbox.wait_for(strict, "verify_email_code", email).values["code"]
            confirmed = app.confirm_email(digits, made.id_token, verification_id=sent.verification_id).session
        else:
            app.send_email_verification(made.id_token, continue_uri=PAGE)
            code = code_in(outbox.wait_for(strict, "verify_email", email), "verifyEmail")
            confirmed = app.confirm_email(code, made.id_token).session
        assert confirmed.is_restricted and confirmed.account.email_verified
        _, finished = enrol_totp(app, confirmed)
        assert not finished.session.is_restricted


def test_F10_F3_a_passkey_is_registered_in_a_restricted_session_and_opens_a_full_one(
        app: Client, strict: Server) -> None:
    made = session(app.sign_in(by_phone(strict, app, fresh_number())))
    with expect_failure(StatusCode.FAILED_PRECONDITION, "UNSUPPORTED_FIRST_FACTOR"):
        app.start_enrollment(made.id_token, FACTOR_KIND_TOTP)
    key = passkeys.Device()
    started = app.start_registration(made.id_token)
    credential = key.create(started.options_json)
    registered = app.finish_registration(made.id_token, started.registration_id, credential, name="My phone")
    assert registered.session.is_restricted and registered.session.session_id == made.session_id
    for verifies in (True, False):
        key.verifies_user = verifies
        begun = app.start_passkey_sign_in()
        proof = passkeys.used(begun.sign_in_id, key.get(begun.options_json))
        assert session(app.sign_in(proof)).is_restricted != verifies


def test_F5_F8_a_session_becomes_restricted_at_a_refresh_when_a_reload_ends_the_grace_period(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    rule = {"since": day(-1), "grace_days": 14}
    server = serve(policy={"require_second_factor": [rule]})
    client = connect(server)
    made = verified(client, simulator)
    due = made.account.created_at.seconds + 14 * DAYS
    assert not made.is_restricted and abs(made.second_factor_due_at.seconds - due) <= 1
    assert client.verify(made.id_token).active
    assert reloads.names(reloads.change(server, policy={"require_second_factor": [OVERDUE]}))
    assert client.verify(made.id_token).active, "an older token stays what it is"
    refreshed = client.refresh(made.refresh_token)
    assert refreshed.is_restricted
    with expect_failure(*REFUSED, field="id_token"):
        client.list_sessions(refreshed.id_token)
    reloads.change(server, policy={"require_second_factor": []})
    with expect_failure(*REFUSED):
        client.list_sessions(refreshed.id_token)
    released = client.refresh(refreshed.refresh_token)
    assert not released.is_restricted and client.list_sessions(released.id_token)


def test_F1_F12_rules_are_about_callers_and_claims(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = serve(policy={"require_second_factor": [
        {"callers": ["shop"], **OVERDUE}, {"claims": ["role=admin"], **OVERDUE}]})
    web, shop, admin = (connect(server, key=key) for key in ("web", "shop", "admin"))
    email = fresh_email()
    made = web.create(email)
    assert not made.is_restricted
    at_shop = session(shop.sign_in(password(email)))
    assert at_shop.is_restricted and audience(at_shop) == "shop" + ENDING
    for client in (web, shop):
        assert not client.verify(at_shop.id_token).active
    admin.set_claims(made.account.account_id, '{"role":["editor","admin"]}')
    made = web.refresh(made.refresh_token)
    assert made.is_restricted
    admin.set_claims(made.account.account_id, '{"role":"administrator"}')
    assert not web.refresh(made.refresh_token).is_restricted
    # F15: the claims of a custom token count, too.
    token = admin.custom_token(made.account.account_id, '{"role":"admin"}')
    assert session(web.sign_in(custom(token))).is_restricted


def test_F11_who_withdraws_the_last_factor_is_restricted_and_can_enroll_again(
        app: Client, simulator: Simulator) -> None:
    authenticator, finished = enrol_totp(app, verified(app, simulator))
    after = app.withdraw(finished.session.id_token, authenticator.factor_id)
    assert after.is_restricted
    _, again = enrol_totp(app, after)
    assert not again.session.is_restricted


def test_F13_a_cookie_ends_with_the_grace_period(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = serve(policy={"require_second_factor": [{"since": day(-1), "grace_days": 2}]},
                   tokens={"session_cookies": True})
    client = connect(server)
    made = verified(client, simulator)
    cookie = client.create_session_cookie(made.id_token, 14 * DAYS)
    assert abs(cookie.expires_at.seconds - made.second_factor_due_at.seconds) <= 1


def test_support_and_the_command_name_the_cause(
        strict: Server, app: Client, connect: Callable[..., Client], tmp_path: Path, simulator: Simulator) -> None:
    admin, email = connect(strict, key="admin"), fresh_email()
    made = app.create(email)
    diagnosis = admin.diagnose(account_id=made.account.account_id)
    assert diagnosis.cause == SIGN_IN_CAUSE_SECOND_FACTOR_NOT_ENROLLED and "web" in diagnosis.summary
    person = Person(strict, tmp_path)
    answer = person.json("why", email, LATCHKEY_API_KEY=KEYS["admin"])
    assert answer["cause"] == "SECOND_FACTOR_NOT_ENROLLED"
    app.sign_out(id_token=made.id_token)
    assert admin.diagnose(account_id=made.account.account_id).cause == SIGN_IN_CAUSE_NOTHING_FOUND


def test_the_command_shows_that_the_session_is_restricted(strict: Server, app: Client, tmp_path: Path) -> None:
    email = fresh_email()
    app.create(email)
    person = Person(strict, tmp_path)
    shown = person.json("sign-in", "--email", email, LATCHKEY_PASSWORD=PASSWORD)
    assert shown["is_restricted"] is True and shown["second_factor_due_at"]
