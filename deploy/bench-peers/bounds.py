"""Upper bounds of the rows on the server's core: the cryptography alone, Argon2id alone, SQLite alone."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from figures import Rate
from servers import Unmeasurable


def cryptography(core: int, seconds: int) -> Rate:
    """Pairs of one RSA-2048 verification and one P-256 signature that libcrypto does in a second."""
    output = _speed(core, max(1, round(seconds / 4)), "rsa2048", "ecdsap256")
    per_second = in_turn(rsa_verifications(output), p256_signatures(output))
    return Rate(per_second, per_second)


def signatures(core: int, seconds: int) -> Rate:
    """P-256 signatures alone."""
    per_second = p256_signatures(_speed(core, max(1, round(seconds / 2)), "ecdsap256"))
    return Rate(per_second, per_second)


def in_turn(*per_second: float) -> float:
    """The rate of all of them in turn, one after the other."""
    return 1 / sum(1 / each for each in per_second)


def rsa_verifications(output: str) -> float:
    """Parses a line of -mr: +F2, index, bits, signatures a second, verifications a second."""
    return _figure(r"^\+F2:\d+:2048:[\d.]+:([\d.]+)$", output)


def p256_signatures(output: str) -> float:
    """The same for +F4."""
    return _figure(r"^\+F4:\d+:256:([\d.]+):[\d.]+$", output)


def _figure(pattern: str, output: str) -> float:
    found = re.search(pattern, output, re.MULTILINE)
    if not found:
        raise Unmeasurable("openssl speed prints something else than expected")
    return float(found[1])


def _speed(core: int, seconds: int, *algorithms: str) -> str:
    return _output("taskset", "-c", str(core), "openssl", "speed", "-mr", "-seconds", str(seconds), *algorithms)


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
