"""Channels to the server."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import grpc

from latchkey.errors import LatchkeyError


def connect(
    target: str,
    *,
    ca_file: str | PathLike[str] | None = None,
    api_key: str | None = None,
    certificate_file: str | PathLike[str] | None = None,
    key_file: str | PathLike[str] | None = None,
    options: Sequence[tuple[str, Any]] = (),
) -> grpc.Channel:
    """Opens a channel. Share it in the whole process.

    `target` is a name such as `dns:///auth.example.com:8443`, `ca_file` the authority of the server's certificate.
    Without `ca_file`, the channel trusts the public authorities. Your service identifies itself by `api_key`, or by
    the client certificate in `certificate_file` and `key_file`.

    The channel has the retries, timeouts and load balancing of proto/service-config.json; `options` override them.
    """
    credentials = grpc.ssl_channel_credentials(_read(ca_file), _read(key_file), _read(certificate_file))
    config = resources.files("latchkey").joinpath("service-config.json").read_text()
    # gRPC uses the first of two options with one name.
    channel = grpc.secure_channel(target, credentials, options=[*options, ("grpc.service_config", config)])
    if api_key is not None:
        channel = grpc.intercept_channel(channel, _ApiKey(api_key.strip()))
    return typed_errors(channel)


def typed_errors(channel: grpc.Channel) -> grpc.Channel:
    """Returns a channel whose unary calls raise `LatchkeyError`. `connect` has applied it."""
    return grpc.intercept_channel(channel, _TypedErrors())


def _read(path: str | PathLike[str] | None) -> bytes | None:
    return None if path is None else Path(path).read_bytes()


class _CallDetails(NamedTuple):
    method: str
    timeout: float | None
    metadata: Sequence[tuple[str, str | bytes]]
    credentials: grpc.CallCredentials | None
    wait_for_ready: bool | None
    compression: grpc.Compression | None


class _ApiKey(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor,
              grpc.StreamUnaryClientInterceptor, grpc.StreamStreamClientInterceptor):
    """Sends `authorization: Bearer …` with every call.

    Call credentials would do the same. But gRPC frees their plugin on a thread that needs the interpreter's lock, which
    the thread that closes the channel may hold while it waits for that thread.
    """

    def __init__(self, api_key: str) -> None:
        self._header = ("authorization", f"Bearer {api_key}")

    def _intercept(self, continuation, client_call_details, request):
        each = client_call_details
        return continuation(_CallDetails(
            each.method, each.timeout, [*(each.metadata or ()), self._header], each.credentials, each.wait_for_ready,
            each.compression), request)

    intercept_unary_unary = intercept_unary_stream = _intercept
    intercept_stream_unary = intercept_stream_stream = _intercept


class _TypedErrors(grpc.UnaryUnaryClientInterceptor):
    def intercept_unary_unary(self, continuation, client_call_details, request):
        return _Call(continuation(client_call_details, request))


class _Call:
    """A call, or its outcome, whose `result` raises `LatchkeyError`."""

    def __init__(self, call) -> None:
        self._call = call

    def __getattr__(self, name: str):
        return getattr(self._call, name)

    def result(self, timeout: float | None = None):
        try:
            return self._call.result(timeout)
        except grpc.RpcError as error:
            raise LatchkeyError(error) from None

    def exception(self, timeout: float | None = None):
        error = self._call.exception(timeout)
        return LatchkeyError(error) if isinstance(error, grpc.RpcError) else error

    def add_done_callback(self, callback) -> None:
        self._call.add_done_callback(lambda _: callback(self))
