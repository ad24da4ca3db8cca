"""The CPU time of a process."""

from __future__ import annotations

import os
from pathlib import Path


def processor_seconds(process: int) -> float:
    """User and system time in seconds, as in proc(5)."""
    # Fields 14 and 15; the name before them is in parentheses and may contain spaces.
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
