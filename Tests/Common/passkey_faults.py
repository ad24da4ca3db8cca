"""Answers of authenticators that are wrong in one place, with the flaw that the server must report for each."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from soft_authenticator import AT, BS, ED, ES256, MODEL, RS256, UP, UV, Authority, decoded, encoded
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from fido2.cose import CoseKey


@dataclass
class Fault:
    name: str
    flaw: str
    changes: dict[str, Any] = field(default_factory=dict)
    # What the relying party demands beyond its defaults.
    site: dict[str, Any] = field(default_factory=dict)
    authenticator: dict[str, Any] = field(default_factory=dict)

    def answer(self, ceremony: Callable[..., str], options: dict[str, Any], origin: str) -> str:
        changes = {name: value for name, value in self.changes.items() if name != "origin"}
        return ceremony(options, self.changes.get("origin", origin), **changes)


def edit(*path: str, to: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Returns an edit that sets one member of an answer, or removes it if `to` is None."""

    def edited(answer: dict[str, Any]) -> dict[str, Any]:
        answer = copy.deepcopy(answer)
        at = answer
        for name in path[:-1]:
            at = at[name]
        if to is None:
            del at[path[-1]]
        else:
            at[path[-1]] = to(at[path[-1]]) if callable(to) else to
        return answer

    return edited


def flip(at: int) -> Callable[[bytes], bytes]:
    def flipped(value: bytes) -> bytes:
        changed = bytearray(value)
        changed[at] ^= 1
        return bytes(changed)

    return flipped


def with_extensions(tail: bytes) -> Callable[[bytes], bytes]:
    return lambda value: flags_edit(lambda flags: flags | ED)(value) + tail


def response(name: str, to: Any) -> dict[str, Any]:
    return {"answer": edit("response", name, to=to)}


def padded(text: str) -> str:
    return text + "=" if len(text) % 4 == 3 else text + "=="


def either(prefix: str) -> list[Fault]:
    """Faults of client data, authenticator data and the frame of both answers."""
    other = "webauthn.get" if prefix == "create" else "webauthn.create"
    longer = {"client_bytes": lambda value: value[:-1] + b', "x": "' + b"a" * 4096 + b'"}'}
    twice = {"client_bytes": lambda value: value[:-1] + b', "type": "webauthn.' + prefix.encode() + b'"}'}
    return [
        Fault("type of the other ceremony", "type", {"client": {"type": other}}),
        Fault("type in capitals", "type", {"client": {"type": f"WEBAUTHN.{prefix.upper()}"}}),
        Fault("type of a payment", "type", {"client": {"type": "payment.get"}}),
        Fault("type missing", "malformed_json", {"client": {"type": None}}),
        Fault("type is a number", "malformed_json", {"client": {"type": 1}}),
        Fault("challenge of another ceremony", "challenge", {"client": {"challenge": encoded(bytes(32))}}),
        Fault("challenge is empty", "challenge", {"client": {"challenge": ""}}),
        Fault("challenge missing", "malformed_json", {"client": {"challenge": None}}),
        Fault("challenge is padded", "challenge", {
            "client_bytes": lambda value: edited_client(value, "challenge", padded)}),
        Fault("origin of another site", "origin", {"origin": "https://evil.example"}),
        Fault("origin with another scheme", "origin", {"client_bytes": origin_edit(
            lambda text: text.replace("https://", "http://") if text[:5] == "https" else "ftp" + text[4:])}),
        Fault("origin with another port", "origin", {"client_bytes": origin_edit(lambda text: text + ":1")}),
        Fault("origin of a subdomain", "origin", {
            "client_bytes": origin_edit(lambda text: text.replace("://", "://a."))}),
        Fault("origin with a slash", "origin", {"client_bytes": origin_edit(lambda text: text + "/")}),
        Fault("origin in capitals", "origin", {"client_bytes": origin_edit(str.upper)}),
        Fault("origin that continues", "origin", {"client_bytes": origin_edit(lambda text: text + ".evil.example")}),
        Fault("origin of an unknown app", "origin", {"origin": "android:apk-key-hash:" + encoded(bytes(32))}),
        Fault("origin missing", "malformed_json", {"client": {"origin": None}}),
        Fault("embedded by another site", "cross_origin", {
            "client": {"crossOrigin": True, "topOrigin": "https://evil.example"}}),
        Fault("embedded by an unnamed site", "cross_origin", {"client": {"crossOrigin": True}}),
        Fault("page on top, although not embedded", "top_origin", {"client": {"topOrigin": "https://evil.example"}}),
        Fault("embedding flag is a text", "malformed_json", {"client": {"crossOrigin": "false"}}),
        Fault("client data has a name twice", "malformed_json", twice),
        Fault("client data is not UTF-8", "malformed_json", {
            "client_bytes": lambda value: value.replace(b"crossOrigin", b"crossOrigi\xff")}),
        Fault("client data has two marks", "malformed_json", {
            "client_bytes": lambda value: b"\xef\xbb\xbf" * 2 + value}),
        Fault("client data is an array", "malformed_json", {"client_bytes": lambda value: b"[" + value + b"]"}),
        Fault("client data is truncated", "malformed_json", {"client_bytes": lambda value: value[:-1]}),
        Fault("client data is followed by bytes", "malformed_json", {"client_bytes": lambda value: value + b"{}"}),
        Fault("client data is empty", "malformed_json", {"client_bytes": lambda value: b""}),
        Fault("client data is too large", "too_large", longer),
        Fault("another relying party", "rp_id_hash", {"rp_id": "evil.example"}),
        Fault("id of the relying party in capitals", "rp_id_hash", {"rp_id": "LOCALHOST"}),
        Fault("user is not present", "user_presence", {"flags": UV}),
        Fault("user is not verified", "user_verification", {"flags": UP}, {"user_verification": "required"}),
        Fault("backed up without being eligible", "backup_state", {"flags": UP | UV | BS}),
        Fault("authenticator data is empty", "authenticator_data", {"data": lambda value: b""}),
        Fault("authenticator data without counter", "authenticator_data", {"data": lambda value: value[:36]}),
        Fault("authenticator data is followed by a byte", "authenticator_data", {"data": lambda value: value + b"\0"}),
        Fault("extensions missing", "authenticator_data", {"data": with_extensions(b"")}),
        Fault("extensions are no map", "authenticator_data", {"data": with_extensions(b"\x01")}),
        Fault("extensions are indefinite", "authenticator_data", {"data": with_extensions(b"\xbf\xff")}),
        Fault("extensions claim 4 billion pairs", "authenticator_data", {
            "data": with_extensions(b"\xba\xff\xff\xff\xff")}),
        Fault("extensions are tagged", "authenticator_data", {"data": with_extensions(b"\xc1\xa0")}),
        Fault("extensions are nested 300 deep", "authenticator_data", {
            "data": with_extensions(b"\xa1\x01" + b"\x81" * 300 + b"\x01")}),
        Fault("answer is no JSON", "malformed_json", {"text": lambda text: text[:-1]}),
        Fault("answer is an array", "malformed_json", {"text": lambda text: f"[{text}]"}),
        Fault("answer is empty", "malformed_json", {"text": lambda text: ""}),
        Fault("answer has a name twice", "malformed_json", {
            "text": lambda text: text[:-1] + ', "type": "public-key"}'}),
        Fault("answer is too large", "too_large", {
            "text": lambda text: text[:-1] + ', "x": "' + "a" * 16_384 + '"}'}),
        Fault("answer of another type", "type", {"answer": edit("type", to="password")}),
        Fault("answer without type", "malformed_json", {"answer": edit("type", to=None)}),
        Fault("answer without response", "malformed_json", {"answer": edit("response", to=None)}),
        Fault("response is a text", "malformed_json", {"answer": edit("response", to="x")}),
        Fault("id missing", "malformed_json", {"answer": edit("id", to=None)}),
        Fault("raw id missing", "malformed_json", {"answer": edit("rawId", to=None)}),
        Fault("id differs from raw id", "credential_id", {"answer": edit("rawId", to=encoded(b"other"))}),
        Fault("id is empty", "credential_id", {"answer": both_ids("")}),
        Fault("id is padded", "credential_id", {"answer": both_ids("AQ==")}),
        Fault("id is no base64url", "credential_id", {"answer": both_ids("a+/=")}),
        Fault("id of 1,024 bytes", "credential_id", {"answer": both_ids(encoded(bytes(1024)))}),
        Fault("client data missing", "malformed_json", response("clientDataJSON", None)),
        Fault("client data is padded", "malformed_json", response("clientDataJSON", lambda text: text + "=")),
        Fault("client data is a number", "malformed_json", response("clientDataJSON", 7)),
    ]


def both_ids(text: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda answer: answer | {"id": text, "rawId": text}


def edited_client(value: bytes, name: str, to: Callable[[str], str]) -> bytes:
    members = json.loads(value)
    members[name] = to(members[name])
    return json.dumps(members).encode()


def origin_edit(to: Callable[[str], str]) -> Callable[[bytes], bytes]:
    return lambda value: edited_client(value, "origin", to)


def flags_edit(to: Callable[[int], int]) -> Callable[[bytes], bytes]:
    return lambda value: value[:32] + bytes([to(value[32])]) + value[33:]


def key_with(changed: dict[int, Any]) -> CoseKey:
    key = CoseKey.for_alg(ES256).from_cryptography_key(ec.generate_private_key(ec.SECP256R1()).public_key())
    return CoseKey({name: value for name, value in ({**key} | changed).items() if value is not None})


def with_length(length: int) -> Callable[[bytes], bytes]:
    """Returns an edit that claims another length of the credential id."""
    return lambda value: value[:53] + length.to_bytes(2, "big") + value[55:]


def without_credential(value: bytes) -> bytes:
    return flags_edit(lambda flags: flags & ~AT)(value)[:37]


def member(name: str, to: Any) -> dict[str, Any]:
    """Returns changes that set a member of the attestation object, or remove it."""
    return {"object": lambda value: {key: item for key, item in (value | {name: to}).items() if item is not None}}


def statement(**changed: Any) -> dict[str, Any]:
    return {"object": lambda value: value | {"attStmt": {
        key: item for key, item in (value["attStmt"] | changed).items() if item is not None}}}


def statement_edit(name: str, edited: Callable[[bytes], bytes]) -> dict[str, Any]:
    return {"object": lambda value: value | {"attStmt": value["attStmt"] | {name: edited(value["attStmt"][name])}}}


AUTHORITY = Authority()
ATTESTED = {"attestation": "packed", "aaguid": MODEL, "authority": AUTHORITY}
U2F, SELF = ATTESTED | {"attestation": "fido-u2f"}, {"attestation": "self"}
TPM = ATTESTED | {"attestation": "tpm", "algorithm": RS256}
DIRECT = {"allowed_aaguids": [MODEL], "roots": AUTHORITY.pem}


def keys() -> list[Fault]:
    return [
        Fault("key of an algorithm that the site does not accept", "algorithm", {}, {"algorithms": [-8, -257]}),
        Fault("key of P-384", "algorithm", {"cose_key": key_with({3: -35})}),
        Fault("key without algorithm", "algorithm", {"cose_key": key_with({3: None})}),
        Fault("key with a positive algorithm", "algorithm", {"cose_key": key_with({3: 7})}),
        Fault("key with an algorithm of 64 bits", "algorithm", {"cose_key": key_with({3: -(2**40)})}),
        Fault("key of another type", "algorithm", {"cose_key": key_with({1: 3})}),
        Fault("key on another curve", "algorithm", {"cose_key": key_with({-1: 2})}),
        Fault("key without y", "algorithm", {"cose_key": key_with({-3: None})}),
        Fault("key with a short x", "algorithm", {"cose_key": key_with({-2: bytes(31)})}),
        Fault("key off the curve", "algorithm", {"cose_key": key_with({-2: b"\x01" * 32})}),
        Fault("key at infinity", "algorithm", {"cose_key": key_with({-2: bytes(32), -3: bytes(32)})}),
        Fault("key of 3,072 bits", "algorithm", {
            "cose_key": CoseKey({1: 3, 3: RS256, -1: b"\xc1" * 384, -2: b"\1\0\1"})}),
        Fault("key is no map", "authenticator_data", {"data": lambda value: value[:87] + b"\x80"}),
        Fault("key is truncated", "authenticator_data", {"data": lambda value: value[:-1]}),
    ]


def registrations() -> list[Fault]:
    objects = [
        Fault("object is no CBOR", "attestation", {"object": lambda value: b"\xff"}),
        Fault("object is empty", "attestation", {"object": lambda value: b""}),
        Fault("object is an array", "attestation", {"object": lambda value: cbor.encode([value])}),
        Fault("object is followed by a byte", "attestation", {"object": lambda value: cbor.encode(value) + b"\0"}),
        Fault("object claims 4 billion pairs", "attestation", {"object": lambda value: b"\xba\xff\xff\xff\xff"}),
        Fault("object is nested 300 deep", "attestation", {"object": lambda value: b"\x81" * 300 + b"\x01"}),
        Fault("format missing", "attestation", member("fmt", None)),
        Fault("format is a number", "attestation", member("fmt", 1)),
        Fault("format of 33 letters", "attestation", member("fmt", "a" * 33)),
        Fault("statement missing", "attestation", member("attStmt", None)),
        Fault("statement is an array", "attestation", member("attStmt", [])),
        Fault("data missing", "attestation", member("authData", None)),
        Fault("data is a text", "attestation", member("authData", "text")),
        Fault("format twice", "attestation", {"object": lambda value: twice_in_map(value)}),
        Fault("object missing", "malformed_json", response("attestationObject", None)),
        Fault("object is no base64url", "malformed_json", response("attestationObject", "a b")),
        Fault("object is too large", "too_large", response("attestationObject", encoded(bytes(8193)))),
        Fault("transports are no texts", "malformed_json", response("transports", [1])),
        Fault("nine transports", "too_large", response("transports", ["usb"] * 9)),
        Fault("transport of 33 letters", "too_large", response("transports", ["a" * 33])),
        Fault("no credential", "authenticator_data", {"data": without_credential}),
        Fault("credential cut off", "authenticator_data", {"data": lambda value: value[:37]}),
        Fault("credential id longer than the data", "authenticator_data", {"data": with_length(0xFFFF)}),
        Fault("credential id of no bytes", "credential_id", {
            "data": lambda value: with_length(0)(value[:55] + value[87:])}),
        Fault("credential id of 1,024 bytes", "credential_id", {
            "data": lambda value: with_length(1024)(value[:55] + bytes(992) + value[55:])}),
        Fault("credential id of another answer", "credential_id", {"answer": both_ids(encoded(b"another"))}),
    ]
    statements = [
        Fault("no attestation, with a statement", "attestation", statement(sig=b"x")),
        Fault("self attestation with a wrong signature", "attestation", {"signature": flip(-1)}, {}, SELF),
        Fault("self attestation of another algorithm", "attestation", statement(alg=-257), {}, SELF),
        Fault("self attestation without algorithm", "attestation", statement(alg=None), {}, SELF),
        Fault("self attestation without signature", "attestation", statement(sig=None), {}, SELF),
        Fault("attestation with a wrong signature", "attestation", {"signature": flip(-1)}, {}, ATTESTED),
        Fault("attestation with an empty chain", "attestation", statement(x5c=[]), {}, ATTESTED),
        Fault("attestation with a broken certificate", "attestation", statement(x5c=[b"\x30\x00"]), {}, ATTESTED),
        Fault("attestation with a certificate of another key", "attestation", {
            "object": lambda value: value | {"attStmt": value["attStmt"] | {"x5c": AUTHORITY.issue(MODEL)[1]}}},
            {}, ATTESTED),
        Fault("attestation of an unknown algorithm", "attestation", statement(alg=-65000), {}, ATTESTED),
        Fault("U2F without certificate", "attestation", statement(x5c=None), {}, U2F),
        Fault("U2F with a wrong signature", "attestation", {"signature": flip(-1)}, {}, U2F),
        Fault("U2F, whose signature does not cover the model", "aaguid", {}, DIRECT, U2F),
        Fault("TPM with an empty statement", "attestation", member("attStmt", {}), {}, TPM),
        Fault("TPM with a wrong signature", "attestation", {"signature": flip(-1)}, {}, TPM),
        Fault("TPM that signed other data", "attestation", statement_edit("certInfo", flip(50)), {}, TPM),
        Fault("TPM that certified another key", "attestation", statement_edit("pubArea", flip(-1)), {}, TPM),
        Fault("TPM that signed what it did not make", "attestation", statement_edit("certInfo", flip(0)), {}, TPM),
        Fault("TPM without certificate", "attestation", statement(x5c=None), {}, TPM),
        Fault("TPM with SHA-256 where a model is required", "attestation_root", statement(alg=RS256), DIRECT, TPM),
        Fault("TPM with a key that may leave it", "attestation", statement_edit("pubArea", flip(7)), {}, TPM),
        Fault("model that is not allowed", "aaguid", {}, DIRECT, ATTESTED | {"aaguid": b"\x01" * 16}),
        Fault("certificate of another model", "aaguid", {}, DIRECT, ATTESTED | {"certified_aaguid": b"\x01" * 16}),
        Fault("certificate of another authority", "attestation_root", {}, DIRECT, ATTESTED | {
            "authority": Authority()}),
        Fault("chain without the intermediate certificate", "attestation_root", {
            "object": lambda value: value | {"attStmt": value["attStmt"] | {"x5c": value["attStmt"]["x5c"][:1]}}},
            DIRECT, ATTESTED),
        Fault("certificate of an authority", "attestation", {}, DIRECT, ATTESTED | {"is_authority": True}),
        Fault("certificate for another purpose", "attestation", {}, DIRECT, ATTESTED | {"is_for_attestation": False}),
        Fault("TPM with a certificate for another purpose", "attestation", {}, DIRECT, ATTESTED | TPM | {
            "is_for_attestation": False}),
        Fault("self attestation where a model is required", "attestation_root", {}, DIRECT, SELF | {
            "aaguid": MODEL}),
        Fault("no attestation where a model is required", "attestation_root", {}, DIRECT, {"aaguid": MODEL}),
        Fault("unknown format where a model is required", "attestation_root", {}, DIRECT, {
            "aaguid": MODEL, "attestation": "android-key"}),
    ]
    return either("create") + keys() + objects + statements


def twice_in_map(value: dict[str, Any]) -> bytes:
    return bytes([0xA4]) + cbor.encode(value)[1:] + cbor.encode("fmt") + cbor.encode("none")


def assertions() -> list[Fault]:
    return either("get") + [
        Fault("wrong signature", "signature", {"signature": flip(-1)}),
        Fault("signature of other data", "signature", {"answer": edit(
            "response", "authenticatorData", to=lambda text: encoded(flip(36)(decoded(text))))}),
        Fault("signature of other client data", "signature", {"answer": edit(
            "response", "clientDataJSON", to=lambda text: encoded(decoded(text) + b" "))}),
        Fault("signature is empty", "signature", {"signature": lambda value: b""}),
        Fault("signature is truncated", "signature", {"signature": lambda value: value[:-1]}),
        Fault("signature is followed by a byte", "signature", {"signature": lambda value: value + b"\0"}),
        Fault("signature is too large", "too_large", {"signature": lambda value: bytes(1025)}),
        Fault("signature missing", "malformed_json", response("signature", None)),
        Fault("authenticator data missing", "malformed_json", response("authenticatorData", None)),
        Fault("authenticator data is too large", "too_large", response("authenticatorData", encoded(bytes(993)))),
        Fault("credential in an assertion", "authenticator_data", {
            "data": lambda value: flags_edit(lambda flags: flags | AT)(value)}),
        Fault("user handle is empty", "user_handle", response("userHandle", "")),
        Fault("user handle of 65 bytes", "user_handle", response("userHandle", encoded(bytes(65)))),
        Fault("user handle is no base64url", "malformed_json", response("userHandle", "a+b")),
    ]
