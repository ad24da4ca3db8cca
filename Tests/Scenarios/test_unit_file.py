"""The systemd unit in deploy/ fits the server."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from processes import LATCHKEYD, longest_end, standard

UNIT = Path(__file__).parents[2] / "deploy/latchkeyd.service"


def value(name: str) -> str:
    found = re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.MULTILINE)
    assert len(found) == 1, name
    return found[0]


def test_the_unit_waits_for_a_drain_and_does_not_restart_on_a_wrong_configuration() -> None:
    assert int(value("TimeoutStopSec")) > longest_end()
    assert int(value("LimitNOFILE")) >= 1.5 * standard("limits.connections_max")
    assert value("RestartPreventExitStatus").split() == ["64", "78"]


def test_the_unit_restarts_on_failure_without_a_limit_and_without_a_start_check() -> None:
    assert value("Restart") == "on-failure" and value("StartLimitIntervalSec") == "0"
    assert "\nExecStartPre=" not in UNIT.read_text(), "systemd would ignore its 78"


def test_the_unit_waits_for_the_clock_to_be_set() -> None:
    assert "time-sync.target" in value("After").split()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit_and_rates_it_as_confined(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/usr/local/bin/latchkeyd", str(LATCHKEYD)))
    verified = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr) == (0, "")
    # The scale ends at ten; an unconfined service has more than nine.
    subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20", unit],
                   capture_output=True, check=True)
