"""Changes of the configuration of a running server."""

from __future__ import annotations

import signal
from typing import Any

from configuration import Settings
from processes import Server, write
from waiting import until


def change(server: Server, **sections: Settings | list[Any]) -> Settings:
    """Changes single settings of these sections in the file, sends SIGHUP, and returns the line of the log about it."""
    for section, values in sections.items():
        old = server.settings.get(section)
        server.settings[section] = {**old, **values} if isinstance(old, dict) and isinstance(values, dict) else values
    write(server)
    return hang_up(server)


def hang_up(server: Server) -> Settings:
    begun = server.log.stat().st_size
    server.signal(signal.SIGHUP)
    return line_after(server, begun)


def line_after(server: Server, begun: int, seconds: float = 60) -> Settings:
    def lines() -> list[Settings]:
        return [line for line in server.lines(begun) if line["message"].startswith("configuration ")]
    until(lines, seconds, "the log has no line about the configuration")
    [line] = lines()
    return line


def names(line: Settings, field: str = "changed") -> set[str]:
    assert line["message"] == "configuration reloaded", line
    return set(line.get(field, "").split(", ")) - {""}
