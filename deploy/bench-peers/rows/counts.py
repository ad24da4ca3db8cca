"""Heap allocations and system calls of a FetchProviders call, as Tests/Counts counts them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from figures import Finding, Goal, Series
from stand import LATCHKEY, Stand, need

TESTS = Path(__file__).resolve().parents[3] / "Tests/Counts"


def counts(stand: Stand) -> list[Finding]:
    """deploy/test compares the counts of a debug build with the committed ones. This row compares those of the release
    build, which may have one more allocation."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", TESTS], capture_output=True, text=True, check=False,
        env=os.environ | {"LATCHKEYD": str(stand.options.latchkeyd)})
    counted = parse(run.stdout)
    need({"allocations", "system_calls"} <= counted.keys(), f"Tests/Counts counted nothing:\n{run.stdout[-2000:]}")
    committed = json.loads((TESTS / "thresholds.json").read_text())["release"]["allocations"]["FetchProviders"]
    return [
        Finding("Heap allocations a FetchProviders call", Series(LATCHKEY, (counted["allocations"],)),
                goal=Goal(committed + 1, 8, at_least=False), digits=1),
        Finding("System calls a FetchProviders call, 256 in flight", Series(LATCHKEY, (counted["system_calls"],)),
                goal=Goal(0.2, 0.1, at_least=False), digits=2),
    ]


def parse(output: str) -> dict[str, float]:
    found = re.findall(r"(\w+) of FetchProviders \(\w+\): ([\d.]+)", output)
    return {kind: float(figure) for kind, figure in found}
