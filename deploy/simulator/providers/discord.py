"""Discord: OAuth 2.0, a flag for verified addresses, and an endpoint that names a token's application."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from protocols.ledger import Record
from protocols.oauth2 import Rules
from protocols.oauth2_provider import OAuth2Provider
from protocols.people import Person, decimal
from protocols.provider import Route
from protocols.web import Answer, Request, json_answer

SCOPES = frozenset({"identify", "email", "guilds", "openid"})


class Discord(OAuth2Provider):
    rules = Rules(scopes=SCOPES, expires_in=604_800, refreshes=lambda grant: True)

    def routes(self) -> list[Route]:
        return [
            Route("GET POST", "/oauth2/authorize", "authorize", self.authorize),
            Route("POST", "/api/oauth2/token", "token", self.token),
            Route("POST", "/api/oauth2/token/revoke", "revoke", self.revoke),
            Route("GET", "/api/users/@me", "users_me", self.users_me),
            Route("GET", "/api/oauth2/@me", "check", self.check),
        ]

    def subject(self, person: Person, client_id: str) -> str:
        return decimal(self.name, person.username, 18)

    def profile(self, person: Person, record: Record, fault: str) -> Record:
        return {"id": self.profile_subject(person, record, fault), "username": person.username,
                "global_name": person.display_name, "discriminator": "0", "avatar": None}

    def users_me(self, request: Request) -> Answer:
        record, person = self.bearer(request)
        said = self.profile(person, record, request.fault)
        if "email" in record["scopes"]:
            said |= {"email": person.email or None, "verified": person.email_verified}
        return json_answer(said)

    def check(self, request: Request) -> Answer:
        record, person = self.bearer(request)
        named = self.named_client(record, request.fault)
        expires = datetime.fromtimestamp(time.time() + (self.rules.expires_in or 0), UTC)
        said: Record = {"application": {"id": named, "name": named}, "scopes": record["scopes"],
                        "expires": expires.isoformat()}
        if "identify" in record["scopes"]:
            said["user"] = self.profile(person, record, request.fault)
        return json_answer(said)

    def unauthorized(self) -> Answer:
        return json_answer({"message": "401: Unauthorized", "code": 0}, 401)
