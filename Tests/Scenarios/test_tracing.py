"""Traces of calls, exported to a collector over OTLP: which, with which spans, and without any secret."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import collector
import databases
import grpc
import pytest
from clients import PASSWORD, Client, assertion, fresh_email, password, session
from collector import Collector
from configuration import KEYS, Settings
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1.auth_service_pb2_grpc import AuthServiceStub
from metrics import ON_A_FREE_PORT, Scrape, eventually
from ports import free_port
from processes import Server, Simulator
from waiting import until

SIGN_IN, CREATE = "latchkey.v1.AuthService/SignIn", "latchkey.v1.AccountService/Create"
FETCH = "latchkey.v1.AuthService/FetchProviders"


@pytest.fixture
def receiver() -> Iterator[Collector]:
    running = Collector()
    yield running
    running.stop()


def traced(serve: Callable[..., Server], receiver: Collector, **tracing: object) -> Server:
    return serve(metrics=ON_A_FREE_PORT,
                 tracing={"otlp_endpoint": f"http://127.0.0.1:{receiver.port}", "sample_ratio": 1, **tracing})


def test_a_sign_in_has_spans_for_the_call_the_password_and_the_commit(
        serve: Callable[..., Server], connect: Callable[..., Client], receiver: Collector) -> None:
    server = traced(serve, receiver)
    web, email = connect(server), fresh_email()
    made = web.create(email)
    signed = session(web.sign_in(password(email)))
    receiver.wait(lambda seen: seen.named(SIGN_IN))
    print(collector.text(receiver.spans))
    [call] = receiver.named(SIGN_IN)
    below = {span.name: span for span in receiver.spans if span.parent_id == call.span_id}
    assert below.keys() == {"password.verify", "store.commit"}
    assert all(span.trace_id == call.trace_id for span in below.values())
    assert call.kind == "server" and call.parent_id == "" and not call.failed
    assert call.resource["service.name"] == "latchkey" and call.resource["service.version"]
    attributes = call.attributes
    assert (attributes["rpc.system"], attributes["rpc.service"], attributes["rpc.method"]) \
        == ("grpc", "latchkey.v1.AuthService", "SignIn")
    # The request ID of a call without IDs is its trace ID.
    assert attributes["rpc.grpc.status_code"] == 0 and attributes["latchkey.request_id"] == call.trace_id
    commit = below["store.commit"]
    assert commit.attributes["db.system.name"] == ("postgresql" if databases.ON_POSTGRES else "sqlite")
    assert commit.attributes["latchkey.outcome"] == "committed"
    for span in below.values():
        assert call.start_nanos <= span.start_nanos <= span.end_nanos <= call.end_nanos
    every = repr(receiver.spans)
    for secret in (email, PASSWORD, KEYS["web"], made.id_token, signed.id_token, signed.refresh_token):
        assert secret not in every


def test_fetches_and_deliveries_have_spans_without_their_urls_and_recipients(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator,
        receiver: Collector) -> None:
    web = connect(traced(serve, receiver))
    session(web.sign_in(assertion(simulator, "oidc.corp")))
    web.create(fresh_email())
    receiver.wait(lambda seen: seen.named("GET") and seen.named(SIGN_IN))
    [call] = receiver.named(SIGN_IN)
    fetch = receiver.named("GET")[0]
    assert fetch.trace_id == call.trace_id and fetch.kind == "client"
    assert fetch.attributes["http.response.status_code"] == 200 and fetch.attributes["latchkey.provider"] == "oidc.corp"
    assert fetch.attributes["server.address"] == "127.0.0.1" and "url.full" not in fetch.attributes


def test_the_sampled_flag_of_an_identified_caller_decides(
        serve: Callable[..., Server], connect: Callable[..., Client], receiver: Collector) -> None:
    server = traced(serve, receiver, sample_ratio=0)
    web = connect(server)
    sampled, unsampled = secrets.token_hex(16), secrets.token_hex(16)
    for trace, flags in ((unsampled, "00"), (sampled, "01")):
        with_parent(web, trace, flags)
    with_parent(connect(server, key=None), secrets.token_hex(16), "01")
    receiver.wait(lambda seen: seen.named(FETCH))
    [call] = receiver.named(FETCH)
    assert (call.trace_id, call.parent_id) == (sampled, "00f067aa0ba902b7")
    assert eventually(server, lambda scrape: scrape("latchkey_trace_spans_total", result="exported") == 1)


def test_the_ratio_alone_decides_if_callers_are_not_followed(
        serve: Callable[..., Server], connect: Callable[..., Client], receiver: Collector) -> None:
    server = traced(serve, receiver, sample_ratio=0, follow_callers=False)
    with_parent(connect(server), secrets.token_hex(16), "01")
    seen = Scrape.of(server)
    assert seen.sum("latchkey_trace_spans_total") == 0


def with_parent(client: Client, trace: str, flags: str) -> None:
    AuthServiceStub(client.channel).FetchProviders(
        auth.FetchProvidersRequest(email=fresh_email()),
        metadata=[("traceparent", f"00-{trace}-00f067aa0ba902b7-{flags}")], timeout=10)


def test_a_failed_call_is_marked_only_if_the_server_is_at_fault(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator,
        receiver: Collector) -> None:
    web = connect(traced(serve, receiver))
    simulator.behave("oidc.broken", "error")
    for credential in (password(fresh_email()), assertion(simulator, "oidc.broken")):
        with pytest.raises(grpc.RpcError):
            web.sign_in(credential)
    simulator.behave("oidc.broken", "well")
    receiver.wait(lambda seen: len(seen.named(SIGN_IN)) == 2)
    wrong, down = sorted(receiver.named(SIGN_IN), key=lambda span: span.start_nanos)
    assert (wrong.attributes["rpc.grpc.status_code"], wrong.failed) == (16, False)
    assert (down.attributes["rpc.grpc.status_code"], down.failed) == (14, True)


def test_a_collector_that_is_gone_disturbs_no_call_and_is_logged_once(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    gone = Collector(port=free_port())
    gone.stop()
    server = traced(serve, gone)
    web = connect(server)
    for _ in range(3):
        web.create(fresh_email())
    seen = eventually(server, lambda scrape: scrape("latchkey_trace_spans_total", result="failed") >= 3)
    assert seen("latchkey_trace_spans_total", result="exported") == 0

    def refused() -> list[Settings]:
        return [line for line in server.lines() if line["message"] == "traces cannot be exported"]

    # The line follows the count.
    until(refused)
    [line] = refused()
    assert line["why"]
    back = Collector(port=gone.port)
    web.create(fresh_email())
    back.wait(lambda seen: seen.named(CREATE))
    until(lambda: [line for line in server.lines() if line["message"] == "traces are exported again"])
    back.stop()


@pytest.mark.parametrize("is_exporting", [False, True])
def test_a_stop_succeeds_if_the_collector_accepts_and_never_answers(
        serve: Callable[..., Server], connect: Callable[..., Client], is_exporting: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(20)
        server = serve(tracing={"otlp_endpoint": f"http://127.0.0.1:{silent.getsockname()[1]}", "sample_ratio": 1})
        connect(server).create(fresh_email())
        held = silent.accept()[0] if is_exporting else None
        server.signal()
        assert server.wait() == 0
        if held is not None:
            held.close()
    seen = {line["message"] for line in server.lines()}
    assert seen & {"traces cannot be exported", "the last traces are not exported"}
    assert "a part does not end" not in seen


def test_the_collector_may_require_tls(
        serve: Callable[..., Server], connect: Callable[..., Client], folder: Path) -> None:
    key, chain, authority = ((folder / name).read_bytes() for name in ("server.key", "server.pem", "authority.pem"))
    receiver = Collector(grpc.ssl_server_credentials([(key, chain)], authority, require_client_auth=True))
    server = serve(metrics=ON_A_FREE_PORT, tracing={
        "otlp_endpoint": f"https://localhost:{receiver.port}", "sample_ratio": 1, "ca_file": "authority.pem",
        "certificate_file": "web.pem", "key_file": "web.key"})
    connect(server).create(fresh_email())
    receiver.wait(lambda seen: seen.named(CREATE))
    receiver.stop()
