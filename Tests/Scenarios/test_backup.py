"""Backups during sign-ups, and servers that start from them."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import sqlite3
import stat
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import databases
import grpc
import pytest
from clients import Client, anonymous, fresh_email, password, session
from configuration import KEYS
from failures import Refusal, expect_failure, read
from grpc import StatusCode
from latchkey.v1 import admin_service_pb2 as administration
from latchkey.v1.event_service_pb2 import EVENT_TYPE_BACKUP_MADE
from processes import LATCHKEYD, Server, Simulator

pytestmark = pytest.mark.skipif(databases.ON_POSTGRES, reason="a database is backed up by its own tools")

LATCHKEY = LATCHKEYD.parent / "latchkey"
Serve = Callable[..., Server]
Connect = Callable[..., Client]


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    return tmp_path / "copies"


class Crowd:
    """Users who sign up by email and password until they are stopped."""

    def __init__(self, clients: list[Client]) -> None:
        self.answered: list[str] = []
        self.enough = threading.Event()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._sign_up, args=(client,)) for client in clients]
        for thread in self._threads:
            thread.start()

    def _sign_up(self, client: Client) -> None:
        while not self._stop.is_set():
            email = fresh_email()
            client.create(email)
            self.answered.append(email)
            if len(self.answered) >= 150:
                self.enough.set()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def rows(database: Path, statement: str) -> list[tuple[object, ...]]:
    opened = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return opened.execute(statement).fetchall()
    finally:
        opened.close()


def restore(copy: Path, server: Server) -> None:
    """Follows deploy/docs/backup-restore.md, with the server stopped."""
    subprocess.run([LATCHKEY, "restore", copy, "--to", server.database], check=True, stdout=subprocess.DEVNULL)


def names(copies: Path) -> list[str]:
    """The backups of the folder. Each has a file with its digest, and there are no others."""
    every = sorted(path.name for path in copies.iterdir())
    backups = [name for name in every if not name.endswith(".sha256")]
    assert every == sorted(backups + [f"{name}.sha256" for name in backups])
    for name in backups:
        digest = hashlib.sha256((copies / name).read_bytes()).hexdigest()
        assert (copies / f"{name}.sha256").read_text() == f"{digest}  {name}\n"
    return backups


def test_a_backup_under_sign_ups_holds_every_account_that_was_answered_before_it(
        serve: Serve, connect: Connect, folder: Path, simulator: Simulator, copies: Path) -> None:
    server = serve(store={"backup_folder": str(copies)}, throttles={"sign_ups_per_caller_max": 0})
    admin = connect(server, key="admin")
    crowd = Crowd([connect(server) for _ in range(6)])
    try:
        assert crowd.enough.wait(60)
        made = []
        for _ in range(3):
            before = list(crowd.answered)
            made.append((before, admin.backup(), list(crowd.answered)))
    finally:
        crowd.stop()
    assert len(crowd.answered) > len(made[-1][0]), "users signed up during the backup"

    for before, answer, after in made:
        copy = copies / answer.file_name
        held = copy.read_bytes()
        assert (answer.size_bytes, answer.sha256) == (len(held), hashlib.sha256(held).digest())
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        assert rows(copy, "PRAGMA integrity_check") == [("ok",)]
        emails = {email for email, in rows(copy, "SELECT email FROM accounts")}
        assert set(before) <= emails and len(emails) == answer.accounts
        # Each account was written in one transaction with its audit row, so both are there, or neither.
        audited = {account for account, in rows(copy, "SELECT account_id FROM audit WHERE event = 'ACCOUNT_CREATED'")}
        assert audited == {account for account, in rows(copy, "SELECT id FROM accounts")}
        positions = [position for position, in rows(copy, "SELECT position FROM audit ORDER BY position")]
        assert positions == list(range(1, len(positions) + 1))
    assert names(copies) == sorted(answer.file_name for _, answer, _ in made)

    before, answer, _ = made[-1]
    other = serve()
    other.stop()
    restore(copies / answer.file_name, other)
    other.launch()
    client, judge = connect(other), connect(other, key="admin")
    for email in before:
        assert session(client.sign_in(password(email))).account.email == email
    assert len(judge.export_accounts()) == answer.accounts
    # Events after the cursor are not in the copy. In the first server, the backup's own row comes before them.
    followed = [each.event.type for each in take(admin, answer.event_cursor, 1)]
    assert followed and EVENT_TYPE_BACKUP_MADE in [each.event.type for each in take(admin, "", 10_000)]
    stored = rows(copies / answer.file_name, "SELECT count(*) FROM audit")[0][0]
    assert len(take(admin, "", int(str(stored)))) == stored
    session(client.sign_in(anonymous()))
    assert len(judge.export_accounts()) == answer.accounts + 1


def take(client: Client, cursor: str, most: int) -> list[object]:
    """At most so many events after the cursor. A response without an event follows the last one."""
    stream = client.watch(cursor, timeout=60)
    told = itertools.takewhile(lambda each: each.HasField("event"), stream)
    events = list(itertools.islice(told, most))
    stream.cancel()
    return events


def test_a_server_is_restored_from_its_backup(serve: Serve, connect: Connect, copies: Path) -> None:
    server = serve(store={"backup_folder": str(copies)})
    web, admin = connect(server), connect(server, key="admin")
    email = fresh_email()
    made = web.create(email)
    resting, moving = session(web.sign_in(password(email))), session(web.sign_in(password(email)))
    answer = admin.backup()
    moved = web.refresh(moving.refresh_token)
    admin.set_disabled(made.account.account_id, True)
    later = fresh_email()
    web.create(later)
    server.stop()
    restore(copies / answer.file_name, server)
    server.launch()
    web, admin = connect(server), connect(server, key="admin")
    # Disabled after the backup, so enabled again. Only the session with a newer token has changed.
    assert session(web.sign_in(password(email))).account.account_id == made.account.account_id
    assert web.refresh(resting.refresh_token).session_id == resting.session_id
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_REFRESH_TOKEN", "TOKEN_REVOKED"):
        web.refresh(moved.refresh_token)
    with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
        admin.lookup(email=later)
    web.create(later)
    assert admin.backup().accounts == 2


def test_without_a_folder_a_backup_fails_and_names_the_missing_setting(admin: Client) -> None:
    with expect_failure(StatusCode.FAILED_PRECONDITION, "BACKUP_NOT_CONFIGURED") as refusal:
        admin.backup()
    assert "store.backup_folder" in refusal.text


def test_one_backup_is_made_at_a_time(serve: Serve, connect: Connect, copies: Path) -> None:
    server = serve(store={"backup_folder": str(copies)})
    admins = [connect(server, key="admin") for _ in range(6)]
    for each in admins:
        session(each.sign_in(anonymous()))
    made: list[str] = []
    refused: list[Refusal] = []
    start = threading.Barrier(len(admins))

    def back_up(client: Client) -> None:
        start.wait()
        try:
            made.append(client.backup().file_name)
        except grpc.RpcError as error:
            refused.append(read(error))

    # A backup of so little may be over before another one is asked for.
    deadline = time.monotonic() + 60
    while not refused and time.monotonic() < deadline:
        with ThreadPoolExecutor(len(admins)) as pool:
            list(pool.map(back_up, admins))
    assert made and refused and (len(made) + len(refused)) % len(admins) == 0
    for refusal in refused:
        assert (refusal.code, refusal.reason) == (StatusCode.RESOURCE_EXHAUSTED, "BACKUP_IN_PROGRESS")
        assert refusal.retry_seconds == 10
    assert names(copies) == sorted(made)
    admins[0].backup()


def test_the_folder_keeps_the_newest_backups_without_leftovers_and_has_one_owner(
        serve: Serve, connect: Connect, copies: Path) -> None:
    server = serve(store={"backup_folder": str(copies), "backups_kept": 2})
    admin = connect(server, key="admin")
    made = [admin.backup().file_name for _ in range(4)]
    assert names(copies) == made[2:]
    server.kill()
    for suffix in (".draft", ".draft-journal", ".draft-wal", ".draft.sha256", ".draft.sha256.123"):
        (copies / (made[0] + suffix)).write_bytes(b"a crash left it")
    (copies / (made[0] + ".sha256")).write_bytes(b"its backup was not published")
    server.launch()
    assert names(copies) == made[2:]
    with pytest.raises(RuntimeError, match="store.backup_folder"):
        serve(store={"backup_folder": str(copies)})


def test_a_call_that_ends_by_its_deadline_leaves_nothing(serve: Serve, connect: Connect, copies: Path) -> None:
    server = serve(store={"backup_folder": str(copies)})
    admin = connect(server, key="admin")
    batch = [administration.ImportedAccount(display_name="x" * 256) for _ in range(1_000)]
    for _ in range(4):
        admin.import_accounts([batch])
    made, took = [], []
    for _ in range(2):
        begun = time.monotonic()
        made.append(admin.backup().file_name)
        took.append(time.monotonic() - begun)
    with pytest.raises(grpc.RpcError) as ended:
        admin.backup(timeout=min(took) / 4)
    assert ended.value.code() == StatusCode.DEADLINE_EXCEEDED
    # The cancelled backup may be about to end.
    while True:
        try:
            answer = admin.backup()
            break
        except grpc.RpcError as error:
            assert read(error).reason == "BACKUP_IN_PROGRESS"
    assert answer.accounts == 4_000
    assert names(copies) == sorted([*made, answer.file_name])


def test_the_command_prints_the_new_backup_and_returns_an_exit_code_for_errors(
        serve: Serve, server: Server, connect: Connect, copies: Path) -> None:
    configured = serve(store={"backup_folder": str(copies)})
    session(connect(configured).sign_in(anonymous()))

    def run(to: Server, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(copies.parent), "LATCHKEY_SERVER": to.address,
                       "LATCHKEY_CA": str(to.folder / "authority.pem"), "LATCHKEY_API_KEY": KEYS["admin"]}
        return subprocess.run([LATCHKEY, "backup", *words], env=environment, capture_output=True, text=True, timeout=60)

    told = run(configured)
    [copy] = map(copies.joinpath, names(copies))
    assert told.returncode == 0 and told.stderr == ""
    for word in (copy.name, hashlib.sha256(copy.read_bytes()).hexdigest(), "1 accounts", "latchkey watch --from "):
        assert word in told.stdout
    answer = json.loads(run(configured, "--json").stdout)
    assert set(answer) == {"outcome", "file_name", "size_bytes", "sha256", "accounts", "event_cursor", "created_at"}
    copy = copies / answer["file_name"]
    assert (answer["outcome"], answer["size_bytes"], answer["accounts"]) == ("backed_up", copy.stat().st_size, 1)
    assert answer["sha256"] == hashlib.sha256(copy.read_bytes()).hexdigest()
    refused = run(server)
    assert refused.returncode == 1 and refused.stdout == "" and "BACKUP_NOT_CONFIGURED" in refused.stderr
    assert "store.backup_folder" in run(server, "--help").stdout
