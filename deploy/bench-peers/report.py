"""The table of findings as text, as Markdown for deploy/docs/benchmarks.md, and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from figures import Finding, Goal, Ratio, Series, ratio

HEADINGS = ("what", "Latchkey", "compared with", "ratio (least-most)", "must", "aim", "reached")
BEGIN = "<!-- deploy/bench --save writes from here -->"
END = "<!-- to here -->"

Line = tuple[str, ...]


def lines(findings: list[Finding]) -> list[Line]:
    """One line for the figure's own goal, if it has one, and one for each comparison."""
    return [line for finding in findings for line in lines_of(finding)]


def lines_of(finding: Finding) -> list[Line]:
    own, digits = finding.own, finding.digits
    rests: list[Line] = []
    if finding.goal != Goal() or not finding.comparisons:
        spread = f"({number(min(own.values), digits)}-{number(max(own.values), digits)})"
        rests.append(("", spread if len(own.values) > 1 else "", *goal(finding.goal, own.median)))
    for each in finding.comparisons:
        beside = ratio(own, each.beside)
        rests.append((f"{each.beside.name}: {figure(each.beside, digits)}", quotient(beside),
                      *goal(each.goal, beside.median)))
    names = [(finding.what, figure(own, digits)), *[("", "")] * (len(rests) - 1)]
    return [(*name, *rest) for name, rest in zip(names, rests)]


def number(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}"


def figure(series: Series, digits: int) -> str:
    text = number(series.median, digits)
    return f"{text} ({number(series.by_the_clock().median, digits)}/s)" if series.per_second else text


def quotient(value: Ratio) -> str:
    spread = f" ({value.least:.2f}-{value.most:.2f})" if value.least != value.most else ""
    return f"{value.median:.2f}{spread}"


def goal(wanted: Goal, value: float) -> Line:
    sign = "≥" if wanted.at_least else "≤"
    return (*("" if each is None else f"{sign} {each:g}" for each in (wanted.must, wanted.aim)), wanted.reaches(value))


def text(findings: list[Finding]) -> str:
    rows = [HEADINGS, *lines(findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def markdown(findings: list[Finding]) -> str:
    rows = [HEADINGS, ("---",) * len(HEADINGS), *lines(findings)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def replace(guide: str, table: str) -> str:
    """The guide with this text between its two marker lines."""
    before, begin, rest = guide.partition(BEGIN + "\n")
    old, end, after = rest.partition(END + "\n")
    if not begin or not end:
        raise ValueError(f"the guide has no lines {BEGIN!r} and {END!r}")
    return f"{before}{begin}{table}\n{end}{after}"


def as_json(findings: list[Finding], machine: dict[str, str]) -> str:
    rows = [
        asdict(finding) | {
            "ratios": {each.beside.name: asdict(ratio(finding.own, each.beside)) for each in finding.comparisons}}
        for finding in findings
    ]
    return json.dumps({"machine": machine, "rows": rows}, indent=2)
