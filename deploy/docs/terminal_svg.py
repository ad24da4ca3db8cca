"""Draws the output of a command as a terminal window: terminal_svg.py "COMMAND" < OUTPUT > FILE.svg"""

from __future__ import annotations

import sys
from html import escape

WIDTH, LINE, LEFT, TOP, FONT = 980, 21, 20, 62, 14


def drawn(command: str, output: str) -> str:
    lines = [f"$ {command}", *output.rstrip("\n").split("\n")]
    height = TOP + LINE * len(lines)
    texts = "\n".join(
        f'  <text x="{LEFT}" y="{TOP + LINE * index}" fill="{"#7ee787" if index == 0 else "#e6edf3"}"'
        f' xml:space="preserve">{escape(line)}</text>'
        for index, line in enumerate(lines))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" role="img"
  font-family="ui-monospace, Menlo, Consolas, monospace" font-size="{FONT}">
  <title>{escape(command)}</title>
  <rect width="{WIDTH}" height="{height}" rx="8" fill="#0d1117"/>
  <circle cx="22" cy="20" r="6" fill="#ff5f57"/><circle cx="42" cy="20" r="6" fill="#febc2e"/>
  <circle cx="62" cy="20" r="6" fill="#28c840"/>
{texts}
</svg>
"""


if __name__ == "__main__":
    print(drawn(sys.argv[1], sys.stdin.read()), end="")
