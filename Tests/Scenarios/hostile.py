"""One hostile network at full speed: each kind of call in its own process, with asynchronous grpcio clients."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from clients import PAGE, PASSWORD, Client, channel_credentials, fresh_email, password
from configuration import KEYS
from failures import read
from latchkey.v1 import account_service_pb2 as accounts
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1 import provider_flow_service_pb2 as flows
from latchkey.v1 import types_pb2 as types
from latchkey.v1 import verification_service_pb2 as verification
from latchkey.v1.account_service_pb2_grpc import AccountServiceStub
from latchkey.v1.auth_service_pb2_grpc import AuthServiceStub
from latchkey.v1.provider_flow_service_pb2_grpc import ProviderFlowServiceStub
from latchkey.v1.verification_service_pb2_grpc import VerificationServiceStub
from processes import Server

NETWORK = types.ClientContext(ip_address="203.0.113.66", device_id="hostile")
# Every kind, with the answers to a well-formed call. Links and resets share a limit.
KINDS = {"start_flow": ("accepted",), "create": ("accepted",), "wrong_password": ("INVALID_LOGIN_CREDENTIALS",),
         "email_link": ("accepted",), "password_reset": ("accepted", "TOO_MANY_ATTEMPTS"),
         "password_change": ("accepted",), "cancelled": ("CANCELLED",)}
# Concurrent calls of one kind.
OPEN_CALLS = 8


@dataclass
class Target:
    """Data for the processes: the server's address, and the accounts that they use."""

    address: str
    folder: Path
    # The server knows this key. The processes have none of their own.
    key: str
    victim: str
    own_email: str


class Attacker:
    """Repeats one kind of call, and counts the answers."""

    def __init__(self, kind: str, target: Target, channel: grpc.aio.Channel) -> None:
        self.kind, self.target, self.channel = kind, target, channel
        self.answers: Counter[str] = Counter()
        self._token = ""
        self._secret = PASSWORD

    async def run(self, until: float) -> None:
        width = 1 if self.kind == "password_change" else OPEN_CALLS
        await asyncio.gather(*(self._repeat(until) for _ in range(width)))

    async def _repeat(self, until: float) -> None:
        while time.monotonic() < until:
            try:
                await getattr(self, self.kind)()
                self.answers["accepted"] += 1
            except grpc.aio.AioRpcError as error:
                self.answers[reason(error)] += 1
            except asyncio.CancelledError:
                self.answers["CANCELLED"] += 1

    async def start_flow(self) -> None:
        await ProviderFlowServiceStub(self.channel).StartFlow(
            flows.StartFlowRequest(provider_id="google.com", redirect_uri=PAGE, client=NETWORK), timeout=20)

    async def create(self) -> None:
        await AccountServiceStub(self.channel).Create(
            accounts.CreateRequest(email=fresh_email(), password=PASSWORD, client=NETWORK), timeout=20)

    async def wrong_password(self) -> None:
        await self._sign_in(password(self.target.victim, "not the password at all"))

    async def email_link(self) -> None:
        await VerificationServiceStub(self.channel).SendEmailLink(
            verification.SendEmailLinkRequest(email=fresh_email(), continue_uri=PAGE, client=NETWORK), timeout=20)

    async def password_reset(self) -> None:
        await VerificationServiceStub(self.channel).SendPasswordReset(
            verification.SendPasswordResetRequest(email=self.target.victim, continue_uri=PAGE, client=NETWORK),
            timeout=20)

    async def password_change(self) -> None:
        """Changes the password of the attacker's own account."""
        if not self._token:
            signed = await self._sign_in(password(self.target.own_email, self._secret))
            self._token = signed.session.id_token
        new = f"{PASSWORD} {time.monotonic_ns()}"
        request = accounts.UpdateRequest(id_token=self._token, new_password=new, client=NETWORK)
        changed = await AccountServiceStub(self.channel).Update(request, timeout=20)
        self._token, self._secret = changed.session.id_token, new

    async def cancelled(self) -> None:
        call = AuthServiceStub(self.channel).SignIn(
            auth.SignInRequest(credential=password(self.target.victim, "not it"), client=NETWORK), timeout=20)
        await asyncio.sleep(0.002)
        call.cancel()
        await call

    async def _sign_in(self, credential: types.Credential) -> Any:
        return await AuthServiceStub(self.channel).SignIn(
            auth.SignInRequest(credential=credential, client=NETWORK), timeout=20)


class Flood:
    """Runs every kind in its own process. `stop` waits for their ends and returns the answers of each kind."""

    def __init__(self, server: Server, seconds: float) -> None:
        victim, own = fresh_email(), fresh_email()
        client = Client(server, key="web")
        for email in (victim, own):
            client.create(email)
        client.close()
        target = Target(server.address, server.folder, KEYS["web"], victim, own)
        context = multiprocessing.get_context("spawn")
        self._answers = context.Queue()
        self._processes = [
            context.Process(target=attack, args=(kind, target, seconds, self._answers)) for kind in KINDS]

    def start(self) -> None:
        for process in self._processes:
            process.start()

    def stop(self) -> dict[str, Counter[str]]:
        counted = dict(self._answers.get(timeout=120) for _ in self._processes)
        for process in self._processes:
            process.join()
        return counted


def attack(kind: str, target: Target, seconds: float, answers: Any) -> None:
    # A real attacker uses the processors of another machine.
    os.nice(19)
    answers.put((kind, asyncio.run(_attack(kind, target, seconds))))


async def _attack(kind: str, target: Target, seconds: float) -> Counter[str]:
    credentials = channel_credentials(target.folder, key=target.key)
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
    async with grpc.aio.secure_channel(target.address, credentials, options) as channel:
        attacker = Attacker(kind, target, channel)
        await attacker.run(time.monotonic() + seconds)
        return attacker.answers


def reason(error: grpc.RpcError) -> str:
    """The typed reason, or the status of a call that ended without one."""
    try:
        return read(error).reason
    except AssertionError:
        return error.code().name
