"""A server whose parts fail, and the rules that it must still keep."""

from __future__ import annotations

import re
import signal
import time
from collections import Counter
from collections.abc import Callable

from faults import Faults, Point
from processes import Server, Simulator
from script import Caller, Day, Lost, Refused
from waiting import comes_true

# Exit statuses of a Swift trap. Any other signal means memory corruption.
TRAPS = (-signal.SIGILL, -signal.SIGTRAP)
# Intended traps: without these functions nothing that the process does is safe. Visible in debug builds only.
MEANT = re.compile(r"(?:Crypto|Text|WebAuthn)/\w+\.swift:\d+: (?:Precondition failed|Fatal error): (no HMAC|no digest|"
                   r"no randomness|cannot seal|utf8proc failed|libidn2 has no memory|libfido2 has no memory)")
TRAP_SAYS = re.compile("Fatal error|Precondition failed")
# A fault, and an invalid configuration.
ORDERLY_ENDS = (1, 78)
# Maximum time of the script for a new user after the fault, and of a connection's end. Both usually take a fraction of
# a second. The server's own time limits, which would hide an error, end after ten.
RECOVERY_SECONDS_MOST = 8.0
# libcrypto keeps the buffers of its error queues, sixteen for each thread, when it clears them.
KEPT_MOST = {Point.MEMORY_NGHTTP2: 0, Point.MEMORY_OPENSSL: 64, Point.MEMORY_FIDO2: 0}


class Patient:
    """A server with one reactor and one hashing thread, so that passages come in nearly the same order each time."""

    def __init__(self, server: Server, faults: Faults, simulator: Simulator) -> None:
        self.server, self.faults, self.simulator = server, faults, simulator
        self.outcomes: Counter[str] = Counter()
        self.log_begun = 0
        self.day = Day(simulator)
        self.warm_up()

    def warm_up(self) -> None:
        """Creates everything that is made once and kept: providers' keys, statements, tables of the libraries."""
        for _ in range(3):
            self.day = Day(self.simulator)
            self.live_undisturbed()
        assert self.wait_until(lambda: self.faults.live(Point.MEMORY_NGHTTP2) == 0)
        self.at_rest = self.held()

    def held(self) -> dict[Point, int]:
        """Blocks that each library has not freed after the connections of the tests are closed."""
        return {point: self.faults.live(point) for point in KEPT_MOST}

    def live(self) -> None:
        """Runs the script for a new user, as far as the server answers."""
        self.day = Day(self.simulator)
        try:
            with Caller(self.server) as caller:
                self.day.live(caller)
            self.outcomes["whole"] += 1
        except Refused as refusal:
            self.outcomes[f"refused {refusal.reason}"] += 1
        except Lost:
            self.outcomes["connection closed"] += 1

    def live_undisturbed(self) -> None:
        with Caller(self.server) as caller:
            self.day.live(caller)

    def expect_served(self) -> None:
        began = time.monotonic()
        self.live_undisturbed()
        assert time.monotonic() - began < RECOVERY_SECONDS_MOST

    def check(self, number: int) -> None:
        """After the failure: the same script succeeds, acknowledged changes are there, no memory is leaked."""
        try:
            self.live_undisturbed()
        except (Refused, Lost) as error:
            # The process may have been about to stop.
            assert self.has_ended(), f"after failure {number} the same day ends with {error!r}"
            self.start_over()
            self.live_undisturbed()
            self.warm_up()
        self.expect_at_rest(number)

    def try_to_launch(self) -> None:
        """Starts the server, or lets it report why it cannot start."""
        self.log_begun = self.server.log.stat().st_size
        try:
            self.server.launch()
        except RuntimeError:
            assert self.server.process is not None
            code = self.server.process.returncode
            assert code in ORDERLY_ENDS or code in TRAPS, f"the start ended with {code}: {self.said()[-2000:]}"
            # libdispatch, which is part of a release program, traps without a message if it gets no epoll of its own.
            assert self.said().strip() or code in TRAPS, f"the start ended with {code} and without a word"

    @property
    def is_running(self) -> bool:
        return self.server.process is not None and self.server.process.poll() is None

    def start_again(self) -> None:
        """A start without a failure: the database must be as sound as before, and its log keeps its length."""
        self.server.stop()
        self.server.launch()
        self.server.stop()
        self.server.launch()
        self.live_undisturbed()

    def start_over(self) -> None:
        """A start after the process has ended."""
        self.log_begun = self.server.log.stat().st_size
        self.server.launch()

    def said(self) -> str:
        return self.server.log.read_text(errors="replace")[self.log_begun:]

    def has_ended(self) -> bool:
        process = self.server.process
        assert process is not None
        if not self.wait_until(lambda: process.poll() is not None):
            return False
        said = self.said()
        assert process.returncode in TRAPS, f"the server ended with {process.returncode}: {said[-2000:]}"
        meant = MEANT.search(said)
        # A release build traps without a message.
        assert meant or not TRAP_SAYS.search(said), f"the server stopped where it should not: {said[-2000:]}"
        self.outcomes[f"process stopped: {meant.group(1) if meant else 'release build'}"] += 1
        return True

    def expect_at_rest(self, number: int) -> None:
        """The server closes the connections shortly after the client has left."""
        assert self.wait_until(self.is_at_rest), (
            f"after failure {number} blocks are not freed: {self.held()}, before it there were {self.at_rest}")

    def is_at_rest(self) -> bool:
        now = self.held()
        return all(now[point] <= self.at_rest[point] + most for point, most in KEPT_MOST.items())

    @staticmethod
    def wait_until(holds: Callable[[], bool], timeout_seconds: float = RECOVERY_SECONDS_MOST) -> bool:
        # Runs after each of thousands of failures, so long pauses would take most of the time.
        return comes_true(holds, timeout_seconds, pause_seconds=0.002)
