"""The life of a connection (gRFC A8, A9): the server ends it if it is idle, too old, silent, or out of stream ids."""

from __future__ import annotations

import time
from typing import Callable

import pytest
from hyperframe import frame as frames

from raw import END_STREAM, NO_ERROR, DATA, Connection, frame, message, request
from server import Server
from test_drain import LAST_STREAM, goaways
from test_response_rules import finish, hold, settled

OK = 0
# The limit of stream ids, three quarters of all, after which the server ends a connection.
STREAM_ID_MAX = 3 << 29

pytestmark = pytest.mark.latchkey_only("the C core has other timeouts")


def test_an_idle_connection_gets_a_goaway(start_server: Callable[..., Server]) -> None:
    server = start_server(idle_seconds=1)
    began = time.monotonic()
    with settled(Connection(server.port)) as connection:
        first, last = goaways(connection)
        assert 0.9 < time.monotonic() - began < 20
        assert (first.last_stream_id, last.error_code, last.additional_data) == (LAST_STREAM, NO_ERROR, b"max_idle")
        assert connection.until(frames.DataFrame) is None, "and closed"


def test_a_connection_gets_a_goaway_at_its_age_while_its_calls_finish(start_server: Callable[..., Server]) -> None:
    with settled(Connection(start_server(age_seconds=2).port)) as connection:
        held = hold(connection, 3)
        assert [one.additional_data for one in goaways(connection)] == [b"", b"max_age"]
        assert finish(connection, held) == [OK] * 3
        assert connection.until(frames.DataFrame) is None, "and closed"


def test_a_silent_connection_is_pinged_and_closed_when_it_does_not_answer(start_server: Callable[..., Server]) -> None:
    server = start_server(keepalive_seconds=1, keepalive_timeout_seconds=2)
    with settled(Connection(server.port)) as awake, settled(Connection(server.port)) as asleep:
        asleep.acknowledge = False
        assert isinstance(asleep.until(frames.PingFrame), frames.PingFrame)
        assert isinstance(awake.until(frames.PingFrame), frames.PingFrame)
        assert asleep.until(frames.DataFrame) is None, "closed"
        assert awake.call().status == OK


def test_a_connection_that_runs_out_of_stream_ids_gets_a_goaway(server: Server) -> None:
    with settled(Connection(server.port)) as connection:
        assert connection.call(stream=STREAM_ID_MAX - 1).status == OK
        late = STREAM_ID_MAX + 1
        connection.write(connection.headers(late, request()), frame(DATA, END_STREAM, late, message()))
        assert connection.reply(late).status == OK
        goodbyes = [got for got in iter(connection.read, None) if isinstance(got, frames.GoAwayFrame)]
        assert goodbyes[-1].additional_data == b"max_streams"
