"""Prints the resident memory of one idle TLS connection, for latchkeyd and nghttpd.

    idle_connections.py --home FOLDER --latchkeyd BINARY [--connections N] [--calls N] [--server latchkeyd|nghttpd]
                        [--json]

FOLDER has server.pem and server.key (deploy/certificates FOLDER makes them). The script also writes configuration,
store and logs there. Each connection calls grpc.health.v1.Health/Check so many times (1), as a gRPC client does, and
then stays idle. The client keeps only the socket and drops its TLS state, so that ten thousand connections fit into
memory together with the server.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import multiprocessing.synchronize
import os
import resource
import select
import socket
import ssl
import struct
import subprocess
import sys
import time
from pathlib import Path

from servers import free_port

PATH = "/grpc.health.v1.Health/Check"
ANSWER = b"\0\0\0\0\2\x08\x01"
DATA, HEADERS, SETTINGS = 0, 1, 4
END_STREAM, ACK, END_HEADERS = 0x1, 0x1, 0x4
CLIENTS = 2
WARMING = 200


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def text(value: str) -> bytes:
    return bytes([len(value)]) + value.encode()


def request(stream: int) -> bytes:
    """The first request adds its fields to the peer's table (RFC 7541 6.2.1); the others refer to them."""
    first = b"\x83\x87\x44" + text(PATH) + b"\x41" + text("localhost") + b"\x40" + text("te") + text("trailers")
    first += b"\x5f" + text("application/grpc") + b"\x7a" + text("grpc-c++/1.51.1 grpc-c/29.0.0 (linux; chttp2)")
    call = frame(HEADERS, END_HEADERS, stream, first if stream == 1 else b"\x83\x87\xc2\xc1\xc0\xbf\xbe")
    call += frame(DATA, END_STREAM, stream, b"\0" * 5)
    if stream > 1:
        return call
    return b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0) + call + frame(SETTINGS, ACK, 0)


def ask(connection: ssl.SSLSocket, call: int) -> None:
    """Makes a call and reads its answer to the end."""
    connection.sendall(request(call))
    buffer, answer, ended = b"", b"", False
    while not ended:
        more = connection.recv(16384)
        if not more:
            raise ConnectionError("the server has closed a connection")
        buffer += more
        while len(buffer) >= 9 and len(buffer) >= (whole := 9 + int.from_bytes(buffer[:3], "big")):
            kind, flags, stream = buffer[3], buffer[4], int.from_bytes(buffer[5:9], "big")
            if stream == call and kind == DATA:
                answer += buffer[9:whole]
            ended = ended or (stream == call and kind in (DATA, HEADERS) and bool(flags & END_STREAM))
            buffer = buffer[whole:]
    if answer != ANSWER:
        raise ConnectionError(f"the answer is {answer!r}")


def open_connection(port: int, calls: int, context: ssl.SSLContext) -> int:
    """The descriptor of a connection whose calls have been answered."""
    plain = socket.create_connection(("127.0.0.1", port), 30)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection = context.wrap_socket(plain, server_hostname="localhost")
    for call in range(calls):
        ask(connection, 2 * call + 1)
    return connection.detach()


def hold(port: int, calls: int, count: int, opened: multiprocessing.synchronize.Semaphore,
         over: multiprocessing.synchronize.Event) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    poll = select.poll()
    for _ in range(count):
        poll.register(open_connection(port, calls, context), select.POLLRDHUP)
    opened.release()
    over.wait()
    if lost := poll.poll(0):
        sys.exit(f"{len(lost)} connections were closed while they were idle")


def resident_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmRSS:"))


def settle(pid: int) -> int:
    """Resident memory when it has not changed for a second."""
    before = -1
    while (now := resident_bytes(pid)) != before:
        before = now
        time.sleep(1)
    return now


def measure(pid: int, port: int, connections: int, calls: int) -> tuple[int, int]:
    """Resident bytes of the process without the connections and with them."""
    over = multiprocessing.Event()
    warm = multiprocessing.Event()
    warm.set()
    hold(port, calls, WARMING, multiprocessing.Semaphore(0), warm)
    without = settle(pid)
    opened = multiprocessing.Semaphore(0)
    shares = [connections // CLIENTS + (index < connections % CLIENTS) for index in range(CLIENTS)]
    clients = [multiprocessing.Process(target=hold, args=(port, calls, share, opened, over)) for share in shares]
    for client in clients:
        client.start()
    try:
        for _ in clients:
            while not opened.acquire(timeout=1):
                if any(client.exitcode is not None for client in clients):
                    sys.exit("a client could not open its connections")
        with_them = settle(pid)
    finally:
        over.set()
        for client in clients:
            client.join()
    if any(client.exitcode for client in clients):
        sys.exit(1)
    return without, with_them


def command_of(server: str, home: Path, latchkeyd: Path, port: int, connections: int) -> list[str]:
    if server == "nghttpd":
        page = home / "idle-pages" / PATH[1:]
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_bytes(ANSWER)
        return ["nghttpd", "-d", str(home / "idle-pages"), "--trailer=grpc-status: 0", str(port),
                str(home / "server.key"), str(home / "server.pem")]
    (home / "idle-master.key").write_text("5a" * 32)
    config = home / "idle.json5"
    limits = {"connections_max": connections + WARMING, "connections_per_address_max": connections + WARMING}
    config.write_text(json.dumps({
        "listen": {"port": port, "allow_unidentified": True},
        "tls": {"certificate_file": "server.pem", "key_file": "server.key"},
        "store": {"path": "idle.db"}, "secrets": {"master_key_files": ["idle-master.key"]}, "limits": limits}))
    return [str(latchkeyd), "--config", str(config)]


def measure_server(server: str, home: Path, latchkeyd: Path, connections: int, calls: int) -> tuple[int, int]:
    port = free_port()
    with (home / f"idle-{server}.log").open("wb") as log:
        process = subprocess.Popen(command_of(server, home, latchkeyd, port, connections), stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 30
        while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"{server} did not start; see {log.name}")
            time.sleep(0.1)
        return measure(process.pid, port, connections, calls)
    finally:
        process.kill()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--latchkeyd", type=Path, required=True)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=1)
    parser.add_argument("--server", choices=("latchkeyd", "nghttpd"), action="append")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    results: dict[str, float] = {}
    for server in options.server or ["latchkeyd", "nghttpd"]:
        without, with_them = measure_server(
            server, options.home, options.latchkeyd, options.connections, options.calls)
        results[server] = round((with_them - without) / options.connections / 1024, 1)
        if not options.json:
            print(f"{server}: {results[server]} KiB for each of {options.connections} idle connections "
                  f"(resident {without / 2**20:.1f} MiB without, {with_them / 2**20:.1f} MiB with)", flush=True)
    if options.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
