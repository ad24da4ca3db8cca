"""A rotation of the master key over three replicas, with a kill in the middle; `deploy/soak master-keys` is its long
form."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from postgres import BINARIES
from processes import LATCHKEYD

pytestmark = [pytest.mark.timeout(900), pytest.mark.skipif(
    not (BINARIES / "postgres").exists(), reason="PostgreSQL 15 is not installed")]


def test_no_call_fails_and_no_change_is_lost_while_the_master_key_is_replaced() -> None:
    ended = subprocess.run(
        [sys.executable, Path(__file__).parent / "master_keys.py", "--accounts", "2000", "--sessions", "20",
         "--factors", "10", "--sample", "100", "--seed", "7"],
        capture_output=True, text=True, env=os.environ | {"LATCHKEYD": str(LATCHKEYD)})
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "killed a replica with" in ended.stdout and ", 0 failed, 0 lost;" in ended.stdout
