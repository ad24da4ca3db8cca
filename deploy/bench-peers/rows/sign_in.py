"""Sign-ins against the work that no server could leave out, and what they do to others' latency."""

from __future__ import annotations

from functools import partial

import bounds
import calls
import h2load
from calls import Call, Client
from figures import Comparison, Finding, Goal, Series, percentile
from stand import LATCHKEY, PASSWORD, Stand

# Password checks on their way at once: enough that the hashing thread never waits, below the queue's limit of 64.
PASSWORD_CONNECTIONS = 4
PASSWORD_STREAMS = 8
FETCHES_PER_SECOND = 400
FETCH_CONNECTIONS = 8


def by_id_token(stand: Stand) -> list[Finding]:
    call = calls.sign_in_by_id_token(stand.id_token())
    server = stand.server(LATCHKEY)
    with Client(server, stand.authority) as client:
        client.sign_in(call)
    request = call.write(stand.home)
    bound = "RSA-2048 verification and P-256 signature alone"
    series = stand.turns({
        LATCHKEY: partial(h2load.throughput, server, call.method, request, stand.options.seconds),
        bound: partial(bounds.cryptography, stand.options.server_core, stand.options.seconds)})
    return [Finding("SignIn with an ID token, calls per CPU-second", series[LATCHKEY],
                    (Comparison(series[bound], Goal(0.35, 0.6)),))]


def by_password(stand: Stand) -> list[Finding]:
    call = _password_call(stand)
    server = stand.server(LATCHKEY)
    request = call.write(stand.home)
    bound = "Argon2id alone"
    phc = stand.password_hash()
    series = stand.turns({
        LATCHKEY: partial(h2load.throughput, server, call.method, request, stand.options.seconds,
                          connections=PASSWORD_CONNECTIONS, streams=PASSWORD_STREAMS),
        bound: partial(bounds.argon2id, stand.tools / "argon2id", stand.options.server_core, PASSWORD, phc,
                       stand.options.seconds)})
    return [Finding("SignIn with a password, calls per CPU-second", series[LATCHKEY],
                    (Comparison(series[bound], Goal(0.9, 0.97)),), digits=1)]


def latency_beside(stand: Stand) -> list[Finding]:
    """Reactor and hashing thread share the one core, so this is what the scheduler and priorities make of it."""
    server = stand.server(LATCHKEY)
    sign_in = _password_call(stand)
    sign_in_request = sign_in.write(stand.home)
    fetch = calls.fetch_providers(stand.email())
    fetch_request = fetch.write(stand.home)
    seconds = stand.options.seconds
    idle, beside = [], []

    def measure() -> float:
        return percentile(h2load.latencies(server, fetch.method, fetch_request, seconds, connections=FETCH_CONNECTIONS,
                                           per_second=FETCHES_PER_SECOND), 0.99)

    for number in range(stand.options.rounds):
        idle.append(measure())
        noise = h2load.begin_throughput(server, sign_in.method, sign_in_request, seconds + 1,
                                        connections=PASSWORD_CONNECTIONS, streams=PASSWORD_STREAMS)
        beside.append(measure())
        noise.wait()
        stand.tell(f"  round {number + 1}: idle {idle[-1]:.2f} ms, beside {beside[-1]:.2f} ms")
    return [Finding("FetchProviders beside password sign-ins, p99 in ms", Series(LATCHKEY, tuple(beside)),
                    (Comparison(Series("idle", tuple(idle)), Goal(3, 1.5, at_least=False)),), digits=2)]


def _password_call(stand: Stand) -> Call:
    call = calls.sign_in_by_password(stand.email(), PASSWORD)
    with Client(stand.server(LATCHKEY), stand.authority) as client:
        client.sign_in(call)
    return call
