"""Starts the provider simulator and latchkeyd for the scenarios: a shared one for most, further servers on demand."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from paths import ROOT

sys.path.insert(0, str(ROOT / "Tests" / "Common"))

import keys_endpoint  # noqa: E402
import metrics  # noqa: E402
import races  # noqa: E402
import verification  # noqa: E402
from clients import Client  # noqa: E402
from common_fixtures import folder, simulator  # noqa: E402, F401
from configuration import Settings  # noqa: E402
from hooks import Hook  # noqa: E402
from matrix import MATRIX, REPORT  # noqa: E402
from ordering import put_first  # noqa: E402
from processes import Server, Simulator  # noqa: E402


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    put_first(items, "test_delivery", "test_latchkey_load", "test_provider_faults", "test_enumeration",
              "test_faulty_providers", "test_races", "test_signing_keys", "test_keys_endpoint", "test_metrics")


def pytest_sessionstart(session: pytest.Session) -> None:
    if is_controller(session.config):
        REPORT.unlink(missing_ok=True)


def pytest_sessionfinish() -> None:
    if MATRIX.cells:
        MATRIX.write()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Prints the matrix of providers and uses, if a worker of this run made it."""
    if is_controller(config) and REPORT.exists():
        terminalreporter.section("providers")
        terminalreporter.write(REPORT.read_text())


def is_controller(config: pytest.Config) -> bool:
    """Whether this process is not a worker of pytest-xdist."""
    return not hasattr(config, "workerinput")


@pytest.fixture(scope="session")
def server(folder: Path, simulator: Simulator) -> Iterator[Server]:
    """The server that most tests share. Each test uses users of its own."""
    running = Server.start(folder, simulator)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def mailing(folder: Path, simulator: Simulator) -> Iterator[Server]:
    """A server on which all kinds of messages are allowed."""
    running = Server.start(folder, simulator, policy=verification.POLICY)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def racing(folder: Path, simulator: Simulator) -> Iterator[Server]:
    """A server for races, without limits that would affect them."""
    running = Server.start(folder, simulator, **races.SETTINGS)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def judge(racing: Server) -> Iterator[Client]:
    """An administrator who checks the result of a race."""
    yield from shared(racing, key="admin")


@pytest.fixture
def serve(folder: Path, simulator: Simulator) -> Iterator[Callable[..., Server]]:
    """Starts a further server with its own database and these overrides, and stops it after the test."""
    running: list[Server] = []

    def start(**overrides: Settings) -> Server:
        running.append(Server.start(folder, simulator, **overrides))
        return running[-1]

    yield start
    for each in running:
        each.stop()


@pytest.fixture
def publishing(serve: Callable[..., Server]) -> Callable[..., Server]:
    """Starts a further server that publishes its keys."""
    return lambda **overrides: serve(
        keys=keys_endpoint.on_a_free_port(), metrics=metrics.ON_A_FREE_PORT, **overrides)


@pytest.fixture(scope="module")
def endpoint(folder: Path, simulator: Simulator) -> Iterator[Server]:
    """A server that publishes its keys, with the default settings."""
    running = Server.start(
        folder, simulator, keys=keys_endpoint.on_a_free_port(), metrics=metrics.ON_A_FREE_PORT)
    yield running
    running.stop()


@pytest.fixture
def hook(folder: Path) -> Iterator[Hook]:
    running = Hook(folder)
    yield running
    running.stop()


@pytest.fixture
def connect() -> Iterator[Callable[..., Client]]:
    """Opens clients and closes them after the test."""
    opened: list[Client] = []

    def open_client(server: Server, *, key: str | None = "web", certificate: str | None = None) -> Client:
        opened.append(Client(server, key=key, certificate=certificate))
        return opened[-1]

    yield open_client
    for each in opened:
        each.close()


def shared(server: Server, **identity: str | None) -> Iterator[Client]:
    client = Client(server, **identity)
    yield client
    client.close()


@pytest.fixture(scope="session")
def web(server: Server) -> Iterator[Client]:
    """A caller with the right to look up accounts by email."""
    yield from shared(server, key="web")


@pytest.fixture(scope="session")
def shop(server: Server) -> Iterator[Client]:
    """A caller without that right, with an audience of its own."""
    yield from shared(server, key="shop")


@pytest.fixture(scope="session")
def admin(server: Server) -> Iterator[Client]:
    yield from shared(server, key="admin")


@pytest.fixture(scope="session")
def nobody(server: Server) -> Iterator[Client]:
    """An unidentified caller."""
    yield from shared(server)
