"""An honest client in a process of its own: it calls at a steady pace and tells how long each answer took.

`honest.py PORT` reads lines from standard input, each a number of seconds; for so long it calls Health.Check and
FetchProviders in turn on one connection, then it prints the latencies in milliseconds as JSON. The calls begin at their
appointed times and are measured from there, so that a stall is counted as often as it was met.
"""

from __future__ import annotations

import json
import sys
import time

from raw import CHECK, Connection, message, request

FETCH = "/latchkey.v1.AuthService/FetchProviders"
CALLS = [(request(CHECK), message()), (request(FETCH), message(b"\x0a\x0fa@example.com.uk"))]
PACE_SECONDS = 0.003


def measure(connection: Connection, seconds: float) -> list[float]:
    latencies = []
    due = time.monotonic()
    end = due + seconds
    while due < end:
        time.sleep(max(0.0, due - time.monotonic()))
        fields, body = CALLS[len(latencies) % len(CALLS)]
        reply = connection.call(fields, body)
        assert reply.status == 0, f"an honest call was answered {reply}"
        latencies.append((time.monotonic() - due) * 1000)
        due += PACE_SECONDS
    return latencies


def main(port: int) -> None:
    with Connection(port, source="127.0.0.2") as connection:
        measure(connection, 0.2)
        for line in sys.stdin:
            print(json.dumps(measure(connection, float(line))), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
