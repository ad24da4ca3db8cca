"""The HTTPS side: discovery and key set of every issuer, and on demand the misbehaviour of real providers.

A behaviour is a file that `behave` writes and that each request reads, so that a test or a person can switch it while
the server runs. Every request is one line in `requests.log`, so that a test can count fetches.
"""

from __future__ import annotations

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import TCPServer, ThreadingMixIn

import issuers
from issuers import Issuer, write_atomically
from keys import KeyRing

DOCUMENTS = ("discovery", "jwks")
BEHAVIOURS = ("well", "hang", "error", "huge", "broken", "html", "redirect")
HUGE_BYTES = 5_000_000
MAX_AGE_SECONDS = 300


def behave(folder: Path, issuer: str, documents: list[str], behaviour: str, body: str = "") -> None:
    """From now on these documents of the issuer are answered so; a `body` is served in place of the real one."""
    for document in documents:
        write_atomically(folder / "behaviour" / f"{issuer}-{document}.json",
                         json.dumps({"behaviour": behaviour, "body": body}))


class Service(ThreadingMixIn, TCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder: Path, address: tuple[str, int], certificate: Path, key: Path) -> None:
        super().__init__(address, Handler)
        self.folder = folder
        self.address = address[0]
        self.issuers: dict[str, Issuer] = {}
        self.ended = threading.Event()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        # The handshake is left to the connection's own thread: a silent client must not hold up the others.
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def base(self) -> str:
        return f"https://{self.address}:{self.server_address[1]}"

    def host(self, options: list[str]) -> None:
        """Makes the issuers' keys before the first request, which must not wait for prime numbers."""
        self.issuers = issuers.parse(options, self.base)
        issuers.save(self.folder, self.issuers)
        for name in self.issuers:
            KeyRing(self.folder, name).public_keys()

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that refuse our certificate or go away are part of the tests, not worth a stack trace."""

    def shutdown(self) -> None:
        self.ended.set()
        super().shutdown()


class Handler(BaseHTTPRequestHandler):
    server: Service
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        issuer, document = self._find()
        with (self.server.folder / "requests.log").open("a") as log:
            log.write(f"{issuer.name if issuer else '-'} {document or self.path}\n")
        if issuer is None or document is None:
            self._answer(404, b"not found", "text/plain")
            return
        body = json.dumps(self._document(issuer, document)).encode()
        settings = self._behaviour(issuer, document)
        self._misbehave(settings["behaviour"], settings["body"].encode() or body)

    def _find(self) -> tuple[Issuer | None, str | None]:
        name, _, rest = self.path.removeprefix("/").partition("/")
        documents = {".well-known/openid-configuration": "discovery", "jwks": "jwks"}
        return self.server.issuers.get(name), documents.get(rest)

    def _document(self, issuer: Issuer, document: str) -> dict[str, object]:
        if document == "jwks":
            return KeyRing(self.server.folder, issuer.name).public_keys()
        return {
            "issuer": issuer.url,
            "authorization_endpoint": issuer.path + "/authorize",
            "token_endpoint": issuer.path + "/token",
            "jwks_uri": issuer.jwks_url,
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"],
        }

    def _behaviour(self, issuer: Issuer, document: str) -> dict[str, str]:
        try:
            text = (self.server.folder / "behaviour" / f"{issuer.name}-{document}.json").read_text()
        except FileNotFoundError:
            return {"behaviour": "well", "body": ""}
        settings: dict[str, str] = json.loads(text)
        return settings

    def _misbehave(self, behaviour: str, body: bytes) -> None:
        match behaviour:
            case "hang":
                self.server.ended.wait(timeout=120)
                self.close_connection = True
            case "error":
                self._answer(500, b'{"error":"server_error"}', "application/json")
            case "huge":
                self._answer(200, body[:-1] + b" " * HUGE_BYTES + body[-1:], "application/json")
            case "broken":
                self._answer(200, body[: len(body) // 2], "application/json")
            case "html":
                self._answer(200, b"<!doctype html><title>Sign in</title>", "text/html")
            case "redirect":
                self._answer(302, b"", "text/plain", {"Location": self.server.base + "/elsewhere"})
            case _:
                self._answer(200, body, "application/json", {"Cache-Control": f"max-age={MAX_AGE_SECONDS}"})

    def _answer(self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Requests are in `requests.log`."""
