"""The provider simulator in place of Google, and the tokens that it signs for filled accounts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from servers import Server, free_port

SIMULATOR = Path(__file__).resolve().parents[1] / "simulator/simulator.py"


class Provider:
    def __init__(self, home: Path, core: int) -> None:
        self.folder = home / "simulator"
        self.core = core
        port = free_port()
        command = [sys.executable, str(SIMULATOR), "serve", "--folder", str(self.folder), "--port", str(port),
                   "--certificate", str(home / "simulator.pem"), "--key", str(home / "simulator.key")]
        self.server = Server("the provider simulator", command, port, home / "simulator.log")

    def id_token(self, number: int) -> str:
        """For the account of this number, with everything as its identity in the store is: nothing else is written."""
        if self.server.process is None:
            self.server.start(self.core)
        command = [sys.executable, str(SIMULATOR), "mint", "--folder", str(self.folder), "--issuer", "google",
                   "--subject", f"1{number:020}", "--email", f"person{number}@example.com", "--verified",
                   "--hd", "example.com", "--name", f"Person {number}"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def stop(self) -> None:
        self.server.stop()
