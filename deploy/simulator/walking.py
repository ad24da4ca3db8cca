"""Goes through a provider's authorization pages without a browser, as any test user.

`walk` fetches the page, posts its form, and returns the callback URI to which a browser would be redirected, without
fetching it. A form that the browser would post becomes the URI's query.
"""

from __future__ import annotations

import http.client
import ssl
from html.parser import HTMLParser
from urllib.parse import urlencode, urlsplit

from protocols.people import Person
from protocols.web import FORM

TIMEOUT_SECONDS = 20


class NoCallback(Exception):
    """The provider showed an error page; its text is the reason."""


def walk(authorization_url: str, person: Person, trust: ssl.SSLContext, *, deny: bool = False,
         declined: tuple[str, ...] = ()) -> str:
    """`declined` are the scopes that the user does not grant."""
    status, location, page = _ask("GET", authorization_url, b"", trust)
    if status != 200:
        return _callback(status, location, page)
    form = [*person.form().items(), *(("declined", scope) for scope in declined),
            ("decision", "deny" if deny else "allow")]
    return _callback(*_ask("POST", authorization_url, urlencode(form).encode(), trust))


def _ask(method: str, url: str, body: bytes, trust: ssl.SSLContext) -> tuple[int, str, str]:
    parts = urlsplit(url)
    connection = http.client.HTTPSConnection(parts.netloc, timeout=TIMEOUT_SECONDS, context=trust)
    try:
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, body, {"Content-Type": FORM} if method == "POST" else {})
        answer = connection.getresponse()
        return answer.status, answer.getheader("Location", ""), answer.read().decode()
    finally:
        connection.close()


def _callback(status: int, location: str, page: str) -> str:
    if status == 302:
        return location
    reader = _Page()
    reader.feed(page)
    if status == 200 and reader.hidden:
        return f"{reader.action}?{urlencode(reader.hidden)}"
    raise NoCallback(f"the provider answered {status}: {' '.join(reader.words)}")


class _Page(HTMLParser):
    """The target of the page's form, its hidden fields, and the text to show if there is none."""

    def __init__(self) -> None:
        super().__init__()
        self.action = ""
        self.hidden: list[tuple[str, str]] = []
        self.words: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attributes}
        self._in_style = tag in ("style", "script")
        if tag == "form":
            self.action = said.get("action", "")
        elif tag == "input" and said.get("type") == "hidden":
            self.hidden.append((said["name"], said["value"]))

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if data.strip() and not self._in_style:
            self.words.append(data.strip())
