"""Every attack of attacks.py at its limit and past it, while an honest client is still answered.

Attacker and honest client are separate processes, on other cores than the server's if there are several. Calm and
attacked windows alternate, so that other work of the machine affects both equally. The run ends with the table of
effects, and `--save` writes it into ATTACKS.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

import pytest

import server as servers
import attacks  # noqa: F401, which fills the list
from attacker import ATTACKS, MEETS
from effects import EFFECTS, Effect
from test_abuse import MEBIBYTE, memory

HERE = Path(__file__).resolve().parent
CORES = sorted(os.sched_getaffinity(0))
WINDOW_SECONDS, ATTEMPTS = 0.5, 3
# Other clients share their core with the attacker, and both share it with other work of the machine. A debug build
# needs ten times as long for a turn, so only a stall fails there.
RATIO_MAX, SLACK_MILLIS = 2.0, 60.0 if "debug" in servers.LATCHKEYD.parts else 5.0
GROWTH_MAX: float = 32 * MEBIBYTE
if "SANITIZER" in os.environ:
    SLACK_MILLIS = GROWTH_MAX = float("inf")

pytestmark = [pytest.mark.latchkey_only("the load on the C core is not tested"), pytest.mark.timed]


@dataclass
class Client:
    """A process that works for the number of seconds in its input, and then answers with JSON."""

    process: subprocess.Popen[str]

    def begin(self, seconds: float) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()

    def result(self) -> Any:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, f"{self.process.args} ended"
        return json.loads(line)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def start_client(name: str, *arguments: str) -> Client:
    client = Client(subprocess.Popen([sys.executable, str(HERE / name), *arguments], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True))
    os.sched_setaffinity(client.process.pid, set(CORES[1:]) or set(CORES))
    return client


def prefer(task: int) -> None:
    """Prefers a task over other work of the machine, if permitted. Keeps a task's own nice value."""
    with contextlib.suppress(PermissionError):
        if os.getpriority(os.PRIO_PROCESS, task) == 0:
            os.setpriority(os.PRIO_PROCESS, task, -10)


@pytest.fixture(scope="module")
def attacked(folder: Path) -> Iterator[servers.Server]:
    """One reactor, so that no call can avoid an attack, and short timeouts, so that slow attacks end."""
    server = servers.start(folder, reactors=1, password_workers=1, offences_per_address_max=1_000_000,
                           handshake_millis=500, request_millis=500, answer_still_seconds=1, answer_seconds=2,
                           write_still_seconds=1)
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        # Threads that only start a part may end in between.
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(task.name), {CORES[0]})
            prefer(int(task.name))
    yield server
    assert server.process.poll() is None, "the server outlived all attacks"
    server.stop()


def schedule_first(task: int) -> None:
    """Schedules the task before the attacker, whose process shares its core: that wait is not the server's."""
    try:
        os.sched_setscheduler(task, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        prefer(task)


@pytest.fixture(scope="module")
def honest(attacked: servers.Server) -> Iterator[Client]:
    client = start_client("honest.py", str(attacked.port))
    schedule_first(client.process.pid)
    yield client
    client.close()


def p99(windows: list[list[float]]) -> float:
    """The p99 of the median window: other work of the machine comes and goes, an attack stays."""
    return statistics.median(sorted(window)[int(len(window) * 0.99)] for window in windows)


@pytest.fixture
def rounds(pytestconfig: pytest.Config) -> int:
    """One round decides whether an attack is bearable, three give a figure to keep."""
    return 3 if pytestconfig.getoption("--save") else 1


def measure(name: str, server: servers.Server, honest: Client, rounds: int) -> Effect:
    attacker = start_client("attacks.py", name, str(server.port))
    calm: list[list[float]] = []
    under: list[list[float]] = []
    met: Counter[str] = Counter()
    before = memory(server)
    try:
        for _ in range(rounds):
            honest.begin(WINDOW_SECONDS)
            calm.append(honest.result())
            attacker.begin(WINDOW_SECONDS)
            honest.begin(WINDOW_SECONDS)
            under.append(honest.result())
            met.update(attacker.result())
    finally:
        attacker.close()
    return Effect(name, dict(met), p99(calm), p99(under), memory(server) - before)


@pytest.mark.parametrize("name", ATTACKS)
def test_attack(name: str, attacked: servers.Server, honest: Client, rounds: int) -> None:
    for attempt in range(ATTEMPTS):
        effect = measure(name, attacked, honest, rounds)
        bearable = effect.attacked <= max(RATIO_MAX * effect.calm, effect.calm + SLACK_MILLIS)
        if bearable and effect.met.get(MEETS[name]):
            break
    EFFECTS.append(effect)
    assert effect.met.get(MEETS[name]), f"the attack met {effect.met}"
    assert effect.growth < GROWTH_MAX
    assert bearable, f"in {attempt + 1} measurements, last {effect}"
