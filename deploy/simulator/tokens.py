"""ID tokens on request: valid ones, and each invalid one that a relying party must reject.

Fields that an order omits get the value of an honest provider, so that a test or a user names only what matters.
Invalid signatures are made by hand, because a good JOSE library refuses to make them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import warnings
from dataclasses import dataclass, field

from joserfc import jws
from joserfc.errors import SecurityWarning
from joserfc.jwk import Key, RSAKey

from issuers import Issuer
from keys import KEY_NAMES, KeyRing, generate

# RFC 9864 renames EdDSA, but current relying parties know only this name.
warnings.filterwarnings("ignore", category=SecurityWarning)


@dataclass
class Order:
    """The content of a token, and how to break it. Times are in seconds relative to now."""

    subject: str = "alice"
    audiences: list[str] = field(default_factory=list)
    email: str | None = None
    # Any JSON value, because providers are known to send "true", "false" and 1. None omits the claim.
    email_verified: object = None
    nonce: str | None = None
    hosted_domain: str | None = None
    authorized_party: str | None = None
    name: str | None = None
    picture: str | None = None
    username: str | None = None
    access_token: str | None = None
    issuer: str | None = None
    claims: dict[str, object] = field(default_factory=dict)
    without: list[str] = field(default_factory=list)
    issued_seconds: int = 0
    expires_seconds: int = 3600
    not_before_seconds: int | None = None
    algorithm: str = "RS256"
    header: dict[str, object] = field(default_factory=dict)
    # Signed with an unpublished key, under the id of a published one.
    wrong_key: bool = False
    # The same, under an unpublished id.
    unknown_key: bool = False


def mint(ring: KeyRing, issuer: Issuer, order: Order, now_seconds: int) -> str:
    payload = json.dumps(claims(issuer, order, now_seconds)).encode()
    if order.algorithm == "none":
        return f"{_part({'alg': 'none', 'typ': 'JWT', **order.header})}.{_base64(payload)}."
    if order.algorithm == "HS256":
        return _keyed_with_public_key(ring, order, payload)
    key = ring.signing_key(order.algorithm)
    header: dict[str, object] = {"alg": order.algorithm, "typ": "JWT", "kid": key.kid, **order.header}
    if order.wrong_key or order.unknown_key:
        key = generate("stray")[KEY_NAMES[order.algorithm]]
    if order.unknown_key:
        header["kid"] = key.kid
    return _sign(header, payload, key, order.algorithm)


def claims(issuer: Issuer, order: Order, now_seconds: int) -> dict[str, object]:
    audiences = order.audiences or [issuer.audience]
    issued = now_seconds + order.issued_seconds
    every: dict[str, object] = {
        "iss": order.issuer or issuer.url,
        "sub": order.subject,
        "aud": audiences[0] if len(audiences) == 1 else audiences,
        "iat": issued,
        "exp": now_seconds + order.expires_seconds,
        "nbf": None if order.not_before_seconds is None else now_seconds + order.not_before_seconds,
        "email": order.email,
        "email_verified": order.email_verified,
        "nonce": order.nonce,
        "hd": order.hosted_domain,
        "azp": order.authorized_party,
        "name": order.name,
        "picture": order.picture,
        "preferred_username": order.username,
        "at_hash": access_token_hash(order.access_token, order.algorithm) if order.access_token else None,
    }
    said = {name: value for name, value in every.items() if value is not None}
    return {name: value for name, value in (said | order.claims).items() if name not in order.without}


def access_token_hash(access_token: str, algorithm: str) -> str:
    """The left half of the hash that belongs to the algorithm (OpenID Connect Core 1.0 section 3.1.3.6)."""
    hashes = {"256": hashlib.sha256, "384": hashlib.sha384, "512": hashlib.sha512}
    digest = hashes.get(algorithm[-3:], hashlib.sha512)(access_token.encode()).digest()
    return _base64(digest[: len(digest) // 2])


def _sign(header: dict[str, object], payload: bytes, key: Key, algorithm: str) -> str:
    # Foreign header members (`jku`, `x5u`) are part of the tests, so the registry must not be strict.
    registry = jws.JWSRegistry(algorithms=[algorithm], strict_check_header=False)
    return jws.serialize_compact(header, payload, key, registry=registry)


def _keyed_with_public_key(ring: KeyRing, order: Order, payload: bytes) -> str:
    """The algorithm confusion of RFC 8725 section 2.1: an HMAC with the PEM of the published RSA key as its key."""
    key = ring.signing_key("RS256")
    assert isinstance(key, RSAKey)
    signed = f"{_part({'alg': 'HS256', 'typ': 'JWT', 'kid': key.kid, **order.header})}.{_base64(payload)}"
    return f"{signed}.{_base64(hmac.digest(key.as_pem(private=False), signed.encode(), 'sha256'))}"


def _part(value: dict[str, object]) -> str:
    return _base64(json.dumps(value).encode())


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
