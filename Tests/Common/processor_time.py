"""How much of a processor a process has used."""

from __future__ import annotations

import os
from pathlib import Path


def processor_seconds(process: int) -> float:
    """In its own code and in the kernel, as proc(5) counts both."""
    # Fields 14 and 15; the name before them is in parentheses and may hold blanks.
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
