"""Reads an error as a client would: the status and its typed details."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

DOMAIN = "latchkey"
# Signs of a stack trace, of SQL or of a source file in a text for clients.
INNARDS = ("SELECT ", "INSERT ", "UPDATE ", "sqlite", ".swift", "Fatal error", "0x0000")


@dataclass
class Refusal:
    """The error that the caller received, available after the block of `expect_failure`."""

    code: grpc.StatusCode = grpc.StatusCode.OK
    reason: str = ""
    text: str = ""
    fields: list[str] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
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
            # A BadRequest names fields of the request itself; ErrorInfo names the field if the account is the cause.
            assert (refusal.fields or [refusal.metadata.get("field")]) == [field], refusal.everything
        return
    raise AssertionError(f"expected {code.name} {' or '.join(reasons)}, but the call succeeded")


def named_fields(error: grpc.RpcError) -> set[str]:
    """The fields that ErrorInfo and BadRequest name; empty if the server did not send the error."""
    status = rpc_status.from_call(error)  # type: ignore[arg-type]
    fields: set[str] = set()
    for detail in status.details if status is not None else []:
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        if detail.Unpack(info):
            fields |= {info.metadata["field"]} if "field" in info.metadata else set()
        elif detail.Unpack(bad):
            fields |= {violation.field for violation in bad.field_violations}
    return fields


def has_field(message: Any, path: str) -> bool:
    """Whether the path names fields of the message, or a oneof."""
    name, _, rest = path.partition(".")
    field = message.fields_by_name.get(name)
    if not rest:
        return field is not None or name in message.oneofs_by_name
    return field is not None and field.message_type is not None and has_field(field.message_type, rest)


def read(error: grpc.RpcError) -> Refusal:
    """Parses an error. It must have one ErrorInfo of our domain with the same status, and no internal details."""
    status = rpc_status.from_call(error)  # type: ignore[arg-type]
    assert status is not None, f"no details with {error.code()}: {error.details()}"
    refusal = Refusal(code=error.code(), text=status.message, everything=f"{error.code()} {status}")
    infos = []
    for detail in status.details:
        for kind in (error_details_pb2.ErrorInfo, error_details_pb2.BadRequest, error_details_pb2.RetryInfo):
            message = kind()
            if not detail.Unpack(message):
                continue
            if isinstance(message, error_details_pb2.ErrorInfo):
                infos.append(message)
            elif isinstance(message, error_details_pb2.BadRequest):
                refusal.fields = [violation.field for violation in message.field_violations]
            else:
                refusal.retry_seconds = message.retry_delay.seconds + message.retry_delay.nanos / 1e9
    assert len(infos) == 1 and infos[0].domain == DOMAIN, refusal.everything
    assert not any(sign.lower() in refusal.everything.lower() for sign in INNARDS), refusal.everything
    refusal.reason, refusal.metadata = infos[0].reason, dict(infos[0].metadata)
    return refusal
