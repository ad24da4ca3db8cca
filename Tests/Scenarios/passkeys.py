"""A user's device with one passkey, and the calls in which a client uses it."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import Any

from clients import Client, session
from latchkey.v1 import types_pb2 as types
from soft_authenticator import BE, BS, UP, UV, Authenticator, Passkey, encoded

RELYING_PARTY = "localhost"
ORIGIN = "http://localhost:3000"
# The settings of a server with passkeys.
SETTINGS: dict[str, Any] = {
    "policy": {"passkey": True, "email_link": True, "phone": True},
    "relying_parties": [{"id": RELYING_PARTY, "name": "Test", "origins": [ORIGIN]}],
}


@dataclass
class Device:
    """Answers with its passkey even if the options name others, as a hostile client would."""

    verifies_user: bool = True
    synced: bool = False
    sign_count: int = 0
    credential_id: bytes = field(default_factory=lambda: os.urandom(16))
    transports: list[str] = field(default_factory=lambda: ["internal"])

    def __post_init__(self) -> None:
        self._authenticator = Authenticator(credential_id=self.credential_id, transports=self.transports)

    def create(self, options_json: str, origin: str = ORIGIN) -> str:
        """The RegistrationResponseJSON."""
        return self._authenticator.create(
            json.loads(options_json), origin, flags=self._flags, sign_count=self.sign_count)

    def get(self, options_json: str, origin: str = ORIGIN, handle: bool = True, **changes: Any) -> str:
        """The AuthenticationResponseJSON."""
        if not handle:
            changes["answer"] = without_handle
        usual = {"passkey": self.passkey, "flags": self._flags, "sign_count": self.sign_count}
        return self._authenticator.get(json.loads(options_json), origin, **(usual | changes))

    @property
    def is_registered(self) -> bool:
        return bool(self._authenticator.passkeys)

    @property
    def passkey(self) -> Passkey:
        return self._authenticator.passkeys[self.credential_id]

    @property
    def passkey_id(self) -> str:
        return encoded(hashlib.sha256(self.credential_id).digest())

    @property
    def _flags(self) -> int:
        return UP | (UV if self.verifies_user else 0) | (BE | BS if self.synced else 0)


def without_handle(answer: dict[str, Any]) -> dict[str, Any]:
    del answer["response"]["userHandle"]
    return answer


def used(sign_in_id: str, credential_json: str) -> types.Credential:
    return types.Credential(passkey=types.PasskeyCredential(sign_in_id=sign_in_id, credential_json=credential_json))


def registered(registration_id: str, credential_json: str, name: str = "") -> types.Credential:
    return types.Credential(passkey=types.PasskeyCredential(
        registration_id=registration_id, credential_json=credential_json, name=name))


def sign_up(client: Client, device: Device, **fields: Any) -> types.Session:
    started = client.start_registration()
    return session(client.sign_in(registered(started.registration_id, device.create(started.options_json)), **fields))


def sign_in(client: Client, device: Device, email: str = "", **fields: Any) -> Any:
    started = client.start_passkey_sign_in(email=email)
    return client.sign_in(used(started.sign_in_id, device.get(started.options_json)), **fields)


def add(client: Client, device: Device, id_token: str, name: str = "") -> Any:
    started = client.start_registration(id_token)
    return client.finish_registration(id_token, started.registration_id, device.create(started.options_json), name=name)
