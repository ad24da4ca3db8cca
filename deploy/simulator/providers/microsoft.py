"""Microsoft Entra ID: tenants, each with its own issuer; addresses that a tenant's administrator can set."""

from __future__ import annotations

from typing import Any

from oauthlib.oauth2.rfc6749 import errors

import tokens
from protocols import pages
from protocols.ledger import Record
from protocols.oauth2 import Rules
from protocols.openid import OpenIDProvider
from protocols.people import CONSUMER_TENANT, Person, guid, letters
from protocols.provider import Route
from protocols.web import Answer, Refusal, Request, json_answer

TEMPLATE = "{tenantid}"
SCOPES = frozenset({"openid", "email", "profile", "offline_access", "User.Read"})
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def object_id(person: Person) -> str:
    """The oid of the user. Of a personal account's oid, Graph uses only the last sixteen digits as the id."""
    drawn = guid("microsoft", person.username)
    return f"00000000-0000-0000-{drawn[19:]}" if person.tenant == CONSUMER_TENANT else drawn


class Microsoft(OpenIDProvider):
    rules = Rules(scopes=SCOPES, expires_in=3600, refreshes=lambda grant: "offline_access" in grant["scopes"])

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/.well-known/openid-configuration", "discovery", self.tenant_discovery),
            Route("GET", "/jwks", "jwks", self.jwks),
            Route("GET", "/{tenant}/v2.0/.well-known/openid-configuration", "discovery", self.tenant_discovery),
            Route("GET", "/{tenant}/discovery/v2.0/keys", "jwks", self.jwks),
            Route("GET POST", "/{tenant}/oauth2/v2.0/authorize", "authorize", self.authorize_at),
            Route("POST", "/{tenant}/oauth2/v2.0/token", "token", self.token),
            Route("GET POST", "/oidc/userinfo", "userinfo", self.userinfo),
        ]

    def issuer_of(self, tenant: str) -> str:
        return self.issuer.url.replace(TEMPLATE, tenant)

    def tenant_discovery(self, request: Request, tenant: str = "common") -> Answer:
        """For several tenants, the issuer is a template, in discovery and in the comparison with a token's issuer."""
        named = {"common": TEMPLATE, "organizations": TEMPLATE, "consumers": CONSUMER_TENANT}.get(tenant, tenant)
        path = f"{self.issuer.path}/{tenant}"
        return json_answer(self.metadata() | {
            "issuer": self.issuer_of(named), "authorization_endpoint": path + "/oauth2/v2.0/authorize",
            "token_endpoint": path + "/oauth2/v2.0/token", "jwks_uri": path + "/discovery/v2.0/keys",
            "userinfo_endpoint": self.issuer.path + "/oidc/userinfo", "subject_types_supported": ["pairwise"],
            "tenant_region_scope": None}, Cache_Control="max-age=300")

    def authorize_at(self, request: Request, tenant: str) -> Answer:
        return self.authorize(request)

    def grant(self, person: Person, scopes: list[str], request: Request) -> Record:
        """A user of another kind of tenant cannot log in here."""
        tenant = request.path.split("/")[2]
        personal = person.tenant == CONSUMER_TENANT
        if tenant not in ("common", person.tenant, "consumers" if personal else "organizations"):
            raise Refusal(pages.refusal(self.name, f"AADSTS50020: this user does not exist in tenant {tenant}."))
        return super().grant(person, scopes, request)

    def check_authorization(self, request: Request, said: Any) -> None:
        if "openid" in (said.scopes or []) and said.response_mode not in (None, "query", "form_post"):
            raise errors.InvalidRequestError(description="AADSTS70007: response_mode is not supported.", request=said)

    def response_mode(self, said: Any) -> str:
        return said.response_mode or "query"

    def subject(self, person: Person, client_id: str) -> str:
        """Pairwise: a different subject for each application."""
        return letters(f"{self.name}/{client_id}", person.username, 43, ALPHABET)

    def person_claims(self, person: Person, grant: Record) -> Record:
        said: Record = {"ver": "2.0", "tid": person.tenant, "oid": object_id(person)}
        if "profile" in grant["scopes"]:
            said |= {"name": person.display_name, "preferred_username": person.email or person.username}
        if "email" in grant["scopes"] and person.email:
            said["email"] = person.email
            if person.domain_verified:
                said["xms_edov"] = True
        return said

    def complete_order(self, order: tokens.Order, person: Person) -> None:
        order.issuer = self.issuer_of(person.tenant)

    def userinfo(self, request: Request, **_: str) -> Answer:
        """Without the claims of a tenant, and with an address without a verified flag."""
        record, person = self.bearer(request)
        claims = self.person_claims(person, record)
        given, family = person.given_and_family_name
        said: Record = {"sub": self.profile_subject(person, record, request.fault), "given_name": given,
                        "family_name": family}
        return json_answer(said | {name: claims[name] for name in ("name", "email") if name in claims})
