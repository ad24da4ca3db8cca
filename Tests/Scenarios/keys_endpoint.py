"""The endpoint of the public keys as verifiers use it: fetched over HTTPS, and cached for its `max-age`."""

from __future__ import annotations

import http.client
import json
import re
import socket
import ssl
import time
from dataclasses import dataclass, field
from typing import Any

import jwt
from joserfc import jwt as jose
from joserfc.jwk import KeySet
from ports import free_port
from processes import Server

KEYS, DISCOVERY = "/.well-known/jwks.json", "/.well-known/openid-configuration"
ISSUER, AUDIENCE = "https://localhost:8443", "latchkey"
REQUIRED = ["iss", "aud", "sub", "iat", "exp", "auth_time", "sid", "amr"]


def on_a_free_port() -> dict[str, object]:
    port = free_port()
    return {"address": "127.0.0.1", "port": port, "url": f"https://localhost:{port}"}


def address(server: Server) -> tuple[str, int]:
    return "localhost", int(server.settings["keys"]["port"])


def trust(server: Server, *protocols: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=server.folder / "authority.pem")
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


def ask(server: Server, method: str, path: str,
        headers: dict[str, str] | None = None) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPSConnection(*address(server), timeout=10, context=trust(server))
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def secured(server: Server) -> ssl.SSLSocket:
    plain = socket.create_connection(address(server), 10)
    return trust(server).wrap_socket(plain, server_hostname="localhost")


def published(server: Server) -> list[dict[str, str]]:
    keys: list[dict[str, str]] = json.loads(ask(server, "GET", KEYS)[1])["keys"]
    return keys


@dataclass
class Verifier:
    """A service that caches the keys for the announced time, and never refetches because of an unknown key. A rotation
    must be safe for it."""

    server: Server
    body: str = ""
    until: float = 0
    fetches: int = 0
    kids: set[str] = field(default_factory=set)

    def check(self, id_token: str) -> dict[str, Any]:
        """Raises if one of the libraries rejects the token."""
        if time.monotonic() >= self.until:
            self.fetch()
        kid = jwt.get_unverified_header(id_token)["kid"]
        algorithms = ["ES256", "EdDSA"]
        claims: dict[str, Any] = jwt.decode(
            id_token, jwt.PyJWKSet.from_json(self.body)[kid].key, algorithms=algorithms, audience=AUDIENCE,
            issuer=ISSUER, options={"require": REQUIRED})
        token = jose.decode(id_token, KeySet.import_key_set(json.loads(self.body)), algorithms=algorithms)
        jose.JWTClaimsRegistry(
            iss={"essential": True, "value": ISSUER}, aud={"essential": True, "value": AUDIENCE},
            exp={"essential": True}).validate(token.claims)
        assert token.claims == claims
        self.kids.add(kid)
        return claims

    def fetch(self) -> None:
        asked = time.monotonic()
        answer, body = ask(self.server, "GET", KEYS)
        assert answer.status == 200
        age = re.fullmatch(r"public, max-age=(\d+)", answer.headers["Cache-Control"])
        assert age
        self.body, self.until = body.decode(), asked + int(age[1])
        self.fetches += 1
