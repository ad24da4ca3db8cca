"""A server whose metrics are checked in addition to the answers to its clients."""

from __future__ import annotations

import re
import time
import urllib.request
from typing import Callable

from server import Server


class Metered:
    """A server with its metrics, and the counts since the last check."""

    def __init__(self, start: Callable[..., Server], **overrides: object) -> None:
        self.server = start(metrics_port=0, **overrides)
        self.port = self.server.port
        self.metrics_port = self.find()
        self.seen = self.counted()

    def find(self) -> int:
        """The port of the metrics, from the log, which a separate thread writes."""
        log, deadline = self.server.folder / f"server-{self.port}.log", time.monotonic() + 30
        while not (found := re.search(r'"message":"metrics","address":"127\.0\.0\.1:(\d+)"', log.read_text())):
            assert time.monotonic() < deadline, "the metrics are not served"
            time.sleep(0.02)
        return int(found[1])

    def text(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=30) as answer:
            return answer.read().decode()

    def counted(self) -> dict[str, int]:
        found = re.findall(r'^latchkey_(?:refusals|tls_handshakes)_total\{\w+="(\w+)"\} (\d+)$', self.text(),
                           re.MULTILINE)
        return {label: int(number) for label, number in found}

    def new(self, label: str, at_least: int = 1) -> int:
        """The count since the last check. The end of a connection may be counted after its client has noticed it."""
        deadline = time.monotonic() + 15
        while self.counted()[label] - self.seen[label] < at_least and time.monotonic() < deadline:
            time.sleep(0.02)
        now = self.counted()
        count = now[label] - self.seen[label]
        self.seen = now
        return count
