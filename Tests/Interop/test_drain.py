"""SIGTERM: health changes, two GOAWAYs follow, calls in flight finish, and a second SIGTERM ends immediately."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path
from typing import Callable, Iterator

import grpc
import pytest
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from hyperframe import frame as frames

from ports import free_port
from raw import (ACK, CHECK, DATA, END_STREAM, GOAWAY, INITIAL_WINDOW_SIZE, NO_ERROR, PING, PREFACE, WATCH, Connection,
                 frame, message, request, settings, window_update)
from server import Server, command, wait_until_listening, write_config
from test_response_rules import finish, hold, settled

OK = 0
LAST_STREAM = 2**31 - 1
SERVING, NOT_SERVING = message(b"\x08\x01"), message(b"\x08\x02")
CONNECTIONS, CALLS_EACH = 10, 100


@pytest.fixture
def draining(start_server: Callable[..., Server]) -> Iterator[Server]:
    """A server for one test, since the test ends it. Calls in flight may take as long as a slow machine needs."""
    yield start_server(request_millis=60_000)


def watch(connection: Connection) -> int:
    stream = connection.stream()
    connection.write(connection.headers(stream, request(WATCH)), frame(DATA, END_STREAM, stream, message()))
    assert connection.until(frames.DataFrame).data == SERVING
    return stream


def goaways(connection: Connection) -> list[frames.GoAwayFrame]:
    """The two GOAWAYs of a graceful end. Reading acknowledges the PING between them."""
    return [connection.until(frames.GoAwayFrame) for _ in range(2)]


def test_watchers_are_notified_before_the_first_goaway(draining: Server) -> None:
    with Connection(draining.port) as connection:
        stream = watch(connection)
        draining.signal()
        told = connection.until((frames.DataFrame, frames.GoAwayFrame))
        assert isinstance(told, frames.DataFrame) and (told.stream_id, told.data) == (stream, NOT_SERVING)
        assert isinstance(connection.until(frames.GoAwayFrame), frames.GoAwayFrame)


def test_A10_the_first_goaway_has_the_highest_id_and_the_second_the_true_one(draining: Server) -> None:
    with Connection(draining.port) as connection:
        held = hold(settled(connection), 3)
        draining.signal()
        first, second = goaways(connection)
        assert (first.error_code, first.last_stream_id) == (NO_ERROR, LAST_STREAM)
        assert (second.error_code, second.last_stream_id) == (NO_ERROR, held[-1])
        assert finish(connection, held) == [OK] * 3


@pytest.mark.peer_differs("grpcio cancels calls that it had not begun")
def test_a_call_sent_before_the_second_goaway_is_served(draining: Server) -> None:
    with Connection(draining.port, acknowledge=False) as connection:
        held = hold(settled(connection), 1)
        draining.signal()
        assert connection.until(frames.GoAwayFrame).last_stream_id == LAST_STREAM
        assert connection.call().status == OK, "the client could not have known"
        assert finish(connection, held) == [OK]


@pytest.mark.latchkey_only("the C core has another timeout")
def test_a_late_answer_to_a_keepalive_is_not_the_answer_to_the_first_goaway(draining: Server) -> None:
    with Connection(draining.port, acknowledge=False) as connection:
        held = hold(settled(connection), 1)
        draining.signal()
        ping = connection.until(frames.PingFrame)
        assert ping.opaque_data != bytes(8), "the data of a keepalive"
        connection.write(frame(PING, ACK, 0, bytes(8)))
        with pytest.raises(TimeoutError):
            connection.read(0.2)
        connection.write(frame(PING, ACK, 0, ping.opaque_data))
        assert connection.until(frames.GoAwayFrame).last_stream_id == held[-1]
        assert finish(connection, held) == [OK]


def test_a_call_sent_after_the_second_goaway_is_not_begun(draining: Server) -> None:
    with Connection(draining.port) as connection:
        held = hold(settled(connection), 1)
        draining.signal()
        goaways(connection)
        late = connection.stream()
        connection.write(connection.headers(late, request()), frame(DATA, END_STREAM, late, message()))
        with pytest.raises(TimeoutError):
            while (got := connection.read(0.3)) is not None:
                assert got.stream_id != late or isinstance(got, frames.RstStreamFrame)
        assert finish(connection, held) == [OK]


def test_the_process_ends_with_0_once_its_calls_are_finished(draining: Server) -> None:
    with Connection(draining.port) as connection, Connection(draining.port) as idle:
        held = hold(settled(connection), 1)
        settled(idle)
        draining.signal()
        goaways(connection)
        with pytest.raises(subprocess.TimeoutExpired):
            draining.wait(0.3)
        assert finish(connection, held) == [OK]
        goaways(idle)
        assert connection.until(frames.DataFrame) is None, "closed by the server"
        assert draining.wait(20) == 0


def test_an_idle_server_ends_immediately_with_0(draining: Server) -> None:
    with Connection(draining.port) as connection:
        settled(connection)
        draining.signal()
        assert [one.error_code for one in goaways(connection)] == [NO_ERROR] * 2
        assert draining.wait(20) == 0


def test_no_new_connection_is_accepted_while_calls_finish(draining: Server) -> None:
    with Connection(draining.port) as connection:
        held = hold(settled(connection), 1)
        draining.signal()
        goaways(connection)
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", draining.port), 20).close()
        assert finish(connection, held) == [OK]


def test_a_second_sigterm_ends_the_process_immediately(draining: Server) -> None:
    with Connection(draining.port) as connection:
        hold(settled(connection), 1)
        draining.signal()
        goaways(connection)
        draining.signal(signal.SIGTERM)
        draining.wait(20)
        assert connection.until(frames.HeadersFrame) is None


def test_a_call_that_does_not_end_is_cut_off_after_the_grace_time(start_server: Callable[..., Server]) -> None:
    server = start_server(drain_seconds=1, request_millis=60_000)
    with Connection(server.port) as connection, Connection(server.port) as untaken:
        hold(settled(connection), 1)
        untaken.write(settings((INITIAL_WINDOW_SIZE, 0)))
        untaken.write(untaken.headers(1, request()), frame(DATA, END_STREAM, 1, message()))
        assert untaken.until(frames.HeadersFrame)
        began = time.monotonic()
        server.signal()
        goaways(connection)
        assert connection.until(frames.HeadersFrame) is None, "closed, and the call never answered"
        assert 0.9 < time.monotonic() - began < 20
        assert server.wait(20) == 0


@pytest.mark.peer_differs("grpcio begins one call after another, and cancels those it has not begun", strict=False)
def test_a_thousand_calls_in_flight_all_finish(draining: Server) -> None:
    connections = [settled(Connection(draining.port)) for _ in range(CONNECTIONS)]
    held = [hold(connection, CALLS_EACH) for connection in connections]
    draining.signal()
    for connection, streams in zip(connections, held, strict=True):
        assert [one.last_stream_id for one in goaways(connection)] == [LAST_STREAM, streams[-1]]
    statuses = [status for pair in zip(connections, held, strict=True) for status in finish(*pair)]
    assert statuses == [OK] * CONNECTIONS * CALLS_EACH
    assert draining.wait(20) == 0


def test_streams_of_the_stock_client_continue_and_end_without_an_error(draining: Server) -> None:
    asyncio.run(asyncio.wait_for(talk_through_the_drain(draining), 60))


async def talk_through_the_drain(server: Server) -> None:
    """Bidirectional calls that begin before SIGTERM and continue after it, on several connections."""
    credentials = grpc.ssl_channel_credentials(server.authority)
    channels = [grpc.aio.secure_channel(server.address, credentials, [
        ("grpc.use_local_subchannel_pool", 1), ("latchkey.number", number)]) for number in range(5)]
    question = reflection_pb2.ServerReflectionRequest(list_services="*")
    calls = [reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo()
             for channel in channels for _ in range(10)]

    async def ask(call: grpc.aio.StreamStreamCall) -> None:
        await call.write(question)
        assert (await call.read()).list_services_response.service

    await asyncio.gather(*map(ask, calls))
    server.signal()
    await asyncio.sleep(0.3)
    await asyncio.gather(*map(ask, calls))
    await asyncio.gather(*[call.done_writing() for call in calls])
    assert [await call.code() for call in calls] == [grpc.StatusCode.OK] * len(calls)
    await asyncio.gather(*[channel.close() for channel in channels])


@pytest.mark.latchkey_only("the C core waits for every call")
def test_a_watcher_that_reads_nothing_does_not_delay_the_drain(draining: Server) -> None:
    with Connection(draining.port) as connection:
        connection.write(settings((INITIAL_WINDOW_SIZE, 0)), connection.headers(1, request(WATCH)),
                         frame(DATA, END_STREAM, 1, message()))
        assert connection.until(frames.HeadersFrame)
        draining.signal()
        assert draining.wait(20) == 0


@pytest.mark.latchkey_only("the C core waits for every call")
def test_a_watcher_whose_window_the_last_message_fills_does_not_delay_the_drain(draining: Server) -> None:
    with Connection(draining.port) as connection:
        connection.write(settings((INITIAL_WINDOW_SIZE, len(SERVING) + len(NOT_SERVING))))
        watch(connection)
        draining.signal()
        assert connection.until(frames.DataFrame).data == NOT_SERVING
        assert draining.wait(20) == 0


@pytest.mark.latchkey_only("the C core has another timeout")
def test_a_client_that_never_closes_its_connection_is_dropped_after_a_second(
        start_server: Callable[..., Server]) -> None:
    def kept() -> float:
        """The seconds from the end of the output, which arrives immediately, to the end of the connection."""
        server = start_server()
        with Connection(server.port) as connection:
            settled(connection)
            server.signal()
            goaways(connection)
            while connection.read() is not None:
                pass
            begun = time.monotonic()
            assert server.wait(20) == 0
            return time.monotonic() - begun

    # A busy machine can delay the client's reading.
    assert any(kept() > 0.5 for _ in range(5))


@pytest.mark.latchkey_only("the C core has another timeout")
def test_a_handshake_in_progress_at_the_signal_has_a_second_to_end(start_server: Callable[..., Server]) -> None:
    draining = start_server(handshake_millis=60_000)
    with socket.create_connection(("127.0.0.1", draining.port)) as silent:
        # The server reads this connection before the signal.
        with Connection(draining.port) as connection:
            settled(connection)
        begun = time.monotonic()
        draining.signal()
        silent.settimeout(20)
        assert silent.recv(1) == b""
        assert 0.7 < time.monotonic() - begun < 20
    assert draining.wait(20) == 0


def test_the_last_answers_reach_a_client_that_is_late_and_still_writes(draining: Server) -> None:
    # With such a small receive buffer, the server's kernel keeps most of the output until the client reads.
    with Connection(draining.port, receive_buffer_bytes=1024) as connection:
        held = hold(settled(connection), CALLS_EACH)
        draining.signal()
        goaways(connection)
        connection.write(*[frame(DATA, END_STREAM, stream, message()) for stream in held])
        time.sleep(0.3)
        connection.write(frame(PING, 0, 0, b"too late"))
        time.sleep(0.2)
        statuses = {}
        while (got := connection.read()) is not None:
            if got.stream_id in held and "END_STREAM" in got.flags:
                statuses[got.stream_id] = int(dict(got.fields)["grpc-status"])
        assert statuses == dict.fromkeys(held, OK)
    assert draining.wait(20) == 0


def test_the_last_answers_reach_a_client_that_sent_goaway_first_and_still_writes(draining: Server) -> None:
    with Connection(draining.port, receive_buffer_bytes=1024) as connection:
        held = hold(settled(connection), CALLS_EACH)
        connection.write(frame(GOAWAY, 0, 0, bytes(8)),
                         *[frame(DATA, END_STREAM, stream, message()) for stream in held])
        time.sleep(0.3)
        connection.write(frame(PING, 0, 0, b"too late"))
        time.sleep(0.2)
        statuses = {}
        while (got := connection.read()) is not None:
            if got.stream_id in held and "END_STREAM" in got.flags:
                statuses[got.stream_id] = int(dict(got.fields)["grpc-status"])
        assert statuses == dict.fromkeys(held, OK)


REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
# A request of 32 bytes, with an answer of about 10,400.
SYMBOL = b"\x22\x1alatchkey.v1.SessionService"


@pytest.mark.latchkey_only("the C core has limits of its own")
@pytest.mark.parametrize("asked", [1, 17, 19])
def test_the_last_answers_reach_a_slow_client_from_the_server_and_from_the_kernel(
        start_server: Callable[..., Server], asked: int) -> None:
    server = start_server(offences_per_address_max=1_000_000, reactors=1)
    with Connection(server.port, receive_buffer_bytes=2048,
                    preface=PREFACE + settings((INITIAL_WINDOW_SIZE, (1 << 31) - 1)) + window_update(0, 1 << 30),
                    ) as connection:
        streams = [connection.stream() for _ in range(15)]
        connection.write(*[connection.headers(stream, request(REFLECTION)) for stream in streams])
        assert connection.call().status == OK
        server.signal()
        goaways(connection)
        for stream in streams:
            connection.write(frame(DATA, END_STREAM, stream, message(SYMBOL) * asked))
            time.sleep(0.01)
        begun = time.monotonic()
        while time.monotonic() - begun < 1.7:
            connection.write(window_update(0, 1))
            time.sleep(0.1)
        ended = set()
        while (got := connection.read()) is not None:
            if isinstance(got, frames.HeadersFrame) and "END_STREAM" in got.flags:
                ended.add(got.stream_id)
        assert ended == set(streams)
    assert server.wait(20) == 0


@pytest.mark.latchkey_only("the C core cancels calls that it had not begun")
@pytest.mark.parametrize("refused, good", [(32, 20), (40, 20), (0, 100), (40, 0), (100, 0)])
def test_all_calls_up_to_the_last_id_in_one_read_are_answered(draining: Server, refused: int, good: int) -> None:
    with Connection(draining.port, acknowledge=False) as connection:
        settled(connection)
        streams = [connection.stream() for _ in range(refused + good)]
        paths = ["/nowhere.Service/Method"] * refused + [CHECK] * good
        calls = [connection.headers(stream, request(path)) + frame(DATA, END_STREAM, stream, message())
                 for stream, path in zip(streams, paths, strict=True)]
        draining.signal()
        ping = connection.until(frames.PingFrame)
        connection.write(*calls, frame(PING, ACK, 0, ping.opaque_data))
        ended = set()
        while (got := connection.read()) is not None:
            if isinstance(got, frames.HeadersFrame) and "END_STREAM" in got.flags:
                ended.add(got.stream_id)
        assert ended == set(streams)
    assert draining.wait(20) == 0


def take_nothing_any_more(connection: Connection) -> None:
    """As if the machine were gone: its kernel drops all input, and sends no answer (socket(7), SO_ATTACH_FILTER)."""
    drop_all = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
    program = struct.pack("HxxxxxxP", 1, ctypes.addressof(drop_all))
    connection.socket.setsockopt(socket.SOL_SOCKET, 26, program)


@pytest.mark.latchkey_only("the C core has another timeout")
def test_a_client_whose_machine_is_gone_does_not_delay_the_drain(draining: Server) -> None:
    with Connection(draining.port) as connection:
        settled(connection)
        take_nothing_any_more(connection)
        draining.signal()
        assert draining.wait(22) == 0


@pytest.mark.latchkey_only("the C core writes no log")
def test_an_unread_log_does_not_keep_the_process_running(folder: Path) -> None:
    unread, log = os.pipe()
    port = free_port()
    process = subprocess.Popen(command(folder, port, write_config(folder, port)), stderr=log)
    wait_until_listening(process, port, folder)
    os.set_blocking(log, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(log, bytes(4096))
    os.set_blocking(log, True)
    process.terminate()
    try:
        assert process.wait(20) == 0
    finally:
        process.kill()
        os.close(unread)
        os.close(log)


@pytest.mark.latchkey_only("the C core writes no log")
def test_a_closed_standard_error_is_replaced_by_dev_null(folder: Path) -> None:
    port = free_port()
    line = ["sh", "-c", 'exec "$0" "$@" 2>&-', *command(folder, port, write_config(folder, port))]
    process = subprocess.Popen(line)
    try:
        wait_until_listening(process, port, folder)
        assert os.readlink(f"/proc/{process.pid}/fd/2") == os.devnull
    finally:
        process.kill()
        process.wait()
