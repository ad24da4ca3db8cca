"""The command line with providers' pages, and with the tokens of their SDKs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import latchkey_settings
import pytest
from clients import fresh_email
from configuration import callers
from processes import Server, Simulator
from protocols.people import Person as SomebodyElse
from test_latchkey_command import DONE, REFUSED, UNFINISHED, USAGE, Person, ways

BACK = latchkey_settings.REDIRECT_URIS[0]


@pytest.fixture
def person(serve: Callable[..., Server], simulator: Simulator, tmp_path: Path) -> Person:
    allowed = [{**each, "redirect_uris": [BACK]} for each in callers()]
    return Person(serve(callers=allowed, providers=latchkey_settings.providers(simulator.base)), tmp_path)


@pytest.fixture
def ada(simulator: Simulator) -> SomebodyElse:
    return simulator.person(name="Ada", email=fresh_email(), email_verified=True)


def flow(person: Person, simulator: Simulator, provider: str, who: SomebodyElse, *words: str, code: int = DONE) -> Any:
    """`latchkey start`, the provider's pages, and the command that ends the flow."""
    purpose = ("--for", words[0]) if words[0] != "sign-in" else ()
    started = person.json("start", provider, "--redirect-uri", BACK, *purpose)
    callback = person.file("callback", simulator.walk(started["authorization_url"], who))
    return person.json(*words, "--flow", "--callback-file", callback, code=code)


def test_a_flow_signs_in_links_and_reauthenticates(person: Person, simulator: Simulator, ada: SomebodyElse) -> None:
    made = flow(person, simulator, "twitter.com", ada, "sign-in")
    assert made["is_new_account"] and ways(made) == {"twitter.com"}
    linked = flow(person, simulator, "github.com", ada, "link")
    assert ways(linked) == {"twitter.com", "github.com"}
    reauthenticated = flow(person, simulator, "github.com", ada, "reauthenticate")
    assert reauthenticated["account"]["account_id"] == made["account"]["account_id"]


def test_a_conflict_between_two_providers_is_completed_with_the_printed_commands(
        person: Person, simulator: Simulator, ada: SomebodyElse) -> None:
    made = flow(person, simulator, "twitter.com", ada, "sign-in")
    person.json("sign-out")
    started = person.json("start", "google.com", "--redirect-uri", BACK)
    callback = simulator.walk(started["authorization_url"], ada)
    conflict = person.run("sign-in", "--flow", "--callback-file", "-", typed=callback)
    assert conflict.returncode == UNFINISHED
    proposed = [line.split()[1:] for line in conflict.stderr.splitlines() if line.startswith("  latchkey ")]
    assert proposed == [["start", "twitter.com", "--redirect-uri", "URI"], ["sign-in", "--flow", "--pending"]]
    begun = person.json(*[BACK if word == "URI" else word for word in proposed[0]])
    callback = person.file("callback", simulator.walk(begun["authorization_url"], ada))
    done = person.json(*proposed[1], "--callback-file", callback)
    assert done["account"]["account_id"] == made["account"]["account_id"]
    assert ways(done) == {"twitter.com", "google.com"}


def test_the_output_has_the_url_and_the_next_command(person: Person) -> None:
    shown = person.run("start", "twitter.com", "--redirect-uri", BACK, "--parameter", "lang=de")
    assert shown.returncode == DONE and "lang=de" in shown.stdout
    assert "Then: latchkey sign-in --flow" in shown.stdout
    kept = person.sessions.read_text()
    assert '"flow"' in kept and "oauth_token" not in kept


def test_a_token_with_its_secret_signs_in(person: Person, simulator: Simulator, ada: SomebodyElse) -> None:
    issued = simulator.access_token("twitter.com", ada, oauth1=True)
    files = [person.file("token", issued["access_token"]), person.file("secret", issued["token_secret"])]
    made = person.json("sign-in", "--provider", "twitter.com", "--access-token-file", files[0],
                       "--token-secret-file", files[1])
    assert ways(made) == {"twitter.com"}


@pytest.mark.parametrize(("words", "code"), [
    (("sign-in", "--flow", "--callback-file", "-"), USAGE),
    (("sign-in", "--callback-file", "-"), USAGE),
    (("sign-in", "--flow", "--email", "a@example.com"), USAGE),
    (("sign-in", "--access-token-file", "-"), USAGE),
    (("start", "twitter.com"), USAGE),
    (("start", "twitter.com", "--redirect-uri", BACK, "--parameter", "lang"), USAGE),
    (("start", "twitter.com", "--redirect-uri", "https://evil.example/"), REFUSED),
    (("start", "twitter.com", "--redirect-uri", BACK, "--parameter", "oauth_token=x"), REFUSED),
    (("start", "nobody.example", "--redirect-uri", BACK), REFUSED),
])
def test_invalid_arguments_cause_an_error(person: Person, words: tuple[str, ...], code: int) -> None:
    ended = person.run(*words, typed="https://app.example/callback?code=1")
    assert ended.returncode == code and ended.stderr
