"""The receivers of messages: an email relay and a webhook on loopback, with configurable faults."""

from __future__ import annotations

import asyncio
import email
import email.policy
import hashlib
import hmac
import http.server
import json
import socketserver
import ssl
import threading
import time
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from typing import Any, cast

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword
from ports import free_port
from waiting import comes_true

USER, PASSWORD = "latchkey", "relay password of the tests"


def tls(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "simulator.pem", folder / "simulator.key")
    return context


@dataclass
class Relay:
    """aiosmtpd with STARTTLS, which accepts email only after STARTTLS and a login."""

    folder: Path
    address: str = "127.0.0.1"
    port: int = field(default_factory=free_port)
    # Answers to RCPT, one for each attempt; then it accepts the email.
    answers: list[str] = field(default_factory=list)
    # The same for MAIL, before them.
    sender_answers: list[str] = field(default_factory=list)
    attempts: int = 0
    silent_seconds: float = 0
    mails: list[EmailMessage] = field(default_factory=list)
    envelopes: list[Envelope] = field(default_factory=list)

    def start(self, *, with_tls: bool = True, with_login: bool = True) -> Relay:
        options: dict[str, Any] = {"hostname": self.address, "port": self.port, "enable_SMTPUTF8": True}
        if with_tls:
            options |= {"tls_context": tls(self.folder), "require_starttls": True}
        if with_login:
            options |= {"authenticator": self._login, "auth_required": True, "auth_require_tls": with_tls}
        self.controller = Controller(self, **options)
        self.controller.start()
        return self

    def stop(self) -> None:
        self.controller.stop()

    @staticmethod
    def _login(server: SMTP, session: object, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        good = isinstance(data, LoginPassword) and (data.login, data.password) == (USER.encode(), PASSWORD.encode())
        return AuthResult(success=good, handled=False)

    async def handle_MAIL(  # noqa: N802
            self, server: SMTP, session: object, envelope: Envelope, address: str, options: list[str]) -> str:
        if self.sender_answers:
            return self.sender_answers.pop(0)
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(  # noqa: N802
            self, server: SMTP, session: object, envelope: Envelope, address: str, options: list[str]) -> str:
        self.attempts += 1
        if self.silent_seconds:
            await asyncio.sleep(self.silent_seconds)
        if self.answers:
            return self.answers.pop(0)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: object, envelope: Envelope) -> str:  # noqa: N802
        assert isinstance(envelope.content, bytes)
        # Last the mail, for which tests wait.
        self.envelopes.append(envelope)
        self.mails.append(cast(EmailMessage, email.message_from_bytes(envelope.content, policy=email.policy.default)))
        return "250 taken"

    def wait(self, count: int = 1, seconds: float = 60) -> EmailMessage:
        have_come = comes_true(lambda: len(self.mails) >= count, seconds)
        assert have_come, f"{len(self.mails)} mails came, {self.attempts} attempts"
        return self.mails[count - 1]


STAGES = ("banner", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA", "end of DATA", "QUIT")


@dataclass
class SlowRelay:
    """An SMTP server with STARTTLS and a login that delays its answer at one stage of each email, or until a test
    releases all of them."""

    folder: Path
    stage: str
    seconds: float
    extensions: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)
    # The commands of each email that was answered completely.
    mails: list[list[bytes]] = field(default_factory=list)
    contents: list[bytes] = field(default_factory=list)
    # One for each answer that was delayed.
    delayed: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def start(self) -> SlowRelay:
        relay = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                try:
                    relay.serve(self.request)
                except (OSError, ValueError):
                    pass

        class Listener(socketserver.ThreadingTCPServer):
            allow_reuse_address, daemon_threads, request_queue_size = True, True, 64

        self.server = Listener(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def serve(self, connection: Any) -> None:
        def say(stage: str, *lines: str) -> None:
            if stage == self.stage:
                self.delayed.append(stage)
                self.released.wait(self.seconds)
            connection.sendall("".join(line + "\r\n" for line in lines).encode())

        say("banner", "220 ready")
        reader, commands, is_secret = connection.makefile("rb"), list[bytes](), False
        while line := reader.readline():
            verb = line.split()[0].upper().decode()
            commands.append(line.strip())
            if verb == "EHLO":
                more = [f"250-{each}" for each in self.extensions]
                say("EHLO", "250-relay", *more, "250 AUTH PLAIN" if is_secret else "250 STARTTLS")
            elif verb == "STARTTLS":
                say("STARTTLS", "220 go on")
                connection = tls(self.folder).wrap_socket(connection, server_side=True)
                reader, is_secret = connection.makefile("rb"), True
            elif verb == "AUTH":
                if len(line.split()) < 3:
                    say("", "334 ")
                    reader.readline()
                say("AUTH", "235 welcome")
            elif verb == "RCPT" and self.stage == "QUIT":
                # libcurl disconnects only after a rejection.
                say("RCPT", "550 no such mailbox")
                self.mails.append(commands)
            elif verb == "DATA":
                say("DATA", "354 go on")
                content = b""
                while (part := reader.readline()) != b".\r\n":
                    content += part
                self.contents.append(content)
                say("end of DATA", "250 taken")
                self.mails.append(commands)
                commands = []
            elif verb == "QUIT":
                say("QUIT", "221 bye")
                return
            else:
                say(verb, "250 OK")


@dataclass
class Webhook:
    """An HTTPS server that keeps all requests, and answers with a list of statuses, then 200."""

    folder: Path
    port: int = field(default_factory=free_port)
    # 0: sends no answer until the client has disconnected.
    answers: list[int] = field(default_factory=list)
    posts: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}/messages"

    def start(self) -> Webhook:
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # noqa: N802
                body = self.rfile.read(int(self.headers["content-length"]))
                hook.posts.append(({name.lower(): value for name, value in self.headers.items()}, body))
                answer = hook.answers.pop(0) if hook.answers else 200
                if answer == 0:
                    time.sleep(3)
                    return
                self.send_response(answer)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.socket = tls(self.folder).wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def wait(self, count: int = 1, seconds: float = 60) -> list[tuple[dict[str, str], bytes]]:
        assert comes_true(lambda: len(self.posts) >= count, seconds), f"{len(self.posts)} posts came"
        return self.posts[:count]


def document(post: tuple[dict[str, str], bytes], *secrets: str) -> dict[str, Any]:
    """The message, after checking that each secret's signature is valid and recent."""
    head, body = post
    assert head["content-type"] == "application/json"
    parts = [part.split("=", 1) for part in head["latchkey-signature"].split(",")]
    assert parts[0][0] == "t" and abs(time.time() - int(parts[0][1])) < 60
    wanted = [hmac.new(each.encode(), f"{parts[0][1]}.".encode() + body, hashlib.sha256).hexdigest()
              for each in secrets]
    assert parts[1:] == [["v1", each] for each in wanted]
    told: dict[str, Any] = json.loads(body)
    assert told["id"] == head["latchkey-message-id"]
    return told
