"""A client that requests renegotiation under TLS 1.2 as often as it wants, which no library would do."""

from __future__ import annotations

import ctypes
import hashlib
import hmac
import socket
import struct

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from key_updates import LIBRARY

HANDSHAKE, VERSION_1_2 = 22, 0x0303
SET_MAX_PROTO_VERSION = 124
EMPTY_CLIENT_HELLO = b"\x01\0\0\0"
LIBRARY.SSL_get1_session.restype = ctypes.c_void_p
for name in ("SSL_get_client_random", "SSL_get_server_random", "SSL_SESSION_get_master_key"):
    getattr(LIBRARY, name).restype = ctypes.c_size_t


class Asker:
    """A socket with a finished handshake, and the keys to continue by hand (RFC 5246, 6.3 and RFC 5288)."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        context = ctypes.c_void_p(LIBRARY.SSL_CTX_new(ctypes.c_void_p(LIBRARY.TLS_client_method())))
        LIBRARY.SSL_CTX_ctrl(context, SET_MAX_PROTO_VERSION, VERSION_1_2, None)
        LIBRARY.SSL_CTX_set_cipher_list(context, b"ECDHE-ECDSA-AES128-GCM-SHA256")
        self.ssl = ctypes.c_void_p(LIBRARY.SSL_new(context))
        LIBRARY.SSL_set_alpn_protos(self.ssl, b"\x02h2", 3)
        LIBRARY.SSL_set_fd(self.ssl, self.socket.fileno())
        assert LIBRARY.SSL_connect(self.ssl) == 1
        keys = self._key_block(40)
        self.cipher, self.salt = AESGCM(keys[:16]), keys[32:36]
        # The first record was that of Finished.
        self.records = 1

    def ask(self, times: int, each_in_a_record: int = 1) -> bytes:
        """This many empty ClientHellos as bytes for the wire, not sent yet."""
        return b"".join(
            self._record(EMPTY_CLIENT_HELLO * each_in_a_record) for _ in range(times // each_in_a_record))

    def _record(self, content: bytes) -> bytes:
        number = struct.pack(">Q", self.records)
        self.records += 1
        said = number + struct.pack(">BHH", HANDSHAKE, VERSION_1_2, len(content))
        body = number + self.cipher.encrypt(self.salt + number, content, said)
        return struct.pack(">BHH", HANDSHAKE, VERSION_1_2, len(body)) + body

    def _key_block(self, count: int) -> bytes:
        client, server, master = (ctypes.create_string_buffer(size) for size in (32, 32, 48))
        LIBRARY.SSL_get_client_random(self.ssl, client, 32)
        LIBRARY.SSL_get_server_random(self.ssl, server, 32)
        session = ctypes.c_void_p(LIBRARY.SSL_get1_session(self.ssl))
        assert LIBRARY.SSL_SESSION_get_master_key(session, master, 48) == 48
        seed = b"key expansion" + server.raw + client.raw
        chain, block = seed, b""
        while len(block) < count:
            chain = hmac.new(master.raw, chain, hashlib.sha256).digest()
            block += hmac.new(master.raw, chain + seed, hashlib.sha256).digest()
        return block
