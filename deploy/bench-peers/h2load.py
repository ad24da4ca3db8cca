"""h2load on the client's core: one repeated call, and handshakes."""

from __future__ import annotations

import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from figures import Rate
from servers import Server, Unmeasurable

CONNECTIONS = 16
STREAMS = 16
HANDSHAKES_AT_ONCE = 48
# On an overloaded machine h2load may miss the end of its run and never stop.
RUN_SECONDS = 120
HEADERS = ["-H", "content-type: application/grpc", "-H", "te: trailers"]
# The same for all servers, independent of their defaults. gRPC C++ and nghttpd support no other group.
TLS = ["--tls13-ciphers=TLS_AES_128_GCM_SHA256", "--groups=P-256"]


@dataclass(frozen=True)
class Shot:
    """The request: the path of the method, a file with one gRPC frame, and the length of each answer.

    h2load checks the HTTP status only. A failed gRPC call has the same status as a successful one, but other bytes.
    """

    method: str
    request: Path
    answer_bytes: int


def throughput(server: Server, shot: Shot, seconds: int) -> Rate:
    """Maximum rate of answers, with connections x streams calls in flight."""
    before = server.cpu_seconds()
    done = _run(server, shot, ["-c", str(CONNECTIONS), "-m", str(STREAMS), "-D", str(seconds)])
    return Rate(done / (server.cpu_seconds() - before), done / seconds)


def handshakes(server: Server, shot: Shot, seconds: int) -> Rate:
    """Connections with a full handshake and one call each; h2load offers no session to resume."""
    before, begun, done = server.cpu_seconds(), time.monotonic(), 0
    count = str(HANDSHAKES_AT_ONCE)
    while time.monotonic() - begun < seconds:
        done += _run(server, shot, ["-c", count, "-n", count, "-m", "1"])
    return Rate(done / (server.cpu_seconds() - before), done / (time.monotonic() - begun))


def agreed_tls(server: Server, shot: Shot) -> str:
    run = subprocess.run(_command(server, shot, ["-c", "1", "-n", "1"]), capture_output=True, text=True, check=True)
    return ", ".join(re.findall(r"(?:TLS Protocol|Cipher|Server Temp Key): (.*)", run.stdout))


def _command(server: Server, shot: Shot, arguments: list[str]) -> list[str]:
    address = f"https://127.0.0.1:{server.port}{shot.method}"
    return ["h2load", "-t", "1", *TLS, *arguments, "-d", str(shot.request), *HEADERS, address]


def _run(server: Server, shot: Shot, arguments: list[str]) -> int:
    run = subprocess.run(_command(server, shot, arguments), capture_output=True, text=True, check=True,
                         timeout=RUN_SECONDS)
    return parse_summary(run.stdout, f"{server.title}, {shot.method}", shot.answer_bytes)


def parse_summary(output: str, whose: str, answer_bytes: int) -> int:
    """Number of answered calls. Every answer must have HTTP status 200 and the expected number of bytes."""
    counted = re.search(r"requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed", output)
    received = re.search(r"^traffic: .* \((\d+)\) data$", output, re.MULTILINE)
    if not counted or not received or int(counted[1]) == 0 or counted[1] != counted[2] or int(counted[3]) > 0:
        raise Unmeasurable(f"{whose}: not every call was answered:\n{output}")
    done = int(counted[1])
    if int(received[1]) != done * answer_bytes:
        raise Unmeasurable(f"{whose}: some of {done} answers are not of {answer_bytes} bytes:\n{output}")
    return done
