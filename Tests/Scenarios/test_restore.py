"""`latchkey restore`, and servers that start with the write-ahead log of another database file."""

from __future__ import annotations

import hashlib
import json
import os
import random
import secrets
import shutil
import signal
import sqlite3
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import databases
import pytest
from clients import Client, fresh_email, password, session
from failures import expect_failure
from grpc import StatusCode
from processes import LATCHKEYD, Server

pytestmark = pytest.mark.skipif(databases.ON_POSTGRES, reason="a database is restored by its own tools")

LATCHKEY = LATCHKEYD.parent / "latchkey"
Serve = Callable[..., Server]
Connect = Callable[..., Client]


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([LATCHKEY, "restore", *words], capture_output=True, text=True, timeout=120)


def log_of(server: Server) -> Path:
    return Path(f"{server.database}-wal")


class Case:
    """A server with one account in its backup, and a later one only in its log. It was killed."""

    def __init__(self, serve: Serve, connect: Connect, folder: Path) -> None:
        self.server = serve(store={"backup_folder": str(folder / "copies")})
        self.connect = connect
        web, admin = connect(self.server), connect(self.server, key="admin")
        self.before, self.after = fresh_email(), fresh_email()
        web.create(self.before)
        self.answer = admin.backup()
        self.copy = folder / "copies" / self.answer.file_name
        web.create(self.after)
        self.server.kill()
        assert log_of(self.server).stat().st_size > 0

    def accounts(self) -> set[str]:
        """Starts the server, and returns the accounts that can sign in."""
        self.server.launch()
        web, found = self.connect(self.server), set()
        for email in (self.before, self.after):
            try:
                session(web.sign_in(password(email)))
                found.add(email)
            except Exception as error:
                assert getattr(error, "reason", "") == "INVALID_LOGIN_CREDENTIALS", error
        return found


@pytest.fixture
def case(serve: Serve, connect: Connect, tmp_path: Path) -> Case:
    return Case(serve, connect, tmp_path)


def test_a_backup_that_is_copied_next_to_an_old_log_is_refused_at_the_start_with_the_remedy(case: Case) -> None:
    shutil.copy(case.copy, case.server.database)
    content, log = case.server.database.read_bytes(), log_of(case.server).read_bytes()
    with pytest.raises(RuntimeError, match="store.path.*-wal belongs to another database file.*latchkey restore"):
        case.server.launch()
    assert case.server.wait() == 78
    assert (case.server.database.read_bytes(), log_of(case.server).read_bytes()) == (content, log)
    assert run(case.copy, "--to", case.server.database).returncode == 0
    assert case.accounts() == {case.before}


def test_a_killed_server_continues_with_its_own_log_each_time(case: Case) -> None:
    for _ in range(3):
        assert case.accounts() == {case.before, case.after}
        case.connect(case.server).create(fresh_email())
        case.server.kill()


def test_a_restore_replaces_the_database_and_its_log_and_keeps_the_former_one(case: Case) -> None:
    done = run(case.copy, "--to", case.server.database)
    assert (done.returncode, done.stderr) == (0, "")
    for word in (f"Restored: {case.server.database}, ", " 1 accounts", case.answer.sha256.hex(), "start the server"):
        assert word in done.stdout
    [former] = [path for path in case.server.database.parent.glob(f"{case.server.database.name}.before-*")
                if not path.name.endswith("-wal")]
    assert f"Former file: {former}" in done.stdout
    status = case.server.database.stat()
    assert stat.S_IMODE(status.st_mode) == 0o600 and status.st_uid == former.stat().st_uid
    assert not log_of(case.server).exists()
    assert case.accounts() == {case.before}
    # The former database is complete.
    rows = sqlite3.connect(former)
    assert {email for email, in rows.execute("SELECT email FROM accounts")} == {case.before, case.after}
    rows.close()


def test_a_restore_without_the_former_file_prints_one_document(case: Case) -> None:
    done = run(case.copy, "--to", case.server.database, "--replace", "--json")
    answer = json.loads(done.stdout)
    assert answer == {"outcome": "restored", "size_bytes": case.answer.size_bytes, "accounts": 1, "former_file": None,
                      "sha256": case.answer.sha256.hex()}
    assert not list(case.server.database.parent.glob(f"{case.server.database.name}.before-*"))
    assert case.accounts() == {case.before}


def test_a_backup_with_another_digest_or_damage_is_rejected_and_changes_nothing(case: Case, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.db"
    content = bytearray(case.copy.read_bytes())
    for page in range(2, len(content) // 4096):
        content[page * 4096:page * 4096 + 64] = secrets.token_bytes(64)
    damaged.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    expected = case.answer.sha256.hex()
    for words, why in [
        ((damaged, "--sha256", expected), f"has the SHA-256 {digest}, expected {expected}"),
        ((damaged, "--sha256", digest), "rejected"), ((damaged, "--without-digest"), "rejected"),
        ((damaged,), "the digest of the backup is unknown"),
        ((tmp_path / "none.db", "--without-digest"), "cannot be read"),
    ]:
        refused = run(*words, "--to", case.server.database)
        assert refused.returncode == 1 and refused.stdout == "" and why in refused.stderr, refused.stderr
    error = json.loads(run(damaged, "--to", case.server.database, "--without-digest", "--json").stdout)
    assert error["error"]["message"].startswith("The backup is rejected: ")
    assert not list(case.server.database.parent.glob("*.restore-draft*"))
    assert case.accounts() == {case.before, case.after}


def test_a_database_that_a_server_uses_is_not_restored(case: Case) -> None:
    assert case.accounts() == {case.before, case.after}
    refused = run(case.copy, "--to", case.server.database)
    assert refused.returncode == 2 and "held by another process" in refused.stderr
    session(case.connect(case.server).sign_in(password(case.after)))


def test_a_restore_that_cannot_write_changes_nothing(case: Case, tmp_path: Path) -> None:
    refused = run(case.copy, "--to", tmp_path / "none" / "latchkey.db")
    assert refused.returncode == 2 and "cannot be found" in refused.stderr
    for words in (("--sha256", "abc"), ("--sha256", "0" * 64, "--without-digest")):
        assert run(case.copy, "--to", case.server.database, *words).returncode == 2
    assert case.accounts() == {case.before, case.after}


@pytest.mark.timeout(300)
def test_a_restore_that_is_killed_at_any_time_leaves_the_former_database_or_the_restored_one(case: Case) -> None:
    begun = time.monotonic()
    assert run(case.copy, "--to", "/dev/shm/latchkey-restore-timing.db", "--replace").returncode == 0
    whole = time.monotonic() - begun
    for path in Path("/dev/shm").glob("latchkey-restore-timing.db*"):
        path.unlink()
    chance, seen = random.Random(1), set()
    kept = case.server.database.with_name("kept.db")
    for suffix in ("", "-wal", ".lock"):
        shutil.copy(f"{case.server.database}{suffix}", f"{kept}{suffix}")
    for _ in range(12):
        for suffix in ("", "-wal", ".lock"):
            shutil.copy(f"{kept}{suffix}", f"{case.server.database}{suffix}")
        process = subprocess.Popen([LATCHKEY, "restore", case.copy, "--to", case.server.database],
                                   stdout=subprocess.DEVNULL)
        time.sleep(chance.random() * whole * 1.2)
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = case.accounts()
        assert found in ({case.before}, {case.before, case.after})
        seen.add(len(found))
        case.server.stop()
    print(seen)


def test_a_restored_signing_key_can_be_revoked_again(serve: Serve, connect: Connect, tmp_path: Path) -> None:
    server = serve(store={"backup_folder": str(tmp_path / "copies")})
    web, admin = connect(server), connect(server, key="admin")
    made = web.create(fresh_email())
    [stolen] = admin.list_signing_keys()
    answer = admin.backup()
    admin.revoke_signing_key(stolen.key_id)
    server.stop()
    assert run(tmp_path / "copies" / answer.file_name, "--to", server.database).returncode == 0
    server.launch()
    web, admin = connect(server), connect(server, key="admin")
    assert web.get(made.id_token).account_id == made.account.account_id
    admin.revoke_signing_key(stolen.key_id)
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_ID_TOKEN"):
        web.get(made.id_token)


def test_the_owner_of_a_new_database_is_that_of_its_folder(case: Case, tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give files away")
    folder = tmp_path / "service"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    target = folder / "latchkey.db"
    assert run(case.copy, "--to", target).returncode == 0
    for path in (target, Path(f"{target}.lock")):
        assert (path.stat().st_uid, path.stat().st_gid, stat.S_IMODE(path.stat().st_mode)) == (65534, 65534, 0o600)
