"""The systemd units in deploy/ fit the programs."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import LATCHKEYD, Server, longest_end, standard

UNIT = Path(__file__).parents[2] / "deploy/latchkeyd.service"
BACKUP = UNIT.with_name("latchkey-backup.service")
TIMER = BACKUP.with_suffix(".timer")
PROGRAMS = {UNIT: LATCHKEYD, BACKUP: LATCHKEYD.parent / "latchkey"}


def value(name: str, unit: Path = UNIT) -> str:
    found = re.findall(rf"^{name}=(.*)$", unit.read_text(), re.MULTILINE)
    assert len(found) == 1, name
    return found[0]


def confinement(unit: Path) -> list[str]:
    """The settings from NoNewPrivileges on, which is the first of them."""
    _, _, rest = unit.read_text().partition("\nNoNewPrivileges=")
    return rest.partition("\n\n")[0].splitlines()


def test_the_unit_waits_for_a_drain_and_does_not_restart_on_a_wrong_configuration(
        serve: Callable[..., Server]) -> None:
    server = serve()
    server.stop()
    assert int(value("TimeoutStopSec")) > longest_end(server)
    assert int(value("LimitNOFILE")) >= 1.5 * standard("limits.connections_max")
    assert value("RestartPreventExitStatus").split() == ["64", "78"]


def test_the_unit_restarts_on_failure_without_a_limit_and_without_a_start_check() -> None:
    assert value("Restart") == "on-failure" and value("StartLimitIntervalSec") == "0"
    assert "\nExecStartPre=" not in UNIT.read_text(), "systemd would ignore its 78"


def test_the_unit_waits_for_the_clock_to_be_set() -> None:
    assert "time-sync.target" in value("After").split()


def test_the_backup_is_confined_as_the_server_and_ends_after_the_servers_own_limit() -> None:
    assert confinement(BACKUP) == confinement(UNIT) != []
    [timeout] = re.findall(r"/latchkey backup --timeout (\d+)$", value("ExecStart", BACKUP))
    assert int(timeout) > standard("store.backup_seconds")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("shipped", PROGRAMS, ids=lambda shipped: shipped.name)
def test_systemd_accepts_each_unit_and_rates_it_as_confined(shipped: Path, tmp_path: Path) -> None:
    unit, program = tmp_path / shipped.name, PROGRAMS[shipped]
    unit.write_text(shipped.read_text().replace(f"/usr/local/bin/{program.name}", str(program)))
    (tmp_path / TIMER.name).write_text(TIMER.read_text())
    timers = [tmp_path / TIMER.name] if shipped == BACKUP else []
    verified = subprocess.run(["systemd-analyze", "verify", unit, *timers], capture_output=True, text=True,
                              check=False)
    assert (verified.returncode, verified.stderr) == (0, "")
    # The scale ends at ten; an unconfined service has more than nine.
    subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20", unit],
                   capture_output=True, check=True)
