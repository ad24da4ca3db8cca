"""The table in its three formats."""

from __future__ import annotations

import json

import pytest

import report
from figures import Comparison, Finding, Goal, Series

CHECK = Finding(
    "Check, calls per CPU-second", Series("Latchkey", (300_000.0, 310_000.0), (150_000.0, 151_000.0)),
    (Comparison(Series("gRPC C++", (100_000.0, 100_000.0), (60_000.0, 60_000.0)), Goal(3, 5)),
     Comparison(Series("nghttpd", (400_000.0, 620_000.0)))))
START = Finding("Start, ms", Series("Latchkey", (90.04, 110.0, 95.0)), goal=Goal(300, 100, at_least=False), digits=1)
ALONE = Finding("Allocations a call", Series("Latchkey", (6.0,)))


def test_each_comparison_has_a_line_and_only_the_first_names_the_figure() -> None:
    assert report.lines([CHECK]) == [
        ("Check, calls per CPU-second", "305,000 (150,500/s)", "gRPC C++: 100,000 (60,000/s)", "3.05 (3.00-3.10)",
         "≥ 3", "≥ 5", "must"),
        ("", "", "nghttpd: 510,000", "0.62 (0.50-0.75)", "", "", ""),
    ]


def test_a_figure_without_comparison_is_held_to_its_own_goal_and_shows_its_spread() -> None:
    assert report.lines([START]) == [("Start, ms", "95.0", "", "(90.0-110.0)", "≤ 300", "≤ 100", "aim")]


def test_a_figure_with_a_goal_of_its_own_can_have_others_beside_it() -> None:
    memory = Finding("KiB", Series("Latchkey", (18.0,)), (Comparison(Series("nghttpd", (24.0,))),),
                     Goal(30, 20, at_least=False))
    assert report.lines([memory]) == [
        ("KiB", "18", "", "", "≤ 30", "≤ 20", "aim"), ("", "", "nghttpd: 24", "0.75", "", "", "")]


def test_a_single_figure_without_goal_is_only_recorded() -> None:
    assert report.lines([ALONE]) == [("Allocations a call", "6", "", "", "", "", "")]


def test_the_text_is_aligned() -> None:
    heading, first, second = report.text([CHECK]).splitlines()
    assert heading.index("compared with") == first.index("gRPC C++") == second.index("nghttpd")


def test_the_readme_keeps_everything_outside_its_two_markers() -> None:
    readme = f"# Title\n\n{report.BEGIN}\n| old |\n{report.END}\n\n## Next\n"
    replaced = report.replace(readme, report.markdown([ALONE]))
    assert replaced.startswith("# Title\n\n") and replaced.endswith("\n\n## Next\n")
    assert "| old |" not in replaced
    assert "| Allocations a call | 6 |" in replaced
    assert report.replace(replaced, report.markdown([ALONE])) == replaced


@pytest.mark.parametrize("readme", ["", report.BEGIN + "\n", report.END + "\n", f"{report.END}\n{report.BEGIN}\n"])
def test_a_readme_without_both_markers_is_refused(readme: str) -> None:
    with pytest.raises(ValueError, match="has no lines"):
        report.replace(readme, "table")


def test_the_json_has_every_figure_of_every_round() -> None:
    document = json.loads(report.as_json([CHECK], {"Machine": "one"}))
    assert document["machine"] == {"Machine": "one"}
    row = document["rows"][0]
    assert row["own"]["values"] == [300_000, 310_000]
    assert row["ratios"]["gRPC C++"] == {"median": 3.05, "least": 3.0, "most": 3.1}
