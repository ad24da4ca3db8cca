"""A slow, broken or unreachable provider: its own callers get an error in limited time, and no other call notices."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
import latchkey_settings
import pytest
from clients import Client, assertion, fresh_email, session
from configuration import Settings
from failures import expect_failure, read
from grpc import StatusCode
from latchkey.v1 import types_pb2 as types
from metrics import ON_A_FREE_PORT, Scrape
from processes import Server, Simulator, prepare
from waiting import until

# The metric of each fault of the endpoint that names a token's application. An invalid document is still an answer,
# which its reader rejects.
FAULTS = {"hang": "timed_out", "slow": "timed_out", "reset": "unreachable", "error": "failed", "huge": "too_large",
          "broken": "answered", "html": "answered", "redirect": "redirected", "redirect-private": "redirected"}
# A fetch timeout below the provider's delay of two seconds, and a breaker that tries it again and again.
FETCH = {"total_millis": 1_000, "pause_millis": 1_000}
# Three calls that a pause refuses must fit in it.
PAUSE_MILLIS = 1_800
PEOPLE, ROUNDS, ROUND_SECONDS = 5, 3, 1.0
# Below this the machine's other work decides. A burst of that work is over at the next measurement.
FLOOR_SECONDS, ATTEMPTS = 0.002, 3


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    """A real provider has its own processors: its 50 MB must not slow down the measured calls. No other test may share
    a simulator of this priority."""
    running = Simulator.start(prepare(tmp_path_factory.mktemp("elsewhere")))
    os.setpriority(os.PRIO_PROCESS, running.process.pid, 10)
    yield running
    running.stop()


@pytest.fixture
def server(elsewhere: Simulator) -> Iterator[Server]:
    running = Server.start(elsewhere.folder.parent, elsewhere, **asking(elsewhere), fetch=FETCH)
    yield running
    running.stop()


def asking(simulator: Simulator) -> Settings:
    """The server asks GitHub at every sign-in with an access token, and another issuer once for its keys."""
    return {"metrics": ON_A_FREE_PORT,
            "providers": [latchkey_settings.github(simulator.base, "simulator"),
                          latchkey_settings.openid(simulator.base, "simulator", "corp")]}


def token(simulator: Simulator, whose: str) -> types.Credential:
    """A token of our application or `another`. One fetch detects the other application, and nothing is written."""
    token = simulator.access_token("github.com", simulator.person(), whose=whose)["access_token"]
    return types.Credential(
        provider_token=types.ProviderTokenCredential(provider_id="github.com", access_token=token))


def told(client: Client, credential: types.Credential) -> StatusCode:
    with pytest.raises(grpc.RpcError) as refused:
        client.sign_in(credential)
    return read(refused.value).code


@contextmanager
def behaving(simulator: Simulator, fault: str) -> Iterator[None]:
    simulator.behave("github.com", fault, document="check")
    try:
        yield
    finally:
        simulator.behave("github.com", "well", document="check")


@contextmanager
def sign_ins(client: Client, simulator: Simulator, whose: str) -> Iterator[set[StatusCode]]:
    """While the block runs, users try to sign in with GitHub again and again. Collects the statuses."""
    ended, codes = threading.Event(), set[StatusCode]()

    def repeat(credential: types.Credential) -> None:
        while not ended.wait(0.05):
            codes.add(told(client, credential))

    credentials = [token(simulator, whose) for _ in range(PEOPLE)]
    with ThreadPoolExecutor(PEOPLE) as pool:
        people = [pool.submit(repeat, credential) for credential in credentials]
        try:
            yield codes
        finally:
            ended.set()
    for person in people:
        person.result()


def look_ups(client: Client, email: str, seconds: float) -> list[float]:
    """The time of each call."""
    latencies = []
    end = time.perf_counter() + seconds
    while (begun := time.perf_counter()) < end:
        assert client.fetch(email=email).registered
        latencies.append(time.perf_counter() - begun)
    return latencies


def p99(latencies: list[float]) -> float:
    return sorted(latencies)[len(latencies) * 99 // 100]


def wait_until_well(client: Client, credential: types.Credential) -> None:
    until(lambda: told(client, credential) == StatusCode.UNAUTHENTICATED,
          otherwise="the provider works again, but is not called")


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize("fault", FAULTS)
def test_check_68_a_fault_of_a_provider_delays_no_call_but_its_own(
        server: Server, connect: Callable[..., Client], elsewhere: Simulator, fault: str) -> None:
    people, second, email = connect(server), connect(server), fresh_email()
    people.create(email)

    def measure() -> tuple[float, float]:
        calm: list[float] = []
        faulty: list[float] = []
        # In turn, so that other work of the machine affects both equally.
        for _ in range(ROUNDS):
            wait_until_well(people, token(elsewhere, "another"))
            with sign_ins(people, elsewhere, "another") as codes:
                calm += look_ups(second, email, ROUND_SECONDS)
            assert codes == {StatusCode.UNAUTHENTICATED}
            with behaving(elsewhere, fault), sign_ins(people, elsewhere, "ours") as codes:
                faulty += look_ups(second, email, ROUND_SECONDS)
            assert codes == {StatusCode.UNAVAILABLE}
        print(f"{fault}: calm p99 {p99(calm) * 1000:.2f} ms of {len(calm)}, "
              f"faulty {p99(faulty) * 1000:.2f} ms of {len(faulty)}")
        return p99(calm), p99(faulty)

    bearable = False
    for _ in range(ATTEMPTS):
        calm, faulty = measure()
        bearable = faulty <= max(2 * calm, calm + FLOOR_SECONDS)
        if bearable:
            break
    seen = Scrape.of(server)
    assert seen("latchkey_fetches_total", provider="github.com", result=FAULTS[fault]) > ROUNDS
    assert bearable, f"in {ATTEMPTS} measurements, last {calm * 1000:.2f} ms calm and {faulty * 1000:.2f} ms faulty"


def test_a_provider_that_keeps_failing_is_not_asked_until_after_a_pause(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = serve(**asking(simulator), fetch={"pause_millis": PAUSE_MILLIS})
    client, credential = connect(server), token(simulator, "another")

    def breakers() -> tuple[float, float]:
        seen = Scrape.of(server)
        return tuple(seen(f"latchkey_fetch_breaker_{name}", provider="github.com")  # type: ignore[return-value]
                     for name in ("open", "openings_total"))

    with behaving(simulator, "error"):
        for failures in range(5):
            assert breakers() == (0, 0), failures
            begun = time.monotonic()
            with expect_failure(StatusCode.UNAVAILABLE, "PROVIDER_UNAVAILABLE"):
                client.sign_in(credential)
        asked = simulator.fetches("github.com", "check")
        for _ in range(3):
            assert told(client, credential) == StatusCode.UNAVAILABLE
        assert simulator.fetches("github.com", "check") == asked, "no request is made"
        assert breakers() == (1, 1)
        # Another provider is not affected.
        session(client.sign_in(assertion(simulator, "oidc.corp")))

        def is_tried() -> bool:
            assert told(client, credential) == StatusCode.UNAVAILABLE
            return simulator.fetches("github.com", "check") != asked

        until(is_tried)
        assert time.monotonic() - begun > PAUSE_MILLIS / 1_000
        for _ in range(2):
            assert told(client, credential) == StatusCode.UNAVAILABLE
        assert simulator.fetches("github.com", "check") == asked + 1, "by the trial alone"
        assert breakers() == (1, 2)
    wait_until_well(client, credential)
    assert breakers()[0] == 0
    assert Scrape.of(server)("latchkey_fetches_total", provider="github.com", result="circuit_open") > 0
