"""Makes modules of the other black-box tests importable here (waiting, processes, clients, raw frames)."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
for folder in (TESTS / "Common", TESTS / "Interop", TESTS / "Scenarios"):
    sys.path.insert(0, str(folder))
