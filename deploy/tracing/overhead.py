"""Prints the trace of one SignIn as text, and measures the cost of tracing by runs in turns. See deploy/trace-bench."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import processes
from clients import Client, fresh_email, password
from collector import Collector, text
from configuration import KEYS, Settings
from metrics import ON_A_FREE_PORT, Scrape
from processes import Server, Simulator, prepare

SIGN_IN = "latchkey.v1.AuthService/SignIn"
LOAD = Path(os.environ["LATCHKEYD"]).parent / "latchkey-load"
SERVER_CORE, LOAD_CORE = "0", "1"


def started(folder: Path, simulator: Simulator, program: Path, tracing: Settings | None) -> Server:
    processes.LATCHKEYD = program
    more = {"tracing": tracing} if tracing else {}
    return Server.start(folder, simulator, metrics=ON_A_FREE_PORT, reactors=1, **more)


def show_trace(folder: Path, simulator: Simulator, receiver: Collector, program: Path) -> None:
    server = started(folder, simulator, program, {**target(receiver), "sample_ratio": 1})
    client, email = Client(server, key="web"), fresh_email()
    client.create(email)
    client.sign_in(password(email))
    receiver.wait(lambda seen: seen.named(SIGN_IN))
    [call] = receiver.named(SIGN_IN)
    print(text([span for span in receiver.spans if span.trace_id == call.trace_id]))
    client.close()
    server.stop()


def target(receiver: Collector) -> Settings:
    return {"otlp_endpoint": f"http://127.0.0.1:{receiver.port}"}


def rate(server: Server, workload: str, seconds: int) -> float:
    """Calls per CPU-second of the server's process."""
    before = Scrape.of(server)
    subprocess.run(
        ["taskset", "-c", LOAD_CORE, LOAD, "--server", server.address,
         "--ca", server.folder / "authority.pem", "--api-key-file",
         key_file(server.folder), "--accounts-file", server.folder / f"accounts-{server.port}", "--prepare", "64",
         "--duration", str(seconds), workload],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = Scrape.of(server)
    calls = after.sum("latchkey_calls_total", code="OK") - before.sum("latchkey_calls_total", code="OK")
    return calls / (after("process_cpu_seconds_total") - before("process_cpu_seconds_total"))


def key_file(folder: Path) -> Path:
    path = folder / "web.apikey"
    path.write_text(KEYS["web"])
    path.chmod(0o600)
    return path


def compare(servers: dict[str, Server], workload: str, rounds: int, seconds: int) -> None:
    rates: dict[str, list[float]] = {name: [] for name in servers}
    names = list(servers)
    for name in names:
        rate(servers[name], workload, 1)
    for number in range(rounds):
        # The order alternates, so that a drift of the machine affects all alike.
        for name in names if number % 2 == 0 else reversed(names):
            rates[name].append(rate(servers[name], workload, seconds))
            time.sleep(0.2)
    print(f"{workload}: calls per CPU-second, median of {rounds} rounds of {seconds} s, and the ratio to off")
    for name, measured in rates.items():
        ratios = [own / off for own, off in zip(measured, rates["off"], strict=True)]
        print(f"  {name:12} {statistics.median(measured):10.0f}  {statistics.median(ratios):.4f} "
              f"({min(ratios):.4f} to {max(ratios):.4f})")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--base", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--workload", default="fetch")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--trace-only", action="store_true")
    asked = parser.parse_args()
    program = Path(os.environ["LATCHKEYD"])
    with tempfile.TemporaryDirectory() as place:
        folder = prepare(Path(place))
        simulator, receiver = Simulator.start(folder), Collector()
        servers: dict[str, Server] = {}
        try:
            show_trace(folder, simulator, receiver, program)
            if asked.trace_only:
                return 0
            servers = {
                "off": started(folder, simulator, program, None),
                "on, 1 %": started(folder, simulator, program, {**target(receiver), "sample_ratio": 0.01}),
            }
            if asked.all:
                servers["on, all"] = started(folder, simulator, program, {**target(receiver), "sample_ratio": 1})
            if asked.base:
                servers["base"] = started(folder, simulator, asked.base, None)
            for server in servers.values():
                assert server.process
                subprocess.run(["taskset", "-acp", SERVER_CORE, str(server.process.pid)],
                               check=True, stdout=subprocess.DEVNULL)
            compare(servers, asked.workload, asked.rounds, asked.seconds)
        finally:
            for server in servers.values():
                server.stop()
            receiver.stop()
            simulator.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
