"""The answers that clients received, recorded outside of the store: one file for each client, one line for each event.

A client writes a line before a call leaves (`asked`) and after it has ended: `told` with the contents of the answer,
`refused` with the reason, or `unheard` if no answer came and the effect of the call is unknown.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

# In the line of an acknowledged change.
TOLD = b'"event": "told"'


@dataclass
class Entry:
    """One event of one operation of one client."""

    event: str
    operation: str
    kind: str
    # The client's own name of the user, the same in all entries about this user.
    person: str
    email: str = ""
    account_id: str = ""
    session_id: str = ""
    refresh_token: str = ""
    # The identity that is linked, unlinked or pending.
    provider_id: str = ""
    subject: str = ""
    reason: str = ""
    # The length of the server's disk trace when this line was written (see power_cut.py).
    at: int = 0


@dataclass
class Journal:
    """The writer's side. A client outlives the server, so the kernel's copy of the file is sufficient."""

    path: Path
    position: Callable[[], int] = lambda: 0
    _descriptor: int = field(init=False)

    def __post_init__(self) -> None:
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, entry: Entry) -> None:
        entry.at = self.position()
        os.write(self._descriptor, json.dumps(asdict(entry)).encode() + b"\n")


def read(path: Path, begun: int = 0) -> tuple[list[Entry], int]:
    """The entries from byte `begun` on, and the offset of their end."""
    text = path.read_bytes()[begun:] if path.exists() else b""
    return [Entry(**json.loads(line)) for line in text.splitlines()], begun + len(text)
