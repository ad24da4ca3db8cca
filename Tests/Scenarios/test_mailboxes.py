"""Email addresses that not every relay accepts: non-ASCII local parts, and those of Japanese mobile providers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clients import PAGE, Client, assertion, fresh_email, session
from failures import expect_failure
from grpc import StatusCode
from latchkey.v1 import types_pb2 as types
from processes import Server, Simulator
from receivers import Relay
from test_delivery import by_relay
from verification import POLICY

INVALID_EMAIL = (StatusCode.INVALID_ARGUMENT, "INVALID_EMAIL")


def fresh(local: str, domain: str = "example.com") -> str:
    return fresh_email().split("@")[0] + local + "@" + domain


def relayed(relay: Relay, **smtp: Any) -> dict[str, Any]:
    delivery = by_relay(relay)
    delivery["smtp"] |= smtp
    return delivery


def test_an_address_beyond_ascii_gets_its_email_if_the_relay_offers_smtputf8(
        folder: Path, serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    relay = Relay(folder).start()
    client, email = connect(serve(delivery=relayed(relay, smtputf8=True), policy=POLICY)), fresh("é")
    assert client.create(email).account.email == email
    client.send_password_reset(email)
    relay.wait()
    envelope = relay.envelopes[0]
    assert envelope.rcpt_tos == [email] and "SMTPUTF8" in envelope.mail_options
    relay.stop()


def test_without_smtputf8_only_a_provider_may_assert_an_address_beyond_ascii(
        folder: Path, serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    relay = Relay(folder).start()
    client, email = connect(serve(delivery=relayed(relay), policy=POLICY)), fresh("é")
    made = client.create(fresh_email())
    for field, call in [
        ("email", lambda: client.create(email)), ("email", lambda: client.send_email_link(email)),
        ("email", lambda: client.send_password_reset(email)),
        ("new_email", lambda: client.send_email_change(made.id_token, email)),
        ("account.email", lambda: client.update(made.id_token, "email", account=types.Account(email=email))),
    ]:
        with expect_failure(*INVALID_EMAIL, field=field):
            call()
    begun = session(client.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    assert begun.account.email == email
    assert relay.mails == []
    relay.stop()


@pytest.mark.parametrize(("local", "domain"), [("..b", "docomo.ne.jp"), (".", "ezweb.ne.jp"), ("...c.", "au.com")])
def test_a_mailbox_of_a_japanese_mobile_provider_has_an_account_and_gets_its_mail(
        folder: Path, serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator, local: str,
        domain: str) -> None:
    relay = Relay(folder).start()
    client, email = connect(serve(delivery=relayed(relay), policy=POLICY)), fresh(local, domain)
    assert client.create(email).account.email == email
    asserted = fresh(local, domain)
    begun = session(client.sign_in(assertion(simulator, "oidc.trusted", email=asserted, email_verified=True)))
    assert begun.account.email == asserted
    client.send_password_reset(email)
    relay.wait()
    # The relay removes the quotes of RCPT.
    assert relay.envelopes[0].rcpt_tos == [email]
    assert 'To: <"{}"@{}>'.format(*email.split("@")).encode() in relay.envelopes[0].content
    relay.stop()
