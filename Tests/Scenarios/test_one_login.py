"""One login is one session, and a lost answer costs nothing (SEMANTICS.md, sections 8 and 10)."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from authenticators import Authenticator
from clients import Client, assertion, fresh_email, session
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import types_pb2 as types
from latchkey.v1.types_pb2 import FACTOR_KIND_TOTP
from processes import Server, Simulator
from pyotp import parse_uri
from test_idempotency import fresh_key
from verification import change_code, reset_code, verification_code

NEW_PASSWORD = "an entirely new password"
OVER = (StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED", "INVALID_REFRESH_TOKEN")


@pytest.fixture
def client(mailing: Server) -> Client:
    return Client(mailing, key="web")


def lived_through(mailing: Server, client: Client, simulator: Simulator) -> list[types.Session]:
    """The sessions in the answers of Create, ConfirmEmail, Update and Link, in this order."""
    email = fresh_email()
    created = client.create(email)
    confirmed = client.confirm_email(
        verification_code(mailing, client, email, created.id_token), created.id_token).session
    named = client.update(confirmed.id_token, "display_name", account=types.Account(display_name="Ada"))
    return [created, confirmed, named, session(client.link(named.id_token, assertion(simulator, "oidc.corp")))]


def test_create_confirm_update_and_link_keep_one_session(
        mailing: Server, client: Client, simulator: Simulator) -> None:
    answers = lived_through(mailing, client, simulator)
    assert len({each.session_id for each in answers}) == 1
    listed = client.list_sessions(answers[-1].id_token)
    assert [each.session_id for each in listed] == [answers[0].session_id]
    assert client.refresh(answers[-1].refresh_token).session_id == answers[0].session_id


@pytest.mark.parametrize("answer", range(4))
@pytest.mark.parametrize("token", ["id_token", "refresh_token"])
def test_signing_out_with_any_current_token_ends_the_whole_login(
        mailing: Server, client: Client, simulator: Simulator, answer: int, token: str) -> None:
    answers = lived_through(mailing, client, simulator)
    client.sign_out(**{token: getattr(answers[answer if token == "id_token" else -1], token)})
    for each in answers:
        assert not client.verify(each.id_token).active
    with expect_failure(*OVER):
        client.refresh(answers[-1].refresh_token)


def test_the_former_tokens_stay_valid_if_the_answer_of_a_change_is_lost(client: Client, simulator: Simulator) -> None:
    made = client.create(fresh_email())
    client.link(made.id_token, assertion(simulator, "oidc.corp"))
    time.sleep(0.1)
    refreshed = client.refresh(made.refresh_token)
    assert refreshed.session_id == made.session_id
    assert client.refresh(refreshed.refresh_token).session_id == made.session_id


def test_a_refresh_is_repeated_under_its_key_after_the_grace(mailing: Server, client: Client) -> None:
    made, key = client.create(fresh_email()), fresh_key()
    with ThreadPoolExecutor(8) as pool:
        tokens = {each.refresh_token for each in pool.map(
            lambda _: client.refresh(made.refresh_token, idempotency_key=key), range(16))}
    assert len(tokens) == 1
    time.sleep(10.5)
    again = client.refresh(made.refresh_token, idempotency_key=key)
    assert again.session_id == made.session_id and {again.refresh_token} == tokens
    with expect_failure(*OVER):
        client.refresh(made.refresh_token)


def test_confirmations_and_resets_are_repeated_under_their_keys(mailing: Server, client: Client) -> None:
    email, key = fresh_email(), fresh_key()
    made = client.create(email)
    code = verification_code(mailing, client, email, made.id_token)
    for _ in range(2):
        answer = client.confirm_email(code, made.id_token, idempotency_key=key)
        assert (answer.email, answer.session.session_id) == (email, made.session_id)
    new, key = fresh_email(), fresh_key()
    code = change_code(mailing, client, new, made.id_token)
    moved = [client.confirm_email(code, made.id_token, idempotency_key=key) for _ in range(2)]
    assert len({each.session.session_id for each in moved}) == 1 and {each.email for each in moved} == {new}
    code, key = reset_code(mailing, client, new), fresh_key()
    resets = [client.reset_password(code, NEW_PASSWORD, idempotency_key=key) for _ in range(2)]
    assert resets[0] == resets[1] and resets[0].email == new
    with expect_failure(StatusCode.INVALID_ARGUMENT, "IDEMPOTENCY_KEY_REUSED", field="idempotency_key"):
        client.reset_password(code, "yet another password", idempotency_key=key)


def test_an_enrolment_returns_its_recovery_codes_again_and_a_withdrawal_its_session(
        client: Client, simulator: Simulator) -> None:
    token = assertion(simulator, "oidc.trusted", email=fresh_email(), email_verified=True)
    made, key = session(client.sign_in(token)), fresh_key()
    started = client.start_enrollment(made.id_token, FACTOR_KIND_TOTP)
    authenticator = Authenticator(parse_uri(started.totp_uri))
    code = authenticator.code()
    first, again = (
        client.finish_enrollment(made.id_token, started.enrollment_id, code, idempotency_key=key) for _ in range(2))
    assert first.recovery_codes and first.recovery_codes == again.recovery_codes
    assert first.session.session_id == again.session.session_id and client.verify(again.session.id_token).active
    factor = next(each for each in first.session.account.second_factors if each.kind == FACTOR_KIND_TOTP)
    key = fresh_key()
    left = [client.withdraw(first.session.id_token, factor.factor_id, idempotency_key=key) for _ in range(2)]
    assert left[0].session_id == left[1].session_id and not left[1].account.second_factors
