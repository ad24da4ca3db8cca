"""Two PostgreSQL servers, a primary and its synchronous standby: Patroni over one etcd, all of them on loopback, in a
temporary folder.

    with Pair.started() as pair:
        connect(pair.conninfo)   # names both; a client takes the one that can be written to
        pair.fail_over()

Acknowledged changes are on both while both run (`synchronous_mode`). `fail_over` loses a machine by killing all of its
processes, Patroni first, so that it repairs nothing. Its lease in etcd expires, and the other machine is promoted. A
machine that comes back finds that it is no longer the primary, rewinds unacknowledged changes (pg_rewind), and follows.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import surroundings  # noqa: F401

import psycopg
from ports import free_port
from postgres import (ADMINISTRATOR, BINARIES, OWNER, SETTINGS, Unavailable, children, folder, prepare, require, send,
                      start, wait_for_end)
from processes import end
from waiting import comes_true

NAMES = ("one", "two")
PROGRAMS = ("etcd", "patroni")
# Seconds without a sign of the primary before the standby takes over, and the interval of the checks.
LEASE_SECONDS, LOOK_SECONDS, RETRY_SECONDS = 8, 1, 3
PAIR_SECONDS, PROMOTION_SECONDS = 60.0, 40.0


@dataclass
class Member:
    """One machine: Patroni, and the PostgreSQL server that it runs."""

    name: str
    folder: Path
    port: int
    rest_port: int
    process: subprocess.Popen[bytes] | None = field(default=None)

    def settings(self, etcd_port: int) -> dict[str, Any]:
        trusted = ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
        return {
            "scope": "latchkey", "name": self.name,
            "restapi": {"listen": f"127.0.0.1:{self.rest_port}", "connect_address": f"127.0.0.1:{self.rest_port}"},
            "etcd3": {"host": f"127.0.0.1:{etcd_port}"},
            "bootstrap": {
                "dcs": {
                    "ttl": LEASE_SECONDS, "loop_wait": LOOK_SECONDS, "retry_timeout": RETRY_SECONDS,
                    "synchronous_mode": True, "maximum_lag_on_failover": 1 << 20,
                    "postgresql": {"use_pg_rewind": True, "parameters": {
                        name: value for name, value in SETTINGS.items() if name != "listen_addresses"}}},
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, {"auth": "trust"}, {"wal-segsize": "1"},
                           "data-checksums", "no-sync"]},
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}", "connect_address": f"127.0.0.1:{self.port}",
                "data_dir": str(self.folder / self.name), "bin_dir": str(BINARIES),
                "pgpass": str(self.folder / f"{self.name}.pgpass"), "pg_hba": trusted,
                "basebackup": [{"checkpoint": "fast"}],
                "parameters": {"unix_socket_directories": str(self.folder)},
                "authentication": {
                    "superuser": {"username": ADMINISTRATOR, "password": "unused"},
                    "replication": {"username": "replicator", "password": "unused"},
                    "rewind": {"username": ADMINISTRATOR, "password": "unused"}}},
            "tags": {}}

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    def launch(self) -> None:
        with self.log.open("ab") as log:
            self.process = start("patroni", self.folder / f"{self.name}.json", stdout=log, stderr=log)

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def everything(self) -> list[int]:
        """Patroni and PostgreSQL, which would outlive it, since its parent is not Patroni."""
        assert self.process is not None
        found = [self.process.pid, *children(self.process.pid)]
        with contextlib.suppress(OSError, ValueError, IndexError):
            postmaster = int((self.folder / self.name / "postmaster.pid").read_text().split("\n")[0])
            if str(self.folder).encode() in Path(f"/proc/{postmaster}/cmdline").read_bytes():
                found += [postmaster, *children(postmaster)]
        return list(dict.fromkeys(found))

    def kill(self) -> None:
        """Kills all processes of the machine."""
        assert self.process is not None
        below = self.everything()
        send(below, signal.SIGKILL)
        self.process.wait()
        wait_for_end(below)

    def role(self) -> str:
        """Its own role: `primary`, `sync` if it may take over, otherwise its future role, or empty."""
        with contextlib.suppress(OSError, ValueError):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.rest_port}/cluster", timeout=2) as answer:
                for each in json.load(answer)["members"]:
                    if each["name"] == self.name and each["state"] in ("running", "streaming"):
                        return {"leader": "primary", "sync_standby": "sync"}.get(each["role"], each["role"])
        return ""


class Pair:
    """Both machines, and the etcd that decides which of them is the primary."""

    def __init__(self, where: Path) -> None:
        self.folder = where
        self.members = [Member(name, where, free_port(), free_port()) for name in NAMES]
        self.etcd: subprocess.Popen[bytes] | None = None

    @classmethod
    @contextmanager
    def started(cls) -> Iterator[Pair]:
        require()
        for program in PROGRAMS:
            if shutil.which(program) is None:
                raise Unavailable(f"{program} is not installed (Debian: patroni, etcd-server)")
        pair = cls(folder("latchkey-pair-"))
        try:
            pair.make()
            yield pair
        finally:
            pair.remove()

    @property
    def conninfo(self) -> str:
        return self.conninfo_by(*(each.port for each in self.members))

    @staticmethod
    def conninfo_by(*ports: int) -> str:
        hosts, named = ",".join(["127.0.0.1"] * len(ports)), ",".join(map(str, ports))
        return (f"host={hosts} port={named} dbname={OWNER} user={OWNER} sslmode=disable "
                "target_session_attrs=read-write")

    def make(self) -> None:
        etcd_port, peer_port = free_port(), free_port()
        address = f"http://127.0.0.1:{etcd_port}"
        with (self.folder / "etcd.log").open("wb") as log:
            peer_address = f"http://127.0.0.1:{peer_port}"
            self.etcd = start(
                "etcd", "--data-dir", self.folder / "etcd", "--listen-client-urls", address, "--advertise-client-urls",
                address, "--listen-peer-urls", peer_address, "--initial-advertise-peer-urls", peer_address,
                "--initial-cluster", f"default={peer_address}", stdout=log, stderr=log)
        for each in self.members:
            (self.folder / f"{each.name}.json").write_text(json.dumps(each.settings(etcd_port)))
            (self.folder / f"{each.name}.json").chmod(0o644)
        self.members[0].launch()
        self.wait_for("a primary", lambda: self.members[0].role() == "primary", PAIR_SECONDS)
        with psycopg.connect(f"host=127.0.0.1 port={self.primary.port} dbname=postgres user={ADMINISTRATOR}",
                             autocommit=True) as administrator:
            prepare(administrator)
        self.members[1].launch()
        self.wait_for_both()

    @property
    def primary(self) -> Member:
        return next(each for each in self.members if each.is_running and each.role() == "primary")

    def wait_for_both(self) -> None:
        """Waits until the standby can take over without a loss."""
        self.wait_for("a synchronous standby", lambda: sorted(each.role() for each in self.members) == [
            "primary", "sync"], PAIR_SECONDS)

    def fail_over(self) -> float:
        """Loses the machine of the primary, waits until the other accepts writes, and brings the lost one back. Returns
        the seconds without writes."""
        self.wait_for_both()
        lost = self.primary
        other = next(each for each in self.members if each is not lost)
        begun = time.monotonic()
        lost.kill()
        self.wait_for("a promotion", lambda: is_writable(other.port), PROMOTION_SECONDS)
        took = time.monotonic() - begun
        lost.launch()
        return took

    def wait_for(self, what: str, holds: Callable[[], bool], seconds: float) -> None:
        # Each check sends an HTTP request or opens a connection.
        if not comes_true(holds, seconds, pause_seconds=0.1):
            said = "\n".join(each.log.read_text()[-1500:] for each in self.members if each.log.exists())
            raise RuntimeError(f"there is no {what} after {seconds:.0f} s:\n{said}")

    def remove(self) -> None:
        for each in self.members:
            if each.process is not None:
                each.kill()
        if self.etcd is not None:
            end(self.etcd)
        shutil.rmtree(self.folder, ignore_errors=True)


def is_writable(port: int) -> bool:
    with contextlib.suppress(psycopg.OperationalError):
        with psycopg.connect(f"host=127.0.0.1 port={port} dbname=postgres user={ADMINISTRATOR}",
                             connect_timeout=2) as asked:
            row = asked.execute("SELECT pg_is_in_recovery()").fetchone()
            return row is not None and row[0] is False
    return False
