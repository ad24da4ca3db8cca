"""The command line against a real server: each subcommand, machine-readable output, exit codes, and secrets."""

from __future__ import annotations

import json
import os
import pty
import re
import stat
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from clients import PAGE, PASSWORD, Client, fresh_email
from configuration import KEYS
from paths import ROOT
from processes import LATCHKEYD, Server, Simulator

LATCHKEY = LATCHKEYD.parent / "latchkey"
# The exit codes in the help of `latchkey`.
DONE, REFUSED, USAGE, UNREACHABLE, UNFINISHED, NOBODY = range(6)
WRONG = "not the password at all"


def of_different_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Rejects duplicate names, which each reader would interpret differently (RFC 8259 4)."""
    assert len({name for name, _ in pairs}) == len(pairs), [name for name, _ in pairs]
    return dict(pairs)


@dataclass
class Person:
    """A user at a terminal of their own, without saved sessions."""

    server: Server
    home: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "LATCHKEY_SERVER": self.server.address,
            "LATCHKEY_CA": str(self.server.folder / "authority.pem"), "LATCHKEY_API_KEY": KEYS["web"]}

    def run(self, *words: str, typed: str | None = None, under: Sequence[str] = (),
            **variables: str) -> subprocess.CompletedProcess[str]:
        """`under` is a program with arguments that becomes the command."""
        return subprocess.run([*under, LATCHKEY, *words], input=typed or "", capture_output=True, text=True, timeout=60,
                              env={**self.environment, **variables})

    def json(self, *words: str, code: int = DONE, **variables: str) -> Any:
        """Machine-readable output: one document on standard output, and nothing else."""
        ended = self.run(*words, "--json", **variables)
        assert ended.returncode == code, ended.stdout + ended.stderr
        assert ended.stderr == ""
        return json.loads(ended.stdout, object_pairs_hook=of_different_names)

    def file(self, name: str, text: str) -> str:
        path = self.home / name
        path.write_text(text + "\n")
        return str(path)

    @property
    def sessions(self) -> Path:
        return self.home / ".local/state/latchkey/session.json"

    def sign_up(self, email: str) -> Any:
        return self.json("sign-up", "--email", email, LATCHKEY_PASSWORD=PASSWORD)


@pytest.fixture
def person(server: Server, tmp_path: Path) -> Person:
    return Person(server, tmp_path)


def ways(answer: Any) -> set[str]:
    return {each["provider_id"] for each in answer["account"]["providers"]}


def test_an_account_is_created_shown_and_signed_out_of(person: Person) -> None:
    email = fresh_email()
    made = person.json("sign-up", "--email", email, "--display-name", "Alice", LATCHKEY_PASSWORD=PASSWORD)
    assert made["outcome"] == "session" and made["is_new_account"] and ways(made) == {"password"}
    shown = person.json("whoami")["account"]
    assert (shown["email"], shown["display_name"], shown["email_verified"]) == (email, "Alice", False)
    readable = person.run("whoami")
    assert email in readable.stdout and "password" in readable.stdout and readable.stderr == ""
    assert person.json("sign-out") == {"outcome": "signed_out"}
    assert person.run("whoami").returncode == NOBODY
    again = person.json("sign-in", "--email", email, LATCHKEY_PASSWORD=PASSWORD)
    assert again["account"]["account_id"] == made["account"]["account_id"] and not again["is_new_account"]


def test_text_of_other_users_cannot_control_the_terminal(person: Person, admin: Client) -> None:
    """Stored by an earlier version, or in claims, whose values may contain any text."""
    made = person.sign_up(fresh_email())["account"]["account_id"]
    admin.set_claims(made, json.dumps({"a": "\x9b31m\u202e\x7f\u2028"}, ensure_ascii=False))
    for words in (["lookup", "--id", made], ["lookup", "--id", made, "--json"]):
        shown = person.run(*words, LATCHKEY_API_KEY=KEYS["admin"]).stdout
        assert made in shown and not set(shown) & set("\x9b\u202e\x7f\u2028")


def test_a_session_is_stored_in_a_file_that_only_its_owner_can_read(person: Person) -> None:
    person.sign_up(fresh_email())
    assert stat.S_IMODE(person.sessions.stat().st_mode) == 0o600
    assert stat.S_IMODE(person.sessions.parent.stat().st_mode) == 0o700
    left = {each.name: stat.S_IMODE(each.stat().st_mode) for each in person.sessions.parent.iterdir()}
    assert left == {"session.json": 0o600, "session.json.lock": 0o600}, "no draft is left behind"
    person.sessions.chmod(0o644)
    exposed = person.run("whoami")
    assert exposed.returncode == USAGE and "chmod 600" in exposed.stderr


def test_profiles_are_separate_and_a_session_is_sent_to_its_own_server_only(
        person: Person, serve: Callable[..., Server]) -> None:
    first, second = fresh_email(), fresh_email()
    person.sign_up(first)
    person.json("sign-up", "--email", second, "--profile", "other", LATCHKEY_PASSWORD=PASSWORD)
    assert person.json("whoami")["account"]["email"] == first
    assert person.json("whoami", LATCHKEY_PROFILE="other")["account"]["email"] == second
    elsewhere = serve()
    refused = person.run("whoami", "--server", elsewhere.address)
    assert refused.returncode == USAGE and elsewhere.address in refused.stderr
    assert person.run("whoami", "--server", elsewhere.address, "--profile", "third").returncode == NOBODY


def test_a_session_file_can_be_elsewhere(person: Person) -> None:
    path = person.home / "x/y.json"
    person.json("sign-in", "--anonymous", "--session-file", str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and not person.sessions.exists()
    assert person.json("whoami", LATCHKEY_SESSION_FILE=str(path))["account"]["anonymous"]
    person.json("sign-in", "--anonymous", XDG_STATE_HOME=str(person.home / "state"))
    assert (person.home / "state/latchkey/session.json").exists()


def test_a_conflict_is_completed_with_the_printed_command(
        person: Person, simulator: Simulator) -> None:
    email = fresh_email()
    account_id = person.sign_up(email)["account"]["account_id"]
    person.json("sign-out")
    token = person.file("token.jwt", simulator.token("oidc.corp", email=email))

    conflict = person.run("sign-in", "--provider", "oidc.corp", "--id-token-file", token)
    assert conflict.returncode == UNFINISHED and conflict.stdout == ""
    proposed = [line.split() for line in conflict.stderr.splitlines() if line.startswith("  latchkey ")]
    assert proposed == [["latchkey", "sign-in", "--email", email, "--pending"]]
    held = person.json("providers", "--pending")
    assert held["sign_in_methods"] == ["password"] and held["pending"]["provider_id"] == "oidc.corp"

    linked = person.json(*proposed[0][1:], LATCHKEY_PASSWORD=PASSWORD)
    assert linked["account"]["account_id"] == account_id and ways(linked) == {"password", "oidc.corp"}
    spent = person.run("providers", "--pending")
    assert spent.returncode == USAGE and "no pending credential" in spent.stderr
    again = person.json("sign-in", "--provider", "oidc.corp", "--id-token-file", token)
    assert again["account"]["account_id"] == account_id


def test_a_conflict_is_completed_in_two_steps_with_a_pending_token_from_a_file(
        person: Person, simulator: Simulator) -> None:
    email = fresh_email()
    person.sign_up(email)
    token = simulator.token("oidc.corp", email=email)
    conflict = person.json("sign-in", "--provider", "oidc.corp", code=UNFINISHED, LATCHKEY_ID_TOKEN=token)
    assert conflict["outcome"] == "account_exists" and conflict["sign_in_methods"] == ["password"]
    held = person.file("pending", conflict["pending_token"])
    assert person.json("providers", "--pending-token-file", held)["pending"]["email"] == email
    linked = person.json("link", "--pending-token-file", held)
    assert ways(linked) == {"password", "oidc.corp"} and not linked["already_linked"]


def test_a_pending_token_is_bound_to_its_profile(person: Person, simulator: Simulator) -> None:
    email = fresh_email()
    person.sign_up(email)
    token = simulator.token("oidc.corp", email=email)
    conflict = person.json("sign-in", "--provider", "oidc.corp", code=UNFINISHED, LATCHKEY_ID_TOKEN=token)
    held = person.file("pending", conflict["pending_token"])
    stolen = person.json("sign-in", "--email", email, "--pending-token-file", held, "--profile", "thief",
                         code=REFUSED, LATCHKEY_PASSWORD=PASSWORD)
    assert stolen["error"]["reason"] == "PENDING_CREDENTIAL_MISMATCH"


def test_sign_in_methods_are_linked_and_unlinked(person: Person, simulator: Simulator) -> None:
    person.json("sign-in", "--anonymous")
    email = fresh_email()
    assert ways(person.json("link", "--email", email, LATCHKEY_PASSWORD=PASSWORD)) == {"password"}
    token = person.file("token.jwt", simulator.token("oidc.partner"))
    linked = person.json("link", "--provider", "oidc.partner", "--id-token-file", token)
    assert ways(linked) == {"password", "oidc.partner"}
    assert person.json("link", "--provider", "oidc.partner", "--id-token-file", token)["already_linked"]
    assert ways(person.json("unlink", "oidc.partner")) == {"password"}
    last = person.json("unlink", "password", code=REFUSED)
    assert last["error"]["reason"] == "LAST_SIGN_IN_METHOD"


def test_the_pending_token_of_a_credential_in_use_signs_in_to_its_owner(
        person: Person, simulator: Simulator) -> None:
    token = simulator.token("oidc.partner")
    owner = person.json("sign-in", "--provider", "oidc.partner", LATCHKEY_ID_TOKEN=token)["account"]["account_id"]
    person.sign_up(fresh_email())
    in_use = person.json("link", "--provider", "oidc.partner", code=UNFINISHED, LATCHKEY_ID_TOKEN=token)
    assert in_use["outcome"] == "credential_in_use"
    assert person.json("sign-in", "--pending")["account"]["account_id"] == owner


def test_reauthenticate_accepts_the_same_user_and_no_other(person: Person) -> None:
    email, other = fresh_email(), fresh_email()
    person.sign_up(other)
    person.sign_up(email)
    assert person.json("reauthenticate", "--email", email, LATCHKEY_PASSWORD=PASSWORD)["outcome"] == "session"
    refused = person.json("reauthenticate", "--email", other, code=REFUSED, LATCHKEY_PASSWORD=PASSWORD)
    assert refused["error"]["reason"] == "USER_MISMATCH"
    assert person.run("reauthenticate").returncode == USAGE


def test_a_caller_with_the_right_gets_the_providers_of_an_address(person: Person) -> None:
    email = fresh_email()
    person.sign_up(email)
    assert person.json("providers", "--email", email) == {
        "registered": True, "provider_ids": ["password"], "sign_in_methods": ["password"], "methods_mailed": False}
    key = person.file("shop.apikey", KEYS["shop"])
    hidden = person.json("providers", "--email", email, "--api-key-file", key, "--profile", "shop")
    assert not hidden["registered"]
    assert person.run("providers").returncode == USAGE


def test_the_command_reports_methods_that_are_mailed_instead_of_returned(person: Person, simulator: Simulator) -> None:
    shop = Person(person.server, person.home, {})
    shop.environment["LATCHKEY_API_KEY"] = KEYS["shop"]
    email = fresh_email()
    shop.sign_up(email)
    token = simulator.token("oidc.corp", email=email)
    shop.json("sign-in", "--provider", "oidc.corp", code=UNFINISHED, LATCHKEY_ID_TOKEN=token)
    held = shop.json("providers", "--pending")
    assert held["methods_mailed"] and held["sign_in_methods"] == []
    assert "were sent to the account's email address" in shop.run("providers", "--pending").stdout


def test_a_custom_token_signs_in(person: Person, admin: Client) -> None:
    account_id = person.sign_up(fresh_email())["account"]["account_id"]
    token = person.file("custom.jwt", admin.custom_token(account_id))
    signed_in = person.json("sign-in", "--custom-token-file", token)
    assert signed_in["account"]["account_id"] == account_id


def test_refresh_and_token_return_fresh_tokens_that_the_service_accepts(person: Person, web: Client) -> None:
    person.sign_up(fresh_email())
    first = person.json("token")["id_token"]
    remembered = person.sessions.read_text()
    assert person.json("refresh")["outcome"] == "session"
    assert person.sessions.read_text() != remembered
    printed = person.run("token")
    assert printed.returncode == DONE and web.verify(printed.stdout.strip()).active and web.verify(first).active


def test_an_expired_id_token_is_refreshed_automatically(person: Person) -> None:
    email = fresh_email()
    person.sign_up(email)
    document = json.loads(person.sessions.read_text())
    session = document["profiles"]["default"]["session"]
    session["id_token_expires_at_millis"] = int(time.time() * 1000)
    session["id_token"] = "expired"
    person.sessions.write_text(json.dumps(document))
    assert person.json("whoami")["account"]["email"] == email


def test_a_name_an_address_and_a_password_are_changed(person: Person) -> None:
    email, new = fresh_email(), fresh_email()
    person.sign_up(email)
    assert person.run("update").returncode == USAGE
    mail = ("--continue-uri", PAGE, "--locale", "de")
    named = person.json("update", "--display-name", "Alice", "--email", new, *mail)["account"]
    assert (named["email"], named["email_verified"]) == (new, False)
    person.json("update", "--new-password-file", person.file("new", "another horse staple"))
    person.json("sign-in", "--email", new, "--password-file", person.file("old", PASSWORD), code=REFUSED)
    person.json("sign-in", "--email", new, "--password-file", person.file("new", "another horse staple"))


def test_two_accounts_are_merged_after_a_report_and_a_decision_on_conflicts(person: Person) -> None:
    email, other = fresh_email(), fresh_email()
    person.sign_up(email)
    theirs = person.json("sign-up", "--email", other, "--profile", "other", LATCHKEY_PASSWORD=PASSWORD)
    assert person.run("merge", "--other-profile", "default").returncode == USAGE
    assert person.run("merge", "--other-profile", "other", "--keep", "password").returncode == USAGE
    conflict = [{"field": "password", "this": email, "other": other}]
    report = person.json("merge", "--other-profile", "other", "--dry-run")
    assert report["outcome"] == "report" and report["conflicts"] == conflict
    stopped = person.json("merge", "--other-profile", "other", code=UNFINISHED)
    assert stopped["outcome"] == "conflicts" and stopped["conflicts"] == conflict
    merged = person.json("merge", "--other-profile", "other", "--keep", "password=this")
    assert merged["closed_account_id"] == theirs["account"]["account_id"] and ways(merged) == {"password"}
    assert person.run("whoami", "--profile", "other").returncode == NOBODY


def test_an_account_is_deleted_only_after_a_confirmation(person: Person) -> None:
    email = fresh_email()
    person.sign_up(email)
    assert person.run("delete").returncode == USAGE
    assert person.json("delete", "--yes")["outcome"] == "deleted"
    assert person.run("whoami").returncode == NOBODY
    gone = person.json("sign-in", "--email", email, code=REFUSED, LATCHKEY_PASSWORD=PASSWORD)
    assert gone["error"]["reason"] == "INVALID_LOGIN_CREDENTIALS"


def test_an_administrator_deletes_an_account_only_after_a_confirmation(person: Person) -> None:
    key = {"LATCHKEY_API_KEY": KEYS["admin"]}
    email, other = fresh_email(), fresh_email()
    account_id = person.sign_up(email)["account"]["account_id"]
    assert person.run("delete-account", account_id, **key).returncode == USAGE
    done = person.json("delete-account", account_id, "--yes", **key)
    assert done == {"outcome": "deleted", "account_id": account_id}
    gone = person.json("delete-account", account_id, "--yes", code=REFUSED, **key)
    assert gone["error"]["reason"] == "ACCOUNT_NOT_FOUND"
    assert person.json("refresh", code=REFUSED)["error"]["reason"] == "INVALID_REFRESH_TOKEN"
    assert person.sign_up(email)["is_new_account"], "the address is free again"
    account_id = person.sign_up(other)["account"]["account_id"]
    readable = person.run("delete-account", account_id, "--yes", **key)
    assert readable.returncode == DONE and readable.stdout == f"Deleted: account {account_id}.\n"


def test_an_administrator_removes_the_last_sign_in_method_of_a_user_with_a_new_subject(
        person: Person, simulator: Simulator) -> None:
    key = {"LATCHKEY_API_KEY": KEYS["admin"]}
    email = fresh_email("gmail.com")

    def sign_in(subject: str) -> Any:
        token = simulator.token("google.com", subject=subject + email, email=email, email_verified=True)
        return person.json("sign-in", "--provider", "google.com", LATCHKEY_ID_TOKEN=token)

    account_id = sign_in("former-")["account"]["account_id"]
    assert person.run("unlink-provider", account_id, **key).returncode == USAGE
    refused = person.json("unlink-provider", account_id, "password", code=REFUSED, **key)
    assert refused["error"]["reason"] == "NO_SUCH_PROVIDER"
    answer = person.json("unlink-provider", account_id, "google.com", **key)
    assert ways(answer) == set() and answer["account"]["email"] == email
    assert person.run("refresh").returncode == REFUSED, "the session is over"
    again = sign_in("recreated-")
    assert again["account"]["account_id"] == account_id and not again["is_new_account"]
    readable = person.run("unlink-provider", account_id, "google.com", **key)
    assert readable.returncode == DONE
    assert readable.stdout.startswith(f"Unlinked google.com: account {account_id}\n")
    assert "Sign-in methods: none\n" in readable.stdout


def test_health_distinguishes_serving_unknown_and_unreachable(person: Person) -> None:
    assert person.json("health") == {"status": "SERVING"}
    assert person.json("health", "--service", "latchkey.v1.AuthService") == {"status": "SERVING"}
    assert person.json("health", "--service", "no.Such", code=REFUSED)["error"]["code"] == "NOT_FOUND"
    assert person.json("health", "--server", "127.0.0.1:1", code=UNREACHABLE)["error"]["code"] == "UNAVAILABLE"
    assert person.run("health", "--server", "no.such.invalid:1").returncode == UNREACHABLE


def test_a_server_with_an_untrusted_certificate_is_not_reached(person: Person) -> None:
    stranger = str(person.server.folder / "stranger.pem")
    for words in (["--ca", stranger], ["--server", f"127.0.0.2:{person.server.port}"]):
        ended = person.run("health", *words)
        assert ended.returncode == UNREACHABLE, ended.stderr
    assert "certificate" in person.run("health", "--ca", stranger).stderr


def test_the_calling_service_is_named_by_its_certificate_or_by_its_key(person: Person) -> None:
    email = fresh_email()
    person.sign_up(email)
    pair = [str(person.server.folder / f"web.{kind}") for kind in ("pem", "key")]
    by_certificate = person.json("providers", "--email", email, "--cert", pair[0], "--key", pair[1],
                                 LATCHKEY_API_KEY="")
    assert by_certificate["registered"]
    unknown = person.json("providers", "--email", email, code=REFUSED, LATCHKEY_API_KEY="lk_unknown")
    assert unknown["error"]["reason"] == "CALLER_UNIDENTIFIED"


def test_an_api_key_may_end_in_empty_lines_and_is_visible_ascii(person: Person) -> None:
    long = person.file("long.apikey", KEYS["web"] + " \r\n\n")
    assert person.json("health", "--api-key-file", long) == {"status": "SERVING"}
    assert person.json("providers", "--email", fresh_email(), "--api-key-file", long, LATCHKEY_API_KEY="")
    for wrong in ("lk_secret word", " lk_secret", "lk_secr\u00e9t", "lk_secret\nlk_secret", " "):
        file = person.file("wrong.apikey", wrong)
        told = [person.json("health", "--api-key-file", file, code=USAGE)["error"],
                person.json("health", code=USAGE, LATCHKEY_API_KEY_FILE=file)["error"],
                person.json("health", code=USAGE, LATCHKEY_API_KEY=wrong)["error"]]
        assert [each["option"] for each in told] == ["--api-key-file", "--api-key-file", "$LATCHKEY_API_KEY"]
        assert not [each for each in told if "lk_secr" in each["message"]]


@pytest.mark.parametrize("words", [
    ["sign-in"], ["sign-in", "--email", "a@b.c", "--provider", "x"], ["sign-in", "--nonce", "x"], ["unlink"],
    ["health", "--server", "nowhere"], ["health", "--cert", "x"], ["health", "--ca", "/no/such/file"],
    ["link"], ["sign-in", "--provider", "oidc.corp", "--id-token-file", "/no/such/file"], ["no-such-command"],
    ["sign-in", "--password", "hunter2"], ["sign-up", "--email", "a@b.c"],
])
def test_an_invalid_command_has_its_own_exit_code(person: Person, words: list[str]) -> None:
    ended = person.run(*words)
    assert ended.returncode == USAGE, ended.stdout + ended.stderr
    assert ended.stdout == "" and ended.stderr != "" and "hunter2" not in ended.stderr


def test_an_error_contains_no_secret(person: Person, simulator: Simulator) -> None:
    email = fresh_email()
    person.sign_up(email)
    secrets = [WRONG, KEYS["web"], simulator.token("oidc.corp", audiences=["stranger"])]
    texts = []
    for form in ([], ["--json"]):
        wrong = person.run("sign-in", "--email", email, "--password-file", "-", *form, typed=WRONG + "\n")
        assert wrong.returncode == REFUSED
        foreign = person.run("sign-in", "--provider", "oidc.corp", "--id-token-file", "-", *form, typed=secrets[2])
        assert foreign.returncode == REFUSED
        texts += [wrong.stdout + wrong.stderr, foreign.stdout + foreign.stderr]
    session = json.loads(person.sessions.read_text())["profiles"]["default"]["session"]
    secrets += [session["id_token"], session["refresh_token"]]
    assert not [secret for secret in secrets for text in texts if secret in text]


def test_the_terminal_prompts_for_a_password_and_does_not_show_it(person: Person) -> None:
    email = fresh_email()
    signed_up = converse(person, ["sign-up", "--email", email], [("New password", PASSWORD), ("Repeat the", PASSWORD)])
    assert signed_up[0] == DONE and PASSWORD not in signed_up[1] and email in signed_up[1]
    typed = PASSWORD[:-1] + "x\x7f" + PASSWORD[-1]
    signed_in = converse(person, ["sign-in", "--email", email], [("Password", typed)])
    assert signed_in[0] == DONE and PASSWORD[:8] not in signed_in[1]
    differs = converse(person, ["sign-up", "--email", email], [("New password", PASSWORD), ("Repeat the", WRONG)])
    assert differs[0] == USAGE and "not the same" in differs[1]
    given_up = converse(person, ["sign-in", "--email", email], [("Password", "half\x03")])
    assert given_up[0] == USAGE and "nothing was entered" in given_up[1]


def converse(person: Person, words: list[str], answers: list[tuple[str, str]]) -> tuple[int, str]:
    """Runs the command on a terminal of its own, and types each answer after its prompt."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(LATCHKEY, [str(LATCHKEY), *words], person.environment)
    seen, left = "", list(answers)
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # Linux returns EIO when the other end is closed.
            break
        if not piece:
            break
        seen += piece.decode()
        if left and left[0][0] in seen.rsplit("\n", 1)[-1]:
            os.write(terminal, (left.pop(0)[1] + "\n").encode())
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), seen


def test_the_help_of_watch_lists_every_type_of_event(person: Person) -> None:
    table = (ROOT / "proto/EVENTS.md").read_text()
    types = re.findall(r"^\| `([A-Z_]+)` ", table, re.MULTILINE)
    told = person.run("watch", "--help").stdout.partition("EVENTS.md explains:")[2].partition("USAGE:")[0]
    assert types and re.findall(r"[A-Z_]+", told) == types


def test_help_documents_every_exit_code_and_every_subcommand(person: Person) -> None:
    text = person.run("--help").stdout
    for word in ("Exit codes", "0 done", "1 the", "2 the", "3 the", "4 the", "5 no user"):
        assert word in " ".join(text.split())
    for name in ("sign-up", "sign-in", "sign-out", "whoami", "token", "refresh", "sessions", "providers", "link",
                 "unlink", "reauthenticate", "update", "merge", "delete", "health"):
        assert name in text
        assert person.run(name, "--help").returncode == DONE


def test_invalid_arguments_are_explained_to_programs_too(person: Person) -> None:
    for words in (["whoami", "--no-such-option"], ["delete"], ["no-such-command"]):
        ended = person.run(*words, "--json")
        assert ended.returncode == USAGE and ended.stdout == "" and ended.stderr.startswith("Error: ")


def test_the_help_of_every_command_has_an_example(person: Person) -> None:
    listed = person.run("--help").stdout.partition("USAGE:")[2]
    names = re.findall(r"^  ([a-z][a-z-]+)(?=\s)", listed, re.MULTILINE)
    assert {"sign-in", "whoami", "confirm-email", "remove-factors", "move"} <= set(names)
    texts = {name: person.run(name, "--help").stdout.partition("USAGE:")[0] for name in names}
    assert [name for name in names if f"latchkey {name}" not in " ".join(texts[name].split())] == []
    assert [line for text in texts.values() for line in broken_examples(text)] == []


def broken_examples(text: str) -> list[str]:
    """Examples that a terminal of 80 columns shows on two lines, so that they cannot be pasted."""
    lines = [line.strip() for line in text.splitlines()]
    return [line for line, following in zip(lines, lines[1:], strict=False)
            if line.startswith("latchkey ") and not line.endswith("\\") and following
            and not following.startswith(("latchkey ", "latchkeyd "))]
