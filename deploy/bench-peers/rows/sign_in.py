"""Sign-ins against the work that no server could leave out, and what they do to others' latency."""

from __future__ import annotations

from functools import partial

import bounds
import calls
import h2load
from calls import Call, Client
from figures import Comparison, Finding, Goal, Rate, Series, percentile
from h2load import Shape
from stand import LATCHKEY, PASSWORD, Stand, need

# Password checks on their way at once: enough that the hashing thread never waits, below the queue's limit of 64.
PASSWORDS = Shape(connections=4, streams=8)
FETCHES_PER_SECOND = 400
FETCH_CONNECTIONS = 8


def by_id_token(stand: Stand) -> list[Finding]:
    call = calls.sign_in_by_id_token(stand.id_token())
    bound = "RSA-2048 verification and P-256 signature alone"
    series = stand.turns({
        LATCHKEY: partial(_sign_in, stand, _checked(stand, call), Shape()),
        bound: partial(bounds.cryptography, stand.options.server_core, stand.options.seconds)})
    return [Finding("SignIn with an ID token, calls per CPU-second", series[LATCHKEY],
                    (Comparison(series[bound], Goal(0.35, 0.6)),))]


def by_password(stand: Stand) -> list[Finding]:
    call = calls.sign_in_by_password(stand.email, PASSWORD)
    bound = "Argon2id alone"
    series = stand.turns({
        LATCHKEY: partial(_sign_in, stand, _checked(stand, call), PASSWORDS),
        bound: partial(bounds.argon2id, stand.tools / "argon2id", stand.options.server_core, PASSWORD,
                       stand.password_hash(), stand.options.seconds)})
    return [Finding("SignIn with a password, calls per CPU-second", series[LATCHKEY],
                    (Comparison(series[bound], Goal(0.9, 0.97)),), digits=1)]


def latency_beside(stand: Stand) -> list[Finding]:
    """Reactor and hashing thread share the one core, so this is what the scheduler and priorities make of it."""
    server = stand.server(LATCHKEY)
    sign_in = _checked(stand, calls.sign_in_by_password(stand.email, PASSWORD)).write(stand.home)
    fetch = calls.fetch_providers(stand.email).write(stand.home)
    seconds = stand.options.seconds
    idle, beside = [], []

    def measure() -> float:
        return percentile(h2load.latencies(server, fetch, seconds, connections=FETCH_CONNECTIONS,
                                           per_second=FETCHES_PER_SECOND), 0.99)

    for number in range(stand.options.rounds):
        idle.append(measure())
        noise = h2load.begin_throughput(server, sign_in, seconds + 1, PASSWORDS)
        beside.append(measure())
        need(noise.wait() == 0, "the sign-ins beside the measurement failed")
        stand.tell(f"  round {number + 1}: idle {idle[-1]:.2f} ms, beside {beside[-1]:.2f} ms")
    return [Finding("FetchProviders beside password sign-ins, p99 in ms", Series(LATCHKEY, tuple(beside)),
                    (Comparison(Series("idle", tuple(idle)), Goal(3, 1.5, at_least=False)),), digits=2)]


def _checked(stand: Stand, call: Call) -> Call:
    with Client(stand.server(LATCHKEY), stand.authority) as client:
        client.sign_in(call)
    return call


def _sign_in(stand: Stand, call: Call, shape: Shape) -> Rate:
    """Every answered call must have left a session: answers differ, so their length proves nothing."""
    before, seconds = stand.stores.session_count(), stand.options.seconds
    rate = h2load.throughput(stand.server(LATCHKEY), call.write(stand.home), seconds, shape)
    answered, made = round(rate.per_second * seconds), stand.stores.session_count() - before
    need(made >= answered, f"{answered} sign-ins were answered and {made} sessions made")
    return rate
