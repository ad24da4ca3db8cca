"""A provider as the server sees it: named endpoints, which the request log counts and `behave` makes fail."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from issuers import Issuer

from . import pages
from .applications import LANDING_PATH, REDIRECT_URIS, Application, registered
from .ledger import Ledger, Record
from .people import People, Person, from_form
from .web import Answer, Refusal, Request

Handler = Callable[..., Answer]


@dataclass(frozen=True)
class World:
    """One simulator folder, and the server that uses it."""

    folder: Path
    base: str
    redirect_uris: tuple[str, ...] = ()
    ledger: Ledger = field(init=False)
    people: People = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ledger", Ledger(self.folder))
        object.__setattr__(self, "people", People(self.ledger))


class Route:
    """`{name}` in a path matches one segment, which the handler receives under that name."""

    def __init__(self, methods: str, path: str, endpoint: str, handler: Handler) -> None:
        self.methods = methods.split()
        self.path = path
        self.pattern = re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path)))
        self.endpoint = endpoint
        self.handler = handler


class Provider:
    """Subclasses add their routes and the user's profile."""

    def __init__(self, issuer: Issuer, world: World) -> None:
        self.issuer = issuer
        self.world = world
        self.ledger = world.ledger
        self.applications = registered(issuer, self.allowed_redirect_uris())

    @property
    def name(self) -> str:
        return self.issuer.name

    def allowed_redirect_uris(self) -> tuple[str, ...]:
        return (*REDIRECT_URIS, self.world.base + LANDING_PATH, *self.world.redirect_uris)

    def routes(self) -> list[Route]:
        raise NotImplementedError

    def find(self, path: str) -> tuple[Route, dict[str, str]] | None:
        """The route of a path below the provider's own, with the values of its placeholders."""
        for route in self.routes():
            if match := route.pattern.fullmatch(path):
                return route, match.groupdict()
        return None

    def endpoints(self) -> list[str]:
        return list(dict.fromkeys(route.endpoint for route in self.routes()))

    # Users and their tokens.

    def subject(self, person: Person, client_id: str) -> str:
        """The user's subject at this provider; for some providers it depends on the application."""
        raise NotImplementedError

    def issue(self, person: Person, client_id: str, scopes: list[str]) -> Record:
        """An access token without a flow, like one from the provider's token endpoint."""
        raise NotImplementedError

    def note_revocation(self, token: str) -> None:
        """Writes one line to `revocations.log`: the provider and the SHA-256 of the token in hexadecimal."""
        with (self.world.folder / "revocations.log").open("a") as log:
            log.write(f"{self.name} {hashlib.sha256(token.encode()).hexdigest()}\n")

    def application(self, whose: str) -> Application:
        """`ours` or `another`."""
        ours, another = self.applications.values()
        return {"ours": ours, "another": another}[whose]

    def other_application(self, client_id: str) -> str:
        """Any other application: the one that a wrong audience names."""
        return next(each for each in self.applications if each != client_id)

    def chosen_person(self, request: Request) -> Person:
        """The user that the login page's form names: a known one, or the fields of a new or changed one."""
        form = dict(request.form)
        try:
            if form.get("person"):
                return self.world.people.find(form["person"])
            return self.world.people.save(from_form(form))
        except (LookupError, ValueError, TypeError) as problem:
            raise Refusal(pages.refusal(self.name, f"The login failed: {problem}.")) from None
