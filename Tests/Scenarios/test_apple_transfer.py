"""An application moves to another team at Apple: users find their accounts by the transfer identifier."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import latchkey_settings
import pytest
from clients import Client, conflict, fresh_email, provider, session
from configuration import KEYS
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import admin_transfers_pb2 as transfers
from latchkey.v1 import errors_pb2 as errors
from latchkey.v1 import types_pb2 as types
from latchkey.v1.admin_service_pb2_grpc import AdminServiceStub
from processes import Server, Simulator
from test_latchkey_command import REFUSED, USAGE, Person

NOT_FOUND = errors.ERROR_REASON_ACCOUNT_NOT_FOUND
LINKED = errors.ERROR_REASON_PROVIDER_ALREADY_LINKED


def fresh(what: str) -> str:
    return f"{what}-{secrets.token_hex(8)}"


def apple(simulator: Simulator, subject: str, transfer: str = "", email: str = "") -> types.Credential:
    """A token of Apple's kit, with the claim of the 60 days after a move."""
    raw = fresh("nonce")
    claims: dict[str, object] = {"transfer_sub": transfer} if transfer else {}
    said = {"email": email, "email_verified": "true"} if email else {}
    token = simulator.token("apple.com", subject=subject, nonce=hashlib.sha256(raw.encode()).hexdigest(),
                            claims=claims, **said)
    return provider("apple.com", token, raw_nonce=raw)


def prepare(admin: Client, *rows: tuple[str, str]) -> transfers.SetTransferSubjectsResponse:
    request = transfers.SetTransferSubjectsRequest(
        rows=[transfers.TransferRow(subject=subject, transfer_subject=transfer) for subject, transfer in rows])
    return AdminServiceStub(admin.channel).SetTransferSubjects(request, timeout=20)


@pytest.fixture(scope="module")
def server(folder: Path, simulator: Simulator) -> Iterator[Server]:
    running = Server.start(folder, simulator, providers=latchkey_settings.providers(simulator.base))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def web(server: Server) -> Iterator[Client]:
    calling = Client(server, key="web")
    yield calling
    calling.close()


@pytest.fixture(scope="module")
def admin(server: Server) -> Iterator[Client]:
    calling = Client(server, key="admin")
    yield calling
    calling.close()


@pytest.fixture
def subjects(web: Client, admin: Client, simulator: Simulator) -> tuple[str, str, types.Session]:
    """An account with a subject of the former team, its transfer identifier, and a session."""
    old, transfer = fresh("old"), fresh("transfer")
    signed = session(web.sign_in(apple(simulator, old, email=fresh_email())))
    assert prepare(admin, (old, transfer)).changed == 1
    return old, transfer, signed


def test_X1_X2_X3_X4_each_row_is_decided_alone(
        web: Client, admin: Client, simulator: Simulator, subjects: tuple[str, str, types.Session]) -> None:
    old, transfer, _ = subjects
    other = fresh("other")
    session(web.sign_in(apple(simulator, other)))
    answer = prepare(admin, (old, transfer), (fresh("nobody"), "t"), (other, transfer), (other, fresh("transfer")))
    assert (answer.changed, answer.unchanged) == (1, 1)
    assert [(each.row, each.reason) for each in answer.errors] == [(1, NOT_FOUND), (2, LINKED)]


def test_X6_the_new_subject_finds_the_account_and_replaces_the_old_one(
        web: Client, simulator: Simulator, subjects: tuple[str, str, types.Session]) -> None:
    old, transfer, signed = subjects
    new, relay = fresh("new"), fresh_email()
    moved = session(web.sign_in(apple(simulator, new, transfer, relay)))
    assert moved.account.account_id == signed.account.account_id and not moved.is_new_account
    linked = [each for each in moved.account.providers if each.provider_id == "apple.com"]
    assert [(each.subject, each.email) for each in linked] == [(new, relay)]
    # The address of the account stays, and so does the session from before the move.
    assert moved.account.email == signed.account.email
    assert web.get(signed.id_token).account_id == signed.account.account_id
    # X5: from now on the subject is known, with the claim or without.
    for claim in (transfer, ""):
        assert session(web.sign_in(apple(simulator, new, claim))).account.account_id == signed.account.account_id
    # No account has the old subject any more.
    assert session(web.sign_in(apple(simulator, old))).is_new_account


def test_X5_a_known_subject_precedes_the_claim(
        web: Client, simulator: Simulator, subjects: tuple[str, str, types.Session]) -> None:
    _, transfer, signed = subjects
    known = fresh("known")
    other = session(web.sign_in(apple(simulator, known)))
    again = session(web.sign_in(apple(simulator, known, transfer)))
    assert again.account.account_id == other.account.account_id != signed.account.account_id


def test_X6_a_disabled_account_stays_disabled(
        web: Client, admin: Client, simulator: Simulator, subjects: tuple[str, str, types.Session]) -> None:
    _, transfer, signed = subjects
    admin.set_disabled(signed.account.account_id, True)
    new = fresh("new")
    with expect_failure(StatusCode.PERMISSION_DENIED, "USER_DISABLED"):
        web.sign_in(apple(simulator, new, transfer))
    admin.set_disabled(signed.account.account_id, False)
    moved = session(web.sign_in(apple(simulator, new, transfer)))
    assert moved.account.account_id == signed.account.account_id


def test_X7_unknown_identifiers_and_those_of_removed_accounts_mean_nothing(
        web: Client, simulator: Simulator, subjects: tuple[str, str, types.Session]) -> None:
    _, transfer, signed = subjects
    assert session(web.sign_in(apple(simulator, fresh("new"), fresh("unknown")))).is_new_account
    # An address of an account is a conflict, as without the claim.
    assert conflict(web.sign_in(apple(simulator, fresh("new"), fresh("unknown"), signed.account.email)))
    web.delete(signed.id_token)
    assert session(web.sign_in(apple(simulator, fresh("new"), transfer))).is_new_account


def test_X8_another_provider_ignores_the_claim(
        web: Client, simulator: Simulator, subjects: tuple[str, str, types.Session]) -> None:
    _, transfer, signed = subjects
    token = simulator.token("google.com", subject=fresh("g"), claims={"transfer_sub": transfer})
    other = session(web.sign_in(provider("google.com", token)))
    assert other.is_new_account and other.account.account_id != signed.account.account_id


def test_X9_sign_ins_at_the_same_time_all_find_the_account(
        web: Client, simulator: Simulator, subjects: tuple[str, str, types.Session]) -> None:
    _, transfer, signed = subjects
    new = fresh("new")
    with ThreadPoolExecutor(8) as pool:
        moved = list(pool.map(lambda _: session(web.sign_in(apple(simulator, new, transfer))), range(8)))
    assert {each.account.account_id for each in moved} == {signed.account.account_id}
    assert [each.subject for each in web.get(moved[0].id_token).providers] == [new]


def test_the_command_reads_a_file(
        server: Server, web: Client, simulator: Simulator, tmp_path: Path,
        subjects: tuple[str, str, types.Session]) -> None:
    old, transfer, _ = subjects
    staff = Person(server, tmp_path)
    staff.environment |= {"LATCHKEY_API_KEY": KEYS["admin"]}
    other = fresh("other")
    session(web.sign_in(apple(simulator, other)))
    lines = ["# sub,transfer_sub", f"{old},{transfer}", "", f" {other} , t-{other}"]
    listed = staff.file("users.csv", "\n".join(lines))
    report = staff.json("set-transfer-ids", "--file", listed)
    assert (report["changed"], report["unchanged"], report["errors"]) == (1, 1, [])
    missing = staff.file("missing.csv", f"{old},{transfer}\n{fresh('nobody')},x")
    report = staff.json("set-transfer-ids", "--file", missing, code=REFUSED)
    assert [(each["line"], each["reason"]) for each in report["errors"]] == [(2, "ACCOUNT_NOT_FOUND")]
    for wrong in ("only-one", "a,b,c", ",b", "# nothing"):
        assert staff.run("set-transfer-ids", "--file", staff.file("wrong.csv", wrong)).returncode == USAGE
