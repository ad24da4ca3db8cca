"""Scripts of pgbench with the statements that the server was seen to send, so that both send the same."""

from __future__ import annotations

import re

from database import Trip
from servers import Unmeasurable

DIGEST = "ab" * 32
SESSION = "('bench' || :s)"
NOW = "1700000000000"
# The parameters of each statement in pgbench's script. The digest of a session is the same before and after pgbench
# refreshes it.
PARAMETERS: dict[str, tuple[str, ...]] = {
    "begin_reading": (), "begin_writing": (), "commit": (), "without_time_limit": (),
    "ways_in_by_linked_email": ("('person' || :n || '@example.com')",),
    "session": (SESSION,), "account_by_session": (SESSION,), "hanging_by_session": (SESSION,),
    "confirm_account": ("left(md5((:s)::text), 28)", "1"),
    "note_change": ("(int8send(:a) || int8send(:b))", NOW),
    "rotate_session": (SESSION, "decode(:digest, 'hex')", "decode(:digest, 'hex')", NOW, "1900000000000", "21990"),
}


def script(head: str, trips: list[Trip]) -> str:
    """Writes each trip as one pipeline, as the server sends it."""
    lines = [head]
    for trip in trips:
        lines += ["\\startpipeline", *(f"{filled(*statement)};" for statement in trip), "\\endpipeline"]
    return "\n".join(lines) + "\n"


def filled(name: str, text: str) -> str:
    values = PARAMETERS.get(name)
    numbers = {int(number) for number in re.findall(r"\$(\d+)", text)}
    if values is None or numbers != set(range(1, len(values) + 1)):
        raise Unmeasurable(f"the statement {name}, with {len(numbers)} parameters, is not known to pgbench's script")
    return " ".join(re.sub(r"\$(\d+)", lambda found: values[int(found[1]) - 1], text).split())
