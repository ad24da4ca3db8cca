"""A software authenticator of ES256 passkeys, as a browser would use it (WebAuthn Level 3)."""

from __future__ import annotations

import hashlib
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from latchkey.v1 import types_pb2 as types

RELYING_PARTY = "localhost"
ORIGIN = "http://localhost:3000"
# The settings of a server with passkeys.
SETTINGS: dict[str, Any] = {
    "policy": {"passkey": True, "email_link": True, "phone": True},
    "relying_parties": [{"id": RELYING_PARTY, "name": "Test", "origins": [ORIGIN]}],
}
PRESENT, VERIFIED, ELIGIBLE, BACKED_UP, ATTESTED = 0x01, 0x04, 0x08, 0x10, 0x40


def encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Authenticator:
    """One passkey in a user's device."""

    verifies_user: bool = True
    synced: bool = False
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    user_handle: bytes = b""
    sign_count: int = 0

    def create(self, options_json: str, origin: str = ORIGIN) -> str:
        """The RegistrationResponseJSON."""
        options = json.loads(options_json)
        self.user_handle = decode(options["user"]["id"])
        numbers = self.key.public_key().public_numbers()
        cose = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        attested = bytes(16) + len(self.credential_id).to_bytes(2, "big") + self.credential_id + cbor.encode(cose)
        data = self._data(options["rp"]["id"], ATTESTED) + attested
        return self._response({
            "clientDataJSON": encode(client_data("webauthn.create", options, origin)),
            "attestationObject": encode(cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})),
            "transports": ["internal"],
        })

    def get(self, options_json: str, origin: str = ORIGIN, handle: bool = True) -> str:
        """The AuthenticationResponseJSON."""
        options = json.loads(options_json)
        client = client_data("webauthn.get", options, origin)
        data = self._data(options["rpId"])
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        response = {"clientDataJSON": encode(client), "authenticatorData": encode(data), "signature": encode(signature)}
        if handle:
            response["userHandle"] = encode(self.user_handle)
        return self._response(response)

    def _data(self, relying_party: str, flags: int = 0) -> bytes:
        flags |= PRESENT | (VERIFIED if self.verifies_user else 0) | (ELIGIBLE | BACKED_UP if self.synced else 0)
        return hashlib.sha256(relying_party.encode()).digest() + bytes([flags]) + self.sign_count.to_bytes(4, "big")

    def _response(self, response: dict[str, Any]) -> str:
        identifier = encode(self.credential_id)
        return json.dumps({"id": identifier, "rawId": identifier, "type": "public-key", "response": response,
                           "clientExtensionResults": {}, "authenticatorAttachment": "platform"})

    @property
    def passkey_id(self) -> str:
        return encode(hashlib.sha256(self.credential_id).digest())


def client_data(kind: str, options: dict[str, Any], origin: str) -> bytes:
    return json.dumps({"type": kind, "challenge": options["challenge"], "origin": origin,
                       "crossOrigin": False}).encode()


def used(sign_in_id: str, credential_json: str) -> types.Credential:
    return types.Credential(passkey=types.PasskeyCredential(sign_in_id=sign_in_id, credential_json=credential_json))


def registered(registration_id: str, credential_json: str, name: str = "") -> types.Credential:
    return types.Credential(passkey=types.PasskeyCredential(
        registration_id=registration_id, credential_json=credential_json, name=name))
