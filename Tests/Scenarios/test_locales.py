"""The language of messages: each spelling of a locale selects a language, and an unknown one the default."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from clients import Client
from processes import Server
from verification import arriving, fresh_number


@pytest.mark.parametrize("locale", ["de_AT", "de-AT", "de_AT.UTF-8", "de", "fr_FR", "../../etc/passwd", ""])
def test_a_locale_selects_a_language_and_never_prevents_the_message(
        mailing: Server, connect: Callable[..., Client], locale: str) -> None:
    web, number = connect(mailing), fresh_number()
    _, message = arriving(mailing, "phone_code", number, lambda: web.send_phone_code(number, locale=locale))
    assert message.subject == ("Ihr Code" if locale.startswith("de") else "Your code")
    assert ("Er gilt 10 Minuten." if locale.startswith("de") else "It is valid for 10 minutes.") in message.text
