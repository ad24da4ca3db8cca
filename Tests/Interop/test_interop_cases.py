"""The interop cases of the gRPC project that apply to our services, run by the stock client of the C core.

Cases with compressed answers, with GET, and with cloud credentials are omitted: the server offers none of them.
"""

from __future__ import annotations

import concurrent.futures

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from conftest import open_channel
from server import Server

SERVING = health_pb2.HealthCheckResponse.SERVING
EMPTY = health_pb2.HealthCheckRequest()


def health(channel: grpc.Channel) -> health_pb2_grpc.HealthStub:
    return health_pb2_grpc.HealthStub(channel)


def unary(channel: grpc.Channel, path: str) -> grpc.UnaryUnaryMultiCallable:
    return channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)


def failure(call: object, *arguments: object, **options: object) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as caught:
        call(*arguments, **options)
    return caught.value


def test_empty_unary(channel: grpc.Channel) -> None:
    assert health(channel).Check(EMPTY, timeout=20).status == SERVING


def test_large_unary(channel: grpc.Channel) -> None:
    error = failure(health(channel).Check, health_pb2.HealthCheckRequest(service="x" * 65000), timeout=20)
    assert error.code() == grpc.StatusCode.NOT_FOUND, "the message passed all windows and limits"


@pytest.mark.peer_differs("the C core reads gzip")
def test_client_compressed_unary_is_unimplemented(channel: grpc.Channel) -> None:
    long = health_pb2.HealthCheckRequest(service="x" * 2000)
    error = failure(health(channel).Check, long, timeout=20, compression=grpc.Compression.Gzip)
    assert error.code() == grpc.StatusCode.UNIMPLEMENTED


def test_custom_metadata(channel: grpc.Channel) -> None:
    metadata = (("x-grpc-test-echo-initial", "test_initial_metadata_value"),
                ("x-grpc-test-echo-trailing-bin", b"\xab\xab\xab"))
    assert health(channel).Check(EMPTY, timeout=20, metadata=metadata).status == SERVING


def test_status_code_and_message(channel: grpc.Channel) -> None:
    error = failure(unary(channel, "/latchkey.v1.AuthService/FetchProviders"), b"", timeout=20)
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT and error.details()
    status = rpc_status.from_call(error)  # Raises if its code or message differs from the plain ones.
    assert [detail.TypeName() for detail in status.details][:2] == [
        "google.rpc.ErrorInfo", "google.rpc.BadRequest"]


def test_special_status_message(channel: grpc.Channel) -> None:
    path = "/nowhere/\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608"
    error = failure(unary(channel, path), b"", timeout=20)
    assert error.code() in (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.INTERNAL)
    error.details().encode()


def test_unimplemented_method(channel: grpc.Channel) -> None:
    error = failure(unary(channel, "/grpc.health.v1.Health/UnimplementedCall"), b"", timeout=20)
    assert error.code() == grpc.StatusCode.UNIMPLEMENTED


def test_unimplemented_service(channel: grpc.Channel) -> None:
    error = failure(unary(channel, "/grpc.testing.UnimplementedService/UnimplementedCall"), b"", timeout=20)
    assert error.code() == grpc.StatusCode.UNIMPLEMENTED


def test_timeout_on_sleeping_server(channel: grpc.Channel) -> None:
    error = failure(lambda: list(health(channel).Watch(EMPTY, timeout=0.2)))
    assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED


def test_a_deadline_of_a_millisecond_ends_in_an_answer_or_deadline_exceeded(channel: grpc.Channel) -> None:
    for _ in range(50):
        call = health(channel).Check.future(EMPTY, timeout=0.001)
        error = call.exception(timeout=20)
        assert error is None or error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert health(channel).Check(EMPTY, timeout=20).status == SERVING


def test_cancel_after_begin(channel: grpc.Channel) -> None:
    calls = [health(channel).Watch(EMPTY) for _ in range(16)]
    for call in calls:
        call.cancel()
    assert {call.code() for call in calls} == {grpc.StatusCode.CANCELLED}
    assert health(channel).Check(EMPTY, timeout=20).status == SERVING


def test_cancel_after_first_response(channel: grpc.Channel) -> None:
    call = health(channel).Watch(EMPTY)
    assert next(call).status == SERVING
    call.cancel()
    assert call.code() == grpc.StatusCode.CANCELLED


@pytest.mark.peer_differs("the C core may refuse a stream right after it has ended another", strict=False)
def test_concurrent_unary(channel: grpc.Channel) -> None:
    calls = [health(channel).Check.future(EMPTY, timeout=60) for _ in range(1000)]
    assert [call.result().status for call in calls] == [SERVING] * 1000


@pytest.mark.peer_differs("the C core may refuse a stream right after it has ended another", strict=False)
def test_concurrent_large_unary(channel: grpc.Channel) -> None:
    large = health_pb2.HealthCheckRequest(service="x" * 60000)
    calls = [health(channel).Check.future(large, timeout=60) for _ in range(200)]
    assert {call.exception().code() for call in calls} == {grpc.StatusCode.NOT_FOUND}


def test_rpc_soak(channel: grpc.Channel) -> None:
    for _ in range(500):
        assert health(channel).Check(EMPTY, timeout=20).status == SERVING


def test_channel_soak(server: Server) -> None:
    def once(number: int) -> int:
        with open_channel(server, number) as one:
            return health(one).Check(EMPTY, timeout=20).status
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(once, range(100))) == [SERVING] * 100


def test_a_client_that_pings_as_often_as_allowed_keeps_its_connection(server: Server) -> None:
    with open_channel(server) as one:
        watch = health(one).Watch(EMPTY)
        assert next(watch).status == SERVING
        assert all(health(one).Check(EMPTY, timeout=20).status == SERVING for _ in range(20))
        assert watch.is_active()
        watch.cancel()
