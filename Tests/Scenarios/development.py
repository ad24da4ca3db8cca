"""The server that deploy/run starts, in a copy of deploy/ and proto/ and on ports other than the default."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from paths import ROOT
from ports import free_port
from processes import LATCHKEYD
from waiting import until

START_SECONDS, STOP_SECONDS = 60, 30


@dataclass
class Checkout:
    """The copy, and the environment of a developer's shell in it."""

    folder: Path
    environment: dict[str, str]

    @property
    def home(self) -> Path:
        return self.folder / ".latchkey"

    def output(self, *command: str) -> str:
        return subprocess.run(command, cwd=self.folder, env=self.environment, check=True, capture_output=True,
                              text=True).stdout.strip()


@contextlib.contextmanager
def server(folder: Path) -> Iterator[Checkout]:
    for name in ("deploy", "proto"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    home = folder / ".latchkey"
    home.mkdir()
    (home / "venv").symlink_to(sys.prefix)
    ports = {option: str(free_port()) for option in ("--port", "--keys-port", "--simulator-port", "--metrics-port")}
    # Variables of this process that name another server or session would reach the examples.
    own = {name: value for name, value in os.environ.items() if not name.startswith("LATCHKEY")}
    log = home / "run.log"
    with log.open("w") as output:
        process = subprocess.Popen([folder / "deploy/run", *(word for pair in ports.items() for word in pair)],
                                   env={**own, "LATCHKEYD": str(LATCHKEYD.resolve())}, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
    try:
        until(lambda: "Latchkey listens" in log.read_text() or process.poll() is not None, START_SECONDS)
        assert process.poll() is None, log.read_text()
        yield Checkout(folder, {
            **own, "PATH": f"{LATCHKEYD.resolve().parent}:{own['PATH']}", "TMPDIR": str(folder),
            "LATCHKEY_SERVER": f"localhost:{ports['--port']}", "LATCHKEY_CA": str(home / "authority.pem"),
            "issuer": f"https://localhost:{ports['--keys-port']}",
            "metrics_at": f"http://127.0.0.1:{ports['--metrics-port']}"})
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        finally:
            # deploy/run may have ended without its server or simulator.
            kill_group(process)


def kill_group(leader: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader.pid, signal.SIGKILL)
    leader.wait()
