"""Faults on demand, for each provider and endpoint.

A fault is a file that `behave` writes and each request reads, so that a test or a developer can change it while the
server runs. Transport faults replace or delay the answer. Providers implement protocol faults, whose name they find in
`Request.fault`. `alter` patches the JSON of any endpoint.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from issuers import write_atomically

from .web import JSON, Answer, json_answer

TRANSPORT = ("well", "hang", "slow", "reset", "error", "huge", "broken", "html", "redirect", "redirect-private",
             "error-in-200", "alter")
PROTOCOL = (
    # Tokens, or the answers of an endpoint that names a token's owner, name another application.
    "wrong-audience",
    # An ID token: signed with an unpublished key, with another at_hash, another or no nonce, or an old login.
    "rotated-keys", "wrong-at-hash", "wrong-nonce", "no-nonce", "stale-login",
    # A profile of another user.
    "other-subject",
    # The redirect: another or no issuer's name, another or no state.
    "iss-mix-up", "no-iss", "state-changed", "state-dropped",
    # OAuth 1.0a: oauth_callback_confirmed is false.
    "callback-not-confirmed",
)
NAMES = TRANSPORT + PROTOCOL
HUGE_BYTES = 50_000_000
SLOW_SECONDS = 2.0
PRIVATE_URL = "https://169.254.169.254/latest/meta-data/"


@dataclass(frozen=True)
class Fault:
    name: str = "well"
    # Replaces the real answer; for `alter`, a JSON merge patch (RFC 7396) of it.
    body: str = ""


def behave(folder: Path, issuer: str, endpoints: list[str], name: str, body: str = "") -> None:
    """Sets the fault of these endpoints of the issuer from now on."""
    for endpoint in endpoints:
        write_atomically(_path(folder, issuer, endpoint), json.dumps({"name": name, "body": body}))


def read(folder: Path, issuer: str, endpoint: str) -> Fault:
    try:
        return Fault(**json.loads(_path(folder, issuer, endpoint).read_text()))
    except FileNotFoundError:
        return Fault()


def _path(folder: Path, issuer: str, endpoint: str) -> Path:
    return folder / "behaviour" / f"{issuer}-{endpoint}.json"


def spoil(fault: Fault, answer: Answer, base: str) -> Answer:
    """Applies this fault to the answer. Without a fault the answer stays the same."""
    if fault.body and fault.name != "alter":
        answer = Answer(answer.status, fault.body.encode(), JSON, answer.headers)
    match fault.name:
        case "error":
            return json_answer({"error": "server_error"}, 500)
        case "error-in-200":
            return json_answer({"error": "server_error", "error_description": "Something went wrong."})
        case "huge":
            return replace(answer, padding_bytes=HUGE_BYTES)
        case "broken":
            return Answer(answer.status, answer.body[: len(answer.body) // 2], answer.content_type)
        case "html":
            return Answer(200, b"<!doctype html><title>Sign in</title>", "text/html")
        case "redirect":
            return Answer(302, b"", "text/plain", {"Location": base + "/elsewhere"})
        case "redirect-private":
            return Answer(302, b"", "text/plain", {"Location": PRIVATE_URL})
        case "alter":
            patched = merged(json.loads(answer.body), json.loads(fault.body))
            return Answer(answer.status, json.dumps(patched).encode(), answer.content_type, answer.headers)
    return answer


def merged(value: object, patch: object) -> object:
    """JSON Merge Patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for name, change in patch.items():
        if change is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), change)
    return result
