"""A small specification of the service for sequential callers, as far as histories use it.

Each call is a function from one state to the next (`Accounts`). Values that the server generates, such as ids and
tokens, come from its answers: the first answer with a value binds it, and every later one must agree. Values generated
in an unanswered call are empty until then.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

PASSWORD = "password"
# Accepted for any call, and always without an effect: too many concurrent changes of one account.
BUSY = "OVERLOADED"
READERS = ("fetch", "get", "verify")


@dataclass(frozen=True)
class Call:
    """A request. Calls with the same `key` are repetitions of one change."""

    kind: str
    key: str = ""
    email: str = ""
    provider: str = ""
    subject: str = ""
    # The email address that the provider asserts in addition to the subject.
    asserted: str = ""
    session: str = ""
    refresh_token: str = ""
    handle: str = ""
    existing_only: bool = False
    # Made when an exchanged refresh token may no longer get its answer again.
    is_late: bool = False


@dataclass(frozen=True)
class Answer:
    """An answer: an outcome with its values."""

    outcome: str
    reason: str = ""
    account: str = ""
    email: str = ""
    providers: frozenset[str] = frozenset()
    session: str = ""
    refresh_token: str = ""
    handle: str = ""
    is_new: bool = False


@dataclass(frozen=True)
class Account:
    # The key of the call that made it.
    name: str
    id: str = ""
    email: str = ""
    # The provider that asserted the address.
    source: str = ""
    has_password: bool = False
    is_anonymous: bool = False
    # Provider, subject and the asserted address.
    identities: frozenset[tuple[str, str, str]] = frozenset()
    # Providers that were ever unlinked.
    unlinked: frozenset[str] = frozenset()
    # The new address of the last emailed code.
    code: str = ""
    # Addresses that emailed codes have set, and the session that each code opened.
    used: frozenset[tuple[str, str]] = frozenset()

    @property
    def providers(self) -> frozenset[str]:
        return frozenset([each[0] for each in self.identities] + [PASSWORD] * self.has_password)

    def linked(self, what: Call | Pending) -> Account:
        """An account without an address takes that of the identity."""
        account = self if self.email or not what.asserted else self.named(what.asserted, what.provider)
        return replace(account, identities=self.identities | {(what.provider, what.subject, what.asserted)},
                       is_anonymous=False)

    def named(self, email: str, source: str) -> Account:
        return replace(self, email=email, source=source)

    def without(self, provider: str) -> Account:
        if provider == PASSWORD:
            return replace(self, has_password=False)
        left = replace(self, identities=frozenset(each for each in self.identities if each[0] != provider),
                       unlinked=self.unlinked | {provider})
        if not self.email or self.source != provider:
            return left
        # The address of a removed identity stays if another identity also has it.
        others = sorted(each[0] for each in left.identities if each[2] == self.email)
        source = others[0] if others else PASSWORD if self.has_password else ""
        return replace(left, email=self.email if source else "", source=source)


@dataclass(frozen=True)
class Session:
    """An open session. All others are closed."""

    name: str
    account: str
    # The provider of the sign-in.
    provider: str
    id: str = ""
    token: str = ""
    parent: str = ""
    # A repeated call returned its token, not a refresh.
    is_repeated: bool = False

    def moved(self, answer: Answer | None, is_repeated: bool) -> Session:
        return replace(self, token=answer.refresh_token if answer else "", parent=self.token, is_repeated=is_repeated)


@dataclass(frozen=True)
class Pending:
    """An identity that is pending for an account, until a session completes it."""

    handle: str
    account: str
    provider: str
    subject: str
    asserted: str
    completed: str = ""


@dataclass(frozen=True)
class Accounts:
    """The state. A record has the session that a change opened, and whether the account was new."""

    accounts: frozenset[Account] = frozenset()
    sessions: frozenset[Session] = frozenset()
    pendings: frozenset[Pending] = frozenset()
    records: frozenset[tuple[str, str, bool]] = frozenset()
    # A change with a pending credential: its key, its outcome, and the handle once an answer contained it.
    held: frozenset[tuple[str, str, str]] = frozenset()
    # Ids of sessions that ended because their guest became a user, and the account.
    guests: frozenset[tuple[str, str]] = frozenset()
    # Returned ids and tokens, which must not be returned again.
    given: frozenset[str] = frozenset()

    def account(self, name: str) -> Account:
        return next(each for each in self.accounts if each.name == name)

    def owner(self, email: str) -> Account | None:
        return next((each for each in self.accounts if email and each.email == email), None)

    def holder(self, provider: str, subject: str) -> Account | None:
        return next((account for account in self.accounts for each in account.identities
                     if each[:2] == (provider, subject)), None)

    def session(self, session_id: str) -> Session | None:
        return next((each for each in self.sessions if session_id and each.id == session_id), None)

    def pending(self, handle: str) -> Pending | None:
        return next((each for each in self.pendings if each.handle == handle), None)

    def guest(self, session_id: str) -> Account | None:
        """The account of the guest whose session has ended."""
        return next((self.account(name) for each, name in self.guests if each == session_id), None)

    def record(self, key: str) -> tuple[str, str, bool] | None:
        return next((each for each in self.records if key and each[0] == key), None)

    def held_by(self, key: str) -> tuple[str, str, str] | None:
        return next((each for each in self.held if key and each[0] == key), None)

    def put(self, *things: Account | Session | Pending) -> Accounts:
        """Adds each thing, or replaces the one with the same name."""
        state = self
        for thing in things:
            field, name = PLACES[type(thing)]
            kept = (each for each in getattr(state, field) if getattr(each, name) != getattr(thing, name))
            state = replace(state, **{field: frozenset([*kept, thing])})
        return state

    def close(self, sessions: Iterable[Session]) -> Accounts:
        return replace(self, sessions=self.sessions - frozenset(sessions))

    def sessions_of(self, account: Account) -> list[Session]:
        return [each for each in self.sessions if each.account == account.name]

    def end_guest(self, account: Account) -> Accounts:
        """Check 99: another user who passed the guest session to this user may still have a copy."""
        ended = self.sessions_of(account)
        return replace(self.close(ended), guests=self.guests | {(each.id, account.name) for each in ended if each.id})

    def remove(self, account: Account) -> Accounts:
        gone = frozenset(each for each in self.pendings if each.account == account.name)
        guests = frozenset(each for each in self.guests if each[1] == account.name)
        return replace(self.close(self.sessions_of(account)), accounts=self.accounts - {account},
                       pendings=self.pendings - gone, guests=self.guests - guests)

    def give(self, *drawn: str) -> Accounts | None:
        """Returns None if one of these was returned before."""
        if any(each in self.given for each in drawn):
            return None
        return replace(self, given=self.given | frozenset(drawn))


PLACES: dict[Any, tuple[str, str]] = {
    Account: ("accounts", "name"), Session: ("sessions", "name"), Pending: ("pendings", "handle")}


def refused(state: Accounts, answer: Answer | None, *reasons: str) -> list[Accounts]:
    """Nothing changes, and the caller receives one of these reasons."""
    fits = answer is None or answer.outcome == "refused" and answer.reason in reasons
    return [state] if fits else []


def shown(state: Accounts, account: Account, answer: Answer) -> Accounts | None:
    """The answer shows this account. The first answer with the account binds its id."""
    if (answer.email, answer.providers) != (account.email, account.providers):
        return None
    if account.id:
        return state if account.id == answer.account else None
    named = state.give(answer.account)
    return named and named.put(replace(account, id=answer.account))
