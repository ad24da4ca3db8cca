"""The client against a server in this process that is under the test's control."""

import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import grpc
import pytest
from google.protobuf import any_pb2, duration_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from latchkey import LatchkeyError, SessionHolder, connect, typed_errors
from latchkey.v1 import session_service_pb2, session_service_pb2_grpc, types_pb2

CERTIFICATES = Path(__file__).resolve().parents[3] / "certificates"


def packed(message) -> any_pb2.Any:
    detail = any_pb2.Any()
    detail.Pack(message)
    return detail


class Server(session_service_pb2_grpc.SessionServiceServicer):
    def __init__(self) -> None:
        self.refreshes, self.failures, self.metadata, self.peer = [], [], {}, None

    def Refresh(self, request, context):
        self.refreshes.append(request)
        time.sleep(0.05)
        if self.failures:
            context.abort_with_status(rpc_status.to_status(self.failures.pop(0)))
        return session_service_pb2.RefreshResponse(session=session(f"id {len(self.refreshes)}", 3600))

    def SignOut(self, request, context):
        self.metadata, self.peer = dict(context.invocation_metadata()), context.auth_context()
        return session_service_pb2.SignOutResponse()


def failure(code, reason, *details):
    info = error_details_pb2.ErrorInfo(reason=reason, domain="latchkey", metadata={"field": "refresh_token"})
    return status_pb2.Status(code=code, message="hint", details=[packed(each) for each in (info, *details)])


def session(id_token: str, seconds: float) -> types_pb2.Session:
    made = types_pb2.Session(id_token=id_token, refresh_token="refresh " + id_token)
    made.id_token_expires_at.FromSeconds(int(time.time() + seconds))
    return made


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def channel(server):
    running = grpc.server(ThreadPoolExecutor(16))
    session_service_pb2_grpc.add_SessionServiceServicer_to_server(server, running)
    port = running.add_insecure_port("127.0.0.1:0")
    running.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as plain:
        yield typed_errors(plain)
    running.stop(None)


def test_returns_a_token_that_is_valid_for_longer_than_the_margin(server, channel):
    assert SessionHolder(channel, session("first", 3600)).id_token() == "first"
    assert server.refreshes == []


def test_refreshes_once_for_many_threads(server, channel):
    holder = SessionHolder(channel, session("first", 60))
    with ThreadPoolExecutor(16) as threads:
        assert set(threads.map(lambda _: holder.id_token(), range(16))) == {"id 1"}
    assert [each.refresh_token for each in server.refreshes] == ["refresh first"]
    assert server.refreshes[0].idempotency_key


def test_stores_a_session_before_its_use(server, channel):
    stored = []
    holder = SessionHolder(channel, session("first", 60), store=stored.append)
    assert holder.id_token() == "id 1"
    assert [each.refresh_token for each in stored] == ["refresh id 1"]


def test_repeats_a_refresh_that_was_not_stored_with_the_same_key(server, channel):
    def full(_):
        raise OSError("disk full")

    holder = SessionHolder(channel, session("first", 60), store=full)
    for _ in range(2):
        with pytest.raises(OSError, match="disk full"):
            holder.id_token()
    first, second = server.refreshes
    assert (first.idempotency_key, first.refresh_token) == (second.idempotency_key, second.refresh_token)


def test_returns_the_present_token_while_the_server_is_unavailable(server, channel):
    server.failures = [failure(code_pb2.UNAVAILABLE, "STORE_UNAVAILABLE")]
    holder = SessionHolder(channel, session("first", 60))
    assert [holder.id_token(), holder.id_token()] == ["first", "first"]
    assert len(server.refreshes) == 1  # The second call came within the pause.
    holder._next_attempt = 0.0
    assert holder.id_token() == "id 2"
    assert server.refreshes[0].idempotency_key == server.refreshes[1].idempotency_key


def test_raises_if_the_token_has_expired_and_the_server_is_unavailable(server, channel):
    server.failures = [failure(code_pb2.UNAVAILABLE, "STORE_UNAVAILABLE")]
    with pytest.raises(LatchkeyError) as raised:
        SessionHolder(channel, session("first", -1)).id_token()
    assert raised.value.reason == "STORE_UNAVAILABLE"


def test_raises_if_the_session_has_ended(server, channel):
    server.failures = [failure(code_pb2.UNAUTHENTICATED, "TOKEN_REVOKED")]
    with pytest.raises(LatchkeyError) as raised:
        SessionHolder(channel, session("first", 60)).id_token()
    assert raised.value.reason == "TOKEN_REVOKED"


def test_error_has_reason_field_and_delay(server, channel):
    wrong = error_details_pb2.BadRequest(field_violations=[
        error_details_pb2.BadRequest.FieldViolation(field="credential.password.email")])
    wait = error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=7))
    server.failures = [failure(code_pb2.INVALID_ARGUMENT, "INVALID_EMAIL", wrong, wait)] * 2
    stub = session_service_pb2_grpc.SessionServiceStub(channel)
    errors = [stub.Refresh.future(session_service_pb2.RefreshRequest()).exception()]
    with pytest.raises(grpc.RpcError) as raised:
        stub.Refresh(session_service_pb2.RefreshRequest())
    for error in [*errors, raised.value]:
        assert isinstance(error, LatchkeyError)
        assert (error.reason, error.field) == ("INVALID_EMAIL", "credential.password.email")
        assert error.metadata == {"field": "refresh_token"}
        assert error.retry_delay == timedelta(seconds=7)
        assert (error.code(), str(error)) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_EMAIL: hint")


def test_error_without_details_has_no_reason():
    with grpc.insecure_channel("127.0.0.1:1") as nowhere, pytest.raises(LatchkeyError) as raised:
        session_service_pb2_grpc.SessionServiceStub(typed_errors(nowhere)).SignOut(
            session_service_pb2.SignOutRequest())
    assert (raised.value.reason, raised.value.field, raised.value.retry_delay) == ("", "", None)
    assert raised.value.code() == grpc.StatusCode.UNAVAILABLE


def test_connects_with_authority_key_and_certificate(server, tmp_path):
    subprocess.run([CERTIFICATES, tmp_path, "web"], check=True)
    pem = {name: (tmp_path / name).read_bytes() for name in ("server.key", "server.pem", "authority.pem")}
    running = grpc.server(ThreadPoolExecutor(2))
    session_service_pb2_grpc.add_SessionServiceServicer_to_server(server, running)
    port = running.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials(
        [(pem["server.key"], pem["server.pem"])], pem["authority.pem"], require_client_auth=True))
    running.start()
    with connect(f"localhost:{port}", ca_file=tmp_path / "authority.pem", api_key="lk_secret\n",
                 certificate_file=tmp_path / "web.pem", key_file=tmp_path / "web.key") as channel:
        SessionHolder(channel, session("first", 60)).sign_out()
    assert server.metadata["authorization"] == "Bearer lk_secret"
    assert b"spiffe://latchkey.dev/web" in server.peer["x509_subject_alternative_name"]
    running.stop(None)


def test_options_override_the_service_configuration(tmp_path):
    subprocess.run([CERTIFICATES, tmp_path], check=True)
    waits, begun = '{"methodConfig": [{"name": [{}], "timeout": "0.1s"}]}', time.monotonic()
    options = [("grpc.service_config", waits)]
    with connect("localhost:1", ca_file=tmp_path / "authority.pem", options=options) as channel:
        with pytest.raises(LatchkeyError) as raised:
            session_service_pb2_grpc.SessionServiceStub(channel).SignOut(
                session_service_pb2.SignOutRequest(), wait_for_ready=True)
    assert raised.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED and time.monotonic() - begun < 10


def test_adopts_a_session_while_others_read(server, channel):
    holder = SessionHolder(channel, session("first", 3600))
    adopting = threading.Thread(target=holder.adopt, args=[session("linked", 3600)])
    adopting.start()
    adopting.join()
    assert (holder.id_token(), holder.session.refresh_token) == ("linked", "refresh linked")
