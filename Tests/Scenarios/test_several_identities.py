"""Several identities of one provider in an account (`policy.identities_per_provider_max`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from clients import Client, assertion, fresh_email, session
from failures import expect_failure
from grpc import StatusCode
from processes import Server, Simulator


@pytest.fixture(scope="module")
def pair(folder: Path, simulator: Simulator) -> Iterator[Client]:
    server = Server.start(folder, simulator, policy={"identities_per_provider_max": 2})
    client = Client(server)
    yield client
    client.close()
    server.stop()


def test_a_second_identity_is_linked_signs_in_and_is_unlinked_by_its_subject(
        pair: Client, simulator: Simulator) -> None:
    made = pair.create(fresh_email())
    account_id, id_token = made.account.account_id, made.id_token
    subjects = [f"{account_id}-{number}" for number in range(3)]
    for subject in subjects[:2]:
        id_token = session(pair.link(id_token, assertion(simulator, "oidc.corp", subject=subject))).id_token
    with expect_failure(StatusCode.ALREADY_EXISTS, "PROVIDER_ALREADY_LINKED"):
        pair.link(id_token, assertion(simulator, "oidc.corp", subject=subjects[2]))
    for subject in subjects[:2]:
        signed = session(pair.sign_in(assertion(simulator, "oidc.corp", subject=subject)))
        assert signed.account.account_id == account_id
        assert [each.subject for each in signed.account.providers if each.provider_id == "oidc.corp"] == subjects[:2]
    claims = pair.claims(id_token)
    assert claims["latchkey"]["identities"]["oidc.corp"] == subjects[:2]
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="subject"):
        pair.unlink(id_token, "oidc.corp")
    left = pair.unlink(id_token, "oidc.corp", subject=subjects[0])
    assert [each.subject for each in left.account.providers if each.provider_id == "oidc.corp"] == [subjects[1]]
    fresh = session(pair.sign_in(assertion(simulator, "oidc.corp", subject=subjects[0])))
    assert fresh.account.account_id != account_id


def test_with_the_default_a_second_identity_is_rejected(web: Client, simulator: Simulator) -> None:
    made = web.create(fresh_email())
    id_token = session(web.link(made.id_token, assertion(simulator, "oidc.corp"))).id_token
    with expect_failure(StatusCode.ALREADY_EXISTS, "PROVIDER_ALREADY_LINKED"):
        web.link(id_token, assertion(simulator, "oidc.corp"))
