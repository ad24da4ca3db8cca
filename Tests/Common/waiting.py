"""Waits for conditions that become true asynchronously."""

from __future__ import annotations

import time
from collections.abc import Callable


def comes_true(holds: Callable[[], object], seconds: float, pause_seconds: float = 0.02) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause_seconds)
    return True


def until(holds: Callable[[], object], seconds: float = 60, otherwise: str = "it did not come to that in time") -> None:
    assert comes_true(holds, seconds), otherwise
