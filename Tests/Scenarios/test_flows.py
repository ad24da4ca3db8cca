"""Flows through providers' pages: their start, their end, and attacks on them.

The pages are the simulator's, the client is a stock one. `test_provider_matrix.py` tests every provider's normal path.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import latchkey_settings
import pytest
from clients import Client, conflict, fresh_email, held, password, provider, provider_ids, session
from configuration import callers
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import auth_service_pb2 as auth
from latchkey.v1 import provider_flow_service_pb2 as flows
from latchkey.v1 import types_pb2 as types
from latchkey.v1.provider_flow_service_pb2 import RESPONSE_MODE_FORM_POST, RESPONSE_MODE_QUERY
from latchkey.v1.provider_flow_service_pb2_grpc import ProviderFlowServiceStub
from processes import Server, Simulator
from protocols.people import Person

BACK = latchkey_settings.REDIRECT_URIS[0]
MISMATCH = (StatusCode.UNAUTHENTICATED, "FLOW_MISMATCH")
USED = (StatusCode.FAILED_PRECONDITION, "FLOW_USED")
RESERVED = ("client_id", "client_secret", "response_type", "response_mode", "redirect_uri", "scope", "state", "nonce",
            "code", "code_challenge", "code_challenge_method", "code_verifier", "grant_type", "request", "request_uri",
            "registration", "id_token_hint", "max_age", "client_assertion", "client_assertion_type", "oauth_token",
            "oauth_callback", "appsecret_proof", "Client_ID", "STATE")


def everywhere(simulator: Simulator) -> dict[str, Any]:
    """Every provider at the simulator, with redirect URIs for `web` and `shop`."""
    allowed = [{**each, "redirect_uris": [BACK]} if each["name"] in ("web", "shop") else each for each in callers()]
    return {"callers": allowed, "providers": latchkey_settings.providers(simulator.base)}


@pytest.fixture(scope="module")
def open_server(folder: Path, simulator: Simulator) -> Iterator[Server]:
    server = Server.start(folder, simulator, **everywhere(simulator))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def web(open_server: Server) -> Iterator[Client]:
    client = Client(open_server, key="web")
    yield client
    client.close()


@pytest.fixture
def ada(simulator: Simulator) -> Person:
    return simulator.person(name="Ada Lovelace", email=fresh_email(), email_verified=True)


def response(started: flows.StartFlowResponse, callback: str) -> types.Credential:
    return types.Credential(authorization_response=types.AuthorizationResponse(
        flow_id=started.flow_id, callback_uri=callback))


def asked(started: flows.StartFlowResponse) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(started.authorization_url).query).items()}


def changed(callback: str, name: str, value: str | None) -> str:
    """The callback with one parameter replaced, or removed."""
    pairs = [pair for pair in callback.partition("?")[2].split("&") if pair.partition("=")[0] != name]
    return BACK + "?" + "&".join([*pairs, f"{name}={value}"] if value is not None else pairs)


# Start.


def test_a_flow_requests_the_callers_parameters_and_scopes_and_no_more(web: Client) -> None:
    started = web.start_flow("yahoo.com", BACK, scopes=["mail-r", "sdct-w"], login_hint="ada@yahoo.com",
                             custom_parameters={"prompt": "login", "language": "fr-ca"})
    said = asked(started)
    assert said["scope"].split() == ["openid", "email", "profile", "mail-r", "sdct-w"]
    assert (said["prompt"], said["language"], said["login_hint"]) == ("login", "fr-ca", "ada@yahoo.com")
    assert said["redirect_uri"] == BACK and said["response_type"] == "code"
    assert started.response_mode == RESPONSE_MODE_QUERY
    assert started.flow_id not in started.authorization_url and started.expires_at.seconds > 0
    github = asked(web.start_flow("github.com", BACK, custom_parameters={"allow_signup": "false"}))
    assert github["allow_signup"] == "false" and "user:email" in github["scope"]
    twitter = asked(web.start_flow("twitter.com", BACK, custom_parameters={"lang": "de"}))
    assert twitter["lang"] == "de" and twitter["oauth_token"]
    assert web.start_flow("apple.com", BACK).response_mode == RESPONSE_MODE_FORM_POST


def test_providers_are_listed(open_server: Server, simulator: Simulator) -> None:
    client = Client(open_server, key="web")
    listed = ProviderFlowServiceStub(client.channel).ListProviders(flows.ListProvidersRequest())
    ids = sorted(each["id"] for each in latchkey_settings.providers(simulator.base))
    assert list(listed.provider_ids) == ids == list(listed.flow_provider_ids)
    client.close()


@pytest.mark.parametrize("provider_id", ["twitter.com", "yahoo.com", "github.com", "google.com", "facebook.com"])
def test_check_66_a_caller_cannot_set_a_parameter_of_the_protocol(web: Client, provider_id: str) -> None:
    for name in RESERVED:
        with expect_failure(StatusCode.INVALID_ARGUMENT, "RESERVED_PARAMETER", field="custom_parameters"):
            web.start_flow(provider_id, BACK, custom_parameters={name: "mine"})
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="custom_parameters"):
        web.start_flow(provider_id, BACK, custom_parameters={"unheard_of": "1"})


@pytest.mark.parametrize("uri", [BACK + "/", BACK + "?x=1", BACK.upper(), BACK.replace("https:", "http:"),
                                 BACK.replace("app.example", "app.example:443"), BACK + "#", BACK[:-1],
                                 BACK.replace("app.example", "app.example@evil.example"), "https://evil.example/"])
def test_check_65_a_redirect_uri_is_compared_byte_for_byte(web: Client, uri: str) -> None:
    with expect_failure(StatusCode.PERMISSION_DENIED, "REDIRECT_URI_NOT_ALLOWED"):
        web.start_flow("github.com", uri)


def test_check_70_no_url_is_built_from_a_header(open_server: Server) -> None:
    client = Client(open_server, key="web")
    start = ProviderFlowServiceStub(client.channel).StartFlow
    request = flows.StartFlowRequest(provider_id="github.com", redirect_uri=BACK)
    forged = [("x-forwarded-host", "evil.example"), ("x-forwarded-proto", "http"), ("forwarded", "host=evil.example"),
              ("x-original-host", "evil.example"), ("referer", "https://evil.example/")]
    started = start(request, metadata=forged)
    assert "evil.example" not in started.authorization_url and asked(started)["redirect_uri"] == BACK
    client.close()


def test_a_caller_without_redirect_uris_starts_no_flow(open_server: Server) -> None:
    admin = Client(open_server, key="admin")
    with expect_failure(StatusCode.PERMISSION_DENIED, "REDIRECT_URI_NOT_ALLOWED", "CALLER_NOT_ALLOWED"):
        admin.start_flow("github.com", BACK)
    admin.close()


def test_a_redirect_whose_conflict_was_lost_can_be_repeated_under_its_key(
        web: Client, simulator: Simulator, ada: Person) -> None:
    web.create(ada.email)
    started, key = web.start_flow("github.com", BACK), secrets.token_urlsafe(24)
    back = response(started, simulator.walk(started.authorization_url, ada))
    one, two = (conflict(web.sign_in(back, idempotency_key=key)) for _ in range(2))
    assert one.pending_token == two.pending_token
    with expect_failure(*USED):
        web.sign_in(back)
    linked = session(web.sign_in(password(ada.email), pending_token=two.pending_token))
    assert provider_ids(linked.account) == {"password", "github.com"}


def test_an_invalid_flow_is_rejected_with_its_field(web: Client) -> None:
    with expect_failure(StatusCode.FAILED_PRECONDITION, "OPERATION_NOT_ALLOWED"):
        web.start_flow("nobody.example", BACK)
    for field, wrong in [("purpose", {"purpose": 9}), ("id_token", {"purpose": types.PROOF_PURPOSE_LINK}),
                         ("scopes", {"scopes": ["a b"]}), ("id_token", {"id_token": "not for a sign-in"})]:
        with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field=field):
            web.start_flow("github.com", BACK, **wrong)


# End.


def test_check_61_a_redirect_requires_its_own_state_caller_browser_and_flow(
        open_server: Server, simulator: Simulator, web: Client, ada: Person) -> None:
    started = web.start_flow("github.com", BACK, binding="browser-of-ada-123")
    callback = simulator.walk(started.authorization_url, ada)
    shop = Client(open_server, key="shop")
    other = web.start_flow("github.com", BACK, binding="browser-of-ada-123")
    for client, flow, uri, binding in [
            (web, started, callback, ""), (web, started, callback, "browser-of-eve-456"),
            (shop, started, callback, "browser-of-ada-123"), (web, other, callback, "browser-of-ada-123"),
            (web, started, changed(callback, "state", None), "browser-of-ada-123"),
            (web, started, changed(callback, "state", "x" * 43), "browser-of-ada-123")]:
        with expect_failure(*MISMATCH):
            client.sign_in(response(flow, uri), binding=binding)
    made = session(web.sign_in(response(started, callback), binding="browser-of-ada-123"))
    assert made.is_new_account
    with expect_failure(*USED):
        web.sign_in(response(started, callback), binding="browser-of-ada-123")
    shop.close()


def test_check_62_one_providers_redirect_does_not_complete_a_flow_of_another(
        simulator: Simulator, web: Client, ada: Person) -> None:
    google, discord = web.start_flow("google.com", BACK), web.start_flow("discord.com", BACK)
    callback = simulator.walk(discord.authorization_url, ada)
    with expect_failure(*MISMATCH):
        web.sign_in(response(google, callback))
    mixed = changed(callback, "state", asked(google)["state"])
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_CREDENTIAL", "FLOW_MISMATCH"):
        web.sign_in(response(google, mixed))
    assert session(web.sign_in(response(discord, callback))).is_new_account


@pytest.mark.parametrize("behaviour", ["iss-mix-up", "no-iss"])
def test_check_63_a_redirect_without_the_announced_issuer_is_rejected(
        simulator: Simulator, web: Client, ada: Person, behaviour: str) -> None:
    simulator.behave("oidc.corp", behaviour, document="authorize")
    try:
        started = web.start_flow("oidc.corp", BACK)
        callback = simulator.walk(started.authorization_url, ada)
    finally:
        simulator.behave("oidc.corp", "well", document="authorize")
    with expect_failure(*MISMATCH):
        web.sign_in(response(started, callback))


def test_check_67_fifty_concurrent_calls_redeem_a_code_once(simulator: Simulator, web: Client, ada: Person) -> None:
    started = web.start_flow("github.com", BACK)
    callback = simulator.walk(started.authorization_url, ada)
    before = simulator.fetches("github.com", "token")

    def attempt(_: int) -> str:
        try:
            return session(web.sign_in(response(started, callback))).account.account_id
        except Exception:  # noqa: BLE001 - for any reason, it is no session
            return ""

    with ThreadPoolExecutor(50) as pool:
        signed_in = [account for account in pool.map(attempt, range(50)) if account]
    assert len(signed_in) == 1 and simulator.fetches("github.com", "token") == before + 1


def test_a_requested_organisation_must_be_in_the_token(
        simulator: Simulator, web: Client) -> None:
    """A user who removes `hd` from the URL does not become a member of the organization."""
    ada = simulator.person(name="Ada", email=fresh_email("firm.example"), email_verified=True,
                           hosted_domain="firm.example")
    stranger = simulator.person(name="Eve", email=fresh_email("gmail.com"), email_verified=True)
    for person, is_taken in ((stranger, False), (ada, True)):
        started = web.start_flow("google.com", BACK, custom_parameters={"hd": "firm.example"})
        callback = simulator.walk(started.authorization_url.replace("hd=firm.example&", ""), person)
        if is_taken:
            assert session(web.sign_in(response(started, callback))).is_new_account
        else:
            with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_CREDENTIAL") as refused:
                web.sign_in(response(started, callback))
            assert "organisation" in refused.text


def test_a_faulty_provider_ends_a_flow_and_the_error_suggests_no_retry(
        simulator: Simulator, web: Client, ada: Person) -> None:
    started = web.start_flow("github.com", BACK)
    callback = simulator.walk(started.authorization_url, ada)
    simulator.behave("github.com", "error", document="token")
    try:
        with expect_failure(StatusCode.UNAVAILABLE, "PROVIDER_UNAVAILABLE") as refused:
            web.sign_in(response(started, callback))
    finally:
        simulator.behave("github.com", "well", document="token")
    assert refused.retry_seconds is None
    with expect_failure(*USED):
        web.sign_in(response(started, callback))


def test_a_user_who_cancels_at_the_provider_gets_provider_denied(
        simulator: Simulator, web: Client, ada: Person) -> None:
    for provider_id in ("twitter.com", "github.com", "google.com", "apple.com"):
        started = web.start_flow(provider_id, BACK)
        callback = simulator.walk(started.authorization_url, ada, deny=True)
        with expect_failure(StatusCode.FAILED_PRECONDITION, "PROVIDER_DENIED"):
            web.sign_in(response(started, callback))


def test_the_name_that_apple_sends_only_once_is_kept(simulator: Simulator, web: Client, ada: Person) -> None:
    for _ in range(2):
        started = web.start_flow("apple.com", BACK)
        signed = session(web.sign_in(response(started, simulator.walk(started.authorization_url, ada))))
        assert [linked.display_name for linked in signed.account.providers] == ["Ada Lovelace"]


def test_check_73_a_verifier_is_valid_for_its_own_request_token_only(
        simulator: Simulator, web: Client, ada: Person) -> None:
    mine, another = web.start_flow("twitter.com", BACK), web.start_flow("twitter.com", BACK)
    callback = simulator.walk(another.authorization_url, ada)
    with expect_failure(*MISMATCH):
        web.sign_in(response(mine, callback))
    without = web.start_flow("twitter.com", BACK)
    answered = simulator.walk(without.authorization_url, ada)
    with expect_failure(StatusCode.UNAUTHENTICATED, "INVALID_CREDENTIAL"):
        web.sign_in(response(without, changed(answered, "oauth_verifier", None)))


def test_check_72_a_callback_that_is_not_confirmed_starts_nothing(simulator: Simulator, web: Client) -> None:
    simulator.behave("twitter.com", "callback-not-confirmed", document="request_token")
    try:
        with expect_failure(StatusCode.FAILED_PRECONDITION, "PROVIDER_REFUSED"):
            web.start_flow("twitter.com", BACK)
    finally:
        simulator.behave("twitter.com", "well", document="request_token")


def test_check_74_a_dump_of_the_database_reveals_nothing_about_a_flow(open_server: Server, web: Client) -> None:
    started = web.start_flow("google.com", BACK)
    twitter = asked(web.start_flow("twitter.com", BACK))
    dump = open_server.stored()
    said = asked(started)
    for secret in (started.flow_id, said["state"], said["nonce"], said["code_challenge"], twitter["oauth_token"]):
        assert secret.encode() not in dump


def test_a_redirect_is_valid_only_for_the_purpose_and_account_of_its_flow(
        simulator: Simulator, web: Client, ada: Person) -> None:
    account = web.create(fresh_email())
    started = web.start_flow("github.com", BACK, purpose=types.PROOF_PURPOSE_LINK, id_token=account.id_token)
    callback = simulator.walk(started.authorization_url, ada)
    with expect_failure(*MISMATCH):
        web.sign_in(response(started, callback))
    another = web.create(fresh_email())
    with expect_failure(*MISMATCH):
        web.link(another.id_token, response(started, callback))
    linked = session(web.link(account.id_token, response(started, callback)))
    assert linked.account.account_id == account.account.account_id
    assert linked.provider_credential.access_token and linked.additional_user_info.username


def test_check_88_an_old_login_does_not_reauthenticate(simulator: Simulator, web: Client, ada: Person) -> None:
    made = session(web.sign_in(response(first := web.start_flow("oidc.corp", BACK),
                                        simulator.walk(first.authorization_url, ada))))
    for behaviour, is_fresh in [("stale-login", False), ("well", True)]:
        simulator.behave("oidc.corp", behaviour, document="token")
        try:
            started = web.start_flow(
                "oidc.corp", BACK, purpose=types.PROOF_PURPOSE_REAUTHENTICATE, id_token=made.id_token)
            assert asked(started)["prompt"] == "login" and asked(started)["max_age"] == "1"
            proof = response(started, simulator.walk(started.authorization_url, ada))
            if is_fresh:
                again = web.reauthenticate(made.id_token, proof)
                assert again.account.account_id == made.account.account_id
                assert web.claims(again.id_token)["amr"] == ["fed", "fresh"]
            else:
                with expect_failure(StatusCode.FAILED_PRECONDITION, "REQUIRES_RECENT_LOGIN") as refusal:
                    web.reauthenticate(made.id_token, proof)
                assert refusal.metadata["methods"] == "oidc.corp" and refusal.metadata["confirmed"] == "required"
                assert int(refusal.metadata["max_age_seconds"]) > 0
        finally:
            simulator.behave("oidc.corp", "well", document="token")


@pytest.mark.parametrize("provider_id", ["github.com", "oidc.corp", "twitter.com"])
def test_another_user_who_logs_in_at_the_provider_neither_reauthenticates_nor_gets_an_account(
        simulator: Simulator, open_server: Server, web: Client, connect: Callable[..., Client], ada: Person,
        provider_id: str) -> None:
    """The user at the provider's page may differ from the signed-in user."""
    begun = web.start_flow(provider_id, BACK)
    made = session(web.sign_in(response(begun, simulator.walk(begun.authorization_url, ada))))
    eve = simulator.person(name="Eve", email=fresh_email(), email_verified=True)

    def proof_of(person: Person) -> types.Credential:
        started = web.start_flow(
            provider_id, BACK, purpose=types.PROOF_PURPOSE_REAUTHENTICATE, id_token=made.id_token)
        return response(started, simulator.walk(started.authorization_url, person))

    stray = proof_of(eve)
    with expect_failure(StatusCode.PERMISSION_DENIED, "USER_MISMATCH"):
        web.reauthenticate(made.id_token, stray)
    with expect_failure(*USED):
        web.reauthenticate(made.id_token, stray)
    judge = connect(open_server, key="admin")
    for subject in ({"identity": {"provider_id": provider_id, "subject": simulator.subject(provider_id, eve)}},
                    {"email": eve.email}):
        with expect_failure(StatusCode.NOT_FOUND, "ACCOUNT_NOT_FOUND"):
            judge.lookup(**subject)
    assert web.verify(made.id_token).active and provider_ids(web.get(made.id_token)) == {provider_id}
    again = web.reauthenticate(made.id_token, proof_of(ada))
    assert again.account.account_id == made.account.account_id
    assert web.refresh(made.refresh_token).session_id == made.session_id


@pytest.mark.parametrize(("provider_id", "usual", "fresh"), [
    ("github.com", {"prompt": "select_account"}, {"prompt": "select_account"}),
    ("google.com", {"prompt": "consent", "login_hint": "ada@gmail.com"}, {"prompt": "select_account"}),
    ("facebook.com", {"auth_type": "rerequest"}, {"auth_type": "reauthenticate"}),
    ("twitter.com", {"force_login": "false"}, {"force_login": "true"})])
def test_sign_in_and_reauthentication_use_the_same_parameters(
        web: Client, provider_id: str, usual: dict[str, str], fresh: dict[str, str]) -> None:
    hint = usual.get("login_hint", "")
    assert usual.items() <= asked(web.start_flow(provider_id, BACK, custom_parameters=usual, login_hint=hint)).items()
    account = web.create(fresh_email())
    again = web.start_flow(provider_id, BACK, custom_parameters=usual, login_hint=hint,
                           purpose=types.PROOF_PURPOSE_REAUTHENTICATE, id_token=account.id_token)
    assert fresh.items() <= asked(again).items()
    with expect_failure(StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field="custom_parameters"):
        web.start_flow(provider_id, BACK, custom_parameters={"prompt": "none"},
                       purpose=types.PROOF_PURPOSE_REAUTHENTICATE, id_token=account.id_token)


def test_check_88_a_login_without_a_time_from_the_provider_yields_a_lower_grade(
        simulator: Simulator, serve: Callable[..., Server], connect: Callable[..., Client], ada: Person) -> None:
    web = connect(serve(policy={"recent_login_confirmed": True}, **everywhere(simulator)))
    begun = web.start_flow("github.com", BACK)
    made = session(web.sign_in(response(begun, simulator.walk(begun.authorization_url, ada))))
    assert web.claims(made.id_token)["amr"] == ["fed"]
    with expect_failure(StatusCode.FAILED_PRECONDITION, "REQUIRES_RECENT_LOGIN") as refusal:
        web.delete(made.id_token)
    assert refusal.metadata["confirmed"] == "required"
    begun = web.start_flow("oidc.corp", BACK, purpose=types.PROOF_PURPOSE_LINK, id_token=made.id_token)
    with expect_failure(StatusCode.FAILED_PRECONDITION, "REQUIRES_RECENT_LOGIN"):
        web.link(made.id_token, response(begun, simulator.walk(begun.authorization_url, ada)))


def test_a_flow_completes_a_pending_credential(simulator: Simulator, web: Client, ada: Person) -> None:
    """Twitter meets Google: the conflict that app developers know, through both providers' pages."""
    google = web.start_flow("google.com", BACK)
    account = session(web.sign_in(response(google, simulator.walk(google.authorization_url, ada)))).account
    twitter = web.start_flow("twitter.com", BACK)
    exists = web.sign_in(response(twitter, simulator.walk(twitter.authorization_url, ada))).account_exists
    assert exists.email == ada.email and exists.provider_credential.secret
    assert list(web.fetch(pending_token=exists.pending_token).sign_in_methods) == ["google.com"]
    again = web.start_flow("google.com", BACK)
    done = session(web.sign_in(
        response(again, simulator.walk(again.authorization_url, ada)), pending_token=exists.pending_token))
    assert done.account.account_id == account.account_id
    assert {each.provider_id for each in done.account.providers} == {"google.com", "twitter.com"}


@pytest.mark.parametrize("provider_id", ["google.com", "github.com", "twitter.com", "facebook.com", "discord.com"])
def test_the_tokens_that_a_flow_returned_are_a_valid_credential(
        simulator: Simulator, web: Client, ada: Person, provider_id: str) -> None:
    started = web.start_flow(provider_id, BACK)
    made = session(web.sign_in(response(started, simulator.walk(started.authorization_url, ada))))
    shown = made.provider_credential
    assert bool(shown.secret) == (provider_id == "twitter.com")
    kept = provider(provider_id, "", access_token=shown.access_token, token_secret=shown.secret)
    # They are the provider's and valid as long as it says, not only once like the flow's code.
    for _ in range(2):
        again = session(web.sign_in(kept))
        assert again.account.account_id == made.account.account_id and not again.is_new_account
    assert web.reauthenticate(made.id_token, kept).account.account_id == made.account.account_id


@pytest.mark.parametrize("provider_id", ["google.com", "apple.com", "oidc.corp"])
def test_the_id_token_that_a_flow_returned_is_invalid_without_the_flows_nonce(
        simulator: Simulator, web: Client, ada: Person, provider_id: str) -> None:
    """Its nonce is the flow's own and not part of the flow's answer, so the token alone is useless."""
    started = web.start_flow(provider_id, BACK)
    shown = session(web.sign_in(response(started, simulator.walk(started.authorization_url, ada)))).provider_credential
    for presented in (provider(provider_id, shown.id_token),
                      provider(provider_id, shown.id_token, access_token=shown.access_token),
                      provider(provider_id, shown.id_token, raw_nonce=fresh_email())):
        with expect_failure(StatusCode.UNAUTHENTICATED, "MISSING_OR_INVALID_NONCE"):
            web.sign_in(presented)


def test_a_flow_id_is_not_a_pending_token(web: Client) -> None:
    email = fresh_email()
    web.create(email)
    started = web.start_flow("github.com", BACK)
    mismatch = (StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_MISMATCH")
    with expect_failure(*mismatch):
        web.sign_in(password(email), pending_token=started.flow_id)
    with expect_failure(*mismatch):
        web.sign_in(held(started.flow_id))
    with expect_failure(*mismatch):
        web.fetch(pending_token=started.flow_id)


def test_a_repeated_call_succeeds_although_its_flow_is_used(
        simulator: Simulator, web: Client, ada: Person) -> None:
    started = web.start_flow("github.com", BACK)
    credential = response(started, simulator.walk(started.authorization_url, ada))
    key = fresh_email()
    first = session(web.sign_in(credential, idempotency_key=key))
    again: auth.SignInResponse = web.sign_in(credential, idempotency_key=key)
    assert again.session.account.account_id == first.account.account_id and again.session.is_new_account
    assert not again.session.provider_credential.access_token
