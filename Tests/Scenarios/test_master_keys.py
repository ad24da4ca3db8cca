"""The rotation of the master key: one server from the old key to the new one, a kill while rows are sealed again, and
two servers with the keys in either order."""

from __future__ import annotations

import base64
import secrets
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import databases
import pytest
from authenticators import Enrolled, enrolled
from clients import (
    PASSWORD,
    Client,
    anonymous,
    assertion,
    conflict,
    factor_required,
    fresh_email,
    password,
    session,
)
from configuration import KEYS
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import admin_service_pb2 as admin
from metrics import ON_A_FREE_PORT, Scrape
from processes import LATCHKEYD, Server, Simulator
from waiting import comes_true, until

pytestmark = pytest.mark.timeout(300)
# Rows are sealed again a minute after the last server has confirmed the old key as its first. A server with a file of
# its own does not wait.
SEALED_SECONDS = 130 if databases.ON_POSTGRES else 30
DEVICE = {"device_id": "the phone"}


def key_file(server: Server) -> str:
    path = server.folder / f"master-{secrets.token_hex(4)}.key"
    path.write_text(secrets.token_hex(32))
    path.chmod(0o600)
    return path.name


def restart(server: Server, *files: str) -> None:
    server.stop()
    server.settings["secrets"] = {"master_key_files": list(files)}
    server.launch()


def states(client: Client) -> list[str]:
    return [admin.MasterKeyState.Name(each.state).removeprefix("MASTER_KEY_STATE_") for each in client.master_keys()]


def rows(key: admin.MasterKeyUse) -> dict[str, int]:
    return {each.table: each.rows for each in key.sealed_rows}


def sign_in(client: Client, user: Enrolled) -> None:
    required = factor_required(client.sign_in(password(user.email)))
    session(client.finish_factor(required.pending_token, user.authenticator.factor_id, user.authenticator.code()))


def test_the_key_of_a_running_service_is_replaced(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = serve()
    old = str(server.settings["secrets"]["master_key_files"][0])
    new = key_file(server)
    user = enrolled(connect(server), simulator)
    email, repeated = fresh_email(), secrets.token_hex(8)
    owner = connect(server).create(email)
    exists = conflict(connect(server).sign_in(assertion(simulator, "oidc.corp", email=email)))
    guest = session(connect(server).sign_in(anonymous(), idempotency_key=repeated, client=DEVICE))

    restart(server, old, new)
    assert states(connect(server, key="admin")) == ["SEALS", "UNUSED"]
    restart(server, new, old)
    operator = connect(server, key="admin")
    until(lambda: not rows(operator.master_keys()[1]), SEALED_SECONDS, "rows are still sealed under the old key")
    first, second = operator.master_keys()
    assert rows(first)["factors"] == 2 and rows(first)["signing_keys"] >= 1 and rows(first)["pendings"] >= 1
    assert states(operator)[0] == "SEALS" and second.id != first.id

    client = connect(server)
    again = session(client.sign_in(anonymous(), idempotency_key=repeated, client=DEVICE))
    assert again.session_id == guest.session_id
    linked = session(client.sign_in(password(email), pending_token=exists.pending_token))
    assert linked.account.account_id == owner.account.account_id
    sign_in(client, user)
    kept = client.refresh(user.session.refresh_token)

    restart(server, new)
    client, operator = connect(server), connect(server, key="admin")
    assert states(operator) == ["SEALS", "REMOVED"]
    sign_in(client, user)
    assert client.refresh(kept.refresh_token).session_id == user.session.session_id
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_REFRESH_TOKEN"):
        client.refresh(owner.refresh_token)


def test_a_server_without_the_key_of_its_rows_does_not_start_and_names_the_key(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    [ours] = connect(server, key="admin").master_keys()
    with pytest.raises(RuntimeError, match=f"is sealed under master key {ours.id}, not [0-9a-f]{{8}}"):
        restart(server, key_file(server))
    assert server.wait() == 78


@pytest.mark.skipif(databases.ON_POSTGRES, reason="the test changes a file")
def test_rows_under_a_key_that_the_server_does_not_have_are_reported_with_its_id(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = serve(metrics=ON_A_FREE_PORT)
    enrolled(connect(server), simulator)
    server.stop()
    with sqlite3.connect(server.database) as database:
        for name, sealed in database.execute("SELECT id, sealed_secret FROM factors").fetchall():
            foreign = bytes.fromhex("deadbeef") + sealed[4:]
            database.execute("UPDATE factors SET sealed_secret = ? WHERE id = ?", (foreign, name))
    database.close()
    begun = server.log.stat().st_size
    server.launch()
    message = "rows are sealed under a master key that this server does not have"
    until(lambda: any(line["message"] == message for line in server.lines(begun)))
    [line] = [line for line in server.lines(begun) if line["message"] == message]
    assert (line["key"], line["factors"], line["level"]) == ("deadbeef", "2", "error")
    operator = connect(server, key="admin")
    assert states(operator) == ["SEALS", "MISSING"] and operator.master_keys()[1].id == "deadbeef"
    until(lambda: Scrape.of(server)("latchkey_master_key_missing_rows") == 2)


@pytest.mark.parametrize(("files", "why"), [
    ([], "it must name at least one file"),
    (["master.key", "master.key"], "contain the same key"),
    (["master.key"] * 5, "it must name at most 4 files, not 5"),
    (["master.key", "missing.key"], "missing.key cannot be read"),
    (["credential:master.key"], "needs the variable CREDENTIALS_DIRECTORY"),
    (["credential:../master.key"], "must be credential:NAME"),
])
def test_a_list_of_keys_that_cannot_be_used_is_rejected(
        files: list[str], why: str, serve: Callable[..., Server]) -> None:
    server = serve()
    with pytest.raises(RuntimeError, match=f"secrets.master_key_files: .*{why}"):
        restart(server, *files)
    assert server.wait() == 78


def test_secrets_are_taken_from_the_credentials_of_systemd(serve: Callable[..., Server]) -> None:
    server = serve()
    given = server.folder / f"credentials-{server.port}"
    given.mkdir()
    for name in ("master.key", "server.key"):
        (given / name).write_bytes((server.folder / name).read_bytes())
        (given / name).chmod(0o400)
    server.environment["CREDENTIALS_DIRECTORY"] = str(given)
    server.settings["tls"]["key_file"] = "credential:server.key"
    restart(server, "credential:master.key")
    assert not [line for line in server.lines() if line["level"] in ("warning", "error")]


def test_the_command_states_in_one_sentence_whether_a_key_can_be_removed(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    old, new = str(server.settings["secrets"]["master_key_files"][0]), key_file(server)

    def told() -> list[str]:
        ended = subprocess.run(
            [LATCHKEYD.parent / "latchkey", "keys", "status"], capture_output=True, text=True, check=True, timeout=60,
            env={"HOME": str(server.folder), "LATCHKEY_SERVER": server.address, "LATCHKEY_API_KEY": KEYS["admin"],
                 "LATCHKEY_CA": str(server.folder / "authority.pem")})
        return [line.split(": ", 1)[1] for line in ended.stdout.splitlines() if not line.startswith(" ")]

    [only] = connect(server, key="admin").master_keys()
    assert told() == [f"The key {only.id} seals. Keep it."]
    restart(server, old, new)
    unused = connect(server, key="admin").master_keys()[1].id
    assert told()[1] == (f"The key {unused} has not sealed anything yet. "
                         "Put it first in secrets.master_key_files on all servers.")
    restart(server, new, old)
    until(lambda: "can be removed from secrets.master_key_files after 2" in told()[1], SEALED_SECONDS + 60)
    assert told()[0] == f"The key {unused} seals. Keep it."
    restart(server, new)
    assert told()[1] == f"The key {only.id} was removed. Keep it as long as you keep backups from before."


@pytest.mark.skipif(databases.ON_POSTGRES, reason="Tests/Faults kills one of several servers on a database")
def test_a_kill_while_rows_are_sealed_again_loses_nothing(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = serve()
    old, new = str(server.settings["secrets"]["master_key_files"][0]), key_file(server)
    client = connect(server)
    emails = [fresh_email() for _ in range(250)]
    with ThreadPoolExecutor(8) as callers:
        held = dict(callers.map(lambda email: (email, pending(client, simulator, email)), emails))
    server.stop()
    server.settings["secrets"] = {"master_key_files": [new, old]}
    for _ in range(4):
        begun = server.log.stat().st_size
        server.launch()
        # Later launches may find nothing to do.
        began = comes_true(
            lambda: "sealing rows again" in [line["message"] for line in server.lines(begun)], 5, pause_seconds=0.001)
        server.kill()
        if not began:
            break
    server.launch()
    operator = connect(server, key="admin")
    until(lambda: not rows(operator.master_keys()[1]), SEALED_SECONDS, "rows are still sealed under the old key")
    restart(server, new)
    client = connect(server)
    for email in emails[::10]:
        session(client.sign_in(password(email), pending_token=held[email]))


def pending(client: Client, simulator: Simulator, email: str) -> str:
    client.create(email)
    return conflict(client.sign_in(assertion(simulator, "oidc.corp", email=email))).pending_token


@pytest.mark.skipif(not databases.ON_POSTGRES, reason="a file has one server")
class TestServersWithTheKeysInEitherOrder:
    @pytest.fixture
    def servers(self, serve: Callable[..., Server]) -> tuple[Server, Server]:
        settings = {"throttles": {"password_failures_max": 6}, "metrics": ON_A_FREE_PORT}
        first = serve(**settings)
        new = key_file(first)
        old = str(first.settings["secrets"]["master_key_files"][0])
        restart(first, old, new)
        return first, serve(**{**settings, "metrics": ON_A_FREE_PORT}, secrets={"master_key_files": [new, old]},
                            store={"postgres": first.settings["store"]["postgres"]})

    @pytest.fixture
    def pair(self, servers: tuple[Server, Server], connect: Callable[..., Client]) -> tuple[Client, Client]:
        return connect(servers[0]), connect(servers[1])

    def test_a_refresh_token_has_one_successor_and_a_copy_ends_the_session(self, pair: tuple[Client, Client]) -> None:
        for number in range(20):
            made = pair[number % 2].create(fresh_email())
            with ThreadPoolExecutor(8) as callers:
                renewed = set(callers.map(lambda client: client.refresh(made.refresh_token).refresh_token, pair * 4))
            assert len(renewed) == 1
            latest = pair[1].refresh(renewed.pop()).refresh_token
            with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
                pair[number % 2].refresh(made.refresh_token)
            with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
                pair[0].refresh(latest)

    def test_attempts_are_counted_together(self, pair: tuple[Client, Client]) -> None:
        email = fresh_email()
        pair[0].create(email)

        def guess(client: Client) -> str:
            try:
                client.sign_in(password(email, "not the password at all"))
            except Exception as error:  # noqa: BLE001
                return str(error)
            return "signed in"

        with ThreadPoolExecutor(8) as callers:
            answers = list(callers.map(guess, pair * 10))
        assert sum("INVALID_LOGIN_CREDENTIALS" in each for each in answers) == 6
        assert sum("TOO_MANY_ATTEMPTS" in each for each in answers) == 14
        for client in pair:
            with expect_failure(StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_ATTEMPTS"):
                client.sign_in(password(email, PASSWORD))

    def test_a_call_that_reaches_both_at_the_same_time_takes_effect_once(self, pair: tuple[Client, Client]) -> None:
        for _ in range(20):
            key = secrets.token_hex(8)
            with ThreadPoolExecutor(8) as callers:
                made = list(callers.map(
                    lambda client: session(client.sign_in(anonymous(), idempotency_key=key, client=DEVICE)), pair * 4))
            assert len({each.account.account_id for each in made}) == 1
            assert len({each.session_id for each in made}) == 1

    def test_a_pending_credential_of_one_is_completed_at_the_other(
            self, pair: tuple[Client, Client], simulator: Simulator) -> None:
        for one, other in (pair, pair[::-1]):
            email = fresh_email()
            token = pending(one, simulator, email)
            session(other.sign_in(password(email), pending_token=token))

    def test_no_row_is_sealed_again_while_both_seal(
            self, servers: tuple[Server, Server], pair: tuple[Client, Client], connect: Callable[..., Client],
            simulator: Simulator) -> None:
        for client in pair:
            pending(client, simulator, fresh_email())
        time.sleep(45)
        for server in servers:
            assert Scrape.of(server).sum("latchkey_rows_sealed_again_total") == 0
            assert states(connect(server, key="admin")) == ["SEALS", "SEALS_ELSEWHERE"]


TOKEN_MODULE = "/usr/lib/softhsm/libsofthsm2.so"
WRAPPING = "pkcs11:token=latchkey;object=wrapping"


@pytest.mark.skipif(not Path(TOKEN_MODULE).exists() or shutil.which("pkcs11-tool") is None,
                    reason="softhsm2 and opensc are not installed")
class TestAKeyInATokenModule:
    @pytest.fixture
    def token(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A folder with a token of SoftHSM that has an RSA key, its PIN, and the public half of the key."""
        (tmp_path / "tokens").mkdir()
        (tmp_path / "softhsm2.conf").write_text(f"directories.tokendir = {tmp_path / 'tokens'}\n")
        monkeypatch.setenv("SOFTHSM2_CONF", str(tmp_path / "softhsm2.conf"))
        run("softhsm2-util", "--init-token", "--free", "--label", "latchkey", "--so-pin", "5678", "--pin", "1234")
        module = ("pkcs11-tool", "--module", TOKEN_MODULE, "--token-label", "latchkey")
        run(*module, "--login", "--pin", "1234", "--keypairgen", "--key-type", "rsa:2048", "--label", "wrapping",
            "--usage-decrypt", "--id", "01")
        run(*module, "--read-object", "--type", "pubkey", "--id", "01", "--output-file", tmp_path / "wrapping.der")
        (tmp_path / "pin").write_text("1234\n")
        return tmp_path

    def wrap(self, server: Server, token: Path, key: str, uri: str = WRAPPING, pin: str = "pin") -> str:
        sealed = subprocess.run(
            ["openssl", "pkeyutl", "-encrypt", "-pubin", "-keyform", "DER", "-inkey", token / "wrapping.der",
             "-pkeyopt", "rsa_padding_mode:oaep"], input=key.encode(), capture_output=True, check=True).stdout
        path = server.folder / f"wrapped-{secrets.token_hex(4)}.key"
        path.write_text(f"{uri}?module-path={TOKEN_MODULE}&pin-source={token / pin}\n"
                        + base64.encodebytes(sealed).decode())
        path.chmod(0o600)
        return path.name

    def test_a_wrapped_key_is_that_of_the_plain_file(
            self, token: Path, serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
        server = serve()
        made = connect(server).create(fresh_email())
        [plain] = connect(server, key="admin").master_keys()
        restart(server, self.wrap(server, token, (server.folder / "master.key").read_text() + "\n"))
        [wrapped] = connect(server, key="admin").master_keys()
        assert wrapped.id == plain.id
        assert connect(server).refresh(made.refresh_token).session_id == made.session_id
        restart(server, self.wrap(server, token, secrets.token_hex(32)), "master.key")
        assert states(connect(server, key="admin"))[0] == "SEALS"

    @pytest.mark.parametrize(("uri", "pin", "why"), [
        ("pkcs11:token=other;object=wrapping", "pin", "matches 0 tokens, not one"),
        ("pkcs11:token=latchkey;object=other", "pin", "matches no private keys, not one"),
        (WRAPPING, "wrong", "rejects the PIN or the session"),
        (WRAPPING, "missing", "has a pin-source that is unusable"),
    ])
    def test_a_key_that_cannot_be_unwrapped_is_rejected(
            self, uri: str, pin: str, why: str, token: Path, serve: Callable[..., Server]) -> None:
        server = serve()
        (token / "wrong").write_text("4321\n")
        name = self.wrap(server, token, (server.folder / "master.key").read_text(), uri, pin)
        with pytest.raises(RuntimeError, match=f"secrets.master_key_files: .*{name} .*{why}"):
            restart(server, name)
        assert server.wait() == 78

    def test_a_ciphertext_of_another_key_or_of_another_text_is_rejected(
            self, token: Path, serve: Callable[..., Server]) -> None:
        server = serve()
        name = self.wrap(server, token, "not a key")
        with pytest.raises(RuntimeError, match="must contain exactly 64 hexadecimal digits"):
            restart(server, name)
        path = server.folder / name
        first = path.read_text().splitlines()[0]
        path.write_text(f"{first}\n{base64.b64encode(secrets.token_bytes(256)).decode()}\n")
        with pytest.raises(RuntimeError, match="has a ciphertext that the key does not decrypt"):
            restart(server, name)


def run(*command: object) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
