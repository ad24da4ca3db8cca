"""Reads an error with the Python package, and checks what the package tolerates."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from latchkey import LatchkeyError

Answer = TypeVar("Answer")
INFO = "google.rpc.ErrorInfo"
KINDS = {INFO, "google.rpc.BadRequest", "google.rpc.RetryInfo"}
# Signs of a stack trace, of SQL or of a source file in a text for clients.
INNARDS = ("SELECT ", "INSERT ", "UPDATE ", "sqlite", ".swift", "Fatal error", "0x0000")


@dataclasses.dataclass
class Refusal:
    """The error that the caller received, available after the block of `expect_failure`."""

    code: grpc.StatusCode = grpc.StatusCode.OK
    reason: str = ""
    text: str = ""
    # The path of the field, and whether it names a field of the request itself rather than a cause in the account.
    field: str = ""
    in_request: bool = False
    metadata: dict[str, str] = dataclasses.field(default_factory=dict)
    retry_seconds: float | None = None
    everything: str = ""


@contextmanager
def expect_failure(code: grpc.StatusCode, *reasons: str, field: str | None = None) -> Iterator[Refusal]:
    """Checks that the block fails with this status, one of these reasons, and this field."""
    refusal = Refusal()
    try:
        yield refusal
    except grpc.RpcError as error:
        vars(refusal).update(vars(read(error)))
        assert (refusal.code, refusal.reason) in [(code, reason) for reason in reasons], refusal.everything
        if field is not None:
            assert refusal.field == field, refusal.everything
        return
    raise AssertionError(f"expected {code.name} {' or '.join(reasons)}, but the call succeeded")


def patiently(call: Callable[[], Answer], seconds: float = 60) -> Answer:
    """Repeats a call while its provider is unavailable: on a busy machine, a good fetch may exceed a short timeout."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return call()
        except grpc.RpcError as error:
            if read(error).reason != "PROVIDER_UNAVAILABLE" or time.monotonic() > deadline:
                raise


def has_field(message: Any, path: str) -> bool:
    """Whether the path names fields of the message, or a oneof."""
    name, _, rest = path.partition(".")
    field = message.fields_by_name.get(name)
    if not rest:
        return field is not None or name in message.oneofs_by_name
    return field is not None and field.message_type is not None and has_field(field.message_type, rest)


def read(error: grpc.RpcError) -> Refusal:
    """Parses an error. It must have one ErrorInfo of our domain with the same status, at most one BadRequest with one
    field, and no internal details."""
    status = rpc_status.from_call(error)  # type: ignore[arg-type]
    assert status is not None, f"no details with {error.code()}: {error.details()}"
    everything = f"{error.code()} {status}"
    kinds = [detail.TypeName() for detail in status.details]
    assert kinds.count(INFO) == 1 and len(kinds) == len(set(kinds)) and KINDS >= set(kinds), everything
    bad = error_details_pb2.BadRequest()
    in_request = any(detail.Unpack(bad) for detail in status.details)
    assert len(bad.field_violations) == in_request, everything
    assert not any(sign.lower() in everything.lower() for sign in INNARDS), everything
    failure = error if isinstance(error, LatchkeyError) else LatchkeyError(error)
    assert failure.reason, everything
    delay = failure.retry_delay
    return Refusal(failure.code(), failure.reason, failure.details(), failure.field, in_request, failure.metadata,
                   None if delay is None else delay.total_seconds(), everything)
