"""Mints ID tokens of the provider simulator for latchkey-load, as JSON lines on standard output.

    .latchkey/venv/bin/python deploy/load/tokens.py --folder .latchkey/simulator --count 256 > tokens.jsonl

Makes `count` tokens of each kind: `sign-in` for users with an account of their own, `link` for identities without an
email address, and `conflict` for identities whose unverified address is that of an account with a password, which
latchkey-load makes. The server keeps at most 20 uncompleted pending credentials of an account, for ten minutes each.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "simulator"))

import issuers  # noqa: E402
import tokens  # noqa: E402
from keys import KeyRing  # noqa: E402


def line(folder: Path, issuer_name: str, use: str, subject: str, email: str, lifetime_seconds: int) -> str:
    issuer = issuers.find(folder, issuer_name)
    order = tokens.Order(
        subject=subject, email=email or None, email_verified={"sign-in": True, "conflict": False}.get(use),
        expires_seconds=lifetime_seconds)
    provider_id = "google.com" if issuer_name == "google" else f"oidc.{issuer_name}"
    token = tokens.mint(KeyRing(folder, issuer.name), issuer, order, int(time.time()))
    return json.dumps({"use": use, "provider_id": provider_id, "email": email, "id_token": token})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="the simulator's")
    parser.add_argument("--count", type=int, default=256, help="of each kind (256)")
    parser.add_argument("--conflicts", type=int, help="number of conflict tokens, if different from --count")
    parser.add_argument("--issuer", default="google", help="issuer of the tokens for sign-in and link (google)")
    parser.add_argument("--conflict-issuer", default="corp", help="an issuer with untrusted email addresses (corp)")
    parser.add_argument("--lifetime-seconds", type=int, default=7200)
    options = parser.parse_args()
    run = secrets.token_hex(4)
    kinds = (("sign-in", options.issuer, "s"), ("link", options.issuer, "l"),
             ("conflict", options.conflict_issuer, "c"))
    for use, issuer, letter in kinds:
        count = options.conflicts if use == "conflict" and options.conflicts else options.count
        for number in range(count):
            subject = f"load-{run}-{letter}{number}"
            email = "" if use == "link" else f"{subject}@example.com"
            print(line(options.folder, issuer, use, subject, email, options.lifetime_seconds))


if __name__ == "__main__":
    main()
