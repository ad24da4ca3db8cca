"""Starts the servers, lets h2load call each in interleaved rounds, and prints the table. Run by deploy/bench.

The figure is calls per CPU-second of the server's process (user and system, from /proc): on a small machine whose
client and neighbours want the same processor, calls per second say as much about them. Medians of the rounds.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
METHODS = ("/grpc.health.v1.Health/Check", "/latchkey.v1.AuthService/FetchProviders")


@dataclass
class Server:
    name: str
    port: int
    command: list[str]
    speaks_grpc: bool = True
    process: subprocess.Popen[bytes] | None = None

    def cpu_seconds(self) -> float:
        assert self.process
        # Fields 14 and 15; the name before them is in parentheses and may hold blanks.
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


@dataclass
class Figures:
    per_second: list[float] = field(default_factory=list)
    per_cpu_second: list[float] = field(default_factory=list)


def frame(message: bytes) -> bytes:
    return b"\0" + len(message).to_bytes(4, "big") + message


def prepare(home: Path, email: str) -> dict[str, Path]:
    """The request of each method, framed; and what nghttpd sends back, as long as the true answer."""
    names = [b"password", b"google.com"]
    listed = b"".join(bytes([tag, len(name)]) + name for tag in (18, 26) for name in names)
    answers = [b"\x08\x01", b"\x08\x01" + listed]
    address = email.encode()
    requests = [b"", b"\x0a" + bytes([len(address)]) + address]
    files = {}
    for method, request, answer in zip(METHODS, requests, answers):
        files[method] = home / (method.rpartition("/")[2] + ".request")
        files[method].write_bytes(frame(request))
        page = home / "pages" / method[1:]
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_bytes(frame(answer))
    return files


def start(server: Server, home: Path, core: int) -> None:
    with (home / f"{server.name}.log").open("wb") as log:
        server.process = subprocess.Popen(
            ["taskset", "-c", str(core), *server.command], stdout=log, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.process.poll() is None:
        probe = subprocess.run(["bash", "-c", f": < /dev/tcp/127.0.0.1/{server.port}"], stderr=subprocess.DEVNULL)
        if probe.returncode == 0:
            return
        time.sleep(0.1)
    sys.exit(f"{server.name} did not start; see {home / (server.name + '.log')}")


def load(server: Server, method: str, request: Path, seconds: int, core: int) -> tuple[float, float, str]:
    """Calls per second, calls per CPU-second of the server, and what TLS was agreed on."""
    before = server.cpu_seconds()
    run = subprocess.run(
        ["taskset", "-c", str(core), "h2load", "-t1", "-c16", "-m16", "-D", str(seconds), "-d", str(request),
         "-H", "content-type: application/grpc", "-H", "te: trailers", f"https://127.0.0.1:{server.port}{method}"],
        capture_output=True, text=True, check=True)
    cpu_seconds = server.cpu_seconds() - before
    counted = re.search(r"requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed", run.stdout)
    answered = re.search(r"status codes: (\d+) 2xx", run.stdout)
    if not counted or not answered or int(counted[1]) == 0 or counted[1] != counted[2] or int(counted[3]) > 0:
        sys.exit(f"{server.name} did not answer every call of {method}:\n{run.stdout}")
    agreed = " ".join(re.findall(r"(?:TLS Protocol|Cipher|Server Temp Key): (.*)", run.stdout))
    return int(counted[1]) / seconds, int(counted[1]) / cpu_seconds, agreed


def first_line(*command: str) -> str:
    result = subprocess.run(command, capture_output=True, text=True)
    return (result.stdout or result.stderr).strip().splitlines()[0]


def describe(accounts: int, agreed: dict[str, str]) -> None:
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    print(f"Machine: {model[1] if model else platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}")
    print(f"Versions: {first_line('swift', '--version')}; grpc++ {first_line('pkg-config', '--modversion', 'grpc++')}; "
          f"{first_line('openssl', 'version')}; {first_line('h2load', '--version')}")
    for name, tls in agreed.items():
        print(f"{name}: {tls}")
    print(f"{accounts} accounts, 16 connections of 16 streams")


def table(servers: list[Server], figures: dict[tuple[str, str], Figures], baseline: str) -> None:
    print(f"{'method':<16}{'server':<12}{'calls/s':>10}{'calls/CPU-s':>13}{'x ' + baseline:>14}{'least-most':>14}")
    for method in METHODS:
        beside = figures[baseline, method].per_cpu_second
        for server in servers:
            own = figures[server.name, method]
            ratios = [mine / theirs for mine, theirs in zip(own.per_cpu_second, beside)]
            print(f"{method.rpartition('/')[2]:<16}{server.name:<12}{statistics.median(own.per_second):>10.0f}"
                  f"{statistics.median(own.per_cpu_second):>13.0f}{statistics.median(ratios):>14.2f}"
                  f"{min(ratios):>8.2f}-{max(ratios):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--home", type=Path)
    parser.add_argument("--latchkeyd")
    for name in ("--accounts", "--rounds", "--seconds", "--server-core", "--client-core"):
        parser.add_argument(name, type=int)
    options = parser.parse_args()
    home: Path = options.home
    email = f"person{options.accounts // 2}@example.com"
    requests = prepare(home, email)
    peer = str(home / "grpc_peer")
    servers = [
        Server("latchkeyd", 18443, [options.latchkeyd, "--config", str(home / "latchkey.json5")]),
        Server("grpc-c++", 18444, [peer, "serve", str(home), "18444", str(options.accounts)]),
        Server("nghttpd", 18445, ["nghttpd", "-n1", "-d", str(home / "pages"), "--trailer=grpc-status: 0", "18445",
                                  str(home / "server.key"), str(home / "server.pem")], speaks_grpc=False),
    ]
    figures: dict[tuple[str, str], Figures] = {}
    agreed: dict[str, str] = {}
    try:
        for server in servers:
            start(server, home, options.server_core)
            if server.speaks_grpc:
                subprocess.run([peer, "check", str(home), str(server.port), email], check=True)
        for number in range(options.rounds):
            for method in METHODS:
                for server in servers:
                    per_second, per_cpu_second, tls = load(
                        server, method, requests[method], options.seconds, options.client_core)
                    own = figures.setdefault((server.name, method), Figures())
                    own.per_second.append(per_second)
                    own.per_cpu_second.append(per_cpu_second)
                    agreed[server.name] = tls
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
        describe(options.accounts, agreed)
        table(servers, figures, "grpc-c++")
    finally:
        for server in servers:
            if server.process and server.process.poll() is None:
                server.process.send_signal(signal.SIGTERM)
        for server in servers:
            if server.process:
                try:
                    server.process.wait(5)
                except subprocess.TimeoutExpired:
                    server.process.kill()


if __name__ == "__main__":
    main()
