"""The store of a server under test: its own file or, if LATCHKEY_TEST_STORE is `postgres`, a schema on the PostgreSQL
server that LATCHKEY_POSTGRES names by keywords and values."""

from __future__ import annotations

import os
import secrets
import sqlite3
from pathlib import Path
from typing import Any

ON_POSTGRES = os.environ.get("LATCHKEY_TEST_STORE", "sqlite") == "postgres"
POSTGRES = os.environ.get("LATCHKEY_POSTGRES", "")


def place(store: dict[str, Any]) -> dict[str, Any]:
    """The section `store` of the settings, with a place of its own."""
    if not ON_POSTGRES:
        return store
    others = {name: value for name, value in store.items() if name != "path"}
    if "postgres" in store:
        return others
    schema = f"scenario_{secrets.token_hex(8)}"
    with connected(POSTGRES) as database:
        database.execute(f"CREATE SCHEMA {schema}")
    return {**others, "postgres": {"conninfo": f"{POSTGRES} options='-c search_path={schema}'"}}


def backups_in(folder: str) -> dict[str, Any]:
    """The backup setting of the section `store`, which PostgreSQL does not have."""
    return {} if ON_POSTGRES else {"backup_folder": folder}


def rows(folder: Path, store: dict[str, Any], query: str, *values: object) -> list[tuple[Any, ...]]:
    """The rows of a query on the database itself; `?` stands for a value."""
    if "postgres" in store:
        with connected(store["postgres"]["conninfo"]) as database:
            return list(database.execute(query.replace("?", "%s"), values).fetchall())
    with sqlite3.connect(f"file:{folder / store['path']}?mode=ro", uri=True) as database:
        return list(database.execute(query, values).fetchall())


def stored(folder: Path, store: dict[str, Any]) -> bytes:
    """All stored bytes: the file with its log, or every value of every row."""
    if "postgres" not in store:
        files = folder.glob(store["path"] + "*")
        return b"".join(path.read_bytes() for path in files if path.is_file() and path.suffix != ".lock")
    ours = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
    tables = rows(folder, store, ours)
    values = [value for (table,) in tables for row in rows(folder, store, f"SELECT * FROM {table}") for value in row]
    return b"\n".join(value if isinstance(value, bytes) else str(value).encode() for value in values)


def connected(conninfo: str) -> Any:
    # Only runs on PostgreSQL need it.
    import psycopg

    return psycopg.connect(conninfo, autocommit=True)
