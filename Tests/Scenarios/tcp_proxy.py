"""A TCP proxy that begins each connection to the server with given bytes, such as a PROXY header."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"


def version_1(client: str) -> bytes:
    family, server = ("TCP6", "2001:db8::1") if ":" in client else ("TCP4", "192.0.2.1")
    return f"PROXY {family} {client} {server} 40000 8443\r\n".encode()


def version_2(client: str, values: bytes = b"") -> bytes:
    kind, packed = (0x21, socket.inet_pton(socket.AF_INET6, client)) if ":" in client else (
        0x11, socket.inet_aton(client))
    rest = packed * 2 + struct.pack("!HH", 40000, 8443) + values
    return SIGNATURE + bytes([0x21, kind]) + struct.pack("!H", len(rest)) + rest


LOCAL = SIGNATURE + bytes([0x20, 0, 0, 0])
UNIX = SIGNATURE + bytes([0x21, 0x31, 0, 216]) + b"/run/client".ljust(216, b"\0")


@contextlib.contextmanager
def proxy(port: int, header: bytes) -> Iterator[int]:
    """The port of a proxy to the local `port`."""
    listener = socket.create_server(("127.0.0.1", 0))
    opened: list[socket.socket] = []

    def pump(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", port))
                server.sendall(header)
                opened.extend((client, server))
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        # A blocked accept continues only after a shutdown.
        listener.shutdown(socket.SHUT_RDWR)
        for each in (listener, *opened):
            each.close()
