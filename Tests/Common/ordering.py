"""The order of a suite's files when several processes run them."""

from __future__ import annotations

import pytest


def put_first(items: list[pytest.Item], *files: str) -> None:
    """Puts the tests of these files first, in this order. They take longest: otherwise one process would still work on
    them when the others are done."""
    items.sort(key=lambda item: files.index(item.path.stem) if item.path.stem in files else len(files))
