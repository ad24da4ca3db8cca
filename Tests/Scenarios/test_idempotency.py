"""A call that is repeated under its key after a lost answer is answered again, and takes effect once (section 10)."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import pytest
from clients import Client, anonymous, assertion, conflict, fresh_email, password, provider_ids, session
from failures import expect_failure
from grpc import StatusCode
from processes import Server, Simulator

REUSED = (StatusCode.INVALID_ARGUMENT, "IDEMPOTENCY_KEY_REUSED")
DEVICE = {"device_id": "the phone"}


def fresh_key() -> str:
    return secrets.token_urlsafe(24)


def test_check_34_a_repeated_sign_in_returns_the_same_new_account_with_fresh_tokens(web: Client) -> None:
    key = fresh_key()
    one, two = (session(web.sign_in(anonymous(), idempotency_key=key, client=DEVICE)) for _ in range(2))
    assert two.account.account_id == one.account.account_id and two.session_id == one.session_id
    assert two.refresh_token != one.refresh_token, "no token was stored for a repeated answer"
    assert web.verify(two.id_token).active
    assert web.refresh(two.refresh_token).session_id == one.session_id


@pytest.mark.parametrize("names", [
    ({"client": {"device_id": "one"}}, {"client": {"device_id": "two"}}),
    ({"binding": "browser session one"}, {"binding": "browser session two"}),
    ({"binding": "browser session one"}, {"client": {"device_id": "browser session one"}}),
    ({"client": {"device_id": "one"}, "binding": "browser session one"},
     {"client": {"device_id": "two"}, "binding": "browser session one"}),
])
def test_guests_with_the_same_key_in_different_browsers_are_different_guests(
        web: Client, names: tuple[dict[str, Any], dict[str, Any]]) -> None:
    key = fresh_key()
    first = [session(web.sign_in(anonymous(), idempotency_key=key, **name)) for name in names]
    again = [session(web.sign_in(anonymous(), idempotency_key=key, **name)) for name in names]
    assert first[0].account.account_id != first[1].account.account_id
    assert [each.session_id for each in again] == [each.session_id for each in first]


@pytest.mark.parametrize("client", [{}, {"ip_address": "192.0.2.7", "user_agent": "App/1"}])
def test_a_guest_with_a_key_and_without_a_browser_or_device_is_rejected(
        web: Client, client: dict[str, str]) -> None:
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="idempotency_key"):
        web.sign_in(anonymous(), idempotency_key=fresh_key(), client=client)
    assert session(web.sign_in(anonymous(), client=client)).account.anonymous


def test_check_34_a_repeat_may_have_another_network_but_not_another_password(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    client = connect(serve(throttles={"password_failures_max": 3}))
    key, email = fresh_key(), fresh_email()
    client.create(email)
    places = [{"ip_address": "192.0.2.7", "user_agent": "App/1 (Wi-Fi)", "device_id": "the phone " + email},
              {"ip_address": "2001:db8::7", "user_agent": "App/1 (LTE)", "device_id": "another name of it"}, {}]
    answers = [session(client.sign_in(password(email), idempotency_key=key, client=place)) for place in places]
    assert len({answer.session_id for answer in answers}) == 1
    for _ in range(3):
        with expect_failure(*REUSED, field="idempotency_key"):
            client.sign_in(password(email, "not the password at all"), idempotency_key=key, client=places[1])
    with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_ATTEMPTS"):
        client.sign_in(password(email), client=places[1])


def test_a_repeated_create_does_not_fail_as_address_in_use(web: Client) -> None:
    email, key = fresh_email(), fresh_key()
    one = web.create(email, idempotency_key=key)
    two = web.create(email, idempotency_key=key)
    assert (two.account.account_id, two.session_id) == (one.account.account_id, one.session_id)


def test_a_repeated_link_returns_the_session_that_the_first_opened(web: Client, simulator: Simulator) -> None:
    made, key = web.create(fresh_email()), fresh_key()
    company = assertion(simulator, "oidc.corp")
    one, two = (session(web.link(made.id_token, company, idempotency_key=key)) for _ in range(2))
    assert two.session_id == one.session_id
    assert provider_ids(two.account) == {"password", "oidc.corp"}


def test_a_repeated_conflict_gets_the_first_pending_token(web: Client, simulator: Simulator) -> None:
    owner, key = web.create(fresh_email()), fresh_key()
    company = assertion(simulator, "oidc.corp", email=owner.account.email)
    one, two = (conflict(web.sign_in(company, idempotency_key=key)) for _ in range(2))
    # A repeat does not return the provider's data, unlike the session.
    for field in ("provider_credential", "additional_user_info"):
        one.ClearField(field)
    assert two == one and one.pending_token
    linked = session(web.sign_in(password(owner.account.email), pending_token=two.pending_token))
    assert provider_ids(linked.account) == {"password", "oidc.corp"}


def test_a_repeated_unlink_succeeds_although_the_callers_session_has_ended(
        web: Client, simulator: Simulator) -> None:
    made = web.create(fresh_email())
    linked, key = session(web.link(made.id_token, assertion(simulator, "oidc.corp"))), fresh_key()
    one = web.unlink(linked.id_token, "oidc.corp", idempotency_key=key)
    two = web.unlink(linked.id_token, "oidc.corp", idempotency_key=key)
    assert two.session_id == one.session_id and provider_ids(two.account) == {"password"}


def test_a_repeated_delete_succeeds_although_the_account_is_gone(web: Client) -> None:
    made, key = web.create(fresh_email()), fresh_key()
    web.delete(made.id_token, idempotency_key=key)
    web.delete(made.id_token, idempotency_key=key)
    with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
        web.delete(made.id_token)


def calls(web: Client, simulator: Simulator) -> dict[str, Callable[[str, int], Any]]:
    """Each method with a request that depends on the second argument."""
    ids = [session(web.sign_in(assertion(simulator, "oidc.corp"))) for _ in range(2)]
    return {
        "SignIn": lambda key, n: web.sign_in(assertion(simulator, "oidc.partner"), idempotency_key=key),
        "Create": lambda key, n: web.create(fresh_email(), idempotency_key=key),
        "Link": lambda key, n: web.link(ids[n].id_token, password(fresh_email()), idempotency_key=key),
        "Delete": lambda key, n: web.delete(ids[n].id_token, idempotency_key=key),
    }


@pytest.mark.parametrize("method", ["SignIn", "Create", "Link", "Delete"])
def test_a_key_reused_for_another_request_is_refused(web: Client, simulator: Simulator, method: str) -> None:
    call, key = calls(web, simulator)[method], fresh_key()
    call(key, 0)
    with expect_failure(*REUSED, field="idempotency_key"):
        call(key, 1)


def test_a_key_reused_for_another_unlink_is_refused(web: Client, simulator: Simulator) -> None:
    made, key = session(web.sign_in(assertion(simulator, "oidc.corp"))), fresh_key()
    for provider_id in ("oidc.partner", "oidc.trusted"):
        made = session(web.link(made.id_token, assertion(simulator, provider_id)))
    left = web.unlink(made.id_token, "oidc.partner", idempotency_key=key)
    with expect_failure(*REUSED, field="idempotency_key"):
        web.unlink(left.id_token, "oidc.trusted", idempotency_key=key)
    assert "oidc.trusted" in provider_ids(web.get(left.id_token))


def test_a_key_belongs_to_its_caller_and_its_method(web: Client, admin: Client) -> None:
    key, email = fresh_key(), fresh_email()
    one = session(web.sign_in(anonymous(), idempotency_key=key, client=DEVICE))
    two = session(admin.sign_in(anonymous(), idempotency_key=key, client=DEVICE))
    assert one.account.account_id != two.account.account_id
    assert web.create(email, idempotency_key=key).account.email == email


def test_a_failed_call_is_not_recorded(web: Client, simulator: Simulator) -> None:
    email, key = fresh_email(), fresh_key()
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS"):
        web.sign_in(password(email), idempotency_key=key)
    made = web.create(email)
    assert session(web.sign_in(password(email), idempotency_key=key)).account.account_id == made.account.account_id


def test_a_repeat_of_a_session_that_has_ended_is_refused(web: Client) -> None:
    key = fresh_key()
    made = session(web.sign_in(anonymous(), idempotency_key=key, client=DEVICE))
    web.sign_out(id_token=made.id_token)
    with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
        web.sign_in(anonymous(), idempotency_key=key, client=DEVICE)


def test_a_record_survives_a_crash_and_holds_no_token(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server, key, email = serve(), fresh_key(), fresh_email()
    made = connect(server).create(email, idempotency_key=key)
    server.kill()
    server.launch()
    again = connect(server).create(email, idempotency_key=key)
    assert (again.account.account_id, again.session_id) == (made.account.account_id, made.session_id)
    stored = server.stored()
    for token in (key, made.refresh_token, made.id_token, again.refresh_token):
        assert token.encode() not in stored
