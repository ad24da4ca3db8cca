"""Parsing of the tools' output, and errors for unexpected output."""

from __future__ import annotations

import pytest

import bounds
import database
import h2load
import metrics
import pgbench
from servers import Unmeasurable

SUMMARY = """finished in 2.00s, 106920.00 req/s, 5.10MB/s
requests: {total} total, {total} started, {done} done, {succeeded} succeeded, {failed} failed, 0 errored, 0 timeout
status codes: {succeeded} 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 3.42MB (3589872) total, 86.72KB (88800) headers (space savings 94.73%), 40.0KB ({data}) data
"""


def test_h2loads_answered_calls_are_counted() -> None:
    summary = SUMMARY.format(total=900, done=800, succeeded=800, failed=0, data=800 * 51)
    assert h2load.parse_summary(summary, "Latchkey", answer_bytes=51) == 800


@pytest.mark.parametrize(("done", "succeeded", "failed"), [(0, 0, 0), (800, 799, 0), (800, 800, 1)])
def test_a_run_with_an_unanswered_call_is_no_measurement(done: int, succeeded: int, failed: int) -> None:
    summary = SUMMARY.format(total=900, done=done, succeeded=succeeded, failed=failed, data=0)
    with pytest.raises(Unmeasurable, match="Latchkey: not every call was answered"):
        h2load.parse_summary(summary, "Latchkey", answer_bytes=51)


def test_an_answer_of_another_length_is_no_measurement() -> None:
    summary = SUMMARY.format(total=800, done=800, succeeded=800, failed=0, data=799 * 51)
    with pytest.raises(Unmeasurable, match="some of 800 answers are not of 51 bytes"):
        h2load.parse_summary(summary, "Latchkey", answer_bytes=51)


def test_the_cryptographic_bound_is_one_verification_and_one_signature() -> None:
    output = "+F2:2:2048:3660.3:60000.0\n+F4:3:256:30000.0:15315.4\n"
    both = bounds.in_turn(bounds.rsa_verifications(output), bounds.p256_signatures(output))
    assert both == pytest.approx(20_000)


def test_another_print_of_openssl_speed_is_refused() -> None:
    with pytest.raises(Unmeasurable):
        bounds.p256_signatures("+F2:2:2048:3660.3:60000.0\n")


def test_samples_without_labels_are_read_by_name() -> None:
    text = """# HELP commits Transactions.
# TYPE commits histogram
commits_bucket{le="1"} 3
commits_sum 70
commits_count 5
resident 1.5e+06
"""
    assert metrics.parse(text) == {"commits_sum": 70, "commits_count": 5, "resident": 1.5e6}


def test_statements_of_several_connections_become_trips_in_the_order_of_their_ends() -> None:
    at = "2026-11-22 10:00:00.000 UTC"
    log = "\n".join([
        f"{at} [11] LOG:  execute begin_writing: BEGIN", f"{at} [12] LOG:  execute session: SELECT a",
        "\tFROM sessions WHERE id = $1", f"{at} [12] DETAIL:  parameters: $1 = 'x'",
        f"{at} [11] LOG:  execute rotate_session: UPDATE sessions", f"{at} [12] LOG:  execute begin_reading: BEGIN",
        f"{at} [11] LOG:  execute commit: COMMIT", f"{at} [12] LOG:  execute commit: COMMIT", ""])
    assert database.trips(log) == [
        [("session", "SELECT a\nFROM sessions WHERE id = $1")],
        [("begin_writing", "BEGIN"), ("rotate_session", "UPDATE sessions"), ("commit", "COMMIT")],
        [("begin_reading", "BEGIN"), ("commit", "COMMIT")],
    ]


def test_a_statement_with_other_parameters_than_pgbench_gives_is_refused() -> None:
    assert pgbench.filled("session", "SELECT *\n  FROM sessions WHERE id = $1") == (
        "SELECT * FROM sessions WHERE id = ('bench' || :s)")
    for name, text in (("session", "SELECT $1, $2"), ("unheard_of", "SELECT 1")):
        with pytest.raises(Unmeasurable):
            pgbench.filled(name, text)
