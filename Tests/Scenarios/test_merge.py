"""Merging two accounts of one user: proof of both, a report first, one change (section 4, Merge)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import grpc
import pytest
import races
from clients import (Client, anonymous, assertion, custom, fresh_email, held, in_use, password, provider_ids, session)
from failures import expect_failure, read
from grpc import StatusCode
from latchkey.v1 import account_service_pb2 as accounts
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1 import types_pb2 as types
from latchkey.v1.account_service_pb2_grpc import AccountServiceStub
from latchkey.v1.errors_pb2 import ERROR_REASON_TOKEN_REVOKED
from processes import Server, Simulator
from races import CALLERS, Track
from verification import by_mail

DEAD = (StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED", "INVALID_REFRESH_TOKEN")


def test_a_link_that_fails_because_another_account_owns_it_ends_in_a_merge(
        web: Client, admin: Client, simulator: Simulator) -> None:
    """Remember the previous user, sign in with the credential that is in use, and merge."""
    company = assertion(simulator, "oidc.corp", email=fresh_email())
    owner = session(web.sign_in(company))
    email = fresh_email()
    previous = web.create(email)

    used = in_use(web.link(previous.id_token, company))
    current = session(web.sign_in(held(used.pending_token)))
    assert current.account.account_id == owner.account.account_id != previous.account.account_id

    report = web.merge(previous, current, dry_run=True)
    assert not report.HasField("session") and not report.conflicts
    assert list(report.moved_provider_ids) == ["oidc.corp"]
    assert report.closed_account_id == current.account.account_id
    assert provider_ids(admin.lookup(account_id=current.account.account_id)) == {"oidc.corp"}, "a report writes nothing"

    merged = web.merge(previous, current)
    assert merged.session.account.account_id == previous.account.account_id
    assert provider_ids(merged.session.account) == {"password", "oidc.corp"}
    assert merged.session.account.email == email
    for credential in (company, password(email)):
        assert session(web.sign_in(credential)).account.account_id == previous.account.account_id


def test_check_30_a_merge_needs_a_recent_login_of_both_and_ends_the_losers_sessions(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    client = connect(serve(policy={"merge_recent_login_seconds": 4}))
    email = fresh_email()
    company = assertion(simulator, "oidc.corp")
    old_survivor, old_other = client.create(email), session(client.sign_in(company))
    time.sleep(4.1)
    survivor, other = session(client.sign_in(password(email))), session(client.sign_in(company))
    for pair, field, methods in (((old_survivor, other), "survivor_id_token", "password"),
                                 ((survivor, old_other), "other_id_token", "oidc.corp")):
        with expect_failure(StatusCode.FAILED_PRECONDITION, "REQUIRES_RECENT_LOGIN") as refused:
            client.merge(*pair)
        assert refused.metadata == {"field": field, "max_age_seconds": "4", "methods": methods}
    for forged in (types.Session(id_token="x.y.z"), types.Session(id_token=survivor.refresh_token)):
        with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_ID_TOKEN") as refused:
            client.merge(survivor, forged)
        assert refused.metadata["field"] == "other_id_token"
    # Again, because a busy machine may need seconds for the calls above.
    survivor, other = session(client.sign_in(password(email))), session(client.sign_in(company))
    merged = client.merge(survivor, other)
    assert merged.closed_account_id == other.account.account_id
    for ended in (other, old_other):
        assert not client.verify(ended.id_token).active
        with expect_failure(*DEAD):
            client.refresh(ended.refresh_token)
    assert client.verify(survivor.id_token).active and client.verify(merged.session.id_token).active


def test_conflicts_are_reported_and_resolved_by_keep(web: Client, admin: Client, simulator: Simulator) -> None:
    mine, theirs = fresh_email(), fresh_email()
    survivor, other = web.create(mine), web.create(theirs, "their own horse staple")
    survivor = session(web.link(survivor.id_token, assertion(simulator, "oidc.corp", subject="c-" + mine)))
    other = session(web.link(other.id_token, assertion(simulator, "oidc.corp", subject="c-" + theirs)))
    other = session(web.link(other.id_token, assertion(simulator, "oidc.partner", subject="p-" + theirs)))
    wanted = {"password": (mine, theirs), "oidc.corp": ("c-" + mine, "c-" + theirs)}

    for dry_run in (True, False):
        answer = web.merge(survivor, other, dry_run=dry_run)
        assert {each.field: (each.survivor_value, each.other_value) for each in answer.conflicts} == wanted
        assert not answer.HasField("session")
    half = web.merge(survivor, other, keep={"password": other})
    assert [each.field for each in half.conflicts] == ["oidc.corp"] and not half.HasField("session")
    assert admin.lookup(account_id=other.account.account_id).email == theirs, "nothing was done so far"

    merged = web.merge(survivor, other, keep={"password": other, "oidc.corp": survivor})
    assert list(merged.moved_provider_ids) == ["password", "oidc.partner"]
    account = admin.lookup(account_id=survivor.account.account_id)
    assert {each.provider_id: each.subject for each in account.providers} == {
        "password": mine, "oidc.corp": "c-" + mine, "oidc.partner": "p-" + theirs}
    known = session(web.sign_in(password(mine, "their own horse staple")))
    assert known.account.account_id == survivor.account.account_id
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS"):
        web.sign_in(password(mine))
    newcomer = session(web.sign_in(assertion(simulator, "oidc.corp", subject="c-" + theirs)))
    assert newcomer.is_new_account, "the removed identity has no account"


@pytest.mark.parametrize("keep", ["phone", "oidc.partner", "no such thing"])
def test_a_decision_without_a_conflict_is_rejected(web: Client, simulator: Simulator, keep: str) -> None:
    survivor = web.create(fresh_email())
    other = session(web.sign_in(assertion(simulator, "oidc.partner")))
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="keep.field"):
        web.merge(survivor, other, keep={keep: survivor})


def test_an_account_is_not_merged_with_itself_or_by_a_caller_without_the_right(
        web: Client, shop: Client, nobody: Client, simulator: Simulator) -> None:
    email = fresh_email()
    made = web.create(email)
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="other_id_token"):
        web.merge(made, session(web.sign_in(password(email))))
    mine, theirs = shop.create(fresh_email()), session(shop.sign_in(assertion(simulator, "oidc.corp")))
    with expect_failure(StatusCode.PERMISSION_DENIED, "CALLER_NOT_ALLOWED"):
        shop.merge(mine, theirs)
    guest = session(nobody.sign_in(anonymous()))
    with expect_failure(StatusCode.PERMISSION_DENIED, "CALLER_NOT_ALLOWED"):
        nobody.merge(guest, session(nobody.sign_in(anonymous())))
    assert shop.verify(theirs.id_token).active and nobody.verify(guest.id_token).active


def test_an_anonymous_user_who_merges_keeps_the_id_and_gets_the_methods(web: Client, simulator: Simulator) -> None:
    email = fresh_email()
    company = assertion(simulator, "oidc.trusted", email=email, email_verified=True)
    known, guest = session(web.sign_in(company)), session(web.sign_in(anonymous()))
    merged = web.merge(guest, known)
    assert merged.session.account.account_id == guest.account.account_id
    assert not merged.session.account.anonymous
    assert (merged.session.account.email, merged.session.account.email_verified) == (email, True)
    assert session(web.sign_in(company)).account.account_id == guest.account.account_id


def test_a_guest_of_any_age_is_merged_into_the_account(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    client = connect(serve(policy={"merge_recent_login_seconds": 2}))
    guest = session(client.sign_in(anonymous()))
    time.sleep(2.1)
    known = session(client.sign_in(assertion(simulator, "oidc.corp")))
    merged = client.merge(known, guest)
    assert merged.closed_account_id == guest.account.account_id and not merged.moved_provider_ids


@pytest.mark.parametrize(("prove", "field"), [
    (lambda _server, _client, email: password(email), "credential.password.email"),
    (by_mail, "credential")], ids=["password", "sign-in link"])
def test_a_guest_who_links_a_known_address_signs_in_with_that_credential_and_merges(
        mailing: Server, connect: Callable[..., Client],
        prove: Callable[[Server, Client, str], types.Credential], field: str) -> None:
    """The upgrade of a guest who turns out to have an account: the user has only the rejected credential, so it must be
    valid once more."""
    client, judge = connect(mailing), connect(mailing, key="admin")
    email = fresh_email()
    known = session(client.sign_in(by_mail(mailing, client, email)))
    known_id = session(client.link(known.id_token, password(email))).account.account_id
    guest = session(client.sign_in(anonymous()))

    proof = prove(mailing, client, email)
    with expect_failure(StatusCode.ALREADY_EXISTS, "EMAIL_ALREADY_IN_USE", field=field) as refused:
        client.link(guest.id_token, proof)
    assert known_id not in refused.everything
    assert client.get(guest.id_token).anonymous, "a rejected link does not change the guest"
    there = session(client.sign_in(proof))
    assert there.account.account_id == known_id and not there.is_new_account

    merged = client.merge(there, guest)
    assert merged.closed_account_id == guest.account.account_id and not merged.moved_provider_ids
    assert merged.session.account.account_id == known_id
    assert provider_ids(merged.session.account) == {"password", "emailLink"}
    assert client.verify(guest.id_token).inactive_reason == ERROR_REASON_TOKEN_REVOKED
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND") as closed:
        judge.lookup(account_id=guest.account.account_id)
    assert closed.metadata == {"merged_into": known_id}


def test_a_closed_id_names_its_survivor_to_administrators_only_and_never_comes_back(
        web: Client, admin: Client, simulator: Simulator) -> None:
    survivor, other = web.create(fresh_email()), session(web.sign_in(assertion(simulator, "oidc.corp")))
    closed = other.account.account_id
    minted_before = admin.custom_token(closed)
    web.merge(survivor, other)
    for ask in (lambda: admin.lookup(account_id=closed), lambda: admin.custom_token(closed)):
        with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND") as asked:
            ask()
        assert asked.metadata["merged_into"] == survivor.account.account_id
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND") as refused:
        web.sign_in(custom(minted_before))
    assert survivor.account.account_id not in refused.everything


def test_a_repeated_merge_gives_the_same_answer_with_and_without_a_key(web: Client, simulator: Simulator) -> None:
    survivor, other = web.create(fresh_email()), session(web.sign_in(assertion(simulator, "oidc.corp")))
    first = web.merge(survivor, other, idempotency_key="merge once")
    again = web.merge(survivor, other, idempotency_key="merge once")
    assert again.session.session_id == first.session.session_id
    bare = web.merge(survivor, other)
    for answer in (again, bare):
        assert answer.closed_account_id == other.account.account_id
        assert list(answer.moved_provider_ids) == ["oidc.corp"] and web.verify(answer.session.id_token).active
        assert provider_ids(answer.session.account) == {"password", "oidc.corp"}


# Races.

def stubs(track: Track) -> list[AccountServiceStub]:
    return [AccountServiceStub(channel) for channel in track.channels]


async def attempt(call: Any) -> Any:
    """The answer, or the reason of the error."""
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        return read(error).reason


async def two_people(track: Track, simulator: Simulator, number: int, name: str) -> list[types.Session]:
    orders = [assertion(simulator, way, subject=f"{name}-{number}") for way in ("oidc.corp", "oidc.partner")]
    return [(await track.stub.SignIn(auth.SignInRequest(credential=order))).session for order in orders]


def order(survivor: types.Session, other: types.Session) -> accounts.MergeRequest:
    return accounts.MergeRequest(survivor_id_token=survivor.id_token, other_id_token=other.id_token)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_fifty_equal_merges_take_effect_once(racing: Server, judge: Client, simulator: Simulator) -> None:
    async def each_round(track: Track, number: int) -> None:
        one, two = await two_people(track, simulator, number, "equal")
        calls = stubs(track)
        answers = await races.together(lambda caller: attempt(calls[caller % len(calls)].Merge(order(one, two))))
        assert all(not isinstance(each, str) for each in answers), set(map(str, answers))
        assert {each.closed_account_id for each in answers} == {two.account.account_id}
        assert {tuple(each.moved_provider_ids) for each in answers} == {("oidc.partner",)}
        assert len({each.session.session_id for each in answers}) == CALLERS
        found = judge.lookup(account_id=one.account.account_id)
        assert provider_ids(found) == {"oidc.corp", "oidc.partner"}

    races.run(racing, each_round, rounds=20)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_one_of_two_merges_in_opposite_directions_wins(racing: Server, judge: Client, simulator: Simulator) -> None:
    async def each_round(track: Track, number: int) -> None:
        pair = await two_people(track, simulator, number, "both")
        calls = stubs(track)
        answers = await races.together(lambda caller: attempt(
            calls[caller % len(calls)].Merge(order(pair[caller % 2], pair[1 - caller % 2]))))
        done = [each for each in answers if not isinstance(each, str)]
        assert {each for each in answers if isinstance(each, str)} == {"TOKEN_REVOKED"}
        assert len(done) == CALLERS // 2 and len({each.closed_account_id for each in done}) == 1
        survivor = done[0].session.account
        assert provider_ids(judge.lookup(account_id=survivor.account_id)) == {"oidc.corp", "oidc.partner"}
        with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND") as closed:
            judge.lookup(account_id=done[0].closed_account_id)
        assert closed.metadata == {"merged_into": survivor.account_id}

    races.run(racing, each_round, rounds=20)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_deletion_link_or_unlink_during_a_merge_takes_effect_before_or_after_it(
        racing: Server, judge: Client, simulator: Simulator) -> None:
    """In every order, no identity loses its account, and none is in two."""
    async def each_round(track: Track, number: int) -> None:
        one, two = await two_people(track, simulator, number, "mixed")
        linked = assertion(simulator, "oidc.trusted", subject=f"mixed-{number}")
        calls = stubs(track)

        async def call(caller: int) -> Any:
            stub, signer = calls[caller % len(calls)], track.stubs[caller % len(calls)]
            match caller % 4:
                case 0: return await attempt(stub.Merge(order(one, two)))
                case 1: return await attempt(stub.Delete(accounts.DeleteRequest(id_token=two.id_token)))
                case 2: return await attempt(signer.Link(auth.LinkRequest(id_token=two.id_token, credential=linked)))
                case _: return await attempt(signer.Unlink(
                    auth.UnlinkRequest(id_token=two.id_token, provider_id="oidc.partner")))

        answers = await races.together(call)
        refused = {each for each in answers if isinstance(each, str)}
        assert refused <= {"TOKEN_REVOKED", "LAST_SIGN_IN_METHOD", "NO_SUCH_PROVIDER"}, refused
        merged = [each for each in answers if isinstance(each, accounts.MergeResponse)]
        deleted = [each for each in answers if isinstance(each, accounts.DeleteResponse)]
        assert not (merged and deleted), "the other account is closed or deleted, never both"
        mine = provider_ids(judge.lookup(account_id=one.account.account_id))
        if not merged and not deleted:
            # Link and then Unlink came first. Unlink ends the session of the token that all other calls have.
            assert any(isinstance(each, auth.UnlinkResponse) for each in answers)
            assert mine == {"oidc.corp"}
            assert provider_ids(judge.lookup(account_id=two.account.account_id)) == {"oidc.trusted"}
            return
        moved = set(merged[0].moved_provider_ids) if merged else set()
        assert mine == {"oidc.corp"} | moved
        for way in ("oidc.partner", "oidc.trusted"):
            try:
                owner = judge.lookup(identity={"provider_id": way, "subject": f"mixed-{number}"}).account_id
            except grpc.RpcError as error:
                assert read(error).reason == "ACCOUNT_NOT_FOUND" and way not in moved
            else:
                assert owner == one.account.account_id and way in moved

    races.run(racing, each_round, rounds=20)
