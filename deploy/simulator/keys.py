"""The signing keys of the issuers: made once, kept in the folder, and rotated by adding a generation.

A generation is one file with one key for each key type, so that `serve` and `mint`, which are different processes,
always agree. The newest generation signs. The key set contains every published generation.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from joserfc.jwk import ECKey, Key, OKPKey, RSAKey, import_key

from issuers import write_atomically

# The key of a generation for each algorithm (RFC 7518 section 3.1, RFC 8037 section 3.1, RFC 9864).
KEY_NAMES = {
    "RS256": "rsa", "RS384": "rsa", "RS512": "rsa", "PS256": "rsa", "PS384": "rsa", "PS512": "rsa",
    "ES256": "p256", "ES384": "p384", "ES512": "p521", "EdDSA": "ed25519", "Ed25519": "ed25519",
}


def generate(label: str) -> dict[str, Key]:
    """One generation. Key ids begin with `label` and end with a part that is unique to the generation."""
    rsa = RSAKey.generate_key(2048)
    keys: dict[str, Key] = {
        "rsa": rsa, "p256": ECKey.generate_key("P-256"), "p384": ECKey.generate_key("P-384"),
        "p521": ECKey.generate_key("P-521"), "ed25519": OKPKey.generate_key("Ed25519"),
    }
    for name, key in keys.items():
        keys[name] = import_key({**key.as_dict(private=True), "kid": f"{label}-{name}-{key.thumbprint()[:8]}",
                                 "use": "sig"})
    return keys


@cache
def read_key(path: Path, name: str) -> Key:
    """Cached, since a generation never changes and the checks of an RSA key take longer than a signature."""
    return import_key(json.loads(path.read_text())["keys"][name])


class KeyRing:
    """The generations of one issuer below `folder`."""

    def __init__(self, folder: Path, issuer: str) -> None:
        self.issuer = issuer
        self.folder = folder / "keys" / issuer

    def signing_key(self, algorithm: str) -> Key:
        if algorithm not in KEY_NAMES:
            raise ValueError(f"no key signs with {algorithm!r}; there are: {', '.join(KEY_NAMES)}")
        return read_key(self._generations()[-1], KEY_NAMES[algorithm])

    def public_keys(self) -> dict[str, object]:
        """The JSON Web Key Set (RFC 7517 section 5) of all published generations, oldest first."""
        generations = [json.loads(path.read_text()) for path in self._generations()]
        keys = [import_key(key) for each in generations if each["published"] for key in each["keys"].values()]
        return {"keys": [key.as_dict(private=False) for key in keys]}

    def rotate(self, *, published: bool = True, drop_old: bool = False) -> str:
        """Adds a generation that signs from now on, and returns its label.

        If it is unpublished, its tokens name an unknown key; with `drop_old`, older tokens do.
        """
        self._generations()
        with self._locked():
            old = self._generations()
            label = self._add(int(old[-1].stem) + 1, published)
            if drop_old:
                for path in old:
                    path.unlink()
        return label

    def _generations(self) -> list[Path]:
        paths = sorted(self.folder.glob("*.json"))
        if paths:
            return paths
        with self._locked():
            if not list(self.folder.glob("*.json")):
                self._add(1, published=True)
        return sorted(self.folder.glob("*.json"))

    def _add(self, number: int, published: bool) -> str:
        label = f"{self.issuer}-{number}"
        keys = {name: key.as_dict(private=True) for name, key in generate(label).items()}
        write_atomically(self.folder / f"{number:04}.json", json.dumps({"published": published, "keys": keys}))
        return label

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
