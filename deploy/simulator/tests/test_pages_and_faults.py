"""The pages for users, the commands, and the faults of the transport."""

from __future__ import annotations

import http.client
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from conftest import CALLBACK, Running
from protocols.people import Person
from relying import Relying, altered

TOKEN = "/discord/api/oauth2/token"


def test_the_login_page_knows_who_was_here_before_and_shows_nothing_unescaped(simulator: Running) -> None:
    client = Relying(simulator, "discord")
    name = '<script>alert("x")</script>'
    client.callback(Person("mallory", name, '"><img src=x>@example.com'))
    page = client.session.get(client.url(login_hint="<b>@example.com"), withhold_token=True).text
    assert 'value="mallory"' in page and "<script>" not in page and "<img" not in page and "<b>@" not in page
    answer = client.session.post(client.url(), withhold_token=True, allow_redirects=False,
                                 data={"person": "mallory"})
    assert answer.status_code == 302 and answer.headers["location"].startswith(CALLBACK)
    nobody = client.session.post(client.url(), withhold_token=True, data={"person": "stranger"})
    assert nobody.status_code == 400 and "stranger" in nobody.text


def test_the_landing_page_shows_the_whole_callback_uri_of_a_redirect_and_of_a_form_post(simulator: Running) -> None:
    landing, http = simulator.base + "/callback", simulator.http()
    assert landing + "?code=a&amp;state=b" in http.get(landing + "?code=a&state=b").text
    assert landing + "?code=c" in http.post(landing, data={"code": "c"}).text


def test_one_command_walks_a_flow_and_another_issues_a_token(simulator: Running) -> None:
    client = Relying(simulator, "github")
    person = ("--person", "carol", "--email", "carol@example.com", "--verified")
    callback = simulator.command("authorize", "--ca", simulator.authority, "--url", client.url(), *person)
    assert callback.startswith(CALLBACK + "?code=")
    denied = simulator.command("authorize", "--ca", simulator.authority, "--url", client.url(), *person, "--deny")
    assert "error=access_denied" in denied
    with pytest.raises(RuntimeError, match="invalid_request"):
        simulator.command("authorize", "--ca", simulator.authority, "--url", client.authorization_endpoint, *person)
    token = json.loads(simulator.command("token", "--issuer", "github", *person))["access_token"]
    user = simulator.http().get(client.base + "/user", headers={"Authorization": f"Bearer {token}"})
    assert user.json()["login"] == "carol"
    pair = json.loads(simulator.command("token", "--issuer", "twitter", "--oauth1", *person))
    assert pair.keys() == {"access_token", "token_secret"}
    assert "/github/login/oauth/access_token" in simulator.command("endpoints")


def test_a_reset_a_slow_answer_and_an_error_in_200(simulator: Running) -> None:
    url = simulator.base + "/oauth2.plain/userinfo"
    with simulator.fault("oauth2.plain", "userinfo", "reset"), pytest.raises(requests.ConnectionError):
        simulator.http().get(url)
    with simulator.fault("oauth2.plain", "userinfo", "slow"):
        begun = time.monotonic()
        assert simulator.http().get(url).status_code == 401
        assert time.monotonic() - begun >= 2
    with simulator.fault("oauth2.plain", "userinfo", "error-in-200"):
        answer = simulator.http().get(url)
        assert (answer.status_code, answer.json()["error"]) == (200, "server_error")
    with simulator.fault("oauth2.plain", "userinfo", "redirect-private"):
        answer = simulator.http().get(url, allow_redirects=False)
        assert answer.headers["location"].startswith("https://169.254.169.254/")


def test_any_json_can_be_altered(simulator: Running) -> None:
    with altered(simulator, "corp", "discovery", {"issuer": "https://evil.example", "userinfo_endpoint": None}):
        said = json.loads(simulator.get("/corp/.well-known/openid-configuration"))
    assert said["issuer"] == "https://evil.example" and "userinfo_endpoint" not in said and "jwks_uri" in said


def test_the_request_log_has_names_and_no_parameters(simulator: Running, ada: Person) -> None:
    log = simulator.folder / "requests.log"
    before = len(log.read_text().splitlines())
    client = Relying(simulator, "discord")
    client.tokens(ada)
    client.get("/api/users/@me")
    client.session.get(client.base + "/elsewhere?access_token=secret")
    assert log.read_text().splitlines()[before:] == [
        "discord authorize", "discord authorize", "discord token", "discord users_me", "discord -"]


def test_a_body_too_large_or_of_unknown_length_is_refused(simulator: Running) -> None:
    assert simulator.http().post(simulator.base + TOKEN, data=b"x" * 64 * 1024).status_code != 413
    for field, value in (("Content-Length", "65537"), ("Content-Length", "-1"), ("Transfer-Encoding", "chunked")):
        # The request fails before any of its body is sent.
        connection = http.client.HTTPSConnection(simulator.base.removeprefix("https://"), context=simulator.trust)
        connection.putrequest("POST", TOKEN)
        connection.putheader(field, value)
        connection.endheaders()
        assert connection.getresponse().status == 413
        connection.close()


def test_silent_connections_hold_nobody_up(simulator: Running) -> None:
    host, port = simulator.base.removeprefix("https://").split(":")
    silent = [socket.create_connection((host, int(port))) for _ in range(300)]
    try:
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: simulator.get("/corp/jwks"), range(40)))
        assert len(set(answers)) == 1
    finally:
        for each in silent:
            each.close()


def test_connections_are_kept_open_for_the_next_request(simulator: Running) -> None:
    host, port = simulator.base.removeprefix("https://").split(":")
    raw = socket.create_connection((host, int(port)))
    with simulator.trust.wrap_socket(raw, server_hostname=host) as secure:
        for _ in range(2):
            secure.sendall(f"GET /corp/nothing HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert secure.recv(65536).startswith(b"HTTP/1.1 404")
