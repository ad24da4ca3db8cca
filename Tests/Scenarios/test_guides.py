"""The guides: their tables are those of the server, their links lead to files, their diagrams are valid, and their
sentences are short."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT
from processes import LATCHKEYD

sys.path.insert(0, str(ROOT / "deploy/docs"))

import settings_table  # noqa: E402

GUIDES = [ROOT / name for name in ("README.md", "deploy/README.md", "Sources/README.md", "Tests/README.md")]
GUIDES += sorted([*(ROOT / "deploy/docs").rglob("*.md"), *(ROOT / "proto").rglob("*.md")])
SENTENCE_WORDS_MAX, SENTENCE_WORDS_MEAN_MAX = 40, 18
RUNBOOKS = ROOT / "deploy/docs/runbooks"
DIAGRAMS = {"flowchart", "sequenceDiagram", "stateDiagram-v2"}
OPENING = re.compile(r"^ *(?:subgraph|alt|break|critical|loop|opt|par|rect)\b", re.MULTILINE)
# A label such as `a[text (more)]`, which needs quotes. With a parenthesis at its start it is a shape: `a[(text)]`.
UNQUOTED = re.compile(r"""\w(?:\[(?!["(\[])[^]\n]*[()] | \{(?!["{])[^}\n]*[()] | \((?!["(\[])[^)\n]*\()
                          | \|(?!")[^|\n]*[()]""", re.VERBOSE)


def test_the_guide_lists_the_settings_that_the_server_lists() -> None:
    listing = subprocess.run([LATCHKEYD, "--list-settings"], capture_output=True, text=True, check=True).stdout
    assert len(settings_table.parse(listing)) == listing.count("\n") / 2
    guide = settings_table.GUIDE.read_text()
    assert settings_table.replaced(guide, listing) == guide


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: str(guide.relative_to(ROOT)))
def test_each_link_of_a_guide_leads_to_a_file_and_a_heading(guide: Path) -> None:
    text = re.sub(r"```.*?```", "", guide.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]*(?:#[^)\s]*)?)\)", text):
        if target.startswith("https://"):
            continue
        place, _, heading = target.partition("#")
        file = (guide.parent / place).resolve() if place else guide
        assert file.exists(), target
        if heading:
            assert heading in headings(file), target


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: str(guide.relative_to(ROOT)))
def test_the_sentences_of_a_guide_are_short(guide: Path) -> None:
    found = sentences(guide.read_text())
    longest = max(found, key=lambda sentence: len(sentence.split()))
    assert len(longest.split()) <= SENTENCE_WORDS_MAX, longest
    assert sum(len(sentence.split()) for sentence in found) / len(found) <= SENTENCE_WORDS_MEAN_MAX


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: str(guide.relative_to(ROOT)))
def test_the_diagrams_of_a_guide_are_valid(guide: Path) -> None:
    for diagram in re.findall(r"^ *```mermaid\n(.*?)^ *```$", guide.read_text(), re.MULTILINE | re.DOTALL):
        kind = diagram.split()[0]
        assert kind in DIAGRAMS
        assert len(OPENING.findall(diagram)) == len(re.findall(r"^ *end$", diagram, re.MULTILINE)), diagram
        if kind == "flowchart":
            assert not UNQUOTED.search(diagram), diagram


def test_the_guide_to_errors_lists_each_reason_once() -> None:
    stated = re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "proto/ERRORS.md").read_text(), re.MULTILINE)
    guide = (ROOT / "proto/guides/errors.md").read_text()
    table = guide.partition("## What to do about each reason\n\n")[2].partition("\n\n")[0]
    reasons = "".join(row.rpartition(" | ")[2] for row in table.splitlines())
    assert sorted(re.findall(r"`([A-Z_]+)`", reasons)) == sorted(stated)


def test_the_overview_of_the_services_lists_every_call() -> None:
    rows = re.findall(r"^\| \[(\w+)\]\(latchkey/v1/(\w+\.proto)\) \| ([\w, ]+) \|",
                      (ROOT / "proto/README.md").read_text(), re.MULTILINE)
    for service, file, calls in rows:
        text = (ROOT / "proto/latchkey/v1" / file).read_text()
        assert re.findall(r"^service (\w+)", text, re.MULTILINE) == [service]
        assert set(calls.split(", ")) == set(re.findall(r"^  rpc (\w+)", text, re.MULTILINE)), service
    protos = (ROOT / "proto/latchkey/v1").glob("*.proto")
    assert {file for _, file, _ in rows} == {path.name for path in protos if "\nservice " in path.read_text()}


def sentences(text: str) -> list[str]:
    """The sentences of paragraphs and list items, without code, tables, headings and what a program writes. A colon
    does not end a sentence."""
    text = re.sub(r"```.*?```|<!--[^>]* from here -->.*?<!-- to here -->|<!--.*?-->", "", text, flags=re.DOTALL)
    lines = ["" if re.match(r"\s*(?:[|#!]|\[)", line) else re.sub(r"^\s*(?:[-*]|\d+\.) ", "\n", line)
             for line in text.splitlines()]
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines))
    found = [each for paragraph in paragraphs for each in re.split(r"(?<=[.?!])\s+", paragraph.strip())]
    return [each for each in found if each]


def headings(file: Path) -> set[str]:
    """The anchors of a page, as a code host makes them."""
    titles = re.findall(r"^#+ (.+)$", file.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_runbook_is_in_the_index() -> None:
    index = (RUNBOOKS / "README.md").read_text()
    assert set(re.findall(r"\]\(([\w-]+)\.md\)", index)) == {page.stem for page in RUNBOOKS.glob("*.md")} - {"README"}


def test_every_runbook_has_the_same_parts() -> None:
    for page in RUNBOOKS.glob("*.md"):
        if page.name != "README.md":
            assert re.findall(r"^## (.+)$", page.read_text(), re.MULTILINE) == ["Symptom", "Check", "Fix", "Prevention"]
