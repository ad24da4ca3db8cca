"""Accounts of another service: import, sign-in with the old passwords, and export.

As many users as a real service has, with hashes as expensive as real ones; prints rows a second and memory:

    LATCHKEY_IMPORT_USERS=100000 LATCHKEY_IMPORT_MEMORY_COST=14 pytest test_import.py -k generated -s --timeout 3600
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import firebase
import pytest
from clients import Client, assertion, fresh_email, password, session
from configuration import KEYS, REAL_PASSWORDS
from failures import expect_failure
from firebase import Project, password_of
from grpc import StatusCode
from latchkey.v1 import admin_service_pb2 as admin_pb2
from latchkey.v1 import types_pb2 as types
from latchkey.v1.errors_pb2 import (
    ERROR_REASON_EMAIL_ALREADY_IN_USE, ERROR_REASON_FORBIDDEN_CLAIM, ERROR_REASON_INVALID_EMAIL,
    ERROR_REASON_INVALID_FIELD)
from processes import LATCHKEYD, Server, Simulator

WRONG = (StatusCode.UNAUTHENTICATED, "INVALID_LOGIN_CREDENTIALS")
USERS = int(os.environ.get("LATCHKEY_IMPORT_USERS", 2_000))
MEMORY_COST = int(os.environ.get("LATCHKEY_IMPORT_MEMORY_COST", 6))
# Number of hashes with the real cost; users share them.
SECRETS = 200


@pytest.fixture(scope="module")
def store(folder: Path, simulator: Simulator) -> Iterator[Server]:
    """A server for these tests alone, since some check all accounts."""
    server = Server.start(folder, simulator)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def keeper(store: Server) -> Iterator[Client]:
    client = Client(store, key="admin")
    yield client
    client.close()


def latchkey(server: Server, *words: object, code: int = 0) -> Any:
    """The JSON output of the command line, as the administrator."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(server.folder), "LATCHKEY_SERVER": server.address,
                   "LATCHKEY_CA": str(server.folder / "authority.pem"), "LATCHKEY_API_KEY": KEYS["admin"]}
    ended = subprocess.run([LATCHKEYD.parent / "latchkey", *map(str, words), "--json"], capture_output=True, text=True,
                           env=environment, timeout=3_600)
    assert ended.returncode == code, ended.stdout[-2000:] + ended.stderr[-2000:]
    return json.loads(ended.stdout.splitlines()[-1])


def hashes(client: Client) -> dict[str, str]:
    return {each.account.account_id: each.password_hash for each in client.export_accounts(include_secrets=True)}


def memory_kib(server: Server, name: str) -> int:
    assert server.process is not None
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def test_check_102_ten_imported_users_sign_in_with_old_passwords_and_get_new_hashes(
        store: Server, keeper: Client) -> None:
    project = Project()
    users = project.users(60)
    options = admin_pb2.ImportOptions(hash=project.options)
    answers = keeper.import_accounts([[firebase.row(user) for user in users[:25]],
                                      [firebase.row(user) for user in users[25:]]], options)
    assert [(each.imported, each.unchanged, len(each.errors)) for each in answers] == [(25, 0, 0), (35, 0, 0)]
    for number in range(10):
        user = users[number]
        with expect_failure(*WRONG):
            keeper.sign_in(password(user["email"], password_of(number) + "x"))
        before = hashes(keeper)[user["localId"]]
        assert before.startswith("$firebase-scrypt$k=")
        signed = session(keeper.sign_in(password(user["email"], password_of(number))))
        assert signed.account.account_id == user["localId"] and not signed.is_new_account
        assert signed.account.email_verified == user["emailVerified"]
        assert hashes(keeper)[user["localId"]].startswith("$argon2id$")
        assert session(keeper.sign_in(password(user["email"], password_of(number)))).account.email == user["email"]
        with expect_failure(*WRONG):
            keeper.sign_in(password(user["email"], password_of(number) + "x"))


def test_imported_accounts_have_all_data_of_the_former_service(keeper: Client) -> None:
    project = Project()
    [user] = project.users(1)
    row = firebase.row(user)
    row.phone_number = "+441632960961"
    factor = row.phone_factors.add(factor_id="mfa-1", phone_number="+441632960962", display_name="mine")
    factor.enrolled_at.FromMilliseconds(1_550_000_000_000)
    [answer] = keeper.import_accounts([[row]], admin_pb2.ImportOptions(hash=project.options))
    assert answer.imported == 1, answer
    account = keeper.lookup(phone_number="+441632960961")
    identity = {"provider_id": "google.com", "subject": user["providerUserInfo"][0]["rawId"]}
    assert account == keeper.lookup(identity=identity)
    assert (account.account_id, account.email) == (user["localId"], user["email"])
    assert (account.email_verified, account.display_name) == (True, "Person 0 é")
    assert account.custom_claims_json == '{"plan":"gold"}' and not account.disabled
    assert account.created_at.ToMilliseconds() == 1_500_000_000_000
    assert account.last_sign_in_at.ToMilliseconds() == 1_600_000_000_000
    assert [(each.factor_id, each.kind) for each in account.second_factors] == [("mfa-1", types.FACTOR_KIND_PHONE)]
    # The second factor counts from the first sign-in on.
    answered = keeper.sign_in(password(user["email"], password_of(0)))
    assert answered.WhichOneof("outcome") == "second_factor_required"


def test_an_imported_identity_signs_in(store: Server, keeper: Client, simulator: Simulator) -> None:
    user = Project().users(1)[0]
    row = firebase.row(user)
    row.password_hash = b""
    row.providers[0].provider_id = "oidc.corp"
    [answer] = keeper.import_accounts([[row]])
    assert answer.imported == 1, answer
    signed = session(keeper.sign_in(assertion(simulator, "oidc.corp", subject=row.providers[0].subject)))
    assert signed.account.account_id == user["localId"] and not signed.is_new_account


def test_duplicates_and_rows_in_error_are_reported_and_do_not_affect_others(keeper: Client) -> None:
    project = Project()
    users = project.users(8)
    rows = [firebase.row(user) for user in users]
    taken = keeper.create(fresh_email())
    rows[1].account_id = rows[0].account_id
    rows[2].email = rows[0].email.upper()
    rows[3].email = taken.account.email
    rows[4].password_hash = b"short"
    rows[5].custom_claims_json = '{"sub":"x"}'
    rows[6].email = "no address"
    [answer] = keeper.import_accounts([rows], admin_pb2.ImportOptions(hash=project.options))
    assert (answer.imported, answer.unchanged) == (2, 0)
    assert [(error.row, error.reason, error.field) for error in answer.errors] == [
        (1, ERROR_REASON_INVALID_FIELD, "account_id"), (2, ERROR_REASON_EMAIL_ALREADY_IN_USE, "email"),
        (3, ERROR_REASON_EMAIL_ALREADY_IN_USE, "email"), (4, ERROR_REASON_INVALID_FIELD, "password_hash"),
        (5, ERROR_REASON_FORBIDDEN_CLAIM, "custom_claims_json"), (6, ERROR_REASON_INVALID_EMAIL, "email")]
    assert [error.account_id for error in answer.errors] == [row.account_id for row in rows[1:7]]


def test_a_dry_run_writes_nothing_and_a_second_run_imports_the_rest(keeper: Client) -> None:
    project = Project()
    rows = [firebase.row(user) for user in project.users(20)]
    before = len(keeper.export_accounts())
    [dry] = keeper.import_accounts([rows], admin_pb2.ImportOptions(dry_run=True, hash=project.options))
    assert (dry.imported, len(keeper.export_accounts())) == (20, before)
    options = admin_pb2.ImportOptions(hash=project.options)
    [first] = keeper.import_accounts([rows[:12]], options)
    session(keeper.sign_in(password(rows[0].email, password_of(0))))
    [again] = keeper.import_accounts([rows], options)
    assert (first.imported, again.imported, again.unchanged, len(again.errors)) == (12, 8, 12, 0)
    assert len(keeper.export_accounts()) == before + 20


@pytest.mark.parametrize("fields, field", [
    ({"algorithm": 99}, "algorithm"), ({"algorithm": "HASH_ALGORITHM_SCRYPT", "rounds": 8, "memory_cost": 14}, "key"),
    ({"algorithm": "HASH_ALGORITHM_SCRYPT", "key": b"k", "rounds": 9, "memory_cost": 14}, "rounds"),
    ({"algorithm": "HASH_ALGORITHM_SCRYPT", "key": b"k", "rounds": 8, "memory_cost": 31}, "memory_cost"),
    ({"algorithm": "HASH_ALGORITHM_STANDARD_SCRYPT", "memory_cost": 1 << 30, "block_size": 8, "parallelization": 1},
     "memory_cost"),
    ({"algorithm": "HASH_ALGORITHM_PBKDF2_SHA256", "rounds": 2_000_000_000}, "rounds"),
    ({"algorithm": "HASH_ALGORITHM_SHA256", "rounds": 1, "input_order": 99}, "input_order")])
def test_hashes_that_would_cost_too_much_are_refused_before_any_work(
        keeper: Client, fields: dict[str, Any], field: str) -> None:
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field=f"options.hash.{field}"):
        keeper.import_accounts([[]], admin_pb2.ImportOptions(hash=admin_pb2.ImportHash(**fields)))


def test_a_message_has_its_limits_in_rows_and_in_bytes(keeper: Client) -> None:
    def rows(count: int) -> list[admin_pb2.ImportedAccount]:
        return [admin_pb2.ImportedAccount(email=fresh_email()) for _ in range(count)]

    [answer] = keeper.import_accounts([rows(1_000)])
    assert answer.imported == 1_000
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="accounts"):
        keeper.import_accounts([rows(1_001)])
    with pytest.raises(Exception) as refused:
        keeper.import_accounts([[admin_pb2.ImportedAccount(photo_url="x" * 524_288)]])
    assert refused.value.code() == StatusCode.RESOURCE_EXHAUSTED


def test_many_batches_on_one_stream_are_answered_one_after_the_other(keeper: Client) -> None:
    """Independent of the client's other messages: the server reads nothing from a stream while it processes a batch."""
    name = "x" * 250
    sizes = [1, 400, 7, 350, 2, 300, 900, 1, 1, 250, 800, 3]
    batches = [[admin_pb2.ImportedAccount(email=fresh_email(), display_name=name) for _ in range(size)]
               for size in sizes]
    assert [answer.imported for answer in keeper.import_accounts(batches)] == sizes


def test_a_client_that_never_reads_answers_cannot_fill_the_servers_memory(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    """Each message fits into the stream's window, so that the next one arrives before the last one is processed."""
    server = serve()
    keeper = connect(server, key="admin")
    batch = [admin_pb2.ImportedAccount(email=fresh_email(), custom_claims_json=json.dumps({"x": "y" * 200}))
             for _ in range(20)]
    # Made once: a client that is slower than the server waits for it.
    options = admin_pb2.ImportAccountsRequest(options=admin_pb2.ImportOptions(dry_run=True)).SerializeToString()
    message = admin_pb2.ImportAccountsRequest(accounts=batch).SerializeToString()
    send = keeper.channel.stream_stream("/latchkey.v1.AdminService/ImportAccounts",
                                        response_deserializer=admin_pb2.ImportAccountsResponse.FromString)

    def imported(messages: int) -> int:
        return sum(answer.imported for answer in send(iter([options] + [message] * messages), timeout=120))

    assert imported(100) == 2_000
    before = memory_kib(server, "VmRSS")
    assert imported(2_000) == 40_000
    # The address sanitizer keeps freed memory for a while.
    if os.environ.get("SANITIZER") != "address":
        assert memory_kib(server, "VmRSS") - before < 4 * 1_024, "of 10 MiB"


def other_kinds() -> list[Any]:
    secret = b"an old secret"
    key, salt = b"a key of theirs", b"salt"
    return [
        pytest.param({"algorithm": "HASH_ALGORITHM_STANDARD_SCRYPT", "memory_cost": 1024, "block_size": 8,
                      "parallelization": 2},
                     hashlib.scrypt(secret, salt=salt, n=1024, r=8, p=2, dklen=32), salt, id="scrypt"),
        pytest.param({"algorithm": "HASH_ALGORITHM_BCRYPT"},
                     b"$2b$04$abcdefghijklmnopqrstuunaqevUekjE9V/3JLBsVC.t0yO.gCOQO", b"", id="bcrypt"),
        pytest.param({"algorithm": "HASH_ALGORITHM_PBKDF_SHA1", "rounds": 1000},
                     hashlib.pbkdf2_hmac("sha1", secret, salt, 1000), salt, id="pbkdf2-sha1"),
        pytest.param({"algorithm": "HASH_ALGORITHM_PBKDF2_SHA256", "rounds": 1000},
                     hashlib.pbkdf2_hmac("sha256", secret, salt, 1000), salt, id="pbkdf2-sha256"),
        *[pytest.param({"algorithm": f"HASH_ALGORITHM_HMAC_{name.upper()}", "key": key,
                        "input_order": "HASH_INPUT_ORDER_SALT_FIRST"},
                       hmac.new(key, salt + secret, name).digest(), salt, id=f"hmac-{name}")
          for name in ("md5", "sha1", "sha256", "sha512")],
        *[pytest.param({"algorithm": f"HASH_ALGORITHM_{name.upper()}", "rounds": 2},
                       hashlib.new(name, hashlib.new(name, secret + salt).digest()).digest(), salt, id=name)
          for name in ("md5", "sha1", "sha256", "sha512")],
    ]


@pytest.mark.parametrize("fields, digest, salt", other_kinds())
def test_check_102_every_kind_of_hash_signs_in_once_and_is_replaced(
        keeper: Client, fields: dict[str, Any], digest: bytes, salt: bytes) -> None:
    row = admin_pb2.ImportedAccount(email=fresh_email(), password_hash=digest, salt=salt)
    [answer] = keeper.import_accounts(
        [[row]], admin_pb2.ImportOptions(hash=admin_pb2.ImportHash(**fields)))
    assert answer.imported == 1, answer
    with expect_failure(*WRONG):
        keeper.sign_in(password(row.email, "another secret"))
    account_id = session(keeper.sign_in(password(row.email, "an old secret"))).account.account_id
    assert hashes(keeper)[account_id].startswith("$argon2id$")
    session(keeper.sign_in(password(row.email, "an old secret")))


def test_check_102_a_password_that_bcrypt_would_cut_is_refused(keeper: Client) -> None:
    """Comparing only the beginning would admit anyone who knows the beginning."""
    # From 72 letters a; bcrypt makes the same hash from 80.
    digest = b"$2b$04$abcdefghijklmnopqrstuuBzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe"
    row = admin_pb2.ImportedAccount(email=fresh_email(), password_hash=digest)
    [answer] = keeper.import_accounts(
        [[row]], admin_pb2.ImportOptions(hash=admin_pb2.ImportHash(algorithm="HASH_ALGORITHM_BCRYPT")))
    assert answer.imported == 1, answer
    with expect_failure(*WRONG):
        keeper.sign_in(password(row.email, "a" * 80))
    session(keeper.sign_in(password(row.email, "a" * 72)))


@pytest.mark.parametrize("secret", ["x" * 64, "пароль と秘密 ünï", "a b  c", "😀" * 20])
def test_check_103_long_and_unicode_passwords_of_an_import_sign_in(keeper: Client, secret: str) -> None:
    project = Project()
    salt = b"some salt"
    row = admin_pb2.ImportedAccount(email=fresh_email(), password_hash=project.hash(secret, salt), salt=salt)
    keeper.import_accounts([[row]], admin_pb2.ImportOptions(hash=project.options))
    session(keeper.sign_in(password(row.email, secret)))
    session(keeper.sign_in(password(row.email, secret)))


def test_the_former_services_key_is_nowhere_in_the_database_or_the_log(store: Server, keeper: Client) -> None:
    project = Project()
    keeper.import_accounts([[firebase.row(project.users(1)[0])]], admin_pb2.ImportOptions(hash=project.options))
    kept = store.stored() + store.log.read_bytes()
    assert project.key not in kept and project.key[:24].hex().encode() not in kept


@pytest.mark.timed
def test_a_wrong_password_of_an_imported_user_takes_as_long_as_any_other(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    keeper = connect(serve(passwords=REAL_PASSWORDS), key="admin")
    project = Project(memory_cost=4)
    row = firebase.row(project.users(1)[0])
    keeper.import_accounts([[row]], admin_pb2.ImportOptions(hash=project.options))

    def median(email: str) -> float:
        took = []
        for _ in range(9):
            begun = time.monotonic()
            with expect_failure(*WRONG):
                keeper.sign_in(password(email, "wrong password"))
            took.append(time.monotonic() - begun)
        return sorted(took)[4]

    unknown = median(fresh_email())
    assert median(row.email) > unknown * 0.7


# The command line.

@pytest.mark.slow
def test_a_generated_file_of_firebase_is_imported_by_the_command_line(
        serve: Callable[..., Server], connect: Callable[..., Client], tmp_path: Path) -> None:
    server = serve()
    keeper = connect(server, key="admin")
    project = Project(memory_cost=MEMORY_COST)
    users = project.users(USERS, passwords=SECRETS)
    users[2]["phoneNumber"] = "+441632960961"
    duplicates = [{**users[0], "localId": "another"}, {**users[1], "email": fresh_email()},
                  {**users[2], "localId": "third", "email": fresh_email()}]
    path = firebase.write(tmp_path / "users.json", users + duplicates)
    flags = project.flags(tmp_path)
    before = memory_kib(server, "VmRSS")

    dry = latchkey(server, "import", path, *flags, "--dry-run", code=1)
    assert (dry["outcome"], dry["imported"], dry["refused"]) == ("dry_run", USERS, 3)
    assert keeper.list_accounts().accounts == []

    first = latchkey(server, "import", path, *flags, code=1)
    rate = USERS * 1_000 / first["took_millis"]
    print(f"\n{USERS} users: {rate:.0f} rows/s; server {before} KiB before, {memory_kib(server, 'VmRSS')} KiB after, "
          f"{memory_kib(server, 'VmHWM')} KiB at most; duplicates reported: {first['errors']}")
    assert (first["imported"], first["unchanged"], first["refused"]) == (USERS, 0, 3)
    refused = [(USERS + 1, "EMAIL_ALREADY_IN_USE", "email"), (USERS + 2, "INVALID_FIELD", "account_id"),
               (USERS + 3, "PROVIDER_ALREADY_LINKED", "phone_number")]
    for run in (dry, first):
        assert [(error["row"], error["reason"], error["field"]) for error in run["errors"]] == refused

    for number in range(10):
        signed = session(keeper.sign_in(password(users[number]["email"], password_of(number))))
        assert signed.account.account_id == users[number]["localId"]
    stored = hashes(keeper)
    assert len(stored) == USERS
    replaced = {each for each, text in stored.items() if text.startswith("$argon2id$")}
    assert replaced == {users[number]["localId"] for number in range(10)}

    again = latchkey(server, "import", path, *flags, "--batch", "1000", "--errors", tmp_path / "errors", code=1)
    assert (again["imported"], again["unchanged"], again["refused"]) == (0, USERS, 3)
    assert len((tmp_path / "errors").read_text().splitlines()) == 3


def test_an_administrators_commands_report_what_they_did(store: Server, keeper: Client) -> None:
    email = fresh_email()
    made = keeper.create(email)
    account_id = made.account.account_id
    assert latchkey(store, "lookup", "--email", email)["account"]["account_id"] == account_id
    assert latchkey(store, "disable", account_id)["account"]["disabled"]
    assert not latchkey(store, "enable", account_id)["account"]["disabled"]
    assert latchkey(store, "set-claims", account_id, '{"a":1}')["account"]["custom_claims_json"] == '{"a":1}'
    session(keeper.sign_in(password(email)))
    assert latchkey(store, "revoke", account_id)["closed"] == 1
    keeper.create(fresh_email())
    page = latchkey(store, "list", "--size", "1")
    assert len(page["accounts"]) == 1 and page["next_page_token"]
    assert latchkey(store, "export")["accounts"] >= 1
    refused = latchkey(store, "lookup", "--id", "nobody", code=1)
    assert refused["error"]["reason"] == "ACCOUNT_NOT_FOUND"


ODD_ROWS: list[tuple[dict[str, Any], str]] = [
    ({"disabled": "true"}, "disabled"), ({"emailVerified": 1}, "emailVerified"), ({"mfa_info": []}, "mfa_info"),
    ({"customAttributes": ["editor"]}, "customAttributes"), ({"Disabled": True}, "Disabled"),
    ({"providerUserInfo": [{"providerId": "google.com"}]}, "providerUserInfo.rawId"),
    ({"phoneNumber": 1}, "phoneNumber"),
    ({"multiFactor": {"enrolledFactors": [{"factorId": "totp"}]}}, "multiFactor.enrolledFactors")]


def test_the_error_names_a_row_that_would_lose_data_and_extras_are_named_once(
        store: Server, keeper: Client, tmp_path: Path) -> None:
    tag = fresh_email().split("@")[0]
    good = [{"localId": f"{tag}-a{number}", "validSince": "1", "favouriteColour": "red", "createdAt": "soon",
             "providerUserInfo": [{"providerId": "google.com", "rawId": f"{tag}{number}", "photoUrl": "data:x",
                                   "displayName": "x" * 3_000, "email": "none"}]} for number in range(2)]
    odd = [{"localId": f"{tag}-b{number}", **fields} for number, (fields, _) in enumerate(ODD_ROWS)]
    path = firebase.write(tmp_path / "users.json", good + odd)
    told = latchkey(store, "import", path, code=1)
    assert told["imported"] == 2
    assert [(error["account_id"], error["field"]) for error in told["errors"]] == [
        (row["localId"], field) for row, (_, field) in zip(odd, ODD_ROWS, strict=True)]
    assert {each["name"]: each["rows"] for each in told["left_out"]} == {
        "createdAt": 2, "favouriteColour": 2, "validSince": 2, "providers.email": 2, "providers.photo_url": 2}
    assert keeper.lookup(account_id=f"{tag}-a1").providers[0].display_name == "x" * 1_024


def test_a_record_of_the_admin_sdk_and_a_row_of_csv_are_imported_completely(
        store: Server, keeper: Client, tmp_path: Path) -> None:
    tag = fresh_email().split("@")[0]
    record = {"uid": f"{tag}-sdk", "email": f"{tag}.sdk@example.com", "emailVerified": True, "disabled": True,
              "customClaims": {"role": "editor"}, "metadata": {"creationTime": "Thu, 02 Jan 2020 03:04:05 GMT"},
              "providerData": [{"providerId": "google.com", "uid": f"{tag}-1"}], "multiFactor": {"enrolledFactors": []}}
    path = firebase.write(tmp_path / "sdk.json", [record])
    assert latchkey(store, "import", path)["imported"] == 1
    cells = [f"{tag}-csv", f"{tag}.csv@example.com", "true", "", "", '"Lovelace, ""Ada"""', "", f"{tag}-2",
             *[""] * 15, "1577934245000", "", "", "true", '"{""role"":""editor""}"']
    (tmp_path / "users.csv").write_text(",".join(cells) + "\n")
    assert latchkey(store, "import", tmp_path / "users.csv")["imported"] == 1
    for name, number in (("sdk", 1), ("csv", 2)):
        account = keeper.lookup(identity={"provider_id": "google.com", "subject": f"{tag}-{number}"})
        assert (account.account_id, account.email) == (f"{tag}-{name}", f"{tag}.{name}@example.com")
        assert account.disabled and account.email_verified
        assert json.loads(account.custom_claims_json) == {"role": "editor"}
        assert account.created_at.ToMilliseconds() == 1_577_934_245_000
    assert account.display_name == 'Lovelace, "Ada"'


def test_an_exported_account_is_imported_again_with_every_field_at_its_maximum(
        serve: Callable[..., Server], connect: Callable[..., Client], tmp_path: Path) -> None:
    wide = "\u00e9" * 512
    row = admin_pb2.ImportedAccount(
        account_id="i" * 128, email="a" * 64 + "@" + "b" * 63 + "." + "c" * 63 + "." + "d" * 57 + ".com",
        email_verified=True, display_name=wide, photo_url="https://example.com/".ljust(2_048, "p"),
        phone_number="+123456789012345", disabled=True, custom_claims_json=json.dumps({"a": "x" * 991}),
        password_hash=b"$argon2id$v=19$m=64,t=1,p=1$" + b"c29tZXNhbHQ" + b"$" + b"A" * 43)
    row.created_at.FromMilliseconds(1)
    for number in range(2):
        row.providers.add(provider_id=f"oidc.{number}" + "x" * 66, subject=str(number) + "s" * 254, email=row.email,
                          display_name=wide, photo_url="https://example.com/".ljust(2_048, "q"))
    for number in range(5):
        factor = row.phone_factors.add(factor_id=str(number) + "f" * 127, display_name="n" * 256,
                                       phone_number=f"+12345678901230{number}")
        factor.enrolled_at.FromMilliseconds(2)
    first, second = serve(), serve()
    keepers = [connect(first, key="admin"), connect(second, key="admin")]
    options = admin_pb2.ImportOptions(hash=admin_pb2.ImportHash(algorithm="HASH_ALGORITHM_ARGON2"))
    [answer] = keepers[0].import_accounts([[row]], options)
    assert answer.imported == 1, answer
    exported = subprocess.run(
        [LATCHKEYD.parent / "latchkey", "export", "--secrets"], capture_output=True, check=True, timeout=60,
        env={"PATH": os.environ["PATH"], "HOME": str(first.folder), "LATCHKEY_SERVER": first.address,
             "LATCHKEY_CA": str(first.folder / "authority.pem"), "LATCHKEY_API_KEY": KEYS["admin"]})
    (tmp_path / "accounts.jsonl").write_bytes(exported.stdout)
    told = latchkey(second, "import", tmp_path / "accounts.jsonl", "--hash-algo", "ARGON2")
    assert (told["imported"], told["left_out"]) == (1, [])
    one, other = ([each for each in keeper.export_accounts(include_secrets=True)] for keeper in keepers)
    assert one == other and one[0].account.display_name == wide


def test_a_file_that_is_not_an_export_is_rejected(store: Server, tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text("[]")
    refused = latchkey(store, "import", tmp_path / "none.json", code=2)
    assert "does not begin with {" in refused["error"]["message"]
    assert latchkey(store, "import", tmp_path / "missing.json", code=2)["error"]["option"].endswith("missing.json")
