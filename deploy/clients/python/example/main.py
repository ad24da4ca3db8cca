"""Walks through an account-exists conflict, an error, a refresh and the events, next to `deploy/run`."""

import os
import secrets
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc

from latchkey import LatchkeyError, SessionHolder, connect
from latchkey.v1 import account_service_pb2, auth_service_pb2, event_service_pb2, types_pb2
from latchkey.v1.account_service_pb2_grpc import AccountServiceStub
from latchkey.v1.auth_service_pb2_grpc import AuthServiceStub
from latchkey.v1.event_service_pb2_grpc import EventServiceStub

SERVER = os.environ.get("LATCHKEY_SERVER", "localhost:8443")
HOME = Path(os.environ.get("LATCHKEY_HOME", ".latchkey"))


def resolve_conflict(channel: grpc.Channel, person: str) -> types_pb2.Session:
    accounts, auth = AccountServiceStub(channel), AuthServiceStub(channel)
    email, password = f"{person}@example.com", secrets.token_urlsafe(12)
    created = accounts.Create(account_service_pb2.CreateRequest(
        email=email, password=password, idempotency_key=secrets.token_urlsafe(16))).session.account

    def sign_in(credential: types_pb2.Credential) -> auth_service_pb2.SignInResponse:
        return auth.SignIn(auth_service_pb2.SignInRequest(
            credential=credential, idempotency_key=secrets.token_urlsafe(16)))

    id_token = subprocess.run(["deploy/mint", "--issuer", "corp", "--subject", person, "--email", email],
                              check=True, capture_output=True, text=True).stdout.strip()
    company = types_pb2.Credential(
        provider_token=types_pb2.ProviderTokenCredential(provider_id="oidc.corp", id_token=id_token))
    pending = sign_in(company).account_exists.pending_token
    ways = auth.FetchProviders(auth_service_pb2.FetchProvidersRequest(pending_token=pending))
    print("conflict: the account has", *ways.sign_in_methods)

    known = types_pb2.Credential(password=types_pb2.PasswordCredential(email=email, password=password))
    session = sign_in(known).session
    linked = auth.Link(auth_service_pb2.LinkRequest(
        id_token=session.id_token, credential=types_pb2.Credential(pending_token=pending),
        idempotency_key=secrets.token_urlsafe(16))).session
    again = sign_in(company).session
    assert again.account.account_id == created.account_id
    print("linked:", *(each.provider_id for each in again.account.providers))
    return linked


def read_error(channel: grpc.Channel) -> None:
    nobody = types_pb2.Credential(password=types_pb2.PasswordCredential(email="not an address", password="secret"))
    try:
        AuthServiceStub(channel).SignIn(auth_service_pb2.SignInRequest(credential=nobody))
    except LatchkeyError as error:
        print("error:", error.reason, error.field)
        assert (error.reason, error.field) == ("INVALID_EMAIL", "credential.password.email")


def refresh(channel: grpc.Channel, session: types_pb2.Session) -> None:
    session.id_token_expires_at.GetCurrentTime()  # As if it were about to expire.
    holder = SessionHolder(channel, session)
    with ThreadPoolExecutor() as threads:
        tokens = set(threads.map(lambda _: holder.id_token(), range(8)))
    assert len(tokens) == 1 and session.id_token not in tokens
    print("refreshed: once for 8 threads")


def watch(cursor: str, wanted: Callable[[event_service_pb2.Event], bool]) -> str:
    """Returns the cursor of the wanted event. Calls again with the last cursor when the connection ends."""
    with connect(SERVER, ca_file=HOME / "authority.pem", certificate_file=HOME / "admin.pem",
                 key_file=HOME / "admin.key") as channel:
        while True:
            try:
                for response in EventServiceStub(channel).Watch(event_service_pb2.WatchRequest(cursor=cursor)):
                    cursor = response.cursor  # Store it here, after the event is processed.
                    if wanted(response.event):
                        return cursor
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE:
                    raise
            time.sleep(1)


if __name__ == "__main__":
    cursor = watch("now", lambda _: True)
    web = connect(SERVER, ca_file=HOME / "authority.pem", api_key=(HOME / "web.apikey").read_text())
    session = resolve_conflict(web, secrets.token_hex(4))
    read_error(web)
    refresh(web, session)
    linked = (event_service_pb2.EVENT_TYPE_LINKED, session.account.account_id)
    watch(cursor, lambda event: (event.type, event.account_id) == linked)
    print("events: LINKED after a new connection")
