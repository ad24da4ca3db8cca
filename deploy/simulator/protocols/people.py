"""Test users: every user name typed into a login page exists from then on, with its own subject at each provider.

A subject depends on the provider and the user name alone, so it is the same after a restart and in every folder. It
also stays the same when the address, name or verified flag of the user changes.
"""

from __future__ import annotations

import hashlib
import re
import string
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from .ledger import Ledger

# The tenant of Microsoft's personal accounts.
CONSUMER_TENANT = "9188040d-6c67-4c5b-b112-36a304b66dad"


@dataclass(frozen=True)
class Person:
    username: str
    name: str = ""
    email: str = ""
    email_verified: bool = False
    picture: str = ""
    # Google: the Workspace domain.
    hosted_domain: str = ""
    # Microsoft: the directory, and whether the directory verified that it owns the address's domain.
    tenant: str = CONSUMER_TENANT
    domain_verified: bool = False
    # Apple: return a relay address instead of the real one.
    hide_email: bool = False

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w.-]{1,64}", self.username):
            raise ValueError("a user name is made of 1 to 64 letters, digits, dots, hyphens and underscores")

    @property
    def display_name(self) -> str:
        return self.name or self.username.capitalize()

    @property
    def given_and_family_name(self) -> tuple[str, str]:
        given, _, family = self.display_name.partition(" ")
        return given, family

    def form(self) -> dict[str, str]:
        """The fields of the login page, with a check box only if it is ticked."""
        values = {name: "on" if value is True else value for name, value in asdict(self).items()}
        return {name: value for name, value in values.items() if value}


def from_form(values: Mapping[str, str]) -> Person:
    known = {each.name: values[each.name] for each in fields(Person) if each.name in values}
    return Person(**{name: text == "on" if name in ("email_verified", "domain_verified", "hide_email") else text.strip()
                     for name, text in known.items()})  # type: ignore[arg-type]


class People:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def save(self, person: Person) -> Person:
        self._ledger.save_person(person.username, asdict(person))
        return person

    def find(self, username: str) -> Person:
        record = self._ledger.person(username)
        if record is None:
            raise LookupError(f"there is no user {username!r}")
        return Person(**record)

    def everybody(self) -> list[Person]:
        return [Person(**record) for record in self._ledger.people()]


def number(provider: str, username: str, modulus: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{provider}\0{username}".encode()).digest()) % modulus


def decimal(provider: str, username: str, digits: int) -> str:
    """A number with exactly this many digits."""
    least = 10 ** (digits - 1)
    return str(least + number(provider, username, 9 * least))


def letters(provider: str, username: str, length: int, alphabet: str = string.ascii_uppercase + "234567") -> str:
    rest, text = number(provider, username, 1 << 256), ""
    for _ in range(length):
        rest, index = divmod(rest, len(alphabet))
        text += alphabet[index]
    return text


def guid(provider: str, username: str) -> str:
    return str(uuid.UUID(int=number(provider, username, 1 << 128), version=4))
