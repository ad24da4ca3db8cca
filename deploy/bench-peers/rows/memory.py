"""Memory of an idle connection."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from figures import Comparison, Finding, Goal, Series
from servers import Unmeasurable
from stand import LATCHKEY, NGHTTPD, Stand

TOOL = Path(__file__).resolve().parents[1] / "idle_connections.py"
CONNECTIONS = 10_000


def memory(stand: Stand) -> list[Finding]:
    """Starts its own servers: the first connections to a used server would take memory that its heap already has."""
    servers = {"latchkeyd": LATCHKEY, **({"nghttpd": NGHTTPD} if shutil.which("nghttpd") else {})}
    command = [sys.executable, str(TOOL), "--home", str(stand.home), "--latchkeyd", str(stand.options.latchkeyd),
               "--connections", str(CONNECTIONS), "--json"]
    for server in servers:
        command += ["--server", server]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise Unmeasurable(f"idle connections could not be measured: {run.stderr}")
    kib = {servers[name]: Series(servers[name], (value,)) for name, value in json.loads(run.stdout).items()}
    own = kib.pop(LATCHKEY)
    what = f"Resident memory of each of {CONNECTIONS:,} idle TLS connections, KiB"
    beside = tuple(Comparison(each) for each in kib.values())
    return [Finding(what, own, beside, Goal(32, 20, at_least=False), digits=1)]
