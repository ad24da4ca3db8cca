"""The server's own counters, read from its Prometheus endpoint."""

from __future__ import annotations

import urllib.request

DEADLINE_SECONDS = 10


def read(port: int) -> dict[str, float]:
    """The samples without labels, by name."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=DEADLINE_SECONDS) as answer:
        return parse(answer.read().decode())


def parse(text: str) -> dict[str, float]:
    samples = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if not line.startswith("#") and "{" not in name and value:
            samples[name] = float(value)
    return samples
