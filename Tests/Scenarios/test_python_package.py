"""The session helper of the Python package, with a server. All scenarios use the package's channels and errors."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from clients import Client, fresh_email
from latchkey import LatchkeyError, SessionHolder
from latchkey.v1 import types_pb2 as types
from processes import Server

THREADS = 16


@pytest.fixture
def expiring(web: Client) -> types.Session:
    """A session whose holder refreshes it at the next use."""
    made = web.create(fresh_email())
    made.id_token_expires_at.GetCurrentTime()
    return made


def refreshes(server: Server) -> int:
    return sum(line.get("method") == "/latchkey.v1.SessionService/Refresh" for line in server.lines())


def test_threads_share_one_refresh(serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    web = connect(server)
    made = web.create(fresh_email())
    made.id_token_expires_at.GetCurrentTime()
    holder = SessionHolder(web.channel, made)
    with ThreadPoolExecutor(THREADS) as threads:
        [token] = set(threads.map(lambda _: holder.id_token(), range(THREADS)))
    assert token != made.id_token and web.verify(token).active
    assert web.refresh(holder.session.refresh_token).session_id == made.session_id
    server.stop()
    assert refreshes(server) == 2, "one of the holder, and one of this test"


def test_a_refresh_that_was_not_stored_continues_the_session(web: Client, expiring: types.Session) -> None:
    stored: list[types.Session] = []

    def store(received: types.Session) -> None:
        stored.append(received)
        if len(stored) == 1:
            raise OSError("disk full")

    holder = SessionHolder(web.channel, expiring, store=store)
    with pytest.raises(OSError, match="disk full"):
        holder.id_token()
    assert web.verify(holder.id_token()).active
    first, second = stored
    assert first.session_id == second.session_id == expiring.session_id
    assert web.refresh(holder.session.refresh_token).session_id == expiring.session_id


def test_an_ended_session_raises_its_reason(web: Client, expiring: types.Session) -> None:
    web.revoke_all(expiring.id_token)
    with pytest.raises(LatchkeyError) as raised:
        SessionHolder(web.channel, expiring).id_token()
    assert raised.value.reason == "TOKEN_REVOKED"


def test_sign_out_ends_the_session_and_can_be_repeated(web: Client, expiring: types.Session) -> None:
    holder = SessionHolder(web.channel, expiring)
    token = holder.id_token()
    holder.sign_out()
    holder.sign_out()
    assert not web.verify(token).active
