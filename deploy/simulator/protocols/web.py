"""Requests and answers as values, so that a provider is a set of functions from one to the other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlsplit

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Request:
    method: str
    # Scheme, host and port of this server, independent of the Host field.
    base: str
    # Path and query as received: an OAuth 1.0a signature covers them.
    target: str
    headers: Mapping[str, str]
    body: bytes = b""
    # The fault of the endpoint; see `faults`.
    fault: str = "well"

    @property
    def url(self) -> str:
        return self.base + self.target

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> Pairs:
        return parse_qsl(urlsplit(self.target).query, keep_blank_values=True)

    @property
    def form(self) -> Pairs:
        if not self.header("Content-Type").startswith(FORM):
            return []
        return parse_qsl(self.body.decode(), keep_blank_values=True)

    def header(self, name: str) -> str:
        """The value, independent of the name's case (RFC 9110 section 5.1)."""
        return next((value for key, value in self.headers.items() if key.lower() == name.lower()), "")

    def value(self, name: str) -> str:
        """The first value of that name in the query or the form; empty if there is none."""
        return next((value for key, value in [*self.query, *self.form] if key == name), "")


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    # Number of spaces before the last byte of the body.
    padding_bytes: int = 0


class Refusal(Exception):
    """Ends a request with this answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


def json_answer(value: object, status: int = 200, **headers: str) -> Answer:
    fields = {name.replace("_", "-"): text for name, text in headers.items()}
    return Answer(status, json.dumps(value).encode(), JSON, {"Cache-Control": "no-store", **fields})


def form_answer(values: Mapping[str, object], status: int = 200) -> Answer:
    return Answer(status, urlencode({k: str(v) for k, v in values.items()}).encode(), FORM,
                  {"Cache-Control": "no-store"})


def html_answer(text: str, status: int = 200) -> Answer:
    return Answer(status, text.encode(), "text/html; charset=utf-8", {"Cache-Control": "no-store"})


def redirect_answer(location: str) -> Answer:
    return Answer(302, b"", "text/plain", {"Location": location, "Cache-Control": "no-store"})
