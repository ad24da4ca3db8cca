"""The end of a server of which a part does not end: it gives that part up, names it, and exits with 1."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import pytest
from clients import Client, anonymous
from faults import NO_RETURN, Faults, Point
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1.auth_service_pb2_grpc import AuthServiceStub
from processes import Server, longest_end
from waiting import until

DRAIN_SECONDS = 1


def ended(server: Server, faults: Faults, point: Point) -> tuple[int, float]:
    """Makes a call at the point never return, ends the server, and returns its exit code and how long that took."""
    with contextlib.closing(Client(server, key="web")) as client, faults.armed(point, 1, error=NO_RETURN):
        call = AuthServiceStub(client.channel).SignIn.future(auth.SignInRequest(credential=anonymous()))
        until(lambda: faults.failures(point))
        begun = time.monotonic()
        server.signal()
        code = server.wait(60)
        assert call.exception() is not None
        return code, time.monotonic() - begun


@pytest.mark.parametrize("point, part, phase, why", [
    (Point.SOCKET_WRITE, "reactors", "stop", "1 of 1 reactors do not stop"),
    (Point.SOCKET_ACCEPT, "acceptor", "drain", "the listening sockets are still open")],
    ids=["reactor", "acceptor"])
def test_a_part_that_does_not_end_is_given_up_and_the_store_is_closed(
        serve: Callable[..., Server], faults: Faults, point: Point, part: str, phase: str, why: str) -> None:
    server = serve(faults, reactors=1, limits={"drain_seconds": DRAIN_SECONDS})
    code, seconds = ended(server, faults, point)
    assert code == 1 and seconds < longest_end(server)
    told = [line for line in server.lines() if line["level"] in ("warning", "error")]
    assert [[line[name] for name in ("message", "part", "phase", "why")] for line in told] == [
        ["a part does not end", part, phase, why]]
    log = server.database.with_name(f"{server.database.name}-wal")
    assert not log.exists() or log.stat().st_size == 0, "the store was closed"
    assert all(line["message"] != "stopped" for line in server.lines())


def test_a_server_that_waits_for_its_store_exits_at_the_limit_for_all_parts(
        serve: Callable[..., Server], faults: Faults) -> None:
    server = serve(faults, reactors=1, limits={"drain_seconds": DRAIN_SECONDS})
    code, seconds = ended(server, faults, Point.STORE_SYNC)
    assert code == 1 and longest_end(server) - 1.5 < seconds < longest_end(server) + 15
    told = [line for line in server.lines() if line["level"] == "error"]
    assert [[line[name] for name in ("message", "part", "phase")] for line in told] == [
        ["the server gives up waiting for a part", "store", "stop"]]
