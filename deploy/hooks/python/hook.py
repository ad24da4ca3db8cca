"""A hook: addresses of one domain may sign up, sessions get a claim, and text messages go to some countries only."""

import json
import os
from concurrent import futures
from pathlib import Path

import grpc
from google.protobuf.field_mask_pb2 import FieldMask
from latchkey.hooks.v1.hooks_pb2 import (
    Allow,
    BeforeCreateRequest,
    BeforeCreateResponse,
    BeforeSendRequest,
    BeforeSendResponse,
    BeforeSignInRequest,
    BeforeSignInResponse,
    Deny,
)
from latchkey.hooks.v1.hooks_pb2_grpc import HookServiceServicer, add_HookServiceServicer_to_server

ADDRESS = os.environ.get("HOOK_ADDRESS", "localhost:8444")
FOLDER = Path(os.environ.get("HOOK_FOLDER", ".latchkey"))
DOMAIN = os.environ.get("HOOK_DOMAIN", "example.com")
COUNTRIES = ("+43", "+49")


class Rules(HookServiceServicer):
    def BeforeCreate(self, request: BeforeCreateRequest, context: grpc.ServicerContext) -> BeforeCreateResponse:
        if not request.account.email.endswith(f"@{DOMAIN}"):
            return BeforeCreateResponse(deny=Deny(code="DOMAIN", reason=f"Only for addresses of {DOMAIN}."))
        return BeforeCreateResponse(allow=Allow(
            update_mask=FieldMask(paths=["custom_claims_json"]), custom_claims_json=json.dumps({"member": True})))

    def BeforeSignIn(self, request: BeforeSignInRequest, context: grpc.ServicerContext) -> BeforeSignInResponse:
        return BeforeSignInResponse(allow=Allow(session_claims_json=json.dumps({"by": request.login.provider_id})))

    def BeforeSend(self, request: BeforeSendRequest, context: grpc.ServicerContext) -> BeforeSendResponse:
        if request.phone_number and not request.phone_number.startswith(COUNTRIES):
            return BeforeSendResponse(deny=Deny(code="COUNTRY"))
        return BeforeSendResponse()


def main() -> None:
    server = grpc.server(futures.ThreadPoolExecutor(16))
    add_HookServiceServicer_to_server(Rules(), server)
    pair = ((FOLDER / "server.key").read_bytes(), (FOLDER / "server.pem").read_bytes())
    # Only Latchkey has a certificate of this authority.
    credentials = grpc.ssl_server_credentials([pair], (FOLDER / "authority.pem").read_bytes(), require_client_auth=True)
    port = server.add_secure_port(ADDRESS, credentials)
    server.start()
    print(f"listening on port {port}", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
