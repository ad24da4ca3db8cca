"""Two servers on one database: each knows the changes of the other. Run with LATCHKEY_TEST_STORE=postgres."""

from __future__ import annotations

import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import databases
import outbox
import pytest
from clients import PASSWORD, Client, assertion, conflict, fresh_email, password, provider_ids, session
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1.event_service_pb2 import EVENT_TYPE_ACCOUNT_CREATED
from processes import Server, Simulator
from waiting import until

pytestmark = pytest.mark.skipif(not databases.ON_POSTGRES, reason="the servers keep files")

Pair = tuple[Client, Client]


@pytest.fixture
def servers(serve: Callable[..., Server]) -> tuple[Server, Server]:
    settings = {"throttles": {"password_failures_max": 6},
                "tokens": {"publish_lead_seconds": 8}, "delivery": {"outbox_folder": "outbox-of-both"}}
    first = serve(**settings)
    return first, serve(**settings, store={"postgres": first.settings["store"]["postgres"]})


@pytest.fixture
def pair(servers: tuple[Server, Server], connect: Callable[..., Client]) -> Pair:
    return connect(servers[0]), connect(servers[1])


def test_one_refresh_token_sent_to_both_concurrently_has_one_successor(pair: Pair) -> None:
    for _ in range(20):
        token = pair[0].create(fresh_email()).refresh_token
        with ThreadPoolExecutor(8) as callers:
            renewed = list(callers.map(lambda client: client.refresh(token).refresh_token, pair * 4))
        assert len(set(renewed)) == 1
        assert pair[1].refresh(renewed[0]).refresh_token not in (token, renewed[0])


def test_a_pending_token_of_one_is_completed_at_the_other_by_one_of_many_callers(
        pair: Pair, simulator: Simulator) -> None:
    email = fresh_email()
    owner = pair[0].create(email).account.account_id
    exists = conflict(pair[0].sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))

    def complete(client: Client) -> str:
        return session(client.sign_in(password(email), pending_token=exists.pending_token)).session_id

    with ThreadPoolExecutor(8) as callers:
        sessions = set(callers.map(complete, pair * 4))
    assert len(sessions) == 1, "a repeated completion returns the session of the first"
    account = pair[1].sign_in(password(email)).session.account
    assert account.account_id == owner
    assert provider_ids(account) == {"password", "oidc.trusted"}


def test_a_revocation_at_one_applies_to_the_next_call_at_the_other(pair: Pair) -> None:
    made = pair[0].create(fresh_email())
    assert pair[1].verify(made.id_token).active
    pair[0].sign_out(refresh_token=made.refresh_token)
    assert not pair[1].verify(made.id_token).active
    with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
        pair[1].refresh(made.refresh_token)


def test_attempts_are_counted_together(pair: Pair) -> None:
    email = fresh_email()
    pair[0].create(email)
    for number in range(6):
        with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS"):
            pair[number % 2].sign_in(password(email, "not the password at all"))
    for client in pair:
        with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_ATTEMPTS"):
            client.sign_in(password(email, PASSWORD))


def test_a_call_repeated_at_the_other_under_its_key_has_the_same_outcome(pair: Pair) -> None:
    email, key = fresh_email(), secrets.token_hex(8)
    made = pair[0].create(email, idempotency_key=key)
    again = pair[1].create(email, idempotency_key=key)
    assert (again.account.account_id, again.session_id) == (made.account.account_id, made.session_id)


def test_a_watcher_of_one_receives_events_of_the_other_within_a_second(
        servers: tuple[Server, Server], connect: Callable[..., Client]) -> None:
    caller, watcher = connect(servers[0]), connect(servers[1], key="admin")
    stream = watcher.watch("now")
    next(stream)
    took = []
    for _ in range(5):
        begun = time.monotonic()
        account_id = caller.create(fresh_email()).account.account_id
        told = next(each for each in stream if each.HasField("event") and each.event.account_id == account_id)
        assert told.event.type == EVENT_TYPE_ACCOUNT_CREATED
        took.append(time.monotonic() - begun)
    stream.cancel()
    # The median, because a busy machine delays some.
    assert sorted(took)[len(took) // 2] < 1


def test_a_message_is_sent_by_one_of_them(servers: tuple[Server, Server], pair: Pair, simulator: Simulator) -> None:
    emails = []
    for number in range(10):
        emails.append(fresh_email())
        begun = session(pair[number % 2].sign_in(
            assertion(simulator, "oidc.trusted", email=emails[-1], email_verified=True)))
        session(pair[number % 2].link(begun.id_token, assertion(simulator, "oidc.corp")))
    for email in emails:
        outbox.wait_for(servers[0], "linked", email)
    time.sleep(1)
    assert [len(outbox.messages(servers[0], "linked", email)) for email in emails] == [1] * len(emails)


def test_a_signing_key_of_one_is_published_by_the_other_before_it_signs(
        servers: tuple[Server, Server], pair: Pair) -> None:
    before, made = pair[1].signing_keys(), pair[0].create(fresh_email())
    servers[0].process.send_signal(signal.SIGUSR1)

    def is_published() -> bool:
        nonlocal made
        made = pair[0].refresh(made.refresh_token)
        assert pair[1].verify(made.id_token).active, "the lead is eight seconds, and keys are read four times in it"
        return pair[1].signing_keys() != before

    until(is_published)


# Round trips, counted on the wire.


class Wire:
    """A proxy between a server and its database. Counts, for each connection, how often the server sends before the
    next answer. Ignores statements that the server makes on its own."""

    OWN_ACCORD = (b"last_event\0", b"place_events\0", b"held\0", b"due_deliveries\0", b"signing_keys\0",
                  b"master_keys\0", b"note_master_key\0", b"_page\0")

    def __init__(self, database: str) -> None:
        self.database = database
        self.trips = 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self.database)
            asked = bytearray()
            threading.Thread(target=self._up, args=(near, far, asked), daemon=True).start()
            threading.Thread(target=self._down, args=(far, near, asked), daemon=True).start()

    def _up(self, near: socket.socket, far: socket.socket, asked: bytearray) -> None:
        while chunk := _receive(near):
            with self.lock:
                asked += chunk
            far.sendall(chunk)
        far.close()

    def _down(self, far: socket.socket, near: socket.socket, asked: bytearray) -> None:
        while chunk := _receive(far):
            with self.lock:
                if asked and not any(name in asked for name in Wire.OWN_ACCORD):
                    self.trips += 1
                asked.clear()
            near.sendall(chunk)
        near.close()

    def settle(self) -> None:
        """Waits until the server has opened the connections for its own work."""
        before = -1
        while before != self.trips:
            before = self.trips
            time.sleep(0.5)

    def count(self, call: Callable[[], object], calls: int = 20) -> float:
        """The fewest in three rounds, because the machine may split what is sent."""
        counts = []
        for _ in range(3):
            with self.lock:
                before = self.trips
            for _ in range(calls):
                call()
            with self.lock:
                counts.append((self.trips - before) / calls)
        return min(counts)

    def close(self) -> None:
        self.listener.close()


def _receive(end: socket.socket) -> bytes:
    try:
        return end.recv(1 << 20)
    except OSError:
        return b""


@pytest.fixture
def wire() -> Iterator[Wire]:
    words = dict(word.split("=", 1) for word in databases.POSTGRES.split() if "=" in word)
    if not words["host"].startswith("/"):
        pytest.skip("the database is not reached by a socket of this machine")
    counted = Wire(f"{words['host']}/.s.PGSQL.5432")
    yield counted
    counted.close()


def test_a_look_up_takes_one_round_trip_and_a_change_one_more(
        wire: Wire, serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    near = databases.place({"path": ""})["postgres"]["conninfo"]
    words = [word for word in near.split() if not word.startswith("host=")]
    server = serve(store={"postgres": {"conninfo": " ".join(["host=127.0.0.1", f"port={wire.port}", *words])}},
                   unidentified={"fetch_by_email": True})
    client = connect(server)
    email, subject = fresh_email(), secrets.token_hex(8)
    made = client.create(email)
    state = {"token": made.refresh_token}

    def refresh() -> None:
        state["token"] = client.refresh(state["token"]).refresh_token

    def sign_in() -> None:
        session(client.sign_in(assertion(simulator, "oidc.trusted", subject=subject)))

    sign_in()
    wire.settle()
    assert wire.count(lambda: client.fetch(email=email)) == 1
    assert wire.count(lambda: client.verify(made.id_token)) == 1
    assert wire.count(refresh) == 2
    assert wire.count(sign_in) == 2
