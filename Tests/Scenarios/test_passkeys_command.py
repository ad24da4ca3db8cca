"""`latchkey passkeys`: list, rename and remove."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import passkeys
import pytest
from clients import PASSWORD, Client, fresh_email
from passkeys import Device, add, sign_in
from processes import Server, Simulator
from test_latchkey_command import DONE, NOBODY, REFUSED, USAGE, Person


@pytest.fixture(scope="module")
def passkey_server(folder: Path, simulator: Simulator) -> Iterator[Server]:
    running = Server.start(folder, simulator, **passkeys.SETTINGS)
    yield running
    running.stop()


@pytest.fixture
def person(passkey_server: Server, tmp_path: Path) -> Person:
    return Person(passkey_server, tmp_path)


@pytest.fixture
def app(passkey_server: Server) -> Iterator[Client]:
    client = Client(passkey_server, key="web")
    yield client
    client.close()


def test_passkeys_are_listed_renamed_and_removed(person: Person, app: Client) -> None:
    email, laptop, phone = fresh_email(), Device(), Device(synced=True)
    made = app.create(email)
    person.json("sign-in", "--email", email, LATCHKEY_PASSWORD=PASSWORD)
    assert person.json("passkeys", "list")["passkeys"] == []
    assert person.run("passkeys").stdout == "The account has no passkeys.\n"
    token = add(app, laptop, made.id_token, "Laptop").session.id_token
    add(app, phone, token)
    sign_in(app, phone)
    listed = person.json("passkeys", "list")["passkeys"]
    assert [each["passkey_id"] for each in listed] == [laptop.passkey_id, phone.passkey_id]
    assert [each["name"] for each in listed] == ["Laptop", ""]
    assert listed[0]["last_used_at"] is None and listed[1]["last_used_at"] is not None
    assert [each["backed_up"] for each in listed] == [False, True]
    lines = person.run("passkeys", "list").stdout.splitlines()
    assert lines[0] == f"{laptop.passkey_id}  Laptop, localhost, not used yet"
    assert lines[1].startswith(f"{phone.passkey_id}  no name, localhost, last used ")
    assert lines[1].endswith(", synchronized")
    renamed = person.json("passkeys", "rename", phone.passkey_id, "--name", "Phone")["passkey"]
    assert (renamed["passkey_id"], renamed["name"]) == (phone.passkey_id, "Phone")
    removed = person.run("passkeys", "remove", laptop.passkey_id)
    assert removed.returncode == DONE and removed.stdout.startswith("Removed the passkey")
    assert [each["name"] for each in person.json("passkeys")["passkeys"]] == ["Phone"]
    assert person.json("whoami")["account"]["email"] == email, "the new session was kept"


def test_what_cannot_be_done_is_reported(person: Person, app: Client) -> None:
    assert person.run("passkeys", "list").returncode == NOBODY
    email = fresh_email()
    app.create(email)
    person.json("sign-in", "--email", email, LATCHKEY_PASSWORD=PASSWORD)
    for words in (["remove", "x"], ["rename", "x", "--name", "y"]):
        refused = person.json("passkeys", *words, code=REFUSED)
        assert refused["error"]["reason"] == "PASSKEY_NOT_FOUND"
    for words in (["rename", "x"], ["remove"], ["rename", "--name", "y"]):
        assert person.run("passkeys", *words).returncode == USAGE


@pytest.mark.parametrize("words", [[], ["list"], ["rename"], ["remove"]], ids=lambda words: " ".join(words) or "all")
def test_the_help_has_an_example(person: Person, words: list[str]) -> None:
    shown = person.run("passkeys", *words, "--help")
    assert shown.returncode == DONE and f"latchkey passkeys {' '.join(words) or 'list'}" in shown.stdout
