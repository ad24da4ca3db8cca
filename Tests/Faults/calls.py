"""The calls of the model, each a function from a state and an answer to the possible next states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from model import BUSY, PASSWORD, READERS, Account, Accounts, Answer, Call, Pending, Session, refused, shown

ENDED = ("TOKEN_REVOKED",)
# Reasons of a refresh: the session's row is deleted with its account.
ENDED_FAMILY = ("TOKEN_REVOKED", "INVALID_REFRESH_TOKEN")
MISMATCH, USED = "PENDING_CREDENTIAL_MISMATCH", "PENDING_CREDENTIAL_USED"
WRONG_CODE = ("INVALID_CODE", "EXPIRED_CODE")
Kind = Callable[["Service", Accounts, Call, Answer | None], list[Accounts]]


class Service:
    """The service as callers in sequence see it (`linear.Model`).

    `repeated` are the keys that occur twice. The session of any other unanswered call belongs to no caller.
    """

    def __init__(self, repeated: set[str] | None = None) -> None:
        self.repeated = repeated or set()

    def begin(self) -> Accounts:
        return Accounts()

    def step(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        if answer is not None and answer.outcome == "refused" and answer.reason == BUSY:
            return [state]
        if record := state.record(call.key):
            return self.repeat(state, record, answer)
        if held := state.held_by(call.key):
            return self.repeat_held(state, held, answer)
        return KINDS[call.kind](self, state, call, answer)

    def keys(self, call: Call, answer: Answer | None) -> set[str]:
        said = answer or Answer("")
        named = {"email": {call.email, call.asserted, said.email}, "identity": {call.provider and call.subject},
                 "session": {call.session, said.session}, "account": {said.account},
                 "handle": {call.handle, said.handle}, "token": {call.refresh_token, said.refresh_token},
                 "key": {call.key}}
        return {f"{kind} {call.provider if kind == 'identity' else ''} {name}"
                for kind, names in named.items() for name in names if name}

    def reads(self, call: Call, answer: Answer | None) -> bool:
        """An old refresh token ends its session, although it is rejected."""
        if call.kind in READERS:
            return True
        return answer is not None and answer.outcome == "refused" and call.kind != "refresh"

    # Opened sessions, and their repeated answers.

    def open(self, state: Accounts, account: Account, provider: str, call: Call, answer: Answer | None,
             is_new: bool = False) -> list[Accounts]:
        """A new session of this account, which is already in the state."""
        session = Session(call.key, account.name, provider)
        if answer is None:
            if call.key not in self.repeated:
                # A repeat with the same handle receives the same completion.
                return [state.put(session) if call.handle else state]
            return [replace(state.put(session), records=state.records | {(call.key, session.name, is_new)})]
        if answer.outcome != "session" or answer.is_new != is_new:
            return []
        found = shown(state, account, answer)
        given = found and found.give(answer.session, answer.refresh_token)
        if not given:
            return []
        if call.key in self.repeated:
            given = replace(given, records=given.records | {(call.key, session.name, is_new)})
        return [given.put(replace(session, id=answer.session, token=answer.refresh_token))]

    def repeat(self, state: Accounts, record: tuple[str, str, bool], answer: Answer | None) -> list[Accounts]:
        """A change that took effect: a repeat receives its session, if it is still open."""
        _, name, is_new = record
        if not name:
            return [state] if answer is None or answer.outcome == "done" else []
        session = next((each for each in state.sessions if each.name == name), None)
        if session is None:
            return refused(state, answer, *ENDED)
        return self.give_again(state, session, answer, is_new)

    def hold(self, state: Accounts, outcome: str, call: Call, answer: Answer | None,
             pending: Pending | None = None) -> list[Accounts]:
        """An answer with a pending credential, which is the same again under its key. `pending` waits under the call's
        key until an answer contains its handle."""
        if answer is not None and answer.outcome != outcome:
            return []
        held = replace(state, held=state.held | {(call.key, outcome, "")}) if call.key in self.repeated else state
        if answer is None and held == state:
            return [state]
        if pending is not None:
            held = held.put(pending)
        return [held] if answer is None else self.name(held, call.key, outcome, answer)

    def repeat_held(self, state: Accounts, held: tuple[str, str, str], answer: Answer | None) -> list[Accounts]:
        key, outcome, handle = held
        if answer is None:
            return [state]
        if answer.outcome != outcome:
            return []
        return self.name(state, key, outcome, answer) if not handle else [state] if handle == answer.handle else []

    def name(self, state: Accounts, key: str, outcome: str, answer: Answer) -> list[Accounts]:
        """The handle appears in an answer for the first time. What it would complete may no longer exist."""
        if not answer.handle:
            return [state]
        waiting = state.pending(key)
        given = state.give(answer.handle)
        if given is None:
            return []
        if waiting is not None:
            given = replace(given, pendings=given.pendings - {waiting}).put(replace(waiting, handle=answer.handle))
        if state.held_by(key):
            given = replace(given, held=given.held - {(key, outcome, "")} | {(key, outcome, answer.handle)})
        return [given]

    def go_on(self, state: Accounts, session: Session, call: Call, answer: Answer | None) -> list[Accounts]:
        """SEMANTICS.md, section 8: the session of the call continues under its id."""
        following = self.give_again(state, session, answer, False)
        if call.key not in self.repeated:
            return following
        return [replace(each, records=each.records | {(call.key, session.name, False)}) for each in following]

    def give_again(self, state: Accounts, session: Session, answer: Answer | None, is_new: bool) -> list[Accounts]:
        """Returns another token, as the first may be lost; after that, always the same one."""
        if answer is None:
            return [state if session.is_repeated else state.put(session.moved(None, True))]
        if answer.outcome != "session" or answer.is_new != is_new:
            return []
        found = shown(state, state.account(session.account), answer)
        if not session.id:
            found = found and found.give(answer.session)
            session = replace(session, id=answer.session)
        if not found or session.id != answer.session:
            return []
        return self.take_token(found, session, answer, True) if not session.is_repeated else (
            self.same_token(found, session, answer))

    def take_token(self, state: Accounts, session: Session, answer: Answer, is_repeated: bool) -> list[Accounts]:
        given = state.give(answer.refresh_token)
        return [given.put(session.moved(answer, is_repeated))] if given else []

    def same_token(self, state: Accounts, session: Session, answer: Answer) -> list[Accounts]:
        """The current token is returned again, or was made by an unanswered call."""
        if session.token:
            return [state.put(session)] if session.token == answer.refresh_token else []
        given = state.give(answer.refresh_token)
        return [given.put(replace(session, token=answer.refresh_token))] if given else []

    # Sign-up and sign-in.

    def create(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        if state.owner(call.email):
            return refused(state, answer, "EMAIL_ALREADY_IN_USE")
        account = Account(call.key, has_password=True).named(call.email, PASSWORD)
        return self.open(state.put(account), account, PASSWORD, call, answer, is_new=True)

    def anonymous(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        account = Account(call.key, is_anonymous=True)
        return self.open(state.put(account), account, "anonymous", call, answer, is_new=True)

    def password(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        owner = state.owner(call.email)
        if not owner or not owner.has_password:
            return refused(state, answer, "INVALID_LOGIN_CREDENTIALS")
        return self.open(state, owner, PASSWORD, call, answer)

    def identity(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        """The rows S1, S2, S4, S7, S8 and S9: identity before address. No address is ever verified."""
        if account := state.holder(call.provider, call.subject):
            if not account.email and call.asserted and not state.owner(call.asserted):
                account = account.named(call.asserted, call.provider)
            return self.open(state.put(account), account, call.provider, call, answer)
        if owner := state.owner(call.asserted):
            held = Pending(call.key, owner.name, call.provider, call.subject, call.asserted)
            return self.hold(state, "conflict", call, answer, held)
        if call.existing_only:
            return refused(state, answer, "ACCOUNT_NOT_FOUND")
        account = Account(call.key).linked(call)
        return self.open(state.put(account), account, call.provider, call, answer, is_new=True)

    def complete(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        """A password with a handle: signs in and links in one call."""
        held, owner = state.pending(call.handle), state.owner(call.email)
        if held is None:
            return refused(state, answer, MISMATCH)
        if not owner or not owner.has_password:
            return refused(state, answer, "INVALID_LOGIN_CREDENTIALS")
        if owner.name != held.account:
            return refused(state, answer, MISMATCH)
        if held.completed:
            return self.completed_before(state, held, answer)
        completed = state.put(replace(held, completed=call.key))
        if holder := state.holder(held.provider, held.subject):
            if holder.name != owner.name:
                return refused(state, answer, MISMATCH)
            return self.open(completed, owner, PASSWORD, call, answer)
        return self.add(state, completed, owner, held, None, call, answer)

    def add(self, state: Accounts, following: Accounts, account: Account, what: Call | Pending,
            session: Session | None, call: Call, answer: Answer | None) -> list[Accounts]:
        """Links an identity that no account has. `following` is the next state if the link succeeds. `session` is that
        of the call, or None if the password signs in."""
        if what.provider in account.providers:
            return refused(state, answer, "PROVIDER_ALREADY_LINKED")
        owner, linked = state.owner(what.asserted), account.linked(what)
        if owner and owner.name != account.name:
            return refused(state, answer, "EMAIL_ALREADY_IN_USE")
        if session is None:
            return self.open(following.put(linked), linked, PASSWORD, call, answer)
        if account.is_anonymous:
            return self.open(following.end_guest(account).put(linked), linked, what.provider, call, answer)
        return self.go_on(following.put(linked), session, call, answer)

    def completed_before(self, state: Accounts, held: Pending, answer: Answer | None) -> list[Accounts]:
        session = next((each for each in state.sessions if each.name == held.completed), None)
        return self.give_again(state, session, answer, False) if session else refused(state, answer, USED)

    # Calls in a session.

    def link(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        """The rows L1 to L7, and L9."""
        session = state.session(call.session)
        if session is None:
            return self.link_after_guest(state, call, answer)
        account = state.account(session.account)
        if holder := state.holder(call.provider, call.subject):
            if holder.name == account.name:
                return self.give_again(state, session, answer, False)
            return self.hold(state, "in_use", call, answer)
        return self.add(state, state, account, call, session, call, answer)

    def link_after_guest(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        """L1 for a caller that still uses a guest session: the credential alone would open a session, and does."""
        account, holder = state.guest(call.session), state.holder(call.provider, call.subject)
        if account is None or account != holder:
            return refused(state, answer, *ENDED)
        return self.open(state, account, call.provider, call, answer)

    def link_held(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        """Row L10."""
        session, held = state.session(call.session), state.pending(call.handle)
        if session is None:
            return refused(state, answer, *ENDED)
        if held is None or held.account != session.account:
            return refused(state, answer, MISMATCH)
        if held.completed:
            # Only for a session of the same login, which the model does not track.
            return self.completed_before(state, held, answer) or refused(state, answer, USED)
        account = state.account(session.account)
        if (held.provider, held.subject, held.asserted) in account.identities:
            return self.give_again(state, session, answer, False)
        # A session that began after an unlink completes no credential from before the unlink (S8).
        late = refused(state, answer, MISMATCH) if answer and held.provider in account.unlinked else []
        if state.holder(held.provider, held.subject):
            return refused(state, answer, MISMATCH) or late
        completed = state.put(replace(held, completed=session.name))
        return self.add(state, completed, account, held, session, call, answer) or late

    def unlink(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        session = state.session(call.session)
        if session is None:
            return refused(state, answer, *ENDED)
        account = state.account(session.account)
        if call.provider not in account.providers:
            return refused(state, answer, "NO_SUCH_PROVIDER")
        if account.providers == {call.provider}:
            return refused(state, answer, "LAST_SIGN_IN_METHOD")
        left = account.without(call.provider)
        ended = [each for each in state.sessions_of(account) if each.provider == call.provider]
        return self.open(state.put(left).close([session, *ended]), left, session.provider, call, answer)

    def refresh(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        """Exchanges the current token. Its parent gets the same answer again; an older one ends the session."""
        session = state.session(call.session)
        if session is None:
            return refused(state, answer, *ENDED_FAMILY)
        if call.refresh_token not in (session.token, session.parent):
            return refused(state.close([session]), answer, *ENDED_FAMILY)
        is_parent = call.refresh_token != session.token
        if is_parent and call.is_late and not session.is_repeated:
            ended = refused(state.close([session]), answer, *ENDED_FAMILY)
            return ended + self.refresh(state, replace(call, is_late=False), answer)
        if answer is None:
            return [state if is_parent else state.put(session.moved(None, False))]
        if answer.outcome != "session" or answer.session != session.id:
            return []
        found = shown(state, state.account(session.account), answer)
        if not found:
            return []
        if is_parent:
            return self.same_token(found, session, answer)
        return self.take_token(found, session, answer, False)

    def revoke(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        session = state.session(call.session)
        if session is None:
            return refused(state, answer, *ENDED)
        return self.done(state.close(state.sessions_of(state.account(session.account))), answer)

    def sign_out(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        session = state.session(call.session)
        return self.done(state.close([session]) if session else state, answer)

    def delete(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        session = state.session(call.session)
        if session is None:
            return refused(state, answer, *ENDED)
        gone = state.remove(state.account(session.account))
        if call.key in self.repeated:
            gone = replace(gone, records=gone.records | {(call.key, "", False)})
        return self.done(gone, answer)

    def done(self, state: Accounts, answer: Answer | None) -> list[Accounts]:
        return [state] if answer is None or answer.outcome == "done" else []

    def send_change(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        """Emails a code to the new address. An account has one code at a time."""
        session = state.session(call.session)
        if session is None:
            return refused(state, answer, *ENDED)
        account = state.account(session.account)
        if account.is_anonymous:
            return refused(state, answer, "OPERATION_NOT_ALLOWED")
        if account.email == call.email:
            return refused(state, answer, "INVALID_FIELD")
        return self.done(state.put(replace(account, code=call.email)), answer)

    def confirm_change(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        """Uses the code that was emailed to `email`, in a session."""
        session, owner = state.session(call.session), state.owner(call.email)
        if not any(each.code == call.email for each in state.accounts):
            return self.confirm_again(state, session, call, answer)
        if session is None:
            return refused(state, answer, *ENDED)
        account = state.account(session.account)
        if account.code != call.email:
            return refused(state, answer, "USER_MISMATCH")
        if owner and owner.name != account.name:
            return refused(state, answer, "EMAIL_ALREADY_IN_USE")
        moved = replace(account.named(call.email, PASSWORD), code="", used=account.used | {(call.email, call.key)})
        return self.open(state.put(moved).close(state.sessions_of(account)), moved, session.provider, call, answer)

    def confirm_again(self, state: Accounts, session: Session | None, call: Call, answer: Answer | None
                      ) -> list[Accounts]:
        """A second click in the session that the first one opened succeeds, while the account has the address."""
        opened = {name for each in state.accounts for email, name in each.used if email == call.email}
        if session and session.name in opened and state.account(session.account).email == call.email:
            return self.give_again(state, session, answer, False)
        over = ENDED if opened and session is None else ()
        return refused(state, answer, *WRONG_CODE, *over)

    # Look-ups.

    def fetch(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        owner = state.owner(call.email)
        expected = owner.providers if owner else frozenset()
        fits = answer is None or (answer.outcome, answer.providers) == ("registered" if owner else "unknown", expected)
        return [state] if fits else []

    def get(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        session = state.session(call.session)
        if session is None or answer is None:
            return refused(state, answer, *ENDED)
        found = answer.outcome == "account" and shown(state, state.account(session.account), answer)
        return [found] if found else []

    def verify(self, state: Accounts, call: Call, answer: Answer | None) -> list[Accounts]:
        expected = ("active", "") if state.session(call.session) else ("inactive", "TOKEN_REVOKED")
        return [state] if answer is None or (answer.outcome, answer.reason) == expected else []


KINDS: dict[str, Kind] = {
    kind: getattr(Service, kind) for kind in (
        "create", "anonymous", "password", "identity", "complete", "link", "link_held", "unlink", "refresh", "revoke",
        "sign_out", "delete", "send_change", "confirm_change", "fetch", "get", "verify")}
