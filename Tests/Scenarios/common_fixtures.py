"""Common fixtures of all suites with servers and providers. Each conftest imports them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from processes import Simulator, prepare


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(tmp_path_factory.mktemp("latchkey"))


@pytest.fixture(scope="session")
def simulator(folder: Path) -> Iterator[Simulator]:
    running = Simulator.start(folder)
    yield running
    running.stop()
