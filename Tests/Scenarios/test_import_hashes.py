"""Password hashes of other frameworks: import, sign-in with the old password, and replacement."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import clients
import pytest
from clients import Client, fresh_email, password, session
from failures import expect_failure
from latchkey.v1 import admin_service_pb2 as admin_pb2
from latchkey.v1.errors_pb2 import ERROR_REASON_INVALID_FIELD
from processes import Server, Simulator
from test_import import WRONG, hashes, latchkey


@pytest.fixture(scope="module")
def sixteen(folder: Path, simulator: Simulator) -> Iterator[Server]:
    """A server that accepts bcrypt up to cost 16."""
    server = Server.start(folder, simulator, passwords={"imported_bcrypt_cost_max": 16})
    yield server
    server.stop()


@pytest.fixture(scope="module")
def keeper(sixteen: Server) -> Iterator[Client]:
    client = Client(sixteen, key="admin")
    yield client
    client.close()


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slowest hash takes seconds even on an idle machine. The server itself allows a minute."""
    monkeypatch.setattr(clients, "TIMEOUT_SECONDS", 120)


def library_hashes() -> list[Any]:
    """Hashes by passlib, Django and Werkzeug, which ../Common/foreign_hashes/make.py wrote.

    The slow ones come last: from then on, each wrong password takes the time of the slowest hash.
    """
    path = Path(__file__).parent.parent / "Common" / "foreign_hashes" / "vectors.json"
    return [pytest.param(each, id=each["name"], marks=[pytest.mark.slow] if each["slow"] else [])
            for each in sorted(json.loads(path.read_text())["vectors"], key=lambda each: each["slow"])]


@pytest.mark.parametrize("vector", library_hashes())
def test_check_102_a_hash_of_an_independent_library_signs_in_once_and_is_replaced(
        keeper: Client, vector: dict[str, Any]) -> None:
    row = admin_pb2.ImportedAccount(email=fresh_email(), password_hash=base64.b64decode(vector["hash"]),
                                    salt=base64.b64decode(vector["salt"]))
    options = admin_pb2.ImportHash(algorithm="HASH_ALGORITHM_" + vector["algorithm"], rounds=vector["rounds"])
    [answer] = keeper.import_accounts([[row]], admin_pb2.ImportOptions(hash=options))
    assert answer.imported == 1, answer
    if not vector["slow"]:
        with expect_failure(*WRONG):
            keeper.sign_in(password(row.email, "another secret"))
    account_id = session(keeper.sign_in(password(row.email, "an old secret"))).account.account_id
    assert hashes(keeper)[account_id].startswith("$argon2id$")
    session(keeper.sign_in(password(row.email, "an old secret")))


def test_lines_with_the_texts_of_django_are_imported_by_the_command_line(
        sixteen: Server, keeper: Client, tmp_path: Path) -> None:
    tag = fresh_email().split("@")[0]
    texts = [base64.b64decode(each.values[0]["hash"]).decode() for each in library_hashes()
             if each.values[0]["algorithm"] == "DJANGO"] + ["bcrypt_sha256$$2b$12$" + "a" * 53]
    lines = [{"account_id": f"{tag}-{number}", "email": f"{tag}.{number}@example.com", "password_hash": text}
             for number, text in enumerate(texts)]
    (tmp_path / "users.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = latchkey(sixteen, "import", tmp_path / "users.jsonl", "--hash-algo", "DJANGO", code=1)
    assert (told["imported"], [error["field"] for error in told["errors"]]) == (len(texts) - 1, ["password_hash"])
    for line in lines[:-1]:
        signed = session(keeper.sign_in(password(line["email"], "an old secret")))
        assert signed.account.account_id == line["account_id"]


def test_bcrypt_above_the_configured_cost_is_refused(keeper: Client) -> None:
    row = admin_pb2.ImportedAccount(email=fresh_email(), password_hash=b"$2b$17$" + b"a" * 53)
    [answer] = keeper.import_accounts(
        [[row]], admin_pb2.ImportOptions(hash=admin_pb2.ImportHash(algorithm="HASH_ALGORITHM_BCRYPT")))
    assert [(error.reason, error.field) for error in answer.errors] == [(ERROR_REASON_INVALID_FIELD, "password_hash")]
