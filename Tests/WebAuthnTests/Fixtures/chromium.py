"""Adds answers of Chromium's virtual authenticators to registrations.jsonl and assertions.jsonl.

    chromium.py         # needs the environment of Tests/Browser, chromium and chromium-driver

The page is the simulator's, under the name example.com, which leads to this machine in the browser only.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER.parents[1] / name) for name in ("Browser", "Scenarios", "Common")]

from conftest import CHROMIUM, DRIVER, public_key_digest  # noqa: E402
from processes import Simulator, prepare  # noqa: E402
from protocols.passkey_page import PASSKEYS_PATH  # noqa: E402
from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.virtual_authenticator import VirtualAuthenticatorOptions  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402
from soft_authenticator import BE, BS, UV, decoded, encoded  # noqa: E402


def answer(browser: webdriver.Chrome, button: str, options: dict[str, Any]) -> dict[str, Any]:
    browser.execute_script("document.getElementById('options').value = arguments[0]", json.dumps(options))
    browser.find_element(By.ID, button).click()
    outcome = browser.find_element(By.ID, "outcome")
    WebDriverWait(browser, 20).until(lambda _: outcome.get_attribute("class"))
    assert outcome.get_attribute("class") == "done", outcome.text
    return json.loads(browser.find_element(By.ID, "answer").get_attribute("value") or "")


def vector(name: str, origin: str, challenge: str, made: dict[str, Any], key: bytes) -> dict[str, Any]:
    data = decoded(made["response"]["authenticatorData"])
    flags = data[32]
    return {
        "name": f"Chromium, {name}", "challenge": challenge, "site": {"origins": [origin]}, "answer": json.dumps(made),
        "flaw": "", "algorithm": -7, "key": key.hex(), "id": decoded(made["id"]).hex(), "uv": bool(flags & UV),
        "be": bool(flags & BE), "bs": bool(flags & BS), "sign_count": int.from_bytes(data[33:37], "big"),
        "aaguid": data[37:53].hex()}


def vectors(browser: webdriver.Chrome, origin: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    registrations, assertions = [], []
    for transport, stores, verifies in itertools.product(["internal", "usb"], [True, False], [True, False]):
        if stores and not verifies:
            # Chromium lets such an authenticator neither store a passkey nor find it.
            continue
        name = f"{transport}, {'stores' if stores else 'names'}, {'verifies' if verifies else 'touches'}"
        browser.add_virtual_authenticator(VirtualAuthenticatorOptions(
            transport=transport, has_resident_key=stores, has_user_verification=verifies, is_user_verified=verifies))
        browser.get(origin + PASSKEYS_PATH)
        challenge = encoded(os.urandom(32))
        made = answer(browser, "register", {
            "rp": {"id": "example.com", "name": "Example"}, "challenge": challenge,
            "attestation": "direct" if transport == "usb" else "none",
            "user": {"id": encoded(os.urandom(32)), "name": "ada", "displayName": "Ada"}, "timeout": 20_000,
            "pubKeyCredParams": [{"type": "public-key", "alg": -7}], "extensions": {"credProps": True},
            "authenticatorSelection": {"residentKey": "required" if stores else "discouraged"}})
        # The end of a SubjectPublicKeyInfo of P-256 is the point.
        key = decoded(made["response"]["publicKey"])[-64:]
        registrations.append(vector(name, origin, challenge, made, key))
        challenge = encoded(os.urandom(32))
        used = answer(browser, "sign_in", {
            "rpId": "example.com", "challenge": challenge, "timeout": 20_000,
            "allowCredentials": [] if stores else [{"type": "public-key", "id": made["id"]}]})
        assertions.append(vector(name, origin, challenge, used, key))
        browser.remove_virtual_authenticator()
    return registrations, assertions


def main() -> None:
    folder = prepare(Path(tempfile.mkdtemp()))
    simulator = Simulator.start(folder)
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", f"--user-data-dir={folder / 'data'}",
                     "--host-resolver-rules=MAP example.com 127.0.0.1",
                     f"--ignore-certificate-errors-spki-list={public_key_digest(folder / 'simulator.pem')}"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    try:
        made = vectors(browser, f"https://example.com:{simulator.base.rpartition(':')[2]}")
    finally:
        browser.quit()
        simulator.stop()
    for file, added in zip(("registrations.jsonl", "assertions.jsonl"), made):
        kept = [line for line in (FOLDER / file).read_text().splitlines() if '"name": "Chromium' not in line]
        (FOLDER / file).write_text("".join(line + "\n" for line in [*kept, *map(json.dumps, added)]))
        print(file, len(added))


if __name__ == "__main__":
    main()
