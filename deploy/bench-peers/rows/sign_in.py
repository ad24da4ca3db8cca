"""Sign-ins compared with the work that no server could avoid, and their effect on the latency of other calls."""

from __future__ import annotations

from functools import partial

import bounds
from figures import Comparison, Finding, Goal, Series
from latchkey_load import Shape
from people import PASSWORD
from stand import LATCHKEY, Stand

# Concurrent password checks: enough to keep the hashing thread busy, and below the queue's limit of 64.
PASSWORDS = Shape(connections=4, streams=8)
FETCHES_PER_SECOND = 400


def by_id_token(stand: Stand) -> list[Finding]:
    options = stand.people.options_for_tokens()
    bound = "RSA-2048 verification and P-256 signature alone"
    seconds = stand.options.seconds
    series = stand.turns({
        LATCHKEY: partial(stand.load.throughput, stand.server(LATCHKEY), "sign-in-id-token", seconds, options),
        bound: partial(bounds.cryptography, stand.options.server_core, seconds)})
    return [Finding("SignIn with an ID token, calls per CPU-second", series[LATCHKEY],
                    (Comparison(series[bound], Goal(0.3, 0.5)),))]


def by_password(stand: Stand) -> list[Finding]:
    server, seconds = stand.server(LATCHKEY), stand.options.seconds
    options = stand.people.options_for_passwords()
    bound = "Argon2id alone"
    alone = partial(bounds.argon2id, stand.tools / "argon2id", stand.options.server_core, PASSWORD,
                    stand.password_hash(), seconds)
    series = stand.turns({
        LATCHKEY: partial(stand.load.throughput, server, "sign-in-password", seconds, options, PASSWORDS),
        bound: alone})
    return [Finding("SignIn with a password, calls per CPU-second", series[LATCHKEY],
                    (Comparison(series[bound], Goal(0.95, 0.98)),), digits=1)]


def latency_beside(stand: Stand) -> list[Finding]:
    """Reactor and hashing thread share one core, so the result depends on the scheduler and on priorities."""
    server, seconds = stand.server(LATCHKEY), stand.options.seconds
    passwords = stand.people.options_for_passwords()
    idle, beside = [], []

    def measure() -> float:
        return stand.load.p99_millis(
            server, "fetch", seconds, FETCHES_PER_SECOND, ["--addresses", stand.addresses])

    for number in range(stand.options.rounds):
        idle.append(measure())
        with stand.load.beside(server, "sign-in-password", passwords, PASSWORDS):
            beside.append(measure())
        stand.tell(f"  round {number + 1}: idle {idle[-1]:.2f} ms, beside {beside[-1]:.2f} ms")
    return [Finding("FetchProviders during password sign-ins, p99 in ms", Series(LATCHKEY, tuple(beside)),
                    (Comparison(Series("idle", tuple(idle)), Goal(3, 1.5, at_least=False)),), digits=2)]
