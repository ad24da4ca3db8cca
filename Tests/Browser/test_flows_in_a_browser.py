"""One flow of each protocol family, with pages that Chromium fills in as a user would."""

from __future__ import annotations

import pytest
from clients import Client, fresh_email, session
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import types_pb2 as types
from processes import Simulator
from protocols.people import Person
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support import expected_conditions as expected
from selenium.webdriver.support.wait import WebDriverWait

PAGE_SECONDS = 20
FAMILIES = {"OAuth 1.0a": "twitter.com", "OAuth 2.0": "github.com", "OpenID Connect, query": "google.com",
            "OpenID Connect, form post": "apple.com"}


def go_through(browser: Chrome, authorization_url: str, person: Person, button: str) -> str:
    """Fills in the login page, and reads the callback URI from the last page of the flow."""
    browser.get(authorization_url)
    for field, text in (("username", person.username), ("name", person.name), ("email", person.email)):
        box = browser.find_element(By.ID, field)
        box.clear()
        box.send_keys(text)
    if person.email_verified:
        browser.find_element(By.ID, "email_verified").click()
    browser.find_element(By.ID, button).click()
    landed = expected.presence_of_element_located((By.ID, "callback"))
    shown: str = WebDriverWait(browser, PAGE_SECONDS).until(landed).get_attribute("value") or ""
    return shown


def through(browser: Chrome, client: Client, simulator: Simulator, provider_id: str, person: Person,
            button: str = "allow") -> types.Credential:
    started = client.start_flow(provider_id, simulator.base + "/callback")
    callback = go_through(browser, started.authorization_url, person, button)
    assert callback.startswith(simulator.base + "/callback?") and started.flow_id not in callback
    return types.Credential(authorization_response=types.AuthorizationResponse(
        flow_id=started.flow_id, callback_uri=callback))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_user_signs_in_with_a_browser(browser: Chrome, client: Client, simulator: Simulator, family: str) -> None:
    provider_id = FAMILIES[family]
    person = simulator.person(name="Ada Lovelace", email=fresh_email(), email_verified=True)
    made = session(client.sign_in(through(browser, client, simulator, provider_id, person)))
    assert made.is_new_account and made.account.email == person.email
    assert made.account.providers[0].subject == simulator.subject(provider_id, person)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_user_denies_access_in_a_browser(browser: Chrome, client: Client, simulator: Simulator, family: str) -> None:
    person = simulator.person(name="Ada Lovelace", email=fresh_email())
    credential = through(browser, client, simulator, FAMILIES[family], person, button="deny")
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PROVIDER_DENIED"):
        client.sign_in(credential)


def test_the_account_gets_the_name_that_apple_posts_only_once(
        browser: Chrome, client: Client, simulator: Simulator) -> None:
    person = simulator.person(name="Grace Hopper", email=fresh_email(), email_verified=True)
    made = session(client.sign_in(through(browser, client, simulator, "apple.com", person)))
    assert made.account.display_name == "Grace Hopper"
