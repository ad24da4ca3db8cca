"""Facebook: OAuth 2.0 with its own answer format, calls authenticated by `appsecret_proof`, and debug_token.

Limited Login, whose ID tokens come from Facebook's own SDK, has a key set here; `simulator.py mint` makes its tokens.
"""

from __future__ import annotations

import hmac
import json
from typing import ClassVar
from urllib.parse import urlencode

from protocols.applications import Application
from protocols.ledger import Record
from protocols.oauth2 import Rules, failed
from protocols.openid import OpenIDProvider
from protocols.people import Person, decimal
from protocols.provider import Route
from protocols.web import FORM, Answer, Pairs, Refusal, Request, json_answer

SCOPES = frozenset({"public_profile", "email", "openid"})
PROFILE_FIELDS = ("id", "name", "first_name", "last_name", "email", "picture")


def graph_error(message: str, kind: str, code: int, status: int = 400) -> Answer:
    return json_answer({"error": {"message": message, "type": kind, "code": code, "fbtrace_id": "simulated"}}, status)


WRONG_SECRET = graph_error("Error validating client secret.", "OAuthException", 1)
UNKNOWN_TOKEN = graph_error("Invalid OAuth access token.", "OAuthException", 190, 401)


class Facebook(OpenIDProvider):
    rules = Rules(scopes=SCOPES, default_scopes=("public_profile",), comma_separated=True,
                  authentication=frozenset({"client_secret_post"}), expires_in=5_183_944, token_prefix="EAA")
    paths: ClassVar = {"authorize": "/v25.0/dialog/oauth", "token": "/v25.0/oauth/access_token"}

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/.well-known/openid-configuration", "discovery", self.discovery),
            Route("GET", "/jwks", "jwks", self.jwks),
            Route("GET", "/.well-known/oauth/openid/jwks", "jwks", self.jwks),
            Route("GET POST", "/{version}/dialog/oauth", "authorize", self.authorize),
            Route("GET POST", "/{version}/oauth/access_token", "token", self.token),
            Route("GET", "/debug_token", "debug_token", self.debug_token),
            Route("GET", "/{version}/debug_token", "debug_token", self.debug_token),
            Route("GET", "/{version}/me", "me", self.me),
            Route("GET DELETE", "/{version}/me/permissions", "permissions", self.permissions),
        ]

    def authorization_parameters(self, parameters: Pairs) -> Pairs:
        """Facebook's default `response_type` is `code`; the engine requires the parameter."""
        named = super().authorization_parameters(parameters)
        return named if "response_type" in dict(named) else [*named, ("response_type", "code")]

    def denial(self) -> Pairs:
        return [("error", "access_denied"), ("error_code", "200"), ("error_description", "Permissions error"),
                ("error_reason", "user_denied")]

    def subject(self, person: Person, client_id: str) -> str:
        """The subject depends on the application."""
        return decimal(f"{self.name}/{client_id}", person.username, 17)

    def token(self, request: Request, **_: str) -> Answer:
        """The parameters may come in the query. `client_credentials` returns an app access token."""
        form = dict(request.query) | dict(request.form)
        application = self.applications.get(form.get("client_id", ""))
        if form.get("grant_type") == "client_credentials":
            if application is None or not application.has_secret(form.get("client_secret", "")):
                return WRONG_SECRET
            return json_answer({"access_token": f"{application.client_id}|{application.secret}",
                                "token_type": "bearer"})
        form.setdefault("grant_type", "authorization_code")
        headers = {"Content-Type": FORM, "Simulated-Fault": request.fault}
        answer = self.server.redeem(Request("POST", request.base, request.path, headers, urlencode(form).encode()))
        if error := failed(answer):
            if error["error"] == "invalid_client":
                return WRONG_SECRET
            return graph_error(f"Error validating the request: {error['error']}.", "OAuthException", 100)
        said = json.loads(answer.body) | {"token_type": "bearer"}
        said.pop("scope", None)
        return json_answer(said)

    # The Graph API.

    def caller(self, request: Request) -> tuple[Record, Person]:
        token = self.presented(request)
        record = self.ledger.get(self.kind("access"), token)
        if record is None:
            raise Refusal(UNKNOWN_TOKEN)
        self.demand_proof(request, token, self.applications[record["client_id"]])
        return record, self.world.people.find(record["person"])

    def presented(self, request: Request) -> str:
        scheme, _, token = request.header("Authorization").partition(" ")
        return token if scheme.lower() == "bearer" else request.value("access_token")

    def demand_proof(self, request: Request, token: str, application: Application) -> None:
        """Facebook's setting "Require app secret" is on: each call must prove knowledge of the secret."""
        proof = request.value("appsecret_proof")
        if not proof:
            raise Refusal(graph_error("API calls from the server require an appsecret_proof argument",
                                      "GraphMethodException", 100))
        expected = hmac.digest(application.secret.encode(), token.encode(), "sha256").hex()
        if not hmac.compare_digest(expected.encode(), proof.encode()):
            raise Refusal(graph_error("Invalid appsecret_proof provided in the API argument",
                                      "GraphMethodException", 100))

    def me(self, request: Request, version: str) -> Answer:
        record, person = self.caller(request)
        given, family = person.given_and_family_name
        every = {"id": self.profile_subject(person, record, request.fault), "name": person.display_name,
                 "first_name": given, "last_name": family,
                 "picture": {"data": {"url": person.picture, "is_silhouette": False}} if person.picture else None,
                 "email": person.email if "email" in record["scopes"] else None}
        fields = [field.split("{")[0].split(".")[0] for field in (request.value("fields") or "id,name").split(",")]
        if unknown := [field for field in fields if field not in PROFILE_FIELDS]:
            return graph_error(f"(#100) Tried accessing nonexisting field ({unknown[0]})", "OAuthException", 100)
        # Every answer contains the id. Missing fields are omitted.
        return json_answer({name: value for name, value in every.items() if value and name in (*fields, "id")})

    def permissions(self, request: Request, version: str) -> Answer:
        record, _person = self.caller(request)
        if request.method == "DELETE":
            self.ledger.revoke_all(self.kind("access"), record["person"], record["client_id"])
            self.note_revocation(self.presented(request))
            return json_answer({"success": True})
        granted = [{"permission": scope, "status": "granted"} for scope in record["scopes"]]
        declined = [{"permission": scope, "status": "declined"} for scope in record["declined"]]
        return json_answer({"data": granted + declined})

    def debug_token(self, request: Request, **_: str) -> Answer:
        """Only for the application itself, which sends its app access token with the inspected token in the query."""
        token = request.value("access_token")
        application = self._application_of(token)
        if application is None:
            return UNKNOWN_TOKEN
        self.demand_proof(request, token, application)
        record = self.ledger.get(self.kind("access"), request.value("input_token"))
        if record is None:
            return json_answer({"data": {"error": {"code": 190, "message": "Malformed access token"},
                                         "is_valid": False, "scopes": []}})
        if record["client_id"] != application.client_id:
            return graph_error("(#100) The App_id in the input_token did not match the Viewing App",
                               "OAuthException", 100)
        person = self.world.people.find(record["person"])
        named = self.named_client(record, request.fault)
        expires = record["issued_at"] + (self.rules.expires_in or 0)
        return json_answer({"data": {
            "app_id": named, "type": "USER", "application": named, "data_access_expires_at": expires,
            "expires_at": expires, "is_valid": True, "issued_at": record["issued_at"], "scopes": record["scopes"],
            "user_id": self.profile_subject(person, record, request.fault)}})

    def _application_of(self, token: str) -> Application | None:
        client_id, _, secret = token.partition("|")
        application = self.applications.get(client_id)
        return application if application and application.has_secret(secret) else None
