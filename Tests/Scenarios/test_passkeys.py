"""Passkeys on both stores: sign-up, sign-in, link, conflicts, factors, removal, replicas, restarts and races."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import databases
import passkeys
import pytest
from clients import Client, assertion, conflict, fresh_email, password, provider_ids, session
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import admin_service_pb2 as admin
from latchkey.v1 import types_pb2 as types
from latchkey.v1.event_service_pb2 import EVENT_TYPE_PASSKEY_CLONE_SUSPECTED
from passkeys import Authenticator, registered, used
from processes import Server, Simulator
from verification import by_mail


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


def sign_up(client: Client, key: Authenticator, **fields: Any) -> types.Session:
    started = client.start_registration()
    return session(client.sign_in(registered(started.registration_id, key.create(started.options_json)), **fields))


def sign_in(client: Client, key: Authenticator, email: str = "", **fields: Any) -> Any:
    started = client.start_passkey_sign_in(email=email)
    return client.sign_in(used(started.sign_in_id, key.get(started.options_json)), **fields)


def add(client: Client, key: Authenticator, id_token: str, name: str = "") -> Any:
    started = client.start_registration(id_token)
    return client.finish_registration(id_token, started.registration_id, key.create(started.options_json), name=name)


def verified(client: Client, server: Server) -> tuple[str, types.Session]:
    """A user with a verified address, signed in by a link."""
    email = fresh_email()
    return email, session(client.sign_in(by_mail(server, client, email)))


def test_a_user_signs_up_and_in_with_nothing_but_a_passkey(app: Client) -> None:
    key = Authenticator()
    made = sign_up(app, key)
    assert made.is_new_account and not made.account.email
    assert provider_ids(made.account) == {"passkey"}
    assert set(app.claims(made.id_token)["amr"]) == {"hwk", "user", "mfa"}
    again = session(sign_in(app, key))
    assert again.account.account_id == made.account.account_id and not again.is_new_account


def test_sign_up_respects_existing_only(app: Client) -> None:
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
        sign_up(app, Authenticator(), existing_only=True)


def test_a_sign_in_with_an_email_address_names_the_passkeys(app: Client) -> None:
    email, key = fresh_email(), Authenticator(synced=True)
    made = app.create(email)
    add(app, key, made.id_token, "My phone")
    started = app.start_passkey_sign_in(email=email)
    allowed = json.loads(started.options_json)["allowCredentials"]
    assert [each["id"] for each in allowed] == [passkeys.encode(key.credential_id)]
    back = session(app.sign_in(used(started.sign_in_id, key.get(started.options_json, handle=False))))
    assert back.account.account_id == made.account.account_id
    assert "swk" in app.claims(back.id_token)["amr"]


def test_an_unknown_email_address_gets_options_like_an_account_without_passkeys(app: Client) -> None:
    email = fresh_email()
    app.create(email)
    for address in (email, fresh_email()):
        first, second = (json.loads(app.start_passkey_sign_in(email=address).options_json) for _ in range(2))
        assert first["allowCredentials"] == second["allowCredentials"] and 1 <= len(first["allowCredentials"]) <= 2
        assert first["challenge"] != second["challenge"]


def test_a_passkey_is_listed_renamed_and_removed_but_never_as_the_last_method(app: Client) -> None:
    first, second = Authenticator(), Authenticator()
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
    started, key = app.start_registration(guest.id_token), Authenticator()
    credential = registered(started.registration_id, key.create(started.options_json), "Phone")
    linked = app.link(guest.id_token, credential).session
    assert linked.account.account_id == guest.account.account_id and not linked.account.anonymous
    assert session(sign_in(app, key)).account.account_id == guest.account.account_id


def test_a_reauthentication_takes_only_a_passkey_of_the_account(app: Client) -> None:
    key, foreign = Authenticator(), Authenticator()
    made = sign_up(app, key)
    sign_up(app, foreign)
    for authenticator in (foreign, key):
        started = app.start_passkey_sign_in(purpose=types.PROOF_PURPOSE_REAUTHENTICATE, id_token=made.id_token)
        credential = used(started.sign_in_id, authenticator.get(started.options_json))
        if authenticator is foreign:
            with expect_failure(StatusCode.PERMISSION_DENIED, "USER_MISMATCH"):
                app.reauthenticate(made.id_token, credential)
        else:
            assert app.reauthenticate(made.id_token, credential).session_id != made.session_id


def test_a_passkey_completes_a_conflict(app: Client, simulator: Simulator) -> None:
    email, key = fresh_email(), Authenticator()
    made = app.create(email)
    add(app, key, made.id_token)
    exists = conflict(app.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    assert "passkey" in exists.sign_in_methods
    linked = session(sign_in(app, key, pending_token=exists.pending_token))
    assert provider_ids(linked.account) == {"password", "passkey", "oidc.trusted"}


def test_S6a_the_owner_of_a_mailbox_reclaims_the_account_and_the_passkey_is_gone(
        app: Client, simulator: Simulator) -> None:
    email, key = fresh_email("mail.example"), Authenticator()
    made = app.create(email)
    add(app, key, made.id_token)
    reclaimed = session(app.sign_in(assertion(simulator, "oidc.mail", email=email, email_verified=True)))
    assert reclaimed.account.account_id == made.account.account_id and not reclaimed.is_new_account
    assert list(reclaimed.revoked_provider_ids) == ["password", "passkey"]
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_PASSKEY"):
        sign_in(app, key)


def test_S6b_the_owner_of_a_mailbox_claims_the_address_and_the_passkey_keeps_its_account(
        app: Client, simulator: Simulator) -> None:
    email, key = fresh_email("mail.example"), Authenticator()
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
    one, two = Authenticator(), Authenticator()
    survivor, other = sign_up(app, one), sign_up(app, two)
    merged = app.merge(survivor, other)
    assert list(merged.moved_provider_ids) == ["passkey"]
    for key in (one, two):
        assert session(sign_in(app, key)).account.account_id == survivor.account.account_id


def test_a_passkey_is_a_second_factor_and_a_verified_one_passes_both(app: Client, passkey_server: Server) -> None:
    email, made = verified(app, passkey_server)
    factor = Authenticator(verifies_user=False)
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
    key = Authenticator()
    added = add(app, key, passed.session.id_token)
    assert added.WhichOneof("outcome") == "session"
    both = session(sign_in(app, key))
    assert app.claims(both.id_token)["latchkey"]["sign_in_second_factor"] == "passkey"


def test_a_sign_count_that_falls_is_an_event(app: Client, support: Client) -> None:
    key = Authenticator(sign_count=7)
    made = sign_up(app, key)
    key.sign_count = 3
    sign_in(app, key)
    events = support.list_events(account_id=made.account.account_id).events
    assert EVENT_TYPE_PASSKEY_CLONE_SUSPECTED in {each.event.type for each in events}


def test_support_removes_lost_passkeys_and_the_owner_returns_by_a_link(
        app: Client, support: Client, passkey_server: Server) -> None:
    email, made = verified(app, passkey_server)
    key = Authenticator()
    add(app, key, made.id_token)
    account = support.unlink_provider(made.account.account_id, "passkey")
    assert "passkey" not in provider_ids(account)
    back = session(app.sign_in(by_mail(passkey_server, app, email)))
    assert back.account.account_id == made.account.account_id


def test_an_export_restores_passkeys_on_another_server(
        support: Client, app: Client, serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    key = Authenticator()
    made = sign_up(app, key)
    exported = next(each for each in support.export_accounts(include_secrets=True)
                    if each.account.account_id == made.account.account_id)
    row = admin.ImportedAccount(account_id=made.account.account_id, providers=exported.account.providers)
    other = serve(**passkeys.SETTINGS)
    assert not connect(other, key="admin").import_accounts([[row]])[0].errors
    assert session(sign_in(connect(other), key)).account.account_id == made.account.account_id
    plain = support.lookup(account_id=made.account.account_id)
    assert not any(each.passkey_record for each in plain.providers)


def test_a_response_is_valid_once(app: Client) -> None:
    key = Authenticator()
    sign_up(app, key)
    started = app.start_passkey_sign_in()
    credential = used(started.sign_in_id, key.get(started.options_json))
    session(app.sign_in(credential))
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_USED"):
        app.sign_in(credential)


def test_a_repeat_under_an_idempotency_key_returns_the_session(app: Client) -> None:
    started, key = app.start_registration(), Authenticator()
    credential = registered(started.registration_id, key.create(started.options_json))
    first, second = (session(app.sign_in(credential, idempotency_key="sign-up " + key.passkey_id)) for _ in range(2))
    assert first.session_id == second.session_id


def test_of_many_registrations_of_one_credential_id_one_succeeds(app: Client) -> None:
    key = Authenticator()
    started = [app.start_registration() for _ in range(8)]
    responses = [registered(each.registration_id, key.create(each.options_json)) for each in started]

    def attempt(credential: types.Credential) -> str:
        try:
            return session(app.sign_in(credential)).account.account_id
        except Exception as error:  # noqa: BLE001
            return str(error.details()).partition(" ")[0]  # type: ignore[attr-defined]

    with ThreadPoolExecutor(8) as callers:
        outcomes = list(callers.map(attempt, responses))
    assert outcomes.count("PASSKEY_EXISTS") == 7, outcomes


def test_a_registration_and_a_sign_in_survive_a_kill(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(**passkeys.SETTINGS)
    client, key = connect(server), Authenticator()
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
    here, there, key = connect(first), connect(second), Authenticator()
    started = here.start_registration()
    made = session(there.sign_in(registered(started.registration_id, key.create(started.options_json))))
    begun = there.start_passkey_sign_in()
    back = session(here.sign_in(used(begun.sign_in_id, key.get(begun.options_json))))
    assert back.account.account_id == made.account.account_id
