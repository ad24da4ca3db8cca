"""The signing keys: fetched over HTTPS by independent libraries, and replaced without any effect on users."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from datetime import datetime

import jwt
import pytest
from clients import Client, fresh_email, password, session
from keys_endpoint import AUDIENCE, DISCOVERY, ISSUER, Verifier, ask, published, trust
from processes import Server
from waiting import until

LEAD_SECONDS = 8


def kid(id_token: str) -> str:
    return str(jwt.get_unverified_header(id_token)["kid"])


def test_check_101_tokens_verify_with_the_https_keys_throughout_a_rotation(
        publishing: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = publishing(tokens={"publish_lead_seconds": LEAD_SECONDS})
    web, email = connect(server), fresh_email()
    made = web.create(email)
    old = kid(made.id_token)
    assert [key["kid"] for key in published(server)] == [old]
    # They fetch at different times, so that one of them does so at the worst time.
    verifiers = [Verifier(server) for _ in range(4)]
    for verifier in verifiers:
        verifier.check(made.id_token)
        time.sleep(0.9)
    minted = [made]

    def mint() -> None:
        fresh = web.refresh(minted[-1].refresh_token) if len(minted) % 10 else session(web.sign_in(password(email)))
        minted.append(fresh)
        for verifier in verifiers:
            assert verifier.check(fresh.id_token)["sub"] == made.account.account_id
            verifier.check(made.id_token)
            verifier.check(minted[len(minted) // 2].id_token)
        if kid(fresh.id_token) == old:
            time.sleep(0.02)

    for _ in range(20):
        mint()
    server.signal(signal.SIGUSR1)
    asked = time.monotonic()
    while time.monotonic() < asked + LEAD_SECONDS + 4 or kid(minted[-21].id_token) == old:
        mint()
    new = kid(minted[-1].id_token)
    assert new != old and all(verifier.kids == {old, new} and verifier.fetches > 2 for verifier in verifiers)
    signers = [kid(each.id_token) for each in minted]
    assert signers == sorted(signers, key=[old, new].index), "once, and never back"
    first = signers.index(new)
    assert 20 < first < len(signers) - 20, "tokens from before, during and after"
    # Users did not have to sign in again, and the service accepts its own tokens.
    assert all(web.verify(each.id_token).active for each in (made, minted[first - 1], minted[first], minted[-1]))
    assert {key["kid"] for key in published(server)} == {old, new}
    assert json.loads(web.signing_keys()) == {"keys": published(server)}


def test_check_101_a_key_is_published_before_it_signs_and_cannot_be_hurried(
        publishing: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = publishing(tokens={"publish_lead_seconds": 4})
    web = connect(server)
    made = web.create(fresh_email())
    server.signal(signal.SIGUSR1)
    until(lambda: len(published(server)) != 1)
    seen = time.monotonic()
    server.signal(signal.SIGUSR1)
    while kid((made := web.refresh(made.refresh_token)).id_token) == published(server)[0]["kid"]:
        assert time.monotonic() < seen + 60
        time.sleep(0.02)
    signed_at = time.time()
    assert len(published(server)) == 2
    lines = [line for line in server.lines() if line["message"] == "signing key published"]
    assert [line["key"] for line in lines] == [key["kid"] for key in published(server)]
    assert signed_at - datetime.fromisoformat(lines[1]["at"]).timestamp() > 2
    # A restart keeps the key and makes no other.
    server.stop()
    server.launch()
    assert kid(connect(server).refresh(made.refresh_token).id_token) == lines[1]["key"]
    assert len(published(server)) == 2


def test_another_algorithm_in_the_configuration_is_published_before_it_is_used(
        publishing: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = publishing(tokens={"publish_lead_seconds": 4})
    made = connect(server).create(fresh_email())
    server.stop()
    server.settings["tokens"]["algorithm"] = "EdDSA"
    server.launch()
    web = connect(server)
    assert sorted(key["alg"] for key in published(server)) == ["ES256", "EdDSA"]
    discovered = json.loads(ask(server, "GET", DISCOVERY)[1])
    assert discovered["id_token_signing_alg_values_supported"] == ["ES256", "EdDSA"]
    verifier = Verifier(server)
    verifier.check(made.id_token)
    begun = time.monotonic()
    while jwt.get_unverified_header((made := web.refresh(made.refresh_token)).id_token)["alg"] == "ES256":
        verifier.check(made.id_token)
        assert time.monotonic() < begun + 60
        time.sleep(0.05)
    verifier.check(made.id_token)


def test_a_start_with_the_wrong_master_key_does_not_change_the_keys(
        publishing: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = publishing()
    made = connect(server).create(fresh_email())
    before = published(server)
    server.stop()
    right = dict(server.settings["secrets"]), dict(server.settings["tokens"])
    wrong = server.folder / "wrong-master.key"
    wrong.write_text("7b" * 32)
    wrong.chmod(0o600)
    # A key is due, so a server would replace the signing key.
    server.settings["secrets"]["master_key_files"] = [wrong.name]
    server.settings["tokens"]["algorithm"] = "EdDSA"
    with pytest.raises(RuntimeError, match="secrets.master_key_files"):
        server.launch()
    assert server.wait() == 78
    server.settings["secrets"], server.settings["tokens"] = right
    server.launch()
    assert published(server) == before
    assert kid(connect(server).refresh(made.refresh_token).id_token) == kid(made.id_token)


def test_a_stock_key_client_finds_the_keys_by_discovery(endpoint: Server, connect: Callable[..., Client]) -> None:
    made = connect(endpoint).create(fresh_email())
    discovered = json.loads(ask(endpoint, "GET", DISCOVERY)[1])
    assert discovered["issuer"] == ISSUER
    client = jwt.PyJWKClient(discovered["jwks_uri"], ssl_context=trust(endpoint))
    key = client.get_signing_key_from_jwt(made.id_token)
    claims = jwt.decode(made.id_token, key.key, algorithms=discovered["id_token_signing_alg_values_supported"],
                        audience=AUDIENCE, issuer=ISSUER)
    assert claims["sub"] == made.account.account_id


def test_the_keys_are_served_only_if_configured(server: Server) -> None:
    assert not any(line["message"] == "keys" for line in server.lines())
