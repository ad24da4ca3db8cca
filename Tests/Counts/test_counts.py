"""Heap allocations and system calls of a call, and memory of an idle connection. The tests have limits, because no
timing shows a single additional one."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

import pytest

import certificates
import server as servers
from conftest import HERE, METHODS, Counted, Sessions

# One more for every ten calls. The number of calls in a turn varies between runs.
MARGIN = 0.1
FEW, MANY = 1000, 4000
# Calls with a session, and the tolerance for the work of the store's threads, which varies between runs.
SESSIONS, SESSION_MARGIN = 100, 1.01
IDLE = 2000
IDLE_CONNECTIONS = HERE.parents[1] / "deploy" / "bench-peers" / "idle_connections.py"
# Tolerance for the memory of the process itself, for each connection: 2 MB in total.
IDLE_MARGIN_KIB = 1.0


@pytest.fixture(scope="session")
def allocations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("counts") / "allocations.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, HERE / "allocations.c"], check=True)
    return library


@pytest.mark.parametrize("name", METHODS)
def test_a_call_makes_no_more_allocations_than_recorded(
        start: Callable[[str], Counted], allocations: Path, counted: Callable[[str, str, float], float], name: str,
) -> None:
    running = start(f'env LD_PRELOAD="{allocations}" ALLOCATIONS_FILE="{{report}}"')

    def made_by(calls: int) -> int:
        before = int.from_bytes(running.report.read_bytes(), "little")
        running.load(name, calls, connections=1, streams=1)
        return int.from_bytes(running.report.read_bytes(), "little") - before

    made_by(FEW)
    # Both runs include the cost of the connection itself.
    figure = (made_by(MANY) - made_by(FEW)) / (MANY - FEW)
    assert figure < counted("allocations", name, figure) + 0.5


@pytest.mark.parametrize("name", ["SignIn", "Refresh"])
def test_a_session_makes_no_more_allocations_than_recorded(
        start: Callable[[str], Counted], allocations: Path, counted: Callable[[str, str, float], float], name: str,
) -> None:
    """Without hooks, neither call allocates anything for them."""
    running = start(f'env LD_PRELOAD="{allocations}" ALLOCATIONS_FILE="{{report}}"')
    sessions = Sessions(running.server.port)
    call = sessions.sign_in if name == "SignIn" else sessions.refresh

    def made_by(calls: int) -> int:
        before = int.from_bytes(running.report.read_bytes(), "little")
        for _ in range(calls):
            call()
        return int.from_bytes(running.report.read_bytes(), "little") - before

    made_by(SESSIONS)
    # The periodic work of the server adds to some runs only.
    figure = min(made_by(SESSIONS) for _ in range(5)) / SESSIONS
    assert figure < counted("allocations", name, figure) * SESSION_MARGIN


@pytest.mark.parametrize("name", METHODS)
def test_a_call_makes_no_more_system_calls_than_recorded_at_256_calls_in_flight(
        start: Callable[[str], Counted], counted: Callable[[str, str, float], float], name: str) -> None:
    # Detached, so that the started process is the server and not the tracer.
    prefix = 'strace -D -f -qq -c -S calls -o "{report}"'

    def made_by(calls: int) -> int:
        running = start(prefix)
        running.load(name, calls, connections=16, streams=16)
        running.server.stop()
        return total(running.report)

    def made_by_one() -> float:
        return (made_by(5 * MANY) - made_by(MANY)) / (4 * MANY)

    figures = [made_by_one()]
    limit = counted("system_calls", name, figures[0]) + MARGIN
    # On a busy machine, the client has fewer calls in flight, and the server reads fewer at a time.
    while min(figures) >= limit and len(figures) < 3:
        figures.append(made_by_one())
    assert 0 < min(figures) < limit, figures


def total(report: Path) -> int:
    """The total of `strace -c`, which it writes when its last process has ended."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        sums = [line.split() for line in report.read_text().splitlines() if line.endswith(" total")]
        if sums:
            return int(sums[0][3])
        time.sleep(0.05)
    raise TimeoutError(f"strace printed no total: {report.read_text()}")


def test_an_idle_connection_uses_no_more_memory_than_recorded(
        tmp_path: Path, counted: Callable[[str, str, float], float]) -> None:
    certificates.make(tmp_path)
    run = subprocess.run(
        [sys.executable, str(IDLE_CONNECTIONS), "--home", str(tmp_path), "--latchkeyd", str(servers.LATCHKEYD),
         "--server", "latchkeyd", "--connections", str(IDLE), "--json"], capture_output=True, text=True, check=True)
    figure = json.loads(run.stdout)["latchkeyd"]
    assert 0 < figure < counted("resident_kib", "idle connection", figure) + IDLE_MARGIN_KIB
