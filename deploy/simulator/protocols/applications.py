"""The applications that a provider knows: ours, and one of another owner.

An attacker who runs an application at the same provider has tokens that were issued to the second one.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from pathlib import Path

from joserfc.jwk import ECKey, Key, import_key

from issuers import Issuer, write_atomically

OTHER_CLIENT_ID = "another-app"
OTHER_SECRET = "another-secret"
# Registered for every application, in addition to those of `serve --redirect-uri`.
REDIRECT_URIS = ("https://app.example/callback", "https://localhost:8443/callback", "http://localhost:3000/callback")
# The page of this server that shows the address to which a user was redirected.
LANDING_PATH = "/callback"


@dataclass(frozen=True)
class Application:
    client_id: str
    secret: str
    redirect_uris: tuple[str, ...]

    def has_secret(self, presented: str) -> bool:
        return hmac.compare_digest(self.secret.encode(), presented.encode())


def registered(issuer: Issuer, redirect_uris: tuple[str, ...]) -> dict[str, Application]:
    """The applications by client id. The secret of ours is `<issuer's name>-secret`."""
    both = ((issuer.audience, our_secret(issuer)), (OTHER_CLIENT_ID, OTHER_SECRET))
    return {client_id: Application(client_id, secret, redirect_uris) for client_id, secret in both}


def our_secret(issuer: Issuer) -> str:
    return f"{issuer.name}-secret"


def write_secret(folder: Path, issuer: Issuer) -> None:
    """Our secret as a file, which Latchkey requires."""
    write_atomically(folder / "client-secrets" / issuer.name, our_secret(issuer))


def client_key_path(folder: Path, issuer: Issuer) -> Path:
    return folder / "client-keys" / f"{issuer.name}.pem"


def client_key_id(issuer: Issuer) -> str:
    return f"{issuer.name}-client-key"


def client_key(folder: Path, issuer: Issuer) -> Key:
    """Our application's own P-256 key for `private_key_jwt` and for Apple's client secret. The simulator makes it, as
    Apple does: the file is the one that a developer downloads."""
    path = client_key_path(folder, issuer)
    if not path.exists():
        write_atomically(path, ECKey.generate_key("P-256").as_pem(private=True).decode())
    return import_key(path.read_text(), "EC")
