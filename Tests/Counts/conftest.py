"""Common parts of the counts: the server with a counter, and h2load as its client.

Unlike timings on a small, busy machine, counts are the same in every run. `--save-counts` writes the counts to
thresholds.json, for the build type of LATCHKEYD.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "Interop"), str(HERE.parent / "Common")]

import certificates  # noqa: E402
import server as servers  # noqa: E402
from raw import Connection, message, request, window_update  # noqa: E402

THRESHOLDS = HERE / "thresholds.json"
EMAIL, PASSWORD = b"counted@example.com", b"a password to be counted"
CREATE = "/latchkey.v1.AccountService/Create"


def text_field(number: int, text: bytes) -> bytes:
    return bytes([number << 3 | 2, len(text)]) + text


@dataclass
class Method:
    """The call to count: its path, its request, and the length of the answer's message."""

    path: str
    body: bytes
    answer_bytes: int


SIGN_IN, REFRESH = "/latchkey.v1.AuthService/SignIn", "/latchkey.v1.SessionService/Refresh"


def fields(message: bytes) -> dict[int, bytes]:
    """The last value of each field of a message that is a text or a message."""
    found, at = {}, 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        length = varint()
        if key & 7 == 2:
            found[key >> 3], at = message[at:at + length], at + length
    return found


class Sessions:
    """Calls that answer with a session, one after the other on one connection. Each answer differs, unlike those of
    `METHODS`."""

    def __init__(self, port: int) -> None:
        self.connection = Connection(port)
        self.connection.write(window_update(0, 1 << 30))
        self.refresh_token = b""
        self.sign_in()

    def sign_in(self) -> None:
        credential = text_field(1, text_field(1, EMAIL) + text_field(2, PASSWORD))
        self.refresh_token = self.call(SIGN_IN, text_field(1, credential))

    def refresh(self) -> None:
        self.refresh_token = self.call(REFRESH, text_field(1, self.refresh_token))

    def call(self, path: str, body: bytes) -> bytes:
        """Returns the refresh token of the answer, which has a session as its first field."""
        reply = self.connection.call(request(path), message(body), timeout_seconds=30)
        assert reply.status == 0, str(reply)
        return fields(fields(reply.data[5:])[1])[3]


METHODS = {
    "Health.Check": Method("/grpc.health.v1.Health/Check", b"", len(b"\x08\x01")),
    "FetchProviders": Method("/latchkey.v1.AuthService/FetchProviders", text_field(1, EMAIL),
                             len(b"\x08\x01" + text_field(2, b"password") + text_field(3, b"password"))),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--save-counts", action="store_true", help="write the counts to thresholds.json")


@pytest.fixture(scope="session")
def build() -> str:
    """The build type: a debug build has other counts than a release build."""
    return "release" if servers.LATCHKEYD.resolve().parent.name == "release" else "debug"


@pytest.fixture(scope="session")
def counted(build: str, pytestconfig: pytest.Config) -> Iterator[Callable[[str, str, float], float]]:
    """Records a figure and returns the committed one."""
    thresholds = json.loads(THRESHOLDS.read_text())
    figures: dict[str, dict[str, float]] = {}

    def note(kind: str, name: str, figure: float) -> float:
        figures.setdefault(kind, {})[name] = round(figure, 2)
        print(f"{kind} of {name} ({build}): {figure:.2f}")
        return figure if pytestconfig.getoption("--save-counts") else float(thresholds[build][kind][name])

    yield note
    if pytestconfig.getoption("--save-counts"):
        thresholds[build] = thresholds.get(build, {}) | figures
        THRESHOLDS.write_text(json.dumps(thresholds, indent=2, sort_keys=True) + "\n")


@dataclass
class Counted:
    """A running server, and the output of its counter."""

    server: servers.Server
    report: Path

    def load(self, name: str, calls: int, connections: int, streams: int) -> None:
        """Makes this many calls with h2load, and checks that every answer has the right number of bytes."""
        method = METHODS[name]
        body = self.server.folder / "request"
        body.write_bytes(message(method.body))
        run = subprocess.run(
            ["h2load", "-t1", f"-n{calls}", f"-c{connections}", f"-m{streams}", "-d", str(body),
             "-H", "content-type: application/grpc", "-H", "te: trailers",
             f"https://127.0.0.1:{self.server.port}{method.path}"], capture_output=True, text=True, check=True)
        answered = re.search(r"(\d+) succeeded", run.stdout), re.search(r"\((\d+)\) data", run.stdout)
        assert all(answered), run.stdout
        assert int(answered[0][1]) == calls, run.stdout
        assert int(answered[1][1]) == calls * (5 + method.answer_bytes), run.stdout


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Counted]]:
    """Starts the server with a prefix such as `strace …`. {report} in the prefix becomes the counter's file."""
    certificates.make(tmp_path)
    for name, value in {"REACTORS": "1", "UNIDENTIFIED_FETCH_BY_EMAIL": "true", "PASSWORDS_MEMORY_KIB": "1024"}.items():
        monkeypatch.setenv("LATCHKEY_" + name, value)
    started: list[servers.Server] = []
    latchkeyd = servers.LATCHKEYD

    def start_behind(prefix: str) -> Counted:
        report = tmp_path / f"report-{len(started)}"
        wrapper = tmp_path / f"wrapper-{len(started)}"
        wrapper.write_text(f'#!/bin/sh\nexec {prefix.format(report=report)} "{latchkeyd}" "$@"\n')
        wrapper.chmod(0o755)
        monkeypatch.setattr(servers, "LATCHKEYD", wrapper)
        started.append(servers.start(tmp_path))
        with Connection(started[-1].port) as connection:
            account = message(text_field(1, EMAIL) + text_field(2, PASSWORD))
            connection.call(request(CREATE), account, timeout_seconds=30)
            for method in METHODS.values():
                reply = connection.call(request(method.path), message(method.body), timeout_seconds=30)
                assert reply.status == 0 and len(reply.data) == 5 + method.answer_bytes, str(reply)
        return Counted(started[-1], report)

    yield start_behind
    for one in started:
        one.stop()
