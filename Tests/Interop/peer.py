"""The stock gRPC C core with the same services, to test the tests and to settle open choices.

Run as `peer.py CONFIG`, with a file that `server.write_config` wrote.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from concurrent import futures
from pathlib import Path

import grpc
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2
from grpc_status import rpc_status

FETCH_PROVIDERS = "/latchkey.v1.AuthService/FetchProviders"
SERVICES = ("grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection", "grpc.reflection.v1.ServerReflection")
HEALTH_NAMES = ("", "latchkey.v1.AuthService")


def reflection_v1(servicer: reflection.ReflectionServicer) -> grpc.GenericRpcHandler:
    """Version 1 is identical to v1alpha except for the name (gRFC A15), so the same messages work."""
    method = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo, reflection_pb2.ServerReflectionRequest.FromString,
        reflection_pb2.ServerReflectionResponse.SerializeToString)
    return grpc.method_handlers_generic_handler(
        "grpc.reflection.v1.ServerReflection", {"ServerReflectionInfo": method})


class RefuseEveryAddress(grpc.GenericRpcHandler):
    """FetchProviders without a subject, the only call of the product that the transport tests need."""

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        return grpc.unary_unary_rpc_method_handler(self.refuse) if details.method == FETCH_PROVIDERS else None

    @staticmethod
    def refuse(_: bytes, context: grpc.ServicerContext) -> bytes:
        status = status_pb2.Status(code=grpc.StatusCode.INVALID_ARGUMENT.value[0], message="Name an e-mail address.")
        status.details.add().Pack(error_details_pb2.ErrorInfo(reason="INVALID_REQUEST", domain="latchkey.v1"))
        violation = error_details_pb2.BadRequest.FieldViolation(field="subject", description="is required")
        status.details.add().Pack(error_details_pb2.BadRequest(field_violations=[violation]))
        context.abort_with_status(rpc_status.to_status(status))


def credentials(tls: dict[str, str]) -> grpc.ServerCredentials:
    pair = [(Path(tls["key"]).read_bytes(), Path(tls["certificate"]).read_bytes())]
    if tls["client_certificates"] == "none":
        return grpc.ssl_server_credentials(pair)
    authority = Path(tls["client_authority"]).read_bytes()
    return grpc.ssl_server_credentials(pair, authority, tls["client_certificates"] == "required")


def serve(config: dict) -> None:
    options = [("grpc.max_receive_message_length", 65536), ("grpc.max_metadata_size", 16384),
               ("grpc.absolute_max_metadata_size", 16384), ("grpc.max_concurrent_streams", 100),
               ("grpc.so_reuseport", 0)]
    server = grpc.server(futures.ThreadPoolExecutor(1200), options=options)
    # The servicer's other mode can deadlock when a Watch is cancelled.
    status = health.HealthServicer(experimental_non_blocking=False)
    for name in HEALTH_NAMES:
        status.set(name, health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(status, server)
    server.add_generic_rpc_handlers((RefuseEveryAddress(),))
    if config["reflection"]:
        reflection.enable_server_reflection(SERVICES, server)
        server.add_generic_rpc_handlers((reflection_v1(reflection.ReflectionServicer(SERVICES)),))
    server.add_secure_port("127.0.0.1:%d" % config["listen"]["port"], credentials(config["tls"]))
    server.start()
    wait_for_signals(server, status)


def wait_for_signals(server: grpc.Server, status: health.HealthServicer) -> None:
    signal.sigwait({signal.SIGTERM})
    status.enter_graceful_shutdown()
    time.sleep(0.3)  # Separate threads notify watchers, and calls begin one after another.
    ended = server.stop(grace=10)
    while not ended.wait(0.02):
        if signal.sigtimedwait({signal.SIGTERM}, 0):
            os._exit(1)  # Does not wait for the threads of calls.


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # Before any thread starts, so that all inherit it.
    serve(json.loads(Path(sys.argv[1]).read_text()))
