"""The Grafana dashboard, the Prometheus alerts and the runbooks in deploy/ use only metrics that a server reports."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import databases
import grpc
import pytest
import yaml
from metrics import ON_A_FREE_PORT, Scrape, eventually
from paths import ROOT
from processes import Server, Simulator

DASHBOARD = json.loads((ROOT / "deploy/dashboards/latchkey.json").read_text())
ALERTS: list[Any] = [rule for group in yaml.safe_load((ROOT / "deploy/dashboards/alerts.yaml").read_text())["groups"]
                     for rule in group["rules"]]
RUNBOOKS = sorted((ROOT / "deploy/docs/runbooks").glob("*.md"))
ALERT_TESTS = ROOT / "deploy/dashboards/alerts_test.yaml"
# deploy/test fetches it; its package would also start a server.
PROMTOOL = shutil.which("promtool", path=f"{ROOT}/.build/prometheus/usr/bin:{os.environ['PATH']}")
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
SELECTOR = re.compile(r"\b((?:latchkey|process)_[a-z_]+)(?:\{([^}]*)\})?")
# Prometheus adds these labels.
ATTACHED = {"job", "instance"}


@dataclass
class Told:
    """The metrics of a server: names with their labels, and the values of each label."""

    labels: dict[str, set[str]]
    values: dict[str, set[str]]
    kinds: dict[str, str]


@pytest.fixture(scope="module")
def told(folder: Path, simulator: Simulator) -> Iterator[Told]:
    # No call asks the hook. Its series exist from the start.
    hooks = [{"name": "rules", "endpoint": "http://127.0.0.1:1"}]
    server = Server.start(
        folder, simulator, metrics=ON_A_FREE_PORT, store=databases.backups_in("drawn-copies"), hooks=hooks)
    # The server counts the accounts after its start.
    seen = eventually(server, lambda scrape: any(name == "latchkey_accounts" for name, _ in scrape.samples), 20)
    # A series with a status exists only after a call has ended with it, and a server has one kind of store.
    found = Told({}, {"code": {code.name for code in grpc.StatusCode}}, seen.kinds())
    for name, pairs in seen.samples:
        found.labels.setdefault(name, set()).update(dict(pairs))
        for label, value in pairs:
            found.values.setdefault(label, set()).add(value)
    found.labels["latchkey_build_info"] |= {"sqlite", "postgres"}
    # A master key is in this state only during a rotation.
    found.values.setdefault("use", set()).add("opens")
    # Only a key with an end has this series.
    found.labels["latchkey_api_key_not_after_seconds"] = {"caller", "key"}
    if databases.ON_POSTGRES:
        newest = "latchkey_backup_newest_timestamp_seconds"
        found.kinds[newest] = "gauge"
        found.labels[newest] = set()
    else:
        pool = "latchkey_store_connections"
        found.kinds[pool] = "gauge"
        found.labels[pool] = {"state"}
    yield found
    server.stop()


def unknown(expression: str, used: set[str], told: Told) -> list[str]:
    """The parts of an expression, and the labels of its text, that no server reports."""
    wrong, known = [], set(ATTACHED)
    for name, selected in SELECTOR.findall(expression):
        labels = told.labels.get(name)
        if labels is None:
            wrong.append(name)
            continue
        known |= labels
        for label, operator, value in re.findall(r'(\w+)(=~|!~|!=|=)"([^"]*)"', selected):
            if label in ATTACHED:
                continue
            alternatives = value.split("|") if "~" in operator else [re.escape(value)]
            wrong += [f"{name}.{label}: {each}" for each in alternatives if label not in labels
                      or not any(re.fullmatch(each, there) for there in told.values[label])]
    grouped = [label.strip() for listed in re.findall(r"\b(?:by|on) \(([^)]*)\)", expression)
               for label in listed.split(",")]
    if " by (" in expression:
        known &= {*grouped, "le"}
    return wrong + [label for label in (*grouped, *used) if label not in known]


def names(expressions: list[str], told: Told) -> set[str]:
    """The names of the metrics in the expressions; a histogram has its base name."""
    found = {name for expression in expressions for name, _ in SELECTOR.findall(expression)}
    return {name if name in told.kinds else re.sub(r"_(bucket|sum|count)$", "", name) for name in found}


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: str(panel["title"]))
def test_a_panel_uses_only_metrics_that_a_server_exports(panel: Any, told: Told) -> None:
    for target in panel["targets"]:
        used = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        assert unknown(target["expr"], used, told) == []
        assert are_paired(target["expr"])


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: str(rule["alert"]))
def test_an_alert_uses_only_exported_metrics_and_says_what_to_do(rule: Any, told: Told) -> None:
    summary, advice = rule["annotations"]["summary"], rule["annotations"]["description"]
    assert unknown(rule["expr"], set(re.findall(r"\$labels\.(\w+)", summary + advice)), told) == []
    assert are_paired(rule["expr"])
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert advice.endswith((".", ".)")) and names([summary + advice], told) <= told.kinds.keys()
    assert set(re.findall(r"\bLatchkey[A-Z]\w+", advice)) <= {each["alert"] for each in ALERTS}
    runbook = ROOT / rule["annotations"]["runbook"]
    assert runbook.stem == rule["alert"] and runbook.read_text().startswith(f"# {runbook.stem}\n")


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
@pytest.mark.parametrize("arguments", [("check", ALERT_TESTS.with_name("alerts.yaml")), ("test", ALERT_TESTS)],
                         ids=lambda arguments: str(arguments[0]))
def test_prometheus_accepts_the_alerts_and_they_fire_in_their_cases(arguments: tuple[str, Path]) -> None:
    assert PROMTOOL is not None
    ran = subprocess.run([PROMTOOL, arguments[0], "rules", arguments[1]], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_each_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    queries = [query for case in yaml.safe_load(ALERT_TESTS.read_text())["tests"] for query in case["promql_expr_test"]]
    for alert in (rule["alert"] for rule in ALERTS):
        matching = [query for query in queries for name in re.findall(r'alertname=~?"([^"]+)"', query["expr"])
                    if re.fullmatch(name, alert)]
        fires = [query for query in matching if any(f'"{alert}"' in each["labels"] for each in query["exp_samples"])]
        assert fires and any(query["exp_samples"] == [] for query in matching), alert


@pytest.mark.parametrize(("page", "heading"), [
    ("monitoring.md", "Load the dashboard and the alerts"), ("runbooks/README.md", "By alert")])
def test_a_table_lists_each_alert_once_with_its_runbook(page: str, heading: str) -> None:
    text = (ROOT / "deploy/docs" / page).read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    linked = re.findall(r"\[(Latchkey\w+)\]\((?:runbooks/)?(Latchkey\w+)\.md\)", "\n".join(rows))
    assert sorted(linked) == sorted((rule["alert"], rule["alert"]) for rule in ALERTS)


@pytest.mark.parametrize("runbook", RUNBOOKS, ids=lambda runbook: str(runbook.stem))
def test_a_runbook_reads_only_exported_metrics(runbook: Path, told: Told) -> None:
    # A pattern such as `latchkey_deliver` stands for every name that begins with it.
    named = {name.rstrip("_") for name, _ in SELECTOR.findall(runbook.read_text())}
    assert [name for name in named if not any(each.startswith(name) for each in told.labels)] == []


def are_paired(expression: str) -> bool:
    closing, waiting = {")": "(", "]": "[", "}": "{"}, []
    for character in re.sub(r'"[^"]*"', "", expression):
        if character in closing.values():
            waiting.append(character)
        elif character in closing and (not waiting or waiting.pop() != closing[character]):
            return False
    return not waiting


def test_every_metric_is_on_the_dashboard(told: Told) -> None:
    assert names([target["expr"] for panel in PANELS for target in panel["targets"]], told) == told.kinds.keys()


def test_the_dashboard_queries_the_chosen_source_and_job_and_no_panels_overlap() -> None:
    variables = {each["name"]: each for each in DASHBOARD["templating"]["list"]}
    assert variables.keys() == {"datasource", "job"}
    asked = re.fullmatch(r"label_values\((\w+), job\)", variables["job"]["query"]["query"])
    assert asked and asked[1] == "latchkey_build_info"
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        assert place["x"] + place["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
    for panel in PANELS:
        assert panel["datasource"]["uid"] == "${datasource}"
        for target in panel["targets"]:
            assert all('job="$job"' in selected for _, selected in SELECTOR.findall(target["expr"])), panel["title"]
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    assert len({rule["alert"] for rule in ALERTS}) == len(ALERTS)
