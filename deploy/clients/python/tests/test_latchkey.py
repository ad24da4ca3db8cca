"""The client against a server in this process that is under the test's control."""

import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from datetime import timedelta
from pathlib import Path

import grpc
import pytest
from google.protobuf import any_pb2, duration_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from latchkey import LatchkeyError, SessionHolder, connect, typed_errors
from latchkey.v1 import session_service_pb2, session_service_pb2_grpc, types_pb2

# A wait that ends early unless the test fails, and one that passes if nothing happens.
WAIT_SECONDS, NOTHING_SECONDS = 10, 0.2
CERTIFICATES = Path(__file__).resolve().parents[3] / "certificates"


def packed(message) -> any_pb2.Any:
    detail = any_pb2.Any()
    detail.Pack(message)
    return detail


class Server(session_service_pb2_grpc.SessionServiceServicer):
    """Answers each Refresh with the next failure, or with a new session, while its gate is open."""

    def __init__(self) -> None:
        self.refreshes, self.failures, self.metadata, self.peer = [], [], {}, None
        self.entered, self.gate = threading.Semaphore(0), threading.Event()
        self.gate.set()

    def Refresh(self, request, context):
        self.refreshes.append(request)
        self.entered.release()
        assert self.gate.wait(WAIT_SECONDS)
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
def listen(server):
    """Returns a function that starts the server, on a port without TLS or with these credentials, and its port."""
    running = []

    def start(credentials=None):
        running.append(grpc.server(ThreadPoolExecutor(16)))
        session_service_pb2_grpc.add_SessionServiceServicer_to_server(server, running[-1])
        port = (running[-1].add_secure_port("localhost:0", credentials) if credentials
                else running[-1].add_insecure_port("localhost:0"))
        running[-1].start()
        return port

    yield start
    server.gate.set()
    for each in running:
        each.stop(None).wait(WAIT_SECONDS)


@pytest.fixture
def channel(listen):
    with grpc.insecure_channel(f"localhost:{listen()}") as plain:
        yield typed_errors(plain)


@pytest.fixture
def connected(listen, tmp_path):
    """A channel of `connect` with an API key and a client certificate."""
    subprocess.run([CERTIFICATES, tmp_path, "web"], check=True)
    pem = {name: (tmp_path / name).read_bytes() for name in ("server.key", "server.pem", "authority.pem")}
    port = listen(grpc.ssl_server_credentials(
        [(pem["server.key"], pem["server.pem"])], pem["authority.pem"], require_client_auth=True))
    with connect(f"localhost:{port}", ca_file=tmp_path / "authority.pem", api_key="lk_secret\n",
                 certificate_file=tmp_path / "web.pem", key_file=tmp_path / "web.key") as channel:
        yield channel


def test_returns_a_token_that_is_valid_for_longer_than_the_margin(server, channel):
    assert SessionHolder(channel, session("first", 3600)).id_token() == "first"
    assert server.refreshes == []


def test_refreshes_once_for_many_threads(server, channel):
    holder, together = SessionHolder(channel, session("first", 60)), threading.Barrier(16)

    def read(_):
        together.wait(WAIT_SECONDS)
        return holder.id_token()

    server.gate.clear()
    with ThreadPoolExecutor(16) as threads:
        tokens = [threads.submit(read, number) for number in range(16)]
        assert server.entered.acquire(timeout=WAIT_SECONDS)
        assert not server.entered.acquire(timeout=NOTHING_SECONDS)
        server.gate.set()
        assert {each.result(WAIT_SECONDS) for each in tokens} == {"id 1"}
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
    now = 1000.0
    server.failures = [failure(code_pb2.UNAVAILABLE, "STORE_UNAVAILABLE")]
    holder = SessionHolder(channel, session("first", 60), clock=lambda: now)
    assert holder.id_token() == "first"
    now += 4.999
    assert (holder.id_token(), len(server.refreshes)) == ("first", 1)
    now += 0.001
    assert holder.id_token() == "id 2"
    assert server.refreshes[0].idempotency_key == server.refreshes[1].idempotency_key


def test_pauses_for_as_long_as_the_server_demands(server, channel):
    now = 1000.0
    wait = error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=7))
    server.failures = [failure(code_pb2.UNAVAILABLE, "STORE_UNAVAILABLE", wait)]
    holder = SessionHolder(channel, session("first", 60), clock=lambda: now)
    assert holder.id_token() == "first"
    now += 6.999
    assert (holder.id_token(), len(server.refreshes)) == ("first", 1)
    now += 0.001
    assert holder.id_token() == "id 2"


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


def test_connects_with_authority_key_and_certificate(server, connected):
    SessionHolder(connected, session("first", 60)).sign_out()
    assert server.metadata["authorization"] == "Bearer lk_secret"
    assert b"spiffe://latchkey.dev/web" in server.peer["x509_subject_alternative_name"]


def test_options_override_the_service_configuration(tmp_path):
    subprocess.run([CERTIFICATES, tmp_path], check=True)
    waits, begun = '{"methodConfig": [{"name": [{}], "timeout": "0.1s"}]}', time.monotonic()
    options = [("grpc.service_config", waits)]
    with connect("localhost:1", ca_file=tmp_path / "authority.pem", options=options) as channel:
        with pytest.raises(LatchkeyError) as raised:
            session_service_pb2_grpc.SessionServiceStub(channel).SignOut(
                session_service_pb2.SignOutRequest(), wait_for_ready=True)
    assert raised.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED and time.monotonic() - begun < 10


def test_a_connected_channel_retries(server, connected):
    server.failures = [failure(code_pb2.UNAVAILABLE, "STORE_UNAVAILABLE")]
    assert SessionHolder(connected, session("first", 60)).id_token() == "id 2"
    first, second = server.refreshes
    assert first == second


def test_a_reader_gets_the_session_that_is_being_adopted(channel):
    storing, stored = threading.Event(), threading.Event()

    def store(_):
        storing.set()
        assert stored.wait(WAIT_SECONDS)

    holder = SessionHolder(channel, session("first", 3600), store=store)
    with ThreadPoolExecutor(2) as threads:
        adopting = threads.submit(holder.adopt, session("linked", 3600))
        assert storing.wait(WAIT_SECONDS)
        reading = threads.submit(holder.id_token)
        with pytest.raises(TimeoutError):
            reading.result(NOTHING_SECONDS)
        stored.set()
        adopting.result(WAIT_SECONDS)
        assert reading.result(WAIT_SECONDS) == "linked"
    assert holder.session.refresh_token == "refresh linked"
