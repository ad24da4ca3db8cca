"""The examples of the guides run: those that are fenced as `sh test` and `python test`, next to a server of deploy/run.

They run in a copy of deploy/ and proto/. A page is one shell, and one Python process that begins with the module of
proto/README.md. A runbook begins with the environment of deploy/docs/runbooks/README.md. `$port` is a free port for a
page's own server. Pages run at the same time. `pytest -s` prints the number of blocks of each page.
"""

from __future__ import annotations

import re
import subprocess
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import development
import pytest
from paths import ROOT
from ports import free_port
from test_guides import GUIDES, RUNBOOKS

MODULE = ROOT / "proto/README.md"
# Reject other names of the two languages: a block with one of them would never run.
NAMED = re.compile(r"^ *```((?:ba|z|)sh|shell|console|py\w*)\b(.*)$", re.MULTILINE)
FENCE = re.compile(r"^( *)```(sh|python)( test)?\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
# Enough that a change of the fences cannot disable the test.
BLOCKS_MIN = 90
SHELLS = {"sh": ["bash", "-euo", "pipefail"],
          "python": ["env", "LATCHKEY_STUBS=.latchkey/stubs", ".latchkey/venv/bin/python"]}
# The last line of a script: it did not end early with success.
ENDS = {"sh": 'touch "$0.done"', "python": 'open(f"{__file__}.done", "w").close()'}
PAGES_AT_ONCE = 4
# A check of a runbook finds nothing on a healthy server, so that `grep` fails. Its commands must not print errors.
CHECKING = ["bash", "-u"]
PAGES_SECONDS = 150


@dataclass
class Page:
    """The examples of one guide, in order, by language."""

    path: Path
    marked: dict[str, list[str]] = field(default_factory=lambda: {"sh": [], "python": []})
    unmarked: int = 0

    @classmethod
    def read(cls, path: Path) -> Page:
        page, text = cls(path), path.read_text()
        blocks = FENCE.findall(text)
        named = [name + info for name, info in NAMED.findall(text)]
        assert named == [language + mark for _, language, mark, _ in blocks], f"{path}: {named}"
        for _, language, mark, code in blocks:
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


def run(checkout: development.Checkout, deadline: float, page: Page) -> str:
    """The output of a page whose examples failed, otherwise nothing."""
    return "".join(run_in(checkout, deadline, page, language) for language, blocks in page.marked.items() if blocks)


def run_in(checkout: development.Checkout, deadline: float, page: Page, language: str) -> str:
    blocks, command = page.marked[language], SHELLS[language]
    if language == "python" and page.path != MODULE:
        blocks = Page.read(MODULE).marked["python"] + blocks
    checks = page.path.parent == RUNBOOKS
    if checks:
        blocks, command = Page.read(RUNBOOKS / "README.md").marked["sh"] + blocks, CHECKING
    script = checkout.home / f"{page.name.replace('/', '-')}.{language}"
    script.write_text("\n".join([*blocks, ENDS[language]]))
    log, errors = script.with_name(f"{script.name}.log"), script.with_name(f"{script.name}.errors")
    with log.open("w") as output, errors.open("w") as warnings:
        process = subprocess.Popen([*command, script], cwd=checkout.folder,
                                   env={**checkout.environment, "port": str(free_port())}, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=warnings if checks else subprocess.STDOUT,
                                   start_new_session=True)
    try:
        result = f"exit code {process.wait(max(0.0, deadline - time.monotonic()))}"
    except subprocess.TimeoutExpired:
        result = f"not done {PAGES_SECONDS} seconds after the server's start"
    # A page that fails may leave a server in its process group.
    development.kill_group(process)
    works = Path(f"{script}.done").exists() and (not errors.read_text() if checks else process.wait() == 0)
    return "" if works else f"\n{page.name}, {language}: {result}\n{log.read_text()}{errors.read_text()}"


@pytest.mark.timeout(development.START_SECONDS + PAGES_SECONDS + development.STOP_SECONDS + 30)
def test_the_examples_of_the_guides_run(tmp_path: Path) -> None:
    pages = [page for page in map(Page.read, GUIDES) if page.count or page.unmarked]
    with development.server(tmp_path) as checkout, ThreadPoolExecutor(PAGES_AT_ONCE) as pool:
        failures = list(pool.map(partial(run, checkout, time.monotonic() + PAGES_SECONDS), pages))
    for page, failure in zip(pages, failures):
        print(f"{page.name}: {page.count} run, {page.unmarked} not marked{', failed' if failure else ''}")
    count = sum(page.count for page in pages)
    print(f"{count} blocks ran, {sum(page.unmarked for page in pages)} are not marked")
    assert not any(failures), "".join(failures)
    assert count >= BLOCKS_MIN
