"""What the server writes about its calls: JSON lines that name the caller and hold no secret."""

from __future__ import annotations

from clients import PASSWORD, Client, fresh_email, password, provider, session
from processes import Server, Simulator


def test_the_log_is_json_lines_and_names_the_address_once_it_takes_calls(server: Server) -> None:
    text = server.log.read_text()
    assert all(line.startswith("{") for line in text.splitlines())
    listening = [line for line in server.lines() if line["message"] == "listening"]
    assert [line["address"] for line in listening] == [f"127.0.0.1:{server.port}"]


def test_no_log_line_holds_a_password_a_token_or_a_key(server: Server, web: Client, simulator: Simulator) -> None:
    email = fresh_email()
    made = web.create(email)
    token = simulator.token("oidc.corp", email=email)
    exists = web.sign_in(provider("oidc.corp", token)).account_exists
    linked = session(web.sign_in(password(email), pending_token=exists.pending_token))
    refreshed = web.refresh(linked.refresh_token)
    text = server.log.read_text()
    for secret in (PASSWORD, token, exists.pending_token, made.id_token, made.refresh_token, linked.id_token,
                   refreshed.refresh_token, "lk_"):
        assert secret not in text
