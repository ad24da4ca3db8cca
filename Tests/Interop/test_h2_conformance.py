"""The well-known HTTP/2 conformance cases, for a server that answers Health.Check.

nghttp2 follows nearly all of these rules itself; the cases guard our use of it. The run ends with the line
"h2 cases passed: N of M". The bad preface is a separate function, because that case begins before SETTINGS.
"""

from __future__ import annotations

import pytest

import h2_frames
import h2_generic
import h2_messages
from h2 import Case
from raw import Connection
from server import PEER, Server

CASES: list[Case] = [
    *h2_generic.GENERIC, *h2_generic.HPACK, *h2_frames.STARTING, *h2_frames.STATES, *h2_frames.FRAMES,
    *h2_messages.CONTROL, *h2_messages.WINDOWS, *h2_messages.EXCHANGES]
GROUPS = {"generic": 44, "hpack": 8, "http2": 94}  # And the bad preface: 147 in total.
differs = pytest.mark.xfail(PEER == "grpcio", reason="the C core is a lenient server", strict=False)


@differs
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.section} {case.promise}")
def test_h2_case(connection: Connection, case: Case) -> None:
    case.run(connection)


@differs
def test_h2_case_http2_3_5_2_a_bad_preface_ends_the_connection(server: Server) -> None:
    with Connection(server.port, preface=b"INVALID CONNECTION PREFACE\r\n\r\n") as connection:
        while connection.read() is not None:
            pass


def test_every_case_is_there_once() -> None:
    names = [case.section for case in CASES]
    assert len(set(names)) == len(names)
    assert {group: sum(name.startswith(group) for name in names) for group in GROUPS} == GROUPS
