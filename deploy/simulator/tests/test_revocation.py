"""The revocation endpoints, seen by a stock client: a revoked token stops working, and the log names it."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import issuance
import pytest
import requests
from conftest import Running
from protocols.people import Person
from relying import Relying


def logged(simulator: Running, name: str, token: str) -> int:
    log = simulator.folder / "revocations.log"
    line = f"{name} {hashlib.sha256(token.encode()).hexdigest()}"
    return log.read_text().splitlines().count(line) if log.exists() else 0


@dataclass
class Place:
    """How one provider revokes a token, and where the token works before."""

    path: str
    works: str
    unknown_status: int = 200
    auth: tuple[str, str] | None = None

    def revoke(self, simulator: Running, name: str, token: str) -> requests.Response:
        data = {"token": token} | ({} if name == "google" else {"token_type_hint": "access_token"})
        return simulator.http().post(f"{simulator.base}/{name}{self.path}", data=data, auth=self.auth)


PLACES = {
    "google": Place("/revoke", "/v1/userinfo", unknown_status=400),
    "discord": Place("/api/oauth2/token/revoke", "/api/users/@me", auth=("latchkey", "discord-secret")),
    "corp": Place("/revoke", "/userinfo", auth=("latchkey", "corp-secret")),
    "oauth2.plain": Place("/revoke", "/userinfo", auth=("latchkey", "oauth2.plain-secret")),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_revoked_token_stops_working_and_is_logged(simulator: Running, ada: Person, name: str) -> None:
    place, client = PLACES[name], Relying(simulator, name)
    token = client.tokens(ada)["access_token"]
    bearer: dict[str, Any] = {"headers": {"Authorization": f"Bearer {token}"}}
    url = f"{simulator.base}/{name}{place.works}"
    assert simulator.http().get(url, **bearer).status_code == 200
    assert place.revoke(simulator, name, token).status_code == 200
    assert simulator.http().get(url, **bearer).status_code == 401 and logged(simulator, name, token) == 1
    assert place.revoke(simulator, name, token).status_code == place.unknown_status
    assert logged(simulator, name, token) == 1


@pytest.mark.parametrize("name", [name for name in PLACES if name != "google"])
def test_only_the_application_itself_revokes_its_token(simulator: Running, ada: Person, name: str) -> None:
    place = PLACES[name]
    token = issuance.issue(simulator.folder, name, ada)["access_token"]
    url = f"{simulator.base}/{name}{place.path}"
    for auth, status in ((("latchkey", "wrong"), 401), (("another-app", "another-secret"), 200)):
        assert simulator.http().post(url, data={"token": token}, auth=auth).status_code == status
    assert logged(simulator, name, token) == 0


def test_the_end_of_a_refresh_token_ends_the_access_tokens_of_its_code(simulator: Running, ada: Person) -> None:
    client = Relying(simulator, "discord")
    tokens = client.tokens(ada)
    assert PLACES["discord"].revoke(simulator, "discord", tokens["refresh_token"]).status_code == 200
    assert client.session.get(client.base + "/api/users/@me").status_code == 401


def test_discovery_names_the_revocation_endpoint(simulator: Running) -> None:
    for name in ("google", "corp", "apple"):
        said = simulator.http().get(f"{simulator.base}/{name}/.well-known/openid-configuration").json()
        assert said["revocation_endpoint"].startswith(f"{simulator.base}/{name}/")


def proof(token: str) -> str:
    return hmac.digest(b"facebook-secret", token.encode(), "sha256").hex()


def test_facebook_removes_the_permissions_with_all_tokens_of_the_user(simulator: Running, ada: Person) -> None:
    both = [issuance.issue(simulator.folder, "facebook", ada)["access_token"] for _ in range(2)]
    url = f"{simulator.base}/facebook/v25.0/me/permissions"
    without = simulator.http().delete(url, params={"access_token": both[0]})
    assert without.json()["error"]["code"] == 100
    params = {"access_token": both[0], "appsecret_proof": proof(both[0])}
    assert simulator.http().delete(url, params=params).json() == {"success": True}
    for token in both:
        again = simulator.http().delete(url, params={"access_token": token, "appsecret_proof": proof(token)})
        assert again.json()["error"]["code"] == 190
    assert logged(simulator, "facebook", both[0]) == 1


def test_github_ends_the_grant_with_all_tokens_of_the_user(simulator: Running, ada: Person) -> None:
    url = f"{simulator.base}/github/applications/latchkey/grant"

    def end(token: str, secret: str = "github-secret") -> int:
        answer = simulator.http().delete(url, json={"access_token": token}, auth=("latchkey", secret))
        return answer.status_code

    mint: Callable[[], str] = lambda: issuance.issue(simulator.folder, "github", ada)["access_token"]  # noqa: E731
    first, second = mint(), mint()
    assert end(first, "wrong") == 401
    assert end(first) == 204 and end(first) == end(second) == end("unknown") == 404
    assert logged(simulator, "github", first) == 1
