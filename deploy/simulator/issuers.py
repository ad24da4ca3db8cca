"""The issuers of a simulator folder, and what each of them publishes.

`serve` writes the list once. `mint`, `rotate` and `behave` are other processes and read it, so that a token always
names the issuer that discovery names. An issuer's URL replaces that of the provider whose tokens it makes.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

# Tokens of these name the real issuer, wherever their keys are served. Every other issuer is named by its own URL.
REAL_URLS = {
    "google": "https://accounts.google.com",
    "facebook": "https://www.facebook.com",
    "yahoo": "https://api.login.yahoo.com",
    "apple": "https://appleid.apple.com",
    "microsoft": "https://login.microsoftonline.com/{tenantid}/v2.0",
    "linkedin": "https://www.linkedin.com/oauth",
}
AUDIENCES = {"google": "google-client"}
AUDIENCE = "latchkey"


@dataclass(frozen=True)
class Issuer:
    """One provider: `path` is where it is served, `url` is the issuer in its tokens and its discovery document."""

    name: str
    url: str
    path: str

    @property
    def audience(self) -> str:
        return AUDIENCES.get(self.name, AUDIENCE)

    @property
    def discovery_url(self) -> str:
        return self.path + "/.well-known/openid-configuration"

    @property
    def jwks_url(self) -> str:
        return self.path + "/jwks"


def parse(options: list[str], base: str) -> dict[str, Issuer]:
    """Issuers from options `NAME` or `NAME=URL`, served below `base`."""
    issuers = {}
    for option in options:
        name, _, url = option.partition("=")
        if not name.isascii() or not name.removeprefix("oauth2.").replace("-", "").isalnum():
            raise ValueError(f"an issuer's name is made of letters, digits and hyphens: {name!r}")
        path = f"{base}/{name}"
        issuers[name] = Issuer(name, url or REAL_URLS.get(name, path), path)
    return issuers


def save(folder: Path, issuers: dict[str, Issuer]) -> None:
    document = [vars(issuer) for issuer in issuers.values()]
    write_atomically(folder / "issuers.json", json.dumps(document, indent=2))


def load(folder: Path) -> dict[str, Issuer]:
    try:
        document = json.loads((folder / "issuers.json").read_text())
    except FileNotFoundError:
        raise LookupError(f"{folder} holds no issuers yet: run `simulator.py serve --folder {folder}` first") from None
    return {entry["name"]: Issuer(**entry) for entry in document}


def find(folder: Path, name: str) -> Issuer:
    issuers = load(folder)
    if name not in issuers:
        raise LookupError(f"no issuer {name!r} here; there are: {', '.join(issuers)}")
    return issuers[name]


def write_atomically(path: Path, text: str) -> None:
    """Writes atomically: readers are other processes and see the old text or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    os.replace(fresh, path)
