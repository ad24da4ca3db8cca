"""The protos follow the rules of `buf lint`, with the exceptions of proto/buf.yaml."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT

BUF = Path(sys.executable).with_name("buf")


def findings(protos: Path, cache: Path) -> str:
    found = subprocess.run([BUF, "lint"], cwd=protos, env={**os.environ, "BUF_CACHE_DIR": str(cache)},
                           capture_output=True, text=True)
    assert bool(found.stdout) == bool(found.returncode), found.stderr
    return found.stdout


def test_buf_has_no_findings(tmp_path: Path) -> None:
    assert findings(ROOT / "proto", tmp_path) == ""


@pytest.mark.parametrize(("folder", "has_findings"), [("latchkey", True), ("google", True), ("google/rpc", False)])
def test_buf_omits_copies_of_public_files_only(tmp_path: Path, folder: str, has_findings: bool) -> None:
    place = tmp_path / "proto" / folder
    place.mkdir(parents=True)
    shutil.copy(ROOT / "proto/buf.yaml", tmp_path / "proto")
    (place / "lock.proto").write_text('syntax = "proto3";\npackage lock;\nservice Lock {}\n')
    assert bool(findings(tmp_path / "proto", tmp_path / "cache")) == has_findings
