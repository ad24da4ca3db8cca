"""Complete histories in files, so that one without an explanation can be checked again with another model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from linear import Operation
from model import Answer, Call


def keep(path: Path, history: Iterable[Operation]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(asdict(each), default=sorted) + "\n" for each in history))


def read(path: Path) -> list[Operation]:
    return [operation(json.loads(line)) for line in path.read_text().splitlines()]


def operation(fields: dict[str, Any]) -> Operation:
    answer = fields["answer"]
    if answer is not None:
        answer = Answer(**answer | {"providers": frozenset(answer["providers"])})
    return Operation(**fields | {"call": Call(**fields["call"]), "answer": answer})
