"""The standard health and reflection services, called by the stock client libraries of gRPC."""

from __future__ import annotations

import queue
from typing import Callable

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2 as v1alpha
from grpc_reflection.v1alpha import reflection_pb2_grpc as v1alpha_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from reflection_v1 import reflection_pb2 as v1
from reflection_v1 import reflection_pb2_grpc as v1_grpc

from conftest import open_channel
from server import Server

SERVING, SERVICE_UNKNOWN = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
NOT_FOUND = grpc.StatusCode.NOT_FOUND.value[0]
HEALTH = "grpc.health.v1.Health"
VERSIONS = {"v1": (v1, v1_grpc), "v1alpha": (v1alpha, v1alpha_grpc)}


@pytest.mark.parametrize("name", ["", "latchkey.v1.AuthService"])
def test_check_returns_serving_for_the_server_and_each_service(channel: grpc.Channel, name: str) -> None:
    asked = health_pb2.HealthCheckRequest(service=name)
    assert health_pb2_grpc.HealthStub(channel).Check(asked, timeout=20).status == SERVING


@pytest.mark.parametrize("name", ["nowhere", "latchkey.v1.authservice", "latchkey.v1.", "*", " ", "\u2603"])
def test_check_of_an_unknown_name_is_not_found(channel: grpc.Channel, name: str) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=name), timeout=20)
    assert caught.value.code() == grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize("name, status", [("", SERVING), ("latchkey.v1.AuthService", SERVING),
                                          ("nowhere", SERVICE_UNKNOWN)])
def test_watch_returns_the_state_immediately_and_stays_open(channel: grpc.Channel, name: str, status: int) -> None:
    grpc.channel_ready_future(channel).result(20)
    call = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=name), timeout=2)
    assert next(call).status == status
    with pytest.raises(grpc.RpcError) as caught:
        next(call)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED, "the stream had no more messages and did not end"


def ask(channel: grpc.Channel, version: str, *requests: dict[str, object]) -> list[object]:
    """All answers of one reflection stream, which must end with OK."""
    messages, stubs = VERSIONS[version]
    stub = stubs.ServerReflectionStub(channel)
    asked = (messages.ServerReflectionRequest(**one) for one in requests)
    return list(stub.ServerReflectionInfo(asked, timeout=20))


def file_of(answer: object) -> descriptor_pb2.FileDescriptorProto:
    assert answer.WhichOneof("message_response") == "file_descriptor_response", answer
    return descriptor_pb2.FileDescriptorProto.FromString(answer.file_descriptor_response.file_descriptor_proto[0])


@pytest.fixture(params=list(VERSIONS))
def version(request: pytest.FixtureRequest) -> str:
    return request.param


def test_list_names_each_service_once(channel: grpc.Channel, version: str) -> None:
    answer, = ask(channel, version, {"list_services": "*"})
    names = [service.name for service in answer.list_services_response.service]
    assert HEALTH in names and len(names) == len(set(names))
    assert {"grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"} <= set(names)


@pytest.mark.latchkey_only("the peer does not register our descriptors")
def test_list_names_the_product_and_every_listed_service_has_its_file(channel: grpc.Channel, version: str) -> None:
    answer, = ask(channel, version, {"list_services": ""})
    names = [service.name for service in answer.list_services_response.service]
    assert {"latchkey.v1.AuthService", "latchkey.v1.SessionService"} <= set(names)
    asked = [{"file_containing_symbol": name} for name in names]
    for name, file in zip(names, ask(channel, version, *asked), strict=True):
        found = file_of(file)
        assert name in [f"{found.package}.{service.name}" for service in found.service]


@pytest.mark.parametrize("symbol", [HEALTH, "grpc.health.v1.HealthCheckResponse",
                                    "grpc.health.v1.HealthCheckResponse.ServingStatus"])
def test_a_file_is_found_by_each_kind_of_symbol(channel: grpc.Channel, version: str, symbol: str) -> None:
    answer, = ask(channel, version, {"file_containing_symbol": symbol})
    assert file_of(answer).package == "grpc.health.v1"
    assert answer.original_request.file_containing_symbol == symbol


@pytest.mark.peer_differs("Python's descriptor pool finds no methods")
def test_a_file_is_found_by_a_method(channel: grpc.Channel, version: str) -> None:
    answer, = ask(channel, version, {"file_containing_symbol": HEALTH + ".Check"})
    assert file_of(answer).package == "grpc.health.v1"


@pytest.mark.peer_differs("Python's descriptor pool finds no fields")
@pytest.mark.parametrize("symbol", [
    "HealthCheckRequest.service", "HealthCheckResponse.ServingStatus.SERVING", "HealthCheckResponse.SERVING"])
def test_a_file_is_found_by_names_inside_its_types(channel: grpc.Channel, version: str, symbol: str) -> None:
    answer, = ask(channel, version, {"file_containing_symbol": "grpc.health.v1." + symbol})
    assert file_of(answer).package == "grpc.health.v1"


def test_a_message_has_no_extensions(channel: grpc.Channel, version: str) -> None:
    name = "grpc.health.v1.HealthCheckRequest"
    answer, = ask(channel, version, {"all_extension_numbers_of_type": name})
    assert answer.all_extension_numbers_response.base_type_name == name
    assert not answer.all_extension_numbers_response.extension_number


def test_a_file_is_found_by_its_name(channel: grpc.Channel, version: str) -> None:
    by_symbol, = ask(channel, version, {"file_containing_symbol": HEALTH})
    by_name, = ask(channel, version, {"file_by_filename": file_of(by_symbol).name})
    assert file_of(by_name) == file_of(by_symbol)


@pytest.mark.parametrize("asked", [
    {"file_by_filename": "nowhere.proto"}, {"file_by_filename": ""}, {"file_by_filename": "../health.proto"},
    {"file_containing_symbol": "nowhere.Nothing"}, {"file_containing_symbol": HEALTH + ".check"},
    {"all_extension_numbers_of_type": "nowhere.Nothing"},
    {"file_containing_extension": {"containing_type": HEALTH, "extension_number": 1}}], ids=str)
def test_an_unknown_symbol_returns_an_error_message_and_the_stream_continues(
        channel: grpc.Channel, version: str, asked: dict[str, object]) -> None:
    missing, found = ask(channel, version, asked, {"file_containing_symbol": HEALTH})
    assert missing.WhichOneof("message_response") == "error_response"
    assert missing.error_response.error_code == NOT_FOUND
    assert file_of(found).package == "grpc.health.v1"


def test_an_empty_request_is_an_error_message(channel: grpc.Channel, version: str) -> None:
    answer, = ask(channel, version, {})
    assert answer.error_response.error_code == grpc.StatusCode.INVALID_ARGUMENT.value[0]


def test_answers_arrive_while_the_stream_is_open(channel: grpc.Channel, version: str) -> None:
    messages, stubs = VERSIONS[version]
    asked: queue.Queue[object] = queue.Queue()
    answers = stubs.ServerReflectionStub(channel).ServerReflectionInfo(iter(asked.get, None), timeout=20)
    for number in range(5):
        asked.put(messages.ServerReflectionRequest(host=str(number), list_services=""))
        assert next(answers).original_request.host == str(number)
    asked.put(None)
    assert list(answers) == []


def test_the_stock_descriptor_database_reads_every_service(channel: grpc.Channel) -> None:
    database = ProtoReflectionDescriptorDatabase(channel)
    pool = descriptor_pool.DescriptorPool(database)
    services = set(database.get_services()) - {"grpc.reflection.v1.ServerReflection"}
    assert HEALTH in services
    for name in services - {"latchkey.v1.AuthService"}:
        assert pool.FindServiceByName(name).methods, "the file and all of its imports were served"


@pytest.mark.latchkey_only("the peer does not register our descriptors")
def test_the_stock_descriptor_database_reads_the_product_with_its_imports(channel: grpc.Channel) -> None:
    pool = descriptor_pool.DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
    sign_in = pool.FindServiceByName("latchkey.v1.AuthService").FindMethodByName("SignIn")
    assert sign_in.input_type.fields_by_name["credential"].message_type.full_name == "latchkey.v1.Credential"


def test_disabled_reflection_is_unimplemented(start_server: Callable[..., Server]) -> None:
    with open_channel(start_server(reflection=False)) as channel:
        for version in VERSIONS:
            with pytest.raises(grpc.RpcError) as caught:
                ask(channel, version, {"list_services": ""})
            assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED
        assert health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=20).status == SERVING
