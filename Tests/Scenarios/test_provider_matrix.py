"""Every provider through every use of its credential, with its own pages and with the tokens of its own SDK.

A row of the matrix is a provider with pages or with its SDK, a column is a use. If the protocol cannot prove the
audience of a token, the cell is `refused`, and there is nothing to unlink or to complete: `none`. The matrix is printed
at the end of the run, and is in .build/reports/provider-matrix.txt.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import latchkey_settings
import pytest
from clients import Client, conflict, fresh_email, password, provider_ids, session
from configuration import Settings, callers
from failures import expect_failure
from grpc import StatusCode
from kits import Bring, with_access_token, with_id_token, with_nonce, with_token_and_secret
from latchkey.v1 import admin_service_pb2 as admin
from latchkey.v1 import types_pb2 as types
from matrix import MATRIX
from processes import Server, Simulator
from protocols.people import Person
from providers.microsoft import object_id

UNVERIFIABLE = (StatusCode.UNAUTHENTICATED, "AUDIENCE_UNVERIFIABLE")


@dataclass(frozen=True)
class Row:
    """One provider, with its pages if `kit` is empty, otherwise with the token of its SDK."""

    provider_id: str
    route: str
    kit: Bring | None = None
    refused: bool = False
    # X can be configured for either of its protocols, which takes two servers.
    server: str = "usual"

    @property
    def title(self) -> str:
        return f"{self.provider_id} by {self.route}"


PAGES = ("twitter.com", "github.com", "google.com", "facebook.com", "yahoo.com", "apple.com", "microsoft.com",
         "linkedin.com", "discord.com", "oidc.corp", "oauth2.plain")
ROWS = [
    *(Row(provider_id, "flow") for provider_id in PAGES),
    Row("twitter.com", "flow (OAuth 2)", server="x_oauth2"),
    Row("twitter.com", "token and secret", with_token_and_secret),
    *(Row(provider_id, "ID token", with_id_token)
      for provider_id in ("google.com", "microsoft.com", "linkedin.com", "oidc.corp")),
    *(Row(provider_id, "ID token with nonce", with_nonce) for provider_id in ("apple.com", "facebook.com")),
    *(Row(provider_id, "access token", with_access_token)
      for provider_id in ("github.com", "google.com", "facebook.com", "discord.com")),
    *(Row(provider_id, "access token", with_access_token, refused=True)
      for provider_id in ("yahoo.com", "microsoft.com", "linkedin.com", "apple.com", "oidc.corp", "oauth2.plain")),
    Row("twitter.com", "access token (OAuth 2)", with_access_token, refused=True, server="x_oauth2"),
    Row("yahoo.com", "ID token", with_id_token, refused=True),
]
WORKING = [row for row in ROWS if not row.refused]
REFUSED = [row for row in ROWS if row.refused]
by_title = {"ids": lambda row: row.title}


@pytest.fixture(scope="module")
def servers(folder: Path, simulator: Simulator) -> Iterator[dict[str, Server]]:
    """A server with every provider, and one whose X uses OAuth 2.0."""
    uris = latchkey_settings.redirect_uris(simulator.base)
    allowed: list[Settings] = [{**each, "redirect_uris": uris} if each["name"] == "web" else each for each in callers()]
    configured = {"usual": latchkey_settings.providers(simulator.base),
                  "x_oauth2": [latchkey_settings.x_oauth2(simulator.base, "simulator")]}
    servers = {name: Server.start(folder, simulator, callers=allowed, providers=settings)
               for name, settings in configured.items()}
    yield servers
    for server in servers.values():
        server.stop()


@pytest.fixture(scope="module")
def clients(servers: dict[str, Server]) -> Iterator[dict[tuple[str, str], Client]]:
    """Clients by server and key."""
    clients = {(name, key): Client(server, key=key) for name, server in servers.items() for key in ("web", "admin")}
    yield clients
    for client in clients.values():
        client.close()


@dataclass(frozen=True)
class Route:
    """A row with its server, client and simulator."""

    row: Row
    client: Client
    administrator: Client
    simulator: Simulator

    def bring(self, person: Person, purpose: int = types.PROOF_PURPOSE_SIGN_IN, id_token: str = "") -> types.Credential:
        if self.row.kit is not None:
            return self.row.kit(self.simulator, self.row.provider_id, person)
        started = self.client.start_flow(
            self.row.provider_id, latchkey_settings.REDIRECT_URIS[0], purpose=purpose, id_token=id_token)
        callback = self.simulator.walk(started.authorization_url, person)
        return types.Credential(authorization_response=types.AuthorizationResponse(
            flow_id=started.flow_id, callback_uri=callback))

    def sign_in(self, person: Person, **fields: Any) -> Any:
        return self.client.sign_in(self.bring(person), **fields)


@pytest.fixture
def route(row: Row, clients: dict[tuple[str, str], Client], simulator: Simulator) -> Route:
    return Route(row, clients[row.server, "web"], clients[row.server, "admin"], simulator)


@pytest.fixture
def somebody(simulator: Simulator) -> Person:
    return simulator.person(name="Ada Lovelace", email=fresh_email(), email_verified=True)


@pytest.mark.parametrize("row", WORKING, **by_title)
def test_a_new_user_gets_an_account_and_finds_it_again(route: Route, somebody: Person) -> None:
    with MATRIX.cell(route.row.title, "sign in, new"):
        made = session(route.sign_in(somebody))
        assert made.is_new_account
        assert made.account.providers[0].subject == subject(route, somebody)
        assert json.loads(made.additional_user_info.profile_json)
        shown = made.provider_credential
        assert shown.provider_id == route.row.provider_id and (shown.access_token or shown.id_token)
        assert bool(shown.secret) == (route.row.provider_id == "twitter.com" and route.row.server == "usual")
        if route.row.kit is with_access_token:
            assert shown.granted_scopes
            assert (shown.expires_in.seconds > 0) == (route.row.provider_id in ("google.com", "facebook.com"))
    with MATRIX.cell(route.row.title, "sign in, again"):
        changed = replace(somebody, name="Countess Lovelace", email="")
        again = session(route.sign_in(changed))
        assert not again.is_new_account and again.account.account_id == made.account.account_id


@pytest.mark.parametrize("row", WORKING, **by_title)
def test_a_user_that_another_service_knew_by_the_provider_is_recognized(route: Route, somebody: Person) -> None:
    account = admin.ImportedAccount(account_id=f"of-{somebody.username}", email=somebody.email)
    account.providers.add(provider_id=route.row.provider_id, subject=exported(route, somebody), email=somebody.email)
    with MATRIX.cell(route.row.title, "import"):
        [answer] = route.administrator.import_accounts([[account]])
        assert answer.imported == 1 and not answer.errors
        again = session(route.sign_in(somebody))
        assert not again.is_new_account and again.account.account_id == account.account_id


@pytest.mark.parametrize("row", WORKING, **by_title)
def test_an_account_with_a_password_links_reauthenticates_and_unlinks(route: Route, somebody: Person) -> None:
    client, provider_id = route.client, route.row.provider_id
    made = client.create(fresh_email())
    with MATRIX.cell(route.row.title, "link"):
        linked = session(client.link(made.id_token, route.bring(somebody, types.PROOF_PURPOSE_LINK, made.id_token)))
        assert linked.account.account_id == made.account.account_id
        assert provider_id in provider_ids(linked.account)
    with MATRIX.cell(route.row.title, "reauthenticate"):
        proof = route.bring(somebody, types.PROOF_PURPOSE_REAUTHENTICATE, linked.id_token)
        reauthenticated = client.reauthenticate(linked.id_token, proof)
        assert reauthenticated.account.account_id == made.account.account_id
    with MATRIX.cell(route.row.title, "unlink"):
        left = client.unlink(reauthenticated.id_token, provider_id)
        assert provider_id not in provider_ids(left.account)
        assert session(route.sign_in(somebody)).account.account_id != made.account.account_id


@pytest.mark.parametrize("row", WORKING, **by_title)
def test_an_address_of_another_account_is_a_conflict_until_it_is_completed(route: Route, somebody: Person) -> None:
    made = route.client.create(somebody.email)
    with MATRIX.cell(route.row.title, "conflict"):
        exists = conflict(route.sign_in(somebody))
        assert exists.email == somebody.email and exists.pending_token
    with MATRIX.cell(route.row.title, "completion"):
        known = password(somebody.email)
        done = session(route.client.sign_in(known, pending_token=exists.pending_token))
        assert done.account.account_id == made.account.account_id
        assert session(route.sign_in(somebody)).account.account_id == made.account.account_id


@pytest.mark.parametrize("row", REFUSED, **by_title)
def test_a_token_without_a_provable_audience_is_rejected_with_a_hint(route: Route, somebody: Person) -> None:
    client = route.client
    known = replace(somebody, username=f"{somebody.username}-known", email=fresh_email())
    owner = client.create(fresh_email())
    pages = replace(route, row=replace(route.row, kit=None))
    linked = session(client.link(owner.id_token, pages.bring(known, types.PROOF_PURPOSE_LINK, owner.id_token)))
    uses: dict[str, Callable[[], object]] = {
        "sign in, new": lambda: route.sign_in(somebody),
        "sign in, again": lambda: route.sign_in(known),
        "link": lambda: client.link(linked.id_token, route.bring(somebody)),
        "reauthenticate": lambda: client.reauthenticate(linked.id_token, route.bring(known)),
        "conflict": lambda: route.sign_in(replace(somebody, email=owner.account.email)),
    }
    for use, act in uses.items():
        with MATRIX.cell(route.row.title, use, "refused"), expect_failure(*UNVERIFIABLE) as refusal:
            act()
        assert "StartFlow" in refusal.text or "ID token" in refusal.text
    for use in ("unlink", "completion", "import"):
        with MATRIX.cell(route.row.title, use, "none"):
            assert client.get(linked.id_token).providers == linked.account.providers


def subject(route: Route, person: Person) -> str:
    """Microsoft's is the directory and the object in it, every other provider's is the subject of the protocol."""
    if route.row.provider_id != "microsoft.com":
        return route.simulator.subject(route.row.provider_id, person)
    return f"{person.tenant}.{object_id(person)}"


def exported(route: Route, person: Person) -> str:
    """Firebase's id of the user; for Microsoft, the id of Graph."""
    if route.row.provider_id != "microsoft.com":
        return subject(route, person)
    return object_id(person).replace("-", "")[16:]
