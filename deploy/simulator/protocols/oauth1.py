"""OAuth 1.0a (RFC 5849) with oauthlib's provider side: HMAC-SHA1, recent timestamps, each nonce once.

Three legs: a request token for a callback, the user's consent bound to it by a verifier, and the access token that both
are exchanged for, once. An access token is valid only with the consumer key that it was issued to.
"""

from __future__ import annotations

import string
from typing import Any
from urllib.parse import parse_qsl

from oauthlib.oauth1 import (
    SIGNATURE_HMAC_SHA1,
    AccessTokenEndpoint,
    AuthorizationEndpoint,
    RequestTokenEndpoint,
    RequestValidator,
    ResourceEndpoint,
)
from oauthlib.oauth1.rfc5849.errors import OAuth1Error

from .applications import Application
from .ledger import Ledger, Record
from .web import Request

# Like X: a request token lives ten minutes, a clock may be five minutes off, an access token does not expire.
REQUEST_TOKEN_SECONDS = 600
CLOCK_SKEW_SECONDS = 300
ACCESS_TOKEN_SECONDS = 10 * 365 * 86400
LENGTHS = (1, 200)


class OAuth1Error401(Exception):
    """The request is not authenticated, or its token is unknown; the text states the reason."""


class Engine:
    def __init__(self, name: str, ledger: Ledger, applications: dict[str, Application]) -> None:
        self.validator = Validator(name, ledger, applications)

    def request_token(self, request: Request) -> Record:
        return self._tokens(RequestTokenEndpoint(self.validator).create_request_token_response, request)

    def access_token(self, request: Request) -> Record:
        return self._tokens(AccessTokenEndpoint(self.validator).create_access_token_response, request)

    def _tokens(self, create: Any, request: Request) -> Record:
        _headers, body, status = create(request.url, request.method, request.body.decode(), dict(request.headers))
        if status != 200:
            raise OAuth1Error401(dict(parse_qsl(body or "")).get("error_description", "Could not authenticate you."))
        return dict(parse_qsl(body))

    def asking(self, token: str) -> Record | None:
        """The record of a request token, while it waits for the user's consent."""
        return self.validator.ledger.get(self.validator.kind("request"), token)

    def authorize(self, token: str, person: str) -> str:
        """Binds the user's consent to the request token. Returns the redirect that brings it to the application."""
        endpoint = AuthorizationEndpoint(self.validator)
        try:
            headers, _body, _status = endpoint.create_authorization_response(
                f"https://simulator/?oauth_token={token}", credentials={"oauth_token": token})
        except OAuth1Error as error:
            raise OAuth1Error401(error.description or "The request token is unknown.") from None
        self.validator.update(token, person=person)
        location: str = headers["Location"]
        return location

    def deny(self, token: str) -> None:
        self.validator.ledger.take(self.validator.kind("request"), token)

    def owner(self, access_token: str) -> str:
        """The user of a token that was just issued."""
        record = self.validator.ledger.get(self.validator.kind("access"), access_token) or {}
        return str(record["person"])

    def protected(self, request: Request) -> Record:
        """The access token's record for a call with a valid signature."""
        valid, said = ResourceEndpoint(self.validator).validate_protected_resource_request(
            request.url, request.method, request.body.decode(), dict(request.headers), realms=[])
        record = self.validator.token("access", said.client_key, said.resource_owner_key) if valid else None
        if record is None:
            raise OAuth1Error401("Could not authenticate you.")
        return record


class Validator(RequestValidator):  # type: ignore[misc]
    allowed_signature_methods = (SIGNATURE_HMAC_SHA1,)
    safe_characters = frozenset(string.ascii_letters + string.digits + "-_")
    client_key_length = request_token_length = access_token_length = nonce_length = verifier_length = LENGTHS
    timestamp_lifetime = CLOCK_SKEW_SECONDS
    # Placeholders that keep the response time of a rejection the same. No application or token has these names.
    dummy_client = dummy_request_token = dummy_access_token = "nobody"

    def __init__(self, name: str, ledger: Ledger, applications: dict[str, Application]) -> None:
        super().__init__()
        self.name = name
        self.ledger = ledger
        self.applications = applications

    def kind(self, what: str) -> str:
        return f"{self.name} 1.0a {what}"

    def token(self, what: str, client_key: str, token: str) -> Record | None:
        """The record of a token, if it was issued to this consumer."""
        record = self.ledger.get(self.kind(what), token)
        return record if record and record["client_id"] == client_key else None

    def update(self, token: str, **fields: str) -> None:
        record = self.ledger.get(self.kind("request"), token)
        if record is not None:
            self.ledger.put(self.kind("request"), token, record | fields, REQUEST_TOKEN_SECONDS)

    # Secrets.

    def get_client_secret(self, client_key: str, request: Any) -> str:
        application = self.applications.get(client_key)
        return application.secret if application else "nobody's"

    def get_request_token_secret(self, client_key: str, token: str, request: Any) -> str:
        return str((self.token("request", client_key, token) or {}).get("secret", "nobody's"))

    def get_access_token_secret(self, client_key: str, token: str, request: Any) -> str:
        return str((self.token("access", client_key, token) or {}).get("secret", "nobody's"))

    # Checks.

    def validate_client_key(self, client_key: str, request: Any) -> bool:
        return client_key in self.applications

    def validate_request_token(self, client_key: str, token: str, request: Any) -> bool:
        return self.token("request", client_key, token) is not None

    def validate_access_token(self, client_key: str, token: str, request: Any) -> bool:
        return self.token("access", client_key, token) is not None

    def validate_timestamp_and_nonce(self, client_key: str, timestamp: str, nonce: str, request: Any,
                                     request_token: str | None = None, access_token: str | None = None) -> bool:
        """RFC 5849 section 3.3: unique for its timestamp, consumer and token."""
        named = " ".join((client_key, timestamp, request_token or access_token or "", nonce))
        return self.ledger.is_new(self.kind("nonce"), named, 2 * CLOCK_SKEW_SECONDS)

    def validate_redirect_uri(self, client_key: str, redirect_uri: str, request: Any) -> bool:
        """X compares without the query, which may carry application data."""
        application = self.applications.get(client_key)
        return application is not None and redirect_uri.partition("?")[0] in application.redirect_uris

    def validate_verifier(self, client_key: str, token: str, verifier: str, request: Any) -> bool:
        record = self.token("request", client_key, token)
        return record is not None and bool(record.get("person")) and record.get("verifier") == verifier

    def verify_request_token(self, token: str, request: Any) -> bool:
        record = self.ledger.get(self.kind("request"), token)
        return record is not None and "verifier" not in record

    def get_redirect_uri(self, token: str, request: Any) -> str:
        record = self.ledger.get(self.kind("request"), token)
        return str(record["callback"]) if record else "oob"

    # Storage.

    def save_request_token(self, token: Record, request: Any) -> None:
        record = {"client_id": request.client_key, "secret": token["oauth_token_secret"],
                  "callback": request.redirect_uri}
        self.ledger.put(self.kind("request"), token["oauth_token"], record, REQUEST_TOKEN_SECONDS)

    def save_verifier(self, token: str, verifier: Record, request: Any) -> None:
        self.update(token, verifier=verifier["oauth_verifier"])

    def save_access_token(self, token: Record, request: Any) -> None:
        granted = self.token("request", request.client_key, request.resource_owner_key) or {}
        self.save(token["oauth_token"], token["oauth_token_secret"], request.client_key, granted["person"])

    def save(self, token: str, secret: str, client_key: str, person: str) -> None:
        self.ledger.put(self.kind("access"), token, {"client_id": client_key, "secret": secret, "person": person},
                        ACCESS_TOKEN_SECONDS)

    def invalidate_request_token(self, client_key: str, request_token: str, request: Any) -> None:
        self.ledger.take(self.kind("request"), request_token)

    # Realms, which are not used.

    def get_default_realms(self, client_key: str, request: Any) -> list[str]:
        return []

    def get_realms(self, token: str, request: Any) -> list[str]:
        return []

    def validate_requested_realms(self, client_key: str, realms: list[str], request: Any) -> bool:
        return not realms

    def validate_realms(self, client_key: str, token: str, request: Any, uri: str | None = None,
                        realms: list[str] | None = None) -> bool:
        return True

    def verify_realms(self, token: str, realms: list[str], request: Any) -> bool:
        return not realms
