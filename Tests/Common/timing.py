"""Compares the times of calls, as a caller who wants to tell them apart would."""

from __future__ import annotations

import itertools
import math
import random
import statistics
import time
from collections.abc import Callable

# A normal variable is this many standard deviations from its mean once in 15,787 times.
CERTAINTY = 4.0
ROUNDS_MIN = 300
BUDGET_SECONDS = 55


def median_interval(values: list[float]) -> tuple[float, float]:
    """An interval that holds the median of the population, whatever its distribution, from the ranks of a sample."""
    ordered, middle = sorted(values), len(values) / 2
    reach = CERTAINTY * math.sqrt(len(values)) / 2
    return ordered[max(0, math.floor(middle - reach))], ordered[min(len(values) - 1, math.ceil(middle + reach))]


def shown_difference(times: dict[str, list[float]]) -> float:
    """The largest difference between the medians of two kinds that chance does not explain, as a share of the median.

    The differences within each round are compared, because both calls of a round meet the same load of the machine.
    """
    shown = 0.0
    for first, second in itertools.combinations(times, 2):
        low, high = median_interval([one - other for one, other in zip(times[first], times[second], strict=True)])
        shown = max(shown, low, -high)
    return shown / min(statistics.median(values) for values in times.values())


def measured_difference(calls: dict[str, Callable[[], object]], rounds: int) -> float:
    """The `shown_difference` of interleaved calls. A slow machine makes fewer rounds, but at least `ROUNDS_MIN`.

    A call that has to prepare something returns the seconds that count.
    """
    times: dict[str, list[float]] = {kind: [] for kind in calls}
    end = time.monotonic() + BUDGET_SECONDS
    for number in range(rounds):
        if number >= ROUNDS_MIN and time.monotonic() > end:
            break
        # A fixed order would give each kind a fixed place in periodic noise of the machine.
        for kind in random.sample(list(calls), len(calls)):
            begun = time.perf_counter()
            counted = calls[kind]()
            times[kind].append(counted if isinstance(counted, float) else time.perf_counter() - begun)
    shown = shown_difference(times)
    medians = ", ".join(f"{kind} {statistics.median(values) * 1000:.3f}" for kind, values in times.items())
    print(f"\n{len(next(iter(times.values())))} calls of each, medians in ms: {medians}; shown difference {shown:.2%}")
    return shown


def assert_same_time(calls: dict[str, Callable[[], object]], tolerance: float, rounds: int = 1_000) -> None:
    """Fails if two kinds differ by more than `tolerance`, a share of the median, beyond chance in two measurements."""
    differences = [measured_difference(calls, rounds)]
    if differences[0] > tolerance:
        differences.append(measured_difference(calls, rounds))
    assert min(differences) <= tolerance, differences
