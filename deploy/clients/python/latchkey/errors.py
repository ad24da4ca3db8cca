"""Errors with the reason of the server."""

from __future__ import annotations

from datetime import timedelta

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

DOMAIN = "latchkey"


class LatchkeyError(grpc.RpcError):
    """A failed call.

    It has the methods of the original error (`code`, `details`, `trailing_metadata`), so code that catches
    `grpc.RpcError` works unchanged.
    """

    reason: str
    """Stable name of the failure, such as `INVALID_EMAIL`. Empty: the failure has none; decide by `code()`."""

    metadata: dict[str, str]
    """Facts about the failure, by the names in proto/ERRORS.md."""

    field: str
    """Path of the request's field that is wrong, such as `credential.password.email`. May be empty."""

    retry_delay: timedelta | None
    """Minimum time to wait before a repeat. None: the server does not know, or waiting does not help."""

    def __init__(self, error: grpc.RpcError) -> None:
        self._error = error
        self.reason, self.metadata, self.field, self.retry_delay = "", {}, "", None
        for detail in _details(error):
            info, fields, retry = (
                error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo())
            if detail.Unpack(info) and info.domain == DOMAIN:
                self.reason, self.metadata = info.reason, dict(info.metadata)
            elif detail.Unpack(fields) and fields.field_violations:
                self.field = fields.field_violations[0].field
            elif detail.Unpack(retry):
                self.retry_delay = retry.retry_delay.ToTimedelta()
        self.field = self.field or self.metadata.get("field", "")
        super().__init__(f"{self.reason or self.code().name}: {self.details()}")

    def code(self) -> grpc.StatusCode:
        return self._error.code()

    def details(self) -> str:
        return self._error.details() or ""

    def trailing_metadata(self):
        return self._error.trailing_metadata()


def _details(error: grpc.RpcError) -> list:
    try:
        status = rpc_status.from_call(error)
    except ValueError:  # The trailer contradicts the status: a proxy wrote one of them.
        return []
    return list(status.details) if status else []
