"""The HTTPS endpoint of the public keys: its answers, its limits, and its certificate."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from clients import Client, fresh_email
from keys_endpoint import DISCOVERY, KEYS, address, ask, published, secured, trust
from metrics import Scrape
from processes import Server
from waiting import until

CONNECTIONS_MAX, PER_ADDRESS_MAX, REQUEST_BYTES_MAX, REQUEST_SECONDS = 64, 16, 4_096, 5


def refusals(server: Server, limit: str) -> float:
    return Scrape.of(server)("latchkey_refusals_total", limit=limit)


def raw(server: Server, request: bytes) -> bytes:
    """All bytes until the server closes. If it closes immediately, the client's request may cause a reset."""
    parts = []
    with secured(server) as connection, suppress(ConnectionError, ssl.SSLError):
        connection.sendall(request)
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("path, kind", [(KEYS, "application/jwk-set+json"), (DISCOVERY, "application/json")])
def test_get_and_head_return_a_cacheable_document(endpoint: Server, path: str, kind: str) -> None:
    answer, body = ask(endpoint, "GET", path + "?a=b")
    assert answer.status == 200 and json.loads(body)
    assert answer.headers["Content-Type"] == kind and int(answer.headers["Content-Length"]) == len(body)
    assert answer.headers["Cache-Control"] == "public, max-age=1800", "half of the lead"
    head, nothing = ask(endpoint, "HEAD", path)
    assert head.status == 200 and nothing == b"" and int(head.headers["Content-Length"]) == len(body)
    assert head.headers["ETag"] == answer.headers["ETag"]
    for tags in (answer.headers["ETag"], f'"x", W/{answer.headers["ETag"]}', "*"):
        known, nothing = ask(endpoint, "GET", path, {"If-None-Match": tags})
        assert (known.status, nothing, known.headers["ETag"]) == (304, b"", answer.headers["ETag"])
    assert ask(endpoint, "GET", path, {"If-None-Match": '"x"'})[0].status == 200


def test_no_private_member_is_published(endpoint: Server) -> None:
    for key in published(endpoint):
        assert set(key) == {"crv", "kty", "x", "y", "kid", "use", "alg"}


def test_other_paths_other_methods_and_invalid_requests_are_rejected(endpoint: Server) -> None:
    for path in ("/", "/metrics", KEYS + "/", "/.well-known/../.well-known/jwks.json"):
        assert ask(endpoint, "GET", path)[0].status == 404
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        answer, _ = ask(endpoint, method, KEYS, {"Content-Length": "0"})
        assert answer.status == 405 and answer.headers["Allow"] == "GET, HEAD"
    before = refusals(endpoint, "keys_request")
    broken = (b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\nHost: a\n\n", b"PRI * HTTP/2.0\r\n\r\n",
              b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
    for request in broken:
        assert raw(endpoint, request).startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 505 "))
    assert refusals(endpoint, "keys_request") == before + len(broken)


def test_the_keys_endpoint_serves_a_head_of_the_limit_and_rejects_one_byte_more(endpoint: Server) -> None:
    def head(total: int) -> bytes:
        frame = b"GET %s HTTP/1.1\r\nHost: a\r\nX: %s\r\n\r\n"
        return frame % (KEYS.encode(), b"x" * (total - len(frame) + 4 - len(KEYS)))

    assert len(head(REQUEST_BYTES_MAX)) == REQUEST_BYTES_MAX
    assert raw(endpoint, head(REQUEST_BYTES_MAX)).startswith(b"HTTP/1.1 200 ")
    assert raw(endpoint, head(REQUEST_BYTES_MAX + 1)).startswith(b"HTTP/1.1 431 ")


def test_a_request_in_many_records_is_served_and_one_that_never_ends_times_out(endpoint: Server) -> None:
    with secured(endpoint) as connection:
        for byte in f"HEAD {KEYS} HTTP/1.1\r\nHost: a\r\n\r\n".encode():
            connection.send(bytes([byte]))
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 ")
    began = time.monotonic()
    assert raw(endpoint, b"GET / HTTP/1.1\r\nHost: a\r\n").startswith(b"HTTP/1.1 408 ")
    assert REQUEST_SECONDS - 0.5 < time.monotonic() - began < REQUEST_SECONDS + 30


def test_http_1_1_is_chosen_and_a_client_with_only_another_protocol_is_refused(endpoint: Server) -> None:
    for protocols, chosen in ((("h2", "http/1.1"), "http/1.1"), ((), None)):
        with socket.create_connection(address(endpoint), 10) as plain, \
                trust(endpoint, *protocols).wrap_socket(plain, server_hostname="localhost") as connection:
            assert connection.selected_alpn_protocol() == chosen
            assert connection.version() == "TLSv1.3"
    with socket.create_connection(address(endpoint), 10) as plain, pytest.raises(ssl.SSLError):
        trust(endpoint, "h2").wrap_socket(plain, server_hostname="localhost")
    with socket.create_connection(address(endpoint), 10) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert not plain.recv(100).startswith(b"HTTP/"), "nothing in plain text"


def hold(server: Server, source: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", address(server)[1]), 60, source_address=(source, 0))


def test_one_address_has_a_limit_of_connections_to_the_keys_and_others_are_served(
        publishing: Callable[..., Server]) -> None:
    server = publishing()
    began = time.monotonic()
    held = [hold(server, "127.0.0.2") for _ in range(PER_ADDRESS_MAX)]
    with hold(server, "127.0.0.2") as past:
        assert past.recv(1) == b""
    assert ask(server, "GET", KEYS)[0].status == 200
    for one in held:
        assert one.recv(1) == b"", "no word, and the end"
        one.close()
    assert REQUEST_SECONDS - 0.5 < time.monotonic() - began < REQUEST_SECONDS + 30
    assert refusals(server, "keys_connections") == 1 and refusals(server, "keys_time") == PER_ADDRESS_MAX


def test_a_client_with_all_connections_to_the_keys_loses_one_to_another_address(
        publishing: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = publishing()
    began = time.monotonic()
    held = [hold(server, f"127.0.0.{2 + number // PER_ADDRESS_MAX}") for number in range(CONNECTIONS_MAX)]
    assert ask(server, "GET", KEYS)[0].status == 200
    assert held[0].recv(1) == b"" and time.monotonic() - began < REQUEST_SECONDS, "the one that is held longest"
    # Calls are not affected.
    assert connect(server).create(fresh_email()).id_token
    for one in held:
        assert one.recv(1) == b""
        one.close()
    assert ask(server, "GET", KEYS)[0].status == 200
    assert refusals(server, "keys_connections") == 1 and refusals(server, "keys_time") == CONNECTIONS_MAX - 1


def test_the_keys_endpoint_uses_a_new_certificate_too(
        publishing: Callable[..., Server], folder: Path) -> None:
    for kind in ("pem", "key"):
        shutil.copy(folder / f"server.{kind}", folder / f"keys-own.{kind}")
    server = publishing(tls={"certificate_file": "keys-own.pem", "key_file": "keys-own.key"})

    def served() -> bytes | None:
        with secured(server) as connection:
            return connection.getpeercert(binary_form=True)

    before = served()
    for kind in ("key", "pem"):
        shutil.copy(folder / f"simulator.{kind}", folder / f"keys-own.{kind}")
    server.signal(signal.SIGHUP)
    until(lambda: served() != before)
