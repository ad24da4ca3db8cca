"""A stock grpcio client of the service, and the credentials that its callers present."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import duration_pb2
from latchkey.v1 import account_service_pb2 as accounts
from latchkey.v1 import admin_service_pb2 as admin
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1 import session_service_pb2 as sessions
from latchkey.v1 import types_pb2 as types
from latchkey.v1.account_service_pb2_grpc import AccountServiceStub
from latchkey.v1.admin_service_pb2_grpc import AdminServiceStub
from latchkey.v1.auth_service_pb2_grpc import AuthServiceStub
from latchkey.v1.session_service_pb2_grpc import SessionServiceStub

from configuration import KEYS
from processes import Server, Simulator

PASSWORD = "correct horse battery staple"
TIMEOUT_SECONDS = 20


def channel_credentials(folder: Path, *, key: str | None = None,
                        certificate: str | None = None) -> grpc.ChannelCredentials:
    """`key` and `certificate` name a caller of the configuration; neither makes an unidentified one."""
    pair = [(folder / f"{certificate}.{kind}").read_bytes() for kind in ("key", "pem")] if certificate else [None] * 2
    secure = grpc.ssl_channel_credentials((folder / "authority.pem").read_bytes(), *pair)
    if key is None:
        return secure
    # Sends `authorization: Bearer …` with every call.
    return grpc.composite_channel_credentials(secure, grpc.access_token_call_credentials(KEYS.get(key, key)))


class Client:
    """The calls that scenarios make, one method each; keyword arguments are further fields of the request."""

    def __init__(self, server: Server, *, key: str | None = None, certificate: str | None = None) -> None:
        credentials = channel_credentials(server.folder, key=key, certificate=certificate)
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.initial_reconnect_backoff_ms", 100),
                   ("grpc.max_reconnect_backoff_ms", 300), ("grpc.enable_retries", 0)]
        self.channel = grpc.secure_channel(server.address, credentials, options)
        self._auth = AuthServiceStub(self.channel)
        self._accounts = AccountServiceStub(self.channel)
        self._sessions = SessionServiceStub(self.channel)
        self._admin = AdminServiceStub(self.channel)

    def close(self) -> None:
        self.channel.close()

    def sign_in(self, credential: types.Credential, **fields: Any) -> auth.SignInResponse:
        return _call(self._auth.SignIn, auth.SignInRequest(credential=credential, **fields))

    def link(self, id_token: str, credential: types.Credential, **fields: Any) -> auth.LinkResponse:
        return _call(self._auth.Link, auth.LinkRequest(id_token=id_token, credential=credential, **fields))

    def unlink(self, id_token: str, provider_id: str, **fields: Any) -> types.Session:
        request = auth.UnlinkRequest(id_token=id_token, provider_id=provider_id, **fields)
        return _call(self._auth.Unlink, request).session

    def reauthenticate(self, id_token: str, credential: types.Credential) -> types.Session:
        request = auth.ReauthenticateRequest(id_token=id_token, credential=credential)
        return session(_call(self._auth.Reauthenticate, request))

    def fetch(self, **subject: Any) -> auth.FetchProvidersResponse:
        return _call(self._auth.FetchProviders, auth.FetchProvidersRequest(**subject))

    def create(self, email: str, password: str = PASSWORD, **fields: Any) -> types.Session:
        request = accounts.CreateRequest(email=email, password=password, **fields)
        return session(_call(self._accounts.Create, request))

    def get(self, id_token: str) -> types.Account:
        return _call(self._accounts.Get, accounts.GetRequest(id_token=id_token)).account

    def delete(self, id_token: str, **fields: Any) -> None:
        _call(self._accounts.Delete, accounts.DeleteRequest(id_token=id_token, **fields))

    def refresh(self, refresh_token: str) -> types.Session:
        return _call(self._sessions.Refresh, sessions.RefreshRequest(refresh_token=refresh_token)).session

    def sign_out(self, **tokens: str) -> None:
        _call(self._sessions.SignOut, sessions.SignOutRequest(**tokens))

    def verify(self, id_token: str) -> sessions.VerifyIdTokenResponse:
        return _call(self._sessions.VerifyIdToken, sessions.VerifyIdTokenRequest(id_token=id_token))

    def signing_keys(self) -> str:
        return _call(self._sessions.GetSigningKeys, sessions.GetSigningKeysRequest()).jwks_json

    def lookup(self, **subject: Any) -> types.Account:
        return _call(self._admin.Lookup, admin.LookupRequest(**subject)).account

    def custom_token(self, account_id: str, claims_json: str = "", lifetime_seconds: int | None = None) -> str:
        request = admin.CreateCustomTokenRequest(account_id=account_id, claims_json=claims_json)
        if lifetime_seconds is not None:
            request.lifetime.CopyFrom(duration_pb2.Duration(seconds=lifetime_seconds))
        return _call(self._admin.CreateCustomToken, request).custom_token


def _call(method: Any, request: Any) -> Any:
    return method(request, timeout=TIMEOUT_SECONDS)


# What callers present.

def password(email: str, secret: str = PASSWORD) -> types.Credential:
    return types.Credential(password=types.PasswordCredential(email=email, password=secret))


def provider(provider_id: str, id_token: str, **fields: str) -> types.Credential:
    return types.Credential(
        provider_token=types.ProviderTokenCredential(provider_id=provider_id, id_token=id_token, **fields))


def assertion(simulator: Simulator, provider_id: str, **order: object) -> types.Credential:
    """A fresh ID token of the provider as a credential."""
    return provider(provider_id, simulator.token(provider_id, **order))


def held(pending_token: str) -> types.Credential:
    return types.Credential(pending_token=pending_token)


def anonymous() -> types.Credential:
    return types.Credential(anonymous=types.AnonymousCredential())


def custom(token: str) -> types.Credential:
    return types.Credential(custom_token=types.CustomTokenCredential(token=token))


def fresh_email(domain: str = "example.com") -> str:
    return f"{secrets.token_hex(6)}@{domain}"


# What callers get.

def session(response: Any) -> types.Session:
    return _outcome(response, "session")


def conflict(response: Any) -> types.AccountExists:
    return _outcome(response, "account_exists")


def in_use(response: Any) -> types.CredentialInUse:
    return _outcome(response, "credential_in_use")


def _outcome(response: Any, wanted: str) -> Any:
    outcome = response.WhichOneof("outcome")
    assert outcome == wanted, f"the outcome is {outcome}, not {wanted}"
    return getattr(response, wanted)


def provider_ids(account: types.Account) -> set[str]:
    return {each.provider_id for each in account.providers}
