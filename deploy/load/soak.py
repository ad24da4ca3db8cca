"""Runs a command and reports how the memory, descriptors and threads of a server change during the run.

    soak.py --pid PID --metrics-port PORT --report REPORT.json -- latchkey-load … --json REPORT.json

The command is a run of latchkey-load. Its report compares the latencies at its end with those at its start. This script
exits with the exit code of the command.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# During this time the load prepares users, and buffers and the store's page cache fill. That is no leak.
SETTLING_SECONDS = 180


@dataclass
class Sample:
    seconds: float
    # Memory of its own, and mapped pages of the store's file, which the kernel can reclaim.
    own_mib: float
    mapped_mib: float
    descriptors: int
    threads: int


def descriptors(metrics_port: int) -> int:
    """The server's own count. The server forbids dumps, so its /proc/PID/fd belongs to root."""
    connection = http.client.HTTPConnection("127.0.0.1", metrics_port, timeout=10)
    try:
        connection.request("GET", "/metrics")
        found = re.search(r"^process_open_fds (\S+)", connection.getresponse().read().decode(), re.MULTILINE)
    finally:
        connection.close()
    if found is None:
        raise RuntimeError("the server does not report its descriptors")
    return int(float(found[1]))


def sample(pid: int, metrics_port: int, begun: float) -> Sample:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())

    def mib(name: str) -> float:
        return int(status[name].split()[0]) / 1024

    return Sample(time.monotonic() - begun, mib("RssAnon"), mib("RssFile"),
                  descriptors(metrics_port), int(status["Threads"]))


def watch(pid: int, metrics_port: int, command: list[str], every_seconds: float) -> tuple[int, list[Sample]]:
    begun = time.monotonic()
    run = subprocess.Popen(command)
    try:
        samples = [sample(pid, metrics_port, begun)]
        while True:
            try:
                return run.wait(every_seconds), samples
            except subprocess.TimeoutExpired:
                samples.append(sample(pid, metrics_port, begun))
    finally:
        if run.poll() is None:
            run.kill()
            run.wait()


def slope_mib_per_hour(samples: list[Sample]) -> float:
    """The slope by least squares."""
    if len(samples) < 2:
        return 0.0
    fit = statistics.linear_regression([each.seconds for each in samples], [each.own_mib for each in samples])
    return fit.slope * 3600


def settled(samples: list[Sample]) -> list[Sample]:
    """The samples without the beginning, or without the first quarter of a short run."""
    start = min(SETTLING_SECONDS, samples[-1].seconds / 4)
    return [each for each in samples if each.seconds >= start]


def ends(report: dict[str, Any]) -> tuple[str, float, float]:
    """The compared span, and the p99 in milliseconds at its start and end, as medians over a tenth of the run."""
    name = "minutes" if len(report["minutes"]) >= 10 else "seconds"
    latencies = [each["p99_micros"] / 1000 for each in report[name] if each["ok"]]
    part = max(1, len(latencies) // 10)
    return f"{part} {name}", statistics.median(latencies[:part]), statistics.median(latencies[-part:])


def describe(samples: list[Sample], report: dict[str, Any]) -> None:
    first, last = samples[0], samples[-1]
    steady = settled(samples)
    print(f"Samples: {len(samples)} over {last.seconds / 60:.1f} minutes")
    print(f"Memory of its own: {first.own_mib:.1f} MiB at the start, {last.own_mib:.1f} MiB at the end, slope "
          f"{slope_mib_per_hour(steady):+.2f} MiB/hour from {steady[0].seconds:.0f} s on, "
          f"{slope_mib_per_hour(samples[len(samples) // 2:]):+.2f} in the second half")
    print(f"Pages of the program and the store that are mapped: {first.mapped_mib:.1f} MiB at the start, "
          f"{last.mapped_mib:.1f} MiB at the end")
    for name in ("descriptors", "threads"):
        values = [getattr(each, name) for each in samples]
        print(f"{name.capitalize()}: {values[0]} at the start, {max(values)} at most, {values[-1]} at the end")
    span, at_start, at_end = ends(report)
    print(f"p99 of all calls: {at_start:.2f} ms in the first {span}, {at_end:.2f} ms in the last")
    failed = report["refused"] + report["wrong"] + report["lost"]
    print(f"Answers: {report['ok']} right, {failed} not; {report['never_started']} iterations never started")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pid", type=int, required=True)
    parser.add_argument("--metrics-port", type=int, required=True)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--every-seconds", type=float, default=5)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    code, samples = watch(options.pid, options.metrics_port, options.command, options.every_seconds)
    if options.report.exists():
        describe(samples, json.loads(options.report.read_text()))
    sys.exit(code)


if __name__ == "__main__":
    main()
