"""Reload of the configuration file: by SIGHUP under load, by the file watch, and of files with errors."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import latchkey_settings
import outbox
import pytest
from clients import PASSWORD, Client, anonymous, assertion, fresh_email, password, session
from configuration import KEYS, callers, providers
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1 import event_service_pb2 as events
from latchkey.v1 import types_pb2 as types
from latchkey.v1.auth_service_pb2_grpc import AuthServiceStub
from latchkey.v1.event_service_pb2_grpc import EventServiceStub
from latchkey.v1.provider_flow_service_pb2 import StartFlowResponse
from metrics import ON_A_FREE_PORT, Scrape
from processes import LATCHKEYD, Server, Simulator, write
from reloads import change, hang_up, line_after, names
from waiting import until

UNIDENTIFIED = (StatusCode.UNAUTHENTICATED, "CALLER_UNIDENTIFIED")
NOT_ALLOWED = (StatusCode.FAILED_PRECONDITION, "OPERATION_NOT_ALLOWED")
BACK = latchkey_settings.REDIRECT_URIS[0]


def test_a_reload_takes_effect_under_load_without_a_failed_call(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = serve(metrics=ON_A_FREE_PORT)
    stop, failed, done = threading.Event(), list[str](), list[None]()

    def work(client: Client, subject: str) -> None:
        made = session(client.sign_in(anonymous()))
        while not stop.is_set():
            try:
                assert client.verify(made.id_token).active
                made = client.refresh(made.refresh_token)
                session(client.sign_in(assertion(simulator, "oidc.corp", subject=subject)))
            except (grpc.RpcError, AssertionError) as error:
                failed.append(repr(error))
            done.append(None)

    threads = [threading.Thread(target=work, args=(connect(server, key=key), f"{key}-{number}"))
               for key in ("web", "shop") for number in range(3)]
    for thread in threads:
        thread.start()
    web, *others = callers()
    try:
        for number in range(20):
            line = change(server, callers=[{**web, "merge": number % 2 == 1}, *others],
                          policy={"pending_attempts_max": number + 6})
            assert names(line) == {"callers[web].merge", "policy.pending_attempts_max"}
            before = len(done)
            until(lambda: len(done) > before + 1)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failed, failed[:3]
    seen = Scrape.of(server)
    assert seen("latchkey_config_reloads_total", outcome="applied") == 20
    assert seen("latchkey_config_loaded_timestamp_seconds") >= seen("process_start_time_seconds")


def test_a_file_with_errors_changes_nothing_and_all_errors_are_logged(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(metrics=ON_A_FREE_PORT)
    client = connect(server)
    line = change(server, policy={"anonymous": False, "auto_link": "often"}, throttles={"block_seconds": 0})
    assert (line["message"], line["level"]) == ("configuration refused", "error")
    assert "policy.auto_link: " in line["why"] and "throttles.block_seconds: " in line["why"]
    session(client.sign_in(anonymous()))

    (server.folder / f"latchkey-{server.port}.json5").write_text("{ policy: ")
    assert "it is not JSON5" in hang_up(server)["why"]
    session(client.sign_in(anonymous()))

    line = change(server, policy={"auto_link": "off"}, throttles={"block_seconds": 60})
    assert names(line) == {"policy.anonymous", "throttles.block_seconds"}
    with expect_failure(*NOT_ALLOWED):
        client.sign_in(anonymous())
    assert hang_up(server)["message"] == "configuration unchanged"
    seen = Scrape.of(server)
    assert [seen("latchkey_config_reloads_total", outcome=each) for each in ("refused", "applied", "unchanged")] == [
        2, 1, 1]


def test_a_leaked_key_is_removed_while_files_that_only_a_start_reads_are_broken(
        serve: Callable[..., Server], connect: Callable[..., Client], folder: Path) -> None:
    own = {name: f"broken-{name}" for name in ("server.pem", "server.key", "master.key")}
    for old, new in own.items():
        shutil.copy2(folder / old, folder / new)
    server = serve(
        tls={"certificate_file": own["server.pem"], "key_file": own["server.key"]},
        secrets={"master_key_files": [own["master.key"]]})
    shop, web = connect(server, key="shop"), connect(server, key="web")
    made = session(web.sign_in(anonymous()))
    assert shop.verify(made.id_token)
    (folder / own["server.pem"]).write_text("not a certificate")
    (folder / own["master.key"]).unlink()
    line = change(server, callers=[each for each in callers() if each["name"] != "shop"])
    assert (line["message"], names(line)) == ("configuration reloaded", {"callers[shop]"})
    with expect_failure(*UNIDENTIFIED):
        shop.verify(made.id_token)
    assert web.verify(made.id_token).active
    # The next start finds them.
    checked = subprocess.run(
        [LATCHKEYD, "--check-config", "--config", server.folder / f"latchkey-{server.port}.json5"],
        capture_output=True, text=True)
    assert checked.returncode != 0 and "tls.certificate_file" in checked.stderr + checked.stdout


def test_a_change_that_needs_another_one_at_the_next_start_says_so(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(delivery={"mail": "off", "text_messages": "off"})
    line = change(server, policy={"sign_up": "verify_first"}, delivery={"mail": "outbox"})
    assert line["message"] == "configuration refused"
    assert "policy.sign_up: " in line["why"] and "the file is valid, but needs a restart" in line["why"]
    session(connect(server).sign_in(anonymous()))


def test_a_removed_caller_is_rejected_on_its_open_connection_and_its_watch_ends(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    admin, shop, web = (connect(server, key=key) for key in ("admin", "shop", "web"))
    made = session(web.sign_in(anonymous()))
    watch = admin.watch(timeout=30)
    next(watch)
    ended = threading.Event()

    def read() -> None:
        with pytest.raises(grpc.RpcError):
            for _ in watch:
                pass
        ended.set()
    threading.Thread(target=read, daemon=True).start()
    assert shop.verify(made.id_token) is not None
    line = change(server, callers=[each for each in callers() if each["name"] == "web"])
    assert names(line) == {"callers[admin]", "callers[shop]", "callers[reader]"}
    for client in (shop, admin):
        with expect_failure(*UNIDENTIFIED):
            client.verify(made.id_token)
    assert ended.wait(10), "a removed caller still watches events"
    assert web.verify(made.id_token).active


def test_a_watch_on_a_shared_connection_ends_with_its_own_caller_only(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    proxy = connect(server, key=None)

    def as_caller(name: str) -> list[tuple[str, str]]:
        return [("authorization", f"Bearer {KEYS[name]}")]

    watch = EventServiceStub(proxy.channel).Watch(
        events.WatchRequest(cursor="now"), metadata=as_caller("admin"), timeout=30)
    next(watch)

    def call_as_web() -> None:
        """The last call on the connection is of a caller that may not watch."""
        AuthServiceStub(proxy.channel).FetchProviders(
            auth.FetchProvidersRequest(email=fresh_email()), metadata=as_caller("web"), timeout=10)

    call_as_web()
    assert names(change(server, policy={"pending_attempts_max": 7})) == {"policy.pending_attempts_max"}
    account = session(connect(server).sign_in(anonymous())).account.account_id
    assert next(each for each in watch if each.HasField("event")).event.account_id == account
    call_as_web()
    change(server, callers=[each for each in callers() if each["name"] != "admin"])
    begun = time.monotonic()
    with pytest.raises(grpc.RpcError) as ended:
        for _ in watch:
            pass
    assert ended.value.code() == StatusCode.UNAVAILABLE  # type: ignore[attr-defined]
    assert time.monotonic() - begun < 10, "a removed caller still watches events"


def test_a_new_caller_and_withdrawn_rights_apply_to_open_connections(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    web, shop, _admin, reader = callers()
    server.settings["callers"] = [web, reader]
    change(server)
    client, late = connect(server, key="reader"), connect(server, key="shop")
    token = session(connect(server).sign_in(anonymous())).id_token
    assert client.verify(token).active
    with expect_failure(*UNIDENTIFIED):
        late.verify(token)
    line = change(server, callers=[web, shop, {**reader, "methods": ["latchkey.v1.AuthService/*"]}])
    assert names(line) == {"callers[shop]", "callers[reader].methods"}
    late.verify(token)
    with expect_failure(StatusCode.PERMISSION_DENIED, "CALLER_NOT_ALLOWED"):
        client.verify(token)


def test_a_new_provider_works_and_the_others_keep_their_keys(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    every = providers(simulator.base)
    server = serve(providers=[each for each in every if each["id"] != "oidc.partner"], metrics=ON_A_FREE_PORT)
    client = connect(server)
    session(client.sign_in(assertion(simulator, "oidc.trusted")))
    with expect_failure(*NOT_ALLOWED):
        client.sign_in(assertion(simulator, "oidc.partner"))
    fetched = simulator.fetches("oidc.trusted", "keys")
    assert names(change(server, providers=every)) == {"providers[oidc.partner]"}
    session(client.sign_in(assertion(simulator, "oidc.partner")))
    session(client.sign_in(assertion(simulator, "oidc.trusted")))
    assert simulator.fetches("oidc.trusted", "keys") == fetched
    assert Scrape.of(server).sum("latchkey_fetches_total", provider="oidc.partner") > 0
    assert names(change(server, providers=[each for each in every if each["id"] != "oidc.trusted"])) == {
        "providers[oidc.trusted]"}
    with expect_failure(*NOT_ALLOWED):
        client.sign_in(assertion(simulator, "oidc.trusted"))


def test_a_changed_client_secret_is_used(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    github = next(each for each in latchkey_settings.providers(simulator.base) if each["id"] == "github.com")
    right = simulator.folder.parent / github["client_secret_file"]
    own = simulator.folder.parent / "changing.secret"
    own.write_text("wrong\n")
    web, *others = callers()
    server = serve(providers=[{**github, "client_secret_file": own.name}],
                   callers=[{**web, "redirect_uris": [BACK]}, *others])
    client = connect(server)

    def walk() -> types.Session:
        started: StartFlowResponse = client.start_flow("github.com", BACK)
        callback = simulator.walk(started.authorization_url, simulator.person())
        response = types.AuthorizationResponse(flow_id=started.flow_id, callback_uri=callback)
        return session(client.sign_in(types.Credential(authorization_response=response)))

    with pytest.raises(grpc.RpcError):
        walk()
    shutil.copy(right, own)
    line = hang_up(server)
    assert names(line) == {"providers[github.com].client_secret_file"}
    assert walk().account.account_id
    assert right.read_text().strip() not in server.log.read_text()


def test_policy_throttles_passwords_and_the_log_level_apply(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    client = connect(server)
    email = fresh_email()
    client.create(email)
    line = change(server, passwords={"bytes_min": 20}, throttles={"password_failures_max": 1},
                  log={"level": "debug"}, policy={"anonymous": False})
    assert names(line) == {
        "passwords.bytes_min", "throttles.password_failures_max", "log.level", "policy.anonymous"}
    with expect_failure(StatusCode.INVALID_ARGUMENT, "WEAK_PASSWORD"):
        client.create(fresh_email(), "nineteen characters")
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS"):
        client.sign_in(password(email, "wrong " + PASSWORD))
    with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_ATTEMPTS"):
        client.sign_in(password(email))
    with socket.create_connection(("127.0.0.1", server.port)) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
        plain.recv(100)
    until(lambda: any(line["message"] == "handshake failed" and line["level"] == "debug" for line in server.lines()))


def test_what_needs_a_restart_is_named_and_does_not_stop_the_rest(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    line = change(server, limits={"drain_seconds": 20}, policy={"anonymous": False}, reactors=1,
                  delivery={"queue_max": 7})
    assert names(line) == {"policy.anonymous"}
    assert names(line, "needs_restart") == {"limits.drain_seconds", "reactors", "delivery.queue_max"}
    client = connect(server)
    with expect_failure(*NOT_ALLOWED):
        client.sign_in(anonymous())
    line = change(server, policy={"anonymous": True})
    assert names(line) == {"policy.anonymous"}
    assert names(line, "needs_restart") == {"limits.drain_seconds", "reactors", "delivery.queue_max"}
    session(client.sign_in(anonymous()))


def test_changed_templates_are_used_for_the_next_message(
        serve: Callable[..., Server], connect: Callable[..., Client], folder: Any) -> None:
    templates = folder / "reloaded-templates" / "en"
    templates.mkdir(parents=True)
    text = "Subject: {title}\n\nOpen {{{{link}}}} for {{{{to}}}}.\n"
    (templates / "reset_password.txt").write_text(text.format(title="First"))
    server = serve(delivery={"template_folder": "reloaded-templates"})
    client = connect(server)
    client.create(email := fresh_email())
    client.send_password_reset(email)
    assert outbox.wait_for(server, "reset_password", email).subject == "First"
    (templates / "reset_password.txt").write_text(text.format(title="Second"))
    assert names(hang_up(server)) == {"delivery.template_folder"}
    client.send_password_reset(email)
    assert outbox.wait_for(server, "reset_password", email, count=2).subject == "Second"


def test_the_file_watch_waits_until_a_change_is_complete(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(reload={"watch_seconds": 1})
    client = connect(server)
    begun = server.log.stat().st_size
    server.settings["policy"] = {"anonymous": False}
    path = write(server)
    whole = path.read_text()
    path.write_text(whole[:200])
    threading.Event().wait(0.5)
    path.write_text(whole)
    assert names(line_after(server, begun)) == {"policy.anonymous"}
    with expect_failure(*NOT_ALLOWED):
        client.sign_in(anonymous())
    # A file that stays broken is reported once.
    begun = server.log.stat().st_size
    path.write_text(whole[:200])
    assert line_after(server, begun)["message"] == "configuration refused"
    threading.Event().wait(3.5)
    line_after(server, begun)


@contextlib.contextmanager
def slow_file(server: Server) -> Iterator[None]:
    """A configuration file whose first reader waits until the end of the block."""
    path = server.folder / f"latchkey-{server.port}.json5"
    path.unlink()
    os.mkfifo(path)
    begun = time.monotonic()
    server.signal(signal.SIGHUP)
    while True:
        try:
            # It fails until there is a reader.
            writing = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            break
        except OSError:
            assert time.monotonic() - begun < 60, "the server does not read the configuration file"
            time.sleep(0.02)
    path.unlink()
    write(server)
    try:
        yield
    finally:
        os.close(writing)


def test_a_slow_reload_delays_neither_the_metrics_nor_a_later_reload_nor_the_stop(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(metrics=ON_A_FREE_PORT)
    client = connect(server)
    begun = server.log.stat().st_size

    def outcomes() -> list[str]:
        return [line["message"] for line in server.lines(begun) if line["message"].startswith("configuration ")]

    with slow_file(server):
        session(client.sign_in(anonymous()))
        assert Scrape.of(server).sum("latchkey_config_reloads_total") == 0
        for _ in range(3):
            server.signal(signal.SIGHUP)
        time.sleep(0.5)
        assert not outcomes()
    until(lambda: len(outcomes()) >= 2)
    time.sleep(0.5)
    assert outcomes() == ["configuration unchanged"] * 2, "the signals during the reload led to one more"
    assert Scrape.of(server)("latchkey_config_reloads_total", outcome="unchanged") == 2
    with slow_file(server):
        server.signal()
        assert server.wait() == 0
