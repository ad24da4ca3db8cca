"""A client that changes accounts until the server stops, remembers its answers, and repeats unanswered calls later."""

from __future__ import annotations

import itertools
import random
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import grpc
from clients import Client, anonymous, assertion, conflict, fresh_email, password, session
from failures import expect_failure
from failures import read as read_refusal
from journal import Entry, Journal
from processes import Server, Simulator

PEOPLE_MAX = 4
LINKED, HELD = "oidc.partner", "oidc.corp"
# Half of the service's grace time for a repeated refresh (10 s), so that a slow machine causes no finding.
REPEAT_SECONDS = 5
# Statuses of calls without an answer. The server sent all other statuses.
UNHEARD = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED)


class Violation(AssertionError):
    """The service broke a rule."""


@dataclass
class Person:
    """A user, as its client knows it."""

    name: str
    email: str = ""
    account_id: str = ""
    id_token: str = ""
    refresh_token: str = ""
    # Tokens before the direct parent of the current one. Presenting any of them ends the session.
    spent: list[str] = field(default_factory=list)
    is_linked: bool = False
    pending_token: str = ""
    held_subject: str = ""
    linked_subject: str = ""


@dataclass
class Operation:
    """One change, repeated until it is answered. Repeats have the same key and the same request."""

    kind: str
    person: Person
    ask: Callable[[Client], Any]
    entry: Entry
    heard: Callable[[Person, Any], None]
    # Rejections that count as an answer.
    may_refuse: tuple[str, ...] = ()
    # When it was asked first, after which the grace time of a refresh may have begun.
    asked_at: float = 0.0


class Actor:
    """One client with users of its own. It makes changes in sequence, so its knowledge is certain."""

    def __init__(self, name: str, journal: Journal, simulator: Simulator, chance: random.Random) -> None:
        self.name, self.journal, self.simulator, self.chance = name, journal, simulator, chance
        self.people: list[Person] = []
        self.unheard: Operation | None = None
        self.numbers = itertools.count(1)
        self.purse: dict[str, list[tuple[str, Any]]] = {LINKED: [], HELD: []}
        self.violations: list[str] = []

    # One run of the server.

    def greet(self, server: Server) -> None:
        """Connects, makes what the load needs, and checks that the last answers are still true."""
        self.client = Client(server, certificate="web")
        # Makes the server fetch the providers' keys: the kill must hit the load, not the wait for keys.
        for provider_id in self.purse:
            with expect_failure(grpc.StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
                self.client.sign_in(assertion(self.simulator, provider_id), existing_only=True)
        for provider_id, tokens in self.purse.items():
            while len(tokens) < 2:
                subject = secrets.token_hex(8)
                tokens.append((subject, partial(assertion, self.simulator, provider_id, subject=subject)))
        for person in self.people[-1:]:
            if self.unheard is None or self.unheard.person is not person:
                account = self.client.get(person.id_token)
                expect(account.account_id == person.account_id, f"{person.name} has another account after the restart")
                expect((LINKED in {each.provider_id for each in account.providers}) == person.is_linked,
                       f"{person.name} has other identities after the restart")

    def work(self, rush_email: str, gone: threading.Event) -> None:
        """Makes changes until the server no longer answers."""
        try:
            if not self.settle():
                return
            if not self.perform(self.sign_up(rush_email, "EMAIL_ALREADY_IN_USE")):
                return
            while not gone.is_set():
                if not self.perform(self.choose()):
                    return
        except Violation as violation:
            self.violations.append(f"{self.name}: {violation}")

    def settle(self) -> bool:
        """Repeats the unanswered call twice. Both answers must report one and the same change."""
        waiting = self.unheard
        if waiting is None:
            return True
        if waiting.kind == "refresh" and time.monotonic() - waiting.asked_at > REPEAT_SECONDS:
            self.drop(waiting.person)
            return True
        account_id = waiting.person.account_id
        if not self.perform(waiting):
            return False
        if waiting.person.account_id and waiting.kind != "delete":
            account_id = account_id or waiting.person.account_id
            if not self.perform(waiting):
                return False
            expect(waiting.person.account_id == account_id, f"{waiting.kind} of {waiting.person.name} was done twice")
        return True

    def perform(self, operation: Operation) -> bool:
        """Returns False without an answer. The caller must repeat the call."""
        self.unheard = operation
        operation.asked_at = operation.asked_at or time.monotonic()
        self.note("asked", operation)
        try:
            answer = operation.ask(self.client)
        except grpc.RpcError as error:
            if error.code() in UNHEARD:
                operation.entry.reason = error.code().name
                self.note("unheard", operation)
                operation.entry.reason = ""
                return False
            self.refused(operation, error)
            return True
        self.unheard = None
        operation.heard(operation.person, answer)
        operation.entry.account_id = operation.person.account_id
        if hasattr(answer, "session_id"):
            operation.entry.session_id, operation.entry.refresh_token = answer.session_id, answer.refresh_token
        self.note("told", operation)
        return True

    def refused(self, operation: Operation, error: grpc.RpcError) -> None:
        self.unheard = None
        reason = read_refusal(error).reason
        operation.entry.reason = reason
        self.note("refused", operation)
        self.drop(operation.person)
        expect(reason in operation.may_refuse, f"{operation.kind} of {operation.person.name} is refused: {reason}")

    def note(self, event: str, operation: Operation) -> None:
        operation.entry.event = event
        self.journal.write(operation.entry)

    def drop(self, person: Person) -> None:
        """Makes no more calls for this user. Its last known state stays true."""
        self.unheard = None
        self.people = [each for each in self.people if each is not person]

    # Possible operations.

    def choose(self) -> Operation:
        if len(self.people) < PEOPLE_MAX and self.chance.random() < 0.4:
            return self.chance.choice([self.arrive_unnamed, self.arrive, lambda: self.sign_up(fresh_email())])()
        if not self.people:
            return self.sign_up(fresh_email())
        person = self.chance.choice(self.people)
        choices = [self.refresh, self.refresh]
        if len(person.spent) > 1:
            choices.append(self.replay)
        if person.pending_token:
            choices += [self.complete] * 4
        elif person.email and not person.held_subject and self.purse[HELD]:
            choices += [self.meet_conflict] * 2
        if person.is_linked:
            choices += [self.unlink, self.unlink]
        elif person.email and self.purse[LINKED]:
            choices += [self.link, self.link]
        # Otherwise an address of the rush would become free again.
        if not person.email.startswith("rush"):
            choices.append(self.delete)
        return self.chance.choice(choices)(person)

    def operation(self, kind: str, person: Person, ask: Callable[[Client, str], Any],
                  heard: Callable[[Person, Any], None], **entry: Any) -> Operation:
        key = f"{self.name}-{secrets.token_hex(8)}"
        may_refuse = entry.pop("may_refuse", ())
        named = Entry("", key, kind, person.name, email=person.email, account_id=person.account_id, **entry)
        return Operation(kind, person, lambda client: ask(client, key), named, heard, may_refuse)

    def person(self, **known: Any) -> Person:
        return Person(f"{self.name}-{next(self.numbers)}", **known)

    def sign_up(self, email: str, *may_refuse: str) -> Operation:
        return self.operation("sign_up", self.person(email=email),
                              lambda client, key: client.create(email, idempotency_key=key), self.arrived,
                              may_refuse=may_refuse)

    def arrive_unnamed(self) -> Operation:
        return self.operation("sign_up", self.person(),
                              lambda client, key: session(client.sign_in(
                                  anonymous(), idempotency_key=key, client={"device_id": "a browser"})),
                              self.arrived)

    def arrive(self) -> Operation:
        if not self.purse[LINKED]:
            return self.arrive_unnamed()
        subject, make = self.purse[LINKED].pop()
        credential = make()
        person = self.person(linked_subject=subject, is_linked=True)
        return self.operation("sign_up", person,
                              lambda client, key: session(client.sign_in(credential, idempotency_key=key)),
                              self.arrived, provider_id=LINKED, subject=subject)

    def arrived(self, person: Person, answer: Any) -> None:
        if not person.account_id:
            self.people.append(person)
        took(person, answer)

    def link(self, person: Person) -> Operation:
        subject, make = self.purse[LINKED].pop()
        id_token, credential = person.id_token, make()

        def heard(person: Person, answer: Any) -> None:
            person.is_linked, person.linked_subject = True, subject
            took(person, answer)

        return self.operation(
            "link", person, lambda client, key: session(client.link(id_token, credential, idempotency_key=key)), heard,
            provider_id=LINKED, subject=subject)

    def unlink(self, person: Person) -> Operation:
        id_token = person.id_token

        def heard(person: Person, answer: Any) -> None:
            person.is_linked = False
            took(person, answer)

        # The last sign-in method cannot be removed.
        last = () if person.email else ("LAST_SIGN_IN_METHOD",)
        return self.operation(
            "unlink", person, lambda client, key: client.unlink(id_token, LINKED, idempotency_key=key), heard,
            provider_id=LINKED, subject=person.linked_subject, may_refuse=last)

    def refresh(self, person: Person) -> Operation:
        token = person.refresh_token

        def heard(person: Person, answer: Any) -> None:
            if person.refresh_token == token:
                person.spent.append(token)
            else:
                expect(person.refresh_token == answer.refresh_token, f"{person.name} got two successors of one token")
            person.refresh_token, person.id_token = answer.refresh_token, answer.id_token

        return self.operation("refresh", person, lambda client, key: client.refresh(token), heard)

    def replay(self, person: Person) -> Operation:
        """A token older than the parent was copied: it is rejected, and its family ends. If that answer was lost, the
        session may have been removed when the call is repeated."""
        token = person.spent[0]

        def heard(person: Person, answer: Any) -> None:
            raise Violation(f"a refresh token of {person.name} was accepted a second time")

        return self.operation("replay", person, lambda client, key: client.refresh(token), heard,
                              may_refuse=("TOKEN_REVOKED", "INVALID_REFRESH_TOKEN"))

    def meet_conflict(self, person: Person) -> Operation:
        subject, make = self.purse[HELD].pop()
        credential = make(email=person.email)

        def heard(person: Person, answer: Any) -> None:
            person.pending_token, person.held_subject = answer.pending_token, subject

        return self.operation(
            "conflict", person, lambda client, key: conflict(client.sign_in(credential, idempotency_key=key)), heard,
            provider_id=HELD, subject=subject)

    def complete(self, person: Person) -> Operation:
        pending_token = person.pending_token

        def heard(person: Person, answer: Any) -> None:
            person.pending_token = ""
            took(person, answer)

        return self.operation(
            "link", person,
            lambda client, key: session(client.sign_in(
                password(person.email), pending_token=pending_token, idempotency_key=key)),
            heard, provider_id=HELD, subject=person.held_subject)

    def delete(self, person: Person) -> Operation:
        id_token = person.id_token
        return self.operation("delete", person, lambda client, key: client.delete(id_token, idempotency_key=key),
                              lambda person, answer: self.drop(person))


def took(person: Person, answer: Any) -> None:
    """The session in the answer replaces the user's current one, whose tokens are of another family."""
    expect(not person.account_id or person.account_id == answer.account.account_id,
           f"{person.name} became another account")
    person.account_id, person.id_token = answer.account.account_id, answer.id_token
    person.refresh_token, person.spent = answer.refresh_token, []


def expect(holds: bool, law: str) -> None:
    if not holds:
        raise Violation(law)
