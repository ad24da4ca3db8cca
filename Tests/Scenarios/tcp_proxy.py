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


class Proxy:
    """Listens on `port`, and forwards each connection to a local server after `header`."""

    def __init__(self, server_port: int, header: bytes = b"") -> None:
        self.accepted = 0
        self._server_port, self._header, self._frozen = server_port, header, threading.Event()
        self._opened: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def freeze(self) -> None:
        """Stops the present connections without closing them, like a balancer whose server is gone. New ones work."""
        self._frozen.set()
        self._frozen = threading.Event()

    def stop(self) -> None:
        # A blocked accept continues only after a shutdown.
        self._listener.shutdown(socket.SHUT_RDWR)
        for each in (self._listener, *self._opened):
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.accepted += 1
                server = socket.create_connection(("127.0.0.1", self._server_port))
                server.sendall(self._header)
                self._opened.extend((client, server))
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._pump, args=(*pair, self._frozen), daemon=True).start()

    @staticmethod
    def _pump(source: socket.socket, target: socket.socket, frozen: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if not frozen.is_set():
                    target.sendall(data)
        with contextlib.suppress(OSError):
            if not frozen.is_set():
                target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def proxy(port: int, header: bytes) -> Iterator[int]:
    """The port of a proxy to the local `port`."""
    running = Proxy(port, header)
    try:
        yield running.port
    finally:
        running.stop()
