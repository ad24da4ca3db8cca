"""The measured server processes: each starts on its core, is observed through /proc, and stops at the end."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
START_SECONDS = 120
END_SECONDS = 10


class Unmeasurable(Exception):
    """States why one row cannot be measured here. The other rows continue."""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@dataclass
class Server:
    title: str
    command: list[str]
    port: int
    log: Path
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self.process
        return self.process.pid

    def launch(self, core: int) -> None:
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["taskset", "-c", str(core), *self.command], stdout=log, stderr=subprocess.STDOUT,
                env=os.environ | self.environment)

    def start(self, core: int) -> None:
        self.launch(core)
        deadline = time.monotonic() + START_SECONDS
        while not self.is_open():
            if self.process is None or self.process.poll() is not None or time.monotonic() > deadline:
                raise Unmeasurable(f"{self.title} did not start; see {self.log}")
            time.sleep(0.1)

    def is_open(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def cpu_seconds(self) -> float:
        # Fields 14 and 15; the name before them is in parentheses and may contain spaces.
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND

    def resident_kib(self) -> int:
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text())
        assert found
        return int(found[1])
