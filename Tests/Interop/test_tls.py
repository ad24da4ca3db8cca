"""TLS requirements: versions, suites, ALPN, renegotiation, early data, tickets, client certificates.

The client is Python's ssl where it has the feature, otherwise `openssl s_client`.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import ssl
import subprocess
import warnings
from pathlib import Path
from typing import Callable, Iterator

import pytest

import server as servers
from raw import PREFACE, Connection, client_context, settings
from server import Server

OK = 0
AEAD_OF_1_2 = ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", pytest.param(
    "ECDHE-ECDSA-CHACHA20-POLY1305", marks=pytest.mark.peer_differs("the C core offers no ChaCha20 in 1.2"))]
WEAK_OF_1_2 = ["ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES256-CCM", "AES128-GCM-SHA256",
               "AECDH-AES128-SHA", "ECDHE-ECDSA-NULL-SHA"]

# The head of the server's first frame. When the client shows it, it has read everything of the handshake before.
SETTINGS_HEAD = settings()[3:]


def context_for(server: Server, version: ssl.TLSVersion | None = None, **options: object) -> ssl.SSLContext:
    context = client_context(str(server.folder / "authority.pem"), **options)
    if version:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # The client offers old versions on purpose.
            context.minimum_version = context.maximum_version = version
    return context


def alert_of(server: Server, context: ssl.SSLContext) -> str:
    """The error of the handshake; empty if it succeeds."""
    try:
        with Connection(server.port, context) as connection:
            return "" if connection.call().status == OK else "closed after the handshake"
    except (ssl.SSLError, ConnectionError) as error:
        return str(error).upper().replace(" ", "_")


def ask_openssl(server: Server, *arguments: str, typed: bytes = b"Q\n") -> str:
    """The output of `openssl s_client`. After the handshake it reads `typed`, a command that makes it end."""
    command = ["openssl", "s_client", "-connect", server.address, "-CAfile", str(server.folder / "authority.pem"),
               *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        output = b""
        try:
            while SETTINGS_HEAD not in output and (part := os.read(process.stdout.fileno(), 65536)):
                output += part
            with contextlib.suppress(BrokenPipeError):
                os.write(process.stdin.fileno(), typed)
            output += process.stdout.read()
        finally:
            process.kill()
    return output.decode(errors="replace")


@pytest.mark.peer_differs("the C core closes without an alert")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
def test_versions_below_1_2_are_refused(server: Server, version: ssl.TLSVersion) -> None:
    context = context_for(server, version)
    context.set_ciphers("ALL:@SECLEVEL=0")
    assert "PROTOCOL_VERSION" in alert_of(server, context)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_versions_1_2_and_1_3_are_served(server: Server, version: ssl.TLSVersion) -> None:
    with Connection(server.port, context_for(server, version)) as connection:
        assert connection.socket.selected_alpn_protocol() == "h2" and connection.socket.compression() is None
        assert connection.call().status == OK


def test_version_1_3_is_preferred(server: Server) -> None:
    with Connection(server.port, context_for(server)) as connection:
        assert connection.socket.version() == "TLSv1.3"


@pytest.mark.parametrize("suite", AEAD_OF_1_2)
def test_each_aead_suite_of_1_2_is_served(server: Server, suite: str) -> None:
    context = context_for(server, ssl.TLSVersion.TLSv1_2)
    context.set_ciphers(suite)
    assert alert_of(server, context) == ""


@pytest.mark.peer_differs("the C core closes without an alert")
@pytest.mark.parametrize("suite", WEAK_OF_1_2)
def test_suites_of_1_2_that_http_2_forbids_or_that_are_obsolete_are_refused(server: Server, suite: str) -> None:
    context = context_for(server, ssl.TLSVersion.TLSv1_2)
    context.set_ciphers(suite + ":@SECLEVEL=0")
    assert "HANDSHAKE_FAILURE" in alert_of(server, context)


@pytest.mark.parametrize("suite", ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"])
def test_each_suite_of_1_3_is_served(server: Server, suite: str) -> None:
    assert f"New, TLSv1.3, Cipher is {suite}" in ask_openssl(server, "-alpn", "h2", "-ciphersuites", suite)


@pytest.mark.parametrize("group", ["X25519", "P-256"])
def test_each_modern_group_is_served(server: Server, group: str) -> None:
    assert "New, TLSv1.3" in ask_openssl(server, "-alpn", "h2", "-groups", group)


@pytest.mark.peer_differs("the C core finishes the handshake and closes the connection")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("offered", [(), ("http/1.1",), ("h2c",)], ids=["nothing", "http/1.1", "h2c"])
def test_without_h2_in_alpn_the_handshake_fails_with_no_application_protocol(
        server: Server, offered: tuple[str, ...], version: ssl.TLSVersion) -> None:
    assert "NO_APPLICATION_PROTOCOL" in alert_of(server, context_for(server, version, alpn=offered))


def test_h2_is_chosen_at_any_place_in_the_list(server: Server) -> None:
    assert alert_of(server, context_for(server, alpn=("http/1.1", "h2"))) == ""


@pytest.mark.parametrize("sent", [PREFACE + settings(), b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\0" * 100])
def test_plaintext_is_refused_without_an_http_answer(server: Server, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), 20) as plain:
        plain.sendall(sent)
        answer = b""
        try:
            while part := plain.recv(4096):
                answer += part
        except ConnectionResetError:
            pass
    assert len(answer) <= 7 and answer[:1] in (b"", b"\x15"), "nothing, or one TLS alert"


def test_renegotiation_is_refused(server: Server) -> None:
    output = ask_openssl(server, "-alpn", "h2", "-tls1_2", typed=b"R\n")
    _, started, after = output.partition("RENEGOTIATING")
    assert started and ":error:" in after and "verify return" not in after


def test_tickets_of_1_3_allow_no_early_data(server: Server) -> None:
    output = ask_openssl(server, "-alpn", "h2", "-tls1_3")
    assert set(re.findall(r"Max Early Data: (\d+)", output)) == {"0"}


@pytest.mark.peer_differs("the C core keeps OpenSSL's two tickets and two days")
def test_one_ticket_is_issued_and_is_valid_for_an_hour_at_most(server: Server) -> None:
    output = ask_openssl(server, "-alpn", "h2", "-tls1_3")
    assert output.count("New Session Ticket arrived") == 1
    assert int(re.search(r"lifetime hint: (\d+)", output).group(1)) <= 3600


def resumed(server: Server, context: ssl.SSLContext) -> bool:
    """Whether a second connection resumes the session of the first. Both must answer a call."""
    with Connection(server.port, context) as first:
        assert first.call().status == OK
        session = first.socket.session  # Present after the ticket was read, which precedes the answer.
    plain = socket.create_connection(("127.0.0.1", server.port), 20)
    with context.wrap_socket(plain, server_hostname="localhost", session=session) as second:
        second.sendall(PREFACE + settings())
        assert second.recv(9)[3:4] == b"\x04", "SETTINGS"
        return bool(second.session_reused)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_ticket_resumes_the_session(server: Server, version: ssl.TLSVersion) -> None:
    assert resumed(server, context_for(server, version))


@pytest.fixture(scope="module")
def certified(folder: Path) -> Iterator[Callable[[str], Server]]:
    """Servers that request client certificates, one for each mode, kept for the whole module."""
    running: dict[str, Server] = {}

    def of(mode: str) -> Server:
        if mode not in running:
            running[mode] = servers.start(folder, client_certificates=mode)
        return running[mode]

    yield of
    for one in running.values():
        one.stop()


def certificate(server: Server, name: str) -> tuple[str, str] | None:
    return (str(server.folder / f"{name}.pem"), str(server.folder / f"{name}.key")) if name else None


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("mode, name, served", [
    ("required", "client", True), ("required", "", False), ("required", "stranger", False),
    ("optional", "client", True), ("optional", "", True),
    pytest.param("optional", "stranger", False, marks=pytest.mark.peer_differs("the C core asks but does not check"))])
def test_client_certificates_are_checked_as_configured(
        certified: Callable[[str], Server], mode: str, name: str, served: bool, version: ssl.TLSVersion) -> None:
    server = certified(mode)
    context = context_for(server, version, certificate=certificate(server, name))
    assert (alert_of(server, context) == "") == served


def test_a_server_certificate_is_not_accepted_from_a_client(certified: Callable[[str], Server]) -> None:
    server = certified("required")
    assert alert_of(server, context_for(server, certificate=certificate(server, "server")))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_session_with_a_client_certificate_resumes(
        certified: Callable[[str], Server], version: ssl.TLSVersion) -> None:
    server = certified("required")
    assert resumed(server, context_for(server, version, certificate=certificate(server, "client")))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_session_without_a_client_certificate_does_not_resume_if_one_is_required(
        server: Server, certified: Callable[[str], Server], version: ssl.TLSVersion) -> None:
    context = context_for(server, version)
    with Connection(server.port, context) as first:
        first.call()
        session = first.socket.session
    with pytest.raises((ssl.SSLError, ConnectionError, EOFError)):
        plain = socket.create_connection(("127.0.0.1", certified("required").port), 20)
        with context.wrap_socket(plain, server_hostname="localhost", session=session) as second:
            second.sendall(PREFACE + settings())
            if not second.recv(9):
                raise EOFError
