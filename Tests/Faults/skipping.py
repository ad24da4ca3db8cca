"""Skips a test if the machine lacks something, such as a small disk or an installed program."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from postgres import Unavailable


@contextlib.contextmanager
def skipping() -> Iterator[None]:
    try:
        yield
    except Unavailable as reason:
        pytest.skip(str(reason))
