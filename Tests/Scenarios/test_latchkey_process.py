"""The command line as a process: where its output goes, what it reads, and several of it at once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from clients import fresh_email
from configuration import KEYS
from processes import Server
from test_latchkey_command import LATCHKEY, USAGE, Person


@pytest.fixture
def person(server: Server, tmp_path: Path) -> Person:
    """Who may call whatever there is."""
    made = Person(server, tmp_path)
    made.environment["LATCHKEY_API_KEY"] = KEYS["admin"]
    return made


def begin(person: Person, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen([LATCHKEY, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=person.environment)


@pytest.mark.parametrize("words", [
    ["whoami"], ["whoami", "--json"], ["token"], ["list"], ["export"], ["export", "--json"],
    ["watch", "--from", "oldest"], ["lookup", "--id", "nobody", "--json"], ["--help"], ["--version"],
])
def test_output_that_a_full_disk_does_not_take_fails_the_command(person: Person, words: list[str]) -> None:
    person.sign_up(fresh_email())
    with open("/dev/full", "w") as full:
        ended = subprocess.run([LATCHKEY, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
                               env=person.environment)
    assert ended.returncode == USAGE
    assert ended.stderr == "standard output: No space left on device\n"


def test_a_watch_whose_reader_has_gone_ends_in_silence_with_the_next_event(person: Person) -> None:
    person.sign_up(fresh_email())
    watching = begin(person, "watch", "--from", "oldest", "--json")
    assert watching.stdout is not None and watching.stderr is not None
    assert watching.stdout.readline().startswith("{")
    watching.stdout.close()
    person.sign_up(fresh_email())
    assert watching.wait(timeout=30) == USAGE
    assert watching.stderr.read() == ""
    watching.stderr.close()
