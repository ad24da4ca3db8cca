"""The measurements as values: figures in rounds, ratios between them, and their goals."""

from __future__ import annotations

import statistics
from dataclasses import dataclass


@dataclass(frozen=True)
class Rate:
    """Operations for each second of the server's CPU time, and for each second of wall-clock time."""

    per_cpu_second: float
    per_second: float


@dataclass(frozen=True)
class Series:
    """One subject's figure in each round; for a figure of CPU time, also the one of wall-clock time."""

    name: str
    values: tuple[float, ...]
    per_second: tuple[float, ...] = ()

    @staticmethod
    def of(name: str, rates: list[Rate]) -> Series:
        return Series(name, tuple(rate.per_cpu_second for rate in rates), tuple(rate.per_second for rate in rates))

    def by_the_clock(self) -> Series:
        return Series(self.name, self.per_second)

    def by_cpu_time(self) -> Series:
        return Series(self.name, self.values)

    @property
    def median(self) -> float:
        return statistics.median(self.values)


@dataclass(frozen=True)
class Ratio:
    median: float
    least: float
    most: float


def ratio(own: Series, beside: Series) -> Ratio:
    """Compares round by round, because only within a round does the machine's other work affect both equally."""
    if len(own.values) != len(beside.values):
        raise ValueError(f"{own.name} has {len(own.values)} rounds and {beside.name} {len(beside.values)}")
    ratios = [mine / theirs for mine, theirs in zip(own.values, beside.values)]
    return Ratio(statistics.median(ratios), min(ratios), max(ratios))


@dataclass(frozen=True)
class Goal:
    must: float | None = None
    aim: float | None = None
    at_least: bool = True

    def reaches(self, value: float) -> str:
        """`aim`, `must`, or `missed`; empty without a goal."""
        for name, wanted in (("aim", self.aim), ("must", self.must)):
            if wanted is not None and (value >= wanted if self.at_least else value <= wanted):
                return name
        return "" if self.must is None else "missed"


@dataclass(frozen=True)
class Comparison:
    beside: Series
    goal: Goal = Goal()


@dataclass(frozen=True)
class Finding:
    """A row of the table: our figure, its own goal if it has one, and the series to compare it with."""

    what: str
    own: Series
    comparisons: tuple[Comparison, ...] = ()
    goal: Goal = Goal()
    digits: int = 0
