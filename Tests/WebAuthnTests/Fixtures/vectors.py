"""Writes registrations.jsonl and assertions.jsonl: answers of a software authenticator, each with its outcome.

    vectors.py          # needs the package fido2

Keys are random, so that the files differ at each run. Tests of WebAuthn read them; the scenarios make the same answers
for a running server.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from fido2.attestation.tpm import TpmAttestation
from fido2.webauthn import AttestationObject

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[1] / "Common"))

from soft_authenticator import (  # noqa: E402
    BE, BS, EDDSA, ES256, MODEL, RS256, UP, UV, Authenticator, decoded, encoded)
from passkey_faults import (  # noqa: E402
    ATTESTED, DIRECT, SELF, TPM, U2F, Fault, assertions, registrations, statement)

ORIGIN = "https://example.com"
APP = "android:apk-key-hash:3Pv1nX-hashOfASigningCertificate"
TOP = "https://shop.example"
EMBEDDED = {"client": {"crossOrigin": True, "topOrigin": TOP}}
MARK = {"client_bytes": lambda value: b"\xef\xbb\xbf" + value}
EACH_ALGORITHM = {
    "as usual", "without user verification", "with an unknown extension", "with a secret and a blob",
    "attested by its own key", "attested by its own key, with extensions", "with data of 992 bytes",
}
NAMES = {ES256: "ES256", EDDSA: "EdDSA", RS256: "RS256"}


def sound(ceremony: str) -> list[Fault]:
    shared = [
        Fault("as usual", ""), Fault("with a byte order mark", "", MARK),
        Fault("without user verification", "", {"flags": UP}),
        Fault("backed up", "", {"flags": UP | UV | BE | BS}), Fault("eligible for backup", "", {"flags": UP | BE}),
        Fault("by an Android app", "", {"origin": APP}, {"origins": [ORIGIN, APP]}),
        Fault("embedded where that is allowed", "", EMBEDDED, {"top_origins": [TOP]}),
        Fault("verified where that is required", "", {}, {"user_verification": "required"}),
        Fault("with unknown members", "", {"client": {"other": {"a": [1]}}, "answer": lambda value: value | {"x": 1}}),
        Fault("with the largest counter", "", {"sign_count": 2**32 - 1}),
        Fault("with client data of 4,096 bytes", "", {
            "client_bytes": lambda value: value[:-1] + b', "x": "' + b"a" * (4096 - len(value) - 9) + b'"}'}),
        Fault("with an unknown extension", "", {"extensions": {"other": b"x"}}),
    ]
    if ceremony == "get":
        return [
            *shared, Fault("with a secret and a blob", "", {
                "extensions": {"hmac-secret": b"x" * 48, "credBlob": b"b"}}),
            Fault("with data of 992 bytes", "", {"extensions": {"other": b"x" * (992 - 37 - 10)}}),
            Fault("without user handle", "", {"answer": lambda value: without_handle(value)}),
        ]
    extensions = {"credProtect": 3, "hmac-secret": True, "credBlob": True, "minPinLength": 8}
    return [
        *shared, Fault("attested by its own key", "", {}, {}, SELF),
        Fault("attested by its own key, with extensions", "", {"extensions": extensions}, {}, SELF),
        Fault("attested, and trusted", "", {}, DIRECT, ATTESTED),
        Fault("attested with extensions, and trusted", "", {"extensions": extensions}, DIRECT, ATTESTED),
        Fault("attested by U2F", "", {}, {}, U2F), Fault("attested by nobody known", "", {}, {}, ATTESTED),
        Fault("attested in an unknown format", "", {}, {}, {"attestation": "apple"}),
        Fault("attested by a TPM", "", {}, {}, TPM), Fault("attested by a TPM, and trusted", "", {}, DIRECT, TPM),
        Fault("attested in another form of TPMs", "", statement(alg=RS256), {}, TPM),
        Fault("with an id of one byte", "", {}, {}, {"credential_id_length": 1}),
        Fault("with an id of 1,023 bytes", "", {}, {}, {"credential_id_length": 1023}),
        Fault("with eight transports of 32 letters", "", {}, {}, {"transports": ["a" * 32] * 8}),
        Fault("without results of extensions", "", {"answer": lambda value: without_results(value)}),
    ]


def without_handle(answer: dict[str, Any]) -> dict[str, Any]:
    answer["response"]["userHandle"] = None
    return answer


def without_results(answer: dict[str, Any]) -> dict[str, Any]:
    del answer["clientExtensionResults"], answer["response"]["transports"]
    return answer


def raw(cose_key: Any) -> bytes:
    """Returns the key as libfido2 stores it."""
    if cose_key[3] == ES256:
        return cose_key[-2] + cose_key[-3]
    return cose_key[-2] if cose_key[3] == EDDSA else cose_key[-1] + cose_key[-2]


def vector(ceremony: str, fault: Fault, algorithm: int) -> dict[str, Any]:
    authenticator = Authenticator(**({"algorithm": algorithm} | fault.authenticator))
    algorithm = authenticator.algorithm
    handle, challenge = os.urandom(32), encoded(os.urandom(32))
    creation = {"user": {"id": encoded(handle)}, "rp": {"id": "example.com"}, "challenge": challenge}
    request = {"rpId": "example.com", "challenge": challenge}
    if ceremony == "get":
        authenticator.create(creation, ORIGIN)
        answer = fault.answer(authenticator.get, request, ORIGIN)
    else:
        answer = fault.answer(authenticator.create, creation, ORIGIN)
    (passkey,) = authenticator.passkeys.values()
    site = dict(fault.site)
    if "allowed_aaguids" in site:
        site["allowed_aaguids"] = [each.hex() for each in site["allowed_aaguids"]]
    flags = fault.changes.get("flags", authenticator.flags)
    name = f"{fault.name} ({NAMES[algorithm]})"
    made = {"name": name, "challenge": challenge, "site": site, "answer": answer, "flaw": fault.flaw}
    made |= {"algorithm": algorithm, "key": raw(passkey.cose_key).hex(), "id": passkey.credential_id.hex()}
    if not fault.flaw:
        made |= {"uv": bool(flags & UV), "be": bool(flags & BE), "bs": bool(flags & BS)}
        made |= {"sign_count": fault.changes.get("sign_count", passkey.sign_count)}
        made |= {"aaguid": authenticator.aaguid.hex()}
    return made


def check_by_another_library(vectors: list[dict[str, Any]]) -> None:
    """The package fido2 must accept what a TPM attests here, too."""
    attested = [each for each in vectors if not each["flaw"] and "by a TPM" in each["name"]]
    assert len(attested) == 2
    for each in attested:
        response = json.loads(each["answer"])["response"]
        made = AttestationObject(decoded(response["attestationObject"]))
        digest = hashlib.sha256(decoded(response["clientDataJSON"])).digest()
        TpmAttestation().verify(made.att_stmt, made.auth_data, digest)


def main() -> None:
    for ceremony, faults, file in (
        ("create", registrations(), "registrations.jsonl"), ("get", assertions(), "assertions.jsonl")
    ):
        vectors = [vector(ceremony, fault, algorithm) for fault in sound(ceremony)
                   for algorithm in (NAMES if fault.name in EACH_ALGORITHM else [ES256])]
        # The tests make an answer that is too large from another one.
        vectors += [vector(ceremony, fault, ES256) for fault in faults if fault.name != "answer is too large"]
        if ceremony == "create":
            check_by_another_library(vectors)
        # Those of a browser, which chromium.py adds.
        kept = [line for line in (FOLDER / file).read_text().splitlines() if '"name": "Chromium' in line]
        (FOLDER / file).write_text("".join(line + "\n" for line in [*map(json.dumps, vectors), *kept]))
        print(file, len(vectors), "of which wrong:", len(faults))


if __name__ == "__main__":
    main()
