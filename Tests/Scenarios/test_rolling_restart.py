"""A rolling restart of two servers behind HAProxy in TCP mode, which checks the health by gRPC and does not retry."""

from __future__ import annotations

import csv
import dataclasses
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest
from clients import Client, anonymous, session
from ports import free_port
from processes import Server, end
from waiting import until

pytestmark = pytest.mark.skipif(shutil.which("haproxy") is None, reason="HAProxy is not installed")

LAME_DUCK_SECONDS = 3


def health_check() -> str:
    """The bytes of one call of grpc.health.v1.Health/Check, in hexadecimal."""
    def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
        return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

    def text(value: str) -> bytes:
        return bytes([len(value)]) + value.encode()
    # HPACK literals without indexing: `:method POST` and `:scheme https` are in the static table.
    head = (b"\x83\x87\x04" + text("/grpc.health.v1.Health/Check") + b"\x01" + text("localhost")
            + b"\x0f\x10" + text("application/grpc") + b"\x00" + text("te") + text("trailers"))
    return (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + frame(1, 4, 1, head)
            + frame(0, 1, 1, bytes(5))).hex()


def configuration(port: int, control: int, servers: list[Server]) -> str:
    places = "\n".join(f"  server s{each.port} 127.0.0.1:{each.port}" for each in servers)
    return f"""
global
  stats socket ipv4@127.0.0.1:{control}

defaults
  timeout connect 10s
  timeout client 1m
  timeout server 1m
  timeout check 5s

frontend calls
  mode tcp
  bind 127.0.0.1:{port}
  default_backend servers

backend servers
  mode tcp
  balance roundrobin
  retries 0
  option tcp-check
  tcp-check connect ssl alpn h2
  tcp-check send-binary {health_check()}
  # The first waits for the answer, and the second does not wait for another one until the timeout.
  tcp-check expect rbinary 0000000002080[12]
  tcp-check expect min-recv 1 binary 00000000020801
  default-server check inter 200ms fall 1 rise 1 verify none
{places}
"""


def test_a_rolling_restart_behind_haproxy_without_retries_loses_no_call(
        serve: Callable[..., Server], tmp_path: Path) -> None:
    servers = [serve(limits={"lame_duck_seconds": LAME_DUCK_SECONDS}) for _ in range(2)]
    balancer, control = dataclasses.replace(servers[0], port=free_port()), free_port()
    file = tmp_path / "haproxy.cfg"
    file.write_text(configuration(balancer.port, control, servers))
    with (tmp_path / "haproxy.log").open("wb") as log:
        haproxy = subprocess.Popen(["haproxy", "-db", "-f", file], stdout=log, stderr=log)
    try:
        until(lambda: is_serving(balancer), otherwise="HAProxy has no healthy server")
        failed = failures_during(lambda: [restart(each, control) for each in servers], balancer)
    finally:
        end(haproxy)
    assert not failed, failed[:5]


def is_serving(server: Server) -> bool:
    client = Client(server, key="web")
    try:
        return bool(session(client.sign_in(anonymous())))
    except grpc.RpcError:
        return False
    finally:
        client.close()


def restart(server: Server, control: int) -> None:
    server.signal(signal.SIGTERM)
    until(lambda: not is_used(server, control))
    assert server.wait() == 0
    server.launch()
    until(lambda: is_used(server, control))


def is_used(server: Server, control: int) -> bool:
    """Whether HAProxy sends new connections to the server, by its management socket."""
    with socket.create_connection(("127.0.0.1", control), 10) as plain:
        plain.sendall(b"show stat\n")
        told = plain.makefile().read()
    [status] = [row["status"] for row in csv.DictReader(told.removeprefix("# ").splitlines())
                if row["svname"] == f"s{server.port}"]
    return status.startswith("UP")


def failures_during(work: Callable[[], object], server: Server) -> list[str]:
    """Makes calls on lasting connections and on new ones, without retries, until `work` has ended."""
    stop, failed, done = threading.Event(), list[str](), list[None]()

    def call(client: Client) -> None:
        try:
            session(client.sign_in(anonymous()))
        except grpc.RpcError as error:
            failed.append(f"{time.monotonic():.2f} {error!r}")
        done.append(None)

    def lasting() -> None:
        client = Client(server, key="web")
        while not stop.is_set():
            call(client)
            time.sleep(0.01)
        client.close()

    def fresh() -> None:
        while not stop.is_set():
            client = Client(server, key="web")
            call(client)
            client.close()

    threads = [threading.Thread(target=target) for target in (lasting, lasting, lasting, fresh, fresh)]
    for thread in threads:
        thread.start()
    try:
        until(lambda: len(done) > 50)
        work()
        until(lambda: len(done) > 100)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return failed
