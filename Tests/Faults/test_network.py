"""A bad network between client and server: late, byte by byte, cut, half closed, stalled, garbled.

After any fault of a connection, the server frees its memory and descriptor, no call hangs, and the next one is served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import step
from faults import Faults
from patient import Patient
from processes import Server, Simulator
from proxy import At, Cut, FlipBit, HalfClose, Proxy, Slow, Stall
from script import Caller, Day, Lost

MEBIBYTE = 1 << 20
# States of a socket in /proc/net/tcp.
ESTABLISHED, CLOSE_WAIT = "01", "08"
HANDSHAKE_MILLIS = 2_000


@pytest.fixture
def proxy(patient: Patient) -> Iterator[Proxy]:
    assert patient.server.process is not None
    running = Proxy(patient.server.port)
    yield running
    running.stop()


def connections(server: Server) -> int:
    """The server's sockets in the kernel's table: those with a connected client, and those whose client has closed."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(f":{server.port:04X}") and row[3] in (ESTABLISHED, CLOSE_WAIT) for row in rows)


def resident_bytes(server: Server) -> int:
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmRSS:"))


def live_through(patient: Patient, proxy: Proxy, timeout_seconds: float = 10) -> str:
    patient.day = Day(patient.simulator)
    try:
        with Caller(patient.server, proxy.port, timeout_seconds) as caller:
            patient.day.live(caller)
        return "whole"
    except Lost:
        return "connection closed"
    except TimeoutError:
        return "silence"


def bytes_of_a_day(patient: Patient, proxy: Proxy) -> dict[str, int]:
    assert live_through(patient, proxy) == "whole"
    return dict(proxy.links[-1].passed)


def expect_recovery(patient: Patient, number: int) -> None:
    patient.expect_served()
    patient.expect_at_rest(number)


@pytest.mark.parametrize("slow", [Slow(0.02), Slow(0, byte_by_byte=True)], ids=["late", "byte by byte"])
def test_a_slow_network_only_takes_longer(patient: Patient, proxy: Proxy, slow: Slow) -> None:
    proxy.behaviour = lambda: slow
    assert live_through(patient, proxy, timeout_seconds=30) == "whole"
    expect_recovery(patient, 0)


@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("trouble", [Cut, HalfClose, FlipBit], ids=lambda trouble: trouble.__name__)
@pytest.mark.timeout(600)
def test_a_network_fault_at_any_byte_affects_that_connection_only(
        patient: Patient, proxy: Proxy, trouble: type[At], way: str) -> None:
    total = bytes_of_a_day(patient, proxy)[way]
    patient.expect_at_rest(0)
    resident = resident_bytes(patient.server)
    for at in range(0, total, step(307)):
        proxy.behaviour = lambda: trouble(way, at)
        live_through(patient, proxy, timeout_seconds=2)
        expect_recovery(patient, at)
    assert patient.wait_until(lambda: connections(patient.server) == 0)
    assert resident_bytes(patient.server) - resident < 20 * MEBIBYTE


@pytest.fixture
def hasty(serve: Callable[..., Server], faults: Faults, simulator: Simulator) -> Patient:
    """A server whose handshake limit is shorter than a test."""
    server = serve(faults, reactors=1, passwords={"workers": 1}, limits={"handshake_millis": HANDSHAKE_MILLIS})
    return Patient(server, faults, simulator)


def test_stalled_handshakes_are_closed_at_their_time_limit_and_delay_no_client(hasty: Patient) -> None:
    proxy = Proxy(hasty.server.port)
    # A client hello is longer than 500 bytes.
    for at in range(0, 500, 50):
        proxy.behaviour = lambda: Stall("up", at)
        assert live_through(hasty, proxy, timeout_seconds=0.1) == "silence"
        hasty.expect_served()
    # The proxy keeps its end of each connection open.
    assert hasty.wait_until(lambda: connections(hasty.server) == 0)
    proxy.stop()
    expect_recovery(hasty, 0)


@pytest.mark.parametrize("way", ["up", "down"])
def test_a_connection_that_stalls_at_any_byte_delays_no_other_client(patient: Patient, proxy: Proxy, way: str) -> None:
    """The server cannot know that no more bytes come: it keeps the connections like any idle one."""
    total = bytes_of_a_day(patient, proxy)[way]
    for at in range(0, total, step(401)):
        proxy.behaviour = lambda: Stall(way, at)
        live_through(patient, proxy, timeout_seconds=0.2)
        patient.expect_served()
    proxy.stop()
    expect_recovery(patient, total)
