"""The machine of the measurement: processor, kernel, and the versions of all programs and libraries."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

# Programs that print their version, and Debian packages of libraries that do not.
PROGRAMS = (("swift", "--version"), ("openssl", "version"), ("h2load", "--version"), ("go", "version"))
PACKAGES = ("libgrpc++-dev", "golang-google-grpc-dev", "libsqlite3-0", "libsodium23")


def describe(accounts: int, rounds: int, seconds: int, growth: bool) -> dict[str, str]:
    """Describes the machine. `Command` repeats the measurement."""
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    versions = [first_line(*program) for program in PROGRAMS] + [package(name) for name in PACKAGES]
    return {
        "Machine": f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}, "
                   f"load average {os.getloadavg()[2]:.1f} over 15 minutes",
        "Versions": ", ".join(version for version in versions if version),
        "Command": f"deploy/bench{' --growth' if growth else ''} --accounts {accounts} --rounds {rounds} "
                   f"--seconds {seconds}",
    }


def first_line(*command: str) -> str:
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return (result.stdout or result.stderr).strip().splitlines()[0]


def package(name: str) -> str:
    run = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}", name], capture_output=True, text=True,
                         check=False)
    return run.stdout
