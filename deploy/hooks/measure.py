"""Measures SignIn with and without a hook that waits before each answer. See deploy/hook-bench."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
from configuration import KEYS
from latchkey.hooks.v1 import hooks_pb2 as messages
from latchkey.hooks.v1 import hooks_pb2_grpc as services
from metrics import ON_A_FREE_PORT, Scrape
from processes import Server, Simulator, prepare

LOAD = Path(os.environ["LATCHKEYD"]).parent / "latchkey-load"


async def serve(folder: Path, millis: float) -> None:
    """Runs the hook in this process, and prints its port."""
    class Waiting(services.HookServiceServicer):
        async def BeforeSignIn(
                self, request: messages.BeforeSignInRequest, context: object) -> messages.BeforeSignInResponse:
            await asyncio.sleep(millis / 1000)
            return messages.BeforeSignInResponse()

    server = grpc.aio.server()
    services.add_HookServiceServicer_to_server(Waiting(), server)
    pair = [((folder / "server.key").read_bytes(), (folder / "server.pem").read_bytes())]
    credentials = grpc.ssl_server_credentials(pair, (folder / "authority.pem").read_bytes(), require_client_auth=True)
    port = server.add_secure_port("localhost:0", credentials)
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()


@contextmanager
def hook(folder: Path, millis: float) -> Iterator[int]:
    """The port of a hook in a process of its own."""
    command = [sys.executable, __file__, "--serve", str(folder), "--millis", str(millis)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def latencies(server: Server, asked: argparse.Namespace) -> tuple[float, float]:
    """p50 and p99 of SignIn in milliseconds. A call counts from its scheduled time."""
    key, report = server.folder / "web.apikey", server.folder / f"report-{server.port}.json"
    if not key.exists():
        key.write_text(KEYS["web"])
        key.chmod(0o600)
    subprocess.run(
        [LOAD, "--server", server.address, "--ca", server.folder / "authority.pem", "--api-key-file", key,
         "--accounts-file", server.folder / f"accounts-{server.port}", "--prepare", "64", "--rate", str(asked.rate),
         "--duration", str(asked.seconds), "--json", report, asked.workload],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    calls = json.loads(report.read_text())["calls"]
    [micros] = [each["micros"] for each in calls if each["name"].endswith("/SignIn")]
    return micros["p50"] / 1000, micros["p99"] / 1000


def show(name: str, measured: list[tuple[float, float]]) -> tuple[float, float]:
    p50, p99 = (statistics.median(column) for column in zip(*measured, strict=True))
    rounds = ", ".join(f"{each[1]:.2f}" for each in measured)
    print(f"  {name:16} p50 {p50:7.2f} ms, p99 {p99:7.2f} ms (rounds: {rounds})")
    return p50, p99


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--millis", type=float, default=1)
    parser.add_argument("--rate", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--workload", default="sign-in-password")
    parser.add_argument("--serve", type=Path)
    asked = parser.parse_args()
    if asked.serve:
        asyncio.run(serve(asked.serve, asked.millis))
        return 0
    with tempfile.TemporaryDirectory() as place:
        folder = prepare(Path(place))
        simulator = Simulator.start(folder)
        servers: dict[str, Server] = {}
        try:
            with hook(folder, asked.millis) as port:
                rules = [{"name": "rules", "endpoint": f"https://localhost:{port}", "ca_file": "authority.pem",
                          "certificate_file": "web.pem", "key_file": "web.key", "events": ["before_sign_in"]}]
                servers["without hooks"] = Server.start(folder, simulator)
                servers["with the hook"] = Server.start(folder, simulator, hooks=rules, metrics=ON_A_FREE_PORT)
                measured: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
                names = list(servers)
                for number in range(asked.rounds):
                    # The order alternates, so that a drift of the machine affects both alike.
                    for name in names if number % 2 == 0 else reversed(names):
                        measured[name].append(latencies(servers[name], asked))
                print(f"{asked.workload}, {asked.rate} in a second, hook of {asked.millis:g} ms, medians of "
                      f"{asked.rounds} rounds of {asked.seconds} s:")
                (plain50, plain99), (asked50, asked99) = (show(name, each) for name, each in measured.items())
                print(f"  {'difference':16} p50 {asked50 - plain50:7.2f} ms, p99 {asked99 - plain99:7.2f} ms")
                seen = Scrape.of(servers["with the hook"])
                questions = seen.sum("latchkey_hook_seconds_count")
                mean = seen.sum("latchkey_hook_seconds_sum") / questions * 1000
                failed = questions - seen.sum("latchkey_hook_calls_total", outcome="allowed")
                print(f"  The server waited for {questions:.0f} answers, {mean:.2f} ms on average; {failed:.0f} failed")
                return 1 if failed else 0
        finally:
            for server in servers.values():
                server.stop()
            simulator.stop()


if __name__ == "__main__":
    sys.exit(main())
