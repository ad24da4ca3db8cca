"""Answered changes survive a stop, a kill, and a kill under load."""

from __future__ import annotations

import threading
from collections.abc import Callable

import databases
import grpc
import pytest
from clients import Client, anonymous, assertion, conflict, fresh_email, password, provider_ids, session
from failures import expect_failure
from grpc import StatusCode
from ports import free_port
from processes import Server, Simulator


def test_a_pending_credential_survives_a_kill_between_conflict_and_completion(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    server = serve()
    client = connect(server)
    email = fresh_email()
    client.create(email)
    company = assertion(simulator, "oidc.corp", email=email)
    exists = conflict(client.sign_in(company))
    server.kill()
    server.launch()
    client = connect(server)
    assert client.fetch(pending_token=exists.pending_token).pending.email == email
    linked = session(client.sign_in(password(email), pending_token=exists.pending_token))
    assert provider_ids(linked.account) == {"password", "oidc.corp"}
    server.kill()
    server.launch()
    client = connect(server)
    again = session(client.sign_in(company))
    assert again.account.account_id == linked.account.account_id
    assert client.refresh(linked.refresh_token).session_id == linked.session_id


def test_another_master_key_cannot_open_earlier_rows(
        serve: Callable[..., Server], connect: Callable[..., Client], simulator: Simulator) -> None:
    """The sealing key is not in the database: a stolen database is not enough to complete its rows (check 17)."""
    server = serve()
    client = connect(server)
    email = fresh_email()
    client.create(email)
    exists = conflict(client.sign_in(assertion(simulator, "oidc.corp", email=email)))
    server.stop()
    other = server.folder / "other-master.key"
    other.write_text("5a" * 32)
    other.chmod(0o600)
    server.settings["secrets"] = {"master_key_files": [other.name]}
    try:
        server.launch()
    except RuntimeError:
        return  # Not starting on a database that was sealed with another key is better.
    with expect_failure(StatusCode.FAILED_PRECONDITION, "PENDING_CREDENTIAL_MISMATCH"):
        connect(server).sign_in(password(email), pending_token=exists.pending_token)


def test_every_change_answered_before_a_kill_under_load_exists_afterwards(
        serve: Callable[..., Server], connect: Callable[..., Client]) -> None:
    server = serve()
    answered: list[str] = []
    enough = threading.Event()

    def sign_people_in(client: Client) -> None:
        while True:
            try:
                answered.append(session(client.sign_in(anonymous())).refresh_token)
            except grpc.RpcError:
                return
            if len(answered) >= 200:
                enough.set()

    threads = [threading.Thread(target=sign_people_in, args=(connect(server),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert enough.wait(60)
    server.kill()
    for thread in threads:
        thread.join()
    server.launch()
    client = connect(server)
    for refresh_token in answered:
        assert client.refresh(refresh_token).account.anonymous


@pytest.mark.skipif(databases.ON_POSTGRES, reason="several servers share a database there")
def test_a_second_server_on_the_same_database_does_not_start(serve: Callable[..., Server]) -> None:
    """SQLite of Debian 12 is safe with one writing process only, so the second one must not start."""
    first = serve()
    port = free_port()
    with_same_store = Server(first.folder, port, {
        **first.settings, "listen": {**first.settings["listen"], "port": port}})
    try:
        with_same_store.launch()
    except RuntimeError as refused:
        assert "store.path" in str(refused)
        assert with_same_store.wait() == 1, "the first one may be about to end"
    else:
        raise AssertionError("two servers write to one database")
    finally:
        with_same_store.stop()
