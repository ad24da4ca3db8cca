"""Tokens without a flow, for tests and manual use: issued in this process, and valid at a running `serve`."""

from __future__ import annotations

import time
from pathlib import Path

import issuers
import providers
from protocols.ledger import Record
from protocols.openid import OpenIDProvider
from protocols.people import Person
from protocols.provider import Provider, World
from providers.twitter import Twitter


def provider(folder: Path, name: str) -> Provider:
    issuer = issuers.find(folder, name)
    return providers.make(issuer, World(folder, issuer.path.removesuffix("/" + name)))


def issue(folder: Path, name: str, person: Person, *, whose: str = "ours", scopes: list[str] | None = None,
          oauth1: bool = False) -> Record:
    """An access token of the user, issued to our application or to `another`; for `oauth1` with its secret."""
    issuing = provider(folder, name)
    issuing.world.people.save(person)
    client_id = issuing.application(whose).client_id
    if not oauth1:
        return issuing.issue(person, client_id, scopes or [])
    if not isinstance(issuing, Twitter):
        raise LookupError(f"{name} does not speak OAuth 1.0a")
    return issuing.issue_oauth1(person, client_id)


def id_token(folder: Path, name: str, person: Person, *, whose: str = "ours", nonce: str | None = None,
             scopes: tuple[str, ...] = ("openid", "email", "profile"), access_token: str = "") -> str:
    """The token that a provider's own SDK would pass to an application for this user."""
    issuing = provider(folder, name)
    issuing.world.people.save(person)
    if not isinstance(issuing, OpenIDProvider):
        raise LookupError(f"{name} has no ID tokens")
    grant = {"person": person.username, "client_id": issuing.application(whose).client_id, "scopes": list(scopes),
             "nonce": nonce, "auth_time": int(time.time())}
    return issuing.id_token(grant, access_token, "well")
