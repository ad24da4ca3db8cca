"""RevokeToken and Delete with tokens, at every provider: the provider's own log shows what was revoked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import latchkey_settings
import pytest
from clients import Client, fresh_email, provider, session
from configuration import callers
from failures import expect_failure, patiently
from grpc import StatusCode
from latchkey.v1 import errors_pb2 as errors
from latchkey.v1 import types_pb2 as types
from processes import Server, Simulator, issuer_name
from protocols.people import Person
from test_latchkey_command import DONE, REFUSED, USAGE
from test_latchkey_command import Person as Typist

BACK = latchkey_settings.REDIRECT_URIS[0]
ACCESS = types.PROVIDER_TOKEN_KIND_ACCESS_TOKEN
REFRESH = types.PROVIDER_TOKEN_KIND_REFRESH_TOKEN
CODE = types.PROVIDER_TOKEN_KIND_AUTHORIZATION_CODE
# The provider, its revocation endpoint in the simulator, and the kinds of token that a flow returns.
PLACES = [("apple.com", "revoke"), ("google.com", "revoke"), ("facebook.com", "permissions"), ("github.com", "grant"),
          ("discord.com", "revoke"), ("oidc.corp", "revoke"), ("oauth2.plain", "revoke")]
UNSUPPORTED = ["twitter.com", "yahoo.com", "microsoft.com", "linkedin.com"]
FAULTS = ["hang", "reset", "error", "html", "huge", "redirect"]
UNAVAILABLE = (StatusCode.UNAVAILABLE, "PROVIDER_UNAVAILABLE")


def start(folder: Path, simulator: Simulator, **fetch: int) -> Server:
    """A server whose circuit breakers do not open."""
    allowed = [{**each, "redirect_uris": [BACK]} if each["name"] == "web" else each for each in callers()]
    return Server.start(folder, simulator, callers=allowed, providers=latchkey_settings.providers(simulator.base),
                        fetch={"failures_max": 1000, **fetch})


@pytest.fixture(scope="module")
def server(folder: Path, simulator: Simulator) -> Iterator[Server]:
    running = start(folder, simulator)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[Client]:
    calling = Client(server, key="web")
    yield calling
    calling.close()


@pytest.fixture(scope="module")
def hasty_server(folder: Path, simulator: Simulator) -> Iterator[Server]:
    """A server with short timeouts, for faults that are waited out."""
    running = start(folder, simulator, total_millis=2000)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def hasty(hasty_server: Server) -> Iterator[Client]:
    calling = Client(hasty_server, key="web")
    yield calling
    calling.close()


@contextmanager
def fault(simulator: Simulator, provider_id: str, endpoint: str, name: str) -> Iterator[None]:
    simulator.behave(provider_id, name, document=endpoint)
    try:
        yield
    finally:
        simulator.behave(provider_id, "well", document=endpoint)


def somebody(simulator: Simulator) -> Person:
    return simulator.person(name="Ada Lovelace", email=fresh_email(), email_verified=True)


def proof(
        client: Client, simulator: Simulator, provider_id: str, person: Person, **options: object) -> types.Credential:
    started = client.start_flow(provider_id, BACK, **options)
    return types.Credential(authorization_response=types.AuthorizationResponse(
        flow_id=started.flow_id, callback_uri=simulator.walk(started.authorization_url, person)))


def sign_in(client: Client, simulator: Simulator, provider_id: str, person: Person | None = None) -> types.Session:
    person = person or somebody(simulator)
    return session(client.sign_in(proof(client, simulator, provider_id, person)))


def access(signed: types.Session, **fields: str) -> types.TokenToRevoke:
    said = signed.provider_credential
    return types.TokenToRevoke(provider_id=said.provider_id, token=said.access_token, kind=ACCESS, **fields)


def refresh(signed: types.Session) -> types.TokenToRevoke:
    said = signed.provider_credential
    assert said.refresh_token
    return types.TokenToRevoke(provider_id=said.provider_id, token=said.refresh_token, kind=REFRESH)


def revoked(simulator: Simulator, token: types.TokenToRevoke) -> int:
    """How often the provider revoked the token."""
    log = simulator.folder / "revocations.log"
    line = f"{issuer_name(token.provider_id)} {hashlib.sha256(token.token.encode()).hexdigest()}"
    return log.read_text().splitlines().count(line) if log.exists() else 0


def events_of(server: Server, account_id: str) -> list[str]:
    watching = Client(server, key="admin")
    try:
        told = []
        for answer in watching.watch("", "DELETED", "PROVIDER_TOKEN_REVOKED"):
            if not answer.HasField("event"):
                return told
            if answer.event.account_id == account_id:
                told.append(answer.event.details_json)
        return told
    finally:
        watching.close()


@pytest.mark.parametrize("provider_id, endpoint", PLACES)
def test_T4_T5_each_provider_revokes_its_token_once(
        server: Server, client: Client, simulator: Simulator, provider_id: str, endpoint: str) -> None:
    signed = sign_in(client, simulator, provider_id)
    token = access(signed)
    before = simulator.fetches(provider_id, endpoint)
    client.revoke_token(signed.id_token, token)
    assert revoked(simulator, token) == 1 and simulator.fetches(provider_id, endpoint) == before + 1
    # Invalid already: the same answer, and nothing more to revoke.
    client.revoke_token(signed.id_token, token)
    assert revoked(simulator, token) == 1 and simulator.fetches(provider_id, endpoint) == before + 2
    # The account, its session and the link stay.
    assert [each.provider_id for each in client.get(signed.id_token).providers] == [provider_id]
    told = events_of(server, signed.account.account_id)
    assert len(told) == 2 and all(f'"provider_id":"{provider_id}"' in each for each in told)
    log = server.log.read_text()
    assert all(token.token not in text for text in (log, *told))


@pytest.mark.parametrize("provider_id", ["google.com", "facebook.com", "github.com", "discord.com"])
def test_T4_a_revoked_token_no_longer_signs_in(client: Client, simulator: Simulator, provider_id: str) -> None:
    signed = sign_in(client, simulator, provider_id)
    token = access(signed)
    assert session(client.sign_in(provider(provider_id, "", access_token=token.token)))
    client.revoke_token(signed.id_token, token)
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_CREDENTIAL"):
        client.sign_in(provider(provider_id, "", access_token=token.token))


@pytest.mark.parametrize("provider_id", ["apple.com", "discord.com"])
def test_T4_a_refresh_token_ends_with_its_access_tokens(client: Client, simulator: Simulator, provider_id: str) -> None:
    signed = sign_in(client, simulator, provider_id)
    client.revoke_token(signed.id_token, refresh(signed))
    assert revoked(simulator, refresh(signed)) == 1
    client.revoke_token(signed.id_token, access(signed))
    assert revoked(simulator, access(signed)) == 0


def code_of(client: Client, simulator: Simulator, person: Person) -> str:
    """A code of Apple that nobody has redeemed."""
    callback = proof(client, simulator, "apple.com", person).authorization_response.callback_uri
    return parse_qs(urlsplit(callback).query)["code"][0]


def test_T6_apples_code_is_redeemed_and_its_refresh_token_revoked(client: Client, simulator: Simulator) -> None:
    person = somebody(simulator)
    signed = sign_in(client, simulator, "apple.com", person)
    code = code_of(client, simulator, person)
    log = simulator.folder / "revocations.log"
    before = log.read_text().count("apple ") if log.exists() else 0
    token = types.TokenToRevoke(provider_id="apple.com", token=code, kind=CODE, client_id="latchkey", redirect_uri=BACK)
    client.revoke_token(signed.id_token, token)
    assert log.read_text().count("apple ") == before + 1
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_CREDENTIAL", field="token"):
        client.revoke_token(signed.id_token, token)


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("provider_id, endpoint", PLACES)
def test_T7_a_faulty_provider_is_a_typed_error_and_recovers(
        client: Client, hasty: Client, simulator: Simulator, provider_id: str, endpoint: str, name: str) -> None:
    if (provider_id, name) == ("github.com", "huge"):
        pytest.skip("an answer of status 204 has no body")
    asked = hasty if name == "hang" else client
    signed = patiently(lambda: sign_in(asked, simulator, provider_id))
    with fault(simulator, provider_id, endpoint, name), expect_failure(*UNAVAILABLE):
        asked.revoke_token(signed.id_token, access(signed))
    if asked is client:
        client.revoke_token(signed.id_token, access(signed))
    else:
        # Only fetches with the short timeout may be repeated.
        patiently(lambda: hasty.revoke_token(signed.id_token, access(signed)))


def test_T7_the_fault_of_apples_token_endpoint_counts_too(client: Client, simulator: Simulator) -> None:
    person = somebody(simulator)
    signed = sign_in(client, simulator, "apple.com", person)
    token = types.TokenToRevoke(
        provider_id="apple.com", token=code_of(client, simulator, person), kind=CODE, redirect_uri=BACK)
    with fault(simulator, "apple.com", "token", "error"), expect_failure(*UNAVAILABLE):
        client.revoke_token(signed.id_token, token)


@pytest.mark.parametrize("provider_id", UNSUPPORTED)
def test_T2_a_provider_without_an_endpoint_is_not_supported(
        client: Client, simulator: Simulator, provider_id: str) -> None:
    signed = sign_in(client, simulator, provider_id)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "OPERATION_NOT_ALLOWED", field="token.provider_id"):
        client.revoke_token(signed.id_token, access(signed))


def test_T1_T3_the_session_must_be_open_and_the_provider_linked(client: Client, simulator: Simulator) -> None:
    signed, other = sign_in(client, simulator, "github.com"), sign_in(client, simulator, "discord.com")
    with expect_failure(StatusCode.NOT_FOUND, "NO_SUCH_PROVIDER", field="token.provider_id"):
        client.revoke_token(signed.id_token, access(other))
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="token.kind"):
        client.revoke_token(signed.id_token, types.TokenToRevoke(provider_id="github.com", token="t", kind=REFRESH))
    client.revoke_all(signed.id_token)
    with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
        client.revoke_token(signed.id_token, access(signed))
    assert revoked(simulator, access(signed)) == revoked(simulator, access(other)) == 0


def test_T8_a_repeat_does_not_ask_the_provider_again(client: Client, simulator: Simulator) -> None:
    signed = sign_in(client, simulator, "google.com")
    before = simulator.fetches("google.com", "revoke")
    for _ in range(2):
        client.revoke_token(signed.id_token, access(signed), idempotency_key="again-" + signed.session_id)
    assert simulator.fetches("google.com", "revoke") == before + 1


def test_T9_delete_revokes_after_the_deletion_and_states_each_result(
        hasty_server: Server, hasty: Client, simulator: Simulator) -> None:
    signed = patiently(lambda: sign_in(hasty, simulator, "github.com"))
    linked = session(patiently(lambda: hasty.link(signed.id_token, proof(
        hasty, simulator, "discord.com", simulator.person(name="Ada"), purpose=types.PROOF_PURPOSE_LINK,
        id_token=signed.id_token))))
    tokens = [access(signed), access(linked), types.TokenToRevoke(provider_id="google.com", token="t", kind=ACCESS)]
    key = "gone-" + signed.session_id
    with fault(simulator, "discord.com", "revoke", "hang"):
        deleted = hasty.delete(linked.id_token, tokens_to_revoke=tokens, idempotency_key=key)
    assert [(each.provider_id, each.revoked, each.reason) for each in deleted.revocations] == [
        ("github.com", True, errors.ERROR_REASON_UNSPECIFIED),
        ("discord.com", False, errors.ERROR_REASON_PROVIDER_UNAVAILABLE),
        ("google.com", False, errors.ERROR_REASON_NO_SUCH_PROVIDER)]
    assert revoked(simulator, tokens[0]) == 1 and deleted.revocations[1].message
    with expect_failure(StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED"):
        hasty.get(linked.id_token)
    asked = simulator.fetches("github.com", "grant"), simulator.fetches("discord.com", "revoke")
    again = hasty.delete(linked.id_token, tokens_to_revoke=tokens, idempotency_key=key)
    assert not again.revocations
    assert (simulator.fetches("github.com", "grant"), simulator.fetches("discord.com", "revoke")) == asked
    told = events_of(hasty_server, signed.account.account_id)
    assert len(told) == 2 and '"token_kind":"access_token"' in told[1]


def test_T9_at_most_eight_tokens_and_nothing_is_deleted_otherwise(client: Client, simulator: Simulator) -> None:
    signed = sign_in(client, simulator, "github.com")
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="tokens_to_revoke"):
        client.delete(signed.id_token, tokens_to_revoke=[access(signed)] * 9)
    assert client.get(signed.id_token).account_id == signed.account.account_id
    assert len(client.delete(signed.id_token, tokens_to_revoke=[access(signed)] * 8).revocations) == 8


def test_the_command_has_a_provider_revoke_a_token(
        server: Server, client: Client, simulator: Simulator, tmp_path: Path) -> None:
    typist = Typist(server, tmp_path)
    typist.sign_up(fresh_email())
    id_token = typist.run("token").stdout.strip()
    flow = proof(client, simulator, "oidc.corp", somebody(simulator), purpose=types.PROOF_PURPOSE_LINK,
                 id_token=id_token)
    linked = client.link(id_token, flow).session
    token = access(linked)
    file = typist.file("token", token.token)
    words = ("revoke-token", "oidc.corp", "--kind", "access-token", "--token-file", file)
    assert typist.json(*words) == {"outcome": "revoked", "provider_id": "oidc.corp"}
    assert revoked(simulator, token) == 1
    again = typist.run(*words)
    assert (again.returncode, again.stdout) == (DONE, "Revoked: a token of oidc.corp.\n")
    for code, others in ((REFUSED, ("google.com", "--token-file", file)), (USAGE, ("oidc.corp",)),
                         (USAGE, ("oidc.corp", "--token-file", file, "--kind", "cookie"))):
        assert typist.run("revoke-token", *others).returncode == code, others
