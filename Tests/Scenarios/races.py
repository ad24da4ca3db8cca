"""Makes calls at the same time over real connections, and counts the answers."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import grpc
from latchkey.v1.auth_service_pb2_grpc import AuthServiceStub

from clients import channel_credentials
from failures import read
from processes import Server

ROUNDS = int(os.environ.get("LATCHKEY_RACE_ROUNDS", "200"))
CALLERS = 50
CONNECTIONS = 10
# Limits that 50 losers of one round would reach, and cheap hashes: the races concern neither.
SETTINGS = {"policy": {"pending_per_account_max": 1_000}, "passwords": {"memory_kib": 1024, "iterations": 1}}


@dataclass
class Answer:
    """One caller's answer: the response, or the reason of the error."""

    caller: int
    response: Any = None
    reason: str = ""

    @property
    def outcome(self) -> str:
        return self.reason or self.response.WhichOneof("outcome")


Call = Callable[[AuthServiceStub, int], Awaitable[Any]]
Result = TypeVar("Result")
Round = Callable[["Track", int], Awaitable[None]]


class Track:
    """Ten connections, and the start of all callers of a round in one step of the event loop."""

    def __init__(self, server: Server) -> None:
        credentials = channel_credentials(server.folder, key="web")
        # Channels to one address share a connection unless each has its own subchannel pool.
        self.channels = [grpc.aio.secure_channel(server.address, credentials, [("grpc.use_local_subchannel_pool", 1)])
                         for _ in range(CONNECTIONS)]
        self.stubs = [AuthServiceStub(channel) for channel in self.channels]

    @property
    def stub(self) -> AuthServiceStub:
        return self.stubs[0]

    async def race(self, call: Call) -> list[Answer]:
        return await together(lambda caller: self._answer(call, caller))

    async def _answer(self, call: Call, caller: int) -> Answer:
        try:
            return Answer(caller, await call(self.stubs[caller % CONNECTIONS], caller))
        except grpc.aio.AioRpcError as error:
            # Reading the error also checks that it is typed.
            return Answer(caller, reason=read(error).reason)


async def together(call: Callable[[int], Awaitable[Result]]) -> list[Result]:
    """Makes the calls of all callers concurrently, and returns their answers in order."""
    return await asyncio.gather(*(call(caller) for caller in range(CALLERS)))


def run(server: Server, each_round: Round, rounds: int = ROUNDS) -> None:
    """Runs all rounds. The error of a failed round contains its number."""
    async def every_round() -> None:
        track = Track(server)
        for channel in track.channels:
            await channel.channel_ready()
        for number in range(rounds):
            try:
                await each_round(track, number)
            except AssertionError as error:
                raise AssertionError(f"round {number}: {error}") from error
        for channel in track.channels:
            await channel.close()

    asyncio.run(every_round())


def outcomes(answers: list[Answer]) -> Counter[str]:
    return Counter(answer.outcome for answer in answers)
