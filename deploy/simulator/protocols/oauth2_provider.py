"""An OAuth 2.0 provider: its authorization page, its token endpoint, and calls with a bearer token."""

from __future__ import annotations

import secrets
import time
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from oauthlib.oauth2 import FatalClientError, OAuth2Error

from issuers import Issuer

from . import pages
from .applications import Application
from .ledger import Record
from .oauth2 import REFRESH_SECONDS, Rules, Server, with_query
from .people import Person
from .provider import Provider, World
from .web import Answer, Pairs, Refusal, Request, json_answer, redirect_answer


class OAuth2Provider(Provider):
    rules = Rules()

    def __init__(self, issuer: Issuer, world: World) -> None:
        super().__init__(issuer, world)
        self.server = Server(self)

    def kind(self, what: str) -> str:
        """The kind of its records in the ledger: another provider's code is unknown here."""
        return f"{self.name} {what}"

    # The authorization endpoint.

    def authorize(self, request: Request, **_: str) -> Answer:
        """GET shows the login page; POST is its form."""
        parameters = self.authorization_parameters(request.query)
        url = with_query(request.base + request.path, parameters)
        try:
            scopes, info = self.server.validate_authorization_request(url)
            self.check_authorization(request, info["request"])
            if info["request"].prompt == "none":
                return self._go_back(request, info["request"], [("error", "login_required")])
            if request.method == "GET":
                return pages.login(self.name, info["client_id"], scopes, self.world.people.everybody(),
                                   dict(parameters).get("login_hint", ""))
            if request.value("decision") == "deny":
                return self._go_back(request, info["request"], self.denial())
            person = self.chosen_person(request)
            grant = self.grant(person, scopes, request)
            headers, _body, _status = self.server.create_authorization_response(
                url, scopes=scopes, credentials={"grant": grant})
            return self._go_back(request, info["request"], _added(headers["Location"]), grant)
        except FatalClientError as error:
            return pages.refusal(self.name, f"{error.error}: {error.description}")
        except OAuth2Error as error:
            return self._go_back(request, error, [("error", error.error), ("error_description", error.description)])

    def authorization_parameters(self, parameters: Pairs) -> Pairs:
        """The request in the format of the engine."""
        if not self.rules.comma_separated:
            return parameters
        return [(name, value.replace(",", " ") if name == "scope" else value) for name, value in parameters]

    def check_authorization(self, request: Request, said: Any) -> None:
        """Raises an `OAuth2Error` if the provider has a rule of its own."""

    def denial(self) -> Pairs:
        return [("error", "access_denied"), ("error_description", "The user denied access.")]

    def grant(self, person: Person, scopes: list[str], request: Request) -> Record:
        """The data of the code, and of the tokens made from it."""
        declined = [value for name, value in request.form if name == "declined"]
        return {"person": person.username, "scopes": [scope for scope in scopes if scope not in declined],
                "declined": declined, "auth_time": int(time.time()),
                "offline": request.value("access_type") == "offline"}

    def _go_back(self, request: Request, said: Any, parameters: Pairs, grant: Record | None = None) -> Answer:
        """Redirects to the redirect URI, with the parameters of this provider's answers, and applies the fault."""
        state = [("state", said.state)] if said.state is not None else []
        kept = [each for each in parameters if each[0] != "state"]
        match request.fault:
            case "state-dropped":
                state = []
            case "state-changed":
                state = [("state", secrets.token_urlsafe(32))]
        answer = [*kept, *state, *self.response_issuer(request.fault), *self.additions(said, grant)]
        if self.response_mode(said) == "form_post":
            return pages.form_post(said.redirect_uri, answer)
        separator = "&" if urlsplit(said.redirect_uri).query else "?"
        return redirect_answer(said.redirect_uri + separator + with_query("", answer)[1:])

    def response_mode(self, said: Any) -> str:
        return "query"

    def response_issuer(self, fault: str) -> Pairs:
        """The parameter `iss` of RFC 9207, for providers that send it."""
        return [("iss", "https://honest.example")] if fault == "iss-mix-up" else []

    def additions(self, said: Any, grant: Record | None) -> Pairs:
        return []

    # The token endpoint.

    def token(self, request: Request, **_: str) -> Answer:
        return self.server.redeem(request)

    def revoke(self, request: Request, **_: str) -> Answer:
        """The revocation endpoint (RFC 7009). A token that is unknown is invalid already."""
        application = self.server.authenticates(request)
        if application is None:
            return json_answer({"error": "invalid_client"}, self.wrong_client_status)
        token = dict(request.form).get("token", "")
        if not token:
            return json_answer({"error": "invalid_request"}, 400)
        self.end(token, application.client_id)
        return Answer(200)

    wrong_client_status = 401

    def end(self, token: str, client_id: str = "") -> bool:
        """Revokes a token, and with it what was made from the same code. False if the token is unknown."""
        for kind in map(self.kind, ("access", "refresh")):
            record = self.ledger.get(kind, token)
            if record is None or (client_id and record["client_id"] != client_id):
                continue
            origin = self.ledger.origin(kind, token)
            if origin:
                self.ledger.revoke_made_from(origin)
            self.ledger.revoke(kind, token)
            self.note_revocation(token)
            return True
        return False

    def accepts_secret(self, application: Application, secret: str) -> bool:
        return application.has_secret(secret)

    def accepts_assertion(self, application: Application, assertion: str) -> bool:
        return False

    def complete_token(self, token: Record, request: Any) -> Record:
        """Converts oauthlib's answer to this provider's format."""
        if not self.rules.refreshes(request.grant):
            token.pop("refresh_token", None)
        if self.rules.expires_in is None:
            token.pop("expires_in", None)
        return token

    def issue(self, person: Person, client_id: str, scopes: list[str]) -> Record:
        token = self.rules.token_prefix + secrets.token_urlsafe(32)
        now = int(time.time())
        record = {"person": person.username, "client_id": client_id, "declined": [], "auth_time": now,
                  "scopes": scopes or list(self.rules.default_scopes), "issued_at": now}
        self.ledger.put(self.kind("access"), token, record, self.rules.expires_in or REFRESH_SECONDS)
        return {"access_token": token}

    # Calls with a bearer token.

    def bearer(self, request: Request) -> tuple[Record, Person]:
        """The token's record and its user (RFC 6750 section 2.1)."""
        scheme, _, token = request.header("Authorization").partition(" ")
        record = self.ledger.get(self.kind("access"), token) if scheme.lower() in self.bearer_schemes else None
        if record is None:
            raise Refusal(self.unauthorized())
        return record, self.world.people.find(record["person"])

    bearer_schemes: tuple[str, ...] = ("bearer",)

    def unauthorized(self) -> Answer:
        return json_answer({"error": "invalid_token", "error_description": "The token is unknown or has expired."},
                           401, WWW_Authenticate='Bearer error="invalid_token"')

    def named_client(self, record: Record, fault: str) -> str:
        """The application that the answer names for the token, according to the fault."""
        client_id: str = record["client_id"]
        return self.other_application(client_id) if fault == "wrong-audience" else client_id

    def profile_subject(self, person: Person, record: Record, fault: str) -> str:
        """The user whose profile the answer returns, according to the fault."""
        shown = Person(username="somebody-else") if fault == "other-subject" else person
        return self.subject(shown, record["client_id"])


def _added(location: str) -> Pairs:
    """The parameters that the engine added to the redirect URI, which are those of an authorization response."""
    names = ("code", "state", "error", "error_description", "error_uri")
    return [(name, value) for name, value in parse_qsl(urlsplit(location).query) if name in names]
