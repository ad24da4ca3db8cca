"""The contents of an email or text message, as the credential or code that a client makes of it."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import outbox
from clients import PAGE, Client
from configuration import Settings
from latchkey.v1 import types_pb2 as types
from processes import Server

# Enables everything that sends codes.
POLICY: Settings = {"phone": True, "email_link": True}


def fresh_number() -> str:
    return f"+4915{secrets.randbelow(10**9):09}"


def phone_code(verification_id: str, code: str) -> types.Credential:
    return types.Credential(phone_code=types.PhoneCodeCredential(verification_id=verification_id, code=code))


def email_link(email: str, code: str) -> types.Credential:
    return types.Credential(email_link=types.EmailLinkCredential(email=email, code=code))


def arriving(server: Server, kind: str, to: str, send: Callable[[], Any]) -> tuple[Any, outbox.Message]:
    """The answer to the call that sends a message, and the message."""
    before = len(outbox.messages(server, kind, to))
    answer = send()
    return answer, outbox.wait_for(server, kind, to, count=before + 1)


def code_in(message: outbox.Message, mode: str) -> str:
    """The code of the link in an email. The link opens the caller's page, and names its recipient and purpose."""
    link = message.values["link"]
    parts = urlsplit(link)
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == PAGE and link in message.text
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    assert query["mode"] == mode and query["email"] == message.to
    return query["code"]


def by_phone(server: Server, client: Client, number: str, **fields: Any) -> types.Credential:
    """A code, as the owner of the phone reads it."""
    sent, message = arriving(server, "phone_code", number, lambda: client.send_phone_code(number, **fields))
    assert message.channel == "text_message" and message.values["code"] in message.text
    return phone_code(sent.verification_id, message.values["code"])


def by_mail(server: Server, client: Client, email: str, **fields: Any) -> types.Credential:
    """A sign-in link, as the owner of the mailbox follows it."""
    _, message = arriving(server, "email_link", email, lambda: client.send_email_link(email, **fields))
    return email_link(email, code_in(message, "signIn"))


def sign_up_code(server: Server, client: Client, email: str) -> str:
    _, message = arriving(server, "sign_up", email, lambda: client.ask_to_create(email))
    return code_in(message, "signUp")


def reset_code(server: Server, client: Client, email: str) -> str:
    _, message = arriving(server, "reset_password", email, lambda: client.send_password_reset(email))
    return code_in(message, "resetPassword")


def verification_code(server: Server, client: Client, email: str, id_token: str) -> str:
    _, message = arriving(server, "verify_email", email, lambda: client.send_email_verification(id_token))
    return code_in(message, "verifyEmail")


def change_code(server: Server, client: Client, new_email: str, id_token: str) -> str:
    _, message = arriving(server, "change_email", new_email, lambda: client.send_email_change(id_token, new_email))
    return code_in(message, "changeEmail")
