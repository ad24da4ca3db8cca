"""X, formerly Twitter: OAuth 1.0a in three legs, and OAuth 2.0 with PKCE."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TypeVar

from issuers import Issuer
from protocols import oauth1, pages
from protocols.ledger import Record
from protocols.oauth2 import Rules
from protocols.oauth2_provider import OAuth2Provider
from protocols.people import Person, number
from protocols.provider import Route, World
from protocols.web import Answer, Refusal, Request, form_answer, json_answer, redirect_answer

T = TypeVar("T")
SCOPES = frozenset({"tweet.read", "users.read", "users.email", "offline.access"})


class Twitter(OAuth2Provider):
    rules = Rules(scopes=SCOPES, pkce="required", authentication=frozenset({"client_secret_basic"}), expires_in=7200,
                  refreshes=lambda grant: "offline.access" in grant["scopes"])

    def __init__(self, issuer: Issuer, world: World) -> None:
        super().__init__(issuer, world)
        self.oauth1 = oauth1.Engine(issuer.name, self.ledger, self.applications)

    def routes(self) -> list[Route]:
        return [
            Route("POST", "/oauth/request_token", "request_token", self.request_token),
            Route("GET POST", "/oauth/authenticate", "authenticate", self.authenticate),
            Route("GET POST", "/oauth/authorize", "authenticate", self.authenticate),
            Route("POST", "/oauth/access_token", "access_token", self.access_token),
            Route("GET", "/1.1/account/verify_credentials.json", "verify_credentials", self.verify_credentials),
            Route("GET POST", "/i/oauth2/authorize", "authorize", self.authorize),
            Route("POST", "/2/oauth2/token", "token", self.token),
            Route("GET", "/2/users/me", "users_me", self.users_me),
        ]

    def subject(self, person: Person, client_id: str) -> str:
        """Above 2^53, where a JSON number that is read as a double differs from the one that was sent."""
        return str((1 << 60) + number(self.name, person.username, 1 << 60))

    # OAuth 1.0a.

    def request_token(self, request: Request) -> Answer:
        tokens = self._signed(self.oauth1.request_token, request)
        if request.fault == "callback-not-confirmed":
            tokens["oauth_callback_confirmed"] = "false"
        return form_answer(tokens)

    def authenticate(self, request: Request) -> Answer:
        token = request.value("oauth_token")
        asking = self.oauth1.asking(token)
        if asking is None or "verifier" in asking:
            return pages.refusal(self.name, "The request token for this page is invalid: used, or older than ten "
                                            "minutes. Go back to where you came from and try again.", 403)
        if request.method == "GET":
            return pages.login(self.name, asking["client_id"], [], self.world.people.everybody(),
                               request.value("screen_name"))
        if request.value("decision") == "deny":
            self.oauth1.deny(token)
            separator = "&" if "?" in asking["callback"] else "?"
            return redirect_answer(f"{asking['callback']}{separator}denied={token}")
        person = self.chosen_person(request)
        return redirect_answer(self._signed(lambda _: self.oauth1.authorize(token, person.username), request))

    def access_token(self, request: Request) -> Answer:
        tokens = self._signed(self.oauth1.access_token, request)
        person = self.world.people.find(self.oauth1.owner(tokens["oauth_token"]))
        tokens.pop("oauth_authorized_realms", None)
        return form_answer(tokens | {"user_id": self.subject(person, ""), "screen_name": person.username})

    def verify_credentials(self, request: Request) -> Answer:
        record = self._signed(self.oauth1.protected, request)
        person = self.world.people.find(record["person"])
        subject = self.profile_subject(person, record, request.fault)
        said: Record = {
            "id": int(subject), "id_str": subject, "name": person.display_name, "screen_name": person.username,
            "profile_image_url_https": person.picture or None, "verified": False, "protected": False}
        if request.value("include_email") == "true":
            # Null unless the user has an address and confirmed it.
            said["email"] = person.email if person.email and person.email_verified else None
        return json_answer(said)

    def _signed(self, act: Callable[[Request], T], request: Request) -> T:
        try:
            return act(request)
        except oauth1.OAuth1Error401 as problem:
            raise Refusal(json_answer({"errors": [{"code": 32, "message": str(problem)}]}, 401)) from None

    def issue_oauth1(self, person: Person, client_id: str) -> Record:
        """Token and secret, as the provider's own SDK would return them."""
        token, secret = f"{self.subject(person, '')}-{secrets.token_hex(20)}", secrets.token_hex(23)
        self.oauth1.validator.save(token, secret, client_id, person.username)
        return {"access_token": token, "token_secret": secret}

    # OAuth 2.0.

    def users_me(self, request: Request) -> Answer:
        record, person = self.bearer(request)
        if not {"users.read", "tweet.read"} <= set(record["scopes"]):
            return json_answer({"title": "Forbidden", "status": 403, "detail": "users.read and tweet.read"}, 403)
        said = {"id": self.profile_subject(person, record, request.fault), "name": person.display_name,
                "username": person.username}
        fields = request.value("user.fields").split(",")
        if "profile_image_url" in fields and person.picture:
            said["profile_image_url"] = person.picture
        if "confirmed_email" in fields and "users.email" in record["scopes"] and person.email_verified and person.email:
            said["confirmed_email"] = person.email
        return json_answer({"data": said})

    def unauthorized(self) -> Answer:
        return json_answer({"title": "Unauthorized", "type": "about:blank", "status": 401, "detail": "Unauthorized"},
                           401)
