"""Every later call sees an acknowledged write, on any connection and reactor.

A reactor reads one snapshot in each turn. If it opened the snapshot before it reads the turn's sockets, or kept it
beyond the turn, a call that follows an answered change could still be decided on the old state.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from clients import Client, anonymous, session
from latchkey.v1.errors_pb2 import ERROR_REASON_TOKEN_REVOKED
from processes import Server

PEOPLE = 8
ROUNDS = 100


def test_the_next_call_on_another_connection_sees_a_change(
        server: Server, connect: Callable[..., Client]) -> None:
    pairs = [(connect(server), connect(server)) for _ in range(PEOPLE)]

    def walk(pair: tuple[Client, Client]) -> None:
        here, there = pair
        for _ in range(ROUNDS):
            opened = session(here.sign_in(anonymous()))
            assert there.verify(opened.id_token).active, "the session was acknowledged"
            here.sign_out(id_token=opened.id_token)
            assert there.verify(opened.id_token).inactive_reason == ERROR_REASON_TOKEN_REVOKED, "so was its end"

    with ThreadPoolExecutor(PEOPLE) as pool:
        list(pool.map(walk, pairs))
