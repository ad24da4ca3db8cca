"""Signing keys listed, rotated and revoked by administrators, with the service and with verifiers outside."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable

import databases
import grpc
import jwt
import pytest
from clients import Client, custom, fresh_email, password, session
from configuration import KEYS
from failures import expect_failure, read
from grpc import StatusCode
from keys_endpoint import KEYS as JWKS
from keys_endpoint import Verifier, ask, published, trust
from latchkey.v1.admin_signing_keys_pb2 import (
    SIGNING_KEY_STATE_SIGNING,
    SIGNING_KEY_STATE_WAITING,
    SigningKeyInfo,
)
from latchkey.v1.event_service_pb2 import EVENT_TYPE_SIGNING_KEY_REVOKED, EVENT_TYPE_SIGNING_KEY_ROTATED
from metrics import Scrape
from processes import LATCHKEYD, Server
from waiting import until

LATCHKEY = LATCHKEYD.parent / "latchkey"
CACHE = "Cache-Control"


def kid(id_token: str) -> str:
    return str(jwt.get_unverified_header(id_token)["kid"])


def signing(keys: list[SigningKeyInfo]) -> str:
    [key] = [key for key in keys if key.state == SIGNING_KEY_STATE_SIGNING]
    return key.key_id


def details(admin: Client, kind: int) -> list[tuple[str, dict[str, str]]]:
    stream = admin.watch("", timeout=60)
    # A response without an event follows the last one.
    told = [each.event for each in itertools.takewhile(lambda each: each.HasField("event"), stream)]
    stream.cancel()
    return [(event.caller, json.loads(event.details_json)) for event in told if event.type == kind]


def test_a_revoked_key_is_gone_immediately_and_sessions_continue_with_its_successor(
        publishing: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = publishing(policy={"custom_token": True})
    web, admin = connect(server), connect(server, key="admin")
    email = fresh_email()
    made = web.create(email)
    token = admin.custom_token(made.account.account_id)
    [stolen] = admin.list_signing_keys()
    assert stolen.key_id == kid(made.id_token) and stolen.state == SIGNING_KEY_STATE_SIGNING
    assert stolen.algorithm == "ES256" and 0 <= stolen.age.ToSeconds() < 60 and not stolen.HasField("retired_at")
    # A stock verifier fetches the keys when it meets an unknown one, by default not more often than twice a minute.
    verifier = jwt.PyJWKClient(f"https://localhost:{server.settings['keys']['port']}{JWKS}",
                               ssl_context=trust(server), cooldown_duration=0)
    verifier.get_signing_key_from_jwt(made.id_token)

    begun = time.time()
    answer = admin.revoke_signing_key(stolen.key_id)
    [successor] = answer.keys
    assert successor.key_id == answer.successor_key_id != stolen.key_id
    assert [key["kid"] for key in published(server)] == [successor.key_id]
    # Every call with a token of the key fails with the documented reason, and nothing else does.
    assert not web.verify(made.id_token).active
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_ID_TOKEN"):
        web.get(made.id_token)
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_CUSTOM_TOKEN"):
        web.sign_in(custom(token))
    refreshed = web.refresh(made.refresh_token)
    assert refreshed.session_id == made.session_id and kid(refreshed.id_token) == successor.key_id
    assert web.verify(refreshed.id_token).active
    assert kid(session(web.sign_in(password(email))).id_token) == successor.key_id
    assert verifier.get_signing_key_from_jwt(refreshed.id_token).key_id == successor.key_id
    # The times follow from the interval of reading and from what caches may do.
    wait = 60 if databases.ON_POSTGRES else 0
    assert begun + wait - 1 <= answer.servers_reject_at.ToSeconds() <= time.time() + wait + 1
    cached = int(ask(server, "GET", JWKS)[0].headers[CACHE].split("max-age=")[1].split(",")[0])
    assert answer.verifiers_reject_at.ToSeconds() - answer.servers_reject_at.ToSeconds() == cached == 1800
    [(caller, about)] = details(admin, EVENT_TYPE_SIGNING_KEY_REVOKED)
    assert caller == "admin" and about.pop("request_id")
    assert about == {"key_id": stolen.key_id, "successor_key_id": successor.key_id}
    # A repeat names no key that is there, and a restart brings none back.
    with expect_failure(StatusCode.NOT_FOUND, "SIGNING_KEY_NOT_FOUND"):
        admin.revoke_signing_key(stolen.key_id)
    server.stop()
    server.launch()
    assert [key["kid"] for key in published(server)] == [successor.key_id]
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_ID_TOKEN"):
        connect(server).get(made.id_token)


def test_a_key_that_was_rotated_first_takes_over_without_effect_on_verifiers(
        publishing: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = publishing()
    web, admin = connect(server), connect(server, key="admin")
    made = web.create(fresh_email())
    rotated = admin.rotate_signing_keys()
    old, new = rotated.keys
    assert (old.state, new.state) == (SIGNING_KEY_STATE_SIGNING, SIGNING_KEY_STATE_WAITING)
    assert rotated.new_key_id == new.key_id and old.retired_at == new.active_from and not new.HasField("age")
    assert admin.rotate_signing_keys().new_key_id == ""
    # Both keys are in its cache, so it need not fetch them again.
    verifier = Verifier(server)
    verifier.check(made.id_token)
    answer = admin.revoke_signing_key(old.key_id)
    assert answer.successor_key_id == new.key_id and signing(list(answer.keys)) == new.key_id
    verifier.check(web.refresh(made.refresh_token).id_token)
    assert verifier.fetches == 1
    [(caller, about)] = details(admin, EVENT_TYPE_SIGNING_KEY_ROTATED)
    assert caller == "admin" and about["key_id"] == new.key_id
    assert int(about["signs_from_millis"]) == new.active_from.ToMilliseconds()


def test_a_revoked_key_that_waits_is_replaced_by_one_with_the_whole_lead(admin_of: Callable[[], Client]) -> None:
    admin = admin_of()
    [old, waiting] = admin.rotate_signing_keys().keys
    left, replacement = admin.revoke_signing_key(waiting.key_id).keys
    assert left.key_id == old.key_id and left.state == SIGNING_KEY_STATE_SIGNING
    assert replacement.state == SIGNING_KEY_STATE_WAITING and replacement.active_from == left.retired_at
    assert replacement.active_from.ToSeconds() - replacement.published_at.ToSeconds() == 3600


@pytest.fixture
def admin_of(serve: Callable[..., Server], connect: Callable[..., Client]) -> Callable[[], Client]:
    return lambda: connect(serve(), key="admin")


def test_parallel_administrators_on_all_servers_revoke_each_key_once_and_one_key_signs(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    first = serve()
    servers = [first]
    if databases.ON_POSTGRES:
        servers.append(serve(store={"postgres": first.settings["store"]["postgres"]}))
    web = connect(first)
    made = web.create(fresh_email())
    admins = [connect(servers[index % len(servers)], key="admin") for index in range(8)]
    for _ in range(5):
        known = [key.key_id for key in admins[0].rotate_signing_keys().keys]
        start, outcomes = threading.Barrier(len(admins)), []

        def act(index: int, admin: Client) -> None:
            start.wait()
            try:
                if index % 4 == 3:
                    admin.rotate_signing_keys()
                else:
                    admin.revoke_signing_key(known[index % 2])
                    outcomes.append("revoked")
            except grpc.RpcError as error:
                outcomes.append(read(error).reason)

        threads = [threading.Thread(target=act, args=each) for each in enumerate(admins)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["SIGNING_KEY_NOT_FOUND"] * (len(outcomes) - 2) + ["revoked"] * 2
        left = admins[0].list_signing_keys()
        assert not {key.key_id for key in left} & set(known) and signing(left)
        made = web.refresh(made.refresh_token)
        assert web.verify(made.id_token).active


@pytest.mark.skipif(not databases.ON_POSTGRES, reason="files have one server")
def test_another_server_rejects_a_revoked_key_after_its_next_look(
        publishing: Callable[..., Server], connect: Callable[..., Client]) -> None:
    # Keys are read four times in the lead.
    first = publishing(tokens={"publish_lead_seconds": 8})
    other = publishing(tokens={"publish_lead_seconds": 8}, store={"postgres": first.settings["store"]["postgres"]})
    made = connect(first).create(fresh_email())
    far = connect(other)
    assert far.verify(made.id_token).active
    answer = connect(first, key="admin").revoke_signing_key(kid(made.id_token))
    until(lambda: not far.verify(made.id_token).active)
    assert time.time() <= answer.servers_reject_at.ToSeconds() + 10
    assert [key["kid"] for key in published(other)] == [answer.successor_key_id]
    assert far.verify(far.refresh(made.refresh_token).id_token).active


def test_the_start_of_the_signing_key_is_a_metric(
        publishing: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = publishing()
    admin = connect(server, key="admin")

    def start() -> float:
        return Scrape.of(server).samples["latchkey_signing_key_active_timestamp_seconds", frozenset()]

    [key] = admin.list_signing_keys()
    assert int(start()) == key.active_from.ToSeconds()
    admin.revoke_signing_key(key.key_id)
    # The successor starts earlier by the largest difference of clocks.
    assert time.time() - 65 < start() < time.time()


def test_the_command_lists_rotates_and_revokes(serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(server.folder), "LATCHKEY_SERVER": server.address,
                       "LATCHKEY_CA": str(server.folder / "authority.pem"), "LATCHKEY_API_KEY": KEYS["admin"]}
        return subprocess.run([LATCHKEY, "keys", *words], env=environment, capture_output=True, text=True, timeout=60)

    [key] = json.loads(run("list", "--json").stdout)["keys"]
    assert set(key) == {"key_id", "algorithm", "state", "published_at", "active_from", "retired_at", "age_seconds"}
    assert key["state"] == "signing" and key["retired_at"] is None
    assert run("list").stdout.startswith(f"{key['key_id']} ES256 signing, from {key['active_from']}, age ")
    rotated = json.loads(run("rotate", "--json").stdout)
    assert rotated["outcome"] == "rotated" and [each["state"] for each in rotated["keys"]] == ["signing", "waiting"]
    assert "Unchanged: a new key waits already." in run("rotate").stdout
    revoked = run("revoke", key["key_id"])
    assert revoked.returncode == 0 and revoked.stderr == ""
    for line in (f"Revoked: key {key['key_id']}", f"  Successor: key {rotated['new_key_id']}",
                 "  All servers reject its tokens from: ", "  Verifiers with cached keys reject them from: "):
        assert line in revoked.stdout
    again = json.loads(run("revoke", rotated["new_key_id"], "--json").stdout)
    assert set(again) == {"outcome", "key_id", "successor_key_id", "servers_reject_at", "verifiers_reject_at", "keys"}
    refused = run("revoke", key["key_id"])
    assert refused.returncode == 1 and refused.stdout == "" and "SIGNING_KEY_NOT_FOUND" in refused.stderr


def test_only_callers_with_the_right_may_call(web: Client) -> None:
    for call in (web.list_signing_keys, web.rotate_signing_keys, lambda: web.revoke_signing_key("k")):
        with expect_failure(StatusCode.PERMISSION_DENIED, "CALLER_NOT_ALLOWED"):
            call()
