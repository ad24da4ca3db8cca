"""A stock client of OAuth 2.0 and OpenID Connect (Authlib over requests), which shares no code with the simulator."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jwt
from authlib.integrations.requests_client import OAuth2Session
from conftest import CALLBACK, Running
from protocols.people import Person

# Per provider: authorization endpoint, token endpoint, scope, client id, client authentication, proof key.
ENDPOINTS: dict[str, tuple[str, str, str, str, str, bool]] = {
    "twitter": ("/i/oauth2/authorize", "/2/oauth2/token", "users.read tweet.read users.email offline.access",
                "latchkey", "client_secret_basic", True),
    "github": ("/login/oauth/authorize", "/login/oauth/access_token", "read:user user:email", "latchkey",
               "client_secret_post", True),
    "google": ("/o/oauth2/v2/auth", "/token", "openid email profile", "google-client", "client_secret_post", True),
    "facebook": ("/v23.0/dialog/oauth", "/v23.0/oauth/access_token", "public_profile,email", "latchkey",
                 "client_secret_post", True),
    "yahoo": ("/oauth2/request_auth", "/oauth2/get_token", "openid email profile mail-r sdct-w", "latchkey",
              "client_secret_basic", True),
    "apple": ("/auth/authorize", "/auth/token", "name email", "latchkey", "client_secret_post", True),
    "microsoft": ("/common/oauth2/v2.0/authorize", "/common/oauth2/v2.0/token", "openid email profile offline_access",
                  "latchkey", "client_secret_post", True),
    "linkedin": ("/oauth/v2/authorization", "/oauth/v2/accessToken", "openid email profile", "latchkey",
                 "client_secret_post", False),
    "discord": ("/oauth2/authorize", "/api/oauth2/token", "identify email", "latchkey", "client_secret_post", True),
    "corp": ("/authorize", "/token", "openid email profile offline_access", "latchkey", "client_secret_basic", True),
    "oauth2.plain": ("/authorize", "/token", "profile", "latchkey", "client_secret_post", True),
}
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
STATE = "af0ifjsldkj-0123456789"


class Relying:
    """One application at one provider."""

    def __init__(self, simulator: Running, name: str, secret: str = "", **options: Any) -> None:
        authorize, token, scope, client_id, method, proof = ENDPOINTS[name]
        self.simulator, self.name = simulator, name
        self.base = f"{simulator.base}/{name}"
        self.authorization_endpoint, self.token_endpoint = self.base + authorize, self.base + token
        given = {"scope": scope, "redirect_uri": CALLBACK, "token_endpoint_auth_method": method,
                 "code_challenge_method": "S256" if proof else None} | options
        self.verifier = VERIFIER if proof else None
        self.session = simulator.trusting(OAuth2Session(client_id, secret or f"{name}-secret", **given))

    def url(self, **parameters: str) -> str:
        made: str = self.session.create_authorization_url(
            self.authorization_endpoint, state=STATE, code_verifier=self.verifier, **parameters)[0]
        return made

    def callback(self, person: Person, *, deny: bool = False, declined: tuple[str, ...] = (),
                 **parameters: str) -> dict[str, str]:
        url = self.simulator.walk(self.url(**parameters), person, deny=deny, declined=declined)
        assert url.startswith(CALLBACK + "?")
        return dict(parse_qsl(urlsplit(url).query))

    def redeem(self, code: str, **changed: Any) -> dict[str, Any]:
        """Raises Authlib's `OAuthError` if the provider returns `error`."""
        given = {"code": code, "code_verifier": self.verifier, "grant_type": "authorization_code",
                 "headers": {"Accept": "application/json"}} | changed
        return dict(self.session.fetch_token(self.token_endpoint, **given))

    def tokens(self, person: Person, **parameters: str) -> dict[str, Any]:
        return self.redeem(self.callback(person, **parameters)["code"])

    def get(self, path: str, **parameters: str) -> Any:
        answer = self.session.get(self.base + path, params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def verify(self, token: str, audience: str, issuer: str) -> dict[str, Any]:
        keys = jwt.PyJWKClient(self.base + "/jwks", ssl_context=self.simulator.trust)
        return jwt.decode(token, keys.get_signing_key_from_jwt(token).key, algorithms=["RS256", "ES256"],
                          audience=audience, issuer=issuer, options={"require": ["exp", "iat", "sub", "nonce"]})


def altered(simulator: Running, issuer: str, endpoint: str, patch: dict[str, Any]) -> Any:
    return simulator.fault(issuer, endpoint, "alter", json.dumps(patch))
