"""h2load, run on the client's core: closed loop for throughput, fixed arrival rate for latency, handshakes."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from figures import Rate
from servers import Server, Unmeasurable

HANDSHAKES_AT_ONCE = 48
HEADERS = ["-H", "content-type: application/grpc", "-H", "te: trailers"]
# The same for all servers, whatever they would choose by themselves; gRPC C++ and nghttpd know no other group.
TLS = ["--tls13-ciphers=TLS_AES_128_GCM_SHA256", "--groups=P-256"]


@dataclass(frozen=True)
class Shot:
    """What is sent: the path of the method, a file with one gRPC frame; and how long each answer is, where it is known.

    h2load looks at the HTTP status only; a refused gRPC call has that of an answered one, but not its bytes.
    """

    method: str
    request: Path
    answer_bytes: int | None


@dataclass(frozen=True)
class Shape:
    connections: int = 16
    streams: int = 16

    @property
    def arguments(self) -> list[str]:
        return ["-c", str(self.connections), "-m", str(self.streams)]


def throughput(server: Server, shot: Shot, seconds: int, shape: Shape = Shape()) -> Rate:
    """As many calls as the server answers, with connections x streams of them in flight."""
    before = server.cpu_seconds()
    done = _run(server, shot, [*shape.arguments, "-D", str(seconds)])
    return Rate(done / (server.cpu_seconds() - before), done / seconds)


def begin_throughput(server: Server, shot: Shot, seconds: int, shape: Shape) -> subprocess.Popen[bytes]:
    """The same in the background, as the noise beside another measurement."""
    return subprocess.Popen(_command(server, shot, [*shape.arguments, "-D", str(seconds)]), stdout=subprocess.DEVNULL)


def latencies(server: Server, shot: Shot, seconds: int, *, connections: int, per_second: int) -> list[float]:
    """Milliseconds of each call, sent when it is due whether or not earlier ones were answered.

    A call that h2load itself sends late counts from its sending, so its own core must not be busy.
    """
    shape = Shape(connections, streams=100)
    with tempfile.NamedTemporaryFile("r") as log:
        _run(server, shot, [*shape.arguments, "-D", str(seconds), f"--rps={per_second // connections}",
                            f"--log-file={log.name}"])
        return parse_log(log)


def handshakes(server: Server, shot: Shot, seconds: int) -> Rate:
    """Connections, each with a full handshake and one call; h2load offers no session to resume."""
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
    run = subprocess.run(_command(server, shot, arguments), capture_output=True, text=True, check=True)
    return parse_summary(run.stdout, f"{server.title}, {shot.method}", shot.answer_bytes)


def parse_summary(output: str, whose: str, answer_bytes: int | None) -> int:
    """How many calls were answered; every one must be, by HTTP 200 and as many bytes as the right answer has."""
    counted = re.search(r"requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed", output)
    received = re.search(r"^traffic: .* \((\d+)\) data$", output, re.MULTILINE)
    if not counted or not received or int(counted[1]) == 0 or counted[1] != counted[2] or int(counted[3]) > 0:
        raise Unmeasurable(f"{whose}: not every call was answered:\n{output}")
    done = int(counted[1])
    if answer_bytes is not None and int(received[1]) != done * answer_bytes:
        raise Unmeasurable(f"{whose}: some of {done} answers are not of {answer_bytes} bytes:\n{output}")
    return done


def parse_log(log: Iterable[str]) -> list[float]:
    """The log has lines of when a call was sent, its HTTP status, and microseconds to its end."""
    calls = [line.split("\t") for line in log]
    if any(status != "200" for _, status, _ in calls):
        raise Unmeasurable("a call was not answered by HTTP 200")
    return [int(microseconds) / 1000 for _, _, microseconds in calls]
