"""Users of the filled store, as files that latchkey-load reads: their passwords, and ID tokens of a provider.

The provider simulator replaces Google. Its tokens match the identities in the store exactly, so a sign-in writes only
its session.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import issuers
import tokens
from keys import KeyRing
from servers import Server, free_port
from stores import Stores

SIMULATOR = Path(__file__).resolve().parents[1] / "simulator/simulator.py"
PASSWORD = "correct horse battery staple"
ISSUER = "google"
PEOPLE = 256


class People:
    def __init__(self, home: Path, core: int, stores: Stores, accounts: int) -> None:
        self.home = home
        self.core = core
        self.stores = stores
        self.numbers = range(0, accounts, max(1, accounts // PEOPLE))[:PEOPLE]
        self.folder = home / "simulator"
        port = free_port()
        command = [sys.executable, str(SIMULATOR), "serve", "--folder", str(self.folder),
                   "--port", str(port), "--certificate", str(home / "simulator.pem"),
                   "--key", str(home / "simulator.key")]
        self.simulator = Server("the provider simulator", command, port, home / "simulator.log")

    def stop(self) -> None:
        self.simulator.stop()

    def options_for_passwords(self) -> list[str]:
        ids = self.stores.account_ids(self.numbers)
        file = self._write("people", [
            {"email": email(number), "password": PASSWORD, "account_id": account}
            for number, account in zip(self.numbers, ids)])
        return ["--accounts-file", str(file), "--prepare", str(len(self.numbers))]

    def options_for_tokens(self) -> list[str]:
        if self.simulator.process is None:
            self.simulator.start(self.core)
        issuer, ring = issuers.find(self.folder, ISSUER), KeyRing(self.folder, ISSUER)
        file = self._write("tokens", [
            {"use": "sign-in", "provider_id": "google.com", "email": email(number),
             "id_token": tokens.mint(ring, issuer, order(number), int(time.time()))} for number in self.numbers])
        return ["--tokens", str(file)]

    def _write(self, name: str, values: list[dict[str, str]]) -> Path:
        file = self.home / f"{name}.jsonl"
        file.write_text("".join(json.dumps(value) + "\n" for value in values))
        return file


def email(number: int) -> str:
    return f"person{number}@example.com"


def addresses(accounts: int) -> str:
    """All email addresses, in the notation of latchkey-load."""
    return f"person{{0-{accounts - 1}}}@example.com"


def order(number: int) -> tokens.Order:
    return tokens.Order(subject=f"1{number:020}", email=email(number), email_verified=True,
                        hosted_domain="example.com", name=f"Person {number}")
