"""What the service promises to one caller after another, as far as histories use it: a small specification of its own.

Everything that calls do is a function from one state to the next (`Accounts`). What the server draws, such as ids and
tokens, is taken from its answers: the first that names one binds it, and every later one must agree. What was drawn
in a call that nobody heard is empty until then.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

PASSWORD = "password"
# Accepted of any call, and always without an effect: too many changes of one account at once.
BUSY = "OVERLOADED"
READERS = ("fetch", "get", "verify")


@dataclass(frozen=True)
class Call:
    """What is asked. Calls with one `key` are one change, asked for again."""

    kind: str
    key: str = ""
    email: str = ""
    provider: str = ""
    subject: str = ""
    # The address that the provider names beside the subject.
    asserted: str = ""
    session: str = ""
    refresh_token: str = ""
    handle: str = ""
    existing_only: bool = False
    # Asked when an exchanged refresh token may no longer get its answer again.
    is_late: bool = False


@dataclass(frozen=True)
class Answer:
    """What was said: an outcome, and what goes with it."""

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
    # The provider that the address came with.
    source: str = ""
    has_password: bool = False
    is_anonymous: bool = False
    # Provider, subject and the address that it asserts.
    identities: frozenset[tuple[str, str, str]] = frozenset()
    # Providers that were ever unlinked.
    unlinked: frozenset[str] = frozenset()
    # The address that the last mailed code would change to.
    code: str = ""
    # Addresses that mailed codes have changed to, and the session that each code opened.
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
        # An address that came with what goes stays where something else names it.
        others = sorted(each[0] for each in left.identities if each[2] == self.email)
        source = others[0] if others else PASSWORD if self.has_password else ""
        return replace(left, email=self.email if source else "", source=source)


@dataclass(frozen=True)
class Session:
    """An open one; what is not here is closed."""

    name: str
    account: str
    # What it began with.
    provider: str
    id: str = ""
    token: str = ""
    parent: str = ""
    # Its token was handed out for a repeated call, not for a refresh.
    is_repeated: bool = False

    def moved(self, answer: Answer | None, is_repeated: bool) -> Session:
        return replace(self, token=answer.refresh_token if answer else "", parent=self.token, is_repeated=is_repeated)


@dataclass(frozen=True)
class Pending:
    """An identity that is held for an account, until a session completes it."""

    handle: str
    account: str
    provider: str
    subject: str
    asserted: str
    completed: str = ""


@dataclass(frozen=True)
class Accounts:
    """The state. A record says which session a change has opened, and whether with a new account."""

    accounts: frozenset[Account] = frozenset()
    sessions: frozenset[Session] = frozenset()
    pendings: frozenset[Pending] = frozenset()
    records: frozenset[tuple[str, str, bool]] = frozenset()
    # Of a change that put something aside: its key, what it was told, and the handle once that was heard.
    held: frozenset[tuple[str, str, str]] = frozenset()
    # Ids of sessions that ended because their guest became somebody, and the account.
    guests: frozenset[tuple[str, str]] = frozenset()
    # Ids and tokens that were given out, none of which may be given out again.
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
        """Who the guest of that session, which is over, has become."""
        return next((self.account(name) for each, name in self.guests if each == session_id), None)

    def record(self, key: str) -> tuple[str, str, bool] | None:
        return next((each for each in self.records if key and each[0] == key), None)

    def held_by(self, key: str) -> tuple[str, str, str] | None:
        return next((each for each in self.held if key and each[0] == key), None)

    def put(self, *things: Account | Session | Pending) -> Accounts:
        """Adds each thing, in the place of the one that has its name."""
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
        """Check 99: whoever had handed the session to this person may have kept it."""
        ended = self.sessions_of(account)
        return replace(self.close(ended), guests=self.guests | {(each.id, account.name) for each in ended if each.id})

    def remove(self, account: Account) -> Accounts:
        gone = frozenset(each for each in self.pendings if each.account == account.name)
        guests = frozenset(each for each in self.guests if each[1] == account.name)
        return replace(self.close(self.sessions_of(account)), accounts=self.accounts - {account},
                       pendings=self.pendings - gone, guests=self.guests - guests)

    def give(self, *drawn: str) -> Accounts | None:
        """None: one of these was given out before."""
        if any(each in self.given for each in drawn):
            return None
        return replace(self, given=self.given | frozenset(drawn))


PLACES: dict[Any, tuple[str, str]] = {
    Account: ("accounts", "name"), Session: ("sessions", "name"), Pending: ("pendings", "handle")}


def refused(state: Accounts, answer: Answer | None, *reasons: str) -> list[Accounts]:
    """Nothing changes, and the caller is told one of these reasons."""
    fits = answer is None or answer.outcome == "refused" and answer.reason in reasons
    return [state] if fits else []


def shown(state: Accounts, account: Account, answer: Answer) -> Accounts | None:
    """The answer shows this account as it is; the first that shows it says what its id is."""
    if (answer.email, answer.providers) != (account.email, account.providers):
        return None
    if account.id:
        return state if account.id == answer.account else None
    named = state.give(answer.account)
    return named and named.put(replace(account, id=answer.account))
