"""A client that updates its TLS keys as often as it wants, which Python's own `ssl` cannot do."""

from __future__ import annotations

import ctypes
import ctypes.util
import socket

LIBRARY = ctypes.CDLL(ctypes.util.find_library("ssl") or "libssl.so.3")
for name in ("TLS_client_method", "SSL_CTX_new", "SSL_new", "BIO_new", "BIO_s_mem"):
    getattr(LIBRARY, name).restype = ctypes.c_void_p
KEY_UPDATE_NOT_REQUESTED = 0


def connect(port: int) -> tuple[socket.socket, ctypes.c_void_p]:
    """A socket with a finished handshake, and its SSL object; both stay for the life of the process."""
    plain = socket.create_connection(("127.0.0.1", port))
    context = ctypes.c_void_p(LIBRARY.SSL_CTX_new(ctypes.c_void_p(LIBRARY.TLS_client_method())))
    ssl = ctypes.c_void_p(LIBRARY.SSL_new(context))
    LIBRARY.SSL_set_alpn_protos(ssl, b"\x02h2", 3)
    LIBRARY.SSL_set_fd(ssl, plain.fileno())
    assert LIBRARY.SSL_connect(ssl) == 1
    return plain, ssl


def key_updates(ssl: ctypes.c_void_p, count: int) -> bytes:
    """This many key updates as bytes for the wire, not sent yet."""
    memory = ctypes.c_void_p(LIBRARY.BIO_new(ctypes.c_void_p(LIBRARY.BIO_s_mem())))
    LIBRARY.SSL_set0_wbio(ssl, memory)
    for _ in range(count):
        assert LIBRARY.SSL_key_update(ssl, KEY_UPDATE_NOT_REQUESTED) == 1 and LIBRARY.SSL_do_handshake(ssl) == 1
    records = ctypes.create_string_buffer(count * 64)
    read = LIBRARY.BIO_read(memory, records, len(records))
    return records.raw[:read]


def closed_after(plain: socket.socket, patience_seconds: float) -> bool:
    """Whether the other side ends the connection in time. Ignores its output."""
    plain.settimeout(patience_seconds)
    try:
        while plain.recv(65536):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True
