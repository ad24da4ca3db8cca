"""A PostgreSQL server for the rows that need one: on the servers' core, filled, and measured with its back-ends."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from figures import Rate
from fill_store import CREATED_MILLIS, TIER_AUTHORITATIVE
from servers import END_SECONDS, START_SECONDS, TICKS_PER_SECOND, Unmeasurable

# A machine that mainly serves a database. All other settings, such as syncs, are those of Debian's package.
SETTINGS = {"listen_addresses": "", "max_connections": "200", "shared_buffers": "1GB", "max_wal_size": "4GB"}

# Names and texts of statements that are executed together.
Trip = list[tuple[str, str]]
EXECUTED = re.compile(r"\[(\d+)\] LOG:  execute ([a-z_]+): (.*?)(?=\n\d{4}-\d\d-\d\d |\Z)", re.DOTALL)

ACCOUNTS = """
INSERT INTO accounts (id, version, email, email_verification, email_verification_provider_id, email_source,
  display_name, photo_url, custom_claims, password_hash, password_set_at, email_link, custom_token, anonymous, disabled,
  made_by_administrator, created_at, idle_since)
SELECT left(md5(n::text), 28), 1, 'person' || n || '@example.com', 'assertion', 'google.com', 'google.com',
  'Person ' || n, '', '', '{password_hash}', {created}, false, false, false, false, false, {created} + n, 0
FROM generate_series(0, {last}) AS n;
INSERT INTO identities (account_id, provider_id, subject, email, tier, display_name, photo_url, username, linked_at)
SELECT left(md5(n::text), 28), 'google.com', '1' || lpad(n::text, 20, '0'), 'person' || n || '@example.com', {tier},
  'Person ' || n, '', '', {created} + n
FROM generate_series(0, {last}) AS n;
VACUUM ANALYZE;
"""


@dataclass
class Database:
    folder: Path
    core: int
    process: subprocess.Popen[bytes] | None = None
    programs: Path = field(default_factory=lambda: newest_programs())

    @property
    def conninfo(self) -> str:
        return f"host={self.folder} user=postgres dbname=postgres"

    @property
    def log(self) -> Path:
        return self.folder / "postgres.log"

    def start(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700)
        owner = None
        if os.geteuid() == 0:
            # PostgreSQL refuses to run as root.
            owner = "postgres"
            shutil.chown(self.folder, owner)
            for parent in self.folder.parents:
                if not parent.stat().st_mode & 0o001:
                    raise Unmeasurable(f"PostgreSQL cannot enter {parent}")
        group = pwd.getpwnam(owner).pw_gid if owner else None
        extra = {} if owner is None else {"user": owner, "group": group, "extra_groups": []}
        data = self.folder / "data"
        subprocess.run([self.programs / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "-E", "UTF8",
                        "--locale=C.UTF-8"], stdout=subprocess.DEVNULL, check=True, cwd="/", **extra)
        settings = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["taskset", "-c", str(self.core), self.programs / "postgres", "-D", data, "-k", self.folder, *settings],
                stdout=log, stderr=subprocess.STDOUT, cwd="/", **extra)
        deadline = time.monotonic() + START_SECONDS
        while subprocess.run([self.programs / "pg_isready", "-q", "-h", self.folder]).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise Unmeasurable(f"PostgreSQL did not start; see {self.log}")
            time.sleep(0.1)

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def query(self, sql: str) -> str:
        return subprocess.run(
            [self.programs / "psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-U", "postgres"],
            input=sql, capture_output=True, text=True, check=True).stdout.strip()

    def fill(self, accounts: int, password_hash: str) -> None:
        """Fills the tables that a server made before."""
        self.query(ACCOUNTS.format(password_hash=password_hash, created=CREATED_MILLIS, tier=TIER_AUTHORITATIVE,
                                   last=accounts - 1))

    def cpu_seconds(self) -> float:
        """CPU time of the server and its children, including those that have ended."""
        assert self.process
        parent = self.process.pid
        spent = _ticks(parent, ended_children=True)
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and _parent(int(entry.name)) == parent:
                spent += _ticks(int(entry.name), ended_children=False)
        return spent / TICKS_PER_SECOND

    # Statements

    def trips_of(self, act: Callable[[], object]) -> list[Trip]:
        """The transactions, and statements outside of one, that the database executes while `act` runs, in the order of
        their ends. They include those that the server makes on its own."""
        self._log_statements("all")
        begun = self.log.stat().st_size
        act()
        time.sleep(0.5)
        text = self.log.read_bytes()[begun:].decode()
        self._log_statements("none")
        return trips(text)

    def _log_statements(self, which: str) -> None:
        self.query(f"ALTER SYSTEM SET log_statement = '{which}'")
        self.query("SELECT pg_reload_conf()")
        time.sleep(0.5)

    def pgbench(self, script: Path, clients: int, seconds: int, core: int, variables: dict[str, str]) -> Rate:
        """Runs the script once for each transaction. pgbench's own work counts, as a server's work would."""
        before = self.cpu_seconds()
        values = [part for name, value in variables.items() for part in ("-D", f"{name}={value}")]
        command = ["taskset", "-c", str(core), self.programs / "pgbench", "-n", "-M", "prepared", "-c", str(clients),
                   "-T", str(seconds), "-h", self.folder, "-U", "postgres", *values, "-f", script, "postgres"]
        done = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert done.stdout and done.stderr
        output = done.stdout.read()
        fault = done.stderr.read()
        _, status, usage = os.wait4(done.pid, 0)
        done.returncode = os.waitstatus_to_exitcode(status)
        found = re.search(r"number of transactions actually processed: (\d+)", output)
        failed = re.search(r"number of failed transactions: (\d+)", output)
        if done.returncode != 0 or not found or (failed and failed[1] != "0"):
            raise Unmeasurable(f"pgbench failed: {fault[-300:]}")
        spent = self.cpu_seconds() - before + usage.ru_utime + usage.ru_stime
        return Rate(int(found[1]) / spent, int(found[1]) / seconds)


def trips(log: str) -> list[Trip]:
    open_trips: dict[str, Trip] = {}
    ended: list[Trip] = []
    for process, name, text in EXECUTED.findall(log):
        trip = open_trips.setdefault(process, [])
        trip.append((name, text.replace("\n\t", "\n").strip()))
        if trip[0][0].startswith("begin_") and name not in ("commit", "rollback"):
            continue
        ended.append(open_trips.pop(process))
    return ended


def newest_programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if not found:
        raise Unmeasurable("PostgreSQL is not installed")
    return found[-1].parent


def _fields(pid: int) -> list[str]:
    # The name is in parentheses and may contain spaces.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _parent(pid: int) -> int:
    try:
        return int(_fields(pid)[1])
    except OSError:
        return 0


def _ticks(pid: int, ended_children: bool) -> int:
    try:
        fields = _fields(pid)
    except OSError:
        return 0
    return sum(int(fields[index]) for index in ((11, 12, 13, 14) if ended_children else (11, 12)))
