"""Abuse ends its own connection with a reason, and no other. Clients that repeat it too often are locked out."""

from __future__ import annotations

import contextlib
import resource
import socket
import ssl
import time
from collections import Counter
from pathlib import Path
from typing import Callable

import pytest
from hyperframe import frame as frames

from attacker import ATTACKS, Attacker
import attacks
from frame_attacks import opened
from key_updates import closed_after, connect, key_updates
from metered import Metered
from processor_time import processor_seconds
from raw import (DATA, END_HEADERS, END_STREAM, INITIAL_WINDOW_SIZE, PING, Connection, frame, message, request, reset,
                 settings, window_update)
from renegotiation import Asker
from server import Server
from test_abuse import MEBIBYTE, memory
from test_limits import takes_another
from test_response_rules import settled
from waiting import until

OK, RESOURCE_EXHAUSTED, UNIMPLEMENTED = 0, 8, 12
MESSAGE_BYTES_MAX, HELD_BYTES_MAX, HELD_BYTES_PER_REACTOR_MAX = 65536, 1 << 20, 128 << 20
UNSENT_BYTES_MAX = 262_144

pytestmark = pytest.mark.latchkey_only("the load on the C core is not tested")


@pytest.fixture(scope="module")
def hostile(folder: Path) -> object:
    """A server for this module that tolerates violations, so that each test can cause its own."""
    import server as servers
    running = servers.start(folder, offences_per_address_max=1_000_000, answer_still_seconds=1, answer_seconds=2)
    yield running
    assert running.process.poll() is None
    running.stop()


def met(server: Server, *names: str) -> Counter[str]:
    """The results of one round of each attack. Another client is served, and the server's memory stays the same."""
    attacker, before = Attacker(server.port, patience_seconds=8), memory(server)
    attacker.until = time.monotonic() + 60
    with Connection(server.port) as other:
        for name in names:
            ATTACKS[name](attacker)
            assert other.call().status == OK
    assert memory(server) - before < 32 * MEBIBYTE
    return attacker.met


def test_check_110_ten_thousand_stream_resets_end_their_connection_only(hostile: Server) -> None:
    with Connection(hostile.port) as other:
        hasty = settled(Connection(hostile.port))
        head = opened(hasty)
        for _ in range(200):
            hasty.write(*[head(stream) + reset(stream) for stream in [hasty.stream() for _ in range(50)]])
        assert hasty.until(frames.GoAwayFrame).additional_data == b"too_many_resets"
        assert hasty.until(frames.DataFrame) is None, "and closed"
        assert [other.call().status for _ in range(20)] == [OK] * 20


def test_check_110_resets_that_a_client_provokes_end_its_connection_only(hostile: Server) -> None:
    assert met(hostile, "made_you_reset_by_window", "made_you_reset_by_length") == {"too_many_stream_errors": 2}


def test_check_111_endless_continuations_and_a_megabyte_of_headers_get_a_goaway(hostile: Server) -> None:
    words = met(hostile, "continuation_flood", "empty_continuations", "header_block_of_a_megabyte")
    assert words == {"too_many_continuations": 3}


def test_check_111_an_hpack_bomb_gets_a_goaway(hostile: Server) -> None:
    assert met(hostile, "hpack_bomb") == {"header_list_bomb": 1}


def test_check_111_a_ping_flood_gets_a_goaway(hostile: Server) -> None:
    assert met(hostile, "ping_flood") == {"too_many_pings": 1}


def test_check_111_answers_behind_a_window_that_stays_closed_get_a_goaway(hostile: Server) -> None:
    assert met(hostile, "zero_window", "window_byte_by_byte") == {"too_many_untaken_answers": 2}


def hold_part(connection: Connection, bytes_: int) -> int:
    """A call with this many bytes of its message, including the header; a few bytes are missing."""
    stream, body = connection.stream(), message(bytes(bytes_), length=MESSAGE_BYTES_MAX)[:bytes_]
    connection.write(connection.headers(stream, request()),
                     *[frame(DATA, 0, stream, body[at:at + 16384]) for at in range(0, len(body), 16384)])
    return stream


def test_parts_of_messages_are_stored_up_to_the_limit_and_rejected_past_it(hostile: Server) -> None:
    with settled(Connection(hostile.port)) as connection:
        held = [hold_part(connection, MESSAGE_BYTES_MAX) for _ in range(HELD_BYTES_MAX // MESSAGE_BYTES_MAX)]
        connection.write(frame(PING, 0, 0, b"all held"))
        while not isinstance(got := connection.read(), frames.PingFrame):
            assert not isinstance(got, frames.HeadersFrame | frames.RstStreamFrame), "the limit itself is allowed"
        assert connection.reply(hold_part(connection, 1)).status == RESOURCE_EXHAUSTED
        connection.write(*[reset(stream) for stream in held])
        assert connection.call().status == OK
        assert connection.call().status == OK, "the held memory is released"


def test_parts_of_messages_of_all_connections_together_have_a_limit_too(start_server: Callable[..., Server]) -> None:
    server = start_server(reactors=1, request_millis=60_000)
    with contextlib.ExitStack() as held, settled(Connection(server.port)) as late:
        for _ in range(HELD_BYTES_PER_REACTOR_MAX // HELD_BYTES_MAX):
            connection = settled(held.enter_context(Connection(server.port)))
            for _ in range(HELD_BYTES_MAX // MESSAGE_BYTES_MAX):
                hold_part(connection, MESSAGE_BYTES_MAX)
            connection.write(frame(PING, 0, 0, b"all held"))
            while not isinstance(got := connection.read(), frames.PingFrame):
                assert not isinstance(got, frames.HeadersFrame | frames.RstStreamFrame), "the limit itself is allowed"
        assert late.reply(hold_part(late, 1)).status == RESOURCE_EXHAUSTED
        assert late.call().status == OK, "a message in one piece is not held"
    with settled(Connection(server.port)) as after:
        part = hold_part(after, MESSAGE_BYTES_MAX - 1)
        after.write(frame(DATA, END_STREAM, part, b"a"))
        assert after.reply(part).status != RESOURCE_EXHAUSTED, "closed connections released their memory"


def test_calls_are_refused_once_more_than_256_kibibytes_of_answers_wait(start_server: Callable[..., Server]) -> None:
    with settled(Connection(start_server().port)) as connection:
        answer_bytes = len(connection.call(request(attacks.REFLECT), attacks.LIST_SERVICES).data)
        connection.write(settings((INITIAL_WINDOW_SIZE, 0)))
        # Two calls, since a single one would be reset when its answers exceed the limit.
        streams, answers = [connection.stream() for _ in range(2)], UNSENT_BYTES_MAX // answer_bytes
        connection.write(*[connection.headers(stream, request(attacks.REFLECT)) for stream in streams])
        for number in range(answers):
            connection.write(frame(DATA, 0, streams[number % 2], attacks.LIST_SERVICES))
        time.sleep(0.5)
        assert connection.call(request("/nowhere/Nothing")).status == UNIMPLEMENTED, "the limit itself is allowed"
        connection.write(frame(DATA, 0, streams[0], attacks.LIST_SERVICES))
        time.sleep(0.5)
        assert connection.call(request("/nowhere/Nothing")).status == RESOURCE_EXHAUSTED


def test_an_address_with_too_many_offences_is_refused_and_others_are_accepted(
        start_server: Callable[..., Server]) -> None:
    metered = Metered(start_server, offences_per_address_max=3)
    server, before = metered.server, Connection(metered.port)
    for _ in range(4):
        with settled(Connection(server.port)) as hasty:
            hasty.write(settings() * 12)
            assert hasty.until(frames.GoAwayFrame).additional_data == b"too_many_settings"
            assert hasty.until(frames.DataFrame) is None
    with pytest.raises((ssl.SSLError, ConnectionError)):
        Connection(server.port)
    assert metered.new("offences_per_address") == 1
    assert before.call().status == OK, "who is in stays in"
    with Connection(server.port, source="127.0.0.2") as other:
        assert other.call().status == OK


def test_without_descriptors_open_connections_are_still_served(start_server: Callable[..., Server]) -> None:
    metered = Metered(start_server)
    server = metered.server
    with settled(Connection(server.port)) as inside:
        taken = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
        soft, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (taken + 3, hard))
        outside = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(50)]
        for one in outside[10:]:
            # The server closes them one after another, and other tests run at the same time.
            one.settimeout(30)
            assert one.recv(1) == b"", "taken and closed"
        before = processor_seconds(server.process.pid)
        assert [inside.call().status for _ in range(50)] == [OK] * 50
        time.sleep(1)
        assert processor_seconds(server.process.pid) - before < 0.8, "the queue does not keep the server busy"
        for one in outside:
            one.close()
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (soft, hard))
        until(lambda: takes_another(server))
        assert metered.new("descriptors", 40) >= 40


def test_an_address_has_256_connections_and_one_more_is_closed_immediately(start_server: Callable[..., Server]) -> None:
    metered = Metered(start_server, handshake_millis=60_000)
    with contextlib.ExitStack() as held:
        inside = [held.enter_context(socket.create_connection(("127.0.0.1", metered.port), 20)) for _ in range(256)]
        inside[-1].settimeout(0.5)
        with pytest.raises(TimeoutError):
            inside[-1].recv(1)
        past = held.enter_context(socket.create_connection(("127.0.0.1", metered.port), 20))
        assert past.recv(1) == b""
        assert metered.new("connections_per_address") == 1
        with Connection(metered.port, source="127.0.0.2") as other:
            assert other.call().status == OK


@pytest.mark.parametrize("count, ends", [(32, False), (33, True)])
def test_renegotiation_is_refused_up_to_a_limit_and_then_ends_the_connection(
        hostile: Server, count: int, ends: bool) -> None:
    asker = Asker(hostile.port)
    asker.socket.sendall(asker.ask(count))
    assert closed_after(asker.socket, 20 if ends else 0.5) == ends
    asker.socket.close()


def test_renegotiation_requests_in_full_records_end_the_connection_as_well(hostile: Server) -> None:
    asker = Asker(hostile.port)
    asked = asker.ask(400_000, each_in_a_record=4_000)
    with contextlib.suppress(ConnectionError):
        asker.socket.sendall(asked)
    assert closed_after(asker.socket, 20)
    with settled(Connection(hostile.port)) as honest:
        assert honest.call().status == OK


@pytest.mark.parametrize("count, ends", [(32, False), (33, True)])
def test_key_updates_are_accepted_up_to_a_limit_and_one_more_ends_the_connection(
        hostile: Server, count: int, ends: bool) -> None:
    plain, ssl_ = connect(hostile.port)
    plain.sendall(key_updates(ssl_, count))
    assert closed_after(plain, 20 if ends else 0.5) == ends
    plain.close()


def untaken(server: Server, connection: Connection) -> int:
    """Bytes in the server's kernel for that connection."""
    port = connection.socket.getsockname()[1]
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, _, queues, *_ = line.split()
        if (int(local[-4:], 16), int(remote[-4:], 16)) == (server.port, port):
            return int(queues.split(":")[0], 16)
    raise AssertionError("the connection is gone")


def fill(server: Server, connection: Connection) -> None:
    """Calls until the socket accepts no more and little waits for it: the server still reads."""
    connection.write(window_update(0, 2**31 - 1 - 65535), settings((INITIAL_WINDOW_SIZE, 2**31 - 1)))
    stream, held = connection.stream(), [0]
    connection.write(connection.headers(stream, request(attacks.REFLECT)))
    while len(held) < 4 or len({*held[-3:]}) > 1:
        connection.write(frame(DATA, 0, stream, attacks.LIST_SERVICES) * 100)
        time.sleep(0.02)
        held.append(untaken(server, connection))


def test_bytes_after_a_fault_are_not_stored_while_the_socket_is_full(hostile: Server) -> None:
    with Connection(hostile.port, receive_buffer_bytes=4096) as connection:
        ended = connection.stream()
        connection.write(connection.headers(ended, request(), END_HEADERS | END_STREAM))
        fill(hostile, connection)
        before, used = memory(hostile), processor_seconds(hostile.process.pid)
        begun, sent = time.monotonic(), 0
        connection.write(frame(DATA, 0, ended, b"x"))
        connection.socket.settimeout(0.5)
        # Until the other side stops reading, which is immediately.
        with contextlib.suppress(OSError):
            while time.monotonic() < begun + 2:
                connection.socket.sendall(frame(DATA, 0, ended, b"x") * 1_000)
                sent += 10_000
        time.sleep(max(0, begun + 2 - time.monotonic()))
        assert memory(hostile) - before < 8 * MEBIBYTE, f"for {sent} bytes"
        assert processor_seconds(hostile.process.pid) - used < 1, "it neither reads nor wakes up without work"
