"""Refresh, one durable change a call, against the same change made by SQLite alone."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import subprocess
import time
from functools import partial

import grpc
from latchkey.v1 import session_service_pb2, session_service_pb2_grpc

import bounds
import calls
from calls import Client
from figures import Comparison, Finding, Goal, Rate, Series
from servers import Server, Unmeasurable
from stand import LATCHKEY, Stand, need

CALLERS = 256
CHANNELS = 16


def refresh(stand: Stand) -> list[Finding]:
    """SQLite alone writes a copy of the server's file, so many rows a commit as the server was seen to."""
    need(shutil.which("strace"), "strace is not installed: commits cannot be counted")
    server = stand.server(LATCHKEY)
    sign_in = calls.sign_in_by_id_token(stand.id_token())
    with Client(server, stand.authority) as client:
        tokens = [client.sign_in(sign_in).refresh_token for _ in range(CALLERS)]
        tokens[0] = client.refresh(tokens[0]).refresh_token
    callers = Callers(server, stand.authority.read_bytes(), tokens)
    batch = _changes_per_sync(server, callers, stand.options.seconds)
    stand.tell(f"  {batch} changes a commit")
    copy = stand.stores.copy_of_working("bare.db")
    bound = f"SQLite alone, {batch} changes a commit"
    try:
        series = stand.turns({
            LATCHKEY: partial(callers.load, stand.options.seconds),
            bound: partial(bounds.session_updates, stand.tools / "session_updates", stand.options.server_core, copy,
                           batch, stand.options.seconds)})
    finally:
        stand.stores.remove(copy)
    own, alone = series[LATCHKEY], series[bound]
    what = f"Refresh by {CALLERS} callers, calls per"
    # A commit waits for the disk, and the signature of a token costs more than the whole change of its row: so the goal
    # is one of the clock, and CPU time stands beside it.
    return [
        Finding(f"{what} second", own.by_the_clock(), (Comparison(alone.by_the_clock(), Goal(0.4, 0.7)),)),
        Finding(f"{what} CPU-second", own.by_cpu_time(), (Comparison(alone.by_cpu_time()),)),
    ]


class Callers:
    """Each exchanges the token that its last call brought; an answer without another one fails the row."""

    def __init__(self, server: Server, authority: bytes, tokens: list[str]) -> None:
        self.server = server
        self.authority = authority
        self.tokens = tokens

    def load(self, seconds: int) -> Rate:
        before, begun = self.server.cpu_seconds(), time.monotonic()
        done = asyncio.run(self._all(seconds))
        return Rate(done / (self.server.cpu_seconds() - before), done / (time.monotonic() - begun))

    async def _all(self, seconds: int) -> int:
        credentials = grpc.ssl_channel_credentials(self.authority)
        channels = [
            # Channels with the same options would share one connection.
            grpc.aio.secure_channel(f"localhost:{self.server.port}", credentials, [("latchkey.bench.channel", number)])
            for number in range(CHANNELS)]
        stubs = [session_service_pb2_grpc.SessionServiceStub(channel) for channel in channels]
        end = time.monotonic() + seconds
        counts = await asyncio.gather(
            *(self._one(number, stubs[number % CHANNELS], end) for number in range(len(self.tokens))))
        for channel in channels:
            await channel.close()
        return sum(counts)

    async def _one(self, number: int, stub: session_service_pb2_grpc.SessionServiceStub, end: float) -> int:
        count = 0
        while time.monotonic() < end:
            request = session_service_pb2.RefreshRequest(refresh_token=self.tokens[number])
            answer = await stub.Refresh(request, timeout=calls.DEADLINE_SECONDS)
            if answer.session.refresh_token in ("", self.tokens[number]):
                raise Unmeasurable("Latchkey answers Refresh wrongly")
            self.tokens[number] = answer.session.refresh_token
            count += 1
        return count


def _changes_per_sync(server: Server, callers: Callers, seconds: int) -> int:
    """A run of its own, since counting costs the server time. A checkpoint's few syncs are counted too."""
    tracer = subprocess.Popen(
        ["strace", "-f", "-c", "-e", "trace=fdatasync,fsync", "-p", str(server.pid)], stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    done = round(callers.load(seconds).per_second * seconds)
    tracer.send_signal(signal.SIGINT)
    _, counted = tracer.communicate(timeout=20)
    syncs = sum(int(calls) for calls in re.findall(r"(\d+)\s+f(?:data)?sync$", counted, re.MULTILINE))
    need(syncs, f"strace counted no syncs:\n{counted}")
    return max(1, round(done / syncs))
