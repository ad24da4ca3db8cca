"""Writes signed_requests.jsonl: a thousand random requests of OAuth 1.0a, each signed by oauthlib.

    signed_requests.py > signed_requests.jsonl

The tests of Providers sign the same requests anew and compare; a test of the simulator's suite makes the file anew and
compares it with the committed one. The seed is fixed, so that the file changes only with this script or with oauthlib.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

from oauthlib.oauth1 import SIGNATURE_HMAC_SHA1, Client

COUNT = 1000
SEED = 5849

UNRESERVED = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
# Everything that an encoder could treat as something else: reserved and unwise ASCII, and UTF-8 of two to four bytes.
TRICKY = " !\"#$%&'()*+,/:;<=>?@[\\]^`{|}\t\n" + "äßñ€中文𝄞😀\u0301"
HOSTS = ["api.x.com", "API.X.com", "Example.COM", "photos.example.net", "127.0.0.1"]
PORTS = ["", "", "", ":80", ":443", ":8080", ":65535"]
SCHEMES = ["https", "http", "HTTPS", "Http"]


class Requests:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self, length_max: int, *, length_min: int = 0) -> str:
        letters = UNRESERVED if self.random.random() < 0.4 else UNRESERVED + TRICKY * 2
        return "".join(self.random.choices(letters, k=self.random.randint(length_min, length_max)))

    def token(self) -> str:
        return "".join(self.random.choices(UNRESERVED[:62], k=self.random.randint(8, 48)))

    def path(self) -> str:
        segments = [quote(self.text(12), safe="!$'()*,:@") for _ in range(self.random.randint(0, 4))]
        return "".join("/" + segment for segment in segments)

    def parameters(self) -> str:
        """A query or a form, with names that occur twice, empty values, and both spellings of a space."""
        names = [self.text(10, length_min=1) for _ in range(self.random.randint(1, 4))]
        pairs = []
        for _ in range(self.random.randint(1, 6)):
            name, value = self.encoded(self.random.choice(names)), self.encoded(self.text(20))
            pairs.append(name if not value and self.random.random() < 0.5 else f"{name}={value}")
        return "&".join(pairs)

    def encoded(self, text: str) -> str:
        return quote_plus(text) if self.random.random() < 0.5 else quote(text, safe="")

    def url(self) -> str:
        choose = self.random.choice
        url = f"{choose(SCHEMES)}://{choose(HOSTS)}{choose(PORTS)}{self.path()}"
        return url + "?" + self.parameters() if self.random.random() < 0.7 else url

    def request(self) -> dict[str, str]:
        method = self.random.choice(["GET", "POST", "PUT", "DELETE", "get", "Post"])
        has_token = self.random.random() < 0.7
        return {
            "method": method,
            "url": self.url(),
            "form": self.parameters() if method.upper() in ("POST", "PUT") and self.random.random() < 0.6 else "",
            "consumer_key": self.token(),
            "consumer_secret": self.text(40, length_min=1),
            "token": self.token() if has_token else "",
            "token_secret": self.text(40, length_min=1) if has_token else "",
            "callback": self.url() if self.random.random() < 0.2 else "",
            "verifier": self.text(20, length_min=1) if self.random.random() < 0.2 else "",
            "nonce": self.token(),
            "timestamp": str(self.random.randint(1, 4_000_000_000)),
        }


def signature(request: dict[str, str]) -> str:
    client = Client(
        request["consumer_key"], client_secret=request["consumer_secret"], resource_owner_key=request["token"] or None,
        resource_owner_secret=request["token_secret"] or None, callback_uri=request["callback"] or None,
        verifier=request["verifier"] or None, signature_method=SIGNATURE_HMAC_SHA1, nonce=request["nonce"],
        timestamp=request["timestamp"])
    headers = {"Content-Type": "application/x-www-form-urlencoded"} if request["form"] else {}
    _, signed, _ = client.sign(request["url"], request["method"].upper(), request["form"] or None, headers)
    found = re.search('oauth_signature="([^"]+)"', signed["Authorization"])
    assert found
    return found[1]


def lines() -> Iterator[str]:
    requests = Requests(SEED)
    for _ in range(COUNT):
        request = requests.request()
        yield json.dumps({**request, "signature": signature(request)}, ensure_ascii=False)


if __name__ == "__main__":
    for line in lines():
        print(line)
