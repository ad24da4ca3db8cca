"""The Python package's client of the service, and the credentials that its callers present."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import grpc
import latchkey
from google.protobuf import duration_pb2
from latchkey.v1 import account_service_pb2 as accounts
from latchkey.v1 import admin_accounts_pb2 as provisioning
from latchkey.v1 import admin_service_pb2 as admin
from latchkey.v1 import admin_signing_keys_pb2 as signing_keys
from latchkey.v1 import admin_support_pb2 as support
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1 import event_service_pb2 as events
from latchkey.v1 import passkey_service_pb2 as passkeys
from latchkey.v1 import provider_flow_service_pb2 as flows
from latchkey.v1 import second_factor_service_pb2 as factors
from latchkey.v1 import session_service_pb2 as sessions
from latchkey.v1 import types_pb2 as types
from latchkey.v1 import verification_service_pb2 as verification
from latchkey.v1.account_service_pb2_grpc import AccountServiceStub
from latchkey.v1.admin_service_pb2_grpc import AdminServiceStub
from latchkey.v1.auth_service_pb2_grpc import AuthServiceStub
from latchkey.v1.event_service_pb2_grpc import EventServiceStub
from latchkey.v1.passkey_service_pb2_grpc import PasskeyServiceStub
from latchkey.v1.provider_flow_service_pb2_grpc import ProviderFlowServiceStub
from latchkey.v1.second_factor_service_pb2_grpc import SecondFactorServiceStub
from latchkey.v1.session_service_pb2_grpc import SessionServiceStub
from latchkey.v1.verification_service_pb2_grpc import VerificationServiceStub

import failures
from configuration import KEYS
from processes import Server, Simulator

PASSWORD = "correct horse battery staple"
TIMEOUT_SECONDS = 20
# A page of the caller `web`, for emailed links.
PAGE = "http://localhost:3000/callback"


def channel_credentials(folder: Path, *, key: str | None = None,
                        certificate: str | None = None) -> grpc.ChannelCredentials:
    """For asynchronous channels, which the package does not open. `key` and `certificate` identify a caller of the
    configuration; without both it is unidentified."""
    pair = [(folder / f"{certificate}.{kind}").read_bytes() for kind in ("key", "pem")] if certificate else [None] * 2
    secure = grpc.ssl_channel_credentials((folder / "authority.pem").read_bytes(), *pair)
    if key is None:
        return secure
    # Sends `authorization: Bearer …` with every call.
    return grpc.composite_channel_credentials(secure, grpc.access_token_call_credentials(KEYS.get(key, key)))


class Client:
    """The calls of scenarios, one method each. Keyword arguments are further fields of the request."""

    def __init__(self, server: Server, *, key: str | None = None, certificate: str | None = None) -> None:
        # Each failure of the server must reach the test, so there are no retries and no health checks.
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.initial_reconnect_backoff_ms", 100),
                   ("grpc.max_reconnect_backoff_ms", 300), ("grpc.enable_retries", 0), ("grpc.service_config", "{}")]
        pair = [server.folder / f"{certificate}.{kind}" for kind in ("pem", "key")] if certificate else [None] * 2
        self.open(latchkey.connect(
            server.address, ca_file=server.folder / "authority.pem", api_key=key and KEYS.get(key, key),
            certificate_file=pair[0], key_file=pair[1], options=options))

    def open(self, channel: grpc.Channel) -> None:
        self.channel = channel
        self._auth = AuthServiceStub(self.channel)
        self._accounts = AccountServiceStub(self.channel)
        self._sessions = SessionServiceStub(self.channel)
        self._admin = AdminServiceStub(self.channel)
        self._flows = ProviderFlowServiceStub(self.channel)
        self._factors = SecondFactorServiceStub(self.channel)
        self._passkeys = PasskeyServiceStub(self.channel)
        self._verification = VerificationServiceStub(self.channel)
        self._events = EventServiceStub(self.channel)

    def close(self) -> None:
        self.channel.close()

    def sign_in(self, credential: types.Credential, **fields: Any) -> auth.SignInResponse:
        return _call(self._auth.SignIn, auth.SignInRequest(credential=credential, **fields))

    def link(self, id_token: str, credential: types.Credential, **fields: Any) -> auth.LinkResponse:
        return _call(self._auth.Link, auth.LinkRequest(id_token=id_token, credential=credential, **fields))

    def unlink(self, id_token: str, provider_id: str, **fields: Any) -> types.Session:
        request = auth.UnlinkRequest(id_token=id_token, provider_id=provider_id, **fields)
        return _call(self._auth.Unlink, request).session

    def reauthenticate(self, id_token: str, credential: types.Credential, **fields: Any) -> types.Session:
        request = auth.ReauthenticateRequest(id_token=id_token, credential=credential, **fields)
        return session(_call(self._auth.Reauthenticate, request))

    def prove_again(self, id_token: str, credential: types.Credential, **fields: Any) -> auth.ReauthenticateResponse:
        request = auth.ReauthenticateRequest(id_token=id_token, credential=credential, **fields)
        return _call(self._auth.Reauthenticate, request)

    def start_factor(self, pending_token: str, factor_id: str, **fields: Any) -> factors.StartSecondFactorResponse:
        request = factors.StartSecondFactorRequest(pending_token=pending_token, factor_id=factor_id, **fields)
        return _call(self._factors.StartSecondFactor, request)

    def finish_factor(self, pending_token: str, factor_id: str, code: str,
                      **fields: Any) -> factors.FinishSecondFactorResponse:
        request = factors.FinishSecondFactorRequest(
            pending_token=pending_token, factor_id=factor_id, code=code, **fields)
        return _call(self._factors.FinishSecondFactor, request)

    def start_enrollment(self, id_token: str, kind: int, **fields: Any) -> factors.StartEnrollmentResponse:
        request = factors.StartEnrollmentRequest(id_token=id_token, kind=kind, **fields)
        return _call(self._factors.StartEnrollment, request)

    def finish_enrollment(
            self, id_token: str, enrollment_id: str, code: str = "", **fields: Any) -> factors.FinishEnrollmentResponse:
        request = factors.FinishEnrollmentRequest(id_token=id_token, enrollment_id=enrollment_id, code=code, **fields)
        return _call(self._factors.FinishEnrollment, request)

    def start_registration(self, id_token: str = "", **fields: Any) -> passkeys.StartRegistrationResponse:
        request = passkeys.StartRegistrationRequest(id_token=id_token, **fields)
        return _call(self._passkeys.StartRegistration, request)

    def finish_registration(self, id_token: str, registration_id: str, credential_json: str,
                            **fields: Any) -> passkeys.FinishRegistrationResponse:
        request = passkeys.FinishRegistrationRequest(
            id_token=id_token, registration_id=registration_id, credential_json=credential_json, **fields)
        return _call(self._passkeys.FinishRegistration, request)

    def start_passkey_sign_in(self, **fields: Any) -> passkeys.StartSignInResponse:
        return _call(self._passkeys.StartSignIn, passkeys.StartSignInRequest(**fields))

    def list_passkeys(self, id_token: str) -> list[passkeys.Passkey]:
        request = passkeys.ListPasskeysRequest(id_token=id_token)
        return list(_call(self._passkeys.ListPasskeys, request).passkeys)

    def rename_passkey(self, id_token: str, passkey_id: str, name: str) -> passkeys.Passkey:
        request = passkeys.RenamePasskeyRequest(id_token=id_token, passkey_id=passkey_id, name=name)
        return _call(self._passkeys.RenamePasskey, request).passkey

    def remove_passkey(self, id_token: str, passkey_id: str, **fields: Any) -> types.Session:
        request = passkeys.RemovePasskeyRequest(id_token=id_token, passkey_id=passkey_id, **fields)
        return _call(self._passkeys.RemovePasskey, request).session

    def withdraw(self, id_token: str, factor_id: str, **fields: Any) -> types.Session:
        request = factors.WithdrawRequest(id_token=id_token, factor_id=factor_id, **fields)
        return _call(self._factors.Withdraw, request).session

    def fetch(self, **subject: Any) -> auth.FetchProvidersResponse:
        return _call(self._auth.FetchProviders, auth.FetchProvidersRequest(**subject))

    def start_flow(self, provider_id: str, redirect_uri: str, **fields: Any) -> flows.StartFlowResponse:
        request = flows.StartFlowRequest(provider_id=provider_id, redirect_uri=redirect_uri, **fields)
        return _call(self._flows.StartFlow, request)

    def revoke_token(self, id_token: str, token: types.TokenToRevoke, **fields: Any) -> None:
        _call(self._flows.RevokeToken, flows.RevokeTokenRequest(id_token=id_token, token=token, **fields))

    def create(self, email: str, password: str = PASSWORD, **fields: Any) -> types.Session:
        request = accounts.CreateRequest(email=email, password=password, **fields)
        return session(_call(self._accounts.Create, request))

    def ask_to_create(self, email: str, password: str = PASSWORD, **fields: Any) -> accounts.VerificationSent:
        """Create on a server that verifies email addresses first."""
        request = accounts.CreateRequest(email=email, password=password, **{"continue_uri": PAGE, **fields})
        answer = _call(self._accounts.Create, request)
        assert answer.WhichOneof("outcome") == "verification_sent", answer
        return answer.verification_sent

    def get(self, id_token: str, actor: str = "") -> types.Account:
        return _call(self._accounts.Get, accounts.GetRequest(id_token=id_token), actor).account

    def update(self, id_token: str, *paths: str, account: types.Account | None = None, **fields: Any) -> types.Session:
        """`paths` is the mask, `account` has the values."""
        request = accounts.UpdateRequest(id_token=id_token, account=account, **fields)
        request.update_mask.paths.extend(paths)
        return _call(self._accounts.Update, request).session

    def merge(self, survivor: types.Session, other: types.Session, keep: dict[str, types.Session] | None = None,
              **fields: Any) -> accounts.MergeResponse:
        """`keep` selects, for each conflict, the account whose value stays."""
        request = accounts.MergeRequest(survivor_id_token=survivor.id_token, other_id_token=other.id_token, **fields)
        for name, owner in (keep or {}).items():
            request.keep.add(field=name, from_account_id=owner.account.account_id)
        return _call(self._accounts.Merge, request)

    def delete(self, id_token: str, **fields: Any) -> accounts.DeleteResponse:
        return _call(self._accounts.Delete, accounts.DeleteRequest(id_token=id_token, **fields))

    def refresh(self, refresh_token: str, **fields: Any) -> types.Session:
        return _call(self._sessions.Refresh, sessions.RefreshRequest(refresh_token=refresh_token, **fields)).session

    def sign_out(self, **tokens: str) -> None:
        _call(self._sessions.SignOut, sessions.SignOutRequest(**tokens))

    def revoke_all(self, id_token: str) -> int:
        return _call(self._sessions.RevokeAll, sessions.RevokeAllRequest(id_token=id_token)).closed

    def end_session(self, session_id: str, id_token: str = "", **fields: Any) -> bool:
        """Without `id_token`, as an administrator."""
        request = sessions.EndSessionRequest(session_id=session_id, id_token=id_token, **fields)
        return _call(self._sessions.EndSession, request).ended

    def list_sessions(self, id_token: str) -> list[sessions.SessionInfo]:
        request = sessions.ListSessionsRequest(id_token=id_token)
        return list(_call(self._sessions.ListSessions, request).sessions)

    def claims(self, id_token: str) -> Any:
        """The claims of a valid token."""
        verified = self.verify(id_token)
        assert verified.active, verified
        return json.loads(verified.claims_json)

    def create_session_cookie(
            self, id_token: str, seconds: int = 3_600, **fields: Any) -> sessions.CreateSessionCookieResponse:
        request = sessions.CreateSessionCookieRequest(id_token=id_token, valid_for_seconds=seconds, **fields)
        return _call(self._sessions.CreateSessionCookie, request)

    def verify_session_cookie(self, cookie: str) -> sessions.VerifySessionCookieResponse:
        return _call(self._sessions.VerifySessionCookie, sessions.VerifySessionCookieRequest(session_cookie=cookie))

    def verify(self, id_token: str) -> sessions.VerifyIdTokenResponse:
        return _call(self._sessions.VerifyIdToken, sessions.VerifyIdTokenRequest(id_token=id_token))

    def signing_keys(self) -> str:
        return _call(self._sessions.GetSigningKeys, sessions.GetSigningKeysRequest()).jwks_json

    def watch(self, cursor: str = "", *event_types: str | int, timeout: float | None = TIMEOUT_SECONDS) -> Any:
        """An iterator over the stream's responses, with `cancel`. A type is a name such as `LINKED`, or a number."""
        numbers = [each if isinstance(each, int) else events.EventType.Value(f"EVENT_TYPE_{each}")
                   for each in event_types]
        return self._events.Watch(events.WatchRequest(cursor=cursor, types=numbers), timeout=timeout)

    def lookup(self, **subject: Any) -> types.Account:
        return _call(self._admin.Lookup, admin.LookupRequest(**subject)).account

    def custom_token(self, account_id: str, claims_json: str = "", lifetime_seconds: int | None = None) -> str:
        request = admin.CreateCustomTokenRequest(account_id=account_id, claims_json=claims_json)
        if lifetime_seconds is not None:
            request.lifetime.CopyFrom(duration_pb2.Duration(seconds=lifetime_seconds))
        return _call(self._admin.CreateCustomToken, request).custom_token

    def list_accounts(self, page_token: str = "", page_size: int = 0) -> admin.ListResponse:
        return _call(self._admin.List, admin.ListRequest(page_token=page_token, page_size=page_size))

    def set_disabled(self, account_id: str, disabled: bool) -> types.Account:
        request = admin.SetDisabledRequest(account_id=account_id, disabled=disabled)
        return _call(self._admin.SetDisabled, request).account

    def set_claims(self, account_id: str, claims_json: str) -> types.Account:
        request = admin.SetCustomClaimsRequest(account_id=account_id, claims_json=claims_json)
        return _call(self._admin.SetCustomClaims, request).account

    def revoke_sessions(self, account_id: str) -> int:
        return _call(self._admin.RevokeSessions, admin.RevokeSessionsRequest(account_id=account_id)).closed

    def delete_account(self, account_id: str) -> None:
        _call(self._admin.DeleteAccount, admin.DeleteAccountRequest(account_id=account_id))

    def remove_factors(self, account_id: str) -> admin.RemoveSecondFactorsResponse:
        return _call(self._admin.RemoveSecondFactors, admin.RemoveSecondFactorsRequest(account_id=account_id))

    def unlink_provider(self, account_id: str, provider_id: str, subject: str = "") -> types.Account:
        request = admin.UnlinkProviderRequest(account_id=account_id, provider_id=provider_id, subject=subject)
        return _call(self._admin.UnlinkProvider, request).account

    def create_account(self, actor: str = "", **fields: Any) -> types.Account:
        return _call(self._admin.CreateAccount, provisioning.CreateAccountRequest(**fields), actor).account

    def update_account(self, account_id: str, *paths: str, password: str = "", actor: str = "",
                       **fields: Any) -> types.Account:
        request = provisioning.UpdateAccountRequest(
            account_id=account_id, account=types.Account(**fields), password=password)
        request.update_mask.paths.extend([*fields, *paths])
        return _call(self._admin.UpdateAccount, request, actor).account

    def link_identity(self, account_id: str, provider_id: str, subject: str,
                      **fields: Any) -> provisioning.LinkIdentityResponse:
        request = provisioning.LinkIdentityRequest(
            account_id=account_id, provider_id=provider_id, subject=subject, **fields)
        return _call(self._admin.LinkIdentity, request)

    def set_factors(self, account_id: str, *factors: provisioning.SecondFactorSetting) -> types.Account:
        request = provisioning.SetSecondFactorsRequest(account_id=account_id, factors=factors)
        return _call(self._admin.SetSecondFactors, request).account

    def create_email_link(self, mode: str, email: str, **fields: Any) -> str:
        request = provisioning.CreateEmailLinkRequest(
            mode=f"CODE_MODE_{mode}", email=email, **{"continue_uri": PAGE, "caller": "web", **fields})
        return _call(self._admin.CreateEmailLink, request).link

    def invite(self, email: str, **fields: Any) -> provisioning.InviteResponse:
        request = provisioning.InviteRequest(email=email, **{"continue_uri": PAGE, "caller": "web", **fields})
        return _call(self._admin.Invite, request)

    def delete_accounts(self, *account_ids: str) -> provisioning.DeleteAccountsResponse:
        return _call(self._admin.DeleteAccounts, provisioning.DeleteAccountsRequest(account_ids=account_ids))

    def set_accounts_disabled(self, disabled: bool, *account_ids: str) -> provisioning.SetAccountsDisabledResponse:
        request = provisioning.SetAccountsDisabledRequest(account_ids=account_ids, disabled=disabled)
        return _call(self._admin.SetAccountsDisabled, request)

    def forget_account(self, account_id: str) -> provisioning.ForgetAccountResponse:
        return _call(self._admin.ForgetAccount, provisioning.ForgetAccountRequest(account_id=account_id))

    def search(self, query: str = "", **fields: Any) -> provisioning.SearchResponse:
        return _call(self._admin.Search, provisioning.SearchRequest(query=query, **fields))

    def export_account(self, account_id: str) -> dict[str, Any]:
        request = provisioning.ExportAccountRequest(account_id=account_id)
        parts = self._admin.ExportAccount(request, timeout=TIMEOUT_SECONDS)
        document: dict[str, Any] = json.loads("".join(part.json_part for part in parts))
        return document

    def import_accounts(self, batches: Iterable[list[admin.ImportedAccount]],
                        options: admin.ImportOptions | None = None) -> list[admin.ImportAccountsResponse]:
        """One answer for each batch. The options are in the first request."""
        requests = (admin.ImportAccountsRequest(options=options if number == 0 else None, accounts=batch)
                    for number, batch in enumerate(batches))
        return list(self._admin.ImportAccounts(requests, timeout=120))

    def export_accounts(self, include_secrets: bool = False) -> list[admin.ExportedAccount]:
        answers = self._admin.ExportAccounts(
            admin.ExportAccountsRequest(include_secrets=include_secrets), timeout=120)
        return [account for answer in answers for account in answer.accounts]

    def list_events(self, **fields: Any) -> support.ListEventsResponse:
        return _call(self._admin.ListEvents, support.ListEventsRequest(**fields))

    def diagnose(self, **subject: Any) -> support.DiagnoseSignInResponse:
        return _call(self._admin.DiagnoseSignIn, support.DiagnoseSignInRequest(**subject))

    def unlock(self, **subject: Any) -> support.UnlockResponse:
        return _call(self._admin.Unlock, support.UnlockRequest(**subject))

    def account_sessions(self, account_id: str, include_ended: bool = False) -> list[support.AccountSession]:
        request = support.AdminServiceListSessionsRequest(account_id=account_id, include_ended=include_ended)
        return list(_call(self._admin.ListSessions, request).sessions)

    def list_messages(self, account_id: str) -> list[support.AccountMessage]:
        return list(_call(self._admin.ListMessages, support.ListMessagesRequest(account_id=account_id)).messages)

    def resend_message(self, message_id: str) -> support.AccountMessage:
        return _call(self._admin.ResendMessage, support.ResendMessageRequest(message_id=message_id)).message

    def backup(self, timeout: float = 60) -> admin.BackupResponse:
        return self._admin.Backup(admin.BackupRequest(), timeout=timeout)

    def master_keys(self) -> list[admin.MasterKeyUse]:
        return list(self._admin.GetMasterKeyStatus(admin.GetMasterKeyStatusRequest(), timeout=60).keys)

    def list_signing_keys(self) -> list[signing_keys.SigningKeyInfo]:
        answer = _call(self._admin.ListSigningKeys, signing_keys.ListSigningKeysRequest())
        return list(answer.keys)

    def rotate_signing_keys(self) -> signing_keys.RotateSigningKeysResponse:
        return _call(self._admin.RotateSigningKeys, signing_keys.RotateSigningKeysRequest())

    def revoke_signing_key(self, key_id: str) -> signing_keys.RevokeSigningKeyResponse:
        return _call(self._admin.RevokeSigningKey, signing_keys.RevokeSigningKeyRequest(key_id=key_id))

    def send_phone_code(self, number: str, **fields: Any) -> verification.SendPhoneCodeResponse:
        request = verification.SendPhoneCodeRequest(phone_number=number, **fields)
        return _call(self._verification.SendPhoneCode, request)

    def send_email_link(self, email: str, **fields: Any) -> verification.SendEmailLinkResponse:
        request = verification.SendEmailLinkRequest(email=email, **{"continue_uri": PAGE, **fields})
        return _call(self._verification.SendEmailLink, request)

    def send_email_code(self, email: str, **fields: Any) -> verification.SendEmailCodeResponse:
        request = verification.SendEmailCodeRequest(email=email, **fields)
        return _call(self._verification.SendEmailCode, request)

    def send_email_verification(self, id_token: str, **fields: Any) -> verification.SendEmailVerificationResponse:
        request = verification.SendEmailVerificationRequest(id_token=id_token, **{"continue_uri": PAGE, **fields})
        return _call(self._verification.SendEmailVerification, request)

    def send_password_reset(self, email: str, **fields: Any) -> verification.SendPasswordResetResponse:
        request = verification.SendPasswordResetRequest(email=email, **{"continue_uri": PAGE, **fields})
        return _call(self._verification.SendPasswordReset, request)

    def send_email_change(self, id_token: str, new_email: str, **fields: Any) -> verification.SendEmailChangeResponse:
        request = verification.SendEmailChangeRequest(
            id_token=id_token, new_email=new_email, **{"continue_uri": PAGE, **fields})
        return _call(self._verification.SendEmailChange, request)

    def check_code(self, code: str) -> verification.CheckCodeResponse:
        return _call(self._verification.CheckCode, verification.CheckCodeRequest(code=code))

    def confirm_email(self, code: str, id_token: str = "", **fields: Any) -> verification.ConfirmEmailResponse:
        request = verification.ConfirmEmailRequest(code=code, id_token=id_token, **fields)
        return _call(self._verification.ConfirmEmail, request)

    def reset_password(self, code: str, new_password: str, **fields: Any) -> verification.ResetPasswordResponse:
        request = verification.ResetPasswordRequest(code=code, new_password=new_password, **fields)
        return _call(self._verification.ResetPassword, request)


def _call(method: Any, request: Any, actor: str = "") -> Any:
    """Makes a call. Checks that an error names only fields of the request, or the actor."""
    try:
        metadata = [("x-latchkey-actor", actor)] if actor else None
        return method(request, timeout=TIMEOUT_SECONDS, metadata=metadata)
    except latchkey.LatchkeyError as error:
        for field in filter(None, (error.field, error.metadata.get("field"))):
            if field == "x-latchkey-actor":
                continue
            assert failures.has_field(request.DESCRIPTOR, field), f"{request.DESCRIPTOR.name} has no {field}: {error}"
        raise


# Credentials of callers.

def password(email: str, secret: str = PASSWORD) -> types.Credential:
    return types.Credential(password=types.PasswordCredential(email=email, password=secret))


def provider(provider_id: str, id_token: str, **fields: str) -> types.Credential:
    return types.Credential(
        provider_token=types.ProviderTokenCredential(provider_id=provider_id, id_token=id_token, **fields))


def assertion(simulator: Simulator, provider_id: str, **order: object) -> types.Credential:
    """A new ID token of the provider as a credential."""
    return provider(provider_id, simulator.token(provider_id, **order))


def held(pending_token: str) -> types.Credential:
    return types.Credential(pending_token=pending_token)


def anonymous() -> types.Credential:
    return types.Credential(anonymous=types.AnonymousCredential())


def custom(token: str) -> types.Credential:
    return types.Credential(custom_token=types.CustomTokenCredential(token=token))


def fresh_email(domain: str = "example.com") -> str:
    return f"{secrets.token_hex(6)}@{domain}"


# Results for callers.

def session(response: Any) -> types.Session:
    return _outcome(response, "session")


def conflict(response: Any) -> types.AccountExists:
    return _outcome(response, "account_exists")


def in_use(response: Any) -> types.CredentialInUse:
    return _outcome(response, "credential_in_use")


def factor_required(response: Any) -> types.SecondFactorRequired:
    return _outcome(response, "second_factor_required")


def _outcome(response: Any, wanted: str) -> Any:
    outcome = response.WhichOneof("outcome")
    assert outcome == wanted, f"the outcome is {outcome}, not {wanted}"
    return getattr(response, wanted)


def provider_ids(account: types.Account) -> set[str]:
    return {each.provider_id for each in account.providers}
