"""Starts servers whose parts can be made to fail (see faults.py), or that can be killed.

The tests try every n-th failure, where n is LATCHKEY_FAULTS_STEP. By default each suite uses a step that keeps it
short; 1 tries every failure.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import surroundings  # noqa: F401

from common_fixtures import folder, simulator  # noqa: F401
from configuration import Settings
from faults import Faults, build
from ordering import put_first
from patient import Patient
from postgres import Database
from processes import Server, Simulator
from skipping import skipping


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    put_first(items, "test_postgres", "test_disk", "test_histories", "test_master_keys", "test_shared_transactions",
              "test_kills", "test_memory", "test_database_connections", "test_drills")


def step(short: int) -> int:
    """The distance between the failures that a test tries; `short` is the default."""
    return int(os.environ.get("LATCHKEY_FAULTS_STEP", short))


@pytest.fixture(scope="session")
def shared_object(folder: Path) -> Path:
    return build(folder)


@pytest.fixture
def faults(folder: Path, shared_object: Path) -> Faults:
    return Faults(folder, shared_object)


@pytest.fixture
def serve(folder: Path, simulator: Simulator) -> Iterator[Callable[..., Server]]:
    """Starts servers, each with its own database, and stops them after the test."""
    running: list[Server] = []

    def start(faults: Faults | None = None, **overrides: Settings) -> Server:
        environment = faults.environment if faults else None
        running.append(Server.start(folder, simulator, environment, **overrides))
        return running[-1]

    yield start
    for each in running:
        each.stop()


@pytest.fixture
def database() -> Iterator[Database]:
    with contextlib.ExitStack() as stack:
        with skipping():
            running = stack.enter_context(Database.started())
        yield running


@pytest.fixture
def patient(serve: Callable[..., Server], faults: Faults, simulator: Simulator) -> Iterator[Patient]:
    """One reactor and one hashing thread, so that passages come in nearly the same order each time."""
    server = serve(faults, reactors=1, passwords={"workers": 1})
    one = Patient(server, faults, simulator)
    yield one
    print(f"{dict(one.outcomes)}")
