"""Ratios and goals."""

from __future__ import annotations

import pytest

from figures import Goal, Rate, Ratio, Series, ratio


def test_a_ratio_is_taken_round_by_round_and_not_between_medians() -> None:
    own = Series("own", (100.0, 10.0, 300.0))
    beside = Series("beside", (50.0, 20.0, 100.0))
    assert ratio(own, beside) == Ratio(median=2.0, least=0.5, most=3.0)


def test_series_of_different_lengths_have_no_ratio() -> None:
    with pytest.raises(ValueError, match="own has 2 rounds and beside 1"):
        ratio(Series("own", (1.0, 2.0)), Series("beside", (1.0,)))


def test_a_series_keeps_cpu_time_and_clock_apart() -> None:
    series = Series.of("own", [Rate(10.0, 1.0), Rate(30.0, 3.0), Rate(20.0, 2.0)])
    assert (series.median, series.by_the_clock().median) == (20.0, 2.0)
    assert series.by_cpu_time() == Series("own", (10.0, 30.0, 20.0))


@pytest.mark.parametrize(("value", "reached"), [(5.0, "aim"), (4.99, "must"), (3.0, "must"), (2.99, "missed")])
def test_a_goal_is_reached_from_its_number_on(value: float, reached: str) -> None:
    assert Goal(3, 5).reaches(value) == reached


@pytest.mark.parametrize(("value", "reached"), [(100.0, "aim"), (300.0, "must"), (300.1, "missed")])
def test_a_goal_that_is_a_ceiling_is_reached_down_from_its_number(value: float, reached: str) -> None:
    assert Goal(300, 100, at_least=False).reaches(value) == reached


def test_what_has_no_must_cannot_be_missed() -> None:
    assert Goal().reaches(0) == ""
    assert Goal(aim=0.7).reaches(0.69) == ""
    assert Goal(aim=0.7).reaches(0.7) == "aim"
