"""Eight callers that share a few email addresses, identities and sessions, and record each call, its time and its
answer."""

from __future__ import annotations

import asyncio
import math
import random
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import grpc
from clients import PAGE, PASSWORD, anonymous, held, password, provider
from failures import read as read_refusal
from grpc_status import rpc_status
from latchkey.v1 import account_service_pb2 as accounts
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1 import session_service_pb2 as sessions
from latchkey.v1 import types_pb2 as types
from latchkey.v1 import verification_service_pb2 as verification
from latchkey.v1.account_service_pb2_grpc import AccountServiceStub
from latchkey.v1.auth_service_pb2_grpc import AuthServiceStub
from latchkey.v1.errors_pb2 import ErrorReason
from latchkey.v1.session_service_pb2_grpc import SessionServiceStub
from latchkey.v1.verification_service_pb2_grpc import VerificationServiceStub
from linear import Operation
from model import Answer, Call
from processes import Simulator

CALLERS = 8
ADDRESSES, NEW_ADDRESSES, IDENTITIES_EACH = 3, 2, 2
PROVIDERS = ("oidc.partner", "oidc.corp")
DEADLINE_SECONDS = 5.0
# Pause after a call without an answer; it doubles with each further one.
SILENCE_SECONDS, SILENCE_SECONDS_MOST = 0.01, 0.5
# Half of the service's grace time for a repeated refresh (10 s). Later, a token that was exchanged before may fail.
PROMPT_SECONDS = 5.0
# Statuses of calls without an answer from the service.
UNHEARD = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED)
# Attempts at one change, each after the answer to the last one was lost.
ATTEMPTS_MAX = 3
# Changes that an idempotency key makes safe to repeat.
KEYED = ("create", "anonymous", "password", "identity", "complete", "link", "link_held", "unlink", "delete")
# Number of the latest sessions and handles that are still used.
RECENT = 5
Send = Callable[["Line", Call], Awaitable[Answer]]


@dataclass
class Line:
    """One connection with its stubs."""

    channel: grpc.aio.Channel

    def __post_init__(self) -> None:
        self.auth = AuthServiceStub(self.channel)
        self.accounts = AccountServiceStub(self.channel)
        self.sessions = SessionServiceStub(self.channel)
        self.verification = VerificationServiceStub(self.channel)


@dataclass
class Purse:
    """A session from an answer: its ID token, and its refresh tokens, the newest at the end."""

    session: str
    id_token: str
    refresh_tokens: list[str]


@dataclass
class World:
    """The keys of one history, and everything that its callers received."""

    chance: random.Random
    simulator: Simulator
    # Emailed codes by address.
    mailed: dict[str, str]
    history: list[Operation] = field(default_factory=list)
    purses: dict[str, Purse] = field(default_factory=dict)
    handles: list[tuple[str, str]] = field(default_factory=list)
    asked_changes: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.begun = time.monotonic()
        name = secrets.token_hex(6)
        self.addresses = [f"{name}-{number}@example.com" for number in range(ADDRESSES)]
        self.new_addresses = [f"{name}-new-{number}@example.com" for number in range(NEW_ADDRESSES)]
        self.tokens: dict[tuple[str, str, str], str] = {}
        for each in PROVIDERS:
            for number in range(IDENTITIES_EACH):
                asserted = self.chance.choice([*self.addresses, ""])
                order = {"subject": f"{name}-{number}"} | ({"email": asserted} if asserted else {})
                self.tokens[each, f"{name}-{number}", asserted] = self.simulator.token(each, **order)

    # Choice of the next call.

    def choose(self) -> Call:
        purses = list(self.purses.values())[-RECENT:]
        if not purses or self.chance.random() < 0.3:
            return self.enter()
        if self.handles and self.chance.random() < 0.25:
            return self.settle(self.chance.choice(purses))
        kind = self.chance.choices(
            ["refresh", "link", "unlink", "get", "verify", "fetch", "send_change", "revoke", "sign_out", "delete"],
            [20, 16, 12, 12, 6, 8, 6, 3, 4, 5])[0]
        return self.inside(kind, self.chance.choice(purses))

    def enter(self) -> Call:
        kind = self.chance.choices(["create", "password", "identity", "anonymous"], [4, 3, 8, 2])[0]
        if kind == "identity":
            chosen = self.chance.choice(list(self.tokens))
            return Call(kind, "", "", *chosen, existing_only=self.chance.random() < 0.1)
        return Call(kind, email="" if kind == "anonymous" else self.address())

    def settle(self, purse: Purse) -> Call:
        handle, email = self.chance.choice(self.handles[-RECENT:])
        if self.chance.random() < 0.6:
            return Call("complete", email=email, handle=handle)
        return Call("link_held", session=purse.session, handle=handle)

    def inside(self, kind: str, purse: Purse) -> Call:
        call = Call(kind, session=purse.session)
        match kind:
            case "refresh":
                # Mostly the current one or its parent.
                known = purse.refresh_tokens[-self.chance.choice([1, 1, 1, 2, 2, 3]):]
                is_late = time.monotonic() - self.begun > PROMPT_SECONDS
                return replace(call, refresh_token=known[0], is_late=is_late)
            case "link":
                named, subject, asserted = self.chance.choice(list(self.tokens))
                return replace(call, provider=named, subject=subject, asserted=asserted)
            case "unlink":
                return replace(call, provider=self.chance.choice([*PROVIDERS, "password"]))
            case "fetch":
                return Call(kind, email=self.address())
            case "send_change":
                return self.change(call)
        return call

    def change(self, call: Call) -> Call:
        """A code is identified by the address it was sent to, and requested once for each."""
        found = [each for each in self.new_addresses if each in self.mailed]
        if found and self.chance.random() < 0.6:
            return replace(call, kind="confirm_change", email=self.chance.choice(found))
        free = [each for each in self.new_addresses if each not in self.asked_changes]
        if not free:
            return replace(call, kind="get")
        self.asked_changes.add(free[0])
        return replace(call, email=free[0])

    def address(self) -> str:
        return self.chance.choice([*self.addresses, *self.addresses, *self.new_addresses])

    # Received answers.

    def learn(self, call: Call, answer: Answer, id_token: str) -> None:
        if answer.outcome == "session":
            purse = self.purses.setdefault(answer.session, Purse(answer.session, id_token, []))
            if answer.refresh_token not in purse.refresh_tokens:
                purse.refresh_tokens.append(answer.refresh_token)
        elif answer.outcome == "conflict":
            self.handles.append((answer.handle, call.asserted))


class Caller:
    """One caller, on its own connection."""

    def __init__(self, number: int, world: World, line: Line) -> None:
        self.number, self.world, self.line = number, world, line
        # Calls in a row without an answer.
        self.silences = 0

    async def work(self, calls: int) -> None:
        for _ in range(calls):
            call = self.world.choose()
            if call.kind in KEYED or call.kind == "confirm_change":
                call = replace(call, key=secrets.token_hex(8))
            elif call.kind != "refresh":
                call = replace(call, key="")
            for _ in range(ATTEMPTS_MAX):
                if await self.ask(call) or call.kind not in KEYED or self.world.chance.random() < 0.3:
                    break

    async def ask(self, call: Call) -> bool:
        """Returns whether an answer came. A call without an answer may still take effect at any time."""
        called = time.monotonic()
        number = len(self.world.history)
        # Its place in the history: a call without an answer is part of it too.
        self.world.history.append(Operation(number, self.number, called, math.inf, call, None))
        try:
            answer, id_token = await perform(self.line, self.world, call)
        except grpc.aio.AioRpcError as error:
            if error.code() in UNHEARD or rpc_status.from_call(error) is None:
                await self.wait()
                return False
            answer, id_token = Answer("refused", read_refusal(error).reason), ""
        self.silences = 0
        self.world.history[number] = Operation(number, self.number, called, time.monotonic(), call, answer)
        self.world.learn(call, answer, id_token)
        return True

    async def wait(self) -> None:
        """Waits for a connection, and longer if the server has no database."""
        self.silences += 1
        await asyncio.sleep(min(SILENCE_SECONDS * 2 ** self.silences, SILENCE_SECONDS_MOST))
        try:
            await asyncio.wait_for(self.line.channel.channel_ready(), DEADLINE_SECONDS)
        except TimeoutError:
            pass


async def perform(line: Line, world: World, call: Call) -> tuple[Answer, str]:
    """Calls the server. Returns the answer, and the ID token of the session that it opened."""
    known = world.purses.get(call.session)
    id_token = known.id_token if known else ""
    match call.kind:
        case "create":
            return of_outcome(await ask(line.accounts.Create, accounts.CreateRequest(
                email=call.email, password=PASSWORD, idempotency_key=call.key)))
        case "password" | "anonymous" | "identity" | "complete":
            # An idempotency key of an anonymous sign-in is bound to a device.
            client = {"device_id": "a browser"} if call.kind == "anonymous" else None
            request = auth.SignInRequest(
                credential=credential(world, call), pending_token=call.handle, existing_only=call.existing_only,
                idempotency_key=call.key, client=client)
            return of_outcome(await ask(line.auth.SignIn, request))
        case "link" | "link_held":
            return of_outcome(await ask(line.auth.Link, auth.LinkRequest(
                id_token=id_token, credential=credential(world, call), idempotency_key=call.key)))
        case "unlink":
            return of_session((await ask(line.auth.Unlink, auth.UnlinkRequest(
                id_token=id_token, provider_id=call.provider, idempotency_key=call.key))).session)
        case "refresh":
            request = sessions.RefreshRequest(refresh_token=call.refresh_token)
            return of_session((await ask(line.sessions.Refresh, request)).session)
        case "confirm_change":
            return of_session((await ask(line.verification.ConfirmEmail, verification.ConfirmEmailRequest(
                code=world.mailed[call.email], id_token=id_token))).session)
    return await perform_without_session(line, call, id_token), ""


async def perform_without_session(line: Line, call: Call, id_token: str) -> Answer:
    match call.kind:
        case "revoke":
            await ask(line.sessions.RevokeAll, sessions.RevokeAllRequest(id_token=id_token))
        case "sign_out":
            await ask(line.sessions.SignOut, sessions.SignOutRequest(id_token=id_token))
        case "delete":
            await ask(line.accounts.Delete, accounts.DeleteRequest(id_token=id_token, idempotency_key=call.key))
        case "send_change":
            await ask(line.verification.SendEmailChange, verification.SendEmailChangeRequest(
                id_token=id_token, new_email=call.email, continue_uri=PAGE))
        case "fetch":
            found = await ask(line.auth.FetchProviders, auth.FetchProvidersRequest(email=call.email))
            return Answer("registered" if found.registered else "unknown", providers=frozenset(found.provider_ids))
        case "get":
            account = (await ask(line.accounts.Get, accounts.GetRequest(id_token=id_token))).account
            return Answer("account", **shown(account))
        case "verify":
            verified = await ask(line.sessions.VerifyIdToken, sessions.VerifyIdTokenRequest(id_token=id_token))
            if verified.active:
                return Answer("active")
            return Answer("inactive", ErrorReason.Name(verified.inactive_reason).removeprefix("ERROR_REASON_"))
    return Answer("done")


async def ask(method: Any, request: Any) -> Any:
    return await method(request, timeout=DEADLINE_SECONDS)


def credential(world: World, call: Call) -> types.Credential:
    match call.kind:
        case "anonymous":
            return anonymous()
        case "link_held":
            return held(call.handle)
        case "password" | "complete":
            return password(call.email)
    return provider(call.provider, world.tokens[call.provider, call.subject, call.asserted])


def of_outcome(response: Any) -> tuple[Answer, str]:
    match response.WhichOneof("outcome"):
        case "account_exists":
            return Answer("conflict", handle=response.account_exists.pending_token), ""
        case "credential_in_use":
            return Answer("in_use"), ""
    return of_session(response.session)


def of_session(session: types.Session) -> tuple[Answer, str]:
    return Answer("session", session=session.session_id, refresh_token=session.refresh_token,
                  is_new=session.is_new_account, **shown(session.account)), session.id_token


def shown(account: types.Account) -> dict[str, Any]:
    return {"account": account.account_id, "email": account.email,
            "providers": frozenset(each.provider_id for each in account.providers)}
