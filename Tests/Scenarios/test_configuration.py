"""A wrong configuration stops the start with one line that names the setting. `--check-config` only checks it."""

from __future__ import annotations

import copy
import json
import os
import re
import signal
import socket
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from configuration import Settings, settings
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from joserfc.jwk import ECKey
from ports import free_port
from processes import LATCHKEYD, Simulator

ROOT = Path(__file__).resolve().parent.parent.parent
GOOGLE, CORP = 0, 1

# The setting in the line, and the broken value for a path from the top of the configuration.
BROKEN: list[tuple[str, tuple[Any, ...], Any]] = [
    ("listen.port", ("listen", "port"), 70_000),
    ("custom_token_signers[].keys_file", ("custom_token_signers",),
     [{"issuer": "billing", "keys_file": "nowhere.json", "account_id_prefixes": ["billing-"]}]),
    ("custom_token_signers[].keys_file", ("custom_token_signers",),
     [{"issuer": "billing", "keys_file": "server.pem", "account_id_prefixes": ["billing-"]}]),
    ("listen.port", ("listen", "port"), "https"),
    ("listen.address", ("listen", "address"), "not an address"),
    ("listen.allow_unidentified", ("listen", "address"), "0.0.0.0"),
    ("listen.allow_unidentified", ("listen", "allow_unidentified"), "yes"),
    ("listen.prot", ("listen", "prot"), 8443),
    ("tls.certificate_file", ("tls", "certificate_file"), "missing.pem"),
    ("tls.key_file", ("tls", "key_file"), "missing.key"),
    ("tls.key_file", ("tls", "key_file"), "web.key"),
    ("tls.client_ca_file", ("tls", "client_ca_file"), ""),
    ("tls.client_certificates", ("tls", "client_certificates"), "sometimes"),
    ("tls.minimum_version", ("tls", "minimum_version"), "1.1"),
    ("store.path", ("store", "path"), "no/such/folder/latchkey.db"),
    ("secrets.master_key_files", ("secrets", "master_key_files"), ["missing.key"]),
    ("secrets.master_key_files", ("secrets", "master_key_files"), ["server.pem"]),
    ("tokens.issuer", ("tokens", "issuer"), ""),
    ("tokens.audience", ("tokens", "audience"), "a\nb"),
    ("callers[0].audiences", ("callers", 0, "audiences"), [""]),
    ("tokens.algorithm", ("tokens", "algorithm"), "HS256"),
    ("tokens.id_token_lifetime_seconds", ("tokens", "id_token_lifetime_seconds"), 0),
    ("callers[0].api_keys[0].sha256", ("callers", 0, "api_keys", 0, "sha256"), "not hex"),
    ("callers[1].name", ("callers", 1, "name"), "web"),
    ("providers[0].client_ids", ("providers", GOOGLE, "client_ids"), []),
    ("providers[0].discovery_url", ("providers", GOOGLE, "discovery_url"), "http://127.0.0.1/discovery"),
    ("providers[1].id", ("providers", CORP, "id"), "corp"),
    ("providers[1].id", ("providers", CORP, "id"), "google.com"),
    ("providers[1].algorithms", ("providers", CORP, "algorithms"), ["HS256"]),
    ("providers[1].nonce", ("providers", CORP, "nonce"), "maybe"),
    ("providers[1].email_trust", ("providers", CORP, "email_trust"), "blind"),
    ("providers[0].client_secret_file", ("providers", GOOGLE, "client_secret_file"), "missing.secret"),
    ("providers[0].client_secret_env", ("providers", GOOGLE, "client_secret_env"), "NO_SUCH_VARIABLE"),
    ("providers[0].client_secret", ("providers", GOOGLE, "client_secret"), "inline"),
    ("providers[1].private_key_file", ("providers", CORP, "private_key_file"), "web.key"),
    ("fetch.ca_file", ("fetch", "ca_file"), "missing.pem"),
    ("fetch.ca_file", ("fetch", "ca_file"), "master.key"),
    ("delivery.ca_file", ("delivery", "ca_file"), "missing.pem"),
    ("delivery.ca_file", ("delivery", "ca_file"), "server.key"),
    ("store.backup_folder", ("store",), {"postgres": {"conninfo": "host=/run"}, "backup_folder": "backups"}),
    ("throttles.block_seconds", ("throttles",), {"block_seconds": 60, "block_seconds_max": 59}),
    ("passwords.memory_kib", ("passwords", "memory_kib"), 1),
    ("passwords.iterations", ("passwords", "iterations"), 0),
    ("passwords.queue_max", ("passwords", "queue_max"), 0),
    ("policy.auto_link", ("policy", "auto_link"), "always"),
    ("policy.reclaim", ("policy", "reclaim"), True),
    ("policy.pending_lifetime_seconds", ("policy", "pending_lifetime_seconds"), -1),
    ("policy.session_idle_seconds", ("policy", "session_idle_seconds"), 0),
    ("limits.message_bytes_max", ("limits", "message_bytes_max"), 0),
    ("limits.streams_per_connection_max", ("limits", "streams_per_connection_max"), 0),
    ("reactors", ("reactors",), -1),
    ("metrics.address", ("metrics",), {"address": "localhost"}),
    ("metrics.address", ("metrics",), {"address": "0.0.0.0"}),
    ("metrics.port", ("metrics",), {"address": "127.0.0.1", "port": 70_000}),
    ("log.level", ("log",), {"level": "loud"}),
]


def run(path: Path, *arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([LATCHKEYD, "--config", path, *arguments], capture_output=True, text=True, timeout=20,
                          env={**os.environ, **(environment or {})})


def written(folder: Path, simulator: Simulator, change: tuple[tuple[Any, ...], Any] | None = None) -> Path:
    good: Settings = copy.deepcopy(settings(folder, free_port(), simulator.base))
    path = folder / f"checked-{good['store']['path']}.json5"
    if change:
        *steps, last = change[0]
        place: Any = good
        for step in steps:
            place = place[step]
        place[last] = change[1]
    path.write_text(json.dumps(good))
    return path


@pytest.mark.parametrize("setting, place, value", BROKEN, ids=[f"{each[0]}={each[2]!r}"[:60] for each in BROKEN])
def test_a_wrong_setting_stops_the_start_with_a_line_naming_it(
        folder: Path, simulator: Simulator, setting: str, place: tuple[Any, ...], value: Any) -> None:
    path = written(folder, simulator, (place, value))
    for arguments in ([], ["--check-config"]):
        ended = run(path, *arguments)
        lines = ended.stderr.splitlines()
        assert ended.returncode != 0
        assert setting in lines[0] and len(lines[0]) > len(setting) + 10, ended.stderr
        # An address beyond loopback is wrong for unidentified callers, and twice for the outbox.
        assert len(lines) == (3 if value == "0.0.0.0" else 1), ended.stderr


def test_all_faults_of_a_configuration_and_of_its_files_are_reported_together(
        folder: Path, simulator: Simulator) -> None:
    path = written(folder, simulator)
    text = json.loads(path.read_text())
    text["listen"] |= {"port": "x", "prot": 1}
    text["callers"][0]["redirect_uris"] = ["https://app.example/*"]
    text["secrets"]["master_key_files"] = ["missing.key"]
    path.write_text(json.dumps(text))
    for arguments in ([], ["--check-config"]):
        ended = run(path, *arguments)
        named = [line.split(": ")[2] for line in ended.stderr.splitlines()]
        assert ended.returncode == 78 and sorted(named) == [
            "callers[0].redirect_uris", "listen.port", "listen.prot", "secrets.master_key_files"], ended.stderr


def test_a_world_writable_file_and_a_variable_without_a_setting_cause_warnings(
        folder: Path, simulator: Simulator) -> None:
    path = written(folder, simulator)
    path.chmod(0o666)
    try:
        ended = run(path, "--check-config", environment={"LATCHKEY_KEYS": "/etc/keys"})
    finally:
        path.chmod(0o600)
    assert ended.returncode == 0 and ended.stdout.endswith(": ok\n"), ended.stderr
    assert f"warning: --config: {path} can be written by all users" in ended.stderr
    assert "warning: the environment variable LATCHKEY_KEYS belongs to no setting" in ended.stderr


@pytest.mark.parametrize("place, value, why", [
    (("secrets", "master_key_files"), ["missing.key"], "cannot be read: No such file or directory"),
    (("secrets", "master_key_files"), ["."], "cannot be read: Is a directory"),
    (("fetch", "ca_file"), "missing.pem", "cannot be read: No such file or directory"),
    (("store", "path"), "no/such/folder/latchkey.db", "neither created nor written: No such file or directory"),
    (("store", "backup_folder"), "/proc/none/backups", "neither created nor written: No such file or directory"),
])
def test_the_error_for_an_unusable_file_states_the_reason(
        folder: Path, simulator: Simulator, place: tuple[str, str], value: str, why: str) -> None:
    ended = run(written(folder, simulator, (place, value)), "--check-config")
    assert ended.returncode == 78 and ".".join(place) in ended.stderr and why in ended.stderr, ended.stderr


@pytest.mark.parametrize("text", ["{ listen: { port: 8443 }", "[]", "", "\0"])
def test_the_error_names_a_file_that_is_not_a_configuration(folder: Path, text: str) -> None:
    path = folder / "broken.json5"
    path.write_text(text)
    ended = run(path)
    assert ended.returncode != 0 and len(ended.stderr.splitlines()) == 1
    assert "broken.json5" in ended.stderr or "listen" in ended.stderr


def test_the_error_names_a_duplicate_group_with_its_lines(folder: Path, simulator: Simulator) -> None:
    path = written(folder, simulator)
    path.write_text(path.read_text().removesuffix("}") + ',\n"listen": {"port": 1}}')
    for arguments in ([], ["--check-config"]):
        ended = run(path, *arguments)
        assert ended.returncode == 78 and "listen: it appears twice (lines 1 and 2)" in ended.stderr, ended.stderr


def test_the_error_for_invalid_json5_states_the_place(folder: Path) -> None:
    path = folder / "misplaced.json5"
    path.write_text("{\n  listen: { port: 8443 }\n  tls: {}\n}\n")
    ended = run(path, "--check-config")
    assert ended.returncode == 78 and "line 3, column 3: expected a comma or }" in ended.stderr, ended.stderr


def test_the_error_names_a_missing_file(folder: Path) -> None:
    ended = run(folder / "nowhere.json5")
    assert ended.returncode != 0 and "nowhere.json5" in ended.stderr and len(ended.stderr.splitlines()) == 1


def test_a_temporary_fault_and_a_wrong_configuration_have_different_exit_codes(
        folder: Path, simulator: Simulator) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = run(written(folder, simulator, (("listen", "port"), taken.getsockname()[1])))
    assert ended.returncode == 1 and ": listen.address: " in ended.stderr, ended.stderr
    # TEST-NET-1 (RFC 5737): an address that this machine does not have yet.
    elsewhere = copy.deepcopy(json.loads(written(folder, simulator).read_text()))
    del elsewhere["delivery"]
    elsewhere["listen"] |= {"address": "192.0.2.1", "allow_unidentified": False}
    path = folder / "elsewhere.json5"
    path.write_text(json.dumps(elsewhere))
    ended = run(path)
    assert ended.returncode == 1 and ": listen.address: " in ended.stderr, ended.stderr
    path = written(folder, simulator)
    away = json.loads(path.read_text())
    away["store"] = {"postgres": {"conninfo": f"host=127.0.0.1 port={free_port()} dbname=latchkey user=latchkey"}}
    path.write_text(json.dumps(away))
    ended = run(path)
    assert ended.returncode == 1 and "store.postgres.conninfo: " in ended.stderr, ended.stderr
    away["listen"]["port"] = "https"
    path.write_text(json.dumps(away))
    assert run(path).returncode == 78


def certify(folder: Path, name: str, begins: timedelta, ends: timedelta) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now + begins).not_valid_after(now + ends)
            .sign(key, hashes.SHA256()))
    (folder / f"{name}.pem").write_bytes(made.public_bytes(Encoding.PEM))
    (folder / f"{name}.key").write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


@pytest.mark.parametrize("name, begins, code, word", [("tomorrow", 1, 1, "is not valid before"),
                                                      ("yesterday", -2, 78, "expired at")])
def test_a_not_yet_valid_certificate_is_a_temporary_fault_and_an_expired_one_is_not(
        folder: Path, simulator: Simulator, name: str, begins: int, code: int, word: str) -> None:
    certify(folder, name, timedelta(days=begins), timedelta(days=begins + 1))
    path = written(folder, simulator)
    other = json.loads(path.read_text())
    other["tls"] |= {"certificate_file": f"{name}.pem", "key_file": f"{name}.key"}
    path.write_text(json.dumps(other))
    for arguments in ([], ["--check-config"]):
        ended = run(path, *arguments)
        assert ended.returncode == code and word in ended.stderr, ended.stderr


def test_with_few_descriptors_a_server_serves_or_exits_with_a_temporary_fault(
        folder: Path, simulator: Simulator) -> None:
    ends = set()
    for descriptors in range(20, 64):
        path = written(folder, simulator)
        lacking = json.loads(path.read_text())
        lacking |= {"reactors": 2, "metrics": {"address": "127.0.0.1", "port": 0},
                    "keys": {"address": "127.0.0.1", "port": 0}}
        path.write_text(json.dumps(lacking))
        command = ["sh", "-c", 'ulimit -n "$0" && exec "$@"', str(descriptors), LATCHKEYD, "--config", path]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr is not None
                lines = []
                for line in process.stderr:
                    lines.append(line)
                    if '"message":"listening"' in line:
                        break
                serves = '"message":"listening"' in lines[-1]
                ends.add(serves)
                if serves:
                    socket.create_connection(("127.0.0.1", lacking["listen"]["port"]), 5).close()
                else:
                    assert process.wait(20) == 1, (descriptors, lines)
            finally:
                process.kill()
    assert ends == {False, True}


def test_a_start_that_waits_for_its_database_ends_on_sigterm(folder: Path, simulator: Simulator) -> None:
    path = written(folder, simulator)
    waiting = json.loads(path.read_text())
    with socket.create_server(("127.0.0.1", 0)) as mute:
        mute.settimeout(20)
        port = mute.getsockname()[1]
        waiting["store"] = {"postgres": {"conninfo": f"host=127.0.0.1 port={port} dbname=latchkey sslmode=disable"}}
        path.write_text(json.dumps(waiting))
        with subprocess.Popen([LATCHKEYD, "--config", path], stderr=subprocess.PIPE) as starting:
            connection, _ = mute.accept()
            starting.send_signal(signal.SIGHUP)
            starting.terminate()
            # Otherwise libpq gives up after two seconds, and the start ends with 1.
            assert starting.wait(10) == 0
            connection.close()


def test_a_valid_configuration_is_checked_without_listening_or_creating_a_database(
        folder: Path, simulator: Simulator) -> None:
    path = written(folder, simulator)
    ended = run(path, "--check-config")
    assert ended.returncode == 0, ended.stderr
    assert "listening" not in ended.stderr
    assert not (folder / json.loads(path.read_text())["store"]["path"]).exists()


def test_an_environment_variable_overrides_a_setting_and_is_named_in_errors(
        folder: Path, simulator: Simulator) -> None:
    path = written(folder, simulator)
    ended = run(path, "--check-config", environment={"LATCHKEY_LISTEN_PORT": "99999"})
    assert ended.returncode != 0 and len(ended.stderr.splitlines()) == 1
    assert "listen.port" in ended.stderr or "LATCHKEY_LISTEN_PORT" in ended.stderr
    broken = written(folder, simulator, (("policy", "auto_link"), "always"))
    assert run(broken, "--check-config", environment={"LATCHKEY_POLICY_AUTO_LINK": "off"}).returncode == 0


def test_a_variable_without_a_setting_causes_a_warning_unless_kubernetes_sets_it(
        folder: Path, simulator: Simulator) -> None:
    path = written(folder, simulator)
    service = {"LATCHKEY_METRICS_PORT": "tcp://10.0.0.1:9464", "LATCHKEY_METRICS_SERVICE_HOST": "10.0.0.1"}
    ended = run(path, "--check-config", environment=service)
    assert ended.returncode == 0 and "LATCHKEY_" not in ended.stderr
    ended = run(path, "--check-config", environment={"LATCHKEY_LISTEN_PROT": "8443"})
    assert ended.returncode == 0 and "warning: the environment variable LATCHKEY_LISTEN_PROT" in ended.stderr


def test_a_world_writable_master_key_is_rejected_and_a_readable_one_warned_about(
        folder: Path, simulator: Simulator) -> None:
    key = folder / "shared-master.key"
    key.write_text("3c" * 32)
    path = written(folder, simulator, (("secrets", "master_key_files"), [key.name]))
    for mode, code, told in ((0o600, 0, ""), (0o640, 0, ""),
                             (0o660, 0, "warning: secrets.master_key_files"),
                             (0o604, 0, "warning: secrets.master_key_files"), (0o602, 78, "secrets.master_key_files")):
        key.chmod(mode)
        ended = run(path, "--check-config")
        assert ended.returncode == code and told in ended.stderr, (oct(mode), ended.stderr)
        assert ("secrets.master_key_files" in ended.stderr) == bool(told)


def test_the_shipped_configurations_are_valid(folder: Path) -> None:
    """Next to the certificates and secrets that they name, and with the digests that an operator fills in."""
    for name in ("development", "example"):
        text = (ROOT / f"deploy/latchkey.{name}.json5").read_text()
        for key in ("WEB_KEY_SHA256", "ADMIN_KEY_SHA256"):
            text = text.replace(key, "ab" * 32 if key.startswith("WEB") else "cd" * 32)
        text = text.replace("callers-authority.pem", "authority.pem").replace("apple.p8", "web.key")
        for secret in re.findall(r'(?:secret|password)_file: "([^"]+)"', text):
            (folder / secret).write_text("s3cret" * 8 + "\n")
        billing = ECKey.generate_key("P-256").as_dict(private=False)
        (folder / "billing-keys.json").write_text(json.dumps({"keys": [billing]}))
        path = folder / f"shipped-{name}.json5"
        path.write_text(text)
        ended = run(path, "--check-config", environment={"MICROSOFT_CLIENT_SECRET": "s3cret"})
        assert ended.returncode == 0, ended.stderr
