"""Tests the simulator with a stock client library (PyJWT), which shares no code with it.

The library accepts valid tokens of every algorithm with the served key set and notices every way of breaking a token.
Every fault of the HTTPS server does what its name says.
"""

from __future__ import annotations

import json
import urllib.error
from pathlib import Path

import jwt
import pytest
from conftest import Running

# Without Ed25519, RFC 9864's name of EdDSA, which this client does not support yet.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


def verify(simulator: Running, issuer: str, token: str, *, audience: str = "latchkey",
           algorithms: list[str] | None = None) -> dict[str, object]:
    """What a relying party does: discovery, key set, the key of the token's `kid`, then every rule."""
    discovery = json.loads(simulator.get(f"/{issuer}/.well-known/openid-configuration"))
    keys = jwt.PyJWKClient(discovery["jwks_uri"], ssl_context=simulator.trust)
    key = keys.get_signing_key_from_jwt(token)
    return jwt.decode(token, key.key, algorithms=algorithms or ALGORITHMS, audience=audience,
                      issuer=discovery["issuer"], options={"require": ["exp", "iat", "sub"]})


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_stock_client_accepts_a_token_of_each_algorithm(simulator: Running, algorithm: str) -> None:
    token = simulator.command("mint", "--issuer", "corp", "--subject", "bo", "--algorithm", algorithm)
    assert verify(simulator, "corp", token, algorithms=[algorithm])["sub"] == "bo"


def test_the_stand_in_for_google_names_google_as_its_issuer_and_its_client_as_audience(simulator: Running) -> None:
    token = simulator.command("mint", "--issuer", "google", "--email", "a@gmail.com", "--verified", "--hd", "x.org")
    claims = verify(simulator, "google", token, audience="google-client")
    assert claims["iss"] == "https://accounts.google.com"
    assert (claims["email"], claims["email_verified"], claims["hd"]) == ("a@gmail.com", True, "x.org")


def test_each_claim_can_be_set_and_left_out(simulator: Running) -> None:
    token = simulator.command(
        "mint", "--nonce", "n", "--azp", "p", "--name", "Al", "--picture", "https://x/y.png", "--username", "al",
        "--audience", "latchkey", "--audience", "other", "--verified-as-string", "--claim", "level=3",
        "--access-token", "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y")
    claims = verify(simulator, "corp", token)
    assert claims["aud"] == ["latchkey", "other"]
    assert claims["email_verified"] == "true" and claims["level"] == 3
    assert (claims["nonce"], claims["azp"], claims["name"], claims["preferred_username"]) == ("n", "p", "Al", "al")
    # The example of OpenID Connect Core 1.0, appendix A.3.
    assert claims["at_hash"] == "77QmUPtjPfzWtF2AnpK9RQ"
    assert "email" not in claims and "hd" not in claims


@pytest.mark.parametrize("spoiled, noticed", [
    (["--expired"], jwt.ExpiredSignatureError),
    (["--not-yet-valid"], jwt.ImmatureSignatureError),
    (["--from-future"], jwt.ImmatureSignatureError),
    (["--no-exp"], jwt.MissingRequiredClaimError),
    (["--no-iat"], jwt.MissingRequiredClaimError),
    (["--without", "sub"], jwt.MissingRequiredClaimError),
    (["--audience", "someone-else"], jwt.InvalidAudienceError),
    (["--issuer-claim", "https://accounts.google.com/"], jwt.InvalidIssuerError),
    (["--wrong-key"], jwt.InvalidSignatureError),
    (["--wrong-key", "--algorithm", "ES256"], jwt.InvalidSignatureError),
    (["--unknown-key"], jwt.PyJWKClientError),
    (["--algorithm", "none"], jwt.PyJWKClientError),
    (["--algorithm", "HS256"], jwt.InvalidTokenError),
])
def test_a_stock_client_refuses_each_spoiled_token(
        simulator: Running, spoiled: list[str], noticed: type[Exception]) -> None:
    token = simulator.command("mint", *spoiled)
    with pytest.raises(noticed):
        verify(simulator, "corp", token)


def test_a_foreign_header_member_is_carried(simulator: Running) -> None:
    token = simulator.command("mint", "--header", "jku=https://evil.example/jwks")
    assert jwt.get_unverified_header(token)["jku"] == "https://evil.example/jwks"


def test_after_a_rotation_new_tokens_have_a_new_key_and_old_ones_still_verify(simulator: Running) -> None:
    old = simulator.command("mint", "--issuer", "rotating")
    simulator.command("rotate", "--issuer", "rotating")
    fresh = simulator.command("mint", "--issuer", "rotating")
    assert jwt.get_unverified_header(old)["kid"] != jwt.get_unverified_header(fresh)["kid"]
    assert verify(simulator, "rotating", old) and verify(simulator, "rotating", fresh)
    simulator.command("rotate", "--issuer", "rotating", "--drop-old")
    for gone in (old, fresh):
        with pytest.raises(jwt.PyJWKClientError):
            verify(simulator, "rotating", gone)


def test_an_unpublished_rotation_signs_with_a_key_that_nobody_can_find(simulator: Running) -> None:
    simulator.command("rotate", "--issuer", "rotating", "--unpublished")
    with pytest.raises(jwt.PyJWKClientError):
        verify(simulator, "rotating", simulator.command("mint", "--issuer", "rotating"))


def test_only_public_halves_are_served(simulator: Running) -> None:
    keys = json.loads(simulator.get("/corp/jwks"))["keys"]
    assert {key["kty"] for key in keys} == {"RSA", "EC", "OKP"}
    assert not any("d" in key for key in keys)


def test_each_misbehaviour_is_what_its_name_says(simulator: Running) -> None:
    def answer(behaviour: str) -> bytes:
        simulator.command("behave", "--issuer", "moody", "--as", behaviour)
        return simulator.get("/moody/jwks", timeout_seconds=1 if behaviour == "hang" else 30)

    assert "keys" in json.loads(answer("well"))
    assert len(answer("huge")) > 50_000_000
    assert answer("html").startswith(b"<!doctype html>")
    with pytest.raises(json.JSONDecodeError):
        json.loads(answer("broken"))
    with pytest.raises(TimeoutError):
        answer("hang")
    for status, behaviour in ((500, "error"), (404, "redirect")):
        with pytest.raises(urllib.error.HTTPError) as refused:
            answer(behaviour)
        assert refused.value.code == status
    simulator.command("behave", "--issuer", "moody")
    assert "keys" in json.loads(simulator.get("/moody/jwks"))


def test_any_document_can_be_served_in_place_of_the_real_one(simulator: Running) -> None:
    body = simulator.folder / "body.json"
    body.write_text('{"keys":[{"kty":"RSA","n":"Dw","e":"AQAB","kid":"tiny"}]}')
    simulator.command("behave", "--issuer", "moody", "--document", "jwks", "--body", str(body))
    assert simulator.get("/moody/jwks") == body.read_bytes()
    simulator.command("behave", "--issuer", "moody")


def test_every_request_is_noted_by_issuer_and_document(simulator: Running) -> None:
    log = simulator.folder / "requests.log"
    before = log.read_text().splitlines() if log.exists() else []
    simulator.get("/corp/jwks")
    assert log.read_text().splitlines()[len(before):] == ["corp jwks"]


def test_an_unknown_issuer_or_a_bad_option_ends_with_one_line_saying_why(simulator: Running) -> None:
    with pytest.raises(RuntimeError, match=r"^simulator: .*no issuer 'nobody' here.*\n$"):
        simulator.command("mint", "--issuer", "nobody")


def test_the_settings_for_latchkey_name_each_provider_and_files_that_are_there(simulator: Running) -> None:
    listed = json.loads(simulator.command(
        "settings", "--base", simulator.base, "--named-folder", str(simulator.folder)))
    assert len({each["id"] for each in listed}) == len(listed) == 11
    for each in listed:
        file = each.get("client_secret_file") or each["private_key_file"]
        assert Path(file).read_text().strip()
        assert all(value.startswith(simulator.base) for name, value in each.items() if name.endswith("_url"))
