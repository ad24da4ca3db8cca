"""h2load, run on the client's core: closed loop for throughput, fixed arrival rate for latency, handshakes."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from figures import Rate
from servers import Server, Unmeasurable

CONNECTIONS = 16
STREAMS = 16
HANDSHAKES_AT_ONCE = 48
HEADERS = ["-H", "content-type: application/grpc", "-H", "te: trailers"]
# One cipher for all servers, whatever they would choose by themselves.
TLS = ["--tls13-ciphers=TLS_AES_128_GCM_SHA256"]
# gRPC C++ knows no X25519, so one group for all is asked for only where handshakes are counted.
X25519 = ["--groups=X25519"]


def throughput(server: Server, method: str, request: Path, seconds: float, *, connections: int = CONNECTIONS,
               streams: int = STREAMS) -> Rate:
    """As many calls as the server answers, with connections x streams of them in flight."""
    before = server.cpu_seconds()
    done = _run(server, method, request, ["-c", str(connections), "-m", str(streams), "-D", f"{seconds:g}"])
    return Rate(done / (server.cpu_seconds() - before), done / seconds)


def begin_throughput(server: Server, method: str, request: Path, seconds: float, *, connections: int,
                     streams: int) -> subprocess.Popen[bytes]:
    """The same in the background, as the noise beside another measurement."""
    arguments = ["-c", str(connections), "-m", str(streams), "-D", f"{seconds:g}"]
    return subprocess.Popen(_command(server, method, request, arguments), stdout=subprocess.DEVNULL)


def latencies(server: Server, method: str, request: Path, seconds: float, *, connections: int,
              per_second: int) -> list[float]:
    """Milliseconds of each call, sent when it is due whether or not earlier ones were answered.

    A call that h2load itself sends late counts from its sending, so its own core must not be busy.
    """
    with tempfile.NamedTemporaryFile("r") as log:
        _run(server, method, request, [
            "-c", str(connections), "-m", "100", "-D", f"{seconds:g}", f"--rps={per_second / connections:g}",
            f"--log-file={log.name}"])
        return parse_log(log)


def handshakes(server: Server, method: str, request: Path, seconds: float) -> Rate:
    """Connections, each with a full handshake and one call; h2load offers no session to resume."""
    before, begun, done = server.cpu_seconds(), time.monotonic(), 0
    count = str(HANDSHAKES_AT_ONCE)
    while time.monotonic() - begun < seconds:
        done += _run(server, method, request, ["-c", count, "-n", count, "-m", "1", *X25519])
    return Rate(done / (server.cpu_seconds() - before), done / (time.monotonic() - begun))


def agreed_tls(server: Server, method: str, request: Path) -> str:
    run = subprocess.run(_command(server, method, request, ["-c", "1", "-n", "1"]), capture_output=True, text=True,
                         check=True)
    return ", ".join(re.findall(r"(?:TLS Protocol|Cipher|Server Temp Key): (.*)", run.stdout))


def _command(server: Server, method: str, request: Path, arguments: list[str]) -> list[str]:
    address = f"https://127.0.0.1:{server.port}{method}"
    return ["h2load", "-t", "1", *TLS, *arguments, "-d", str(request), *HEADERS, address]


def _run(server: Server, method: str, request: Path, arguments: list[str]) -> int:
    run = subprocess.run(_command(server, method, request, arguments), capture_output=True, text=True, check=True)
    return parse_summary(run.stdout, f"{server.title}, {method}")


def parse_summary(output: str, whose: str) -> int:
    """How many calls were answered; every one must be, by HTTP 200."""
    counted = re.search(r"requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed", output)
    if not counted or int(counted[1]) == 0 or counted[1] != counted[2] or int(counted[3]) > 0:
        raise Unmeasurable(f"{whose}: not every call was answered:\n{output}")
    return int(counted[1])


def parse_log(log: Iterable[str]) -> list[float]:
    """The log has lines of when a call was sent, its HTTP status, and microseconds to its end."""
    calls = [line.split("\t") for line in log]
    if any(status != "200" for _, status, _ in calls):
        raise Unmeasurable("a call was not answered by HTTP 200")
    return [int(microseconds) / 1000 for _, _, microseconds in calls]
