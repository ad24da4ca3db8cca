"""Races over real connections, 200 rounds of 50 parallel callers: one winner, typed answers, a consistent store."""

from __future__ import annotations


import pytest
import races
from clients import Client, anonymous, assertion, fresh_email, held, provider_ids
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1 import session_service_pb2 as tokens
from latchkey.v1.session_service_pb2_grpc import SessionServiceStub
from processes import Server, Simulator
from races import CALLERS, Track, outcomes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_parallel_first_sign_ins_of_one_identity_create_one_account(
        racing: Server, judge: Client, simulator: Simulator) -> None:
    async def each_round(track: Track, number: int) -> None:
        email, subject = fresh_email("gmail.com"), f"first-{number}"
        google = assertion(simulator, "google.com", subject=subject, email=email, email_verified=True)
        answers = await track.race(lambda stub, caller: stub.SignIn(auth.SignInRequest(credential=google)))
        assert outcomes(answers) == {"session": CALLERS}
        sessions = [answer.response.session for answer in answers]
        assert len({each.account.account_id for each in sessions}) == 1
        assert sum(each.is_new_account for each in sessions) == 1
        assert len({each.session_id for each in sessions}) == CALLERS
        found = judge.lookup(identity={"provider_id": "google.com", "subject": subject})
        assert found.account_id == sessions[0].account.account_id == judge.lookup(email=email).account_id

    races.run(racing, each_round)


def test_check_32_two_providers_with_one_address_create_one_account_and_a_conflict(
        racing: Server, judge: Client, simulator: Simulator) -> None:
    async def each_round(track: Track, number: int) -> None:
        email = fresh_email()
        both = [assertion(simulator, provider_id, subject=f"two-{number}", email=email, email_verified=True)
                for provider_id in ("oidc.trusted", "oidc.corp")]
        answers = await track.race(
            lambda stub, caller: stub.SignIn(auth.SignInRequest(credential=both[caller % 2])))
        assert outcomes(answers) == {"session": CALLERS // 2, "account_exists": CALLERS // 2}
        winners = {answer.caller % 2 for answer in answers if answer.outcome == "session"}
        assert len(winners) == 1, "the winner's provider always signs in, the other's always conflicts"
        found = judge.lookup(email=email)
        assert provider_ids(found) == {("oidc.trusted", "oidc.corp")[winners.pop()]}

    races.run(racing, each_round)


def test_check_33_one_identity_is_linked_to_one_of_two_accounts(
        racing: Server, judge: Client, simulator: Simulator) -> None:
    async def each_round(track: Track, number: int) -> None:
        subject = f"link-{number}"
        company = assertion(simulator, "oidc.corp", subject=subject)
        guests = [(await track.stub.SignIn(auth.SignInRequest(credential=anonymous()))).session for _ in range(2)]
        answers = await track.race(lambda stub, caller: stub.Link(
            auth.LinkRequest(id_token=guests[caller % 2].id_token, credential=company)))
        assert outcomes(answers) == {"session": CALLERS // 2, "credential_in_use": CALLERS // 2}
        linked = [answer for answer in answers if answer.outcome == "session"]
        assert len({answer.caller % 2 for answer in linked}) == 1
        assert sum(not answer.response.already_linked for answer in linked) == 1
        owner = judge.lookup(identity={"provider_id": "oidc.corp", "subject": subject})
        loser = next(each.account.account_id for each in guests if each.account.account_id != owner.account_id)
        assert owner.account_id == guests[linked[0].caller % 2].account.account_id
        assert provider_ids(owner) == {"oidc.corp"} and judge.lookup(account_id=loser).anonymous

    races.run(racing, each_round)


def test_check_13_one_pending_token_is_completed_once(racing: Server, judge: Client, simulator: Simulator) -> None:
    """Half of the callers complete in one step, half by Link. Losers get the winner's answer or a clean error."""
    async def each_round(track: Track, number: int) -> None:
        email, subject = fresh_email(), f"handle-{number}"
        known = assertion(simulator, "oidc.trusted", subject=subject, email=email, email_verified=True)
        signed = (await track.stub.SignIn(auth.SignInRequest(credential=known))).session
        company = assertion(simulator, "oidc.corp", subject=subject, email=email)
        handle = (await track.stub.SignIn(auth.SignInRequest(credential=company))).account_exists.pending_token
        answers = await track.race(
            lambda stub, caller: stub.SignIn(auth.SignInRequest(credential=known, pending_token=handle)) if caller % 2
            else stub.Link(auth.LinkRequest(id_token=signed.id_token, credential=held(handle))))
        seen = outcomes(answers)
        assert seen["session"] >= 1 and set(seen) <= {"session", "PENDING_CREDENTIAL_USED"}, seen
        accounts = {answer.response.session.account.account_id for answer in answers if answer.response}
        assert accounts == {signed.account.account_id}
        account = judge.lookup(account_id=signed.account.account_id)
        assert sorted(each.provider_id for each in account.providers) == ["oidc.corp", "oidc.trusted"]

    races.run(racing, each_round)


def test_check_78_exactly_one_of_the_last_two_sign_in_methods_is_unlinked(
        racing: Server, judge: Client, simulator: Simulator) -> None:
    """Ten sessions, five of each sign-in method. Five callers try to remove one method or the other in each session."""
    async def each_round(track: Track, number: int) -> None:
        ways = ("google.com", "oidc.corp")
        known = {way: assertion(simulator, way, subject=f"unlink-{number}") for way in ways}
        signed = (await track.stub.SignIn(auth.SignInRequest(credential=known["google.com"]))).session
        await track.stub.Link(auth.LinkRequest(id_token=signed.id_token, credential=known["oidc.corp"]))
        sessions = [(await track.stub.SignIn(auth.SignInRequest(credential=known[ways[index % 2]]))).session
                    for index in range(10)]
        answers = await track.race(lambda stub, caller: stub.Unlink(auth.UnlinkRequest(
            id_token=sessions[caller % 10].id_token, provider_id=ways[caller // 10 % 2])))
        won = [answer for answer in answers if answer.response]
        assert len(won) == 1
        refused = {answer.reason for answer in answers if answer.reason}
        assert refused <= {"LAST_SIGN_IN_METHOD", "NO_SUCH_PROVIDER", "TOKEN_REVOKED"}, refused
        left = ways[1 - won[0].caller // 10 % 2]
        assert provider_ids(judge.lookup(account_id=signed.account.account_id)) == {left}

    races.run(racing, each_round)


def test_check_95_a_hundred_refreshes_of_one_token_have_one_successor(racing: Server) -> None:
    """50 callers, each twice: parallel refreshes of one client are not a theft."""
    async def each_round(track: Track, number: int) -> None:
        made = (await track.stub.SignIn(auth.SignInRequest(credential=anonymous()))).session
        stubs = [SessionServiceStub(channel) for channel in track.channels]
        request = tokens.RefreshRequest(refresh_token=made.refresh_token)

        async def twice(caller: int) -> list[str]:
            stub = stubs[caller % len(stubs)]
            return [(await stub.Refresh(request)).session.refresh_token for _ in range(2)]

        answers = await races.together(twice)
        assert len({token for pair in answers for token in pair}) == 1

    races.run(racing, each_round, rounds=20)
