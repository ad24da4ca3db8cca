"""Common parts of all transport tests: generated stubs, certificates, the server under test and ways to call it.

Run `python -m pytest` in this folder, with requirements.txt installed. LATCHKEYD names another binary than that of
the debug build, and LATCHKEY_PEER replaces it with another server (see server.py).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Iterator

import grpc
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Common"))

import certificates  # noqa: E402
import effects  # noqa: E402
import server as servers  # noqa: E402
from ordering import put_first  # noqa: E402
from raw import Connection  # noqa: E402

STUBS = tempfile.TemporaryDirectory(prefix="interop-stubs-")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--save", action="store_true", help="write the effects of all attacks into ATTACKS.md")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "peer_differs(why): the gRPC C core breaks this rule, for this reason")
    config.addinivalue_line("markers", "latchkey_only(why): the test does not apply to the peer")
    config.addinivalue_line("markers", "timed: compares times, so deploy/test runs no other test at the same time")
    generate_stubs(Path(STUBS.name))
    sys.path.insert(0, STUBS.name)


def generate_stubs(folder: Path) -> None:
    """Generates reflection under a name of its own, since `grpc.reflection` would hide the library's package."""
    reflection = servers.PROTO / "grpc" / "reflection" / "v1"
    roots = [f"-I{servers.PROTO}", f"-Ireflection_v1={reflection}"]
    own = [str(path.relative_to(servers.PROTO)) for path in sorted((servers.PROTO / "latchkey").rglob("*.proto"))]
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *roots, f"--python_out={folder}",
                    f"--grpc_python_out={folder}", "reflection_v1/reflection.proto", *own], check=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    put_first(items, "test_drain", "test_reload", "test_hostile")
    for item in items:
        differs, only = item.get_closest_marker("peer_differs"), item.get_closest_marker("latchkey_only")
        if servers.PEER == "grpcio" and differs:
            item.add_marker(pytest.mark.xfail(reason=differs.args[0], strict=differs.kwargs.get("strict", True)))
        if servers.PEER and only:
            item.add_marker(pytest.mark.skip(reason=only.args[0]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    def count(outcome: str) -> int:
        return sum("test_h2_case" in report.nodeid for report in terminalreporter.stats.get(outcome, [])
                   if getattr(report, "when", "") == "call")
    passed, missed = count("passed") + count("xpassed"), count("failed") + count("xfailed")
    if passed + missed:
        terminalreporter.write_line(f"h2 cases passed: {passed} of {passed + missed}")
    if effects.EFFECTS:
        terminalreporter.write_line(effects.table(effects.EFFECTS))
        if terminalreporter.config.getoption("--save"):
            effects.save(effects.EFFECTS)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("interop")
    certificates.make(path)
    return path


@pytest.fixture(scope="session")
def server(folder: Path) -> Iterator[servers.Server]:
    # All tests use one address, and many violate the protocol on purpose.
    running = servers.start(folder, offences_per_address_max=1_000_000)
    yield running
    assert running.process.poll() is None, "the server ended during the tests"
    running.stop()


@pytest.fixture
def start_server(folder: Path) -> Iterator[Callable[..., servers.Server]]:
    """Starts further servers with settings of their own, and stops them after the test."""
    started: list[servers.Server] = []

    def start(**overrides: object) -> servers.Server:
        started.append(servers.start(folder, **overrides))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture
def connection(server: servers.Server) -> Iterator[Connection]:
    with Connection(server.port) as one:
        yield one


@pytest.fixture
def channel(server: servers.Server) -> Iterator[grpc.Channel]:
    with open_channel(server) as one:
        yield one


def open_channel(to: servers.Server, number: int = 0) -> grpc.Channel:
    """A channel with its own connection: channels with equal options would share one."""
    credentials = grpc.ssl_channel_credentials(to.authority)
    options = [("grpc.use_local_subchannel_pool", 1), ("latchkey.number", number)]
    return grpc.secure_channel(to.address, credentials, options)
