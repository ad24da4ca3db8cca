"""The server of deploy/run: libraries that know only the issuer find its keys by OpenID Connect Discovery."""

from __future__ import annotations

import json
import ssl
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import development
import jwt
import pytest
from joserfc import jwt as jose
from joserfc.jwk import KeySet
from keys_endpoint import DISCOVERY

AUDIENCE = "latchkey"


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[development.Checkout]:
    with development.server(tmp_path) as running:
        running.environment |= {"LATCHKEY_PASSWORD": "correct horse battery staple",
                                "LATCHKEY_API_KEY_FILE": str(running.home / "web.apikey"),
                                "LATCHKEY_SESSION_FILE": str(running.home / "session.json")}
        yield running


def test_its_tokens_verify_by_discovery_from_the_issuer(checkout: development.Checkout) -> None:
    issuer = checkout.environment["issuer"]
    signed_up = json.loads(checkout.output("latchkey", "sign-up", "--email", "alice@example.com", "--json"))
    token = checkout.output("latchkey", "token")

    trust = ssl.create_default_context(cafile=checkout.home / "authority.pem")
    with urllib.request.urlopen(issuer + DISCOVERY, timeout=10, context=trust) as response:
        discovered = json.load(response)
    assert discovered["issuer"] == issuer
    algorithms = discovered["id_token_signing_alg_values_supported"]
    key = jwt.PyJWKClient(discovered["jwks_uri"], ssl_context=trust).get_signing_key_from_jwt(token)
    claims = jwt.decode(token, key, algorithms=algorithms, audience=AUDIENCE, issuer=issuer)
    with urllib.request.urlopen(discovered["jwks_uri"], timeout=10, context=trust) as response:
        keys = KeySet.import_key_set(json.load(response))
    assert jose.decode(token, keys, algorithms=algorithms).claims == claims
    assert claims["sub"] == signed_up["account"]["account_id"]
