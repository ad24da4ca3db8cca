"""Short runs of the drills that `deploy/soak` runs at length."""

from __future__ import annotations

from pathlib import Path

import pytest
import restore
import signing_keys


@pytest.mark.timeout(300)
def test_signing_keys_are_revoked_under_load_without_other_failures(tmp_path: Path) -> None:
    result = signing_keys.run(
        tmp_path, signing_keys.arguments(["--revocations", "4", "--pause", "1.5", "--users", "4"]), 1)
    assert result.violations == [] and result.documented > 0 and sum(result.calls.values()) > 100


@pytest.mark.timeout(300)
def test_a_backup_is_restored_next_to_a_stale_log_and_only_later_changes_are_lost(tmp_path: Path) -> None:
    result = restore.run(tmp_path, restore.arguments(["--rounds", "1", "--seconds", "2"]))
    assert result.violations == [] and result.kept > 10 and result.lost > 10 and result.sessions > 5
