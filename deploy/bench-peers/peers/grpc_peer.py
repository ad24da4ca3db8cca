"""The counterpart of grpc_peer.cpp on Python's grpcio, with its asyncio server, the fastest on one core.

Usage: grpc_peer.py FOLDER PORT ACCOUNTS, with the generated stubs on PYTHONPATH.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import grpc
from grpc_health.v1 import health, health_pb2_grpc
from latchkey.v1 import auth_service_pb2, auth_service_pb2_grpc

METHODS = ["password", "google.com"]


class Auth(auth_service_pb2_grpc.AuthServiceServicer):
    def __init__(self, accounts: int) -> None:
        self.methods = {f"person{number}@example.com": METHODS for number in range(accounts)}

    async def FetchProviders(self, request: auth_service_pb2.FetchProvidersRequest,
                             context: grpc.aio.ServicerContext) -> auth_service_pb2.FetchProvidersResponse:
        found = self.methods.get(request.email, [])
        return auth_service_pb2.FetchProvidersResponse(
            registered=bool(found), provider_ids=found, sign_in_methods=found)


async def serve(folder: Path, port: int, accounts: int) -> None:
    server = grpc.aio.server()
    health_pb2_grpc.add_HealthServicer_to_server(health.aio.HealthServicer(), server)
    auth_service_pb2_grpc.add_AuthServiceServicer_to_server(Auth(accounts), server)
    pair = (folder / "server.key").read_bytes(), (folder / "server.pem").read_bytes()
    server.add_secure_port(f"127.0.0.1:{port}", grpc.ssl_server_credentials([pair]))
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
