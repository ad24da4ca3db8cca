"""`latchkeyd --check-config --online` calls every provider, and reports whether it works and how to fix it."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from configuration import settings
from ports import free_port
from processes import Simulator
from test_configuration import run


def check(folder: Path, simulator: Simulator) -> tuple[int, dict[str, str]]:
    """The exit code, and the report on each provider."""
    text = copy.deepcopy(settings(folder, free_port(), simulator.base))
    path = folder / "online.json5"
    path.write_text(json.dumps(text))
    ended = run(path, "--check-config", "--online")
    assert ended.stdout.startswith(f"{path}: ok\n"), ended.stderr
    return ended.returncode, dict(line.split(": ", 1) for line in ended.stdout.splitlines()[1:])


def test_every_working_provider_is_reported_as_ok(folder: Path, simulator: Simulator) -> None:
    code, said = check(folder, simulator)
    assert code == 0, said
    assert {"google.com", "oidc.corp"} <= set(said) and all(text.startswith("ok") for text in said.values()), said


@pytest.mark.parametrize("behaviour, document", [
    ("redirect", None), ("error", "discovery"), ("html", "jwks"), ("reset", "jwks")])
def test_a_failing_provider_is_reported_with_what_to_do(
        folder: Path, simulator: Simulator, behaviour: str, document: str | None) -> None:
    simulator.behave("oidc.corp", behaviour, document=document)
    try:
        code, said = check(folder, simulator)
    finally:
        simulator.behave("oidc.corp", "well")
    assert code == 1 and said["oidc.corp"].startswith("failed: ") and "Fix: " in said["oidc.corp"], said
    assert said["google.com"].startswith("ok"), "the other providers are checked too"
