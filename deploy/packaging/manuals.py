"""Writes the manual pages of a program from its own help: one page for the program and one for each subcommand.

swift-argument-parser describes all commands and their options with --experimental-dump-help.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Manual:
    """The section, the version, and the day that all pages state."""

    section: int
    version: str
    day: str

    def page(self, path: list[str], command: dict[str, Any]) -> str:
        """The page of the command whose names from the program on are `path`."""
        title, commands = "-".join(path), subcommands(command)
        lines = [
            f'.TH {title.upper()} {self.section} {self.day} "Latchkey {self.version}"',
            ".SH NAME", rf"{escaped(title)} \- {escaped(command['abstract'].rstrip('.'))}",
            ".SH SYNOPSIS", *self.synopsis(path, command, bool(commands)),
        ]
        if command.get("discussion"):
            lines += [".SH DESCRIPTION", *prose(command["discussion"])]
        for heading, arguments in sections(command):
            lines += [f".SH {heading.upper()}"]
            for each in arguments:
                lines += [".TP", form(each), *description(each)]
        if commands:
            lines += [".SH COMMANDS"]
            for each in commands:
                reference = rf"\fB{escaped(title)}\-{escaped(each['commandName'])}\fR({self.section})"
                lines += [".TP", reference, escaped(each["abstract"])]
        elif len(path) > 1:
            lines += [".SH SEE ALSO", rf"\fB{escaped(path[0])}\fR({self.section})"]
        return "\n".join(lines) + "\n"

    def synopsis(self, path: list[str], command: dict[str, Any], is_group: bool) -> Iterator[str]:
        words = [form(each) if not each["isOptional"] else f"[{form(each)}]"
                 for each in command.get("arguments", []) if is_shown(each) and not is_common(each)]
        words += [r"\fICOMMAND\fR [\fIOPTION\fR...]"] if is_group else []
        yield rf"\fB{escaped(' '.join(path))}\fR"
        yield from words


def subcommands(command: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in command.get("subcommands", []) if each.get("shouldDisplay", True)
            and each["commandName"] != "help"]


def sections(command: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The arguments below their headings; those without one come first."""
    shown = [each for each in command.get("arguments", []) if is_shown(each)]
    for heading in dict.fromkeys(["", *(each.get("sectionTitle", "") for each in shown)]):
        found = [each for each in shown if each.get("sectionTitle", "") == heading]
        if found:
            yield heading or "Options", found


def is_shown(argument: dict[str, Any]) -> bool:
    return bool(argument.get("shouldDisplay", True))


def is_common(argument: dict[str, Any]) -> bool:
    return argument["valueName"] in {"help", "version"}


def form(argument: dict[str, Any]) -> str:
    """How to write an argument: `-h, --help`, `--server <host:port>` or `<file>`."""
    value = rf"\fI{escaped(argument['valueName'])}\fR"
    dots = "..." if argument["isRepeating"] else ""
    if argument["kind"] == "positional":
        return value + dots
    dashes = {"long": "--", "short": "-", "longWithSingleDash": "-"}
    names = ", ".join(rf"\fB{escaped(dashes[each['kind']] + each['name'])}\fR" for each in argument["names"])
    return names + ("" if argument["kind"] == "flag" else f" {value}") + dots


def description(argument: dict[str, Any]) -> list[str]:
    lines = [escaped(argument.get("abstract") or "No description.")]
    if argument.get("allValues"):
        lines.append(escaped(f"Values: {', '.join(argument['allValues'])}."))
    if argument.get("defaultValue"):
        lines.append(escaped(f"Default: {argument['defaultValue']}."))
    return lines


def prose(text: str) -> Iterator[str]:
    """Paragraphs are filled. Indented lines, and paragraphs of several lines such as examples, keep their lines."""
    for paragraph in text.split("\n\n"):
        lines = paragraph.split("\n")
        yield ".PP"
        if len(lines) == 1 and not lines[0].startswith(" "):
            yield escaped(lines[0])
            continue
        yield ".nf"
        yield from map(escaped, lines)
        yield ".fi"


def escaped(text: str) -> str:
    text = text.replace("\\", r"\e").replace("-", r"\-")
    # A line that begins with a dot or an apostrophe would be a request.
    return "\n".join(rf"\&{line}" if line.startswith((".", "'")) else line for line in text.split("\n"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--section", type=int, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--day", required=True, help="YYYY-MM-DD")
    parser.add_argument("--to", type=Path, required=True, help="folder of the pages")
    given = parser.parse_args()
    dumped = subprocess.run([given.program.resolve(), "--experimental-dump-help"], check=True, capture_output=True,
                            text=True).stdout
    manual = Manual(given.section, given.version, given.day)

    def write(path: list[str], command: dict[str, Any]) -> None:
        (given.to / f"{'-'.join(path)}.{given.section}").write_text(manual.page(path, command))
        for each in subcommands(command):
            write([*path, each["commandName"]], each)

    given.to.mkdir(parents=True, exist_ok=True)
    command = json.loads(dumped)["command"]
    write([command["commandName"]], command)


if __name__ == "__main__":
    main()
