"""Logins of servers to a database that requires TLS and a password, as deploy/docs/scaling.md recommends."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import certificates
import grpc
import pytest
from clients import Client, fresh_email
from configuration import settings
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from ports import free_port
from postgres import OWNER, Database
from processes import LATCHKEYD, Server, Simulator, write
from replicas import CONNECTIONS
from waiting import until

EXIT_CONFIGURATION = 78
# Clients may log in to the servers' database with or without TLS, but never without the password.
RULES = f"""\
host postgres postgres 127.0.0.1/32 trust
host {OWNER} {OWNER} 127.0.0.1/32 scram-sha-256
"""


@dataclass
class Guarded:
    """A database behind TLS and a password, and what servers need to log in."""

    database: Database
    folder: Path
    authority: certificates.Issuer
    # Characters that need correct quoting.
    password: str = field(default_factory=lambda: rf"it's a\ '{secrets.token_hex(8)}=")

    @classmethod
    def made(cls, database: Database, folder: Path) -> Guarded:
        guarded = cls(database, folder, certificates.certify(folder, "database-authority", None, []))
        guarded.certify("server", certificates.LOCAL)
        guarded.set_password()
        guarded.keep_password()
        (database.data / "pg_hba.conf").write_text(RULES)
        guarded.set(ssl="on", ssl_cert_file=guarded.certificate, ssl_key_file=guarded.certificate.with_suffix(".key"))
        return guarded

    @property
    def certificate(self) -> Path:
        return self.database.folder / "server.pem"

    @property
    def password_file(self) -> Path:
        return self.folder / "database.password"

    def certify(self, name: str, names: list[x509.GeneralName]) -> None:
        folder = self.database.folder
        certificates.certify(folder, name, self.authority, names, ExtendedKeyUsageOID.SERVER_AUTH)
        if not os.getuid():
            for file in (f"{name}.pem", f"{name}.key"):
                shutil.chown(folder / file, "postgres", "postgres")

    def set(self, **values: object) -> None:
        """Changes settings of the database, and returns when they are in effect."""
        with self.database.connect() as administrator:
            for name, value in values.items():
                administrator.execute(f"ALTER SYSTEM SET {name} = '{value}'")
            before = administrator.execute("SELECT pg_conf_load_time()").fetchone()
            administrator.execute("SELECT pg_reload_conf()")
            while administrator.execute("SELECT pg_conf_load_time()").fetchone() == before:
                time.sleep(0.01)

    def set_password(self) -> None:
        quoted = self.password.replace("'", "''")
        with self.database.connect() as administrator:
            administrator.execute(f"ALTER ROLE {OWNER} PASSWORD '{quoted}'")

    def keep_password(self, password: str | None = None) -> None:
        """Writes the password into the file, as an editor would."""
        self.password_file.write_text((self.password if password is None else password) + "\n")

    @property
    def conninfo(self) -> str:
        return (f"host=localhost hostaddr=127.0.0.1 port={self.database.port} dbname={OWNER} user={OWNER} "
                f"sslmode=verify-full sslrootcert={self.folder / 'database-authority.pem'}")

    def server(self, folder: Path, simulator: Simulator) -> Server:
        """A server that is not started yet."""
        port = free_port()
        chosen = settings(folder, port, simulator.base) | {"reactors": 1}
        chosen["store"] = {"postgres": {"conninfo": self.conninfo, "connections": CONNECTIONS,
                                        "password_file": str(self.password_file)}}
        return Server(folder, port, chosen)

    def tls_versions(self) -> list[str]:
        """The TLS versions of the servers' connections."""
        with self.database.connect() as administrator:
            return [row[0] for row in administrator.execute(
                "SELECT version FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = %s", [OWNER])]


@pytest.fixture
def guarded(database: Database, tmp_path: Path) -> Guarded:
    return Guarded.made(database, tmp_path)


def expect_all_connections(guarded: Guarded) -> None:
    """Waits for the connections of the one reactor, and as many for the rest of the server."""
    until(lambda: len(guarded.tls_versions()) == 2 * CONNECTIONS, 30)


@pytest.fixture
def running(guarded: Guarded, folder: Path, simulator: Simulator) -> Iterator[Server]:
    server = guarded.server(folder, simulator)
    server.launch()
    expect_all_connections(guarded)
    yield server
    server.stop()


def create(server: Server, seconds: float = 0) -> None:
    """Creates an account. Repeats the call for so many seconds if the store is unreachable."""
    deadline = time.monotonic() + seconds
    with contextlib.closing(Client(server)) as client:
        while True:
            try:
                client.create(fresh_email())
                return
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


def test_a_server_logs_in_with_its_password_over_tls_and_serves(guarded: Guarded, running: Server) -> None:
    create(running)
    assert set(guarded.tls_versions()) == {"TLSv1.3"}
    assert guarded.password not in running.log.read_text()


def no_file(guarded: Guarded) -> None:
    guarded.password_file.write_text("")


def another_password(guarded: Guarded) -> None:
    guarded.keep_password("not-the-right-one")


def another_authority(guarded: Guarded) -> None:
    certificates.certify(guarded.folder, "another-authority", None, [])
    (guarded.folder / "another-authority.pem").rename(guarded.folder / "database-authority.pem")


def another_name(guarded: Guarded) -> None:
    guarded.certify("other", [x509.DNSName("elsewhere.example")])
    file = guarded.database.folder / "other.pem"
    guarded.set(ssl_cert_file=file, ssl_key_file=file.with_suffix(".key"))


def no_tls(guarded: Guarded) -> None:
    guarded.set(ssl="off")


@pytest.mark.parametrize("spoil, told", [
    (no_file, "no password supplied"), (another_password, "password authentication failed"),
    (another_authority, "certificate verify failed"), (another_name, "does not match host name"),
    (no_tls, "server does not support SSL"),
], ids=lambda value: getattr(value, "__name__", ""))
def test_a_wrong_conninfo_stops_the_start_with_an_error_that_contains_no_secret(
        guarded: Guarded, folder: Path, simulator: Simulator, spoil: Callable[[Guarded], None], told: str) -> None:
    spoil(guarded)
    configuration = write(guarded.server(folder, simulator))
    ended = subprocess.run([LATCHKEYD, "--config", configuration], capture_output=True, text=True, timeout=60)
    assert ended.returncode == EXIT_CONFIGURATION, ended.stderr
    [line] = [line for line in ended.stderr.splitlines() if not line.startswith("{")]
    assert "store.postgres.conninfo" in line and told in line, line
    for secret in (guarded.password, "not-the-right-one"):
        assert secret not in ended.stderr and secret not in ended.stdout


def test_a_changed_password_applies_to_the_next_connection(guarded: Guarded, running: Server) -> None:
    former, guarded.password = guarded.password, "another " + guarded.password
    guarded.set_password()
    create(running)  # on the existing connections
    guarded.keep_password()
    guarded.database.terminate_backends()
    create(running, seconds=30)
    expect_all_connections(guarded)

    guarded.password = "and one more " + former
    guarded.set_password()
    guarded.database.terminate_backends()
    time.sleep(2)
    with pytest.raises(grpc.RpcError) as refused:
        create(running)
    assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
    guarded.keep_password()
    create(running, seconds=30)
    told = [line["debug"] for line in running.lines() if line.get("outcome") == "STORE_UNAVAILABLE"]
    assert any("password authentication failed" in why for why in told)
    log = running.log.read_text()
    assert not [secret for secret in (former, guarded.password) if secret in log]
