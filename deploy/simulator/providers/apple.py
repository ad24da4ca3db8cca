"""Sign in with Apple: a form post as redirect, the name only once, and a JWT of our own as the client secret."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any, ClassVar

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet, import_key
from oauthlib.oauth2.rfc6749 import errors

from protocols.applications import Application, client_key, client_key_id
from protocols.ledger import Record
from protocols.oauth2 import Rules, failed
from protocols.openid import OpenIDProvider
from protocols.people import Person, number
from protocols.provider import Route
from protocols.web import Answer, Pairs, Request, json_answer

TEAM_ID = "TEAM000001"
# Six months in seconds, as Apple counts them.
SECRET_SECONDS_MAX = 15_777_000


class Apple(OpenIDProvider):
    rules = Rules(scopes=frozenset({"openid", "name", "email"}), authentication=frozenset({"client_secret_post"}),
                  response_types=("code", "code id_token"), refreshes=lambda grant: True)
    paths: ClassVar = {"authorize": "/auth/authorize", "token": "/auth/token", "revoke": "/auth/revoke"}
    wrong_client_status = 400

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/.well-known/openid-configuration", "discovery", self.discovery),
            Route("GET", "/jwks", "jwks", self.jwks),
            Route("GET", "/auth/keys", "jwks", self.jwks),
            Route("GET POST", self.paths["authorize"], "authorize", self.authorize),
            Route("POST", self.paths["token"], "token", self.token),
            Route("POST", self.paths["revoke"], "revoke", self.revoke),
        ]

    def metadata(self) -> Record:
        return super().metadata() | {"response_modes_supported": ["query", "fragment", "form_post"]}

    def subject(self, person: Person, client_id: str) -> str:
        """The same for all applications of a team; the other application belongs to another team."""
        team = TEAM_ID if client_id == self.issuer.audience else client_id
        named = hashlib.sha256(f"{team}\0{person.username}".encode()).hexdigest()[:32]
        return f"{number(team, person.username, 1000000):06}.{named}.{number(named, '', 10000):04}"

    # The authorization endpoint.

    def check_authorization(self, request: Request, said: Any) -> None:
        if {"name", "email"} & set(said.scopes or []) and self.response_mode(said) != "form_post":
            raise errors.InvalidRequestError(
                description="response_mode must be form_post when name or email scope is requested.", request=said)

    def response_mode(self, said: Any) -> str:
        return said.response_mode or "query"

    def denial(self) -> Pairs:
        return [("error", "user_cancelled_authorize")]

    def additions(self, said: Any, grant: Record | None) -> Pairs:
        """The name, unsigned, and only the first time that this user signs in to this application."""
        if grant is None:
            return []
        person = self.world.people.find(grant["person"])
        added: Pairs = []
        if said.response_type == "code id_token":
            grant = grant | {"client_id": said.client_id, "nonce": said.nonce}
            added.append(("id_token", self.id_token(grant, "", "well")))
        first = self.ledger.is_new(self.kind("consent"), f"{said.client_id} {person.username}", 10 * 365 * 86400)
        if first and "name" in grant["scopes"]:
            given, family = person.given_and_family_name
            user = {"name": {"firstName": given, "lastName": family}}
            if "email" in grant["scopes"] and person.email:
                user["email"] = self.address(person)  # type: ignore[assignment]
            added.append(("user", json.dumps(user)))
        return added

    # The token endpoint.

    def token(self, request: Request, **captured: str) -> Answer:
        answer = super().token(request)
        # Apple's status is 400 for a wrong client too, without a description.
        error = failed(answer)
        return json_answer({"error": error["error"]}, 400) if error else answer

    def accepts_secret(self, application: Application, secret: str) -> bool:
        """Verifies the JWT that Apple requires instead of a secret, with the key that it gave the developer."""
        if application != self.application("ours"):
            return application.has_secret(secret)
        public = client_key(self.world.folder, self.issuer).as_dict(private=False)
        keys = KeySet([import_key(public | {"kid": client_key_id(self.issuer)})])
        try:
            token = jwt.decode(secret, keys, algorithms=["ES256"])
            now = int(time.time())
            jwt.JWTClaimsRegistry(
                iss={"essential": True, "value": TEAM_ID}, sub={"essential": True, "value": application.client_id},
                aud={"essential": True, "value": self.issuer.url}, exp={"essential": True},
                iat={"essential": True}).validate(token.claims)
        except (JoseError, ValueError):
            return False
        return token.header.get("kid") == client_key_id(self.issuer) \
            and token.claims["exp"] <= now + SECRET_SECONDS_MAX

    def gives_id_token(self, grant: Record) -> bool:
        """Includes an ID token even if `openid` is not among the scopes."""
        return True

    def address(self, person: Person) -> str:
        if not person.hide_email:
            return person.email
        return f"{number('relay', person.username, 1 << 40):x}@privaterelay.appleid.com"

    def person_claims(self, person: Person, grant: Record) -> Record:
        """The flags are strings."""
        said: Record = {"nonce_supported": True}
        if "email" in grant["scopes"] and person.email:
            said |= {"email": self.address(person), "email_verified": str(person.email_verified).lower()}
            if person.hide_email:
                said["is_private_email"] = "true"
        return said
