"""Custom tokens that a backend mints with its own key, for its own accounts."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from grpc import StatusCode
from joserfc import jwt
from joserfc.jwk import ECKey

from clients import Client, custom, session
from failures import expect_failure
from processes import Server

ISSUER, AUDIENCE = "https://billing.example", "https://localhost:8443"


@pytest.fixture
def key() -> ECKey:
    return ECKey.generate_key("P-256", {"kid": "billing-1"})


@pytest.fixture
def billed(serve: Callable[..., Server], connect: Callable[..., Client], tmp_path: Path, key: ECKey) -> Client:
    keys = tmp_path / "billing-keys.json"
    keys.write_text(json.dumps({"keys": [key.as_dict(private=False)]}))
    return connect(serve(custom_token_signers=[
        {"issuer": ISSUER, "keys_file": str(keys), "account_id_prefixes": ["billing-"]}]))


def minted(key: ECKey, uid: str, **claims: object) -> str:
    now = int(time.time())
    return jwt.encode({"alg": "ES256", "kid": key.kid},
                      {"iss": ISSUER, "aud": AUDIENCE, "uid": uid, "iat": now, "exp": now + 3_600, **claims}, key)


def test_a_backend_signs_in_its_own_accounts_and_adds_claims_to_the_session(billed: Client, key: ECKey) -> None:
    made = session(billed.sign_in(custom(minted(key, "billing-7", claims={"plan": "gold"}))))
    assert made.is_new_account and made.account.account_id == "billing-7"
    assert json.loads(billed.verify(made.id_token).claims_json)["plan"] == "gold"
    again = session(billed.sign_in(custom(minted(key, "billing-7"))))
    assert not again.is_new_account and again.account.account_id == "billing-7"


@pytest.mark.parametrize("uid, claims", [
    ("somebody", {}), ("xbilling-7", {}), ("billing-7", {"aud": "https://other.example"}),
    ("billing-7", {"iss": "https://other.example"}), ("billing-7", {"iss": AUDIENCE}),
    ("billing-7", {"claims": {"sub": "somebody"}}),
    ("billing-7", {"claims": {"SUB": "somebody"}}),
    ("billing-7", {"claims": {"latch\u212aey": {}}}),
    ("billing-7", {"claims": {"a\0": 1}}),
])
def test_a_signer_can_sign_only_for_its_own_accounts_and_under_its_own_name(
        billed: Client, key: ECKey, uid: str, claims: dict[str, object]) -> None:
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_CUSTOM_TOKEN"):
        billed.sign_in(custom(minted(key, uid, **claims)))


def test_another_key_cannot_sign_for_a_signer(billed: Client) -> None:
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_CUSTOM_TOKEN"):
        billed.sign_in(custom(minted(ECKey.generate_key("P-256", {"kid": "billing-1"}), "billing-7")))
