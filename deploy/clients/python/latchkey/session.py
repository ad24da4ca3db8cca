"""One user's session."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from datetime import timedelta

import grpc

from latchkey.errors import LatchkeyError
from latchkey.v1 import session_service_pb2, types_pb2
from latchkey.v1.session_service_pb2_grpc import SessionServiceStub

RETRIED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED)
PAUSE = timedelta(seconds=5)


class SessionHolder:
    """Keeps the tokens of one session, and refreshes them before they expire. Safe for threads.

    One refresh runs at a time: the server ends a session whose spent refresh token comes a second time. Processes that
    share a session need a lock of their own.

    `store` receives each new session before its tokens are used. Write it to durable storage there. If `store` raises,
    the holder keeps the earlier session, and the next call repeats the refresh under the same idempotency key.

    `clock` returns monotonic seconds. It times the pause after a failed refresh.
    """

    def __init__(
        self,
        channel: grpc.Channel,
        session: types_pb2.Session,
        *,
        margin: timedelta = timedelta(minutes=5),
        store: Callable[[types_pb2.Session], None] = lambda session: None,
        client: types_pb2.ClientContext | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._service = SessionServiceStub(channel)
        self._session = session
        self._margin = margin
        self._store = store
        self._client = client
        self._clock = clock
        self._lock = threading.Lock()
        self._idempotency_key = ""
        self._next_attempt = 0.0

    def id_token(self) -> str:
        """Returns an ID token that has not expired. Refreshes the session if the token expires within `margin`.

        While the server is unavailable, returns the present token until it expires. Raises `LatchkeyError` when the
        session has ended: forget it, and let the user sign in.
        """
        with self._lock:
            left = self._session.id_token_expires_at.seconds - time.time()
            if left > self._margin.total_seconds() or (left > 0 and self._clock() < self._next_attempt):
                return self._session.id_token
            try:
                self._refresh()
            except LatchkeyError as error:
                if left <= 0 or error.code() not in RETRIED:
                    raise
                self._next_attempt = self._clock() + max(PAUSE, error.retry_delay or PAUSE).total_seconds()
            return self._session.id_token

    @property
    def session(self) -> types_pb2.Session:
        """The session as last received."""
        with self._lock:
            return self._session

    def adopt(self, session: types_pb2.Session) -> None:
        """Takes the session of a response, such as that of Link or Reauthenticate."""
        with self._lock:
            self._take(session)

    def sign_out(self) -> None:
        """Ends the session. Succeeds again if it has already ended."""
        with self._lock:
            self._service.SignOut(session_service_pb2.SignOutRequest(
                refresh_token=self._session.refresh_token, client=self._client))

    def _refresh(self) -> None:
        # A repeat after a lost response needs the same key.
        self._idempotency_key = self._idempotency_key or secrets.token_urlsafe(16)
        request = session_service_pb2.RefreshRequest(
            refresh_token=self._session.refresh_token, client=self._client, idempotency_key=self._idempotency_key)
        try:
            response = self._service.Refresh(request)
        except grpc.RpcError as error:
            raise error if isinstance(error, LatchkeyError) else LatchkeyError(error) from None
        self._take(response.session)

    def _take(self, session: types_pb2.Session) -> None:
        self._store(session)
        self._session, self._idempotency_key, self._next_attempt = session, "", 0.0
