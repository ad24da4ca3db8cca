"""A hook under test: the service on the stock gRPC server of Python, over TLS, with rules that a test sets."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
from configuration import Settings
from google.protobuf.field_mask_pb2 import FieldMask
from latchkey.hooks.v1 import hooks_pb2 as messages
from latchkey.hooks.v1 import hooks_pb2_grpc as services
from ports import free_port

Rule = Callable[[str, Any, grpc.ServicerContext], Any]
RESPONSES = {"before_create": messages.BeforeCreateResponse, "before_sign_in": messages.BeforeSignInResponse,
             "before_send": messages.BeforeSendResponse}


def allow(**changes: Any) -> messages.Allow:
    """An answer with these changes. The mask lists all but the claims of the session."""
    listed = [name for name in changes if name != "session_claims_json"]
    return messages.Allow(update_mask=FieldMask(paths=listed), **changes)


def deny(code: str = "", reason: str = "") -> messages.Deny:
    return messages.Deny(code=code, reason=reason)


class Hook(services.HookServiceServicer):
    """`rule` receives the event and the request, and returns an Allow, a Deny, None, or the bytes of a response."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.rule: Rule = lambda event, request, context: None
        self.metadata: list[dict[str, Any]] = []
        self.released = threading.Event()
        self._lock = threading.Lock()
        self._folder = folder
        self._server: grpc.Server
        # A restart needs the same port again.
        self.port = free_port()
        self.start()

    def start(self) -> None:
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(
                self._answer(event, getattr(messages, f"{name}Request")),
                request_deserializer=getattr(messages, f"{name}Request").FromString,
                response_serializer=lambda answer: answer)
            for name, event in [("BeforeCreate", "before_create"), ("BeforeSignIn", "before_sign_in"),
                                ("BeforeSend", "before_send")]}
        self._server = grpc.server(futures.ThreadPoolExecutor(32), options=[("grpc.max_send_message_length", -1)])
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("latchkey.hooks.v1.HookService", handlers),))
        pair = [((self._folder / "server.key").read_bytes(), (self._folder / "server.pem").read_bytes())]
        credentials = grpc.ssl_server_credentials(
            pair, (self._folder / "authority.pem").read_bytes(), require_client_auth=True)
        self._server.add_secure_port(f"localhost:{self.port}", credentials)
        self._server.start()

    def stop(self) -> None:
        self.released.set()
        self._server.stop(0).wait()

    def _answer(self, event: str, request_type: Any) -> Callable[[Any, grpc.ServicerContext], bytes]:
        def answer(request: Any, context: grpc.ServicerContext) -> bytes:
            with self._lock:
                self.asked.append((event, request))
                self.metadata.append(dict(context.invocation_metadata()))
            made = self.rule(event, request, context)
            if isinstance(made, bytes):
                return made
            response = RESPONSES[event]()
            if isinstance(made, messages.Allow) and event != "before_send":
                response.allow.CopyFrom(made)
            if isinstance(made, messages.Deny):
                response.deny.CopyFrom(made)
            return bytes(response.SerializeToString())
        return answer

    @property
    def events(self) -> list[str]:
        with self._lock:
            return [event for event, _ in self.asked]

    def forget(self) -> None:
        with self._lock:
            self.asked.clear()

    def settings(self, **overrides: Any) -> Settings:
        return {"name": "rules", "endpoint": f"https://localhost:{self.port}", "ca_file": "authority.pem",
                "certificate_file": "web.pem", "key_file": "web.key", **overrides}
