"""An OpenID Connect provider: discovery, key set, ID tokens and the userinfo endpoint."""

from __future__ import annotations

import time
from typing import Any, ClassVar

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet, import_key

import tokens
from keys import KeyRing

from .applications import Application, client_key, client_key_id
from .ledger import Record
from .oauth2_provider import OAuth2Provider
from .people import Person
from .provider import Route
from .web import Answer, Request, json_answer

MAX_AGE_SECONDS = 300
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
# The age of the login for the fault `stale-login`.
STALE_SECONDS = 7 * 86400


class OpenIDProvider(OAuth2Provider):
    # Below the provider's own path; subclasses have the real ones.
    paths: ClassVar = {"authorize": "/authorize", "token": "/token", "userinfo": "/userinfo"}
    algorithm = "RS256"
    says_issuer_in_response = False

    @property
    def ring(self) -> KeyRing:
        return KeyRing(self.world.folder, self.name)

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/.well-known/openid-configuration", "discovery", self.discovery),
            Route("GET", "/jwks", "jwks", self.jwks),
            Route("GET POST", self.paths["authorize"], "authorize", self.authorize),
            Route("POST", self.paths["token"], "token", self.token),
            Route("GET POST", self.paths["userinfo"], "userinfo", self.userinfo),
            *([Route("POST", self.paths["revoke"], "revoke", self.revoke)] if "revoke" in self.paths else []),
        ]

    # Published documents.

    def discovery(self, request: Request, **_: str) -> Answer:
        return json_answer(self.metadata(), Cache_Control=f"max-age={MAX_AGE_SECONDS}")

    def metadata(self) -> Record:
        """OpenID Connect Discovery 1.0 section 3."""
        path = self.issuer.path
        said: Record = {
            "issuer": self.issuer.url,
            "authorization_endpoint": path + self.paths["authorize"],
            "token_endpoint": path + self.paths["token"],
            "jwks_uri": self.issuer.jwks_url,
            "response_types_supported": list(self.rules.response_types),
            "subject_types_supported": ["public"],
            "scopes_supported": ["openid", "email", "profile"],
            "id_token_signing_alg_values_supported": ALGORITHMS,
            "token_endpoint_auth_methods_supported": sorted(self.rules.authentication),
        }
        if "userinfo" in self.paths:
            said["userinfo_endpoint"] = path + self.paths["userinfo"]
        if "revoke" in self.paths:
            said["revocation_endpoint"] = path + self.paths["revoke"]
        if self.rules.pkce != "ignored":
            said["code_challenge_methods_supported"] = ["S256"]
        if self.says_issuer_in_response:
            said["authorization_response_iss_parameter_supported"] = True
        return said

    def jwks(self, request: Request, **_: str) -> Answer:
        return json_answer(self.ring.public_keys(), Cache_Control=f"max-age={MAX_AGE_SECONDS}")

    def response_issuer(self, fault: str) -> list[tuple[str, str]]:
        if self.says_issuer_in_response and fault not in ("iss-mix-up", "no-iss"):
            return [("iss", self.issuer.url)]
        return super().response_issuer(fault)

    # ID tokens.

    def token(self, request: Request, **captured: str) -> Answer:
        """oauthlib has no field for the fault, so it travels in the request's headers."""
        headers = dict(request.headers) | {"Simulated-Fault": request.fault}
        return self.server.redeem(Request(request.method, request.base, request.target, headers, request.body))

    def complete_token(self, token: Record, request: Any) -> Record:
        token = super().complete_token(token, request)
        if self.gives_id_token(request.grant):
            token["id_token"] = self.id_token(request.grant, token["access_token"], request.headers["Simulated-Fault"])
        return token

    def gives_id_token(self, grant: Record) -> bool:
        return "openid" in grant["scopes"]

    def id_token(self, grant: Record, access_token: str, fault: str) -> str:
        person = self.world.people.find(grant["person"])
        now = int(time.time())
        login = now - STALE_SECONDS if fault == "stale-login" else grant["auth_time"]
        order = tokens.Order(
            subject=self.subject(person, grant["client_id"]),
            audiences=[self.named_client(grant, fault)],
            nonce={"wrong-nonce": "another-nonce", "no-nonce": None}.get(fault, grant["nonce"]),
            access_token="another-token" if fault == "wrong-at-hash" else access_token,
            algorithm=self.algorithm, unknown_key=fault == "rotated-keys",
            claims=self.person_claims(person, grant) | {"auth_time": login})
        self.complete_order(order, person)
        return tokens.mint(self.ring, self.issuer, order, now)

    def complete_order(self, order: tokens.Order, person: Person) -> None:
        """The claims of an ID token that do not describe the user."""

    def person_claims(self, person: Person, grant: Record) -> Record:
        """The user's claims, the same in ID tokens and at the userinfo endpoint, as far as the scopes allow."""
        said: Record = {}
        if "email" in grant["scopes"] and person.email:
            said |= {"email": person.email, "email_verified": person.email_verified}
        if "profile" in grant["scopes"]:
            given, family = person.given_and_family_name
            said |= {"name": person.display_name, "given_name": given, "family_name": family,
                     "picture": person.picture, "preferred_username": person.username}
        return {name: value for name, value in said.items() if value != ""}

    def userinfo(self, request: Request, **_: str) -> Answer:
        record, person = self.bearer(request)
        subject = self.profile_subject(person, record, request.fault)
        return json_answer({"sub": subject, **self.person_claims(person, record)})

    # The application's own signature.

    def accepts_assertion(self, application: Application, assertion: str) -> bool:
        """RFC 7523 section 3, with the assertion's `jti` usable once. Only our application has a key here."""
        if application != self.application("ours"):
            return False
        public = client_key(self.world.folder, self.issuer).as_dict(private=False)
        keys = KeySet([import_key(public | {"kid": client_key_id(self.issuer)})])
        try:
            claims = jwt.decode(assertion, keys, algorithms=["ES256"]).claims
            jwt.JWTClaimsRegistry(
                iss={"essential": True, "value": application.client_id},
                sub={"essential": True, "value": application.client_id},
                aud={"essential": True, "values": [self.issuer.url, self.issuer.path + self.paths["token"]]},
                exp={"essential": True}, jti={"essential": True}).validate(claims)
        except (JoseError, ValueError):
            return False
        return self.ledger.is_new(self.kind("assertion"), str(claims["jti"]), 600)
