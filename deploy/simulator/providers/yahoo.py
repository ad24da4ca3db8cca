"""Yahoo: OpenID Connect by code only, Basic authentication, no redirect to localhost or without TLS."""

from __future__ import annotations

from typing import ClassVar
from urllib.parse import urlsplit

from protocols.oauth2 import Rules
from protocols.openid import OpenIDProvider
from protocols.people import Person, letters
from protocols.provider import Route

SCOPES = frozenset({"openid", "email", "profile", "openid2", "mail-r", "mail-w", "sdct-r", "sdct-w", "sdps-r"})


class Yahoo(OpenIDProvider):
    rules = Rules(scopes=SCOPES, authentication=frozenset({"client_secret_basic"}), refreshes=lambda grant: True)
    algorithm = "ES256"
    paths: ClassVar = {"authorize": "/oauth2/request_auth", "token": "/oauth2/get_token",
                       "userinfo": "/openid/v1/userinfo"}

    def routes(self) -> list[Route]:
        return [*super().routes(), Route("GET", "/openid/v1/certs", "jwks", self.jwks)]

    def allowed_redirect_uris(self) -> tuple[str, ...]:
        parts = [(uri, urlsplit(uri)) for uri in super().allowed_redirect_uris()]
        return tuple(uri for uri, part in parts if part.scheme == "https" and part.hostname != "localhost")

    def subject(self, person: Person, client_id: str) -> str:
        """Yahoo's guid."""
        return letters(self.name, person.username, 26)
