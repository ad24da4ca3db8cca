"""Reads the emails and text messages in the outbox of a server under test."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from processes import Server


@dataclass(frozen=True)
class Message:
    """One file of the outbox."""

    id: str
    channel: str
    kind: str
    to: str
    locale: str
    subject: str
    text: str
    values: dict[str, str]
    html: str | None = None


def folder(server: Server) -> Path:
    return server.folder / str(server.settings["delivery"]["outbox_folder"])


def messages(server: Server, kind: str | None = None, to: str | None = None) -> list[Message]:
    """The messages of this kind and recipient, if given; the newest last."""
    found = [Message(**json.loads(path.read_text())) for path in sorted(folder(server).glob("*.json"))]
    return [each for each in found if kind in (None, each.kind) and to in (None, each.to)]


def wait_for(server: Server, kind: str, to: str, *, count: int = 1, seconds: float = 60) -> Message:
    """Waits for `count` messages of this kind to this recipient, and returns the newest."""
    deadline = time.monotonic() + seconds
    while len(found := messages(server, kind, to)) < count:
        assert time.monotonic() < deadline, f"{len(found)} messages '{kind}' have come, of {messages(server)}"
        time.sleep(0.02)
    return found[-1]


def none_comes(server: Server, kind: str, to: str, *, seconds: float = 1.5) -> None:
    """Waits longer than the server needs to send its messages, and checks that there is none."""
    time.sleep(seconds)
    assert not messages(server, kind, to)
