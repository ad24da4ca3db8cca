"""The server's metrics: exact counts, each limit that rejected a call, and no personal data."""

from __future__ import annotations

import concurrent.futures
import http.client
import re
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import databases
import grpc
import pytest
from clients import (PASSWORD, Client, anonymous, assertion, channel_credentials, conflict, fresh_email, password,
                     provider, session)
from configuration import CHEAP_PASSWORDS, KEYS, REAL_PASSWORDS
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1.auth_service_pb2_grpc import AuthServiceStub
from metrics import ON_A_FREE_PORT, Scrape, address, eventually
from processes import Server, Simulator
from waiting import until

GUIDE = Path(__file__).resolve().parent.parent.parent / "deploy/docs/monitoring.md"
AUTH, ACCOUNTS, SESSIONS = (f"latchkey.v1.{name}Service/" for name in ("Auth", "Account", "Session"))
HEALTH_WATCH = "grpc.health.v1.Health/Watch"
CONNECTIONS_MAX, PER_ADDRESS_MAX, REQUEST_BYTES_MAX, REQUEST_SECONDS = 32, 8, 4_096, 5


@pytest.fixture
def metered(serve: Callable[..., Server]) -> Callable[..., Server]:
    return lambda **overrides: serve(metrics=ON_A_FREE_PORT, **overrides)


@pytest.fixture(scope="module")
def endpoint(folder: Path, simulator: Simulator) -> Iterator[Server]:
    """The server whose endpoint is attacked."""
    running = Server.start(folder, simulator, metrics=ON_A_FREE_PORT, store=databases.backups_in("metered-copies"))
    yield running
    running.stop()


# Counts.

def test_calls_are_counted_by_method_and_status_and_timed(
        metered: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    begun = time.monotonic()
    server = metered()
    web, email = connect(server), fresh_email()
    made = web.create(email)
    for _ in range(3):
        with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS"):
            web.sign_in(password(email, "not the right one"))
    for _ in range(5):
        web.fetch(email=email)
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_EMAIL"):
        web.fetch(email="nobody")
    web.refresh(made.refresh_token)
    session(web.sign_in(assertion(simulator, "oidc.corp")))

    wanted = {(ACCOUNTS + "Create", "OK"): 1, (AUTH + "SignIn", "UNAUTHENTICATED"): 3, (AUTH + "SignIn", "OK"): 1,
              (AUTH + "FetchProviders", "OK"): 5, (AUTH + "FetchProviders", "INVALID_ARGUMENT"): 1,
              (SESSIONS + "Refresh", "OK"): 1}
    seen = eventually(server, lambda scrape: scrape.sum("latchkey_call_seconds_count") == sum(wanted.values()))
    counted = {(labels["method"], labels["code"]): value for (name, pairs), value in seen.samples.items()
               if name == "latchkey_calls_total" and value for labels in [dict(pairs)]}
    assert counted == wanted
    assert seen("latchkey_call_seconds_count", method=AUTH + "SignIn") == 4
    assert seen("latchkey_call_seconds_bucket", method=AUTH + "SignIn", le="+Inf") == 4
    assert 0 < seen("latchkey_call_seconds_sum", method=AUTH + "SignIn") < 60
    assert seen.sum("latchkey_calls_in_flight") == 0
    assert seen("latchkey_failures_total", reason="INVALID_LOGIN_CREDENTIALS") == 3
    assert seen("latchkey_failures_total", reason="INVALID_EMAIL") == 1
    assert seen.sum("latchkey_failures_total") == 4
    # Create, Refresh, the first sign-in of a user, the first signing key, and a count of each failure.
    # The server's own: the first confirmation of the master key, which follows every 20 seconds, and each second the
    # failures that administrators see.
    committed, elapsed = seen("latchkey_store_changes_total", outcome="committed"), time.monotonic() - begun
    assert 1 <= committed - 7 <= 1 + elapsed / 20 + elapsed
    # One of these may share the commit of a call.
    commits = seen("latchkey_store_commit_changes_count")
    assert seen("latchkey_store_commit_changes_sum") == committed and 7 <= commits <= committed
    assert seen("latchkey_store_commit_seconds_count") == commits
    fetched = seen("latchkey_fetches_total", provider="oidc.corp", result="answered")
    assert fetched == seen.sum("latchkey_fetches_total") == 2, "the discovery document and the key set"
    assert seen("latchkey_tls_handshakes_total", result="full") == 1
    assert seen("latchkey_connections_accepted_total") == seen("latchkey_connections") == 1
    assert seen.sum("latchkey_refusals_total") == 0


def test_the_number_of_calls_in_flight_rises_and_falls(
        metered: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = metered()
    channels = [connect(server).channel for _ in range(2)]
    watches = [channel.unary_stream(f"/{HEALTH_WATCH}")(b"") for channel in channels for _ in range(3)]
    for watch in watches:
        next(watch)
    seen = Scrape.of(server)
    assert seen("latchkey_calls_in_flight", method=HEALTH_WATCH) == seen("latchkey_streams") == 6
    assert seen("latchkey_connections") == 2
    for watch in watches[:2]:
        watch.cancel()
    seen = eventually(server, lambda scrape: scrape("latchkey_streams") == 4)
    assert seen("latchkey_calls_in_flight", method=HEALTH_WATCH) == 4
    assert seen("latchkey_calls_total", method=HEALTH_WATCH, code="CANCELLED") == 2
    for channel in channels:
        channel.close()
    seen = eventually(server, lambda scrape: scrape("latchkey_connections") == 0)
    assert seen("latchkey_calls_in_flight", method=HEALTH_WATCH) == seen("latchkey_streams") == 0
    assert seen("latchkey_calls_total", method=HEALTH_WATCH, code="CANCELLED") == 6


def test_pending_rows_are_counted_as_they_come_and_go_and_after_a_restart(
        metered: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = metered()
    web, email = connect(server), fresh_email()
    made = web.create(email)
    for _ in range(3):
        conflict(web.sign_in(assertion(simulator, "oidc.corp", email=email)))
    assert Scrape.of(server)("latchkey_pending_rows") == 3
    server.stop()
    server.launch()
    assert Scrape.of(server)("latchkey_pending_rows") == 3
    connect(server).delete(made.id_token)
    assert Scrape.of(server)("latchkey_pending_rows") == 0


@pytest.mark.skipif(databases.ON_POSTGRES, reason="a database is backed up by its own tools")
def test_the_time_of_the_newest_backup_is_a_metric_also_after_a_restart(
        metered: Callable[..., Server], connect: Callable[..., Client], tmp_path: Path) -> None:
    server = metered(store={"backup_folder": str(tmp_path / "copies")})
    newest = "latchkey_backup_newest_timestamp_seconds"
    assert Scrape.of(server).samples[newest, frozenset()] == 0
    for _ in range(2):
        made = connect(server, key="admin").backup()
        assert Scrape.of(server)(newest) == made.created_at.ToMilliseconds() / 1000
    server.stop()
    server.launch()
    assert Scrape.of(server)(newest) == made.created_at.ToMilliseconds() / 1000


def test_a_path_that_is_not_served_is_counted_without_its_name(
        metered: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = metered()
    for path in ("/fabricated.up/Name", "/latchkey.v1.AuthService/Hack"):
        with pytest.raises(grpc.RpcError):
            connect(server).channel.unary_unary(path)(b"")
    seen = Scrape.of(server)
    assert seen("latchkey_calls_total", method="unknown", code="UNIMPLEMENTED") == 2
    assert "fabricated" not in seen.text and "Hack" not in seen.text


# Rejections.

def refusals(server: Server) -> dict[str, float]:
    return {dict(labels)["limit"]: value for (name, labels), value in Scrape.of(server).samples.items()
            if name == "latchkey_refusals_total" and value}


def test_rejected_callers_are_counted_by_reason(
        metered: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = metered(listen={"allow_unidentified": False})
    for key, times, code, reason in (
            (None, 1, StatusCode.UNAUTHENTICATED, "CALLER_UNIDENTIFIED"),
            ("lk_" + "0" * 64, 2, StatusCode.UNAUTHENTICATED, "CALLER_UNIDENTIFIED"),
            ("reader", 3, StatusCode.PERMISSION_DENIED, "CALLER_NOT_ALLOWED")):
        for _ in range(times):
            with expect_failure(code, reason):
                connect(server, key=key).sign_in(anonymous())
    with expect_failure(StatusCode.UNAUTHENTICATED, "CALLER_UNIDENTIFIED"):
        connect(server, key="shop", certificate="web").sign_in(anonymous())
    assert refusals(server) == {"caller_unidentified": 1, "caller_unknown": 2, "caller_rights": 3,
                                "caller_contradictory": 1}
    seen = Scrape.of(server)
    assert seen("latchkey_calls_total", method=AUTH + "SignIn", code="UNAUTHENTICATED") == 4
    assert seen("latchkey_calls_total", method=AUTH + "SignIn", code="PERMISSION_DENIED") == 3


def test_a_full_password_queue_is_counted(metered: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = metered(passwords={**REAL_PASSWORDS, "workers": 1, "queue_max": 1})
    email = fresh_email()
    connect(server).create(email)
    request = auth.SignInRequest(credential=password(email))
    with grpc.secure_channel(server.address, channel_credentials(folder=server.folder, key="web")) as channel:
        calls = [AuthServiceStub(channel).SignIn.future(request) for _ in range(30)]
        codes = [call.code() for call in calls if call.exception() is not None]
    assert codes and set(codes) == {StatusCode.RESOURCE_EXHAUSTED}
    assert refusals(server) == {"password_queue": len(codes)}
    assert Scrape.of(server)("latchkey_failures_total", reason="OVERLOADED") == len(codes)


@pytest.mark.parametrize("setting, limit", [
    ("pending_per_account_max", "pending_per_account"), ("pending_per_caller_max", "pending_per_caller"),
    ("pending_total_max", "pending_in_all")])
def test_a_full_pending_table_is_counted_by_its_limit(
        metered: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator, setting: str,
        limit: str) -> None:
    server = metered(policy={setting: 2})
    web, email = connect(server), fresh_email()
    web.create(email)
    for _ in range(2):
        conflict(web.sign_in(assertion(simulator, "oidc.corp", email=email)))
    assert refusals(server) == {}
    with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED"):
        web.sign_in(assertion(simulator, "oidc.corp", email=email))
    assert refusals(server) == {limit: 1}
    seen = Scrape.of(server)
    assert seen("latchkey_pending_rows") == 2
    assert seen("latchkey_store_changes_total", outcome="limited") == 1


def test_a_reused_idempotency_key_is_counted(metered: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = metered()
    web = connect(server)
    web.create(fresh_email(), idempotency_key="once")
    with expect_failure(StatusCode.INVALID_ARGUMENT, "IDEMPOTENCY_KEY_REUSED"):
        web.create(fresh_email(), idempotency_key="once")
    assert refusals(server) == {"idempotency_key_reused": 1}


def test_an_unavailable_provider_is_counted(
        metered: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = metered()
    simulator.behave("oidc.broken", "redirect")
    try:
        with expect_failure(StatusCode.FAILED_PRECONDITION, "PROVIDER_MISCONFIGURED"):
            connect(server).sign_in(assertion(simulator, "oidc.broken"))
    finally:
        simulator.behave("oidc.broken", "well")
    seen = Scrape.of(server)
    assert seen("latchkey_failures_total", reason="PROVIDER_MISCONFIGURED") == 1
    redirected = seen("latchkey_fetches_total", provider="oidc.broken", result="redirected")
    assert redirected == seen.sum("latchkey_fetches_total") > 0


# Data that must not be in the text.

def test_the_text_contains_nothing_about_a_user_a_token_or_an_address(
        metered: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = metered()
    web, email = connect(server), fresh_email()
    made = web.create(email, idempotency_key="a-key-of-idempotency")
    token = simulator.token("oidc.corp", email=email)
    exists = conflict(web.sign_in(provider("oidc.corp", token)))
    linked = session(web.sign_in(password(email), pending_token=exists.pending_token))
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS"):
        web.sign_in(password(email, "wrong"))
    text = Scrape.of(server).text
    for secret in (email, email.split("@")[0], PASSWORD, token, exists.pending_token, made.id_token,
                   made.refresh_token, linked.id_token, made.account.account_id, made.session_id, KEYS["web"], "lk_",
                   "127.0.0.1", "spiffe:", "a-key-of-idempotency", str(server.folder)):
        assert secret not in text
    labels = {name for _, pairs in Scrape.of(server).samples for name, _ in pairs}
    assert labels == {"method", "code", "le", "limit", "reason", "result", "outcome", "provider", "queue", "rule",
                      "version", "purpose", "caller", "key", "use", "kind", "transport", "trouble", "state", "part",
                      "postgres" if databases.ON_POSTGRES else "sqlite"}


# The text and its description.

def test_the_text_and_the_guide_describe_exactly_all_metrics(endpoint: Server) -> None:
    seen = Scrape.of(endpoint)
    kinds = seen.kinds()
    described = set(re.findall(r"^# HELP (\w+) \S", seen.text, re.MULTILINE))
    assert described == set(kinds)
    rows = dict(re.findall(r"^\| `((?:latchkey|process)_\w+)`[^|]*\| (\w+)", GUIDE.read_text(), re.MULTILINE))
    if databases.ON_POSTGRES:
        del rows["latchkey_backup_newest_timestamp_seconds"]
    else:
        del rows["latchkey_store_connections"]
    assert rows == kinds
    for name, kind in kinds.items():
        assert (kind == "counter") == name.endswith("_total")


def test_the_guide_lists_each_limit_by_its_label_in_the_metrics(endpoint: Server) -> None:
    counted = set(re.findall(r'^latchkey_refusals_total{limit="(\w+)"}', Scrape.of(endpoint).text, re.MULTILINE))
    table = GUIDE.read_text().partition("| Effect | `limit` |")[2].partition("\n\n")[0]
    assert counted == set(re.findall(r"`(\w+)`", table)) and len(counted) > 50


def test_the_process_exports_its_resource_usage(endpoint: Server) -> None:
    seen, process = Scrape.of(endpoint), endpoint.process
    assert process is not None
    status = Path(f"/proc/{process.pid}/status").read_text()
    resident = int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) << 10
    assert abs(seen("process_resident_memory_bytes") - resident) < 16 << 20
    # The scrape's own connection was open during the count.
    assert abs(seen("process_open_fds") - len(list(Path(f"/proc/{process.pid}/fd").iterdir()))) <= 2
    assert 0 < seen("process_cpu_seconds_total") < 600
    assert abs(seen("process_start_time_seconds") - time.time()) < 600
    assert seen("process_max_fds") > 100


def test_the_expiry_of_the_certificate_and_its_reloads_are_metrics(
        folder: Path, metered: Callable[..., Server]) -> None:
    mine = folder / "metered.pem"
    mine.write_bytes((folder / "server.pem").read_bytes())
    server = metered(tls={"certificate_file": mine.name})
    told = subprocess.run(["openssl", "x509", "-in", mine, "-noout", "-enddate"], capture_output=True, text=True)
    ends = ssl.cert_time_to_seconds(told.stdout.strip().removeprefix("notAfter="))
    assert Scrape.of(server)("latchkey_certificate_not_after_seconds") == ends
    for good, result in ((True, "loaded"), (False, "refused"), (True, "loaded")):
        seen = Scrape.of(server)
        before, loaded = (seen("latchkey_certificate_reloads_total", result=result),
                          seen("latchkey_certificate_loaded_timestamp_seconds"))
        mine.write_bytes((folder / "server.pem").read_bytes() if good else b"garbage")
        server.signal(signal.SIGHUP)
        eventually(server, lambda scrape: scrape("latchkey_certificate_reloads_total", result=result) == before + 1)
        seen = Scrape.of(server)
        assert seen("latchkey_certificate_not_after_seconds") == ends
        assert (seen("latchkey_certificate_loaded_timestamp_seconds") > loaded) == good


def test_metrics_are_not_served_unless_they_are_configured(server: Server) -> None:
    assert not any(line["message"] == "metrics" for line in server.lines())


# The endpoint.

def ask(server: Server, method: str, path: str, version: int = 11) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection(*address(server), timeout=10)
    connection._http_vsn, connection._http_vsn_str = version, f"HTTP/{version // 10}.{version % 10}"
    connection.request(method, path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def raw(server: Server, request: bytes) -> bytes:
    """All bytes until the server closes. If it closes immediately, the client's request may cause a reset."""
    parts = []
    with socket.create_connection(address(server), 10) as connection, suppress(ConnectionError):
        connection.sendall(request)
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts)


def test_get_returns_the_text_and_closes_the_connection(endpoint: Server) -> None:
    for version in (11, 10):
        answer, body = ask(endpoint, "GET", "/metrics?name=ignored", version)
        assert answer.status == 200 and body.startswith(b"# HELP ") and body.endswith(b"\n")
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert answer.headers["Connection"] == "close" and int(answer.headers["Content-Length"]) == len(body)


def test_head_returns_the_same_without_the_text(endpoint: Server) -> None:
    answer, body = ask(endpoint, "HEAD", "/metrics")
    assert answer.status == 200 and body == b"" and int(answer.headers["Content-Length"]) > 1_000


@pytest.mark.parametrize("path", ["/", "/metrics/", "/Metrics", "/metrics/../metrics", "/%6detrics", "//metrics"])
def test_any_other_path_is_not_found(endpoint: Server, path: str) -> None:
    assert ask(endpoint, "GET", path)[0].status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "get"])
def test_any_other_method_gets_the_allowed_methods(endpoint: Server, method: str) -> None:
    answer = raw(endpoint, f"{method} /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 405 ") and b"\r\nAllow: GET, HEAD\r\n" in answer


@pytest.mark.parametrize("request_text", [
    b"GET /metrics HTTP/1.1\r\n\r\n", b"GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
    b"GET /metrics HTTP/1.1\nHost: a\n\n", b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\n"])
def test_invalid_requests_are_rejected_and_counted(endpoint: Server, request_text: bytes) -> None:
    before = Scrape.of(endpoint)("latchkey_refusals_total", limit="metrics_request")
    assert raw(endpoint, request_text).startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 505 "))
    assert Scrape.of(endpoint)("latchkey_refusals_total", limit="metrics_request") == before + 1


def test_a_head_of_the_limit_is_served_and_one_byte_more_is_rejected(endpoint: Server) -> None:
    def head(total: int) -> bytes:
        frame = b"GET /metrics HTTP/1.1\r\nHost: a\r\nX: %s\r\n\r\n"
        return frame % (b"x" * (total - len(frame) + 2))

    assert len(head(REQUEST_BYTES_MAX)) == REQUEST_BYTES_MAX
    assert raw(endpoint, head(REQUEST_BYTES_MAX)).startswith(b"HTTP/1.1 200 ")
    assert raw(endpoint, head(REQUEST_BYTES_MAX + 1)).startswith(b"HTTP/1.1 431 ")
    # The server reads the rest, so that the client receives the error.
    assert raw(endpoint, head(1 << 20)).startswith(b"HTTP/1.1 431 ")


def test_a_request_byte_by_byte_is_served(endpoint: Server) -> None:
    with socket.create_connection(address(endpoint), 10) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n":
            connection.send(bytes([byte]))
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 ")


def hold(server: Server, source: str) -> socket.socket:
    return socket.create_connection(address(server), 60, source_address=(source, 0))


def test_one_address_has_a_limit_of_connections_and_others_are_served(
        metered: Callable[..., Server]) -> None:
    server = metered()
    began = time.monotonic()
    held = [hold(server, "127.0.0.2") for _ in range(PER_ADDRESS_MAX)]
    with hold(server, "127.0.0.2") as past:
        assert past.recv(1) == b""
    # One of the earlier connections still gets its answer.
    held[0].sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
    assert held[0].recv(15) == b"HTTP/1.1 200 OK"
    for one in held[1:]:
        assert one.recv(1) == b"", "no word, and the end"
    assert REQUEST_SECONDS - 0.5 < time.monotonic() - began < REQUEST_SECONDS + 30
    for one in held:
        one.close()
    assert refusals(server) == {"metrics_connections": 1, "metrics_time": PER_ADDRESS_MAX - 1}


def test_a_probe_is_served_while_other_clients_use_all_connections(metered: Callable[..., Server]) -> None:
    server = metered()
    held = [hold(server, f"127.0.0.{2 + number // PER_ADDRESS_MAX}") for number in range(CONNECTIONS_MAX)]
    # A probe from another address, then as many local ones as one address may have.
    for source in ["127.0.0.99", *["127.0.0.1"] * PER_ADDRESS_MAX]:
        held.append(hold(server, source))
    assert raw(server, b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").startswith(b"HTTP/1.1 200 ")
    for one in held:
        one.close()


def is_refused(server: Server, source: str) -> bool:
    """Whether the server closes a connection from that address without an answer."""
    with hold(server, source) as one:
        try:
            one.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
            return one.recv(1) == b""
        except ConnectionError:
            return True


def test_an_answered_connection_that_a_client_keeps_open_is_closed(metered: Callable[..., Server]) -> None:
    server = metered()
    began = time.monotonic()
    held = [hold(server, "127.0.0.2") for _ in range(PER_ADDRESS_MAX)]
    for one in held:
        one.sendall(b"HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        assert one.recv(15) == b"HTTP/1.1 200 OK"
    while is_refused(server, "127.0.0.2"):
        assert time.monotonic() - began < REQUEST_SECONDS + 30
        time.sleep(0.1)
    assert time.monotonic() - began > REQUEST_SECONDS - 0.5
    for one in held:
        one.close()
    until(lambda: all(raw(server, b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n") for _ in range(2)))
    assert set(refusals(server)) == {"metrics_connections"}, "an answered connection was not rejected"


def test_many_concurrent_scrapes_do_not_delay_a_caller(
        metered: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = metered(passwords=CHEAP_PASSWORDS)
    web, email = connect(server), fresh_email()
    web.create(email)
    with concurrent.futures.ThreadPoolExecutor(PER_ADDRESS_MAX - 1) as pool:
        scrapes = [pool.submit(Scrape.of, server) for _ in range(60)]
        calls = 0
        while not all(scrape.done() for scrape in scrapes):
            web.fetch(email=email)
            calls += 1
        assert all(scrape.result() for scrape in scrapes)
    assert Scrape.of(server)("latchkey_calls_total", method=AUTH + "FetchProviders", code="OK") == calls > 0
