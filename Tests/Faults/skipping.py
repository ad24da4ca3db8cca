"""What a machine cannot have, such as a small disk or a program that is not installed, skips a test."""

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
