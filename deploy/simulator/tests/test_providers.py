"""The peculiarities of each provider, seen by a stock client."""

from __future__ import annotations

import hmac
import http.client
import json
import time
from dataclasses import replace
from typing import Any

import issuance
import jwt
import pytest
import requests
from conftest import Running
from joserfc.jwk import ECKey
from protocols.people import CONSUMER_TENANT, Person
from relying import Relying, altered

TENANT = "8eaef023-2b34-4da1-9baa-8bc8c9d6a490"


# X, OAuth 2.0.

def test_x_names_a_confirmed_address_only_with_its_scope(simulator: Running, ada: Person) -> None:
    fields = {"user.fields": "confirmed_email"}
    client = Relying(simulator, "twitter")
    client.tokens(ada)
    assert client.get("/2/users/me", **fields)["data"]["confirmed_email"] == ada.email
    client.tokens(replace(ada, email_verified=False))
    assert "confirmed_email" not in client.get("/2/users/me", **fields)["data"]
    few = Relying(simulator, "twitter", scope="users.read tweet.read")
    few.tokens(ada)
    assert "confirmed_email" not in few.get("/2/users/me", **fields)["data"]


# GitHub.

def test_github_answers_a_form_unless_json_is_asked_for(simulator: Running, ada: Person) -> None:
    client = Relying(simulator, "github")
    data = {"client_id": "latchkey", "client_secret": "github-secret", "code": client.callback(ada)["code"],
            "redirect_uri": "https://app.example/callback", "code_verifier": client.verifier}
    answer = simulator.http().post(client.token_endpoint, data=data)
    assert answer.headers["content-type"] == "application/x-www-form-urlencoded"
    assert "access_token=gho_" in answer.text and "scope=read%3Auser%2Cuser%3Aemail" in answer.text
    again = simulator.http().post(client.token_endpoint, data=data, headers={"Accept": "application/json"})
    assert (again.status_code, again.json()["error"]) == (200, "bad_verification_code")


def test_github_has_a_numeric_id_and_addresses_of_every_kind(simulator: Running, ada: Person) -> None:
    client = Relying(simulator, "github")
    assert "expires_in" not in client.tokens(ada)
    user = client.get("/user")
    assert isinstance(user["id"], int) and user["login"] == "ada" and user["email"] is None
    entries = client.get("/user/emails")
    assert [entry["email"] for entry in entries if entry["primary"] and entry["verified"]] == [ada.email]
    assert any(entry["email"].endswith("@users.noreply.github.com") for entry in entries)


def test_github_may_grant_less_than_was_asked(simulator: Running, ada: Person) -> None:
    client = Relying(simulator, "github")
    code = client.callback(ada, declined=("user:email",))["code"]
    assert client.redeem(code)["scope"] in ("read:user", ["read:user"])
    assert client.session.get(client.base + "/user/emails").status_code == 404


def test_github_says_whose_a_token_is_to_that_application_only(simulator: Running, ada: Person) -> None:
    path = f"{simulator.base}/github/applications/latchkey/token"

    def check(token: str, secret: str = "github-secret") -> requests.Response:
        return simulator.http().post(path, json={"access_token": token}, auth=("latchkey", secret))

    ours = issuance.issue(simulator.folder, "github", ada, scopes=["user:email"])["access_token"]
    theirs = issuance.issue(simulator.folder, "github", ada, whose="another")["access_token"]
    assert check(ours).json()["app"]["client_id"] == "latchkey"
    assert check(theirs).status_code == check("unknown").status_code == 404
    assert check(ours, "wrong").status_code == 401
    with simulator.fault("github", "check", "wrong-audience"):
        assert check(ours).json()["app"]["client_id"] == "another-app"
    connection = http.client.HTTPSConnection(simulator.base.removeprefix("https://"), context=simulator.trust)
    for agent, status in (({}, 403), ({"User-Agent": "test"}, 200)):
        connection.request("GET", "/github/user", headers={"Authorization": f"token {theirs}"} | agent)
        answer = connection.getresponse()
        assert (answer.status, b"ada" in answer.read()) == (status, status == 200)


# Google.

def test_google_signs_an_id_token_with_azp_and_hd_and_knows_whose_an_access_token_is(
        simulator: Running, ada: Person) -> None:
    client = Relying(simulator, "google")
    tokens = client.tokens(replace(ada, hosted_domain="example.com"), nonce="n-1")
    claims = client.verify(tokens["id_token"], "google-client", "https://accounts.google.com")
    assert (claims["azp"], claims["hd"], claims["nonce"], claims["email_verified"]) == (
        "google-client", "example.com", "n-1", True)
    info = client.get("/tokeninfo", access_token=tokens["access_token"])
    assert (info["aud"], info["sub"], info["email_verified"]) == ("google-client", claims["sub"], "true")
    theirs = issuance.issue(simulator.folder, "google", ada, whose="another")["access_token"]
    assert client.get("/tokeninfo", access_token=theirs)["aud"] == "another-app"
    unknown = client.session.get(client.base + "/tokeninfo", params={"access_token": "unknown"})
    assert (unknown.status_code, unknown.json()["error"]) == (400, "invalid_token")
    posted = client.session.post(client.base + "/tokeninfo", data={"access_token": tokens["access_token"]})
    assert posted.status_code == 405


# Facebook.

def graph(simulator: Running, token: str, secret: str = "facebook-secret", **parameters: str) -> requests.Response:
    proof = hmac.digest(secret.encode(), token.encode(), "sha256").hex()
    return simulator.http().get(f"{simulator.base}/facebook/v23.0/me", params={
        "access_token": token, "appsecret_proof": proof, "fields": "id,name,email", **parameters})


def test_facebook_wants_a_proof_of_the_app_secret_with_each_call(simulator: Running, ada: Person) -> None:
    token = Relying(simulator, "facebook").tokens(ada)["access_token"]
    said = graph(simulator, token).json()
    assert said["email"] == ada.email and said["id"].isdigit()
    for wrong in ({"appsecret_proof": ""}, {"appsecret_proof": "00"}):
        assert graph(simulator, token, **wrong).json()["error"]["code"] == 100
    theirs = issuance.issue(simulator.folder, "facebook", ada, whose="another")["access_token"]
    assert graph(simulator, theirs).status_code == 400
    assert graph(simulator, theirs, "another-secret").json()["id"] != said["id"]


def test_facebook_says_whose_a_token_is_to_an_app_access_token(simulator: Running, ada: Person) -> None:
    def debug(token: str, app_token: str = "latchkey|facebook-secret") -> Any:
        proof = hmac.digest(b"facebook-secret", app_token.encode(), "sha256").hex()
        return simulator.http().get(f"{simulator.base}/facebook/debug_token", params={
            "input_token": token, "access_token": app_token, "appsecret_proof": proof}).json()

    token = issuance.issue(simulator.folder, "facebook", ada, scopes=["email"])["access_token"]
    said = debug(token)["data"]
    assert said["app_id"] == "latchkey" and said["is_valid"] and said["expires_at"] > time.time()
    assert said["user_id"] == graph(simulator, token).json()["id"]
    assert debug("unknown")["data"]["is_valid"] is False
    assert debug(token, "latchkey|wrong")["error"]["code"] == 190
    with simulator.fault("facebook", "debug_token", "wrong-audience"):
        assert debug(token)["data"]["app_id"] == "another-app"
    with simulator.fault("facebook", "debug_token", "other-subject"):
        assert debug(token)["data"]["user_id"] != said["user_id"]
    made = simulator.http().get(f"{simulator.base}/facebook/v23.0/oauth/access_token", params={
        "client_id": "latchkey", "client_secret": "facebook-secret", "grant_type": "client_credentials"}).json()
    assert debug(token, made["access_token"])["data"]["is_valid"]


def test_facebook_lists_what_was_declined(simulator: Running, ada: Person) -> None:
    client = Relying(simulator, "facebook")
    token = client.redeem(client.callback(ada, declined=("email",))["code"])["access_token"]
    assert "email" not in graph(simulator, token).json()
    proof = hmac.digest(b"facebook-secret", token.encode(), "sha256").hex()
    said = client.get("/v23.0/me/permissions", access_token=token, appsecret_proof=proof)["data"]
    assert {"permission": "email", "status": "declined"} in said


def test_facebook_limited_login_has_a_key_set_of_its_own(simulator: Running, ada: Person) -> None:
    token = issuance.id_token(simulator.folder, "facebook", ada, nonce="n")
    keys = jwt.PyJWKClient(f"{simulator.base}/facebook/.well-known/oauth/openid/jwks", ssl_context=simulator.trust)
    claims = jwt.decode(token, keys.get_signing_key_from_jwt(token).key, algorithms=["RS256"], audience="latchkey",
                        issuer="https://www.facebook.com")
    assert claims["nonce"] == "n"


# Apple.

def apple_secret(simulator: Running, **claims: Any) -> str:
    key = (simulator.folder / "client-keys/apple.pem").read_text()
    now = int(time.time())
    said = {"iss": "TEAM000001", "sub": "latchkey", "aud": "https://appleid.apple.com", "iat": now,
            "exp": now + 600} | {name: value for name, value in claims.items() if name != "kid"}
    return jwt.encode(said, key, "ES256", {"kid": claims.get("kid", "apple-client-key")})


def test_apple_posts_the_name_once_and_says_its_flags_as_text(simulator: Running) -> None:
    grace = Person("grace", "Grace Hopper", "grace@example.com", email_verified=True, hide_email=True)
    client = Relying(simulator, "apple", secret=apple_secret(simulator))
    first = client.callback(grace, response_mode="form_post", nonce="n")
    assert json.loads(first["user"])["name"] == {"firstName": "Grace", "lastName": "Hopper"}
    assert "user" not in client.callback(grace, response_mode="form_post", nonce="n")
    claims = client.verify(client.redeem(first["code"])["id_token"], "latchkey", "https://appleid.apple.com")
    assert (claims["email_verified"], claims["is_private_email"]) == ("true", "true")
    assert claims["email"].endswith("@privaterelay.appleid.com")
    both = client.callback(grace, response_mode="form_post", nonce="n", response_type="code id_token")
    assert client.verify(both["id_token"], "latchkey", "https://appleid.apple.com")["nonce"] == "n"


def test_apple_wants_the_form_post_and_says_no_in_its_own_words(simulator: Running, ada: Person) -> None:
    client = Relying(simulator, "apple", secret=apple_secret(simulator))
    assert client.callback(ada)["error"] == "invalid_request"
    assert client.callback(ada, deny=True, response_mode="form_post")["error"] == "user_cancelled_authorize"


@pytest.mark.parametrize("claims", [
    {"iss": "TEAM000002"}, {"sub": "another-app"}, {"aud": "https://apple.example"}, {"kid": "another"},
    {"exp": -1}, {"exp": 16_000_000},
], ids=str)
def test_apple_refuses_a_client_secret_that_says_something_else(
        simulator: Running, ada: Person, claims: dict[str, Any]) -> None:
    if "exp" in claims:
        claims = {"exp": int(time.time()) + claims["exp"]}
    client = Relying(simulator, "apple", secret=apple_secret(simulator, **claims))
    code = client.callback(ada, response_mode="form_post")["code"]
    answer = simulator.http().post(client.token_endpoint, data={
        "grant_type": "authorization_code", "code": code, "client_id": "latchkey",
        "client_secret": apple_secret(simulator, **claims), "redirect_uri": "https://app.example/callback"})
    assert (answer.status_code, answer.json()) == (400, {"error": "invalid_client"})


# Microsoft.

def test_microsoft_has_an_issuer_for_each_tenant_and_a_template_for_all(simulator: Running, ada: Person) -> None:
    def metadata(tenant: str) -> Any:
        return json.loads(simulator.get(f"/microsoft/{tenant}/v2.0/.well-known/openid-configuration"))

    assert metadata("common")["issuer"] == "https://login.microsoftonline.com/{tenantid}/v2.0"
    assert metadata("consumers")["issuer"] == f"https://login.microsoftonline.com/{CONSUMER_TENANT}/v2.0"
    assert metadata(TENANT)["issuer"] == f"https://login.microsoftonline.com/{TENANT}/v2.0"
    client = Relying(simulator, "microsoft")
    for person, tenant in ((ada, CONSUMER_TENANT), (replace(ada, tenant=TENANT, domain_verified=True), TENANT)):
        claims = client.verify(client.tokens(person, nonce="n")["id_token"], "latchkey",
                               f"https://login.microsoftonline.com/{tenant}/v2.0")
        assert (claims["tid"], claims["ver"], claims.get("xms_edov")) == (
            tenant, "2.0", True if tenant == TENANT else None)
        assert "email_verified" not in claims and claims["oid"]


def test_microsoft_lets_a_person_in_at_its_own_kind_of_tenant_only(simulator: Running, ada: Person) -> None:
    client = Relying(simulator, "microsoft")
    client.authorization_endpoint = client.base + "/organizations/oauth2/v2.0/authorize"
    with pytest.raises(Exception, match="AADSTS50020"):
        client.callback(ada)
    assert client.callback(replace(ada, tenant=TENANT))["code"]


# The others.

@pytest.mark.parametrize("path", [
    "google", "facebook", "yahoo", "apple", "microsoft", "microsoft/consumers/v2.0", "linkedin", "linkedin/oauth",
    "corp"])
def test_everything_that_a_discovery_document_names_is_there(simulator: Running, path: str) -> None:
    metadata = json.loads(simulator.get(f"/{path}/.well-known/openid-configuration"))
    named = {name: url for name, url in metadata.items() if name.endswith(("_endpoint", "_uri"))}
    assert {"authorization_endpoint", "token_endpoint", "jwks_uri"} <= named.keys()
    for url in named.values():
        assert simulator.http().get(url).status_code != 404


def test_yahoo_linkedin_and_corp_say_the_same_in_token_and_userinfo(simulator: Running, ada: Person) -> None:
    """Except LinkedIn's flag, which is a string in the token."""
    for name, issuer, path, flag in (("yahoo", "https://api.login.yahoo.com", "/openid/v1/userinfo", True),
                                     ("linkedin", "https://www.linkedin.com/oauth", "/v2/userinfo", "true"),
                                     ("corp", simulator.base + "/corp", "/userinfo", True)):
        client = Relying(simulator, name)
        claims = client.verify(client.tokens(ada, nonce="n")["id_token"], "latchkey", issuer)
        said = client.get(path)
        assert said["email_verified"] is True
        assert {key: claims[key] for key in said} == said | {"email_verified": flag}
        with simulator.fault(name, "userinfo", "other-subject"):
            assert client.get(path)["sub"] != claims["sub"]


def test_linkedin_grants_scopes_with_commas(simulator: Running, ada: Person) -> None:
    client = Relying(simulator, "linkedin")
    answer = simulator.http().post(client.token_endpoint, data={
        "grant_type": "authorization_code", "code": client.callback(ada)["code"], "client_id": "latchkey",
        "client_secret": "linkedin-secret", "redirect_uri": "https://app.example/callback"})
    assert answer.json()["scope"] == "openid,email,profile"


def test_discord_says_whether_the_address_is_verified_and_whose_the_token_is(simulator: Running, ada: Person) -> None:
    client = Relying(simulator, "discord")
    client.tokens(replace(ada, email_verified=False))
    assert client.get("/api/users/@me")["verified"] is False
    assert client.get("/api/oauth2/@me")["application"]["id"] == "latchkey"
    theirs = issuance.issue(simulator.folder, "discord", ada, whose="another", scopes=["identify"])["access_token"]
    said = simulator.http().get(client.base + "/api/oauth2/@me", headers={"Authorization": f"Bearer {theirs}"})
    assert said.json()["application"]["id"] == "another-app"


def test_plain_oauth2_has_a_profile_in_words_of_its_own(simulator: Running, ada: Person) -> None:
    client = Relying(simulator, "oauth2.plain")
    client.tokens(ada)
    assert client.get("/userinfo")["mail"] == ada.email
    with altered(simulator, "oauth2.plain", "userinfo", {"mail": None, "user_id": "x"}):
        said = client.get("/userinfo")
    assert "mail" not in said and said["user_id"] == "x"


def test_a_generic_issuer_names_itself_and_takes_a_signed_assertion_once(simulator: Running, ada: Person) -> None:
    client = Relying(simulator, "corp")
    metadata = json.loads(simulator.get("/corp/.well-known/openid-configuration"))
    assert metadata["authorization_response_iss_parameter_supported"] is True
    assert client.callback(ada)["iss"] == metadata["issuer"]
    assert client.callback(ada, deny=True)["iss"] == metadata["issuer"]
    with simulator.fault("corp", "authorize", "iss-mix-up"):
        assert client.callback(ada)["iss"] == "https://honest.example"
    key = ECKey.import_key((simulator.folder / "client-keys/corp.pem").read_text()).as_pem(private=True)
    assertion = jwt.encode({"iss": "latchkey", "sub": "latchkey", "aud": metadata["token_endpoint"],
                            "exp": int(time.time()) + 60, "jti": f"j{time.time()}"}, key, "ES256",
                           {"kid": "corp-client-key"})

    def redeem() -> requests.Response:
        return simulator.http().post(client.token_endpoint, data={
            "grant_type": "authorization_code", "code": client.callback(ada)["code"],
            "redirect_uri": "https://app.example/callback", "code_verifier": client.verifier,
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": assertion})

    assert redeem().status_code == 200
    assert redeem().json()["error"] == "invalid_client"


@pytest.mark.parametrize("fault, claim", [
    ("wrong-audience", "aud"), ("wrong-nonce", "nonce"), ("no-nonce", "nonce"), ("wrong-at-hash", "at_hash"),
    ("stale-login", "auth_time"), ("rotated-keys", "")])
def test_each_fault_of_an_id_token_is_what_its_name_says(
        simulator: Running, ada: Person, fault: str, claim: str) -> None:
    client = Relying(simulator, "corp")
    with simulator.fault("corp", "token", fault):
        token = client.tokens(ada, nonce="n")["id_token"]
    claims = jwt.decode(token, options={"verify_signature": False})
    honest = jwt.decode(client.tokens(ada, nonce="n")["id_token"], options={"verify_signature": False})
    assert not claim or claims.get(claim) != honest[claim]
    if fault == "rotated-keys":
        with pytest.raises(jwt.PyJWKClientError):
            client.verify(token, "latchkey", simulator.base + "/corp")
