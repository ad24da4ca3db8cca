"""The server's own counters, read from its Prometheus endpoint."""

from __future__ import annotations

import time
import urllib.request

from servers import Unmeasurable

DEADLINE_SECONDS = 10
CHECK_SECONDS = 300


def read(port: int) -> dict[str, float]:
    """The samples without labels, by name."""
    return parse(_scrape(port))


def wait_for_store_check(port: int) -> None:
    """Waits for the end of the check that follows each start, which takes up to a fifth of a core."""
    deadline = time.monotonic() + CHECK_SECONDS
    while 'latchkey_store_check{state="running"} 0' not in _scrape(port):
        if time.monotonic() > deadline:
            raise Unmeasurable("the check of the store does not end")
        time.sleep(0.1)


def _scrape(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=DEADLINE_SECONDS) as answer:
        text: str = answer.read().decode()
    return text


def parse(text: str) -> dict[str, float]:
    samples = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if not line.startswith("#") and "{" not in name and value:
            samples[name] = float(value)
    return samples
