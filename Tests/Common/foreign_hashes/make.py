"""Makes vectors.json: password hashes by independent libraries, for ForeignHashTests.swift and test_import.py.

    python3 -m venv .venv/hashes && .venv/hashes/bin/pip install passlib==1.7.4 'bcrypt<4.1' django==5.2.19 \
        werkzeug==3.1.9
    .venv/hashes/bin/python Tests/Common/foreign_hashes/make.py
"""

from __future__ import annotations

import base64
import json
from importlib.metadata import version
from pathlib import Path

from django.conf import settings
from django.contrib.auth import hashers
from passlib.hash import bcrypt, pbkdf2_sha512, phpass
from passlib.utils.binary import ab64_decode
from werkzeug import security

PASSWORD = "an old secret"

settings.configure(PASSWORD_HASHERS=[f"django.contrib.auth.hashers.{name}PasswordHasher" for name in (
    "PBKDF2", "PBKDF2SHA1", "Scrypt", "BCrypt")])


def text(library: str, algorithm: str, name: str, encoded: str, *, slow: bool = False) -> dict[str, object]:
    return {"name": f"{library} {version(library)}: {name}", "algorithm": algorithm, "rounds": 0, "salt": "",
            "hash": base64.b64encode(encoded.encode()).decode(), "slow": slow}


def pbkdf2(rounds: int, *, slow: bool = False) -> dict[str, object]:
    _, _, rounds_text, salt, digest = pbkdf2_sha512.using(rounds=rounds).hash(PASSWORD).split("$")
    assert int(rounds_text) == rounds
    return {"name": f"passlib {version('passlib')}: pbkdf2_sha512, {rounds} rounds", "algorithm": "PBKDF2_SHA512",
            "rounds": rounds, "salt": base64.b64encode(ab64_decode(salt)).decode(),
            "hash": base64.b64encode(ab64_decode(digest)).decode(), "slow": slow}


def django() -> list[dict[str, object]]:
    made = [("pbkdf2", hashers.PBKDF2PasswordHasher().encode(PASSWORD, "saltSALT12", 1_000)),
            ("pbkdf2_sha1", hashers.PBKDF2SHA1PasswordHasher().encode(PASSWORD, "saltSALT12", 1_000)),
            ("scrypt", hashers.ScryptPasswordHasher().encode(PASSWORD, "saltSALT12", n=1_024, r=8, p=5)),
            ("scrypt by default", hashers.make_password(PASSWORD, hasher="scrypt")),
            ("bcrypt", "bcrypt$" + bcrypt.using(rounds=5).hash(PASSWORD))]
    assert all(hashers.check_password(PASSWORD, encoded) for _, encoded in made)
    return [text("django", "DJANGO", name, encoded) for name, encoded in made]


def werkzeug() -> list[dict[str, object]]:
    methods = ["scrypt", "scrypt:1024:8:2", *(f"pbkdf2:{name}:1000" for name in ("sha1", "sha256", "sha512"))]
    return [text("werkzeug", "WERKZEUG", method, security.generate_password_hash(PASSWORD, method=method))
            for method in methods]


def main() -> None:
    vectors = [
        pbkdf2(1_000), pbkdf2(3_000_000, slow=True), *django(), *werkzeug(),
        *(text("passlib", "PHPASS", f"phpass {ident}", phpass.using(rounds=rounds, ident=ident).hash(PASSWORD))
          for ident, rounds in (("P", 7), ("P", 13), ("H", 11), ("P", 17))),
        text("bcrypt", "BCRYPT", "cost 16", bcrypt.using(rounds=16).hash(PASSWORD), slow=True),
    ]
    path = Path(__file__).with_name("vectors.json")
    path.write_text(json.dumps({"password": PASSWORD, "vectors": vectors}, indent=1) + "\n")


main()
