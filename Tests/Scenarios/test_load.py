"""Under load the server drains, limits its memory and still answers cheap calls."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import grpc
import pytest
from clients import Client, channel_credentials, fresh_email, password
from configuration import REAL_PASSWORDS
from failures import Refusal, read
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1.auth_service_pb2_grpc import AuthServiceStub
from metrics import ON_A_FREE_PORT, Scrape, eventually
from processes import Server

pytestmark = [pytest.mark.slow, pytest.mark.timed]
CALLS_PER_CONNECTION = 100
SERVING = b"\x08\x01"
SIGN_IN = "latchkey.v1.AuthService/SignIn"


def open_channels(server: Server, count: int) -> list[grpc.aio.Channel]:
    credentials = channel_credentials(server.folder, key="web")
    return [grpc.aio.secure_channel(server.address, credentials, [("grpc.use_local_subchannel_pool", 1)])
            for _ in range(count)]


def sign_ins(channels: list[grpc.aio.Channel], count: int, email: str) -> list[asyncio.Future[Refusal | None]]:
    """Password sign-ins, evenly over the channels. Each ends with None or with its error."""
    request = auth.SignInRequest(credential=password(email))
    stubs = [AuthServiceStub(channel) for channel in channels]

    async def one(stub: AuthServiceStub) -> Refusal | None:
        try:
            await stub.SignIn(request)
        except grpc.aio.AioRpcError as error:
            return read(error) if error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED else Refusal(
                code=error.code(), everything=str(error))
        return None

    return [asyncio.ensure_future(one(stubs[number % len(stubs)])) for number in range(count)]


def test_a_thousand_calls_in_flight_at_sigterm_are_all_answered(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    # A quarter of the default memory: a call may take 30 s, and other tests use the processors too.
    server = serve(
        passwords={**REAL_PASSWORDS, "memory_kib": REAL_PASSWORDS["memory_kib"] // 4, "queue_max": 2_000},
        limits={"drain_seconds": 120}, metrics=ON_A_FREE_PORT)
    email = fresh_email()
    connect(server).create(email)

    def has_all(seen: Scrape) -> bool:
        ended = seen.sum("latchkey_calls_total", method=SIGN_IN)
        return seen("latchkey_calls_in_flight", method=SIGN_IN) + ended == 1_000

    async def drain() -> list[Refusal | None]:
        channels = open_channels(server, 1_000 // CALLS_PER_CONNECTION)
        await asyncio.gather(*(channel.channel_ready() for channel in channels))
        calls = sign_ins(channels, 1_000, email)
        # In a thread, because the loop still sends calls.
        await asyncio.to_thread(eventually, server, has_all)
        assert sum(call.done() for call in calls) < 900, "most calls are in flight"
        server.signal()
        answers = await asyncio.gather(*calls)
        for channel in channels:
            await channel.close()
        return answers

    failed = [answer.everything for answer in asyncio.run(drain()) if answer]
    assert failed == []
    assert server.wait() == 0
    server.launch()
    assert connect(server).fetch(email=email).registered


def resident_kib(server: Server) -> int:
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")))


def check_often(address: str, folder: Path, pipe: Connection) -> None:
    """Checks the health every 5 ms until something arrives on the pipe, and sends the latencies in seconds."""
    latencies: list[float] = []
    with grpc.secure_channel(address, channel_credentials(folder)) as channel:
        # Without stubs: the package `grpc` of the client library hides the one that would contain them.
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        check(b"", timeout=5)
        pipe.send("connected")
        while not pipe.poll(0.005):
            begun = time.monotonic()
            assert check(b"", timeout=5) == SERVING
            latencies.append(time.monotonic() - begun)
    pipe.send(latencies)


@contextmanager
def checker(server: Server) -> Iterator[Connection]:
    """`check_often` in its own process. In the flooding process, a check would wait for hundreds of unsent calls, and
    their time would be attributed to the server."""
    processes = multiprocessing.get_context("spawn")
    ours, theirs = processes.Pipe()
    process = processes.Process(target=check_often, args=(server.address, server.folder, theirs))
    process.start()
    # A checker that fails closes the pipe.
    theirs.close()
    try:
        assert ours.recv() == "connected"
        yield ours
    finally:
        process.kill()
        process.join()


def test_check_108_a_flood_of_password_sign_ins_is_limited_and_delays_no_cheap_call(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve(passwords={**REAL_PASSWORDS, "queue_max": 16})
    email = fresh_email()
    connect(server).create(email)
    before_kib = resident_kib(server)

    async def flood() -> list[Refusal | None]:
        channels = open_channels(server, 10)
        await asyncio.gather(*(channel.channel_ready() for channel in channels))
        return await asyncio.gather(*sign_ins(channels, 500, email))

    with checker(server) as checks:
        answers = asyncio.run(flood())
        checks.send("end")
        latencies = checks.recv()
    seen = Counter(answer.reason if answer else "session" for answer in answers)
    assert set(seen) == {"session", "OVERLOADED"} and seen["session"] >= 16, seen
    assert all(answer.retry_seconds for answer in answers if answer), "each error has a retry delay"
    assert len(latencies) > 20 and max(latencies) < 1, latencies
    # Two workers of 19 MiB each, and the overhead of a debug build; 500 concurrent hashes would take 9.5 GiB.
    assert resident_kib(server) - before_kib < 200 * 1024
