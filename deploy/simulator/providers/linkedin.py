"""LinkedIn: OpenID Connect without proof keys for web applications, the secret in the form, scopes with commas."""

from __future__ import annotations

from typing import Any, ClassVar

import tokens
from protocols.ledger import Record
from protocols.oauth2 import Rules
from protocols.openid import OpenIDProvider
from protocols.people import Person, letters
from protocols.provider import Route
from protocols.web import Pairs

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


class LinkedIn(OpenIDProvider):
    rules = Rules(scopes=frozenset({"openid", "email", "profile"}), pkce="ignored",
                  authentication=frozenset({"client_secret_post"}), expires_in=5_184_000, token_prefix="AQ")
    paths: ClassVar = {"authorize": "/oauth/v2/authorization", "token": "/oauth/v2/accessToken",
                       "userinfo": "/v2/userinfo"}

    def routes(self) -> list[Route]:
        return [*super().routes(), Route("GET", "/oauth/.well-known/openid-configuration", "discovery", self.discovery),
                Route("GET", "/oauth/openid/jwks", "jwks", self.jwks)]

    def denial(self) -> Pairs:
        return [("error", "user_cancelled_login"), ("error_description", "The user cancelled LinkedIn login")]

    def complete_token(self, token: Record, request: Any) -> Record:
        token = super().complete_token(token, request)
        return token | {"scope": token.get("scope", "").replace(" ", ",")}

    def complete_order(self, order: tokens.Order, person: Person) -> None:
        """The flag is a string in ID tokens, and a boolean at the userinfo endpoint."""
        if "email_verified" in order.claims:
            order.claims["email_verified"] = str(order.claims["email_verified"]).lower()

    def subject(self, person: Person, client_id: str) -> str:
        return letters(self.name, person.username, 10, ALPHABET)
