"""Signs a user in with a password, by the stubs that gRPC's own tools generate, and prints the account."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import grpc

parser = argparse.ArgumentParser(description=__doc__)
for name in ("--stubs", "--ca", "--cert", "--key"):
    parser.add_argument(name, type=Path, required=True)
parser.add_argument("--server", default="localhost:8443")
parser.add_argument("--create", action="store_true", help="create the account first")
given = parser.parse_args()
sys.path.insert(0, str(given.stubs))

from latchkey.v1 import account_service_pb2, auth_service_pb2, types_pb2  # noqa: E402
from latchkey.v1.account_service_pb2_grpc import AccountServiceStub  # noqa: E402
from latchkey.v1.auth_service_pb2_grpc import AuthServiceStub  # noqa: E402

EMAIL, PASSWORD = "alice@example.com", "correct horse battery staple"

identity = grpc.ssl_channel_credentials(given.ca.read_bytes(), given.key.read_bytes(), given.cert.read_bytes())
with grpc.secure_channel(given.server, identity) as channel:
    if given.create:
        AccountServiceStub(channel).Create(
            account_service_pb2.CreateRequest(email=EMAIL, password=PASSWORD), timeout=20)
    credential = types_pb2.Credential(password=types_pb2.PasswordCredential(email=EMAIL, password=PASSWORD))
    answer = AuthServiceStub(channel).SignIn(auth_service_pb2.SignInRequest(credential=credential), timeout=20)
    print(answer.session.account.account_id)
