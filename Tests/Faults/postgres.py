"""A PostgreSQL 15 server on loopback, in a temporary folder, that can be killed, paused and filled up.

    with Database.started() as database:
        connect(database.conninfo)
        database.kill()
        database.launch()

If the tests run as root, it belongs to the user `postgres`, because PostgreSQL refuses to run as root.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import surroundings  # noqa: F401

import psycopg
from ports import free_port
from processes import end
from waiting import comes_true

BINARIES = Path("/usr/lib/postgresql/15/bin")
# The administrator, and the owner of the database that servers use.
ADMINISTRATOR, OWNER = "postgres", "latchkey"
START_SECONDS, END_SECONDS = 30.0, 10.0
# No replication delays on one machine, and a log that fits on a small disk.
SETTINGS = {"listen_addresses": "127.0.0.1", "max_connections": "100", "shared_buffers": "32MB",
            "min_wal_size": "2MB", "max_wal_size": "32MB", "log_min_messages": "warning"}


class Unavailable(Exception):
    """A feature that this machine lacks, so the test is skipped."""


def require() -> None:
    if not (BINARIES / "postgres").exists():
        raise Unavailable(f"PostgreSQL 15 is not installed: there is no {BINARIES}/postgres")


def start(*command: object, **options: Any) -> subprocess.Popen[bytes]:
    """Starts one of its programs as the right user. `setpriv` becomes the program. The `user` option of `subprocess`
    would fork this process first, which its gRPC threads do not survive."""
    as_user = [] if os.getuid() else ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]
    return subprocess.Popen([*as_user, *map(str, command)], cwd="/", env=environment(), **options)


def environment() -> dict[str, str]:
    """The environment without variables that point its programs to another server."""
    home = os.environ if os.getuid() else os.environ | {"HOME": pwd.getpwnam("postgres").pw_dir}
    return {name: value for name, value in home.items() if not name.startswith("PG")} | {"LC_ALL": "C.UTF-8"}


def run(program: str, *arguments: object) -> None:
    process = start(BINARIES / program, *arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{program} ended with {process.returncode}: {said[-2000:].decode()}")


def folder(prefix: str) -> Path:
    """A temporary folder that its programs may use; they cannot enter those of the tests."""
    made = Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp"))
    if not os.getuid():
        shutil.chown(made, "postgres", "postgres")
    return made


def children(parent: int) -> list[int]:
    """All descendants of a process."""
    found, parents = [], {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    waiting = [parent]
    while waiting:
        above = waiting.pop()
        below = [each for each, its in parents.items() if its == above]
        found += below
        waiting += below
    return found


def send(processes: list[int], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def wait_for_end(processes: list[int], seconds: float = END_SECONDS) -> bool:
    """Waits for processes that are not children of this one."""
    return comes_true(lambda: not any(is_running(each) for each in processes), seconds)


def is_running(process: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@dataclass
class Database:
    """One server. Its port and data survive a restart."""

    folder: Path
    port: int
    disk_mebibytes: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None)

    @classmethod
    @contextmanager
    def started(cls, disk_mebibytes: int = 0) -> Iterator[Database]:
        """`disk_mebibytes`: uses a disk of this size, if this machine may mount one."""
        require()
        database = cls(folder("latchkey-postgres-"), free_port(), disk_mebibytes)
        try:
            database.make()
            yield database
        finally:
            database.remove()

    @property
    def data(self) -> Path:
        return self.folder / "disk" / "data"

    @property
    def log(self) -> Path:
        return self.folder / "postgres.log"

    @property
    def conninfo(self) -> str:
        return self.conninfo_by(self.port)

    @staticmethod
    def conninfo_by(port: int) -> str:
        """The same database over another port, such as that of a proxy."""
        return f"host=127.0.0.1 port={port} dbname={OWNER} user={OWNER} sslmode=disable"

    def connect(self, **options: Any) -> psycopg.Connection[Any]:
        """A connection as administrator, with each statement in its own transaction."""
        return psycopg.connect(f"host=127.0.0.1 port={self.port} dbname=postgres user={ADMINISTRATOR} sslmode=disable",
                               autocommit=True, connect_timeout=5, **options)

    def make(self) -> None:
        disk = self.folder / "disk"
        disk.mkdir()
        if self.disk_mebibytes:
            mount(disk, self.disk_mebibytes)
        if not os.getuid():
            shutil.chown(disk, "postgres", "postgres")
        run("initdb", "--pgdata", self.data, "--username", ADMINISTRATOR, "--auth", "trust", "--encoding", "UTF8",
            "--locale", "C.UTF-8", "--wal-segsize", "1", "--no-sync")
        settings = SETTINGS | {"port": str(self.port), "unix_socket_directories": str(self.folder)}
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
        self.launch()
        with self.connect() as administrator:
            prepare(administrator)

    def launch(self) -> None:
        """Starts the server and waits until it accepts connections."""
        with self.log.open("ab") as log:
            self.process = start(BINARIES / "postgres", "-D", self.data, stdout=log, stderr=log)
        if not self.takes_connections():
            raise RuntimeError(f"PostgreSQL does not start: {self.log.read_text()[-2000:]}")

    def takes_connections(self) -> bool:
        """Waits until it accepts connections. Returns False if the process ends."""
        assert self.process is not None
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(psycopg.OperationalError), self.connect():
                return True
            time.sleep(0.05)
        return False

    def serve_again(self) -> None:
        """Recovers after a full disk. The server stops if it cannot write its log. It may still be about to stop when
        there is room again, because its recovery had none."""
        if not self.takes_connections():
            self.launch()

    def processes(self) -> list[int]:
        assert self.process is not None
        return [self.process.pid, *children(self.process.pid)]

    def kill(self) -> None:
        """Kills the postmaster. Its children notice, as they would after an out-of-memory kill."""
        assert self.process is not None
        # Otherwise it could start another child that is not waited for here, and that blocks the next postmaster.
        self.process.send_signal(signal.SIGSTOP)
        below = children(self.process.pid)
        self.process.kill()
        self.process.wait()
        if not wait_for_end(below):
            send(below, signal.SIGKILL)
            wait_for_end(below)

    def terminate_backends(self) -> int:
        """Ends every other client connection, and returns their number."""
        with self.connect() as administrator:
            return len(administrator.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()").fetchall())

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stops all its processes while its sockets stay open, like a machine that hangs."""
        processes = self.processes()
        send(processes, signal.SIGSTOP)
        try:
            yield
        finally:
            send(processes, signal.SIGCONT)

    @contextmanager
    def full(self) -> Iterator[None]:
        """Fills its disk completely."""
        assert self.disk_mebibytes, "its disk is shared"
        ballast = self.folder / "disk" / "ballast"
        with ballast.open("wb", buffering=0) as file:
            for bytes_each in (1 << 16, 1):
                with contextlib.suppress(OSError):
                    while file.write(bytes(bytes_each)):
                        pass
        try:
            yield
        finally:
            ballast.unlink()

    def stop(self) -> None:
        if self.process is None:
            return
        below = self.processes()
        # Paused processes would not receive the signal.
        send(below, signal.SIGCONT)
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(END_SECONDS)
        end(self.process)
        if not wait_for_end(below):
            send(below, signal.SIGKILL)

    def remove(self) -> None:
        self.stop()
        if self.disk_mebibytes:
            subprocess.run(["umount", self.folder / "disk"], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def mount(where: Path, mebibytes: int) -> None:
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", where], capture_output=True,
                          text=True)
    if done.returncode:
        raise Unavailable(f"a small disk cannot be mounted here: {done.stderr.strip()}")


def prepare(administrator: psycopg.Connection[Any]) -> None:
    """Creates the database that servers use, and its owner."""
    administrator.execute(f"CREATE ROLE {OWNER} LOGIN")
    administrator.execute(f"CREATE DATABASE {OWNER} OWNER {OWNER}")
