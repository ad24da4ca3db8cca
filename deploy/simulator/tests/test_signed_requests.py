"""Checks that the OAuth 1.0a requests in the tests of Providers are still those that oauthlib signs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[3] / "Tests" / "ProvidersTests" / "Fixtures"


def test_the_committed_requests_are_what_their_script_makes() -> None:
    made = subprocess.run([sys.executable, str(FIXTURES / "signed_requests.py")], capture_output=True, check=True,
                          timeout=60)
    assert made.stdout == (FIXTURES / "signed_requests.jsonl").read_bytes()
    assert made.stdout.count(b"\n") == 1000
