"""A bad network on loopback: a proxy between client and server that delays, cuts or changes bytes."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

CHUNK_BYTES = 65536
# For a connection through which no more bytes pass.
FOR_EVER_SECONDS = 3600


@dataclass
class Link:
    """One connection with its two directions. Each counts the bytes that it has passed on."""

    client: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    server: tuple[asyncio.StreamReader, asyncio.StreamWriter]
    passed: dict[str, int] = field(default_factory=lambda: {"up": 0, "down": 0})

    def ends(self, way: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return (self.client[0], self.server[1]) if way == "up" else (self.server[0], self.client[1])

    def cut(self) -> None:
        """Resets both sides, as when a machine on the path has lost the connection."""
        for _, writer in (self.client, self.server):
            writer.transport.abort()


class Behaviour:
    """A correct network. `way` is "up" towards the server, "down" from it."""

    async def carry(self, link: Link, way: str, chunk: bytes) -> None:
        await self.send(link, way, chunk)

    @staticmethod
    async def send(link: Link, way: str, chunk: bytes) -> None:
        _, writer = link.ends(way)
        writer.write(chunk)
        link.passed[way] += len(chunk)
        await writer.drain()


@dataclass
class Slow(Behaviour):
    """Delays every chunk, or sends every byte as a segment of its own."""

    delay_seconds: float = 0.0
    byte_by_byte: bool = False

    async def carry(self, link: Link, way: str, chunk: bytes) -> None:
        for part in ([chunk[at:at + 1] for at in range(len(chunk))] if self.byte_by_byte else [chunk]):
            await asyncio.sleep(self.delay_seconds)
            await self.send(link, way, part)


@dataclass
class At(Behaviour):
    """Correct for so many bytes of one direction, then calls `happens`."""

    way: str
    bytes: int

    async def carry(self, link: Link, way: str, chunk: bytes) -> None:
        left = self.bytes - link.passed[way]
        if way != self.way or len(chunk) <= left:
            return await self.send(link, way, chunk)
        if left > 0:
            await self.send(link, way, chunk[:left])
        await self.happens(link, way, chunk[max(0, left):])

    async def happens(self, link: Link, way: str, rest: bytes) -> None:
        raise NotImplementedError


class Cut(At):
    async def happens(self, link: Link, way: str, rest: bytes) -> None:
        link.cut()


class Stall(At):
    async def happens(self, link: Link, way: str, rest: bytes) -> None:
        await asyncio.sleep(FOR_EVER_SECONDS)


class HalfClose(At):
    """Closes one direction; the other one continues."""

    async def happens(self, link: Link, way: str, rest: bytes) -> None:
        _, writer = link.ends(way)
        writer.write_eof()
        await asyncio.sleep(FOR_EVER_SECONDS)


class FlipBit(At):
    async def happens(self, link: Link, way: str, rest: bytes) -> None:
        if link.passed[way] == self.bytes:
            rest = bytes([rest[0] ^ 1 << random.randrange(8)]) + rest[1:]
        await self.send(link, way, rest)


class Proxy:
    """Listens on its own port, in its own thread. Each new connection uses the current `behaviour`."""

    def __init__(self, server_port: int) -> None:
        self.server_port, self.port = server_port, 0
        self.behaviour: Callable[[], Behaviour] = Behaviour
        self.links: list[Link] = []
        self._loop = asyncio.new_event_loop()
        listening = threading.Event()
        self._thread = threading.Thread(target=self._run, args=[listening], daemon=True)
        self._thread.start()
        listening.wait()

    def cut_all(self) -> None:
        """Cuts the existing connections; new ones are accepted."""
        self._loop.call_soon_threadsafe(self._cut_all)

    def _cut_all(self) -> None:
        for link in self.links:
            link.cut()
        self.links.clear()

    def stop(self) -> None:
        """Closes every connection."""
        self._loop.call_soon_threadsafe(self._end)
        self._thread.join()

    def _end(self) -> None:
        self._cut_all()
        self._loop.call_later(0.05, self._loop.stop)

    def _run(self, listening: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        # The tests cause unfinished tasks by a cut or a stop on purpose.
        self._loop.set_exception_handler(lambda loop, context: None)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        listening.set()
        self._loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server = await asyncio.open_connection("127.0.0.1", self.server_port)
        except OSError:
            # No server listens. The caller notices as if the server's machine had refused the connection.
            writer.transport.abort()
            return
        link = Link((reader, writer), server)
        self.links.append(link)
        behaviour = self.behaviour()
        ways = [asyncio.create_task(self._carry(link, way, behaviour)) for way in ("up", "down")]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        link.cut()

    @staticmethod
    async def _carry(link: Link, way: str, behaviour: Behaviour) -> None:
        reader, _ = link.ends(way)
        while chunk := await reader.read(CHUNK_BYTES):
            await behaviour.carry(link, way, chunk)
