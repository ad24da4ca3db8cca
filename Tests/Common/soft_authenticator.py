"""A software authenticator with its client, as the standard describes them (WebAuthn Level 3).

Each ceremony takes `changes`, by which a test makes the answer wrong in one place:

    client, client_bytes  members of the client data (None removes one), or an edit of its bytes
    rp_id, flags, sign_count, extensions
    data, object, signature  edits of the authenticator data, of the attestation object and of the signature
    passkey               answers although the options do not name it
    answer, text          edits of the answer as a dictionary, and as text
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from fido2 import cbor
from fido2.cose import CoseKey

ES256, EDDSA, RS256, RS1 = -7, -8, -257, -65535
UP, UV, BE, BS, AT, ED = 0x01, 0x04, 0x08, 0x10, 0x40, 0x80
MODEL = bytes.fromhex("2fc0579f811347eab116bb5a8db9202a")
# TPM_ALG_SHA256.
SHA256_OF_TPM = b"\x00\x0b"


def encoded(value: bytes) -> str:
    return urlsafe_b64encode(value).decode().rstrip("=")


def decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Passkey:
    key: Any
    credential_id: bytes
    user_handle: bytes
    rp_id: str
    algorithm: int
    sign_count: int = 0

    def sign(self, message: bytes) -> bytes:
        if self.algorithm == ES256:
            return self.key.sign(message, ec.ECDSA(hashes.SHA256()))
        if self.algorithm == EDDSA:
            return self.key.sign(message)
        return self.key.sign(message, padding.PKCS1v15(), hashes.SHA256())

    @property
    def cose_key(self) -> CoseKey:
        return CoseKey.for_alg(self.algorithm).from_cryptography_key(self.key.public_key())


def new_key(algorithm: int) -> Any:
    if algorithm == ES256:
        return ec.generate_private_key(ec.SECP256R1())
    if algorithm == EDDSA:
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(65537, 2048)


def certificate(
    subject: list[tuple[Any, str]], issuer: x509.Certificate | None, signer: Any, key: Any, *, is_authority: bool,
    extensions: list[x509.ExtensionType] = [],
) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(oid, value) for oid, value in subject])
    builder = (
        x509.CertificateBuilder().subject_name(name).issuer_name(issuer.subject if issuer else name)
        .public_key(key.public_key()).serial_number(x509.random_serial_number())
        .not_valid_before(datetime.datetime(2020, 1, 1)).not_valid_after(datetime.datetime(2120, 1, 1))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True))
    for extension in extensions:
        # Without a subject, the other name is critical (RFC 5280, 4.2.1.6).
        builder = builder.add_extension(extension, critical=isinstance(extension, x509.SubjectAlternativeName))
    return builder.sign(signer, hashes.SHA256())


class Authority:
    """An authority for authenticators of one vendor, with an intermediate one."""

    def __init__(self, name: str = "Authenticators") -> None:
        oid = x509.NameOID
        self.root_key, self.middle_key = new_key(ES256), new_key(ES256)
        self.root = certificate(
            [(oid.COMMON_NAME, f"{name} Root")], None, self.root_key, self.root_key, is_authority=True)
        self.middle = certificate(
            [(oid.COMMON_NAME, f"{name} CA")], self.root, self.root_key, self.middle_key, is_authority=True)

    @property
    def pem(self) -> str:
        return self.root.public_bytes(Encoding.PEM).decode()

    def issue(self, aaguid: bytes | None, *, is_authority: bool = False,
              unit: str = "Authenticator Attestation") -> tuple[Any, list[bytes]]:
        """Returns a key and its certificates. WebAuthn 8.2.1 fixes the unit."""
        oid, key = x509.NameOID, new_key(ES256)
        subject = [
            (oid.COUNTRY_NAME, "SE"), (oid.ORGANIZATION_NAME, "Vendor"),
            (oid.ORGANIZATIONAL_UNIT_NAME, unit), (oid.COMMON_NAME, "Model")]
        model = x509.ObjectIdentifier("1.3.6.1.4.1.45724.1.1.4")
        extensions = [x509.UnrecognizedExtension(model, b"\x04\x10" + aaguid)] if aaguid else []
        leaf = certificate(
            subject, self.middle, self.middle_key, key, is_authority=is_authority, extensions=extensions)
        return key, [each.public_bytes(Encoding.DER) for each in (leaf, self.middle)]

    def issue_for_tpm(self, *, usage: str = "2.23.133.8.3") -> tuple[Any, list[bytes]]:
        """Returns the identity key of a TPM and its certificates (WebAuthn 8.3.1)."""
        key = new_key(RS256)
        names = [x509.NameAttribute(x509.ObjectIdentifier(f"2.23.133.2.{number}"), value)
                 for number, value in ((1, "id:FFFFF1D0"), (2, "Model"), (3, "id:1"))]
        extensions: list[x509.ExtensionType] = [
            x509.SubjectAlternativeName([x509.DirectoryName(x509.Name(names))]),
            x509.ExtendedKeyUsage([x509.ObjectIdentifier(usage)])]
        leaf = certificate([], self.middle, self.middle_key, key, is_authority=False, extensions=extensions)
        return key, [each.public_bytes(Encoding.DER) for each in (leaf, self.middle)]


@dataclass
class Authenticator:
    algorithm: int = ES256
    flags: int = UP | UV
    aaguid: bytes = bytes(16)
    # none, self (packed), packed, fido-u2f, tpm (RS256 only), or another format with an empty statement.
    attestation: str = "none"
    authority: Authority | None = None
    # The model in the certificate, if it is not that of the authenticator.
    certified_aaguid: bytes | None = None
    is_authority: bool = False
    # Whether the certificate is one for attestations.
    is_for_attestation: bool = True
    counts: bool = True
    transports: list[str] = field(default_factory=lambda: ["internal"])
    credential_id_length: int = 32
    # The id of every passkey, instead of a random one.
    credential_id: bytes | None = None
    passkeys: dict[bytes, Passkey] = field(default_factory=dict)

    def create(self, options: dict[str, Any], origin: str, **changes: Any) -> str:
        """Answers PublicKeyCredentialCreationOptionsJSON with RegistrationResponseJSON."""
        passkey = Passkey(
            new_key(self.algorithm), self.credential_id or os.urandom(self.credential_id_length),
            decoded(options["user"]["id"]), options["rp"]["id"], self.algorithm)
        self.passkeys[passkey.credential_id] = passkey
        client_data = self._client_data("webauthn.create", options, origin, changes)
        identifier = passkey.credential_id
        credential = self.aaguid + len(identifier).to_bytes(2, "big") + identifier
        credential += cbor.encode(dict(changes.get("cose_key", passkey.cose_key)))
        data = self._data(passkey, changes, credential)
        signature_of = changes.get("signature", lambda value: value)
        name, statement = self._statement(passkey, data, hashlib.sha256(client_data).digest(), signature_of)
        attestation = changes.get("object", lambda value: value)(
            {"fmt": name, "attStmt": statement, "authData": data})
        if not isinstance(attestation, bytes):
            attestation = cbor.encode(attestation)
        response = {
            "clientDataJSON": encoded(client_data), "attestationObject": encoded(attestation),
            "transports": self.transports}
        return self._answer(passkey, response, {"credProps": {"rk": True}}, changes)

    def get(self, options: dict[str, Any], origin: str, **changes: Any) -> str:
        """Answers PublicKeyCredentialRequestOptionsJSON with AuthenticationResponseJSON."""
        allowed = [decoded(each["id"]) for each in options.get("allowCredentials", [])]
        passkey = changes.get("passkey") or next(
            each for each in self.passkeys.values()
            if each.rp_id == options["rpId"] and (not allowed or each.credential_id in allowed))
        passkey.sign_count = changes.get("sign_count", passkey.sign_count + 1 if self.counts else 0)
        client_data = self._client_data("webauthn.get", options, origin, changes)
        data = self._data(passkey, changes)
        signature = changes.get("signature", lambda value: value)(
            passkey.sign(data + hashlib.sha256(client_data).digest()))
        response = {
            "clientDataJSON": encoded(client_data), "authenticatorData": encoded(data),
            "signature": encoded(signature), "userHandle": encoded(passkey.user_handle)}
        return self._answer(passkey, response, {}, changes)

    def _data(self, passkey: Passkey, changes: dict[str, Any], credential: bytes = b"") -> bytes:
        extensions = changes.get("extensions")
        flags = changes.get("flags", self.flags) | (AT if credential else 0) | (ED if extensions else 0)
        data = hashlib.sha256(changes.get("rp_id", passkey.rp_id).encode()).digest() + bytes([flags])
        data += changes.get("sign_count", passkey.sign_count).to_bytes(4, "big") + credential
        data += cbor.encode(extensions) if extensions else b""
        return changes.get("data", lambda value: value)(data)

    def _client_data(self, kind: str, options: dict[str, Any], origin: str, changes: dict[str, Any]) -> bytes:
        members = {
            "type": kind, "challenge": options["challenge"], "origin": origin, "crossOrigin": False,
        } | changes.get("client", {})
        text = json.dumps({name: value for name, value in members.items() if value is not None})
        return changes.get("client_bytes", lambda value: value)(text.encode())

    def _statement(
        self, passkey: Passkey, data: bytes, client_hash: bytes, signature_of: Callable[[bytes], bytes]
    ) -> tuple[str, dict[str, Any]]:
        if self.attestation == "self":
            return "packed", {"alg": self.algorithm, "sig": signature_of(passkey.sign(data + client_hash))}
        authority = self.authority or Authority()
        if self.attestation == "tpm":
            # clientAuth is a usage of other certificates.
            issued = authority.issue_for_tpm() if self.is_for_attestation else (
                authority.issue_for_tpm(usage="1.3.6.1.5.5.7.3.2"))
            return "tpm", tpm_statement(issued, passkey.key, data + client_hash, signature_of)
        if self.attestation not in ("packed", "fido-u2f"):
            return self.attestation, {}
        key, chain = authority.issue(
            self.certified_aaguid or self.aaguid, is_authority=self.is_authority,
            unit="Authenticator Attestation" if self.is_for_attestation else "Devices")
        message = data + client_hash
        if self.attestation == "fido-u2f":
            point = passkey.cose_key
            message = b"\0" + data[:32] + client_hash + passkey.credential_id + b"\x04" + point[-2] + point[-3]
            chain = chain[:1]
        statement = {"sig": signature_of(key.sign(message, ec.ECDSA(hashes.SHA256()))), "x5c": chain}
        return self.attestation, statement if self.attestation == "fido-u2f" else {"alg": ES256} | statement

    def _answer(
        self, passkey: Passkey, response: dict[str, Any], results: dict[str, Any], changes: dict[str, Any]
    ) -> str:
        identifier = encoded(passkey.credential_id)
        answer = {
            "id": identifier, "rawId": identifier, "type": "public-key", "response": response,
            "authenticatorAttachment": "platform", "clientExtensionResults": results}
        answer = changes.get("answer", lambda value: value)(answer)
        return changes.get("text", lambda value: value)(json.dumps(answer))


def sized(value: bytes) -> bytes:
    """A TPM2B structure."""
    return len(value).to_bytes(2, "big") + value


def tpm_statement(
    issued: tuple[Any, list[bytes]], key: Any, message: bytes, signature_of: Callable[[bytes], bytes]
) -> dict[str, Any]:
    """The statement of a TPM that certified an RSA key (WebAuthn 8.3; TPM 2.0 part 2, 10.12.8 and 12.2.4)."""
    identity, chain = issued
    modulus = key.public_key().public_numbers().n.to_bytes(256, "big")
    # A key of this TPM alone, which signs: fixedTPM, fixedParent, sensitiveDataOrigin, userWithAuth, sign.
    attributes = 0x0004_0072
    area = (0x0001).to_bytes(2, "big") + SHA256_OF_TPM + attributes.to_bytes(4, "big") + sized(os.urandom(32))
    # Neither a symmetric algorithm nor a scheme; 2,048 bits, and the usual exponent.
    area += b"\x00\x10\x00\x10\x08\x00\x00\x00\x00\x00" + sized(modulus)
    clock = os.urandom(16) + b"\x01" + os.urandom(8)
    info = b"\xffTCG\x80\x17" + sized(SHA256_OF_TPM + os.urandom(32)) + sized(hashlib.sha1(message).digest()) + clock
    info += sized(SHA256_OF_TPM + hashlib.sha256(area).digest()) + sized(SHA256_OF_TPM + os.urandom(32))
    signature = signature_of(identity.sign(info, padding.PKCS1v15(), hashes.SHA1()))
    return {"ver": "2.0", "alg": RS1, "x5c": chain, "sig": signature, "certInfo": info, "pubArea": area}
