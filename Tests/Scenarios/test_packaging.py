"""Parts of deploy/package that need no root. `deploy/package --test` installs the package."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT
from processes import LATCHKEYD

PACKAGING = ROOT / "deploy/packaging"
SECTIONS = {"latchkeyd": 8, "latchkey": 1, "latchkey-load": 1}


@pytest.fixture(scope="module")
def manuals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pages = tmp_path_factory.mktemp("manuals")
    for program, section in SECTIONS.items():
        subprocess.run([sys.executable, PACKAGING / "manuals.py", LATCHKEYD.parent / program, "--section", str(section),
                        "--version", "1.0", "--day", "2026-11-28", "--to", pages], check=True)
    return pages


def commands() -> list[str]:
    """All commands of `latchkey`, with those of its groups: keys-status is `latchkey keys status`."""
    program = LATCHKEYD.parent / "latchkey"
    dumped = subprocess.run([program, "--experimental-dump-help"], capture_output=True, check=True)

    def below(command: dict[str, Any], prefix: str) -> Iterator[str]:
        for each in command.get("subcommands", []):
            if each["commandName"] != "help":
                yield prefix + each["commandName"]
                yield from below(each, f"{prefix}{each['commandName']}-")

    return list(below(json.loads(dumped.stdout)["command"], ""))


def test_each_program_and_each_command_has_a_manual_page(manuals: Path) -> None:
    wanted = {f"{program}.{section}" for program, section in SECTIONS.items()}
    wanted |= {f"latchkey-{name}.1" for name in commands()}
    assert {page.name for page in manuals.iterdir()} == wanted and len(wanted) > 30
    assert r"\fBlatchkey\-sign\-in\fR(1)" in (manuals / "latchkey.1").read_text()


def test_a_manual_page_has_the_options_and_no_line_that_is_a_request_by_mistake(manuals: Path) -> None:
    known = {"TH", "SH", "TP", "PP", "nf", "fi"}
    for page in manuals.iterdir():
        text = page.read_text()
        assert set(re.findall(r"^\.(\w+)", text, re.MULTILINE)) <= known, page.name
        assert not re.search(r"^'", text, re.MULTILINE) and r"\fB\-\-help\fR" in text, page.name
        assert re.search(r"^\.SH NAME\n\S+ \\- \w", text, re.MULTILINE), page.name
    assert r"\fB\-\-check\-config\fR" in (manuals / "latchkeyd.8").read_text()


def test_the_configuration_of_the_package_is_valid_without_a_change(folder: Path, tmp_path: Path) -> None:
    for name in ("master.key", "server.pem", "server.key", "authority.pem"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
        (tmp_path / name).chmod(0o600)
    text = (PACKAGING / "latchkey.json5").read_text()
    assert text.count("/var/lib/latchkey") == 2
    (tmp_path / "latchkey.json5").write_text(text.replace("/var/lib/latchkey", str(tmp_path)))
    checked = subprocess.run([LATCHKEYD, "--config", tmp_path / "latchkey.json5", "--check-config"],
                             capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_timer_backs_up_as_a_caller_that_the_installation_makes() -> None:
    text = (PACKAGING / "latchkey-backup.default").read_text()
    names = dict(re.findall(r"^(LATCHKEY_\w+)=(.*)$", text, re.MULTILINE))
    [made] = re.findall(r"/usr/lib/latchkey/setup (.+)$", (PACKAGING / "debian/latchkey.postinst").read_text(),
                        re.MULTILINE)
    caller = Path(names["LATCHKEY_CERT"]).stem
    assert caller in made.split() and names["LATCHKEY_KEY"] == f"/etc/latchkey/{caller}.key"
    configured = set(re.findall(r'san: "uri:spiffe://localhost/(.+)"', (PACKAGING / "latchkey.json5").read_text()))
    assert configured == set(made.split())
