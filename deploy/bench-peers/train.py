"""The load under which a server counts its branches. deploy/profile runs it.

Each call runs for the same time, so that fast calls do not count for more.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from latchkey_load import Shape
from stand import LATCHKEY, Options, Stand

# Hashing takes one password at a time, and a full queue rejects calls.
FEW = Shape(connections=1, streams=4)
ACCOUNTS = 100_000


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--home", "--latchkeyd", "--latchkey-load"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--seconds", type=int, required=True)
    given = parser.parse_args()
    stand = Stand(Options(given.home, given.latchkeyd, given.latchkey_load, ACCOUNTS, 1, given.seconds, 0, 1))
    try:
        server = stand.server(LATCHKEY)
        workloads: dict[str, list[str]] = {
            "health": [],
            "fetch": ["--addresses", stand.addresses],
            "sign-in-id-token": stand.people.options_for_tokens(),
            "sign-in-password": stand.people.options_for_passwords(),
            "sign-in-anonymous": [],
            "refresh": ["--prepare", "256"],
            "get": ["--prepare", "256"],
            "verify": ["--prepare", "256"],
            "update": ["--prepare", "256"],
        }
        for workload, options in workloads.items():
            shape = FEW if "password" in workload else Shape()
            rate = stand.load.throughput(server, workload, given.seconds, options, shape)
            stand.tell(f"  {workload}: {rate.per_second:,.0f} calls a second")
    finally:
        stand.stop()


if __name__ == "__main__":
    main()
