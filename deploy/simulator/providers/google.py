"""Google: OpenID Connect with several client ids, hosted domains, and tokeninfo, which names a token's application."""

from __future__ import annotations

import time
from typing import ClassVar

import tokens
from protocols.ledger import Record
from protocols.oauth2 import Rules
from protocols.openid import OpenIDProvider
from protocols.people import Person, decimal
from protocols.provider import Route
from protocols.web import Answer, Request, json_answer

SCOPES = frozenset({"openid", "email", "profile", "https://www.googleapis.com/auth/calendar.readonly"})


class Google(OpenIDProvider):
    rules = Rules(scopes=SCOPES, expires_in=3599, token_prefix="ya29.",
                  refreshes=lambda grant: bool(grant.get("offline")))
    paths: ClassVar = {"authorize": "/o/oauth2/v2/auth", "token": "/token", "userinfo": "/v1/userinfo",
                       "revoke": "/revoke"}

    def routes(self) -> list[Route]:
        return [*super().routes(), Route("GET", "/oauth2/v3/certs", "jwks", self.jwks),
                Route("GET", "/tokeninfo", "tokeninfo", self.tokeninfo)]

    def subject(self, person: Person, client_id: str) -> str:
        return decimal(self.name, person.username, 21)

    def person_claims(self, person: Person, grant: Record) -> Record:
        claims = super().person_claims(person, grant)
        claims.pop("preferred_username", None)
        return claims

    def complete_order(self, order: tokens.Order, person: Person) -> None:
        order.authorized_party = order.audiences[0]
        order.hosted_domain = person.hosted_domain or None

    def userinfo(self, request: Request, **captured: str) -> Answer:
        record, person = self.bearer(request)
        said = {"sub": self.profile_subject(person, record, request.fault), **self.person_claims(person, record)}
        return json_answer(said | ({"hd": person.hosted_domain} if person.hosted_domain else {}))

    def revoke(self, request: Request, **captured: str) -> Answer:
        """Without client authentication. Other parameters are an error, as at Google's other endpoints."""
        form = dict(request.form)
        if set(form) != {"token"}:
            return json_answer({"error": "invalid_request"}, 400)
        if not self.end(form["token"]):
            return json_answer({"error": "invalid_token", "error_description": "Token expired or revoked"}, 400)
        return json_answer({})

    def tokeninfo(self, request: Request) -> Answer:
        """Every value is a string, including the flag and the seconds."""
        record = self.ledger.get(self.kind("access"), request.value("access_token"))
        if record is None:
            return json_answer({"error": "invalid_token", "error_description": "Invalid Value"}, 400)
        person = self.world.people.find(record["person"])
        client_id = self.named_client(record, request.fault)
        expires = record["issued_at"] + (self.rules.expires_in or 0)
        said = {"azp": client_id, "aud": client_id, "sub": self.profile_subject(person, record, request.fault),
                "scope": " ".join(record["scopes"]), "exp": str(expires),
                "expires_in": str(max(0, expires - int(time.time()))), "access_type": "online"}
        if "email" in record["scopes"] and person.email:
            said |= {"email": person.email, "email_verified": str(person.email_verified).lower()}
        return json_answer(said)
