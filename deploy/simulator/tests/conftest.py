"""A running simulator for the tests in this folder, with certificates of a development authority."""

from __future__ import annotations

import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

SIMULATOR = Path(__file__).resolve().parent.parent / "simulator.py"
CERTIFICATES = SIMULATOR.parent.parent / "certificates"
sys.path.insert(0, str(SIMULATOR.parent))

import walking  # noqa: E402
from protocols import faults  # noqa: E402
from protocols.people import Person  # noqa: E402

NAMED = ["twitter", "github", "google", "facebook", "yahoo", "apple", "microsoft", "linkedin", "discord"]
FOLDERLESS = ("authorize", "endpoints", "settings")
# The redirect URI of flows in these tests; nothing listens there.
CALLBACK = "https://app.example/callback"


@dataclass
class Running:
    folder: Path
    base: str
    trust: ssl.SSLContext

    def command(self, *arguments: str) -> str:
        """The form that a user would submit, without the folder."""
        folder = [] if arguments[0] in FOLDERLESS else ["--folder", str(self.folder)]
        done = subprocess.run([sys.executable, str(SIMULATOR), arguments[0], *folder, *arguments[1:]],
                              check=False, capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    @property
    def authority(self) -> str:
        return str(self.folder / "authority.pem")

    def http(self) -> requests.Session:
        """Trusts this simulator's authority, independent of the environment."""
        session: requests.Session = self.trusting(requests.Session())
        return session

    def trusting(self, session: Any) -> Any:
        session.verify, session.trust_env = self.authority, False
        return session

    def walk(self, url: str, person: Person, **options: Any) -> str:
        """The callback URI at the end of the provider's pages."""
        return walking.walk(url, person, self.trust, **options)

    def behave(self, issuer: str, endpoint: str, name: str, body: str = "") -> None:
        faults.behave(self.folder, issuer, [endpoint], name, body)

    @contextmanager
    def fault(self, issuer: str, endpoint: str, name: str, body: str = "") -> Iterator[None]:
        self.behave(issuer, endpoint, name, body)
        try:
            yield
        finally:
            self.behave(issuer, endpoint, "well")

    def get(self, path: str, timeout_seconds: float = 30) -> bytes:
        with urllib.request.urlopen(self.base + path, context=self.trust, timeout=timeout_seconds) as answer:
            return answer.read()


@pytest.fixture(scope="session")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("simulator")
    subprocess.run([str(CERTIFICATES), str(folder)], check=True)
    process = subprocess.Popen(
        [sys.executable, str(SIMULATOR), "serve", "--folder", str(folder), "--port", "0",
         "--certificate", str(folder / "simulator.pem"), "--key", str(folder / "simulator.key"),
         *(word for name in [*NAMED, "corp", "rotating", "moody", "oauth2.plain"] for word in ("--issuer", name))],
        stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    word, base = process.stdout.readline().split()
    assert word == "listening"
    yield Running(folder, base, ssl.create_default_context(cafile=str(folder / "authority.pem")))
    process.terminate()
    assert process.wait(timeout=30) == 0


@pytest.fixture
def ada() -> Person:
    return Person("ada", "Ada Lovelace", "ada@example.com", email_verified=True, picture="https://pictures.example/a")
