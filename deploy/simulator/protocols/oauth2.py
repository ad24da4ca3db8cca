"""The authorization server of OAuth 2.0: oauthlib's, with the strictness of RFC 9700 and the providers' own rules.

A code is redeemed once, by the application, redirect URI and proof key (S256 only) that it was issued to. A replay
revokes what the code had returned.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from base64 import b64decode, urlsafe_b64decode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import unquote_plus, urlencode

from oauthlib.common import Request as OAuthRequest
from oauthlib.oauth2 import (
    AuthorizationCodeGrant,
    AuthorizationEndpoint,
    BearerToken,
    OAuth2Error,
    RefreshTokenGrant,
    RequestValidator,
    TokenEndpoint,
)
from oauthlib.oauth2.rfc6749 import errors
from oauthlib.oauth2.rfc6749.grant_types.authorization_code import code_challenge_method_s256

from .applications import Application
from .ledger import Record
from .web import FORM, Answer, Request

if TYPE_CHECKING:
    from .oauth2_provider import OAuth2Provider

CODE_SECONDS = 600
REFRESH_SECONDS = 180 * 86400
REDIRECT_MISMATCH = "The redirect URI is not the one that the code was issued for."
# RFC 7636 sections 4.1 and 4.2: a verifier, and the challenge that SHA-256 makes of one.
VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True)
class Rules:
    """The rules of one provider's authorization server."""

    # None: any scope is accepted.
    scopes: frozenset[str] | None = None
    default_scopes: tuple[str, ...] = ()
    # Separators between the scopes of a request, in addition to a space.
    comma_separated: bool = False
    pkce: Literal["required", "optional", "ignored"] = "optional"
    authentication: frozenset[str] = frozenset({"client_secret_basic", "client_secret_post"})
    response_types: tuple[str, ...] = ("code",)
    # None: tokens do not expire, and answers name no lifetime.
    expires_in: int | None = 3600
    token_prefix: str = ""
    # Whether this grant includes a refresh token.
    refreshes: Callable[[Record], bool] = field(default=lambda grant: False)


class CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]
    # Without `plain`, the default for a request without a method.
    _code_challenge_methods: ClassVar = {"S256": code_challenge_method_s256}

    def validate_authorization_request(self, request: Any) -> Any:
        result = super().validate_authorization_request(request)
        if request.code_challenge is not None and not CHALLENGE.fullmatch(request.code_challenge):
            raise errors.InvalidRequestError(description="Invalid code_challenge.", request=request)
        return result

    def validate_token_request(self, request: Any) -> None:
        try:
            super().validate_token_request(request)
        except errors.MismatchingRedirectURIError:
            # RFC 6749 section 5.2 uses `invalid_grant` for this case.
            raise errors.InvalidGrantError(description=REDIRECT_MISMATCH, request=request) from None
        if request.code_verifier is None or self.request_validator.provider.rules.pkce == "ignored":
            return
        # RFC 9700 section 2.1.1: a verifier without a challenge is a downgrade.
        if request.grant["code_challenge"] is None or not VERIFIER.fullmatch(request.code_verifier):
            raise errors.InvalidGrantError(request=request)


class Server(AuthorizationEndpoint, TokenEndpoint):  # type: ignore[misc]
    """oauthlib's endpoints over one provider's rules."""

    def __init__(self, provider: OAuth2Provider) -> None:
        validator = self.validator = Validator(provider)
        code = CodeGrant(validator, refresh_token=True)
        refresh = RefreshTokenGrant(validator)
        for grant in (code, refresh):
            grant.register_token_modifier(lambda token, _, request: provider.complete_token(token, request))
        bearer = BearerToken(validator, expires_in=provider.rules.expires_in,
                             token_generator=lambda _: provider.rules.token_prefix + secrets.token_urlsafe(32))
        AuthorizationEndpoint.__init__(self, "code", bearer, {name: code for name in provider.rules.response_types})
        TokenEndpoint.__init__(self, "authorization_code", bearer,
                               {"authorization_code": code, "refresh_token": refresh})

    def authenticates(self, request: Request) -> Application | None:
        """The application that a request to another endpoint authenticates, in the same ways as at this one."""
        asked = OAuthRequest(request.url, request.method, request.body.decode(), dict(request.headers))
        asked.client = None
        return asked.client if self.validator.authenticate_client(asked) else None

    def redeem(self, request: Request) -> Answer:
        """The token endpoint, its answer in the form of RFC 6749 section 5."""
        body = request.body.decode() if request.header("Content-Type").startswith(FORM) else ""
        try:
            headers, text, status = self.create_token_response(
                request.url, http_method=request.method, body=body, headers=dict(request.headers))
        except OAuth2Error as error:
            headers, text, status = error.headers, error.json, error.status_code
        return Answer(status, text.encode(), headers={k: v for k, v in headers.items() if k != "Content-Type"})


class Validator(RequestValidator):  # type: ignore[misc]
    """Provider callbacks for oauthlib. Its requests carry the code's record as `grant` once it is known."""

    def __init__(self, provider: OAuth2Provider) -> None:
        super().__init__()
        self.provider = provider
        self.ledger = provider.ledger

    # The application.

    def validate_client_id(self, client_id: str, request: Any, *args: Any, **kwargs: Any) -> bool:
        request.client = self.provider.applications.get(client_id)
        return request.client is not None

    def validate_redirect_uri(self, client_id: str, redirect_uri: str, request: Any, *args: Any, **kwargs: Any) -> bool:
        return redirect_uri in self.provider.applications[client_id].redirect_uris

    def get_default_redirect_uri(self, client_id: str, request: Any, *args: Any, **kwargs: Any) -> None:
        """None: an application with several has no default."""

    def client_authentication_required(self, request: Any, *args: Any, **kwargs: Any) -> bool:
        return True

    def authenticate_client(self, request: Any, *args: Any, **kwargs: Any) -> bool:
        ways = [way for way in (_basic(request), _post(request), _assertion(request)) if way]
        # RFC 6749 section 2.3: one authentication method in each request.
        if len(ways) != 1 or ways[0][0] not in self.provider.rules.authentication:
            return False
        method, client_id, secret = ways[0]
        application = self.provider.applications.get(client_id)
        if application is None or (request.client_id or client_id) != client_id:
            return False
        request.client = application
        if method == "private_key_jwt":
            return self.provider.accepts_assertion(application, secret)
        return self.provider.accepts_secret(application, secret)

    # The authorization request.

    def validate_response_type(self, client_id: str, response_type: str, client: Application, request: Any,
                               *args: Any, **kwargs: Any) -> bool:
        return response_type in self.provider.rules.response_types

    def is_pkce_required(self, client_id: str, request: Any) -> bool:
        return self.provider.rules.pkce == "required"

    def get_default_scopes(self, client_id: str, request: Any, *args: Any, **kwargs: Any) -> list[str]:
        return list(self.provider.rules.default_scopes)

    def validate_scopes(self, client_id: str, scopes: list[str], client: Application, request: Any,
                        *args: Any, **kwargs: Any) -> bool:
        known = self.provider.rules.scopes
        return known is None or set(scopes) <= known

    def save_authorization_code(self, client_id: str, code: dict[str, str], request: Any,
                                *args: Any, **kwargs: Any) -> None:
        record = request.grant | {
            "client_id": client_id, "redirect_uri": request.redirect_uri, "nonce": request.nonce,
            "code_challenge": request.code_challenge, "max_age": request.max_age}
        self.ledger.put(self.provider.kind("code"), code["code"], record, CODE_SECONDS)

    # The code.

    def validate_grant_type(self, client_id: str, grant_type: str, client: Application, request: Any,
                            *args: Any, **kwargs: Any) -> bool:
        return grant_type in ("authorization_code", "refresh_token")

    def validate_code(self, client_id: str, code: str, client: Application, request: Any,
                      *args: Any, **kwargs: Any) -> bool:
        kind = self.provider.kind("code")
        held = self.ledger.get(kind, code)
        # An attacker must not be able to use up a user's code.
        grant = self.ledger.take(kind, code) if held and held["client_id"] == client_id else None
        if grant is None:
            if self.ledger.was_taken(kind, code):
                self.ledger.revoke_from(code)
            return False
        request.grant, request.scopes, request.user = grant, grant["scopes"], grant["person"]
        return True

    def get_code_challenge(self, code: str, request: Any) -> str | None:
        if self.provider.rules.pkce == "ignored":
            return None
        challenge: str | None = request.grant["code_challenge"]
        return challenge

    def get_code_challenge_method(self, code: str, request: Any) -> str:
        return "S256"

    def confirm_redirect_uri(self, client_id: str, code: str, redirect_uri: str, client: Application, request: Any,
                             *args: Any, **kwargs: Any) -> bool:
        return bool(request.grant["redirect_uri"] == redirect_uri)

    def invalidate_authorization_code(self, client_id: str, code: str, request: Any, *args: Any, **kwargs: Any) -> None:
        """The look-up already used up the code, so that of two parallel requests only one gets it."""

    # The tokens.

    def save_bearer_token(self, token: Record, request: Any, *args: Any, **kwargs: Any) -> None:
        origin = request.code or request.grant.get("origin") or ""
        record = request.grant | {"issued_at": int(time.time())}
        lifetime = self.provider.rules.expires_in or REFRESH_SECONDS
        self.ledger.put(self.provider.kind("access"), token["access_token"], record, lifetime, origin)
        if "refresh_token" in token:
            self.ledger.put(self.provider.kind("refresh"), token["refresh_token"], record, REFRESH_SECONDS, origin)

    def validate_refresh_token(self, refresh_token: str, client: Application, request: Any,
                               *args: Any, **kwargs: Any) -> bool:
        grant = self.ledger.get(self.provider.kind("refresh"), refresh_token)
        if grant is None or grant["client_id"] != client.client_id:
            return False
        request.grant = grant
        return True

    def get_original_scopes(self, refresh_token: str, request: Any, *args: Any, **kwargs: Any) -> list[str]:
        scopes: list[str] = request.grant["scopes"]
        return scopes

    def rotate_refresh_token(self, request: Any) -> bool:
        return False


Way = tuple[str, str, str] | None


def _basic(request: Any) -> Way:
    """RFC 6749 section 2.3.1: both halves are form-encoded before Base64."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        client_id, _, secret = b64decode(text, validate=True).decode().partition(":")
    except ValueError:
        return "client_secret_basic", "", ""
    return "client_secret_basic", unquote_plus(client_id), unquote_plus(secret)


def _post(request: Any) -> Way:
    form = dict(request.decoded_body or [])
    return ("client_secret_post", form.get("client_id", ""), form["client_secret"]) if "client_secret" in form else None


def _assertion(request: Any) -> Way:
    form = dict(request.decoded_body or [])
    if form.get("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer":
        return None
    assertion = form.get("client_assertion", "")
    return "private_key_jwt", form.get("client_id") or _subject(assertion), assertion


def _subject(assertion: str) -> str:
    """The subject of the assertion, not verified yet: `client_id` is optional with it (RFC 7521 section 4.2)."""
    try:
        payload = assertion.split(".")[1]
        return str(json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["sub"])
    except (IndexError, ValueError, KeyError, TypeError):
        return ""


def with_query(url: str, parameters: list[tuple[str, str]]) -> str:
    return f"{url}?{urlencode(parameters)}"


def failed(answer: Answer) -> Record | None:
    """The error in a token endpoint's answer."""
    said: Record = json.loads(answer.body)
    return said if "error" in said else None
