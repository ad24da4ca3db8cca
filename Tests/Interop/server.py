"""Starts and stops the server under test: latchkeyd, or another server that LATCHKEY_PEER names, to test the tests.

`grpcio` is the stock gRPC C core, which decides where the documents leave a choice. `nghttpd` is a plain web server
that passes nearly all HTTP/2 cases; it can only run test_h2_conformance.py.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from ports import free_port

HERE = Path(__file__).resolve().parent
PROTO = HERE.parent.parent / "proto"
LATCHKEYD = Path(os.environ.get("LATCHKEYD", HERE.parent.parent / ".build" / "debug" / "latchkeyd"))
LIMITS = ("connections_max", "connections_per_address_max", "offences_per_address_max", "handshake_millis",
          "request_millis", "message_bytes_max", "resets_max", "answer_still_seconds", "answer_seconds",
          "write_still_seconds", "idle_seconds", "age_seconds", "keepalive_seconds", "keepalive_timeout_seconds",
          "drain_seconds")
PEER = os.environ.get("LATCHKEY_PEER", "")


def write_config(folder: Path, port: int, **overrides: object) -> Path:
    """Writes the configuration of one server. `overrides` are the test suite's own names for settings, listed here.

    Only this function contains the server's names; limits that a test does not set keep their defaults.
    """
    wanted = {"reflection": True, "client_certificates": "none"} | overrides
    (folder / "master.key").write_text("5a" * 32)
    tls = {"certificate_file": str(folder / "server.pem"), "key_file": str(folder / "server.key"),
           "client_ca_file": str(folder / "authority.pem"), "client_certificates": wanted["client_certificates"]}
    if "reload_seconds" in wanted:
        tls["reload_seconds"] = wanted["reload_seconds"]
    config = {
        "listen": {"address": "127.0.0.1", "port": port, "allow_unidentified": True,
                   "reflection": wanted["reflection"]},
        "tls": tls,
        "callers": [{"name": "interop", "san": "uri:spiffe://interop.test/caller"}],
        "store": {"path": str(folder / f"store-{port}.db")},
        "metrics": {"address": "127.0.0.1", "port": wanted["metrics_port"]} if "metrics_port" in wanted else {},
        "reactors": wanted.get("reactors", 0),
        "passwords": {"workers": wanted.get("password_workers", 0)},
        "limits": {name: wanted[name] for name in LIMITS if name in wanted},
    }
    path = folder / f"config-{port}.json5"
    path.write_text(json.dumps(config, indent=2))
    return path


@dataclass
class Server:
    """A running server process; `stop` lets it drain and waits for its end."""

    port: int
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def address(self) -> str:
        return f"localhost:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / f"server-{self.port}.log"

    def said(self, message: str) -> list[dict[str, str]]:
        """The log lines with this message."""
        lines = [line for line in self.log.read_text().splitlines() if f'"message":"{message}"' in line]
        return [json.loads(line) for line in lines]

    @property
    def authority(self) -> bytes:
        return (self.folder / "authority.pem").read_bytes()

    def signal(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def wait(self, timeout_seconds: float) -> int:
        return self.process.wait(timeout_seconds)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.signal()
            try:
                self.wait(2)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def command(folder: Path, port: int, config: Path) -> list[str]:
    if PEER == "grpcio":
        return [sys.executable, str(HERE / "peer.py"), str(config)]
    if PEER == "nghttpd":
        return ["nghttpd", "--address=127.0.0.1", str(port), str(folder / "server.key"), str(folder / "server.pem")]
    return [str(LATCHKEYD), "--config", str(config)]


def start(folder: Path, **overrides: object) -> Server:
    port = free_port()
    config = write_config(folder, port, **overrides)
    with (folder / f"server-{port}.log").open("wb") as log:
        process = subprocess.Popen(command(folder, port, config), stdout=log, stderr=subprocess.STDOUT)
    wait_until_listening(process, port, folder / f"server-{port}.log")
    return Server(port, folder, process)


def wait_until_listening(process: subprocess.Popen[bytes], port: int, log: Path, timeout_seconds: float = 60) -> None:
    deadline = time.monotonic() + timeout_seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended immediately with {process.returncode}:\n{log.read_text()[-2000:]}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    process.kill()
    raise RuntimeError(f"the server did not listen in time:\n{log.read_text()[-2000:]}")
