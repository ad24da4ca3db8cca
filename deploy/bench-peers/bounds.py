"""What a row can at best be: the cryptography alone, Argon2id alone, SQLite alone; on the server's core."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from figures import Rate
from servers import Unmeasurable


def cryptography(core: int, seconds: int) -> Rate:
    """One RSA-2048 verification and one P-256 signature, as often as libcrypto does both in a second."""
    each = max(1, round(seconds / 4))
    run = subprocess.run(
        ["taskset", "-c", str(core), "openssl", "speed", "-mr", "-seconds", str(each), "rsa2048", "ecdsap256"],
        capture_output=True, text=True, check=True)
    per_second = parse_speed(run.stdout)
    return Rate(per_second, per_second)


def parse_speed(output: str) -> float:
    """Lines of -mr: +F2 RSA and +F4 ECDSA, each with index, bits, signatures a second, verifications a second."""
    rsa = re.search(r"^\+F2:\d+:2048:[\d.]+:([\d.]+)$", output, re.MULTILINE)
    ecdsa = re.search(r"^\+F4:\d+:256:([\d.]+):[\d.]+$", output, re.MULTILINE)
    if not rsa or not ecdsa:
        raise Unmeasurable("openssl speed prints something else than expected")
    return 1 / (1 / float(rsa[1]) + 1 / float(ecdsa[1]))


def password_hash(tool: Path, password: str, memory_kib: int, iterations: int) -> str:
    return _output(str(tool), "hash", password, str(memory_kib), str(iterations))


def argon2id(tool: Path, core: int, password: str, phc: str, seconds: int) -> Rate:
    return _rate("taskset", "-c", str(core), str(tool), "verify", password, phc, str(seconds))


def session_updates(tool: Path, core: int, store: Path, batch: int, seconds: int) -> Rate:
    return _rate("taskset", "-c", str(core), str(tool), str(store), str(batch), str(seconds))


def _rate(*command: str) -> Rate:
    per_cpu_second, per_second = _output(*command).split()
    return Rate(float(per_cpu_second), float(per_second))


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
