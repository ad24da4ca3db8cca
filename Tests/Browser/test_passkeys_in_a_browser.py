"""Passkeys in Chromium, whose virtual authenticators take the place of a device.

LATCHKEY_SCREENSHOT names a file for a picture of the simulator's page after a registration.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from clients import Client, fresh_email, session
from configuration import callers
from conftest import OTHER_SITE, PAGE_SECONDS
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import types_pb2 as types
from latchkey.v1.event_service_pb2 import EVENT_TYPE_PASSKEY_CLONE_SUSPECTED
from processes import Server, Simulator
from protocols.passkey_page import PASSKEYS_PATH
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.virtual_authenticator import Credential, VirtualAuthenticatorOptions
from selenium.webdriver.support.wait import WebDriverWait
from soft_authenticator import decoded

MAIN_SITE = "localhost"
Authenticators = Callable[..., None]


class Page:
    """The simulator's page at one site."""

    def __init__(self, browser: Chrome, site: str, port: str) -> None:
        self.browser, self.site = browser, site
        browser.get(f"https://{site}:{port}{PASSKEYS_PATH}")

    def _answer(self, button: str, options_json: str) -> str:
        # Typing thousands of letters is slow.
        self.browser.execute_script("document.getElementById('options').value = arguments[0]", options_json)
        self.browser.find_element(By.ID, button).click()
        outcome = self.browser.find_element(By.ID, "outcome")
        WebDriverWait(self.browser, PAGE_SECONDS).until(lambda _: outcome.get_attribute("class"))
        assert outcome.get_attribute("class") == "done", outcome.text
        return self.browser.find_element(By.ID, "answer").get_attribute("value") or ""

    def register(self, client: Client, id_token: str = "", **fields: Any) -> types.Credential:
        started = client.start_registration(id_token, rp_id=self.site, **fields)
        return types.Credential(passkey=types.PasskeyCredential(
            registration_id=started.registration_id, credential_json=self._answer("register", started.options_json)))

    def sign_in(self, client: Client, **fields: Any) -> types.Credential:
        started = client.start_passkey_sign_in(rp_id=self.site, **fields)
        return types.Credential(passkey=types.PasskeyCredential(
            sign_in_id=started.sign_in_id, credential_json=self._answer("sign_in", started.options_json)))


@pytest.fixture(scope="module")
def port(simulator: Simulator) -> str:
    return simulator.base.rpartition(":")[2]


@pytest.fixture(scope="module")
def server(folder: Path, simulator: Simulator, port: str) -> Iterator[Server]:
    sites = [MAIN_SITE, OTHER_SITE]
    parties = [{"id": site, "name": f"Example at {site}", "origins": [f"https://{site}:{port}"]} for site in sites]
    allowed = [each | {"relying_parties": sites} if each["name"] == "web" else each for each in callers()]
    running = Server.start(folder, simulator, callers=allowed, relying_parties=parties)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def app(server: Server) -> Iterator[Client]:
    calling = Client(server, key="web")
    yield calling
    calling.close()


@pytest.fixture
def plug_in(browser: Chrome) -> Iterator[Authenticators]:
    """Connects an authenticator to the browser until the test ends, or until the next one is connected."""
    connected: list[str] = []

    def connect(transport: str = "internal", *, stores: bool = True, verifies: bool = True) -> None:
        unplug()
        browser.add_virtual_authenticator(VirtualAuthenticatorOptions(
            transport=transport, has_resident_key=stores, has_user_verification=verifies, is_user_verified=verifies))
        connected.append(transport)

    def unplug() -> None:
        if connected:
            browser.remove_virtual_authenticator()
            connected.clear()

    yield connect
    unplug()


@pytest.mark.parametrize("transport", ["internal", "usb"])
def test_a_user_signs_up_and_in_with_a_passkey_that_the_authenticator_stores(
        browser: Chrome, app: Client, port: str, plug_in: Authenticators, transport: str) -> None:
    plug_in(transport)
    page = Page(browser, MAIN_SITE, port)
    made = session(app.sign_in(page.register(app, user_name="ada")))
    keep_screenshot(browser)
    assert made.is_new_account
    (listed,) = app.list_passkeys(made.id_token)
    assert listed.transports == [transport] and listed.user_verified and listed.rp_id == MAIN_SITE
    again = session(app.sign_in(page.sign_in(app)))
    assert again.account.account_id == made.account.account_id
    methods = set(app.claims(again.id_token)["amr"])
    assert {"user", "mfa"} < methods and methods & {"hwk", "swk"}


def keep_screenshot(browser: Chrome) -> None:
    if file := os.environ.get("LATCHKEY_SCREENSHOT"):
        browser.set_window_size(1000, 900)
        assert browser.save_screenshot(file)


@pytest.mark.parametrize("verifies", [True, False], ids=["verifying", "touched"])
@pytest.mark.parametrize("transport", ["internal", "usb"])
def test_a_user_with_an_email_address_signs_in_with_an_authenticator_that_stores_nothing(
        browser: Chrome, app: Client, port: str, plug_in: Authenticators, transport: str, verifies: bool) -> None:
    plug_in(transport, stores=False, verifies=verifies)
    page, email = Page(browser, MAIN_SITE, port), fresh_email()
    made = app.create(email)
    linked = app.link(made.id_token, page.register(app, made.id_token)).session
    (listed,) = app.list_passkeys(linked.id_token)
    assert listed.user_verified == verifies
    again = session(app.sign_in(page.sign_in(app, email=email)))
    assert again.account.account_id == made.account.account_id
    assert ({"user", "mfa"} <= set(app.claims(again.id_token)["amr"])) == verifies


def test_an_authenticator_makes_no_second_passkey_of_an_account(
        browser: Chrome, app: Client, port: str, plug_in: Authenticators) -> None:
    plug_in()
    page = Page(browser, MAIN_SITE, port)
    made = session(app.sign_in(page.register(app, user_name="ada")))
    with pytest.raises(AssertionError, match="InvalidStateError"):
        page.register(app, made.id_token)
    plug_in("usb")
    app.link(made.id_token, page.register(app, made.id_token))
    assert len(app.list_passkeys(made.id_token)) == 2


def test_each_relying_party_has_its_own_passkeys(
        browser: Chrome, app: Client, port: str, plug_in: Authenticators) -> None:
    plug_in()
    page = Page(browser, MAIN_SITE, port)
    first = session(app.sign_in(page.register(app, user_name="ada")))
    other = Page(browser, OTHER_SITE, port)
    second = session(app.sign_in(other.register(app, user_name="ada")))
    assert session(app.sign_in(other.sign_in(app))).account.account_id == second.account.account_id
    with pytest.raises(AssertionError, match="SecurityError"):
        other.site = MAIN_SITE
        other.sign_in(app)
    page = Page(browser, MAIN_SITE, port)
    assert session(app.sign_in(page.sign_in(app))).account.account_id == first.account.account_id


def test_a_removed_passkey_signs_in_no_more(
        browser: Chrome, app: Client, port: str, plug_in: Authenticators) -> None:
    plug_in()
    page, email = Page(browser, MAIN_SITE, port), fresh_email()
    made = app.create(email)
    linked = app.link(made.id_token, page.register(app, made.id_token)).session
    (listed,) = app.list_passkeys(linked.id_token)
    app.remove_passkey(linked.id_token, listed.passkey_id)
    # The authenticator still has it, and offers it.
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_PASSKEY"):
        app.sign_in(page.sign_in(app))


def test_a_copied_authenticator_is_an_event(
        browser: Chrome, server: Server, app: Client, port: str, plug_in: Authenticators) -> None:
    plug_in()
    page = Page(browser, MAIN_SITE, port)
    made = session(app.sign_in(page.register(app, user_name="ada")))
    (original,) = browser.get_credentials()
    for _ in range(2):
        session(app.sign_in(page.sign_in(app)))
    # The copy does not know of the sign-ins.
    browser.remove_all_credentials()
    browser.add_credential(Credential.create_resident_credential(
        decoded(original.id), original.rp_id, decoded(original.user_handle or ""),
        decoded(original.private_key), 1))
    session(app.sign_in(page.sign_in(app)))
    admin = Client(server, key="admin")
    events = admin.list_events(account_id=made.account.account_id).events
    admin.close()
    assert EVENT_TYPE_PASSKEY_CLONE_SUSPECTED in {each.event.type for each in events}
