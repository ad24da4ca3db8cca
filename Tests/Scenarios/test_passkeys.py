"""Passkeys on both stores: sign-up, sign-in, link, conflicts, factors, removal, replicas, restarts and races."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import databases
import grpc
import passkeys
import pytest
from authenticators import enrol_totp
from clients import Client, assertion, conflict, factor_required, fresh_email, password, provider_ids, session
from failures import expect_failure, read
from grpc import StatusCode
from latchkey.v1 import admin_service_pb2 as admin
from latchkey.v1 import types_pb2 as types
from latchkey.v1.event_service_pb2 import EVENT_TYPE_PASSKEY_CLONE_SUSPECTED
from passkeys import Device, add, registered, sign_in, sign_up, used
from processes import Server, Simulator
from soft_authenticator import encoded
from verification import by_mail, reset_code, verification_code


@pytest.fixture(scope="module")
def passkey_server(folder: Path, simulator: Simulator) -> Iterator[Server]:
    running = Server.start(folder, simulator, **passkeys.SETTINGS)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def app(passkey_server: Server) -> Iterator[Client]:
    client = Client(passkey_server, key="web")
    yield client
    client.close()


@pytest.fixture(scope="module")
def support(passkey_server: Server) -> Iterator[Client]:
    client = Client(passkey_server, key="admin")
    yield client
    client.close()


def verified(client: Client, server: Server) -> tuple[str, types.Session]:
    """A user with a verified address, signed in by a link."""
    email = fresh_email()
    return email, session(client.sign_in(by_mail(server, client, email)))


def test_a_user_signs_up_and_in_with_nothing_but_a_passkey(app: Client) -> None:
    key = Device()
    made = sign_up(app, key)
    assert made.is_new_account and not made.account.email
    assert provider_ids(made.account) == {"passkey"}
    assert set(app.claims(made.id_token)["amr"]) == {"hwk", "user", "mfa"}
    again = session(sign_in(app, key))
    assert again.account.account_id == made.account.account_id and not again.is_new_account


def test_sign_up_respects_existing_only(app: Client) -> None:
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
        sign_up(app, Device(), existing_only=True)


def test_a_sign_in_with_an_email_address_names_the_passkeys(app: Client) -> None:
    email, key = fresh_email(), Device(synced=True)
    made = app.create(email)
    add(app, key, made.id_token, "My phone")
    started = app.start_passkey_sign_in(email=email)
    allowed = json.loads(started.options_json)["allowCredentials"]
    assert [each["id"] for each in allowed] == [encoded(key.credential_id)]
    back = session(app.sign_in(used(started.sign_in_id, key.get(started.options_json, handle=False))))
    assert back.account.account_id == made.account.account_id
    assert "swk" in app.claims(back.id_token)["amr"]


def test_an_unknown_email_address_gets_options_like_an_account_without_passkeys(app: Client) -> None:
    email = fresh_email()
    app.create(email)
    for address in (email, fresh_email()):
        first, second = (json.loads(app.start_passkey_sign_in(email=address).options_json) for _ in range(2))
        assert first["allowCredentials"] == second["allowCredentials"] and 1 <= len(first["allowCredentials"]) <= 4
        assert first["challenge"] != second["challenge"]


def test_a_passkey_is_listed_renamed_and_removed_but_never_as_the_last_method(app: Client) -> None:
    first, second = Device(), Device()
    made = sign_up(app, first)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "LAST_SIGN_IN_METHOD"):
        app.remove_passkey(made.id_token, first.passkey_id)
    finished = add(app, second, made.id_token, "Key ring")
    assert finished.passkey.passkey_id == second.passkey_id and finished.passkey.name == "Key ring"
    token = finished.session.id_token
    assert app.rename_passkey(token, first.passkey_id, "Laptop").name == "Laptop"
    assert {each.name for each in app.list_passkeys(token)} == {"Laptop", "Key ring"}
    rest = app.remove_passkey(token, first.passkey_id)
    assert [each.passkey_id for each in app.list_passkeys(rest.id_token)] == [second.passkey_id]
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_PASSKEY"):
        sign_in(app, first)
    with expect_failure(StatusCode.NOT_FOUND, "PASSKEY_NOT_FOUND"):
        app.remove_passkey(rest.id_token, first.passkey_id)


def test_link_takes_a_registration_and_keeps_an_anonymous_account(app: Client) -> None:
    guest = session(app.sign_in(types.Credential(anonymous=types.AnonymousCredential())))
    started, key = app.start_registration(guest.id_token), Device()
    credential = registered(started.registration_id, key.create(started.options_json), "Phone")
    linked = app.link(guest.id_token, credential).session
    assert linked.account.account_id == guest.account.account_id and not linked.account.anonymous
    assert session(sign_in(app, key)).account.account_id == guest.account.account_id


def test_a_reauthentication_takes_only_a_passkey_of_the_account(app: Client) -> None:
    key, foreign = Device(), Device()
    made = sign_up(app, key)
    sign_up(app, foreign)
    for device in (foreign, key):
        started = app.start_passkey_sign_in(purpose=types.PROOF_PURPOSE_REAUTHENTICATE, id_token=made.id_token)
        credential = used(started.sign_in_id, device.get(started.options_json))
        if device is foreign:
            with expect_failure(StatusCode.PERMISSION_DENIED, "USER_MISMATCH"):
                app.reauthenticate(made.id_token, credential)
        else:
            assert app.reauthenticate(made.id_token, credential).session_id != made.session_id


def test_a_passkey_completes_a_conflict(app: Client, simulator: Simulator) -> None:
    email, key = fresh_email(), Device()
    made = app.create(email)
    add(app, key, made.id_token)
    exists = conflict(app.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    assert "passkey" in exists.sign_in_methods
    linked = session(sign_in(app, key, pending_token=exists.pending_token))
    assert provider_ids(linked.account) == {"password", "passkey", "oidc.trusted"}


def test_S8_a_passkey_that_is_older_than_the_conflict_completes_it(app: Client, simulator: Simulator) -> None:
    email, key, later = fresh_email("gmail.com"), Device(), Device()
    order = {"email": email, "email_verified": True}
    made = session(app.sign_in(assertion(simulator, "google.com", subject="first-" + email, **order)))
    add(app, key, made.id_token)
    exists = conflict(app.sign_in(assertion(simulator, "google.com", subject="second-" + email, **order)))
    assert exists.reason == types.CONFLICT_REASON_SUBJECT_CHANGED and list(exists.sign_in_methods) == ["passkey"]
    known = session(sign_in(app, key))
    add(app, later, known.id_token)
    app.unlink(known.id_token, "google.com")
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_MISMATCH"):
        sign_in(app, later, pending_token=exists.pending_token)
    linked = session(sign_in(app, key, pending_token=exists.pending_token))
    assert linked.account.account_id == made.account.account_id
    assert provider_ids(linked.account) == {"passkey", "google.com"}


def test_a_reset_removes_passkeys_from_before_the_verification(app: Client, passkey_server: Server) -> None:
    email, before, after = fresh_email(), Device(), Device()
    made = app.create(email)
    add(app, before, made.id_token)
    app.confirm_email(verification_code(passkey_server, app, email, made.id_token), made.id_token)
    later = session(app.sign_in(password(email)))
    add(app, after, later.id_token)
    app.reset_password(reset_code(passkey_server, app, email), "an entirely new password")
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_PASSKEY"):
        sign_in(app, before)
    assert session(sign_in(app, after)).account.account_id == made.account.account_id


def test_S6a_the_owner_of_a_mailbox_reclaims_the_account_and_the_passkey_is_gone(
        app: Client, simulator: Simulator) -> None:
    email, key = fresh_email("mail.example"), Device()
    made = app.create(email)
    add(app, key, made.id_token)
    reclaimed = session(app.sign_in(assertion(simulator, "oidc.mail", email=email, email_verified=True)))
    assert reclaimed.account.account_id == made.account.account_id and not reclaimed.is_new_account
    assert list(reclaimed.revoked_provider_ids) == ["password", "passkey"]
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_PASSKEY"):
        sign_in(app, key)


def test_S6b_the_owner_of_a_mailbox_claims_the_address_and_the_passkey_keeps_its_account(
        app: Client, simulator: Simulator) -> None:
    email, key = fresh_email("mail.example"), Device()
    made = app.create(email)
    linked = session(app.link(made.id_token, assertion(simulator, "oidc.corp")))
    add(app, key, linked.id_token)
    owner = assertion(simulator, "oidc.mail", email=email, email_verified=True)
    assert conflict(app.sign_in(owner)).can_claim_address
    claimed = session(app.sign_in(owner, claim_address=True))
    assert claimed.is_new_account and claimed.account.email == email
    kept = session(sign_in(app, key)).account
    assert kept.account_id == made.account.account_id and not kept.email


def test_a_merge_moves_passkeys(app: Client) -> None:
    one, two = Device(), Device()
    survivor, other = sign_up(app, one), sign_up(app, two)
    merged = app.merge(survivor, other)
    assert list(merged.moved_provider_ids) == ["passkey"]
    for key in (one, two):
        assert session(sign_in(app, key)).account.account_id == survivor.account.account_id


def test_a_passkey_is_a_second_factor_and_a_verified_one_passes_both(app: Client, passkey_server: Server) -> None:
    email, made = verified(app, passkey_server)
    factor = Device(verifies_user=False)
    started = app.start_enrollment(made.id_token, types.FACTOR_KIND_PASSKEY)
    finished = app.finish_enrollment(
        made.id_token, started.enrollment_id,
        passkey_credential_json=factor.create(started.passkey_options_json))
    assert len(finished.recovery_codes) == 10
    required = app.sign_in(by_mail(passkey_server, app, email)).second_factor_required
    hint = required.hints[0]
    assert hint.kind == types.FACTOR_KIND_PASSKEY
    options = app.start_factor(required.pending_token, hint.factor_id).passkey_options_json
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_PASSKEY"):
        app.finish_factor(required.pending_token, hint.factor_id, "",
                          passkey_credential_json=factor.get(options, origin="https://evil.example"))
    passed = app.finish_factor(required.pending_token, hint.factor_id, "", passkey_credential_json=factor.get(options))
    assert {"pop", "mfa"} <= set(app.claims(passed.session.id_token)["amr"])
    key = Device()
    added = add(app, key, passed.session.id_token)
    assert added.WhichOneof("outcome") == "session"
    both = session(sign_in(app, key))
    assert app.claims(both.id_token)["latchkey"]["sign_in_second_factor"] == "passkey"


def test_P11_a_verification_counts_only_if_the_registration_had_one_or_after_another_factor(
        app: Client, passkey_server: Server) -> None:
    """A thief can set the PIN of a security key that has none."""
    _, made = verified(app, passkey_server)
    totp, enrolled = enrol_totp(app, made)
    key = Device(verifies_user=False)
    add(app, key, enrolled.session.id_token)
    key.verifies_user = True
    required = factor_required(sign_in(app, key))
    passed = session(app.finish_factor(required.pending_token, totp.factor_id, totp.code()))
    assert set(app.claims(passed.id_token)["amr"]) == {"hwk", "otp", "mfa"}
    (listed,) = app.list_passkeys(passed.id_token)
    assert listed.user_verified
    assert set(app.claims(session(sign_in(app, key)).id_token)["amr"]) == {"hwk", "user", "mfa"}


def test_a_sign_count_of_a_factor_that_falls_is_an_event(
        app: Client, support: Client, passkey_server: Server) -> None:
    email, made = verified(app, passkey_server)
    key = Device(verifies_user=False, sign_count=7)
    started = app.start_enrollment(made.id_token, types.FACTOR_KIND_PASSKEY)
    app.finish_enrollment(
        made.id_token, started.enrollment_id, passkey_credential_json=key.create(started.passkey_options_json))
    key.sign_count = 3
    required = factor_required(app.sign_in(by_mail(passkey_server, app, email)))
    factor_id = required.hints[0].factor_id
    options = app.start_factor(required.pending_token, factor_id).passkey_options_json
    session(app.finish_factor(required.pending_token, factor_id, "", passkey_credential_json=key.get(options)))
    (event,) = [each.event for each in support.list_events(account_id=made.account.account_id).events
                if each.event.type == EVENT_TYPE_PASSKEY_CLONE_SUSPECTED]
    assert {"factor_id": factor_id, "rejected": "false"}.items() <= json.loads(event.details_json).items()


def test_a_sign_count_that_falls_is_an_event(app: Client, support: Client) -> None:
    key = Device(sign_count=7)
    made = sign_up(app, key)
    key.sign_count = 3
    sign_in(app, key)
    events = support.list_events(account_id=made.account.account_id).events
    assert EVENT_TYPE_PASSKEY_CLONE_SUSPECTED in {each.event.type for each in events}


def test_support_removes_lost_passkeys_and_the_owner_returns_by_a_link(
        app: Client, support: Client, passkey_server: Server) -> None:
    email, made = verified(app, passkey_server)
    key = Device()
    add(app, key, made.id_token)
    account = support.unlink_provider(made.account.account_id, "passkey")
    assert "passkey" not in provider_ids(account)
    back = session(app.sign_in(by_mail(passkey_server, app, email)))
    assert back.account.account_id == made.account.account_id


def test_an_export_restores_passkeys_on_another_server(
        support: Client, app: Client, serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    key = Device()
    made = sign_up(app, key)
    exported = next(each for each in support.export_accounts(include_secrets=True)
                    if each.account.account_id == made.account.account_id)
    row = admin.ImportedAccount(account_id=made.account.account_id, providers=exported.account.providers)
    other = serve(**passkeys.SETTINGS)
    assert not connect(other, key="admin").import_accounts([[row]])[0].errors
    assert session(sign_in(connect(other), key)).account.account_id == made.account.account_id
    plain = support.lookup(account_id=made.account.account_id)
    assert not any(each.passkey_record for each in plain.providers)


def test_an_export_restores_a_passkey_that_is_a_second_factor(
        support: Client, app: Client, passkey_server: Server, serve: Callable[..., Server],
        connect: Callable[..., Client]) -> None:
    _, made = verified(app, passkey_server)
    factor = Device(verifies_user=False)
    made = session(app.link(made.id_token, password(made.account.email)))
    started = app.start_enrollment(made.id_token, types.FACTOR_KIND_PASSKEY, display_name="Key ring")
    app.finish_enrollment(
        made.id_token, started.enrollment_id, passkey_credential_json=factor.create(started.passkey_options_json))
    exported = next(each for each in support.export_accounts(include_secrets=True)
                    if each.account.account_id == made.account.account_id)
    shown = next(each for each in exported.account.second_factors if each.kind == types.FACTOR_KIND_PASSKEY)
    assert not any(each.passkey_record for each in support.lookup(account_id=made.account.account_id).second_factors)
    row = admin.ImportedAccount(
        account_id=made.account.account_id, email=made.account.email, email_verified=True,
        password_hash=exported.password_hash.encode(), passkey_factors=[admin.ImportedPasskeyFactor(
            factor_id=shown.factor_id, passkey_record=shown.passkey_record, display_name=shown.display_name)])
    options = admin.ImportOptions(hash=admin.ImportHash(algorithm=admin.HASH_ALGORITHM_ARGON2))
    other = serve(**passkeys.SETTINGS)
    assert not connect(other, key="admin").import_accounts([[row]], options)[0].errors
    assert connect(other, key="admin").import_accounts([[row]], options)[0].unchanged == 1
    there = connect(other)
    required = factor_required(there.sign_in(password(made.account.email)))
    assert [(each.kind, each.display_name) for each in required.hints] == [(types.FACTOR_KIND_PASSKEY, "Key ring")]
    begun = there.start_factor(required.pending_token, shown.factor_id).passkey_options_json
    passed = there.finish_factor(
        required.pending_token, shown.factor_id, "", passkey_credential_json=factor.get(begun))
    assert {"pwd", "pop", "mfa"} == set(there.claims(passed.session.id_token)["amr"])


def test_the_errors_of_a_registration_name_fields_of_their_request(app: Client, passkey_server: Server) -> None:
    key, other = Device(), Device()
    token = sign_up(app, key).id_token
    started = app.start_registration(token)
    with expect_failure(StatusCode.ALREADY_EXISTS, "PASSKEY_EXISTS", field="credential_json"):
        app.finish_registration(token, started.registration_id, key.create(started.options_json))
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_USED", field="registration_id"):
        app.finish_registration(token, started.registration_id, other.create(started.options_json))
    started = app.start_registration(token)
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_PASSKEY", field="credential_json"):
        app.finish_registration(
            token, started.registration_id, other.create(started.options_json, "https://evil.example"))
    _, made = verified(app, passkey_server)
    enrolling = app.start_enrollment(made.id_token, types.FACTOR_KIND_PASSKEY)
    with expect_failure(StatusCode.ALREADY_EXISTS, "PASSKEY_EXISTS", field="passkey_credential_json"):
        app.finish_enrollment(made.id_token, enrolling.enrollment_id,
                              passkey_credential_json=key.create(enrolling.passkey_options_json))


def test_an_account_has_at_most_the_configured_number_of_passkeys(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    settings = {**passkeys.SETTINGS, "policy": {**passkeys.SETTINGS["policy"], "passkeys_per_account_max": 2}}
    client, keys = connect(serve(**settings)), [Device(), Device()]
    token = add(client, keys[1], sign_up(client, keys[0]).id_token).session.id_token
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PASSKEY_LIMIT"):
        add(client, Device(), token)
    add(client, Device(), client.remove_passkey(token, keys[1].passkey_id).id_token)


def test_the_starts_of_passkeys_are_limited_by_network(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    client = connect(serve(**passkeys.SETTINGS, throttles={"flow_starts_per_network_max": 3}))
    context = types.ClientContext(ip_address="192.0.2.7")
    for _ in range(3):
        client.start_passkey_sign_in(email=fresh_email(), client=context)
    for start in (client.start_passkey_sign_in, client.start_registration):
        with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_ATTEMPTS"):
            start(client=context)


def test_a_response_is_valid_once(app: Client) -> None:
    key = Device()
    sign_up(app, key)
    started = app.start_passkey_sign_in()
    credential = used(started.sign_in_id, key.get(started.options_json))
    session(app.sign_in(credential))
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_USED"):
        app.sign_in(credential)


def test_a_repeat_under_an_idempotency_key_returns_the_session(app: Client) -> None:
    started, key = app.start_registration(), Device()
    credential = registered(started.registration_id, key.create(started.options_json))
    first, second = (session(app.sign_in(credential, idempotency_key="sign-up " + key.passkey_id)) for _ in range(2))
    assert first.session_id == second.session_id


def test_of_many_registrations_of_one_credential_id_one_succeeds(app: Client) -> None:
    key = Device()
    started = [app.start_registration() for _ in range(8)]
    responses = [registered(each.registration_id, key.create(each.options_json)) for each in started]

    with ThreadPoolExecutor(8) as callers:
        outcomes = list(callers.map(lambda credential: outcome(lambda: app.sign_in(credential)), responses))
    assert sorted(outcomes) == ["", *["PASSKEY_EXISTS"] * 7]


def outcome(call: Callable[[], Any]) -> str:
    """The reason of a failure, or nothing."""
    try:
        call()
    except grpc.RpcError as error:
        return read(error).reason
    return ""


def test_of_many_calls_with_one_response_one_opens_a_session(app: Client) -> None:
    key = Device()
    sign_up(app, key)
    started = app.start_passkey_sign_in()
    credential = used(started.sign_in_id, key.get(started.options_json))
    with ThreadPoolExecutor(8) as callers:
        outcomes = list(callers.map(lambda _: outcome(lambda: app.sign_in(credential)), range(8)))
    assert sorted(outcomes) == ["", *["PENDING_CREDENTIAL_USED"] * 7]


def test_of_two_removals_at_the_same_time_one_leaves_the_last_passkey(app: Client) -> None:
    for _ in range(5):
        keys = [Device(), Device()]
        made = sign_up(app, keys[0])
        token = add(app, keys[1], made.id_token).session.id_token
        with ThreadPoolExecutor(2) as callers:
            outcomes = list(callers.map(
                lambda key, token=token: outcome(lambda: app.remove_passkey(token, key.passkey_id)), keys))
        # The removal continues the session of the call, which the other call may find ended.
        assert outcomes.count("") == 1 and set(outcomes) <= {"", "LAST_SIGN_IN_METHOD", "TOKEN_REVOKED"}, outcomes
        left = keys[outcomes.index(next(each for each in outcomes if each))]
        assert session(sign_in(app, left)).account.account_id == made.account.account_id


def test_a_registration_and_a_sign_in_survive_a_kill(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(**passkeys.SETTINGS)
    client, key = connect(server), Device()
    started = client.start_registration()
    server.kill()
    server.launch()
    client = connect(server)
    made = session(client.sign_in(registered(started.registration_id, key.create(started.options_json))))
    begun = client.start_passkey_sign_in()
    server.kill()
    server.launch()
    client = connect(server)
    back = session(client.sign_in(used(begun.sign_in_id, key.get(begun.options_json))))
    assert back.account.account_id == made.account.account_id


@pytest.mark.skipif(not databases.ON_POSTGRES, reason="the servers keep files")
def test_what_one_server_started_another_one_finishes(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    first = serve(**passkeys.SETTINGS)
    second = serve(**passkeys.SETTINGS, store={"postgres": first.settings["store"]["postgres"]})
    here, there, key = connect(first), connect(second), Device()
    started = here.start_registration()
    made = session(there.sign_in(registered(started.registration_id, key.create(started.options_json))))
    begun = there.start_passkey_sign_in()
    back = session(here.sign_in(used(begun.sign_in_id, key.get(begun.options_json))))
    assert back.account.account_id == made.account.account_id
    added = add(here, Device(), back.id_token).session
    removed = there.remove_passkey(added.id_token, key.passkey_id)
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_PASSKEY"):
        sign_in(here, key)
    assert len(here.list_passkeys(removed.id_token)) == 1
