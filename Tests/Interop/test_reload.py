"""The server replaces its certificate, its key and the authorities of clients while it runs."""

from __future__ import annotations

import contextlib
import datetime
import os
import signal
import socket
import ssl
import subprocess
import threading
import time
from pathlib import Path
from typing import Callable, Iterator

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

import certificates
import server as servers
from raw import DATA, END_STREAM, PREFACE, WATCH, Connection, client_context, frame, message, request, settings
from server import LATCHKEYD, Server, write_config
from test_abuse import MEBIBYTE, memory
from test_response_rules import finish, hold, settled
from waiting import until

OK = 0
RELOADS = 1000
NEVER = 3600
LOADED, REFUSED = "certificate loaded", "certificate refused"

pytestmark = pytest.mark.latchkey_only("the C core keeps its first certificate")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Certificates for one test, which changes them: the server's pair, and others to replace it."""
    authority = certificates.make(tmp_path)
    usage, local = ExtendedKeyUsageOID.SERVER_AUTH, certificates.LOCAL
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        certificates.certify(tmp_path / name, "server", authority, local, usage)
    (tmp_path / "expired").mkdir()
    certificates.certify(tmp_path / "expired", "server", authority, local, usage, -datetime.timedelta(seconds=10))
    return tmp_path


@pytest.fixture
def run(home: Path) -> Iterator[Callable[..., Server]]:
    """Starts a server that checks its files on a signal, or at the test's interval."""
    started: list[Server] = []

    def start(**overrides: object) -> Server:
        started.append(servers.start(home, **{"reload_seconds": NEVER} | overrides))
        return started[-1]

    yield start
    for one in started:
        assert one.process.poll() is None, one.log.read_text()[-2000:]
        one.stop()


def put(content: bytes, path: Path) -> None:
    """Replaces the file by a rename: the name never refers to half a file."""
    fresh = path.with_suffix(".new")
    fresh.write_bytes(content)
    os.replace(fresh, path)


def put_pair(home: Path, name: str) -> None:
    for file in ("server.key", "server.pem"):
        put((home / name / file).read_bytes(), home / file)


def serial(path: Path) -> int:
    return x509.load_pem_x509_certificate(path.read_bytes()).serial_number


def served(server: Server) -> int:
    """The serial number of the certificate on a new connection, which must answer a call."""
    with Connection(server.port, client_context(str(server.folder / "authority.pem"))) as connection:
        assert connection.call().status == OK
        return x509.load_der_x509_certificate(connection.socket.getpeercert(binary_form=True)).serial_number


def told_to_reload(server: Server, outcome: str) -> dict[str, str]:
    """Sends SIGHUP and waits for the log line with the outcome."""
    before = len(server.said(outcome))
    server.signal(signal.SIGHUP)
    until(lambda: len(server.said(outcome)) > before)
    return server.said(outcome)[-1]


class Knocking:
    """Threads that make one full handshake after the other, each with a call, until they are stopped."""

    def __init__(self, server: Server, threads: int = 2) -> None:
        self.shown: list[int] = []
        self.failures: list[BaseException] = []
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.knock, args=(server,)) for _ in range(threads)]

    def knock(self, server: Server) -> None:
        while not self.over.is_set():
            try:
                self.shown.append(served(server))
            except BaseException as failure:
                self.failures.append(failure)

    def __enter__(self) -> "Knocking":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join()


def count_of(log: Path, text: bytes, offset: int) -> tuple[int, int]:
    """The occurrences of `text` in complete lines after `offset`, and the end of these lines."""
    with log.open("rb") as file:
        file.seek(offset)
        lines = file.read().rpartition(b"\n")[0]
    return lines.count(text), offset + len(lines)


@pytest.mark.timeout(600)
def test_a_thousand_reloads_under_load_fail_no_handshake_or_call_and_leak_no_memory(
        run: Callable[..., Server], home: Path) -> None:
    server = run(request_millis=120_000)
    serials = {serial(path) for path in (home / "server.pem", *home.glob("*/server.pem"))}
    offset = after_warming = 0
    with Connection(server.port) as old, Knocking(server) as knocking:
        watch = settled(old).stream()
        old.write(old.headers(watch, request(WATCH)), frame(DATA, END_STREAM, watch, message()))
        for number in range(RELOADS):
            if number == RELOADS - RELOADS // 20:
                held = hold(old, 3)  # Not from the beginning: a call has a time limit.
            put_pair(home, ("first", "second")[number % 2])
            server.signal(signal.SIGHUP)
            loads, deadline = 0, time.monotonic() + 60
            while not loads:
                assert time.monotonic() < deadline, server.log.read_text()[-2000:]
                time.sleep(0.001)
                loads, offset = count_of(server.log, LOADED.encode(), offset)
            if number == RELOADS // 10:
                after_warming = memory(server)
        assert finish(old, held) == [OK] * 3
        assert old.call().status == OK
    assert knocking.failures == []
    assert len(knocking.shown) >= RELOADS // 5, "that is a load"
    assert {serial(home / name / "server.pem") for name in ("first", "second")} <= set(knocking.shown) <= serials
    assert len(server.said(LOADED)) == RELOADS and server.said(REFUSED) == []
    assert memory(server) - after_warming < 8 * MEBIBYTE


def test_replaced_files_are_detected_without_a_signal(run: Callable[..., Server], home: Path) -> None:
    server = run(reload_seconds=1)
    put_pair(home, "second")
    until(lambda: bool(server.said(LOADED)))
    assert served(server) == serial(home / "second" / "server.pem")
    line = server.said(LOADED)[-1]
    assert int(line["serial"], 16) == served(server) and line["not_after"].endswith("Z")


def test_a_symbolic_link_that_an_orchestrator_replaces_is_detected(
        run: Callable[..., Server], home: Path) -> None:
    """server.pem -> ..data/server.pem, and ..data -> a folder for each version."""
    (home / "..data").symlink_to("first")
    for file in ("server.pem", "server.key"):
        (home / file).unlink()
        (home / file).symlink_to(f"..data/{file}")
    server = run(reload_seconds=1)
    assert served(server) == serial(home / "first" / "server.pem")
    (home / "..data_tmp").symlink_to("second")
    os.replace(home / "..data_tmp", home / "..data")
    until(lambda: bool(server.said(LOADED)))
    assert served(server) == serial(home / "second" / "server.pem")
    assert server.said(REFUSED) == []


def spoil(kind: str, home: Path) -> str:
    """Replaces a file with an invalid one. Returns the setting that the log must name."""
    whole = (home / "second" / "server.pem").read_bytes()
    if kind == "garbage":
        put(b"\0\xff garbage", home / "server.pem")
    elif kind == "half":
        (home / "server.pem").write_bytes(whole[:len(whole) // 2])
    elif kind == "gone":
        (home / "server.pem").unlink()
    elif kind == "expired":
        put_pair(home, "expired")
    elif kind == "key of another":
        put((home / "second" / "server.key").read_bytes(), home / "server.key")
        return "tls.key_file"
    return "tls.certificate_file"


KINDS = ["garbage", "half", "gone", "expired", "key of another"]


@pytest.mark.parametrize("kind", KINDS)
def test_unusable_files_leave_the_old_pair_in_place_and_are_logged_by_setting(
        run: Callable[..., Server], home: Path, kind: str) -> None:
    server, before = run(), serial(home / "server.pem")
    setting = spoil(kind, home)
    line = told_to_reload(server, REFUSED)
    assert line["setting"] == setting and line["level"] == "error"
    assert int(line["serial"], 16) == before, "the served certificate is still named"
    for _ in range(3):
        assert served(server) == before
    put_pair(home, "second")
    told_to_reload(server, LOADED)
    assert served(server) == serial(home / "second" / "server.pem")


def test_unusable_files_are_logged_once_and_not_at_each_check(run: Callable[..., Server], home: Path) -> None:
    server = run(reload_seconds=1)
    spoil("garbage", home)
    until(lambda: bool(server.said(REFUSED)))
    time.sleep(2.5)  # At least two more checks.
    assert len(server.said(REFUSED)) == 1


def test_no_log_line_contains_any_part_of_a_key(run: Callable[..., Server], home: Path) -> None:
    server = run()
    keys = [(home / name / "server.key").read_text().splitlines()[1:-1] for name in ("first", "second")]
    for name in ("first", "second"):
        put((home / name / "server.key").read_bytes(), home / "server.key")
        told_to_reload(server, REFUSED)
    put((home / "second" / "server.key").read_bytes()[:60], home / "server.key")
    told_to_reload(server, REFUSED)
    text = server.log.read_text()
    assert not [line for lines in keys for line in lines if line in text]


@pytest.mark.parametrize("kind", KINDS)
def test_a_configuration_check_rejects_the_same_files_as_a_reload(home: Path, kind: str) -> None:
    setting = spoil(kind, home)
    config = write_config(home, 0)
    ended = subprocess.run([LATCHKEYD, "--config", config, "--check-config"], capture_output=True, text=True)
    assert ended.returncode == 78 and setting in ended.stderr


def session_of(server: Server, context: ssl.SSLContext) -> ssl.SSLSession:
    with Connection(server.port, context) as connection:
        assert connection.call().status == OK
        return connection.socket.session


def resumes(server: Server, context: ssl.SSLContext, session: ssl.SSLSession) -> bool | None:
    """Whether a connection with this session resumes it; None if the server rejects the connection."""
    plain = socket.create_connection(("127.0.0.1", server.port), 20)
    try:
        with context.wrap_socket(plain, server_hostname="localhost", session=session) as connection:
            connection.sendall(PREFACE + settings())
            return bool(connection.session_reused) if connection.recv(9) else None
    except (ssl.SSLError, ConnectionError):
        return None


VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


def context_of(server: Server, version: ssl.TLSVersion, name: str = "") -> ssl.SSLContext:
    pair = (str(server.folder / f"{name}.pem"), str(server.folder / f"{name}.key")) if name else None
    context = client_context(str(server.folder / "authority.pem"), certificate=pair)
    context.minimum_version = context.maximum_version = version
    return context


@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_resumes_across_a_reload(run: Callable[..., Server], home: Path, version: ssl.TLSVersion) -> None:
    server = run()
    context = context_of(server, version)
    session = session_of(server, context)
    put_pair(home, "second")
    told_to_reload(server, LOADED)
    assert resumes(server, context, session)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_ends_when_the_client_authorities_change(
        run: Callable[..., Server], home: Path, version: ssl.TLSVersion) -> None:
    server = run(client_certificates="required")
    context = context_of(server, version, "client")
    session = session_of(server, context)
    assert resumes(server, context, session)
    bundle = (home / "authority.pem").read_bytes()
    put(bundle + (home / "foreign-authority.pem").read_bytes(), home / "authority.pem")
    told_to_reload(server, LOADED)
    assert resumes(server, context, session) is False
    assert resumes(server, context, session_of(server, context))
    # Certificates of the new authority are accepted now, and no longer after it is removed.
    stranger = context_of(server, version, "stranger")
    session = session_of(server, stranger)
    put(bundle, home / "authority.pem")
    told_to_reload(server, LOADED)
    assert resumes(server, stranger, session) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_ends_when_its_client_certificate_expires(
        run: Callable[..., Server], home: Path, version: ssl.TLSVersion) -> None:
    authority = certificates.make(home)
    server = run(client_certificates="required")
    # On a busy machine, the shortest life may end too early.
    for seconds in (3, 10, 30):
        certificates.certify(home, "brief", authority, certificates.CALLER, ExtendedKeyUsageOID.CLIENT_AUTH,
                             datetime.timedelta(seconds=seconds))
        ends = x509.load_pem_x509_certificate((home / "brief.pem").read_bytes()).not_valid_after_utc.timestamp()
        context = context_of(server, version, "brief")
        with contextlib.suppress(AssertionError, ssl.SSLError, ConnectionError):
            session = session_of(server, context)
            assert resumes(server, context, session)
            break
    else:
        pytest.fail("the session never resumed")
    until(lambda: time.time() > ends + 0.5)  # The server's clock has a resolution of one second, and may be one behind.
    assert resumes(server, context, session) is None
