"""Makes Firebase exports: users, and their passwords with its modified scrypt."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from latchkey.v1 import admin_service_pb2 as admin
from latchkey.v1 import types_pb2 as types


@dataclass
class Project:
    """The parameters of one project; real projects have 8 and 14."""

    rounds: int = 8
    memory_cost: int = 6
    key: bytes = field(default_factory=lambda: secrets.token_bytes(64))
    separator: bytes = b"\x07"

    def hash(self, password: str, salt: bytes) -> bytes:
        derived = hashlib.scrypt(password.encode(), salt=salt + self.separator, n=1 << self.memory_cost,
                                 r=self.rounds, p=1, maxmem=1 << 28, dklen=32)
        encryptor = Cipher(algorithms.AES(derived), modes.CTR(bytes(16))).encryptor()
        return encryptor.update(self.key) + encryptor.finalize()

    @property
    def options(self) -> admin.ImportHash:
        return admin.ImportHash(algorithm=admin.HASH_ALGORITHM_SCRYPT, key=self.key, salt_separator=self.separator,
                                rounds=self.rounds, memory_cost=self.memory_cost)

    def flags(self, folder: Path) -> list[str]:
        """The command line's options, with the key in a file of its own."""
        path = folder / "signer.key"
        path.write_text(base64.b64encode(self.key).decode())
        return ["--hash-algo", "SCRYPT", "--hash-key-file", str(path), "--rounds", str(self.rounds), "--salt-separator",
                base64.b64encode(self.separator).decode(), "--mem-cost", str(self.memory_cost)]

    def users(self, count: int, passwords: int | None = None) -> list[dict[str, Any]]:
        """Users with the password `password_of(number)`. With `passwords`, users share this many hashes, since a real
        hash takes as long as a sign-in."""
        tag = secrets.token_hex(4)
        shared = [self.secret(number) for number in range(min(count, passwords or count))]
        return [user(tag, number, *shared[number % len(shared)]) for number in range(count)]

    def secret(self, number: int) -> tuple[bytes, bytes]:
        salt = secrets.token_bytes(10)
        return salt, self.hash(password_of(number), salt)


def password_of(number: int) -> str:
    return f"old password {number}"


def user(tag: str, number: int, salt: bytes, digest: bytes) -> dict[str, Any]:
    email = f"u{number}.{tag}@example.com"
    return {
        "localId": f"fb{tag}{number:08}", "email": email, "emailVerified": number % 2 == 0,
        "passwordHash": base64.b64encode(digest).decode(), "salt": base64.b64encode(salt).decode(),
        "displayName": f"Person {number} é", "photoUrl": f"https://example.com/{number}.png",
        "createdAt": str(1_500_000_000_000 + number), "lastSignedInAt": str(1_600_000_000_000 + number),
        "customAttributes": '{"plan":"gold"}', "disabled": False,
        "providerUserInfo": [
            {"providerId": "google.com", "rawId": f"g-{tag}-{number}", "email": email, "displayName": "At Google"},
            {"providerId": "password", "rawId": email, "email": email}]}


def write(path: Path, users: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps({"users": users}))
    return path


def row(user: dict[str, Any]) -> admin.ImportedAccount:
    """The same user for the gRPC API."""
    account = admin.ImportedAccount(
        account_id=user["localId"], email=user["email"], email_verified=user["emailVerified"],
        password_hash=base64.b64decode(user["passwordHash"]), salt=base64.b64decode(user["salt"]),
        display_name=user["displayName"], photo_url=user["photoUrl"], custom_claims_json=user["customAttributes"],
        disabled=user["disabled"],
        providers=[types.LinkedProvider(provider_id=each["providerId"], subject=each["rawId"], email=each["email"],
                                        display_name=each.get("displayName", ""))
                   for each in user["providerUserInfo"]])
    account.created_at.FromMilliseconds(int(user["createdAt"]))
    account.last_sign_in_at.FromMilliseconds(int(user["lastSignedInAt"]))
    return account
