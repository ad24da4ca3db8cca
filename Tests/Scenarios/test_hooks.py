"""Hooks: the operator's own rules, on a stock gRPC server, and what the service makes of bad ones."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent import futures
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import metrics
import outbox
import pytest
import reloads
import verification
from clients import PASSWORD, Client, assertion, fresh_email, password, session
from collector import Collector
from failures import expect_failure
from grpc import StatusCode
from hooks import Hook, allow, deny
from latchkey.v1.verification_service_pb2 import SendPhoneCodeRequest
from latchkey.v1.verification_service_pb2_grpc import VerificationServiceStub
from metrics import ON_A_FREE_PORT, Scrape
from paths import ROOT
from processes import LATCHKEYD, Server, Simulator
from waiting import until

DENIED = (StatusCode.PERMISSION_DENIED, "DENIED_BY_HOOK")
UNAVAILABLE = (StatusCode.UNAVAILABLE, "HOOK_UNAVAILABLE")


@pytest.fixture
def hooked(serve: Callable[..., Server], hook: Hook) -> Callable[..., Server]:
    """Starts a server with this hook and these settings of it."""
    return lambda **settings: serve(
        hooks=[hook.settings(**settings)], metrics=ON_A_FREE_PORT, policy=verification.POLICY)


def test_a_hook_learns_the_account_the_login_and_the_call(
        hooked: Callable[..., Server], connect: Callable[..., Client], hook: Hook, simulator: Simulator) -> None:
    web, email = connect(hooked()), fresh_email()
    made = session(web.sign_in(
        assertion(simulator, "google.com", subject="hooked-1", email=email, email_verified=True),
        client={"ip_address": "192.0.2.7", "user_agent": "agent", "device_id": "phone"}))
    assert hook.events == ["before_create", "before_sign_in"]
    create, sign_in = (request for _, request in hook.asked)
    assert create.account.account_id == sign_in.account.account_id == made.account.account_id
    assert create.account.email == email and create.account.email_verified and not create.account.HasField("created_at")
    assert sign_in.is_new_account and sign_in.login.provider_id == "google.com"
    assert list(sign_in.login.methods) == ["fed"] and json.loads(sign_in.login.profile_json)["email"] == email
    for call in (create.call, sign_in.call):
        assert (call.method, call.caller) == ("latchkey.v1.AuthService/SignIn", "web") and call.request_id
        assert (call.ip_address, call.user_agent, call.device_id) == ("192.0.2.7", "agent", "phone")
    hook.forget()
    session(web.sign_in(assertion(simulator, "google.com", subject="hooked-1", email=email, email_verified=True)))
    assert hook.events == ["before_sign_in"]


def test_a_denial_reaches_the_client_with_its_reason_and_leaves_nothing(
        hooked: Callable[..., Server], connect: Callable[..., Client], hook: Hook) -> None:
    server = hooked()
    web, admin, email = connect(server), connect(server, key="admin"), fresh_email()
    hook.rule = lambda event, request, context: deny("DOMAIN", "Only for staff.")
    with expect_failure(*DENIED) as refusal:
        web.create(email)
    assert refusal.metadata == {"code": "DOMAIN", "reason": "Only for staff."}
    assert "Only for staff." in refusal.text
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
        admin.lookup(email=email)
    event = next(iter(admin.watch("", "HOOK_DENIED"))).event
    details = json.loads(event.details_json)
    assert event.account_id == "" and details["hook"] == "rules" and details["code"] == "DOMAIN"
    assert "Only for staff." not in server.log.read_text()


def test_changes_are_stored_and_session_claims_last_as_long_as_the_session(
        hooked: Callable[..., Server], connect: Callable[..., Client], hook: Hook) -> None:
    web, email = connect(hooked()), fresh_email()

    def rule(event: str, request: Any, context: Any) -> Any:
        if event == "before_create":
            return allow(display_name="Countess", photo_url="https://a.example/p.png", email_verified=True,
                         custom_claims_json='{"plan":"gold"}')
        return allow(session_claims_json='{"shift":"night"}')

    hook.rule = rule
    made = web.create(email)
    assert made.account.display_name == "Countess" and made.account.email_verified
    claims = web.claims(made.id_token)
    assert (claims["name"], claims["picture"], claims["plan"], claims["shift"]) \
        == ("Countess", "https://a.example/p.png", "gold", "night")
    again = web.refresh(web.refresh(made.refresh_token).refresh_token)
    assert web.claims(again.id_token)["shift"] == "night"
    hook.rule = lambda event, request, context: None
    other = session(web.sign_in(password(email)))
    assert "shift" not in web.claims(other.id_token) and web.claims(other.id_token)["plan"] == "gold"


def test_an_account_for_approval_is_created_disabled(
        hooked: Callable[..., Server], connect: Callable[..., Client], hook: Hook) -> None:
    server = hooked(events=["before_create"])
    web, admin, email = connect(server), connect(server, key="admin"), fresh_email()
    hook.rule = lambda event, request, context: allow(disabled=True)
    with expect_failure(StatusCode.PERMISSION_DENIED, "USER_DISABLED"):
        web.create(email)
    account = admin.lookup(email=email)
    assert account.disabled
    admin.set_disabled(account.account_id, False)
    assert session(web.sign_in(password(email))).account.account_id == account.account_id


def test_a_message_can_be_denied(
        hooked: Callable[..., Server], connect: Callable[..., Client], hook: Hook) -> None:
    web = connect(hooked(events=["before_send"]))
    hook.rule = lambda event, request, context: deny("TOLL") if request.phone_number.startswith("+1") else None
    with expect_failure(*DENIED) as refusal:
        web.send_phone_code("+15005550006")
    assert refusal.metadata == {"code": "TOLL"}
    assert web.send_phone_code("+4930123456").verification_id
    assert [request.kind for _, request in hook.asked] == ["phone_code", "phone_code"]


CODE_KINDS = {1: "email_code", 4: "sign_up_code", 6: "reset_password_code"}


def test_each_code_by_email_and_invitation_asks_and_can_be_denied(
        serve: Callable[..., Server], connect: Callable[..., Client], hook: Hook) -> None:
    server = serve(hooks=[hook.settings(events=["before_send"])],
                   policy={**verification.POLICY, "email_code": "code_and_link"})
    web, admin = connect(server), connect(server, key="admin")
    email, allowed = fresh_email(), fresh_email()
    hook.rule = lambda event, request, context: None if request.email == allowed else deny("DOMAIN", "Only for staff.")
    for purpose, kind in CODE_KINDS.items():
        with expect_failure(*DENIED) as refusal:
            web.send_email_code(email, purpose=purpose)
        assert refusal.metadata == {"code": "DOMAIN", "reason": "Only for staff."}
        assert web.send_email_code(allowed, purpose=purpose).verification_id
        assert [(request.kind, request.email, request.call.caller) for _, request in hook.asked[-2:]] == [
            (kind, email, "web"), (kind, allowed, "web")]
    with expect_failure(*DENIED):
        admin.invite(email)
    assert admin.invite(allowed).is_new_account
    assert [(request.kind, request.call.caller) for _, request in hook.asked[-2:]] == [("invitation", "admin")] * 2
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
        admin.lookup(email=email)
    outbox.wait_for(server, "invitation", allowed)
    assert {each.to for each in outbox.messages(server)} == {allowed}


# Bad hooks. Each answers a sign-in in its own way.

def hangs(hook: Hook) -> Any:
    hook.released.wait(60)


def dies(hook: Hook) -> Any:
    threading.Thread(target=hook.stop).start()
    time.sleep(2)


def fails(hook: Hook) -> Any:
    raise RuntimeError("a bug of the hook")


BAD: dict[str, Callable[[Hook], Any]] = {
    "hangs": hangs,
    "fails": fails,
    "dies": dies,
    "garbage": lambda hook: os.urandom(500),
    "10 MB": lambda hook: allow(session_claims_json="x" * 10_000_000),
    "long name": lambda hook: allow(display_name="x" * 257),
    "bad URL": lambda hook: allow(photo_url="javascript:alert(1)"),
    "claims are no object": lambda hook: allow(custom_claims_json="[1]"),
    "reserved claim": lambda hook: allow(session_claims_json='{"sub":"somebody"}'),
    "long claims": lambda hook: allow(session_claims_json=json.dumps({"a": "x" * 1_000})),
    "unknown field": lambda hook: b"\x0a\x0a\x0a\x08\x0a\x06sesame",
    "long reason": lambda hook: deny("NO", "x" * 257),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_hook_denies_or_allows_by_its_setting(
        hooked: Callable[..., Server], connect: Callable[..., Client], hook: Hook, kind: str) -> None:
    settings = {"timeout_millis": 400 if kind == "hangs" else 5_000, "events": ["before_sign_in"]}
    server = hooked(**settings)
    web, email = connect(server), fresh_email()
    web.create(email)
    hook.rule = lambda event, request, context: BAD[kind](hook)
    with expect_failure(*UNAVAILABLE) as refusal:
        web.sign_in(password(email))
    assert refusal.retry_seconds == 1
    reloads.change(server, hooks=[hook.settings(**settings, on_failure="allow")])
    signed = session(web.sign_in(password(email)))
    assert signed.account.email == email and signed.account.display_name == ""
    seen = Scrape.of(server)
    outcomes = {"hangs": "timed_out", **dict.fromkeys(["fails", "dies", "garbage", "10 MB"], "unavailable")}
    outcome = outcomes.get(kind, "invalid")
    assert seen("latchkey_hook_calls_total", hook="rules", event="before_sign_in", outcome=outcome) == 2
    assert "sesame" not in server.log.read_text() and "somebody" not in server.log.read_text()


def test_a_hanging_hook_takes_no_more_calls_than_its_limit_and_exhausts_nothing_else(
        hooked: Callable[..., Server], connect: Callable[..., Client], hook: Hook) -> None:
    server = hooked(events=["before_sign_in"], callers=["web"], concurrent_max=4, timeout_millis=10_000)
    web, shop, email = connect(server), connect(server, key="shop"), fresh_email()
    web.create(email)
    hook.forget()
    hook.rule = lambda event, request, context: hangs(hook)
    with futures.ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(web.sign_in, password(email)) for _ in range(4)]
        until(lambda: len(hook.events) == 4)
        for _ in range(20):
            with expect_failure(*UNAVAILABLE) as refusal:
                web.sign_in(password(email))
            assert refusal.retry_seconds == 1
        for _ in range(20):
            session(shop.sign_in(password(email)))
            assert list(web.fetch(email=email).provider_ids) == ["password"]
        assert not any(each.done() for each in waiting)
        hook.released.set()
        assert len({session(each.result()).session_id for each in waiting}) == 4
    assert len(hook.events) == 4
    session(web.sign_in(password(email)))
    seen = Scrape.of(server)
    assert seen("latchkey_hook_calls_total", hook="rules", event="before_sign_in", outcome="overloaded") == 20
    assert seen("latchkey_hook_breaker_open", hook="rules") == 0


def test_a_dead_hook_opens_the_breaker_which_closes_when_it_is_back(
        hooked: Callable[..., Server], connect: Callable[..., Client], hook: Hook) -> None:
    server = hooked(events=["before_sign_in"])
    web, email = connect(server), fresh_email()
    web.create(email)
    hook.stop()
    for _ in range(6):
        with expect_failure(*UNAVAILABLE):
            web.sign_in(password(email))
    seen = Scrape.of(server)
    assert seen("latchkey_hook_breaker_open", hook="rules") == 1
    assert seen("latchkey_hook_calls_total", hook="rules", event="before_sign_in", outcome="breaker_open") == 1
    hook.start()
    # After the pause of 5 seconds, one question decides.
    deadline = time.monotonic() + 60
    while True:
        try:
            session(web.sign_in(password(email)))
            break
        except grpc.RpcError:
            assert time.monotonic() < deadline
            time.sleep(0.5)
    assert Scrape.of(server)("latchkey_hook_breaker_open", hook="rules") == 0

    def counts() -> list[int]:
        messages = [line["message"] for line in server.lines()]
        return [messages.count(f"the hook rules {does}") for does in ("fails", "answers again")]

    until(lambda: all(counts()))
    assert counts() == [1, 1]


def test_a_restart_of_the_hook_between_two_questions_fails_no_call(
        hooked: Callable[..., Server], connect: Callable[..., Client], hook: Hook) -> None:
    web, email = connect(hooked()), fresh_email()
    web.create(email)
    for _ in range(3):
        hook.stop()
        # The question follows when the server has noticed the end of its connection.
        until(lambda: not open_sockets_to(hook.port))
        hook.start()
        session(web.sign_in(password(email)))


def open_sockets_to(port: int) -> int:
    """How many connections to a local port their clients have not closed, as in proc(5)."""
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    # ESTABLISHED and CLOSE_WAIT.
    return sum(int(row[2].rpartition(":")[2], 16) == port and row[3] in ("01", "08") for row in rows)


def test_a_short_deadline_of_a_client_is_no_failure_of_the_hook(
        hooked: Callable[..., Server], connect: Callable[..., Client], hook: Hook) -> None:
    server = hooked(events=["before_send"], on_failure="allow")
    web = connect(server)
    web.send_phone_code("+4930123457")
    hook.forget()
    hook.rule = lambda event, request, context: hangs(hook)
    sending = VerificationServiceStub(web.channel)
    calls = [sending.SendPhoneCode.future(SendPhoneCodeRequest(phone_number="+4930123456"), timeout=1.5)
             for _ in range(7)]
    assert all(call.exception() for call in calls) and len(hook.events) == 7
    seen = metrics.eventually(
        server, lambda seen: seen.sum("latchkey_hook_calls_total", outcome="timed_out") == 7)
    assert seen("latchkey_hook_breaker_open", hook="rules") == 0
    hook.released.set()
    # Nor does the deadline avoid the rules of a hook whose failures allow.
    outbox.none_comes(server, "phone_code", "+4930123456")


def test_events_and_callers_select_the_hook_and_a_reload_changes_it(
        serve: Callable[..., Server], connect: Callable[..., Client], hook: Hook) -> None:
    server = serve(hooks=[hook.settings(callers=["shop"], events=["before_create"])])
    web, shop = connect(server), connect(server, key="shop")
    hook.rule = lambda event, request, context: deny("NO")
    web.create(fresh_email())
    assert hook.events == []
    with expect_failure(*DENIED):
        shop.create(fresh_email())
    line = reloads.change(server, hooks=[])
    assert reloads.names(line) == {"hooks[rules]"}
    shop.create(fresh_email())
    reloads.change(server, hooks=[hook.settings()])
    with expect_failure(*DENIED):
        web.create(fresh_email())
    line = reloads.change(server, hooks=[hook.settings(events=["never"])])
    assert line["message"] == "configuration refused" and "hooks[0].events" in line["why"]
    line = reloads.change(server, hooks=[hook.settings(ca_file="absent.pem")])
    assert line["message"] == "configuration refused" and "hooks[0].ca_file" in line["why"]


def test_parallel_sign_ins_ask_on_one_connection(
        hooked: Callable[..., Server], connect: Callable[..., Client], hook: Hook) -> None:
    web, email = connect(hooked()), fresh_email()
    web.create(email)
    hook.forget()
    peers: set[str] = set()

    def rule(event: str, request: Any, context: grpc.ServicerContext) -> None:
        peers.add(context.peer())
        time.sleep(0.05)

    hook.rule = rule
    with futures.ThreadPoolExecutor(16) as pool:
        opened = list(pool.map(lambda _: session(web.sign_in(password(email))), range(32)))
    # Sign-ins of one account meet in races, and none of them asks twice.
    assert len({each.session_id for each in opened}) == 32 and len(hook.events) == 32 and len(peers) == 1


def test_a_repeat_under_its_key_does_not_ask_again(
        hooked: Callable[..., Server], connect: Callable[..., Client], hook: Hook) -> None:
    web, email = connect(hooked()), fresh_email()
    first = web.create(email, idempotency_key="k-1")
    again = web.create(email, idempotency_key="k-1")
    assert first.session_id == again.session_id and hook.events == ["before_create", "before_sign_in"]


def test_without_hooks_the_metrics_have_no_series_of_them(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(metrics=ON_A_FREE_PORT)
    connect(server).create(fresh_email(), PASSWORD)
    assert "latchkey_hook_calls_total{" not in Scrape.of(server).text


def test_a_trace_contains_the_question_and_continues_in_the_hook(
        serve: Callable[..., Server], connect: Callable[..., Client], hook: Hook) -> None:
    receiver = Collector()
    tracing = {"otlp_endpoint": f"http://127.0.0.1:{receiver.port}", "sample_ratio": 1}
    web, email = connect(serve(hooks=[hook.settings(events=["before_create"])], tracing=tracing)), fresh_email()
    web.create(email)
    receiver.wait(lambda seen: seen.named("hook") and seen.named("latchkey.v1.AccountService/Create"))
    receiver.stop()
    [call], [asked] = receiver.named("latchkey.v1.AccountService/Create"), receiver.named("hook")
    assert asked.parent_id == call.span_id and asked.kind == "client"
    assert asked.attributes == {
        "latchkey.hook": "rules", "latchkey.hook_event": "before_create", "latchkey.outcome": "allowed"}
    [metadata] = hook.metadata
    assert metadata["traceparent"].split("-")[1] == call.trace_id


def python_example(folder: Path) -> list[str | Path]:
    return [sys.executable, ROOT / "deploy/hooks/python/hook.py"]


def go_example(folder: Path) -> list[str | Path]:
    if shutil.which("go") is None:
        # Only where this file runs alone: deploy/test installs `go_packages`.
        pytest.skip("Go is not installed")
    subprocess.run([ROOT / "deploy/hooks/go/build", folder], check=True)
    return [folder / "hook"]


@pytest.mark.parametrize("example", [python_example, go_example])
def test_the_examples_of_hooks_apply_their_rules(
        serve: Callable[..., Server], connect: Callable[..., Client], folder: Path, tmp_path: Path,
        example: Callable[[Path], list[str | Path]]) -> None:
    settings = {"HOOK_ADDRESS": "localhost:0", "HOOK_FOLDER": str(folder), "HOOK_DOMAIN": "staff.example"}
    with subprocess.Popen(example(tmp_path), env={**os.environ, **settings}, stdout=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().split()[-1])
        web = connect(serve(policy=verification.POLICY, hooks=[
            {"name": "example", "endpoint": f"https://localhost:{port}", "ca_file": "authority.pem",
             "certificate_file": "web.pem", "key_file": "web.key"}]))
        claims = web.claims(web.create(fresh_email("staff.example")).id_token)
        assert claims["member"] is True and claims["by"] == "password"
        with expect_failure(*DENIED) as refusal:
            web.create(fresh_email())
        assert refusal.metadata == {"code": "DOMAIN", "reason": "Only for addresses of staff.example."}
        with expect_failure(*DENIED):
            web.send_phone_code("+15005550006")
        assert web.send_phone_code("+4930123456").verification_id
        process.terminate()


def test_the_command_serves_the_rules_of_a_file(
        serve: Callable[..., Server], connect: Callable[..., Client], folder: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"rules": [
        {"event": "before_create", "other_email_domains": ["staff.example"],
         "deny": {"code": "DOMAIN", "reason": "Only for staff."}},
        {"event": "before_sign_in", "providers": ["password"], "allow": {"session_claims": {"by": ["password", 1]}}},
        {"event": "before_send", "phone_prefixes": ["+1"], "deny": {"code": "COUNTRY"}}]}))
    command = [LATCHKEYD.with_name("latchkey"), "hook", "serve", "--rules", rules, "--port", "0",
               "--certificate", folder / "server.pem", "--key", folder / "server.key",
               "--client-ca", folder / "authority.pem"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().split()[-1])
        hook = {"name": "rules", "endpoint": f"https://127.0.0.1:{port}", "ca_file": "authority.pem"}
        pair = {"certificate_file": "web.pem", "key_file": "web.key"}
        server = serve(policy=verification.POLICY, hooks=[{**hook, **pair}])
        web, email = connect(server), fresh_email("staff.example")
        assert web.claims(web.create(email).id_token)["by"] == ["password", 1]
        with futures.ThreadPoolExecutor(16) as pool:
            assert len(set(pool.map(lambda _: session(web.sign_in(password(email))).session_id, range(64)))) == 64
        with expect_failure(*DENIED) as refusal:
            web.create(fresh_email())
        assert refusal.metadata == {"code": "DOMAIN", "reason": "Only for staff."}
        with expect_failure(*DENIED):
            web.send_phone_code("+15005550006")
        # A server without a certificate of the authority is not answered.
        reloads.change(server, hooks=[hook])
        with expect_failure(*UNAVAILABLE):
            web.sign_in(password(email))
        process.terminate()


def test_the_command_closes_connections_whose_handshake_takes_too_long(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text('{"rules": []}')
    command = [LATCHKEYD.with_name("latchkey"), "hook", "serve", "--rules", tmp_path / "rules.json", "--port", "0",
               "--certificate", folder / "server.pem", "--key", folder / "server.key",
               "--client-ca", folder / "authority.pem"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process, ExitStack() as stack:
        assert process.stdout is not None
        port = int(process.stdout.readline().split()[-1])
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(64)]
        begun = time.monotonic()
        for each in silent:
            each.settimeout(20)
            assert each.recv(1) == b""
        assert time.monotonic() - begun < 20
        with socket.create_connection(("127.0.0.1", port), 5) as late:
            late.settimeout(2)
            with pytest.raises(TimeoutError):
                late.recv(1)
        process.terminate()


@pytest.mark.parametrize(("text", "place"), [
    ('{"rules": [{"event": "never", "deny": {}}]}', "rules[0].event"), ("nothing", "the file")])
def test_the_command_names_what_is_wrong_with_its_rules(folder: Path, tmp_path: Path, text: str, place: str) -> None:
    (tmp_path / "rules.json").write_text(text)
    ended = subprocess.run(
        [LATCHKEYD.with_name("latchkey"), "hook", "serve", "--rules", tmp_path / "rules.json", "--port", "0",
         "--certificate", folder / "server.pem", "--key", folder / "server.key",
         "--client-ca", folder / "authority.pem"], capture_output=True, text=True)
    assert ended.returncode == 2 and f"--rules: {place}" in ended.stderr
