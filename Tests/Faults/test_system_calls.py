"""The n-th system call of the reactors fails, and the server keeps serving other connections."""

from __future__ import annotations

import errno
import resource
import socket
import time
from collections.abc import Callable

import pytest
from clients import fresh_email
from conftest import step
from faults import Point, every_failure
from latchkey.v1 import auth_service_pb2 as auth
from patient import Patient
from processes import Server
from processor_time import processor_seconds
from script import Caller, Lost

WAYS = [
    (Point.SOCKET_READ, {"error": errno.EINTR}), (Point.SOCKET_READ, {"error": errno.ECONNRESET}),
    (Point.SOCKET_READ, {"error": errno.EINTR, "short": True, "count": 1 << 40}),
    (Point.SOCKET_WRITE, {"error": errno.EINTR}), (Point.SOCKET_WRITE, {"error": errno.ECONNRESET}),
    (Point.SOCKET_WRITE, {"error": errno.ENOBUFS}), (Point.SOCKET_WRITE, {"error": errno.EPIPE}),
    (Point.SOCKET_WRITE, {"error": errno.EINTR, "short": True, "count": 200}),
    (Point.SOCKET_ACCEPT, {"error": errno.EINTR}), (Point.SOCKET_ACCEPT, {"error": errno.ECONNABORTED}),
    (Point.SOCKET_ACCEPT, {"error": errno.EMFILE}), (Point.SOCKET_ACCEPT, {"error": errno.ENFILE}),
    (Point.SOCKET_ACCEPT, {"error": errno.ENOBUFS}), (Point.SOCKET_ACCEPT, {"error": errno.EPROTO}),
    (Point.EPOLL_WAIT, {"error": errno.EINTR}), (Point.EPOLL_CONTROL, {"error": errno.ENOMEM}),
    (Point.EPOLL_CONTROL, {"error": errno.ENOSPC}), (Point.EVENTFD_READ, {"error": errno.EINTR}),
]
# More than an idle server uses.
DESCRIPTORS = 64
NO_DESCRIPTOR_SECONDS = 1.0
# Maximum share of one core while the server cannot accept connections.
IDLE_SHARE_MOST = 0.25


def fetch(caller: Caller) -> None:
    request = auth.FetchProvidersRequest(email=fresh_email())
    caller.call("AuthService/FetchProviders", request, auth.FetchProvidersResponse)


def name(way: object) -> str:
    return way.name.lower() if isinstance(way, Point) else " ".join(
        errno.errorcode[value] if key == "error" else key for key, value in way.items())  # type: ignore[attr-defined]


@pytest.mark.parametrize(("point", "way"), WAYS, ids=name)
@pytest.mark.timeout(600)
def test_a_failed_system_call_ends_one_connection_at_most(patient: Patient, point: Point, way: dict[str, int]) -> None:
    """The bystander connected before, and the failure is over when it calls."""
    with Caller(patient.server) as bystander:
        # The second answer comes after the server has handled everything left over from the first.
        fetch(bystander)
        fetch(bystander)

        def check(number: int) -> None:
            fetch(bystander)
            patient.live_undisturbed()

        every_failure(patient.faults, point, patient.live, check, step=step(2), **way)
    patient.expect_at_rest(0)


@pytest.mark.parametrize("error", [errno.ENOBUFS, errno.ENOMEM], ids=errno.errorcode.get)
def test_accept_errors_use_no_cpu_time_and_the_server_recovers_immediately(patient: Patient, error: int) -> None:
    with Caller(patient.server) as known:
        with patient.faults.armed(Point.SOCKET_ACCEPT, 1, count=1 << 40, error=error):
            fetch(known)
            waiting = connect(patient.server)
            expect_idle_with_work_waiting(patient.server, lambda: fetch(known))
        fetch(known)
    waiting.close()
    patient.expect_served()


def test_a_server_without_free_descriptors_serves_open_connections_and_sleeps(patient: Patient) -> None:
    """A real limit on the process, not an injected error."""
    process = patient.server.process
    assert process is not None
    with Caller(patient.server) as known:
        fetch(known)
        before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, before[1]))
        strangers = [connect(patient.server) for _ in range(DESCRIPTORS)]
        expect_idle_with_work_waiting(patient.server, lambda: fetch(known))
        with pytest.raises(Lost):
            Caller(patient.server)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)
        for one in strangers:
            one.close()
        patient.live_undisturbed()
        fetch(known)


def connect(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port))


def expect_idle_with_work_waiting(server: Server, serve: Callable[[], None]) -> None:
    assert server.process is not None
    process = server.process.pid
    spent, deadline = processor_seconds(process), time.monotonic() + NO_DESCRIPTOR_SECONDS
    while time.monotonic() < deadline:
        serve()
        time.sleep(0.05)
    assert processor_seconds(process) - spent < IDLE_SHARE_MOST * NO_DESCRIPTOR_SECONDS, "it spins"
