"""Reads the metrics of a server as Prometheus would, with the parser of its own client library."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families
from processes import Server

ON_A_FREE_PORT = {"address": "127.0.0.1", "port": 0}


def address(server: Server) -> tuple[str, int]:
    """The address of the metrics, from the log."""
    lines = [line["address"] for line in server.lines() if line["message"] == "metrics"]
    assert lines, "the metrics are not served"
    host, port = lines[-1].rsplit(":", 1)
    return host, int(port)


@dataclass
class Scrape:
    text: str
    samples: dict[tuple[str, frozenset[tuple[str, str]]], float]

    @classmethod
    def of(cls, server: Server) -> Scrape:
        with urllib.request.urlopen("http://%s:%d/metrics" % address(server), timeout=60) as answer:
            text = answer.read().decode()
        samples: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                key = (sample.name, frozenset(sample.labels.items()))
                assert key not in samples, f"{key} is there twice"
                samples[key] = sample.value
        return cls(text, samples)

    def __call__(self, name: str, **labels: str) -> float:
        """The value; 0 for a series that does not exist."""
        return self.samples.get((name, frozenset(labels.items())), 0)

    def sum(self, name: str, **labels: str) -> float:
        return sum(value for (each, has), value in self.samples.items() if each == name and labels.items() <= set(has))

    def kinds(self) -> dict[str, str]:
        words = [line.split() for line in self.text.splitlines() if line.startswith("# TYPE ")]
        return {name: kind for _, _, name, kind in words}


def eventually(server: Server, what: Callable[[Scrape], bool], seconds: float = 60) -> Scrape:
    """Waits for metrics that are counted after the client has received its answer."""
    deadline = time.monotonic() + seconds
    while True:
        seen = Scrape.of(server)
        if what(seen) or time.monotonic() > deadline:
            assert what(seen), seen.text
            return seen
        time.sleep(0.02)
