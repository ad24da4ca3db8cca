"""A headless Chromium that trusts only the simulator's certificate, and a server with the providers."""

from __future__ import annotations

import base64
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from selenium import webdriver

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "Scenarios"), str(TESTS / "Common")]

from clients import Client  # noqa: E402
from common_fixtures import folder, simulator  # noqa: E402, F401
from configuration import callers  # noqa: E402
from processes import Server, Simulator  # noqa: E402

import latchkey_settings  # noqa: E402

# Paths in Debian's packages chromium and chromium-driver.
CHROMIUM = "/usr/bin/chromium"
DRIVER = "/usr/bin/chromedriver"
PAGE_SECONDS = 30
# A second name of this machine, in the browser only.
OTHER_SITE = "passkeys.example"


@pytest.fixture(scope="session")
def client(folder: Path, simulator: Simulator) -> Iterator[Client]:
    uris = latchkey_settings.redirect_uris(simulator.base)
    allowed = [{**each, "redirect_uris": uris} if each["name"] == "web" else each for each in callers()]
    server = Server.start(folder, simulator, callers=allowed, providers=latchkey_settings.providers(simulator.base))
    calling = Client(server, key="web")
    yield calling
    calling.close()
    server.stop()


@pytest.fixture(scope="session")
def browser(folder: Path) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    # Chromium's sandbox needs rights that containers and root do not have. The browser opens only our own pages.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
                     f"--user-data-dir={folder / 'chromium'}", f"--host-resolver-rules=MAP {OTHER_SITE} 127.0.0.1",
                     f"--ignore-certificate-errors-spki-list={public_key_digest(folder / 'simulator.pem')}"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    driver.set_page_load_timeout(PAGE_SECONDS)
    yield driver
    driver.quit()


def public_key_digest(certificate: Path) -> str:
    """The key pin of RFC 7469 section 2.4."""
    key = x509.load_pem_x509_certificate(certificate.read_bytes()).public_key()
    info = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(info).digest()).decode()
