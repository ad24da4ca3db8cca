"""Files of the embedded store: filled once and kept, and copied for runs that write."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = (HERE / "fill_store.py", HERE.parents[1] / "Sources/StoreSQLite/Migrations.swift")


class Stores:
    def __init__(self, home: Path, make_empty: Callable[[Path], None], password_hash: Callable[[], str]) -> None:
        self.home = home
        self.make_empty = make_empty
        self.password_hash = password_hash
        self.working = home / "working.db"

    def filled(self, accounts: int) -> Path:
        """The server makes the file. fill_store.py writes the rows, since a million sign-ins would take hours."""
        store = self.home / f"store-{accounts}.db"
        done = self.home / f"store-{accounts}.filled"
        if done.exists() and all(done.stat().st_mtime > source.stat().st_mtime for source in SOURCES):
            return store
        done.unlink(missing_ok=True)
        self.remove(store)
        self.make_empty(store)
        print(f"Filling a store with {accounts:,} accounts", file=sys.stderr)
        # Debian's Python, because it has the same SQLite as the server.
        subprocess.run(["/usr/bin/python3", HERE / "fill_store.py", store, str(accounts), self.password_hash()],
                       check=True)
        settle(store)
        done.touch()
        return store

    def fresh(self, accounts: int) -> Path:
        """A copy, because sign-ins write into it."""
        filled = self.filled(accounts)
        self.remove(self.working)
        subprocess.run(["cp", "--reflink=auto", filled, self.working], check=True)
        settle(self.working)
        return self.working

    def copy_of_working(self, name: str) -> Path:
        """A copy by SQLite's own backup: the newest rows are in the log of the server that has it open."""
        copy = self.home / name
        self.remove(copy)
        self._query(f".backup {copy}")
        settle(copy)
        return copy

    def read_through(self, store: Path) -> None:
        """Reads the file into the page cache, since the row does not measure the disk."""
        with store.open("rb") as file:
            while file.read(1 << 20):
                pass

    def account_ids(self, numbers: range) -> list[str]:
        listed = ", ".join(str(number + 1) for number in numbers)
        return self._query(f"SELECT id FROM accounts WHERE number IN ({listed}) ORDER BY number").split()

    def remove(self, store: Path) -> None:
        for path in self.home.glob(f"{store.name}*"):
            path.unlink()

    def _query(self, command: str) -> str:
        return subprocess.run(["sqlite3", "-readonly", self.working, command], capture_output=True, text=True,
                              check=True).stdout


def settle(file: Path) -> None:
    """Syncs a new file to the disk, so that its own writes do not delay the syncs that are measured."""
    with file.open("rb") as written:
        os.fsync(written.fileno())
