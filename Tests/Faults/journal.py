"""What clients were told, kept outside of the store: one file a client, one line an event, in the client's order.

A line is written before a call leaves (`asked`) and after it has ended: `told` with what the answer said, `refused`
with the reason, or `unheard` when no answer came and nobody knows what became of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Entry:
    """One event of one operation of one client."""

    event: str
    operation: str
    kind: str
    # Whom it is about: the client's own name of the person, the same in all entries about it.
    person: str
    email: str = ""
    account_id: str = ""
    session_id: str = ""
    refresh_token: str = ""
    # Of the identity that is linked, unlinked or held.
    provider_id: str = ""
    subject: str = ""
    reason: str = ""
    # How long the server's trace of its disk was when this was written (see power_cut.py).
    at: int = 0


@dataclass
class Journal:
    """The writing end. A client outlives the server, so the kernel's copy of the file is enough."""

    path: Path
    position: Callable[[], int] = lambda: 0
    _descriptor: int = field(init=False)

    def __post_init__(self) -> None:
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, entry: Entry) -> None:
        entry.at = self.position()
        os.write(self._descriptor, json.dumps(asdict(entry)).encode() + b"\n")


def read(path: Path, begun: int = 0) -> tuple[list[Entry], int]:
    """The entries from byte `begun` on, and where they end."""
    text = path.read_bytes()[begun:] if path.exists() else b""
    return [Entry(**json.loads(line)) for line in text.splitlines()], begun + len(text)
