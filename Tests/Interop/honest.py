"""An honest client in a process of its own. It calls at a steady pace and measures the latencies.

`honest.py PORT` reads lines from standard input, each a number of seconds. For that time it calls Health.Check and
FetchProviders in turn on one connection, then it prints the latencies in milliseconds as JSON.
"""

from __future__ import annotations

import json
import sys
import time

from raw import CHECK, DATA, END_STREAM, Connection, frame, message, request, window_update

FETCH = "/latchkey.v1.AuthService/FetchProviders"
CALLS = [(request(CHECK), message()), (request(FETCH), message(b"\x0a\x0da@example.com"))]
PAUSE_SECONDS = 0.001


def measure(connection: Connection, seconds: float) -> list[float]:
    latencies: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        fields, body = CALLS[len(latencies) % len(CALLS)]
        stream = connection.stream()
        call = connection.headers(stream, fields) + frame(DATA, END_STREAM, stream, body)
        begun = time.monotonic()
        connection.write(call)
        reply = connection.reply(stream)
        latencies.append((time.monotonic() - begun) * 1000)
        assert reply.status == 0, f"an honest call was answered {reply}"
        time.sleep(PAUSE_SECONDS)
    return latencies


def main(port: int) -> None:
    with Connection(port, source="127.0.0.2") as connection:
        # A window for more answers than it will ever get, so that it need not send updates.
        connection.write(window_update(0, 2**31 - 1 - 65535))
        measure(connection, 0.2)
        for line in sys.stdin:
            print(json.dumps(measure(connection, float(line))), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
