"""The HTTPS server: finds the provider and the endpoint of a request, logs it, and applies configured faults.

Every request is one line in `requests.log` with the provider and the endpoint only, so that a test can count fetches
and the log contains no secret.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import TCPServer, ThreadingMixIn
from typing import cast
from urllib.parse import unquote

import issuers
import providers
from keys import KeyRing
from protocols import faults, pages
from protocols.applications import LANDING_PATH, client_key, write_secret
from protocols.faults import Fault, behave
from protocols.openid import OpenIDProvider
from protocols.passkey_page import PASSKEYS_PATH, passkeys
from protocols.provider import Provider, Route, World
from protocols.web import FORM, Answer, Refusal, Request

__all__ = ["BEHAVIOURS", "DOCUMENTS", "Service", "behave"]

# Endpoints of every OpenID provider; each provider has more.
DOCUMENTS = ("discovery", "jwks")
BEHAVIOURS = faults.NAMES
BODY_BYTES_MAX = 64 * 1024
BLANKS = b" " * 65_536


class Service(ThreadingMixIn, TCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, folder: Path, address: tuple[str, int], certificate: Path, key: Path,
                 redirect_uris: tuple[str, ...] = ()) -> None:
        super().__init__(address, Handler)
        self.folder = folder
        self.address = address[0]
        self.redirect_uris = redirect_uris
        self.providers: dict[str, Provider] = {}
        self.ended = threading.Event()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        # The connection's own thread does the handshake: a silent client must not block the others.
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def base(self) -> str:
        return f"https://{self.address}:{self.server_address[1]}"

    def host(self, options: list[str]) -> None:
        """Makes the issuers' keys before the first request, which must not wait for key generation."""
        hosted = issuers.parse(options, self.base)
        issuers.save(self.folder, hosted)
        world = World(self.folder, self.base, self.redirect_uris)
        for name, issuer in hosted.items():
            self.providers[name] = providers.make(issuer, world)
            write_secret(self.folder, issuer)
            if isinstance(self.providers[name], OpenIDProvider):
                KeyRing(self.folder, name).public_keys()
                client_key(self.folder, issuer)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignores clients that reject our certificate or disconnect, which tests do on purpose. Any other error is a
        bug."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    def shutdown(self) -> None:
        self.ended.set()
        super().shutdown()


class Handler(BaseHTTPRequestHandler):
    server: Service
    protocol_version = "HTTP/1.1"
    timeout = 30
    # Buffered, so that the headers and the body of an answer leave together.
    wbufsize = -1

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = self._body()
        if body is None:
            self._send(Answer(413, b"too large", "text/plain"))
            return
        provider, found = self._find()
        self._note(f"{provider.name if provider else '-'} {found[0].endpoint if found else '-'}")
        if provider is None or found is None:
            self._send(self._page(body))
            return
        route, captured = found
        fault = faults.read(self.server.folder, provider.name, route.endpoint)
        if self._withholds(fault):
            return
        fields = cast(Mapping[str, str], self.headers)
        request = Request(self.command, self.server.base, self.path, fields, body, fault.name)
        self._send(faults.spoil(fault, self._answer(route, request, captured), self.server.base))

    def _body(self) -> bytes | None:
        """None if it is larger than any valid body, or of unknown length."""
        length = self.headers.get("Content-Length") or "0"
        if "Transfer-Encoding" in self.headers or not length.isdigit() or int(length) > BODY_BYTES_MAX:
            self.close_connection = True
            return None
        return self.rfile.read(int(length))

    def _find(self) -> tuple[Provider | None, tuple[Route, dict[str, str]] | None]:
        name, _, rest = unquote(self.path.partition("?")[0].removeprefix("/")).partition("/")
        provider = self.server.providers.get(name)
        return provider, provider.find("/" + rest) if provider else None

    def _note(self, line: str) -> None:
        with (self.server.folder / "requests.log").open("a") as log:
            log.write(line + "\n")

    def _withholds(self, fault: Fault) -> bool:
        """Whether the fault prevents the answer instead of only delaying it."""
        match fault.name:
            case "hang":
                self.server.ended.wait(timeout=120)
            case "reset":
                # Closing with a linger time of zero sends RST (socket(7)).
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                with contextlib.suppress(OSError):
                    socket.socket(fileno=self.connection.detach()).close()
            case "slow":
                self.server.ended.wait(timeout=faults.SLOW_SECONDS)
                return False
            case _:
                return False
        self.close_connection = True
        return True

    def _answer(self, route: Route, request: Request, captured: dict[str, str]) -> Answer:
        if self.command not in route.methods:
            return Answer(405, b"method not allowed", "text/plain", {"Allow": ", ".join(route.methods)})
        try:
            return route.handler(request, **captured)
        except Refusal as refusal:
            return refusal.answer
        except UnicodeDecodeError:
            return Answer(400, b"not UTF-8", "text/plain")

    def _page(self, body: bytes) -> Answer:
        """A page of the application: that of passkeys, or one at which flows may end, for manual use only."""
        path, _, query = self.path.partition("?")
        if path == PASSKEYS_PATH:
            return passkeys()
        if path != LANDING_PATH:
            return Answer(404, b"not found", "text/plain")
        if self.headers.get("Content-Type", "").startswith(FORM):
            query = body.decode(errors="replace")
        return pages.landing(f"{self.server.base}{LANDING_PATH}?{query}")

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        size = len(answer.body) + answer.padding_bytes
        every = {"Content-Type": answer.content_type, "Content-Length": str(size), **answer.headers}
        for name, value in every.items():
            self.send_header(name, value)
        self.end_headers()
        end = len(answer.body) - 1 if answer.padding_bytes else len(answer.body)
        self.wfile.write(answer.body[:end])
        # In pieces, so that a client that disconnects early does not cost 50 MB.
        for sent in range(0, answer.padding_bytes, len(BLANKS)):
            self.wfile.write(BLANKS[: answer.padding_bytes - sent])
        self.wfile.write(answer.body[end:])

    def log_message(self, format: str, *arguments: object) -> None:
        """Does nothing, since requests are in `requests.log`."""
