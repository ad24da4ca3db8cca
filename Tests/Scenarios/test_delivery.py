"""Delivery of emails and text messages: to files, through a relay, through a webhook, and failures of these."""

from __future__ import annotations

import json
import secrets
import socket
import stat
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import outbox
import pytest
import verification
from clients import PAGE, Client, assertion, conflict, fresh_email, session
from configuration import Settings
from latchkey.v1 import types_pb2 as types
from metrics import ON_A_FREE_PORT, eventually
from ports import free_port
from processes import LATCHKEYD, Server, Simulator, write
from receivers import PASSWORD, STAGES, USER, Relay, SlowRelay, Webhook, document
from waiting import comes_true, until

WAITING, BURIED, SENT = "latchkey_deliveries_waiting", "latchkey_deliveries_buried", "latchkey_deliveries_total"
SECRETS = ("s" * 40, "t" * 40)
# As fast as possible, for tests of the second attempt.
QUICKLY = {"attempt_seconds": 2, "retry_seconds": 3, "retry_max_seconds": 3}
# For all others, which a busy machine must not give a second attempt.
PATIENTLY = {"attempt_seconds": 60, "retry_seconds": 61, "retry_max_seconds": 61}


def by_relay(relay: Relay | SlowRelay, **more: Settings | str | int) -> Settings:
    (relay.folder / "relay.password").write_text(PASSWORD + "\n")
    return {"mail": "smtp", "text_messages": "off", "ca_file": "authority.pem", "allow_private_addresses": True,
            **PATIENTLY, **more,
            "smtp": {"host": "localhost", "port": relay.port, "user": USER, "password_file": "relay.password",
                     "from": "no-reply@latchkey.example", "from_name": "Latchkey Prüfung"}}


def by_webhook(hook: Webhook) -> Settings:
    for name, secret in zip(("hook.secret", "hook.second"), SECRETS):
        (hook.folder / name).write_text(secret)
    return {"mail": "webhook", "text_messages": "webhook", "ca_file": "authority.pem",
            "allow_private_addresses": True, **QUICKLY,
            "webhook": {"url": hook.url, "secret_file": "hook.secret", "second_secret_file": "hook.second"}}


def told_of_a_link(client: Client, simulator: Simulator) -> str:
    """Makes an account with a verified address and links a provider, which sends a notice to the returned address."""
    email = fresh_email()
    begun = session(client.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    session(client.link(begun.id_token, assertion(simulator, "oidc.corp")))
    return email


# The outbox, and the recipients.


def test_check_84_the_verified_address_is_notified_of_a_link_and_an_unlink(
        server: Server, web: Client, simulator: Simulator) -> None:
    email = fresh_email()
    begun = session(web.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    linked = session(web.link(begun.id_token, assertion(simulator, "oidc.corp")))
    notice = outbox.wait_for(server, "linked", email)
    assert notice.channel == "mail" and notice.values == {"provider_id": "oidc.corp"}
    assert "oidc.corp" in notice.text and notice.subject == "A new way to sign in"
    web.unlink(linked.id_token, "oidc.corp")
    assert outbox.wait_for(server, "unlinked", email).values == {"provider_id": "oidc.corp"}


def test_check_84_a_link_during_a_sign_in_sends_a_notice_as_well(
        server: Server, web: Client, simulator: Simulator) -> None:
    email, subject = fresh_email(), secrets.token_hex(8)

    def trusted() -> types.Credential:
        return assertion(simulator, "oidc.trusted", email=email, email_verified=True, subject=subject)

    session(web.sign_in(trusted()))
    exists = conflict(web.sign_in(assertion(simulator, "oidc.corp", email=email)))
    session(web.sign_in(trusted(), pending_token=exists.pending_token))
    assert outbox.wait_for(server, "linked", email).values == {"provider_id": "oidc.corp"}


def test_only_its_owner_can_read_the_outbox_and_it_contains_complete_documents(
        server: Server, web: Client, simulator: Simulator) -> None:
    email = fresh_email()
    begun = session(web.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    session(web.link(begun.id_token, assertion(simulator, "oidc.corp")))
    message = outbox.wait_for(server, "linked", email)
    path = outbox.folder(server) / f"{message.id}.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert set(json.loads(path.read_text())) == {
        "channel", "id", "kind", "locale", "subject", "text", "to", "values"}


# The queue.

@dataclass
class HeldUp:
    """A server with one message, for a relay that is not running yet."""

    relay: Relay
    server: Server
    to: str

    def deliver(self) -> None:
        """Starts the relay and the server again, and the message arrives."""
        self.relay.start()
        self.server.launch()
        assert self.relay.wait()["To"] == self.to
        eventually(self.server, lambda seen: seen(WAITING) == 0)
        self.relay.stop()


@pytest.fixture
def held_up(folder: Path, serve: Callable[..., Server], connect: Callable[..., Client],
            simulator: Simulator) -> HeldUp:
    relay = Relay(folder)
    server = serve(delivery=by_relay(relay, **QUICKLY), metrics=ON_A_FREE_PORT)
    email = told_of_a_link(connect(server), simulator)
    eventually(server, lambda seen: seen(WAITING) == 1)
    return HeldUp(relay, server, email)


def test_a_message_survives_a_kill_before_it_was_sent(held_up: HeldUp) -> None:
    held_up.server.kill()
    held_up.deliver()


def test_a_message_without_a_transport_waits_until_the_server_has_one(held_up: HeldUp) -> None:
    server = held_up.server
    server.stop()
    delivery = server.settings["delivery"]
    server.settings["delivery"] = {"mail": "off", "text_messages": "off"}
    server.launch()
    # Longer than the pause between attempts and a check.
    time.sleep(5)
    assert server.rows("SELECT count(*) FROM deliveries WHERE buried_at IS NULL") == [(1,)]
    server.stop()
    server.settings["delivery"] = delivery
    held_up.deliver()


def test_a_server_whose_start_fails_sends_nothing(held_up: HeldUp) -> None:
    server = held_up.server
    server.kill()
    tried = server.rows("SELECT attempts FROM deliveries")
    # Waits until it is due again.
    time.sleep(4)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server.settings["metrics"] = {"address": "127.0.0.1", "port": taken.getsockname()[1]}
        for _ in range(3):
            with pytest.raises(RuntimeError, match="(?s)does not listen.*metrics"):
                server.launch()
    assert server.rows("SELECT attempts FROM deliveries") == tried
    server.settings["metrics"] = ON_A_FREE_PORT
    held_up.deliver()


# Email.

def test_a_link_from_an_email_signs_in(
        folder: Path, serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    relay = Relay(folder).start()
    client, email = connect(serve(delivery=by_relay(relay), policy=verification.POLICY)), fresh_email()
    client.send_email_link(email)
    mail = relay.wait()
    assert mail["To"] == email and mail["Subject"] == "Sign in"
    links = [word for word in mail.get_content().split() if word.startswith(PAGE)]
    query = parse_qs(urlsplit(links[0]).query)
    assert len(links) == 1 and query["mode"] == ["signIn"] and query["email"] == [email]
    made = session(client.sign_in(verification.email_link(email, query["code"][0])))
    assert made.is_new_account and made.account.email == email and made.account.email_verified
    relay.stop()


def test_an_email_is_sent_over_starttls_with_a_login_and_reads_back(
        folder: Path, serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    relay = Relay(folder).start()
    server = serve(delivery=by_relay(relay), metrics=ON_A_FREE_PORT)
    email = told_of_a_link(connect(server), simulator)
    mail = relay.wait()
    assert mail["To"] == email and mail["Subject"] == "A new way to sign in"
    assert mail["From"] == "Latchkey Prüfung <no-reply@latchkey.example>"
    assert mail["Message-ID"].endswith("@latchkey.example>") and mail["Date"].datetime
    assert mail["Auto-Submitted"] == "auto-generated"
    body = mail.get_body(("plain",))
    assert body is not None and "oidc.corp was added" in body.get_content()
    envelope = relay.envelopes[0]
    assert envelope.mail_from == "no-reply@latchkey.example" and envelope.rcpt_tos == [email]
    eventually(server, lambda seen: seen(SENT, kind="linked", transport="smtp", result="sent") == 1)
    # The line follows the count.
    until(lambda: '"message sent"' in server.log.read_text())
    told = server.log.read_text()
    assert email not in told and PASSWORD not in told
    relay.stop()


def test_a_temporary_error_of_a_relay_is_retried(
        folder: Path, serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    relay = Relay(folder, answers=["451 not now"]).start()
    server = serve(delivery=by_relay(relay, **QUICKLY), metrics=ON_A_FREE_PORT)
    email = told_of_a_link(connect(server), simulator)
    assert relay.wait()["To"] == email
    assert relay.attempts == 2
    eventually(server, lambda seen: seen(SENT, kind="linked", transport="smtp", result="failed") == 1)
    relay.stop()


def whys(server: Server) -> list[str]:
    """Waits for a log line, and returns the reasons why messages were not sent."""
    def told() -> list[str]:
        return [line["why"] for line in server.lines() if line["message"] == "message not sent yet"]

    until(told)
    return told()


def test_a_relay_that_rejects_the_sender_address_is_retried(
        folder: Path, serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    relay = Relay(folder, sender_answers=["550 not for you"]).start()
    server = serve(delivery=by_relay(relay, **QUICKLY), metrics=ON_A_FREE_PORT)
    email = told_of_a_link(connect(server), simulator)
    assert whys(server) == ["smtp 550"]
    assert relay.wait()["To"] == email
    relay.stop()


def test_a_mail_that_is_rejected_permanently_is_buried_and_counted(
        folder: Path, serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    relay = Relay(folder, answers=["550 no such mailbox"]).start()
    server = serve(delivery=by_relay(relay, **QUICKLY), metrics=ON_A_FREE_PORT)
    email = told_of_a_link(connect(server), simulator)
    seen = eventually(server, lambda seen: seen(BURIED) == 1)
    assert seen(SENT, kind="linked", transport="smtp", result="buried") == 1 and seen(WAITING) == 0
    time.sleep(4)
    assert relay.attempts == 1 and not relay.mails
    told = [line for line in server.lines() if line["message"] == "message given up"]
    assert [line["why"] for line in told] == ["refused: smtp 550"] and email not in server.log.read_text()
    [(reason, content_bytes)] = server.rows("SELECT buried_reason, length(sealed) FROM deliveries")
    assert reason == "refused: smtp 550"
    assert content_bytes > 0, "encrypted, and kept until the message expires"
    relay.stop()


def test_a_relay_that_stops_answering_costs_an_attempt_and_delays_no_call(
        folder: Path, serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    relay = Relay(folder, silent_seconds=5).start()
    server = serve(delivery=by_relay(relay, **QUICKLY), metrics=ON_A_FREE_PORT)
    client = connect(server)
    told_of_a_link(client, simulator)

    def fetched() -> float:
        begun = time.monotonic()
        client.fetch(email=fresh_email())
        return time.monotonic() - begun

    until(lambda: relay.attempts >= 1)
    # The fastest, because a busy machine delays calls as well.
    assert min(fetched() for _ in range(5)) < 1
    seen = eventually(server, lambda seen: seen(SENT, kind="linked", transport="smtp", result="failed") >= 1)
    assert seen(WAITING) == 1
    relay.stop()


def test_a_relay_that_stops_answering_delays_no_text_message(
        folder: Path, serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    relay, hook = Relay(folder, silent_seconds=120).start(), Webhook(folder).start()
    server = serve(
        delivery=by_relay(relay, text_messages="webhook", webhook=by_webhook(hook)["webhook"], concurrent_max=2),
        policy=verification.POLICY, metrics=ON_A_FREE_PORT)
    client, number = connect(server), verification.fresh_number()
    for _ in range(4):
        told_of_a_link(client, simulator)
    eventually(server, lambda seen: seen(WAITING) == 4 and relay.attempts == 1)
    client.send_phone_code(number)
    told = document(hook.wait()[0], *SECRETS)
    assert told["kind"] == "phone_code" and told["to"] == number and relay.attempts == 1
    server.kill()
    relay.stop()
    hook.stop()


@pytest.mark.parametrize("stage", STAGES)
def test_a_relay_that_is_slow_at_any_stage_delays_neither_other_mails_nor_text_messages(
        stage: str, folder: Path, serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    relay, hook = SlowRelay(folder, stage, seconds=120).start(), Webhook(folder).start()
    server = serve(
        delivery=by_relay(relay, text_messages="webhook", webhook=by_webhook(hook)["webhook"]),
        policy=verification.POLICY, metrics=ON_A_FREE_PORT)
    client = connect(server)
    for _ in range(16):
        client.send_email_link(fresh_email())
    # Eight wait at a time, not one.
    until(lambda: len(relay.delayed) == 8)
    client.send_phone_code(verification.fresh_number())
    hook.wait()
    assert len(relay.delayed) == 8, "the text message waits for no mail"
    relay.released.set()
    assert comes_true(lambda: len(relay.mails) >= 16, 60), f"{len(relay.mails)} mails came"
    relay.stop()
    hook.stop()


def test_a_relay_that_blocks_a_thread_when_the_server_stops_is_reported(
        folder: Path, serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    relay = SlowRelay(folder, "end of DATA", seconds=60).start()
    server = serve(delivery=by_relay(relay), policy=verification.POLICY, limits={"drain_seconds": 1})
    connect(server).send_email_link(fresh_email())
    until(lambda: len(relay.contents) == 1)
    server.signal()
    assert server.wait() == 1, "before the relay answers"
    [told] = [line for line in server.lines() if line["message"] == "a part does not end"]
    assert (told["part"], told["phase"]) == ("delivery", "stop")
    assert told["why"] == "an attempt to send a message is still in progress"
    relay.stop()


def test_a_flood_of_notices_is_merged_and_delays_no_link(
        folder: Path, serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    relay = SlowRelay(folder, "end of DATA", seconds=1).start()
    server = serve(delivery=by_relay(relay), policy=verification.POLICY, metrics=ON_A_FREE_PORT)
    client = connect(server)
    # Many accounts, so that the notices differ, and many equal ones of one account.
    for _ in range(20):
        told_of_a_link(client, simulator)
    email = fresh_email()
    begun = session(client.sign_in(assertion(simulator, "oidc.trusted", email=email, email_verified=True)))
    for _ in range(30):
        linked = session(client.link(begun.id_token, assertion(simulator, "oidc.corp")))
        begun = client.unlink(linked.id_token, "oidc.corp")
    waiting = fresh_email()
    client.send_email_link(waiting)
    before = len(relay.contents)
    until(lambda: any(waiting.encode() in each for each in relay.contents))
    ahead = [waiting.encode() in each for each in relay.contents].index(True) - before
    assert ahead <= 16, "only notices that were being sent come first"
    seen = eventually(server, lambda seen: seen(WAITING) == 0)
    to_one = sum(email.encode() in each for each in relay.contents)
    assert 2 <= to_one <= 40
    assert seen("latchkey_notices_merged_total") + seen(
        "latchkey_refusals_total", limit="notices_per_account") == 60 - to_one
    relay.stop()


@pytest.mark.parametrize("fault", ["no STARTTLS", "another authority", "wrong password", "another host"])
def test_nothing_is_sent_to_a_relay_without_a_trusted_certificate_or_a_login(
        fault: str, folder: Path, serve: Callable[..., Server], connect: Callable[..., Client],
        simulator: Simulator) -> None:
    # The certificate is for localhost, 127.0.0.1 and ::1.
    relay, delivery = Relay(folder, address="127.0.0.2" if fault == "another host" else "127.0.0.1"), {}
    if fault == "no STARTTLS":
        relay.start(with_tls=False, with_login=False)
    else:
        relay.start()
    if fault == "another authority":
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", folder / "other.key", "-out", folder / "other.pem", "-subj", "/CN=other"],
                       check=True, capture_output=True)
        delivery["ca_file"] = "other.pem"
    settings = by_relay(relay, **delivery)
    if fault == "wrong password":
        (folder / "wrong.password").write_text("another one")
        settings["smtp"]["password_file"] = "wrong.password"
    if fault == "another host":
        settings["smtp"]["host"] = "127.0.0.2"
    server = serve(delivery=settings, metrics=ON_A_FREE_PORT)
    told_of_a_link(connect(server), simulator)
    seen = eventually(server, lambda seen: seen(SENT, kind="linked", transport="smtp", result="failed") >= 1)
    assert seen(WAITING) == 1 and not relay.mails and relay.attempts == 0
    if fault == "wrong password":
        assert set(whys(server)) == {"smtp 535"}
    relay.stop()


def test_plain_text_is_sent_to_loopback_only(
        folder: Path, serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    relay = Relay(folder).start(with_tls=False, with_login=False)
    settings = by_relay(relay)
    settings["smtp"] |= {"security": "none", "user": "", "password_file": ""}
    server = serve(delivery=settings, metrics=ON_A_FREE_PORT)
    email = told_of_a_link(connect(server), simulator)
    assert relay.wait()["To"] == email
    relay.stop()


# The webhook.

def test_a_webhook_gets_signed_messages_and_retries_until_it_accepts_them(
        folder: Path, serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    hook = Webhook(folder, answers=[500, 429, 0]).start()
    server = serve(delivery=by_webhook(hook), metrics=ON_A_FREE_PORT)
    email = told_of_a_link(connect(server), simulator)
    posts = hook.wait(4)
    told = [document(post, *SECRETS) for post in posts]
    assert all(each == told[0] for each in told) and told[0]["to"] == email and told[0]["kind"] == "linked"
    # Counted before the queue removes it.
    seen = eventually(server, lambda seen: seen(SENT, kind="linked", transport="webhook", result="sent") == 1
                      and seen(WAITING) == 0)
    assert seen(SENT, kind="linked", transport="webhook", result="failed") == 3
    hook.stop()


def test_a_message_that_the_webhook_rejects_is_buried_immediately(
        folder: Path, serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    hook = Webhook(folder, answers=[400]).start()
    server = serve(delivery=by_webhook(hook), metrics=ON_A_FREE_PORT)
    told_of_a_link(connect(server), simulator)
    eventually(server, lambda seen: seen(BURIED) == 1)
    time.sleep(4)
    assert len(hook.posts) == 1
    hook.stop()


def test_a_webhook_gets_its_messages_after_an_outage(
        folder: Path, serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    hook = Webhook(folder)
    server = serve(delivery=by_webhook(hook), metrics=ON_A_FREE_PORT)
    told_of_a_link(connect(server), simulator)
    eventually(server, lambda seen: seen(SENT, kind="linked", transport="webhook", result="failed") >= 1)
    hook.start()
    document(hook.wait()[0], *SECRETS)
    hook.stop()


# Texts.

def test_the_operators_templates_are_sent_as_text_and_html(
        folder: Path, serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    templates = folder / "templates" / "en"
    templates.mkdir(parents=True)
    (templates / "linked.txt").write_text("Subject: Neu: {{provider_id}}\n\nGrüße an {{to}}")
    (templates / "linked.html").write_text("<b>{{provider_id}}</b>")
    relay = Relay(folder).start()
    server = serve(delivery=by_relay(relay, template_folder="templates"))
    email = told_of_a_link(connect(server), simulator)
    mail = relay.wait()
    assert mail["Subject"] == "Neu: oidc.corp" and mail.get_content_type() == "multipart/alternative"
    plain, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert plain is not None and plain.get_content().strip() == f"Grüße an {email}"
    assert html is not None and html.get_content().strip() == "<b>oidc.corp</b>"
    relay.stop()


def test_a_template_with_a_mistake_stops_the_check_of_the_configuration(
        folder: Path, server: Server) -> None:
    templates = folder / "broken-templates" / "en"
    templates.mkdir(parents=True)
    (templates / "linked.txt").write_text("Subject: s\n\n{{nothing}}")
    broken = Server(folder, free_port(), {
        **server.settings, "delivery": {**server.settings["delivery"], "template_folder": "broken-templates"}})
    checked = subprocess.run([LATCHKEYD, "--config", write(broken), "--check-config"], capture_output=True, text=True)
    assert checked.returncode == 78
    assert "delivery.template_folder" in checked.stderr and "{{nothing}}" in checked.stderr
