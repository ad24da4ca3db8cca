"""The command line as a process: its output, its input, and several of them at the same time."""

from __future__ import annotations

import fcntl
import json
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from clients import PASSWORD, fresh_email
from configuration import KEYS
from processes import Server
from test_latchkey_command import DONE, LATCHKEY, USAGE, Person


@pytest.fixture
def person(server: Server, tmp_path: Path) -> Person:
    """A user whose caller may call every method."""
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
def test_output_that_does_not_fit_on_the_disk_fails_the_command(person: Person, words: list[str]) -> None:
    person.sign_up(fresh_email())
    with open("/dev/full", "w") as full:
        ended = subprocess.run([LATCHKEY, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
                               env=person.environment)
    assert ended.returncode == USAGE
    assert ended.stderr == "standard output: No space left on device\n"


# The default action of the signal would kill a process that continues to write. Python's own `preexec_fn` would fork
# this process, whose gRPC threads may then end the copy.
FILES_OF_AT_MOST_512_BYTES = ("bash", "-c", 'trap "" XFSZ; exec prlimit --fsize=512 "$@"', "bash")


def test_a_session_that_does_not_fit_on_the_disk_is_not_kept_and_the_reason_is_printed(person: Person) -> None:
    email = fresh_email()
    ended = person.run("sign-up", "--email", email, under=FILES_OF_AT_MOST_512_BYTES, LATCHKEY_PASSWORD=PASSWORD)
    assert ended.returncode != DONE and "File too large" in ended.stderr, ended.stderr
    assert [each.name for each in person.sessions.parent.iterdir() if each.suffix != ".lock"] == []


def test_a_watch_whose_reader_has_gone_ends_silently_with_the_next_event(person: Person) -> None:
    person.sign_up(fresh_email())
    watching = begin(person, "watch", "--from", "oldest", "--json")
    assert watching.stdout is not None and watching.stderr is not None
    assert watching.stdout.readline().startswith("{")
    watching.stdout.close()
    person.sign_up(fresh_email())
    assert watching.wait(timeout=30) == USAGE
    assert watching.stderr.read() == ""
    watching.stderr.close()


def remembered(person: Person) -> dict[str, Any]:
    """The session of each profile."""
    profiles = json.loads(person.sessions.read_text())["profiles"]
    return {name: profile["session"] for name, profile in profiles.items()}


def test_concurrent_commands_of_different_profiles_keep_each_others_tokens(person: Person) -> None:
    names = [f"p{number}" for number in range(6)]
    for name in names:
        person.json("sign-in", "--anonymous", "--profile", name)
    before = remembered(person)
    for running in [begin(person, "refresh", "--profile", name) for name in names]:
        said = running.communicate(timeout=60)
        assert running.returncode == DONE, said
    after = remembered(person)
    assert [name for name in names if after[name]["refresh_token"] == before[name]["refresh_token"]] == []


def test_concurrent_commands_of_one_profile_refresh_its_session_and_do_not_end_it(person: Person) -> None:
    person.sign_up(fresh_email())
    document = json.loads(person.sessions.read_text())
    document["profiles"]["default"]["session"] |= {"id_token": "expired", "id_token_expires_at_millis": 0}
    person.sessions.write_text(json.dumps(document))
    for running in [begin(person, *words) for words in (["whoami"], ["refresh"], ["token"], ["refresh"], ["sessions"])]:
        said = running.communicate(timeout=60)
        assert running.returncode == DONE, said
    assert person.json("refresh")["outcome"] == "session"


def test_a_command_waits_until_another_has_written_the_sessions(person: Person) -> None:
    person.sign_up(fresh_email())
    before = remembered(person)
    with person.sessions.with_name("session.json.lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = begin(person, "refresh")
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(timeout=1)
        assert remembered(person) == before
        assert person.json("token")["id_token"] == before["default"]["id_token"], "a reader does not wait"
    said = waiting.communicate(timeout=60)
    assert waiting.returncode == DONE, said
    assert remembered(person) != before


def test_a_lock_file_that_other_users_can_open_is_rejected(person: Person) -> None:
    person.sign_up(fresh_email())
    person.sessions.with_name("session.json.lock").chmod(0o666)
    exposed = person.run("refresh")
    assert exposed.returncode == USAGE and "chmod 600" in exposed.stderr


def run_on_a_socket(person: Person, *words: str, sent: str) -> subprocess.CompletedProcess[str]:
    """As programs are run with a socket as standard input, which cannot be opened by a path."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(sent.encode())
        ours.shutdown(socket.SHUT_WR)
        return subprocess.run([LATCHKEY, *words], stdin=theirs, capture_output=True, text=True, timeout=60,
                              env=person.environment)


def test_standard_input_is_read_from_any_kind_of_descriptor(person: Person) -> None:
    email = fresh_email()
    signed_up = run_on_a_socket(person, "sign-up", "--email", email, "--password-file", "-", sent=PASSWORD + "\n")
    assert signed_up.returncode == DONE, signed_up.stderr
    row = json.dumps({"users": [{"localId": fresh_email(), "email": fresh_email()}]})
    imported = run_on_a_socket(person, "import", "-", "--dry-run", "--json", sent=row)
    assert imported.returncode == DONE, imported.stdout + imported.stderr
    assert json.loads(imported.stdout)["imported"] == 1
