"""Faults of providers in the middle of a flow: no session, a typed error, and recovery when the fault is over.

Each place is an endpoint that a flow of that provider calls. The simulator causes the faults, over the real network.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import latchkey_settings
import pytest
from clients import Client, fresh_email, session
from configuration import callers
from failures import expect_failure, patiently, read
from grpc import RpcError, StatusCode
from kits import with_access_token
from latchkey.v1 import types_pb2 as types
from processes import Server, Simulator
from protocols.people import Person

BACK = latchkey_settings.REDIRECT_URIS[0]
UNAVAILABLE = (StatusCode.UNAVAILABLE, "PROVIDER_UNAVAILABLE")
INVALID = (StatusCode.UNAUTHENTICATED, "INVALID_CREDENTIAL")
REFUSED = (StatusCode.FAILED_PRECONDITION, "PROVIDER_REFUSED")
NONCE = (StatusCode.UNAUTHENTICATED, "MISSING_OR_INVALID_NONCE")
MISMATCH = (StatusCode.UNAUTHENTICATED, "FLOW_MISMATCH")

PLACES = [("twitter.com", "request_token"), ("twitter.com", "access_token"), ("twitter.com", "verify_credentials"),
          ("github.com", "token"), ("github.com", "user"), ("github.com", "emails"), ("google.com", "token"),
          ("facebook.com", "token"), ("facebook.com", "debug_token"), ("facebook.com", "me"), ("apple.com", "token"),
          ("yahoo.com", "token"), ("microsoft.com", "token"), ("linkedin.com", "token"),
          ("linkedin.com", "userinfo"), ("discord.com", "users_me"), ("oauth2.plain", "userinfo")]
FAULTS = ["hang", "reset", "error", "html", "huge", "broken", "redirect", "redirect-private"]
# X's tokens come as a form, and a form parser accepts any text as a form. It lacks the members of a form of X, which is
# another typed error.
FORMS = {("request_token", "html"): REFUSED, ("request_token", "broken"): REFUSED, ("access_token", "broken"): INVALID}
# Wrong answers that look valid: the provider, the endpoint, the fault, and the error.
LIES = [
    ("google.com", "token", "wrong-audience", INVALID),
    ("oidc.corp", "token", "wrong-audience", INVALID),
    ("oidc.corp", "token", "rotated-keys", INVALID),
    ("oidc.corp", "token", "wrong-at-hash", INVALID),
    ("oidc.corp", "token", "wrong-nonce", NONCE),
    ("oidc.corp", "token", "no-nonce", NONCE),
    ("oidc.corp", "authorize", "iss-mix-up", MISMATCH),
    ("oidc.corp", "authorize", "state-changed", MISMATCH),
    ("discord.com", "authorize", "state-dropped", MISMATCH),
    ("facebook.com", "debug_token", "wrong-audience", INVALID),
    ("facebook.com", "debug_token", "other-subject", INVALID),
    ("twitter.com", "verify_credentials", "other-subject", INVALID),
    ("linkedin.com", "userinfo", "other-subject", INVALID),
]
# The same for an access token that a caller presents.
FOREIGN = [("github.com", "check"), ("google.com", "tokeninfo"), ("facebook.com", "debug_token"),
           ("discord.com", "check")]


@contextmanager
def calling(folder: Path, simulator: Simulator, **fetch: int) -> Iterator[Client]:
    """A client of a server whose circuit breakers do not open: they have tests of their own."""
    allowed = [{**each, "redirect_uris": [BACK]} if each["name"] == "web" else each for each in callers()]
    server = Server.start(folder, simulator, callers=allowed, providers=latchkey_settings.providers(simulator.base),
                          fetch={"failures_max": 1000, **fetch})
    client = Client(server, key="web")
    yield client
    client.close()
    server.stop()


@pytest.fixture(scope="module")
def client(folder: Path, simulator: Simulator) -> Iterator[Client]:
    with calling(folder, simulator) as made:
        yield made


@pytest.fixture(scope="module")
def hasty(folder: Path, simulator: Simulator) -> Iterator[Client]:
    """Its server has short timeouts, for faults that are waited out."""
    with calling(folder, simulator, total_millis=1000) as made:
        yield made


@contextmanager
def fault(simulator: Simulator, provider_id: str, endpoint: str, name: str) -> Iterator[None]:
    simulator.behave(provider_id, name, document=endpoint)
    try:
        yield
    finally:
        simulator.behave(provider_id, "well", document=endpoint)


def somebody(simulator: Simulator) -> Person:
    return simulator.person(name="Ada Lovelace", email=fresh_email(), email_verified=True)


def sign_in(client: Client, simulator: Simulator, provider_id: str, person: Person) -> object:
    started = client.start_flow(provider_id, BACK)
    return client.sign_in(types.Credential(authorization_response=types.AuthorizationResponse(
        flow_id=started.flow_id, callback_uri=simulator.walk(started.authorization_url, person))))


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("provider_id, endpoint", PLACES)
def test_check_68_a_faulty_provider_does_not_sign_in_and_recovers(
        client: Client, hasty: Client, simulator: Simulator, provider_id: str, endpoint: str, name: str) -> None:
    person = somebody(simulator)
    refusal = FORMS.get((endpoint, name), UNAVAILABLE)
    asked = hasty if name == "hang" else client
    with fault(simulator, provider_id, endpoint, name), expect_failure(*refusal):
        sign_in(asked, simulator, provider_id, person)
    # Only fetches with the short timeout may be repeated.
    signed = sign_in(client, simulator, provider_id, person) if asked is client else patiently(
        lambda: sign_in(hasty, simulator, provider_id, person))
    assert session(signed).is_new_account


@pytest.mark.parametrize("provider_id, endpoint", PLACES)
def test_check_68_an_error_in_an_answer_of_200_does_not_sign_in(
        client: Client, simulator: Simulator, provider_id: str, endpoint: str) -> None:
    refusals = ("INVALID_CREDENTIAL", "PROVIDER_REFUSED", "PROVIDER_UNAVAILABLE")
    with fault(simulator, provider_id, endpoint, "error-in-200"), pytest.raises(RpcError) as problem:
        sign_in(client, simulator, provider_id, somebody(simulator))
    assert read(problem.value).reason in refusals


@pytest.mark.parametrize("provider_id, endpoint, name, refusal", LIES)
def test_an_unexpected_answer_does_not_sign_in(
        client: Client, simulator: Simulator, provider_id: str, endpoint: str, name: str,
        refusal: tuple[StatusCode, str]) -> None:
    person = somebody(simulator)
    with fault(simulator, provider_id, endpoint, name), expect_failure(*refusal):
        sign_in(client, simulator, provider_id, person)
    assert session(sign_in(client, simulator, provider_id, person)).is_new_account


@pytest.mark.parametrize("provider_id, endpoint", FOREIGN)
def test_a_token_that_its_provider_reports_as_anothers_does_not_sign_in(
        client: Client, simulator: Simulator, provider_id: str, endpoint: str) -> None:
    """A token of our application at the simulator, whose answer names another one."""
    person = somebody(simulator)
    with fault(simulator, provider_id, endpoint, "wrong-audience"), expect_failure(*INVALID):
        client.sign_in(with_access_token(simulator, provider_id, person))
    assert session(client.sign_in(with_access_token(simulator, provider_id, person))).is_new_account


@pytest.mark.parametrize("provider_id", ["github.com", "google.com", "facebook.com", "discord.com"])
def test_checks_47_to_50_a_token_of_another_application_does_not_sign_in(
        client: Client, simulator: Simulator, provider_id: str) -> None:
    token = simulator.access_token(provider_id, somebody(simulator), whose="another", scopes=["email", "identify"])
    stolen = types.ProviderTokenCredential(provider_id=provider_id, access_token=token["access_token"])
    with expect_failure(*INVALID):
        client.sign_in(types.Credential(provider_token=stolen))


def test_a_token_and_secret_of_another_consumer_do_not_sign_in(client: Client, simulator: Simulator) -> None:
    stolen = simulator.access_token("twitter.com", somebody(simulator), whose="another", oauth1=True)
    with expect_failure(*INVALID):
        client.sign_in(types.Credential(provider_token=types.ProviderTokenCredential(
            provider_id="twitter.com", **stolen)))


def test_the_error_for_a_token_without_its_secret_names_the_field(
        client: Client, simulator: Simulator) -> None:
    issued = simulator.access_token("twitter.com", somebody(simulator), oauth1=True)
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="credential.provider_token.token_secret"):
        client.sign_in(types.Credential(provider_token=types.ProviderTokenCredential(
            provider_id="twitter.com", access_token=issued["access_token"])))
