"""Counts the calls that fail through each load balancer that deploy/docs/load-balancers.md configures.

The configurations are those of the guide, with other addresses and files. Two servers share the PostgreSQL database
that --postgres names. Each balancer carries a successful and a failing call, 300 concurrent callers, two open watches,
and calls at a fixed rate while each server restarts once. The restarts happen twice: the first client has the settings
of proto/service-config.json, the second one does not retry. The concurrent callers also come twice, first without these
settings, which keep a Health.Watch open on each connection.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from latchkey import LatchkeyError, connect
from latchkey.v1 import account_service_pb2, event_service_pb2, session_service_pb2
from latchkey.v1.account_service_pb2_grpc import AccountServiceStub
from latchkey.v1.event_service_pb2_grpc import EventServiceStub
from latchkey.v1.session_service_pb2_grpc import SessionServiceStub

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "deploy/docs/load-balancers.md"
CONCURRENT, CALLS, CALLS_PER_SECOND = 300, 560, 40
CALL_SECONDS = 20
BARE = (("grpc.service_config", "{}"), ("grpc.enable_retries", 0))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@contextmanager
def process(command: list[Any], log: Path, ready: Callable[[], bool]) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as output:
        running = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + 30
        while not ready():
            if running.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]} does not start:\n{log.read_text()}")
            time.sleep(0.05)
        yield running
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait(60)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@dataclass
class Stand:
    """The servers and the files that all balancers use."""

    folder: Path
    program: str
    postgres: str
    ports: tuple[int, int] = field(default_factory=lambda: (free_port(), free_port()))
    running: list[ExitStack] = field(default_factory=list)

    def prepare(self) -> None:
        subprocess.run([ROOT / "deploy/certificates", self.folder], check=True)
        for name, text in {"master.key": secrets.token_hex(32), "api.key": f"lk_{secrets.token_hex(32)}"}.items():
            path = self.folder / name
            path.touch(mode=0o600)
            path.write_text(text)
        joined = "".join((self.folder / f"server.{kind}").read_text() for kind in ("pem", "key"))
        (self.folder / "joined.pem").write_text(joined)
        digest = hashlib.sha256((self.folder / "api.key").read_bytes()).hexdigest()
        many = 8192
        for port in self.ports:
            (self.folder / f"{port}.json5").write_text(json.dumps({
                "listen": {"port": port}, "tls": {"certificate_file": "server.pem", "key_file": "server.key"},
                "store": {"postgres": {"conninfo": self.postgres}}, "secrets": {"master_key_files": ["master.key"]},
                "limits": {"connections_per_address_max": many, "offences_per_address_max": many},
                "passwords": {"memory_kib": 1024, "iterations": 1, "queue_max": 1000},
                "callers": [{"name": "load", "api_keys": [{"sha256": digest}], "methods": ["*"], "events": True}]}))

    def start(self, number: int) -> None:
        port, stack = self.ports[number], ExitStack()
        stack.enter_context(process([self.program, "--config", self.folder / f"{port}.json5"],
                                    self.folder / f"{port}.log", lambda: listens(port)))
        self.running.insert(number, stack)

    def restart(self, number: int) -> None:
        self.running.pop(number).close()
        self.start(number)

    def stop(self) -> None:
        while self.running:
            self.running.pop().close()

    def connect(self, port: int, *options: tuple[str, Any]) -> grpc.Channel:
        return connect(f"localhost:{port}", ca_file=self.folder / "authority.pem",
                       api_key=(self.folder / "api.key").read_text(),
                       options=[*options, ("grpc.use_local_subchannel_pool", 1)])


# The balancers.

@dataclass(frozen=True)
class Balancer:
    """One configuration of the guide: its number among those of its language, and the program's command."""

    name: str
    language: str
    number: int
    command: Callable[[Path], list[Any]]
    around: Callable[[str, Path], str]

    def write(self, stand: Stand, port: int) -> Path:
        blocks = re.findall(rf"^```{self.language}\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
        text = blocks[self.number]
        if self.language == "haproxy" and self.number:
            text = blocks[0].partition("frontend")[0] + text
        folder = stand.folder
        for old, new in (
                ("10.0.0.11:8443", f"127.0.0.1:{stand.ports[0]}"), ("10.0.0.12:8443", f"127.0.0.1:{stand.ports[1]}"),
                (r"(bind|listen|Listen|\*)([ :]+)8443", rf"\1\g<2>{port}"), ("auth.internal.example", "localhost"),
                (r"/etc/haproxy/latchkey.pem", f"{folder}/joined.pem"),
                (r"/etc/\w+/latchkey-ca.pem", f"{folder}/authority.pem"),
                (r"/etc/\w+/latchkey.(pem|key)", rf"{folder}/server.\1")):
            text = re.sub(old if "\\" in old else re.escape(old), new, text)
        path = folder / f"{self.name.replace(' ', '-')}.conf"
        path.write_text(self.around(text, folder))
        return path


def nginx(text: str, folder: Path) -> str:
    user = "user root;" if os.geteuid() == 0 else ""
    temporary = " ".join(f"{name}_temp_path {folder};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    body = text if text.startswith("stream") else f"http {{ access_log off; {temporary}\n{text}}}"
    module = "load_module /usr/lib/nginx/modules/ngx_stream_module.so;" if text.startswith("stream") else ""
    return f"{module} {user} daemon off; pid {secrets.token_hex(4)}.pid; error_log stderr;" \
           f"worker_rlimit_nofile 16384; events {{ worker_connections 4096; }}\n{body}"


def haproxy(text: str, _: Path) -> str:
    return f"global\n  maxconn 4096\n\n{text}"


def apache(text: str, folder: Path) -> str:
    modules = "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in (
        "mpm_event", "authz_core", "ssl", "http2", "proxy", "proxy_http2", "proxy_balancer", "slotmem_shm",
        "lbmethod_bybusyness", "headers"))
    return f"{modules}ServerRoot {folder}\nPidFile apache.pid\nDefaultRuntimeDir {folder}\nErrorLog /dev/stderr\n" \
           f"ServerName localhost\n{text}"


def nginx_command(path: Path) -> list[Any]:
    return ["nginx", "-p", path.parent, "-e", "stderr", "-c", path]


def apache_command(path: Path) -> list[Any]:
    return ["apache2", "-DFOREGROUND", "-f", path]


BALANCERS = [
    Balancer("nginx grpc_pass", "nginx", 0, nginx_command, nginx),
    Balancer("nginx stream", "nginx", 1, nginx_command, nginx),
    Balancer("HAProxy mode tcp", "haproxy", 0, lambda path: ["haproxy", "-db", "-f", path], haproxy),
    Balancer("HAProxy mode http", "haproxy", 1, lambda path: ["haproxy", "-db", "-f", path], haproxy),
    Balancer("Apache", "apache", 0, apache_command, apache),
]


# The calls.

def name(error: grpc.RpcError) -> str:
    reason = error.reason if isinstance(error, LatchkeyError) else ""
    return reason or f"{error.code().name} {(error.details() or '')[:80]}"


def create(channel: grpc.Channel) -> str:
    """Creates an account. Returns the failure, or nothing."""
    request = account_service_pb2.CreateRequest(
        email=f"{secrets.token_hex(8)}@example.com", password="correct horse battery staple",
        idempotency_key=secrets.token_urlsafe(16))
    try:
        AccountServiceStub(channel).Create(request, timeout=CALL_SECONDS)
    except grpc.RpcError as error:
        return name(error)
    return ""


def fail(channel: grpc.Channel) -> str:
    """A call that must fail with a reason. Returns another failure, or nothing."""
    try:
        SessionServiceStub(channel).Refresh(
            session_service_pb2.RefreshRequest(refresh_token="none"), timeout=CALL_SECONDS)
    except grpc.RpcError as error:
        return "" if name(error) == "INVALID_REFRESH_TOKEN" else name(error)
    return "no failure"


def concurrent(stand: Stand, port: int, *options: tuple[str, Any]) -> Counter[str]:
    channels = [stand.connect(port, *options) for _ in range(CONCURRENT)]
    together = threading.Barrier(CONCURRENT)

    def call(channel: grpc.Channel) -> str:
        together.wait()
        return create(channel)

    with ThreadPoolExecutor(CONCURRENT) as pool:
        found = Counter(pool.map(call, channels))
    for channel in channels:
        channel.close()
    return found


def through_restarts(stand: Stand, port: int, *options: tuple[str, Any]) -> Counter[str]:
    channels = [stand.connect(port, *options) for _ in range(4)]

    def restart() -> None:
        for number in range(2):
            time.sleep(1)
            stand.restart(number)

    with ThreadPoolExecutor(64) as pool:
        restarting, begun, calls = pool.submit(restart), time.monotonic(), []
        for number in range(CALLS):
            time.sleep(max(0, begun + number / CALLS_PER_SECOND - time.monotonic()))
            calls.append(pool.submit(create, channels[number % len(channels)]))
        restarting.result()
        found = Counter(call.result() for call in calls)
    for channel in channels:
        channel.close()
    return found


class Watch:
    """An open stream. `state` is `open`, or how and when it ended."""

    def __init__(self, responses: Any) -> None:
        self.responses, self.received, self.end, self.begun = responses, 0, "", time.monotonic()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            for _ in self.responses:
                self.received += 1
            how = "OK"
        except grpc.RpcError as error:
            how = name(error)
        self.end = self.end or f"ended after {time.monotonic() - self.begun:.0f} s: {how}"

    @property
    def state(self) -> str:
        return self.end or ("open" if self.received else "open, but no response")


@dataclass
class Row:
    balancer: Balancer
    port: int
    channel: grpc.Channel
    watches: list[Watch] = field(default_factory=list)
    found: list[str] = field(default_factory=list)

    def watch(self) -> None:
        events = EventServiceStub(self.channel).Watch(event_service_pb2.WatchRequest(cursor="now"))
        health = health_pb2_grpc.HealthStub(self.channel).Watch(health_pb2.HealthCheckRequest())
        self.watches = [Watch(events), Watch(health)]

    def check_watches(self) -> None:
        before = self.watches[0].received
        create(self.channel)
        time.sleep(2)
        if self.watches[0].state == "open" and self.watches[0].received == before:
            self.watches[0].end = "open, but no event"
        self.found += [each.state for each in self.watches]
        self.channel.close()


def failed(found: Counter[str]) -> str:
    """The number of failures, with their names."""
    failures = {each: count for each, count in found.items() if each}
    names = ", ".join(f"{count} x {each}" for each, count in failures.items())
    return f"{sum(failures.values())} of {found.total()}" + (f" ({names})" if names else "")


def measure(stand: Stand, chosen: list[Balancer], watch_seconds: float) -> None:
    with ExitStack() as stack:
        rows = []
        for each in chosen:
            port = free_port()
            path = each.write(stand, port)
            stack.enter_context(process(
                each.command(path), path.with_suffix(".log"), lambda port=port: listens(port)))  # type: ignore[misc]
            rows.append(Row(each, port, stand.connect(port)))
        for row in rows:
            row.found += [create(row.channel) or "ok", fail(row.channel) or "ok"]
            print(f"{row.balancer.name}: success {row.found[0]}, failure {row.found[1]}", flush=True)
            row.watch()
        for row in rows:
            row.found.append(failed(concurrent(stand, row.port, *BARE)))
            print(f"{row.balancer.name}: concurrent {row.found[-1]}", flush=True)
        time.sleep(max(0, max(row.watches[0].begun for row in rows) + watch_seconds - time.monotonic()))
        for row in rows:
            row.check_watches()
            print(f"{row.balancer.name}: watches {row.found[-2:]}", flush=True)
        for row in rows:
            for options in ((), BARE):
                row.found.append(failed(through_restarts(stand, row.port, *options)))
                print(f"{row.balancer.name}: restarts {row.found[-1]}", flush=True)
            row.found.append(failed(concurrent(stand, row.port)))
            print(f"{row.balancer.name}: concurrent, with settings {row.found[-1]}", flush=True)
    columns = ("Configuration", "Success", "Failure", f"{CONCURRENT} concurrent", "EventService.Watch", "Health.Watch",
               "Restarts", "Restarts without retries", f"{CONCURRENT} concurrent with health checks")
    print(f"\n| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for row in rows:
        print(f"| {row.balancer.name} | {' | '.join(row.found)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latchkeyd", required=True)
    parser.add_argument("--postgres", required=True, help="connection string of an empty database")
    parser.add_argument("--watch-seconds", type=float, default=200)
    parser.add_argument("--only", action="append", choices=[each.name for each in BALANCERS])
    options = parser.parse_args()
    chosen = [each for each in BALANCERS if not options.only or each.name in options.only]
    with tempfile.TemporaryDirectory(prefix="latchkey-proxies-") as folder:
        stand = Stand(Path(folder), options.latchkeyd, options.postgres)
        stand.prepare()
        try:
            for number in range(2):
                stand.start(number)
            measure(stand, chosen, options.watch_seconds)
        finally:
            stand.stop()


if __name__ == "__main__":
    main()
