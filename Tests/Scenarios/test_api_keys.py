"""API keys of a caller: several at a time, with an end, and what stays the caller's when its credential changes."""

from __future__ import annotations

import datetime
import hashlib
import secrets
import subprocess
import threading
from collections.abc import Callable
from typing import Any

import grpc
from clients import Client, anonymous, assertion, conflict, fresh_email, password, session
from configuration import callers
from failures import expect_failure
from grpc import StatusCode
from metrics import ON_A_FREE_PORT, Scrape
from processes import LATCHKEYD, Server, Simulator, write
from reloads import change
from waiting import until

UNIDENTIFIED = (StatusCode.UNAUTHENTICATED, "CALLER_UNIDENTIFIED")
DAY = 86_400


def fresh_key() -> str:
    return "lk_" + secrets.token_hex(32)


def entry(key: str, name: str, ends_in: float | None = None) -> dict[str, str]:
    made = {"sha256": hashlib.sha256(key.encode()).hexdigest(), "name": name}
    if ends_in is not None:
        end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=ends_in)
        made["not_after"] = end.strftime("%Y-%m-%dT%H:%M:%SZ")
    return made


def with_keys(*keys: dict[str, str]) -> list[dict[str, Any]]:
    """The usual callers; `web` has these keys."""
    web, *others = callers()
    return [{**web, "api_keys": list(keys)}, *others]


def test_keys_are_valid_together_until_their_end_and_are_metered_by_name(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    old, new, expired = fresh_key(), fresh_key(), fresh_key()
    keys = (entry(old, "old", ends_in=3 * DAY), entry(new, "new"), entry(expired, "past", ends_in=-60))
    server = serve(callers=with_keys(*keys), metrics=ON_A_FREE_PORT)
    for key in (old, new):
        session(connect(server, key=key).sign_in(anonymous()))
    with expect_failure(*UNIDENTIFIED):
        connect(server, key=expired).sign_in(anonymous())

    def rejected() -> list[dict[str, Any]]:
        return [line for line in server.lines() if line.get("key") == "past" and line["message"] == "call"]
    until(rejected)
    [line] = rejected()
    assert (line["caller"], line["debug"], line["outcome"]) == (
        "web", "the API key has expired", "CALLER_UNIDENTIFIED")
    seen = Scrape.of(server)
    assert seen("latchkey_refusals_total", limit="caller_key_expired") == 1
    now = datetime.datetime.now().timestamp()
    for name, used in (("old", True), ("new", True), ("past", False)):
        last = seen("latchkey_api_key_last_use_timestamp_seconds", caller="web", key=name)
        assert now - 30 < last < now + 2 if used else last == 0
    assert now + 2 * DAY < seen("latchkey_api_key_not_after_seconds", caller="web", key="old") < now + 3 * DAY
    assert seen("latchkey_api_key_not_after_seconds", caller="web", key="new") == 0
    assert not any(secret in server.log.read_text() + seen.text for secret in (old, new, expired))


def test_a_key_is_replaced_under_load_without_a_failed_call(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    old, new = fresh_key(), fresh_key()
    server = serve(callers=with_keys(entry(old, "old")))
    current, stop, failed = [old], threading.Event(), list[str]()
    # The key of each thread's last call, and the number of its calls.
    done = [(old, 0)] * 6

    def work(number: int) -> None:
        client, used = connect(server, key=current[0]), current[0]
        made = session(client.sign_in(anonymous()))
        while not stop.is_set():
            if used != current[0]:
                client, used = connect(server, key=current[0]), current[0]
            try:
                made = client.refresh(made.refresh_token)
            except grpc.RpcError as error:
                failed.append(repr(error))
            done[number] = (used, done[number][1] + 1)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    try:
        for keys, used in (([entry(old, "old"), entry(new, "new")], old), ([entry(old, "old"), entry(new, "new")], new),
                           ([entry(new, "new")], new)):
            change(server, callers=with_keys(*keys))
            current[0] = used
            before = [count for _, count in done]
            # Each thread notices the change at its next call.
            until(lambda: all(key == used and count >= was + 10 for (key, count), was in zip(done, before)))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failed, failed[:3]
    with expect_failure(*UNIDENTIFIED):
        connect(server, key=old).sign_in(anonymous())


def test_a_key_that_ends_within_14_days_is_warned_of(serve: Callable[..., Server]) -> None:
    keys = [entry(fresh_key(), name, ends) for name, ends in
            (("soon", 13.9 * DAY), ("later", 14.1 * DAY), ("over", -1), ("always", None))]
    server = serve(callers=with_keys(*keys))
    logged = [line["message"] for line in server.lines() if line["level"] == "warning" and "API key" in line["message"]]
    checked = subprocess.run(
        [LATCHKEYD, "--config", write(server), "--check-config"], capture_output=True, text=True, check=True)
    for texts in (logged, checked.stderr.splitlines()):
        assert [("soon" in text, "over" in text) for text in texts] == [(True, False), (False, True)], texts
    assert "expires at" in logged[0] and "expired at" in logged[1]


def test_a_caller_with_one_key_and_a_server_with_one_master_key_have_short_forms(serve: Callable[..., Server]) -> None:
    web, *others = callers()
    [key] = web.pop("api_keys")
    server = serve(callers=[web | {"api_key_sha256": key["sha256"]}, *others])
    server.stop()
    server.settings["secrets"] = {"master_key_file": "master.key"}
    server.launch()
    client = Client(server, key="web")
    session(client.sign_in(anonymous()))
    client.close()


def test_a_caller_that_changes_its_credential_keeps_what_belongs_to_its_name(
        server: Server, connect: Callable[..., Client], simulator: Simulator) -> None:
    for first, then in ((web_key := {"key": "web"}, web_certificate := {"key": None, "certificate": "web"}),
                        (web_certificate, web_key)):
        before, after = connect(server, **first), connect(server, **then)
        made = before.create(email := fresh_email())
        guest = {"client": {"device_id": "a phone"}, "idempotency_key": secrets.token_urlsafe(24)}
        invited = session(before.sign_in(anonymous(), **guest))
        exists = conflict(before.sign_in(assertion(simulator, "oidc.corp", email=email)))

        assert after.refresh(made.refresh_token).session_id == made.session_id
        assert session(after.sign_in(anonymous(), **guest)).session_id == invited.session_id
        linked = session(after.sign_in(password(email), pending_token=exists.pending_token))
        assert "oidc.corp" in {each.provider_id for each in linked.account.providers}
