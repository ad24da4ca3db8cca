"""Addresses of the gRPC port, sockets of a service manager, and connections through TCP proxies."""

from __future__ import annotations

import dataclasses
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
import tcp_proxy
from clients import Client, anonymous, session
from configuration import Settings, settings
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import session_service_pb2 as sessions
from latchkey.v1.session_service_pb2_grpc import SessionServiceStub
from metrics import ON_A_FREE_PORT, Scrape, eventually
from ports import free_port
from processes import LATCHKEYD, Server, Simulator, end, write
from waiting import until

HANDSHAKES = "latchkey_tls_handshakes_total"
FORWARDED = "x-forwarded-client-cert"
LOCAL_PROXIES: Settings = {"proxy_protocol_networks": ["127.0.0.0/8", "::1"]}


def peers(server: Server) -> list[str]:
    return [line["peer"] for line in server.lines() if line["message"] == "call"]


@pytest.mark.parametrize("header, peer", [
    (tcp_proxy.version_1("203.0.113.7"), "203.0.113.7"), (tcp_proxy.version_1("2001:db8::7"), "2001:db8::7"),
    (tcp_proxy.version_2("203.0.113.8"), "203.0.113.8"), (tcp_proxy.version_2("2001:db8::8"), "2001:db8::8"),
    (tcp_proxy.version_2("203.0.113.9", values=b"\x04\x00\x01\x00"), "203.0.113.9"),
    (tcp_proxy.LOCAL, "127.0.0.1"), (tcp_proxy.UNIX, "127.0.0.1"), (b"PROXY UNKNOWN\r\n", "127.0.0.1"),
])
def test_the_peer_of_a_proxied_connection_is_the_address_of_its_header(
        proxied: Server, connect: Callable[..., Client], header: bytes, peer: str) -> None:
    before = len(peers(proxied))
    with tcp_proxy.proxy(proxied.port, header) as port:
        session(connect(dataclasses.replace(proxied, port=port)).sign_in(anonymous()))
        until(lambda: len(peers(proxied)) > before)
    assert peers(proxied)[before:] == [peer]


@pytest.fixture(scope="module")
def proxied(folder: Path, simulator: Simulator) -> Iterator[Server]:
    running = Server.start(folder, simulator, listen=LOCAL_PROXIES, metrics=ON_A_FREE_PORT,
                           limits={"connections_per_address_max": 2})
    yield running
    running.stop()


def test_the_limit_of_connections_counts_clients_not_proxies(
        proxied: Server, connect: Callable[..., Client]) -> None:
    def refused() -> float:
        return Scrape.of(proxied)("latchkey_refusals_total", limit="connections_per_address")
    with tcp_proxy.proxy(proxied.port, tcp_proxy.version_2("198.51.100.1")) as one, \
            tcp_proxy.proxy(proxied.port, tcp_proxy.version_2("198.51.100.2")) as two:
        for port in (one, one, two, two):
            session(connect(dataclasses.replace(proxied, port=port)).sign_in(anonymous()))
        assert refused() == 0
        with pytest.raises(grpc.RpcError):
            connect(dataclasses.replace(proxied, port=one)).sign_in(anonymous())
        assert refused() >= 1
        for _ in range(3):
            with tcp_proxy.proxy(proxied.port, tcp_proxy.LOCAL) as port:
                session(connect(dataclasses.replace(proxied, port=port)).sign_in(anonymous()))


@pytest.mark.parametrize("start", [
    b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\n\r\n", b"PROXY TCP4 1.2.3.4\r\n",
    b"PROXY UDP4 1.2.3.4 1.2.3.4 1 1\r\n",
    tcp_proxy.SIGNATURE + b"\x11\x11\x00\x0c" + bytes(12), tcp_proxy.SIGNATURE + b"\x21\x11\xff\xff",
    b"PROXY UNKNOWN" + b"x" * 100])
def test_a_missing_or_malformed_header_ends_the_connection(proxied: Server, start: bytes) -> None:
    before = Scrape.of(proxied)(HANDSHAKES, result="proxy_header")
    with socket.create_connection(("127.0.0.1", proxied.port)) as plain:
        plain.sendall(start)
        assert not received(plain)
    eventually(proxied, lambda seen: seen(HANDSHAKES, result="proxy_header") == before + 1)


def received(plain: socket.socket) -> bytes:
    plain.settimeout(60)
    try:
        return plain.recv(1)
    except ConnectionResetError:
        return b""


@pytest.fixture(scope="module")
def impatient(folder: Path, simulator: Simulator) -> Iterator[Server]:
    """A server of its own, because a busy machine can delay any handshake by half a second."""
    running = Server.start(folder, simulator, listen=LOCAL_PROXIES, metrics=ON_A_FREE_PORT,
                           limits={"handshake_millis": 500})
    yield running
    running.stop()


@pytest.mark.parametrize("start", [b"", b"PROXY", tcp_proxy.version_2("203.0.113.7")[:20]])
def test_a_header_that_does_not_end_is_limited_in_time(impatient: Server, start: bytes) -> None:
    before = Scrape.of(impatient)(HANDSHAKES, result="timed_out")
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", impatient.port)) as plain:
        plain.sendall(start)
        assert not received(plain)
    assert 0.4 < time.monotonic() - begun < 30
    eventually(impatient, lambda seen: seen(HANDSHAKES, result="timed_out") == before + 1)


def test_a_header_in_single_bytes_is_read_to_its_end(proxied: Server) -> None:
    context = ssl.create_default_context(cafile=str(proxied.folder / "authority.pem"))
    context.set_alpn_protocols(["h2"])
    for header in (tcp_proxy.version_1("203.0.113.70"), tcp_proxy.version_2("203.0.113.71")):
        with socket.create_connection(("127.0.0.1", proxied.port)) as plain:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in header:
                plain.sendall(bytes([byte]))
            with context.wrap_socket(plain, server_hostname="localhost") as secure:
                assert secure.selected_alpn_protocol() == "h2"


def test_a_header_of_another_client_is_a_tls_error(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(listen={"proxy_protocol_networks": ["192.0.2.0/24"]}, metrics=ON_A_FREE_PORT)
    with tcp_proxy.proxy(server.port, tcp_proxy.version_1("203.0.113.7")) as port, pytest.raises(grpc.RpcError):
        connect(dataclasses.replace(server, port=port)).sign_in(anonymous())
    assert Scrape.of(server)(HANDSHAKES, result="not_tls") >= 1
    session(connect(server).sign_in(anonymous()))


def test_the_server_listens_on_several_addresses(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    second = free_port()
    server = serve(listen={"address": ["127.0.0.1", f"127.0.0.1:{second}", f"[::1]:{second}"]})
    for port in (server.port, second):
        session(connect(dataclasses.replace(server, port=port)).sign_in(anonymous()))
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family) as plain:
            plain.connect((host, second))


@pytest.mark.parametrize("addresses", [["0.0.0.0", "::"], ["::", "0.0.0.0"], ["::"]])
def test_the_server_listens_on_all_addresses_of_both_families(
        serve: Callable[..., Server], connect: Callable[..., Client], addresses: list[str]) -> None:
    server = serve(
        listen={"address": addresses, "allow_unidentified": False}, delivery={"mail": "off", "text_messages": "off"})
    session(connect(server).sign_in(anonymous()))
    for host in ("127.0.0.1", "::1"):
        socket.create_connection((host, server.port), timeout=10).close()


# A trusted proxy.

def verify(client: Client, token: str, *certificates: str) -> bool:
    metadata = [(FORWARDED, each) for each in certificates]
    request = sessions.VerifyIdTokenRequest(id_token=token)
    return bool(SessionServiceStub(client.channel).VerifyIdToken(request, metadata=metadata, timeout=10).active)


def test_a_trusted_proxy_passes_on_the_certificate_or_key_of_its_client(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(trusted_proxies=["uri:spiffe://latchkey.dev/stranger"], metrics=ON_A_FREE_PORT,
                   listen={"allow_unidentified": False})
    web = "Hash=" + "ab" * 32 + ';Subject="CN=web, O=a";URI=spiffe://latchkey.dev/web'
    token = session(connect(server).sign_in(anonymous())).id_token
    proxy = connect(server, key=None, certificate="stranger")
    assert verify(proxy, token, web) and verify(proxy, token, "URI=spiffe://other", web)
    assert verify(proxy, token, "URI=spiffe://other," + web)
    with_key = connect(server, key="web", certificate="stranger")
    assert verify(with_key, token) and verify(with_key, token, web)
    unidentified = (StatusCode.UNAUTHENTICATED, "CALLER_UNIDENTIFIED")
    for client, certificates in (
            (proxy, ()), (proxy, ("URI=spiffe://latchkey.dev/other",)), (proxy, (web + ",URI",)),
            (connect(server, key="shop", certificate="stranger"), (web,))):
        with expect_failure(*unidentified):
            verify(client, token, *certificates)
    seen = Scrape.of(server)
    assert seen("latchkey_refusals_total", limit="forward_ignored") == 0
    assert seen("latchkey_refusals_total", limit="caller_forward_malformed") == 1
    assert seen("latchkey_refusals_total", limit="caller_contradictory") == 1


def test_the_field_is_ignored_and_counted_if_its_sender_is_no_trusted_proxy(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(trusted_proxies=["uri:spiffe://latchkey.dev/stranger"], metrics=ON_A_FREE_PORT,
                   listen={"allow_unidentified": False})
    web = connect(server)
    token = session(web.sign_in(anonymous())).id_token
    assert verify(web, token, "URI=spiffe://latchkey.dev/admin") and verify(web, token, "garbage")
    with expect_failure(StatusCode.UNAUTHENTICATED, "CALLER_UNIDENTIFIED"):
        verify(connect(server, key=None), token, "URI=spiffe://latchkey.dev/web")
    assert Scrape.of(server)("latchkey_refusals_total", limit="forward_ignored") == 3

    def lines() -> int:
        return sum("x-forwarded-client-cert ignored" in line["message"] for line in server.lines())

    until(lambda: lines() >= 2)
    assert lines() == 2, "one for each connection"


# Sockets of a service manager.

# A program of its own, because a fork of this process would take over the threads of gRPC in a broken state.
LAUNCHER = """
import os, sys
numbers = [os.dup2(int(number), 100 + index) for index, number in enumerate(sys.argv[1].split(","))]
for index, number in enumerate(numbers):
    os.dup2(number, 3 + index)
os.environ["LISTEN_PID"], os.environ["LISTEN_FDS"] = str(os.getpid()), str(len(numbers))
os.execv(sys.argv[2], sys.argv[2:])
"""


def launch_with(server: Server, *sockets: socket.socket, names: str = "") -> subprocess.Popen[bytes]:
    """Starts the server as systemd does: the sockets have the descriptors from 3 on."""
    numbers = [each.fileno() for each in sockets]
    environment = os.environ | ({"LISTEN_FDNAMES": names} if names else {})
    with server.log.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, ",".join(map(str, numbers)), LATCHKEYD, "--config", write(server)],
            stdout=log, stderr=log, env=environment, pass_fds=numbers)


def activated(folder: Path, simulator: Simulator, **overrides: Settings) -> Server:
    port = free_port()
    listen = {"systemd": True, "allow_unidentified": False}
    made = settings(folder, port, simulator.base, listen=listen, delivery={"mail": "off", "text_messages": "off"},
                    **overrides)
    return Server(folder, port, made)


def test_a_restart_with_passed_sockets_loses_no_connection_attempt(folder: Path, simulator: Simulator) -> None:
    server = activated(folder, simulator)
    stop, failed, done = threading.Event(), list[str](), list[None]()

    def work() -> None:
        while not stop.is_set():
            try:
                client = Client(server, key="web")
                session(client.sign_in(anonymous()))
                client.close()
            except grpc.RpcError as error:
                failed.append(repr(error))
            done.append(None)

    def wait_for_calls(launches: int) -> None:
        until(lambda: sum(line["message"] == "listening" for line in server.lines()) == launches)
        before = len(done)
        until(lambda: len(done) >= before + 20)

    with socket.create_server(("127.0.0.1", server.port), backlog=512) as listening:
        server.process = launch_with(server, listening, names="latchkeyd.socket")
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            for launches in range(1, 4):
                wait_for_calls(launches)
                server.signal(signal.SIGTERM)
                assert server.wait() == 0
                time.sleep(0.3)
                server.process = launch_with(server, listening, names="latchkeyd.socket")
            wait_for_calls(4)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        server.stop()
    # This client does not even retry a call that the server has not seen, so a call that meets a GOAWAY fails. Each of
    # these had a connection; no attempt to connect may fail.
    assert not [each for each in failed if "GOAWAY received" not in each], failed
    assert len(failed) <= 12, failed


def test_passed_sockets_have_names_and_must_exist(folder: Path, simulator: Simulator) -> None:
    server = activated(folder, simulator, metrics=ON_A_FREE_PORT)
    with socket.create_server(("127.0.0.1", server.port)) as grpc_port, \
            socket.create_server(("127.0.0.1", 0)) as metrics_port:
        server.process = launch_with(server, grpc_port, metrics_port, names="grpc:metrics")
        until(lambda: any(line["message"] == "listening" for line in server.lines()))
        client = Client(server, key="web")
        session(client.sign_in(anonymous()))
        client.close()
        with socket.create_connection(metrics_port.getsockname()) as plain:
            plain.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
            assert plain.recv(15).startswith(b"HTTP/1.1 200")
        server.stop()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            datagrams.bind(("127.0.0.1", 0))
            process = launch_with(server, datagrams)
            assert process.wait(60) == 78
    assert "listen.systemd: descriptor 3 as a listening TCP socket" in server.log.read_text()
    without = subprocess.run([LATCHKEYD, "--config", write(server)], capture_output=True, text=True)
    assert without.returncode == 78 and "listen.systemd: the service manager passed no socket" in without.stderr
    assert subprocess.run([LATCHKEYD, "--config", write(server), "--check-config"], capture_output=True).returncode == 0
    end(server.process)


# Lame duck.

def test_a_lame_duck_reports_not_serving_and_still_serves(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(limits={"lame_duck_seconds": 4})
    old = connect(server)
    token = session(old.sign_in(anonymous())).id_token
    check = "/grpc.health.v1.Health/Check"
    assert old.channel.unary_unary(check)(b"") == b"\x08\x01"
    watch = old.channel.unary_stream("/grpc.health.v1.Health/Watch")(b"")
    assert next(watch) == b"\x08\x01"
    begun = time.monotonic()
    server.signal()
    assert next(watch) == b"\x08\x02"
    for number in range(6):
        time.sleep(max(0.0, begun + number * 0.5 - time.monotonic()))
        assert old.channel.unary_unary(check)(b"") == b"\x08\x02"
        new = Client(server, key="web")
        assert old.verify(token).active and new.verify(token).active
        new.close()
    assert server.wait() == 0
    assert time.monotonic() - begun > 3.9


