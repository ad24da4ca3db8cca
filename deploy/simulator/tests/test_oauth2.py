"""The authorization server's strictness at every OAuth 2.0 provider, with Authlib's client."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import issuance
import pytest
from authlib.integrations.base_client.errors import OAuthError
from conftest import CALLBACK, Running
from protocols.people import Person
from relying import ENDPOINTS, STATE, Relying
from walking import NoCallback

PROVIDERS = [name for name in ENDPOINTS if name != "apple"]
# The text of the same error, if the provider has its own.
WORDS = {"github": {"invalid_grant": "bad_verification_code", "invalid_client": "incorrect_client_credentials"}}


def refused(provider: str, error: str, act: Callable[[], Any]) -> None:
    """Facebook's errors are objects, which Authlib does not read as such."""
    if provider == "facebook":
        with pytest.raises((OAuthError, KeyError, TypeError, AttributeError)):
            assert "access_token" in act()
        return
    with pytest.raises(OAuthError) as problem:
        act()
    assert problem.value.error == WORDS.get(provider, {}).get(error, error)


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_code_is_redeemed_once_and_a_replay_takes_its_tokens_back(
        simulator: Running, ada: Person, name: str) -> None:
    client = Relying(simulator, name)
    answer = client.callback(ada)
    assert answer["state"] == STATE
    token = client.redeem(answer["code"])["access_token"]
    refused(name, "invalid_grant", lambda: client.redeem(answer["code"]))
    provider: Any = issuance.provider(simulator.folder, name)
    assert provider.ledger.get(provider.kind("access"), token) is None


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_code_is_bound_to_redirect_uri_proof_key_and_client(simulator: Running, ada: Person, name: str) -> None:
    client = Relying(simulator, name)
    other = Relying(simulator, name, secret="another-secret")
    other.session.client_id = "another-app"
    if name != "linkedin":
        refused(name, "invalid_grant", lambda: client.redeem(client.callback(ada)["code"], code_verifier="x" * 43))
    mismatch = "redirect_uri_mismatch" if name == "github" else "invalid_grant"
    refused(name, mismatch, lambda: client.redeem(client.callback(ada)["code"], redirect_uri=CALLBACK + "/"))
    code = client.callback(ada)["code"]
    refused(name, "invalid_grant", lambda: other.redeem(code))
    assert client.redeem(code)["access_token"]


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_wrong_secret_is_an_invalid_client(simulator: Running, ada: Person, name: str) -> None:
    wrong = Relying(simulator, name, secret="wrong")
    refused(name, "invalid_client", lambda: wrong.tokens(ada))


@pytest.mark.parametrize("name, status", [("corp", 401), ("discord", 401), ("github", 200)])
def test_the_status_of_an_invalid_client(simulator: Running, name: str, status: int) -> None:
    client = Relying(simulator, name)
    answer = client.session.post(client.token_endpoint, withhold_token=True, auth=("latchkey", "wrong"),
                                 data={"grant_type": "authorization_code", "code": "c", "redirect_uri": CALLBACK})
    assert answer.status_code == status


@pytest.mark.parametrize("name", PROVIDERS)
def test_saying_no_is_an_error_in_the_redirect(simulator: Running, ada: Person, name: str) -> None:
    answer = Relying(simulator, name).callback(ada, deny=True)
    assert answer["state"] == STATE and "code" not in answer
    assert answer["error"] == ("user_cancelled_login" if name == "linkedin" else "access_denied")


@pytest.mark.parametrize("changed", [
    {"redirect_uri": CALLBACK + "/"}, {"redirect_uri": "https://APP.example/callback"},
    {"redirect_uri": CALLBACK + "?a=b"}, {"client_id": "nobody"},
], ids=str)
@pytest.mark.parametrize("name", ["github", "yahoo", "corp"])
def test_an_unknown_client_or_redirect_uri_is_told_to_the_person_only(
        simulator: Running, ada: Person, name: str, changed: dict[str, str]) -> None:
    client = Relying(simulator, name)
    url = client.url()
    for key, value in changed.items():
        old = {"redirect_uri": CALLBACK, "client_id": "latchkey"}[key]
        url = url.replace(f"{key}={quote(old, safe='')}", f"{key}={quote(value, safe='')}")
    with pytest.raises(NoCallback, match="400"):
        simulator.walk(url, ada)


def test_yahoo_takes_no_redirect_to_localhost(simulator: Running, ada: Person) -> None:
    local = "http://localhost:3000/callback"
    with pytest.raises(NoCallback, match="redirect"):
        simulator.walk(Relying(simulator, "yahoo", redirect_uri=local).url(), ada)
    assert simulator.walk(Relying(simulator, "github", redirect_uri=local).url(), ada).startswith(local)


def test_x_demands_a_proof_key_and_everybody_refuses_the_plain_kind(simulator: Running, ada: Person) -> None:
    without = Relying(simulator, "twitter", code_challenge_method=None)
    without.verifier = None
    assert without.callback(ada)["error"] == "invalid_request"
    plain = Relying(simulator, "corp", code_challenge_method=None)
    plain.verifier = None
    url = plain.url(code_challenge="x" * 43, code_challenge_method="plain")
    assert "error=invalid_request" in simulator.walk(url, ada)


def test_a_verifier_without_a_challenge_is_a_downgrade(simulator: Running, ada: Person) -> None:
    client = Relying(simulator, "corp", code_challenge_method=None)
    client.verifier = None
    code = client.callback(ada)["code"]
    with pytest.raises(OAuthError, match="invalid_grant"):
        client.redeem(code, code_verifier="x" * 43)


@pytest.mark.parametrize("name, parameters, refreshes", [
    ("twitter", {}, True), ("twitter", {"scope": "users.read tweet.read"}, False), ("corp", {}, True),
    ("google", {}, False), ("google", {"access_type": "offline"}, True), ("github", {}, False),
], ids=str)
def test_a_refresh_token_comes_where_the_provider_gives_one_and_works(
        simulator: Running, ada: Person, name: str, parameters: dict[str, str], refreshes: bool) -> None:
    scope = {"scope": parameters["scope"]} if "scope" in parameters else {}
    client = Relying(simulator, name, **scope)
    tokens = client.tokens(ada, **{key: value for key, value in parameters.items() if key != "scope"})
    assert ("refresh_token" in tokens) == refreshes
    if refreshes:
        fresh = client.session.refresh_token(client.token_endpoint, tokens["refresh_token"])
        assert fresh["access_token"] != tokens["access_token"]


def test_the_same_person_is_one_at_a_provider_and_another_at_the_next(simulator: Running, ada: Person) -> None:
    changed = replace(ada, email="ada@new.example", name="Countess")
    subjects = []
    for name, person in (("google", ada), ("google", changed), ("yahoo", ada)):
        client = Relying(simulator, name)
        client.tokens(person)
        subjects.append(client.get("/openid/v1/userinfo" if name == "yahoo" else "/v1/userinfo")["sub"])
    assert subjects[0] == subjects[1] != subjects[2]


def test_state_can_be_dropped_or_changed(simulator: Running, ada: Person) -> None:
    client = Relying(simulator, "discord")
    with simulator.fault("discord", "authorize", "state-dropped"):
        assert "state" not in client.callback(ada)
    with simulator.fault("discord", "authorize", "state-changed"):
        assert client.callback(ada)["state"] != STATE


def test_a_state_of_any_characters_comes_back_as_it_was(simulator: Running, ada: Person) -> None:
    state = "a b+c&d=é/" + secrets.token_urlsafe(8)
    client = Relying(simulator, "oauth2.plain")
    url = client.session.create_authorization_url(client.authorization_endpoint, state=state)[0]
    assert parse_qs(urlsplit(simulator.walk(url, ada)).query)["state"] == [state]
