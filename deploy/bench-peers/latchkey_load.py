"""latchkey-load on the client's core: spreads its calls over many users and checks every answer."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from figures import Rate
from servers import Server, Unmeasurable

# Longer than any measurement that runs at the same time.
NOISE_SECONDS = 600


@dataclass(frozen=True)
class Shape:
    connections: int = 16
    streams: int = 16


@dataclass(frozen=True)
class LatchkeyLoad:
    program: Path
    authority: Path

    def throughput(self, server: Server, workload: str, seconds: int, options: list[str],
                   shape: Shape = Shape(), cpu_seconds: Callable[[], float] | None = None) -> Rate:
        """A closed loop. The preparation (sessions, for example) does not count.

        `cpu_seconds` replaces the server's own CPU time where other processes count too.
        """
        clock = cpu_seconds or server.cpu_seconds
        with self._run(server, workload, seconds, shape, options) as run:
            before = clock()
            for line in run.lines():
                if line.startswith("prepared "):
                    before = clock()
            spent = clock() - before
            report = run.report()
            return Rate(report["ok"] / spent, report["calls_per_second"])

    def p99_millis(self, server: Server, workload: str, seconds: int, per_second: int, options: list[str]) -> float:
        """The p99 of an open loop. A call counts from its scheduled time, even if it could not be sent then."""
        with self._run(server, workload, seconds, Shape(), ["--rate", str(per_second), *options]) as run:
            list(run.lines())
            return float(run.report()["calls"][0]["micros"]["p99"]) / 1000

    @contextmanager
    def beside(self, server: Server, workload: str, options: list[str], shape: Shape) -> Iterator[None]:
        """Runs a closed loop from before the body begins until the body has ended. Its answers are checked too."""
        with self._run(server, workload, NOISE_SECONDS, shape, options) as run:
            # The first progress line comes after the first second.
            next(line for line in run.lines() if "calls/s" in line)
            yield
            run.process.send_signal(signal.SIGTERM)
            list(run.lines())
            run.report()

    @contextmanager
    def _run(self, server: Server, workload: str, seconds: int, shape: Shape, options: list[str]) -> Iterator[_Run]:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "report.json"
            process = subprocess.Popen(
                [self.program, workload, "--server", f"localhost:{server.port}", "--ca", self.authority,
                 "--connections", str(shape.connections), "--streams", str(shape.streams), "--duration", str(seconds),
                 "--warm-up", "0", "--json", file, *options],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            try:
                yield _Run(process, file, f"{server.title}, {workload}")
            finally:
                process.kill()
                process.wait()


@dataclass
class _Run:
    process: subprocess.Popen[str]
    file: Path
    name: str
    said: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """The output while it runs. The process has ended when the lines end."""
        assert self.process.stderr
        for line in self.process.stderr:
            self.said.append(line)
            yield line

    def report(self) -> dict[str, Any]:
        if self.process.wait() != 0:
            raise Unmeasurable(f"{self.name}: latchkey-load failed: {''.join(self.said[-3:])}")
        report: dict[str, Any] = json.loads(self.file.read_text())
        return report
