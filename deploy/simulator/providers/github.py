"""GitHub's OAuth apps: form answers unless JSON is requested, errors with status 200, email from its own endpoint."""

from __future__ import annotations

import hmac
import json
from base64 import b64decode
from datetime import UTC, datetime

from protocols.ledger import Record
from protocols.oauth2 import REDIRECT_MISMATCH, Rules, failed
from protocols.oauth2_provider import OAuth2Provider
from protocols.people import Person, number
from protocols.provider import Route
from protocols.web import Answer, Pairs, Refusal, Request, form_answer, json_answer

# GitHub's names for the errors of RFC 6749 section 5.2.
ERRORS = {"invalid_client": "incorrect_client_credentials", "invalid_grant": "bad_verification_code"}


class GitHub(OAuth2Provider):
    rules = Rules(comma_separated=True, authentication=frozenset({"client_secret_post", "client_secret_basic"}),
                  expires_in=None, token_prefix="gho_")
    bearer_schemes = ("bearer", "token")

    def routes(self) -> list[Route]:
        return [
            Route("GET POST", "/login/oauth/authorize", "authorize", self.authorize),
            Route("POST", "/login/oauth/access_token", "token", self.token),
            Route("GET", "/user", "user", self.user),
            Route("GET", "/user/emails", "emails", self.emails),
            Route("POST", "/applications/{client_id}/token", "check", self.check),
            Route("DELETE", "/applications/{client_id}/grant", "grant", self.end_grant),
        ]

    def authorization_parameters(self, parameters: Pairs) -> Pairs:
        """`response_type` is not one of GitHub's parameters; the engine requires it."""
        named = super().authorization_parameters(parameters)
        return named if "response_type" in dict(named) else [*named, ("response_type", "code")]

    def subject(self, person: Person, client_id: str) -> str:
        return str(1_000_000 + number(self.name, person.username, 200_000_000))

    def token(self, request: Request, **_: str) -> Answer:
        form = dict(request.form)
        # Nor is `grant_type`.
        body = request.body if "grant_type" in form else request.body + b"&grant_type=authorization_code"
        answer = self.server.redeem(Request("POST", request.base, request.path, request.headers, body))
        said: Record = json.loads(answer.body)
        if error := failed(answer):
            mismatch = error.get("error_description") == REDIRECT_MISMATCH
            word = "redirect_uri_mismatch" if mismatch else ERRORS.get(error["error"], error["error"])
            said = {"error": word, "error_description": f"The request was refused: {word}.",
                    "error_uri": "https://docs.github.com/apps/oauth-apps"}
        else:
            said["token_type"], said["scope"] = "bearer", said.get("scope", "").replace(" ", ",")
        return json_answer(said) if "application/json" in request.header("Accept") else form_answer(said)

    def user(self, request: Request) -> Answer:
        record, person = self.caller(request)
        return self.with_scopes(record, self.profile(person, record, request.fault) | {
            "name": person.display_name, "email": None, "avatar_url": person.picture or None, "type": "User"})

    def profile(self, person: Person, record: Record, fault: str) -> Record:
        return {"login": person.username, "id": int(self.profile_subject(person, record, fault))}

    def emails(self, request: Request) -> Answer:
        record, person = self.caller(request)
        if not {"user", "user:email"} & set(record["scopes"]):
            return json_answer({"message": "Not Found", "status": "404"}, 404)
        hidden = f"{self.subject(person, '')}+{person.username}@users.noreply.github.com"
        entries = [{"email": hidden, "primary": not person.email, "verified": True, "visibility": None},
                   {"email": f"old-{person.username}@example.org", "primary": False, "verified": False,
                    "visibility": None}]
        if person.email:
            entries.append({"email": person.email, "primary": True, "verified": person.email_verified,
                            "visibility": "private"})
        return self.with_scopes(record, entries)

    def check(self, request: Request, client_id: str) -> Answer:
        """Whether a token was issued to this application."""
        record, token = self.own_token(request, client_id)
        person = self.world.people.find(record["person"])
        named = self.named_client(record, request.fault)
        return json_answer({
            "id": number("authorization", token, 1 << 31), "app": {"name": named, "client_id": named}, "token": token,
            "scopes": record["scopes"], "user": self.profile(person, record, request.fault), "expires_at": None,
            "created_at": datetime.fromtimestamp(record["issued_at"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")})

    def end_grant(self, request: Request, client_id: str) -> Answer:
        """Ends the user's consent, and with it all tokens of this application."""
        record, token = self.own_token(request, client_id)
        self.ledger.revoke_all(self.kind("access"), record["person"], client_id)
        self.note_revocation(token)
        return Answer(204)

    def own_token(self, request: Request, client_id: str) -> tuple[Record, str]:
        """The token of the request and its record. The application authenticates with its secret."""
        self.demand_user_agent(request)
        scheme, _, text = request.header("Authorization").partition(" ")
        application = self.applications.get(client_id)
        presented = b64decode(text) if scheme.lower() == "basic" else b""
        if application is None or not hmac.compare_digest(presented, f"{client_id}:{application.secret}".encode()):
            raise Refusal(json_answer({"message": "Bad credentials", "status": "401"}, 401))
        try:
            token = str(json.loads(request.body)["access_token"])
        except (ValueError, KeyError, TypeError):
            raise Refusal(json_answer({"message": "Validation Failed", "status": "422"}, 422)) from None
        record = self.ledger.get(self.kind("access"), token)
        if record is None or record["client_id"] != client_id:
            raise Refusal(json_answer({"message": "Not Found", "status": "404"}, 404))
        return record, token

    def caller(self, request: Request) -> tuple[Record, Person]:
        self.demand_user_agent(request)
        return self.bearer(request)

    def demand_user_agent(self, request: Request) -> None:
        if not request.header("User-Agent"):
            raise Refusal(Answer(403, b"Request forbidden by administrative rules: a User-Agent field is missing.",
                                 "text/plain"))

    def with_scopes(self, record: Record, value: object) -> Answer:
        return json_answer(value, X_OAuth_Scopes=", ".join(record["scopes"]))

    def unauthorized(self) -> Answer:
        return json_answer({"message": "Bad credentials", "status": "401"}, 401)
