"""A running simulator for the tests beside this file, with certificates of a development authority."""

from __future__ import annotations

import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SIMULATOR = Path(__file__).resolve().parent.parent / "simulator.py"
CERTIFICATES = SIMULATOR.parent.parent / "certificates"


@dataclass
class Running:
    folder: Path
    base: str
    trust: ssl.SSLContext

    def command(self, *arguments: str) -> str:
        """What a person would type, minus the folder."""
        done = subprocess.run([sys.executable, str(SIMULATOR), arguments[0], "--folder", str(self.folder),
                               *arguments[1:]], capture_output=True, text=True, timeout=30)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def get(self, path: str, timeout_seconds: float = 5) -> bytes:
        with urllib.request.urlopen(self.base + path, context=self.trust, timeout=timeout_seconds) as answer:
            return answer.read()


@pytest.fixture(scope="session")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("simulator")
    subprocess.run([str(CERTIFICATES), str(folder)], check=True)
    process = subprocess.Popen(
        [sys.executable, str(SIMULATOR), "serve", "--folder", str(folder), "--port", "0",
         "--certificate", str(folder / "simulator.pem"), "--key", str(folder / "simulator.key"),
         "--issuer", "google", "--issuer", "corp", "--issuer", "rotating", "--issuer", "moody"],
        stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    word, base = process.stdout.readline().split()
    assert word == "listening"
    yield Running(folder, base, ssl.create_default_context(cafile=str(folder / "authority.pem")))
    process.terminate()
    assert process.wait(timeout=5) == 0
