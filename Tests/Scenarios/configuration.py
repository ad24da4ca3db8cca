"""The configuration of a server under test: that of `deploy/run`, with more providers and callers."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path
from typing import Any

Settings = dict[str, Any]

# Cheap hashing for every test that does not concern passwords; the real cost is the server's default.
CHEAP_PASSWORDS = {"memory_kib": 1024, "iterations": 1}
REAL_PASSWORDS = {"memory_kib": 19456, "iterations": 2}

KEYS = {name: f"lk_{secrets.token_hex(32)}" for name in ("web", "shop", "admin", "reader")}
FIVE_CALLS = ["latchkey.v1.AuthService/*", "latchkey.v1.AccountService/*", "latchkey.v1.SessionService/*",
              "latchkey.v1.ProviderFlowService/*", "latchkey.v1.SecondFactorService/*",
              "latchkey.v1.PasskeyService/*"]

# The simulator's issuers in addition to google, with the settings of their providers.
PROVIDERS: dict[str, Settings] = {
    "corp": {"algorithms": ["RS256", "ES256"], "email_trust": "unverified",
             "client_secret_file": "simulator/client-secrets/corp"},
    "partner": {"email_trust": "unverified"},
    "trusted": {"email_trust": "verified"},
    "mail": {"email_trust": "authoritative", "authoritative_domains": ["mail.example"]},
    "strict": {"nonce": "required"},
    "many": {"algorithms": [
        "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]},
    "rotating": {},
    "down": {},
    "hanging": {},
    "broken": {},
}


def settings(folder: Path, port: int, simulator: str, **overrides: Settings) -> Settings:
    """A complete configuration in `folder`. An override replaces single settings of its section."""
    every: Settings = {
        "listen": {"address": "127.0.0.1", "port": port, "allow_unidentified": True, "reflection": False},
        "tls": {"certificate_file": "server.pem", "key_file": "server.key", "client_ca_file": "authority.pem",
                "client_certificates": "optional"},
        "store": {"path": f"latchkey-{port}.db", "search": True},
        "secrets": {"master_key_files": ["master.key"]},
        "tokens": {"issuer": "https://localhost:8443", "audience": "latchkey"},
        "callers": callers(),
        "providers": providers(simulator),
        "fetch": {"ca_file": "authority.pem", "allow_private_addresses": True},
        "delivery": {"mail": "outbox", "text_messages": "outbox", "outbox_folder": f"outbox-{port}"},
        "passwords": CHEAP_PASSWORDS,
        "policy": {},
        "limits": {},
    }
    for section, values in overrides.items():
        old = every.get(section)
        every[section] = {**old, **values} if isinstance(old, dict) and isinstance(values, dict) else values
    return every


def callers() -> list[Settings]:
    """`shop` may not look up accounts by email; `reader` may only verify tokens; `admin` may call everything."""
    return [
        {"name": "web", "san": "uri:spiffe://latchkey.dev/web", "api_keys": [{"sha256": digest("web")}],
         "fetch_by_email": True, "merge": True, "redirect_uris": ["http://localhost:3000/callback"]},
        {"name": "shop", "api_keys": [{"sha256": digest("shop")}], "audiences": ["shop"]},
        {"name": "admin", "san": "uri:spiffe://latchkey.dev/admin", "api_keys": [{"sha256": digest("admin")}],
         "methods": [*FIVE_CALLS, "latchkey.v1.AdminService/*"], "fetch_by_email": True, "events": True,
         "actor": True, "email_links": True},
        {"name": "reader", "api_keys": [{"sha256": digest("reader")}],
         "methods": ["latchkey.v1.SessionService/VerifyIdToken"]},
    ]


def digest(caller: str) -> str:
    return hashlib.sha256(KEYS[caller].encode()).hexdigest()


def providers(simulator: str) -> list[Settings]:
    google = {"id": "google.com", "issuers": ["https://accounts.google.com", "accounts.google.com"],
              "client_ids": ["google-client", "google-android"], "algorithms": ["RS256"],
              "discovery_url": discovery(simulator, "google")}
    others = [{"id": f"oidc.{name}", "issuers": [f"{simulator}/{name}"], "client_ids": ["latchkey"],
               "algorithms": ["RS256"], "discovery_url": discovery(simulator, name), **extra}
              for name, extra in PROVIDERS.items()]
    return [google, *others]


def discovery(simulator: str, issuer: str) -> str:
    return f"{simulator}/{issuer}/.well-known/openid-configuration"
