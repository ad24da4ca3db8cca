"""Tokens that the providers' own SDKs return to an application, issued without a flow of Latchkey."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from clients import fresh_email, provider
from latchkey.v1 import types_pb2 as types
from processes import Simulator
from protocols.people import Person

Bring = Callable[[Simulator, str, Person], types.Credential]
# Scopes that an SDK requests, if a profile without them would lack data.
SCOPES = {"github.com": ["read:user", "user:email"], "discord.com": ["identify", "email"],
          "google.com": ["openid", "email", "profile"], "facebook.com": ["public_profile", "email"],
          "twitter.com": ["users.read", "tweet.read", "users.email"]}


def with_id_token(simulator: Simulator, provider_id: str, person: Person) -> types.Credential:
    return provider(provider_id, simulator.id_token(provider_id, person))


def with_nonce(simulator: Simulator, provider_id: str, person: Person) -> types.Credential:
    """For providers that require a nonce from SDKs: each token has its own and is valid once."""
    raw = "raw-" + fresh_email()
    nonce = hashlib.sha256(raw.encode()).hexdigest() if provider_id == "apple.com" else raw
    return provider(provider_id, simulator.id_token(provider_id, person, nonce=nonce), raw_nonce=raw)


def with_access_token(simulator: Simulator, provider_id: str, person: Person) -> types.Credential:
    token = simulator.access_token(provider_id, person, scopes=SCOPES.get(provider_id, []))
    return provider(provider_id, "", access_token=token["access_token"])


def with_token_and_secret(simulator: Simulator, provider_id: str, person: Person) -> types.Credential:
    return provider(provider_id, "", **simulator.access_token(provider_id, person, oauth1=True))
