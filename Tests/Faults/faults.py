"""Makes the n-th failure happen in a running server: the test's side of the preloaded object in `interpose/`.

    every_failure(faults, Point.MEMORY_SQLITE, run, check)

A `Faults` object serves one server through its restarts: the counts continue in a file that both sides map.
"""

from __future__ import annotations

import errno
import mmap
import re
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any

import surroundings  # noqa: F401

from processes import LATCHKEYD

HERE = Path(__file__).resolve().parent


class Point(IntEnum):
    """The points that can fail, in the order of `enum point_name` in interpose.h."""

    MEMORY_NGHTTP2 = 0
    MEMORY_OPENSSL = 1
    MEMORY_SQLITE = 2
    MEMORY_SODIUM = 3
    MEMORY_TEXT = 4
    MEMORY_CURL = 5
    MEMORY_FIDO2 = 6
    SOCKET_ACCEPT = 7
    SOCKET_READ = 8
    SOCKET_WRITE = 9
    EPOLL_MAKE = 10
    EPOLL_WAIT = 11
    EPOLL_CONTROL = 12
    EVENTFD_MAKE = 13
    EVENTFD_READ = 14
    STORE_OPEN = 15
    STORE_READ = 16
    STORE_WRITE = 17
    STORE_SYNC = 18
    STORE_TRUNCATE = 19
    STORE_LOCK = 20
    STORE_MAP = 21


# An `error` with which the call never returns.
NO_RETURN = -1
FIELDS = ("from", "count", "error", "is_short", "passages", "failures", "live")
POINT = struct.Struct("<QQqQQQq")


def build(folder: Path) -> Path:
    """Compiles the object with the C compiler that comes with Swift."""
    made = folder / "interpose.so"
    sources = sorted((HERE / "interpose").glob("*.c"))
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["clang", *flags, "-o", made, *sources], check=True)
    return made


def session_memory(program: Path) -> str:
    """The server's function that allocates memory for nghttp2, in the format of the object."""
    listed = subprocess.run(["nm", "--print-size", program], check=True, capture_output=True, text=True).stdout
    found = re.search(r"^(\w+ \w+) t lk_pool_take$", listed, re.MULTILINE)
    assert found, f"{program} has no lk_pool_take: name a program that is not stripped with LATCHKEYD"
    return found[1]


class Faults:
    """The points of one server, and the environment that preloads the object."""

    def __init__(self, folder: Path, shared_object: Path) -> None:
        path = folder / f"faults-{id(self):x}"
        path.write_bytes(bytes(POINT.size * len(Point)))
        self.environment = {"LD_PRELOAD": str(shared_object), "LATCHKEY_FAULTS": str(path),
                            "LATCHKEY_SESSION_MEMORY": session_memory(LATCHKEYD), "SWIFT_BACKTRACE": "enable=no"}
        with path.open("r+b") as file:
            self._points = mmap.mmap(file.fileno(), 0)

    def _get(self, point: Point, field: str) -> int:
        at = POINT.size * point + 8 * FIELDS.index(field)
        return int(struct.unpack_from("<q", self._points, at)[0])

    def _set(self, point: Point, **fields: int) -> None:
        for field, value in fields.items():
            struct.pack_into("<q", self._points, POINT.size * point + 8 * FIELDS.index(field), value)

    def passages(self, point: Point) -> int:
        return self._get(point, "passages")

    def failures(self, point: Point) -> int:
        return self._get(point, "failures")

    def live(self, point: Point) -> int:
        """Blocks that a library has not freed."""
        return self._get(point, "live")

    def arm(self, point: Point, number: int, *, count: int = 1, error: int = errno.ENOMEM, short: bool = False) -> None:
        """Makes the `number`-th passage from now on fail, and those after it until `count` have failed."""
        self._set(point, **{"from": 0, "failures": 0, "count": count, "error": error, "is_short": int(short)})
        self._set(point, **{"from": self.passages(point) + number})

    def disarm(self) -> None:
        for point in Point:
            self._set(point, **{"from": 0})

    @contextmanager
    def armed(self, point: Point, number: int, *, count: int = 1, error: int = errno.ENOMEM,
              short: bool = False) -> Iterator[None]:
        self.arm(point, number, count=count, error=error, short=short)
        try:
            yield
        finally:
            self.disarm()


def every_failure(faults: Faults, point: Point, run: Callable[[], object], check: Callable[[int], object], *,
                  step: int = 1, **how: Any) -> int:
    """Fails the 1st, 2nd, 3rd … passage of `run` until one run has no failure, and returns the number of failures.

    `how` goes to `Faults.arm`; `check` runs after each run, without failures.
    """
    number = 1
    while True:
        with faults.armed(point, number, **how):
            run()
        check(number)
        if faults.failures(point) == 0:
            return number - 1
        number += step
