"""Generic providers: an OpenID Connect issuer, and plain OAuth 2.0 with a profile document."""

from __future__ import annotations

from typing import ClassVar

from protocols.oauth2 import Rules
from protocols.oauth2_provider import OAuth2Provider
from protocols.openid import OpenIDProvider
from protocols.people import Person, number
from protocols.provider import Route
from protocols.web import Answer, Request, json_answer


class GenericOpenID(OpenIDProvider):
    """Names itself in its redirects (RFC 9207) and accepts all three kinds of client authentication."""

    rules = Rules(authentication=frozenset({"client_secret_basic", "client_secret_post", "private_key_jwt"}),
                  refreshes=lambda grant: "offline_access" in grant["scopes"])
    says_issuer_in_response = True
    paths: ClassVar = OpenIDProvider.paths | {"revoke": "/revoke"}

    def subject(self, person: Person, client_id: str) -> str:
        return f"{number(self.name, person.username, 1 << 64):016x}"


class GenericOAuth2(OAuth2Provider):
    """Its profile has member names that only a mapping of claims can find."""

    rules = Rules(default_scopes=("profile",))

    def routes(self) -> list[Route]:
        return [
            Route("GET POST", "/authorize", "authorize", self.authorize),
            Route("POST", "/token", "token", self.token),
            Route("GET", "/userinfo", "userinfo", self.userinfo),
            Route("POST", "/revoke", "revoke", self.revoke),
        ]

    def subject(self, person: Person, client_id: str) -> str:
        return str(number(self.name, person.username, 1 << 40))

    def userinfo(self, request: Request) -> Answer:
        record, person = self.bearer(request)
        return json_answer({
            "user_id": int(self.profile_subject(person, record, request.fault)), "login": person.username,
            "mail": person.email or None, "mail_confirmed": person.email_verified,
            "display_name": person.display_name, "avatar": person.picture or None})
