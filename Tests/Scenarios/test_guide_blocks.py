"""The examples of the guides run: those that are fenced as `sh test` and `python test`, next to a server of deploy/run.

They run in a copy of deploy/ and proto/. A page is one shell, and one Python process that begins with the module of
proto/README.md. Pages run at the same time. `pytest -s` prints the number of blocks of each page.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from ports import free_port
from processes import LATCHKEYD
from stubs import ROOT
from test_guides import GUIDES
from waiting import until

MODULE = ROOT / "proto/README.md"
FENCE = re.compile(r"^( *)```(sh|python)( test)?\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
SHELLS = {"sh": ["bash", "-euo", "pipefail"],
          "python": ["env", "LATCHKEY_STUBS=.latchkey/stubs", ".latchkey/venv/bin/python"]}
PAGES_AT_ONCE = 4
START_SECONDS, PAGE_SECONDS, STOP_SECONDS = 60, 60, 30


@dataclass
class Page:
    """The examples of one guide, in order, by language."""

    path: Path
    marked: dict[str, list[str]] = field(default_factory=lambda: {"sh": [], "python": []})
    unmarked: int = 0

    @classmethod
    def read(cls, path: Path) -> Page:
        page = cls(path)
        for _, language, mark, code in FENCE.findall(path.read_text()):
            if mark:
                page.marked[language].append(textwrap.dedent(code))
            else:
                page.unmarked += 1
        return page

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def count(self) -> int:
        return sum(map(len, self.marked.values()))


@dataclass
class Checkout:
    """A copy of what the examples use, with the server that deploy/run started in it."""

    folder: Path
    environment: dict[str, str]

    def run(self, page: Page) -> str:
        """The output of a page whose examples failed, otherwise nothing."""
        return "".join(self._run(page, language) for language, blocks in page.marked.items() if blocks)

    def _run(self, page: Page, language: str) -> str:
        blocks = page.marked[language]
        if language == "python" and page.path != MODULE:
            blocks = Page.read(MODULE).marked["python"] + blocks
        script = self.folder / ".latchkey" / f"{page.name.replace('/', '-')}.{language}"
        script.write_text("\n".join(blocks))
        log = script.with_name(f"{script.name}.log")
        with log.open("w") as output:
            process = subprocess.Popen([*SHELLS[language], script], cwd=self.folder, env=self.environment,
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                       start_new_session=True)
        try:
            result = f"exit code {process.wait(PAGE_SECONDS)}"
        except subprocess.TimeoutExpired:
            result = f"not done after {PAGE_SECONDS} seconds"
        # A page that fails may leave a server in its process group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return "" if process.wait() == 0 else f"\n{page.name}, {language}: {result}\n{log.read_text()}"


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Checkout]:
    for name in ("deploy", "proto"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    home = tmp_path / ".latchkey"
    home.mkdir()
    (home / "venv").symlink_to(sys.prefix)
    ports = {option: str(free_port()) for option in ("--port", "--keys-port", "--simulator-port", "--metrics-port")}
    # Variables of this process that name another server or session would reach the examples.
    own = {name: value for name, value in os.environ.items() if not name.startswith("LATCHKEY")}
    log = home / "run.log"
    with log.open("w") as output:
        process = subprocess.Popen([tmp_path / "deploy/run", *(word for pair in ports.items() for word in pair)],
                                   env={**own, "LATCHKEYD": str(LATCHKEYD.resolve())}, stdout=output,
                                   stderr=subprocess.STDOUT)
    try:
        until(lambda: "Latchkey listens" in log.read_text() or process.poll() is not None, START_SECONDS)
        assert process.poll() is None, log.read_text()
        yield Checkout(tmp_path, {
            **own, "PATH": f"{LATCHKEYD.resolve().parent}:{own['PATH']}", "TMPDIR": str(tmp_path),
            "LATCHKEY_SERVER": f"localhost:{ports['--port']}", "LATCHKEY_CA": str(home / "authority.pem")})
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def test_the_examples_of_the_guides_run(checkout: Checkout) -> None:
    pages = [page for page in map(Page.read, GUIDES) if page.count or page.unmarked]
    with ThreadPoolExecutor(PAGES_AT_ONCE) as pool:
        failures = list(pool.map(checkout.run, pages))
    for page, failure in zip(pages, failures):
        print(f"{page.name}: {page.count} run, {page.unmarked} not marked{', failed' if failure else ''}")
    print(f"{sum(page.count for page in pages)} blocks ran, {sum(page.unmarked for page in pages)} are not marked")
    assert not any(failures), "".join(failures)
