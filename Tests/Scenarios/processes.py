"""The two processes of scenarios, on free loopback ports: the provider simulator and latchkeyd."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import ssl
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import databases
from configuration import PROVIDERS, Settings, settings
from paths import ROOT
from ports import free_port

sys.path.insert(0, str(ROOT / "deploy" / "simulator"))

import issuance  # noqa: E402
import issuers  # noqa: E402
import providers  # noqa: E402
import service  # noqa: E402
import tokens  # noqa: E402
import walking  # noqa: E402
from keys import KeyRing  # noqa: E402
from protocols.people import Person  # noqa: E402

LATCHKEYD = Path(os.environ.get("LATCHKEYD", ROOT / ".build/debug/latchkeyd"))


def prepare(folder: Path) -> Path:
    """Makes certificates and a master key, which servers and simulator of one test session share."""
    subprocess.run([ROOT / "deploy/certificates", folder, "web", "admin", "stranger"], check=True)
    (folder / "master.key").write_text(secrets.token_hex(32))
    (folder / "master.key").chmod(0o600)
    return folder


@dataclass
class Simulator:
    """The running issuers. This process mints tokens with the keys that the other one serves."""

    folder: Path
    process: subprocess.Popen[str]
    base: str

    @classmethod
    def start(cls, folder: Path) -> Simulator:
        hosted = (*providers.NAMED, *PROVIDERS, "oauth2.plain")
        names = [argument for name in hosted for argument in ("--issuer", name)]
        process = subprocess.Popen(
            [sys.executable, ROOT / "deploy/simulator/simulator.py", "serve", "--folder", folder / "simulator",
             "--port", "0", "--certificate", folder / "simulator.pem", "--key", folder / "simulator.key", *names],
            stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        word, base = process.stdout.readline().split()
        assert word == "listening"
        return cls(folder / "simulator", process, base)

    def token(self, provider_id: str, **order: object) -> str:
        """An ID token of the provider; `order` has fields of `tokens.Order`. The default subject is new."""
        issuer = issuers.find(self.folder, issuer_name(provider_id))
        order.setdefault("subject", secrets.token_hex(8))
        made = tokens.Order(**order)  # type: ignore[arg-type]
        return tokens.mint(KeyRing(self.folder, issuer.name), issuer, made, int(time.time()))

    def person(self, username: str = "", **fields: object) -> Person:
        """A user; by default a new one."""
        return Person(username or "p" + secrets.token_hex(8), **fields)  # type: ignore[arg-type]

    def walk(self, authorization_url: str, person: Person, *, deny: bool = False) -> str:
        """The callback URI at the end of the provider's pages."""
        return walking.walk(authorization_url, person, self._trust(), deny=deny)

    def access_token(self, provider_id: str, person: Person, **options: Any) -> dict[str, str]:
        """The access token that the provider's own SDK would return; `options` are those of `issuance.issue`."""
        return issuance.issue(self.folder, issuer_name(provider_id), person, **options)

    def id_token(self, provider_id: str, person: Person, **options: Any) -> str:
        """The same for an ID token; `options` are those of `issuance.id_token`."""
        return issuance.id_token(self.folder, issuer_name(provider_id), person, **options)

    def subject(self, provider_id: str, person: Person) -> str:
        hosting = issuance.provider(self.folder, issuer_name(provider_id))
        return hosting.subject(person, hosting.application("ours").client_id)

    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.folder.parent / "authority.pem")

    def rotate(self, provider_id: str, *, published: bool = True) -> None:
        KeyRing(self.folder, issuer_name(provider_id)).rotate(published=published)

    def behave(self, provider_id: str, behaviour: str, *, document: str | None = None, body: str = "") -> None:
        documents = [document] if document else list(service.DOCUMENTS)
        service.behave(self.folder, issuer_name(provider_id), documents, behaviour, body)

    def fetches(self, provider_id: str, document: str) -> int:
        """The number of requests for the document."""
        log = self.folder / "requests.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return lines.count(f"{issuer_name(provider_id)} {document}")

    def stop(self) -> None:
        end(self.process)


def issuer_name(provider_id: str) -> str:
    """`google` for `google.com`, `corp` for `oidc.corp`; `oauth2.plain` has this name on both sides."""
    return provider_id.removesuffix(".com").removeprefix("oidc.")


@dataclass
class Server:
    """One latchkeyd with its own port and database in the session's folder. Both survive a restart."""

    folder: Path
    port: int
    settings: Settings
    process: subprocess.Popen[bytes] | None = field(default=None)
    # Variables in addition to those of the tests' own process.
    environment: dict[str, str] = field(default_factory=dict)
    program: Path = LATCHKEYD

    @classmethod
    def start(cls, folder: Path, simulator: Simulator, environment: dict[str, str] | None = None,
              **overrides: Settings) -> Server:
        port = free_port()
        every = settings(folder, port, simulator.base, **overrides)
        server = cls(folder, port, {**every, "store": databases.place(every["store"])}, environment=environment or {})
        server.launch()
        return server

    @property
    def address(self) -> str:
        return f"localhost:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / f"latchkeyd-{self.port}.log"

    @property
    def database(self) -> Path:
        """The path of the file, if the store is a file."""
        return self.folder / str(self.settings["store"]["path"])

    def stored(self) -> bytes:
        """All bytes that the database stores."""
        return databases.stored(self.folder, self.settings["store"])

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a query on the database itself; `?` stands for a value."""
        return databases.rows(self.folder, self.settings["store"], query, *values)

    def launch(self) -> None:
        """Starts it and waits until its log reports that it listens."""
        begun = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([self.program, "--config", write(self)], stdout=log, stderr=log,
                                            env=os.environ | self.environment)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            if any(line.get("message") == "listening" for line in self.lines(begun)):
                return
            time.sleep(0.02)
        end(self.process)
        raise RuntimeError(f"latchkeyd does not listen: {self.log.read_text()[begun:][-2000:]}")

    def lines(self, begun: int = 0) -> list[Settings]:
        """The log's records from byte `begun` on. Omits an incomplete line, and the plain line with the reason of a
        failed start."""
        text = self.log.read_bytes()[begun:].decode()
        return [json.loads(line) for line in text.splitlines(keepends=True)
                if line.startswith("{") and line.endswith("\n")]

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def wait(self, timeout_seconds: float = 40) -> int:
        assert self.process is not None
        return self.process.wait(timeout_seconds)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.wait()

    def stop(self) -> None:
        if self.process is not None:
            end(self.process)


def standard(setting: str) -> int:
    """The default value that `--list-settings` prints."""
    listed = subprocess.run([LATCHKEYD, "--list-settings"], capture_output=True, text=True, check=True).stdout
    found = re.search(rf"^{re.escape(setting)} = (\d+)$", listed, re.MULTILINE)
    assert found, f"{setting} in {listed[:2000]}"
    return int(found[1])


def longest_end(server: Server) -> int:
    """Seconds from SIGTERM until a server with these settings gives up a part and exits, as the log of one that was
    ended says. Its last lines may take another second."""
    [limit] = {int(line["limit_seconds"]) for line in server.lines() if line["message"] == "draining"}
    return limit + 1


def write(server: Server) -> Path:
    path = server.folder / f"latchkey-{server.port}.json5"
    path.write_text(json.dumps(server.settings, indent=2))
    return path


def end(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
