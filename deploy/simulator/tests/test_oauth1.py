"""X's OAuth 1.0a with requests-oauthlib: three legs, and every request that must fail."""

from __future__ import annotations

import time
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import issuance
import pytest
import requests
from conftest import CALLBACK, Running
from oauthlib.oauth1 import SIGNATURE_HMAC_SHA256, Client
from protocols.people import Person
from requests_oauthlib import OAuth1Session
from requests_oauthlib.oauth1_session import TokenRequestDenied

PROFILE = "/1.1/account/verify_credentials.json?include_email=true&skip_status=true&include_entities=false"


@pytest.fixture
def base(simulator: Running) -> str:
    return simulator.base + "/twitter"


def session(simulator: Running, **tokens: str) -> OAuth1Session:
    given = {"client_key": "latchkey", "client_secret": "twitter-secret", "callback_uri": CALLBACK} | tokens
    made: OAuth1Session = simulator.trusting(OAuth1Session(**given))
    return made


def signed_in(simulator: Running, base: str, person: Person) -> OAuth1Session:
    client = session(simulator)
    client.fetch_request_token(base + "/oauth/request_token")
    client.parse_authorization_response(simulator.walk(client.authorization_url(base + "/oauth/authenticate"), person))
    client.fetch_access_token(base + "/oauth/access_token")
    return client


@pytest.fixture
def profile(simulator: Running, base: str, ada: Person) -> requests.Response:
    return signed_in(simulator, base, ada).get(base + PROFILE)


def test_three_legs_end_at_a_profile_with_the_id_as_number_and_as_text(profile: requests.Response) -> None:
    said = profile.json()
    assert said["screen_name"] == "ada" and said["email"] == "ada@example.com"
    assert int(said["id_str"]) == said["id"] > 2 ** 53


def test_an_address_is_null_unless_it_is_confirmed_and_absent_unless_asked_for(
        simulator: Running, base: str, ada: Person) -> None:
    client = signed_in(simulator, base, replace(ada, username="bo", email_verified=False))
    assert client.get(base + PROFILE).json()["email"] is None
    assert "email" not in client.get(base + "/1.1/account/verify_credentials.json").json()


def test_the_callback_is_compared_without_its_query_and_keeps_it(simulator: Running, base: str, ada: Person) -> None:
    client = session(simulator, callback_uri=CALLBACK + "?state=a%20b")
    client.fetch_request_token(base + "/oauth/request_token")
    callback = simulator.walk(client.authorization_url(base + "/oauth/authorize"), ada)
    assert dict(parse_qsl(urlsplit(callback).query)).keys() == {"state", "oauth_token", "oauth_verifier"}
    with pytest.raises(TokenRequestDenied, match="401"):
        session(simulator, callback_uri="https://evil.example/").fetch_request_token(base + "/oauth/request_token")


@pytest.mark.parametrize("wrong", [
    {"client_key": "nobody"}, {"client_secret": "wrong"}, {"signature_method": SIGNATURE_HMAC_SHA256},
], ids=str)
def test_a_wrong_key_secret_or_method_is_refused(simulator: Running, base: str, wrong: dict[str, str]) -> None:
    with pytest.raises(TokenRequestDenied, match="401"):
        session(simulator, **wrong).fetch_request_token(base + "/oauth/request_token")


@pytest.mark.parametrize("seconds, status", [(0, 200), (-400, 401), (400, 401)])
def test_a_timestamp_must_be_fresh_and_a_nonce_new(simulator: Running, base: str, seconds: int, status: int) -> None:
    signer = Client("latchkey", "twitter-secret", callback_uri=CALLBACK, timestamp=str(int(time.time()) + seconds))
    url, headers, _ = signer.sign(base + "/oauth/request_token", "POST")
    answers = [simulator.http().post(url, headers=headers).status_code for _ in range(2)]
    assert answers == [status, 401]


def test_a_request_token_is_good_for_one_exchange_by_its_verifier(simulator: Running, base: str, ada: Person) -> None:
    callbacks = []
    for _ in range(2):
        client = session(simulator)
        tokens = client.fetch_request_token(base + "/oauth/request_token")
        callbacks.append((tokens, dict(parse_qsl(urlsplit(
            simulator.walk(client.authorization_url(base + "/oauth/authenticate"), ada)).query))))
    (first, first_answer), (_, second_answer) = callbacks

    def exchange(verifier: str) -> int:
        exchanging = session(simulator, resource_owner_key=first["oauth_token"],
                             resource_owner_secret=first["oauth_token_secret"], verifier=verifier)
        return exchanging.post(base + "/oauth/access_token").status_code

    assert exchange(second_answer["oauth_verifier"]) == 401
    assert exchange(first_answer["oauth_verifier"]) == 200
    assert exchange(first_answer["oauth_verifier"]) == 401


def test_no_verifier_no_access_token(simulator: Running, base: str) -> None:
    client = session(simulator)
    tokens = client.fetch_request_token(base + "/oauth/request_token")
    bare = session(simulator, resource_owner_key=tokens["oauth_token"],
                   resource_owner_secret=tokens["oauth_token_secret"])
    assert bare.post(base + "/oauth/access_token").status_code == 401


def test_a_person_may_say_no_and_the_token_is_gone(simulator: Running, base: str, ada: Person) -> None:
    client = session(simulator)
    tokens = client.fetch_request_token(base + "/oauth/request_token")
    url = client.authorization_url(base + "/oauth/authenticate")
    assert simulator.walk(url, ada, deny=True) == f"{CALLBACK}?denied={tokens['oauth_token']}"
    with pytest.raises(Exception, match="invalid"):
        simulator.walk(url, ada)


def test_a_minted_token_works_under_the_consumer_key_that_it_was_issued_to(
        simulator: Running, base: str, ada: Person) -> None:
    for whose, status in (("ours", 200), ("another", 401)):
        tokens = issuance.issue(simulator.folder, "twitter", ada, whose=whose, oauth1=True)
        client = session(simulator, resource_owner_key=tokens["access_token"],
                         resource_owner_secret=tokens["token_secret"])
        assert client.get(base + PROFILE).status_code == status


def test_the_callback_can_be_left_unconfirmed(simulator: Running, base: str) -> None:
    with simulator.fault("twitter", "request_token", "callback-not-confirmed"):
        tokens = session(simulator).fetch_request_token(base + "/oauth/request_token")
    assert tokens["oauth_callback_confirmed"] == "false"
