import asyncio
import struct
from typing import Any

import pytest

from odradek.broker.requests.context import ConnectionInfo
from tests.fakes.client import Client
from tests.fakes.network import frame, settle


async def test_answers_leave_when_the_turn_of_the_loop_is_over() -> None:
    client, data = Client(), frame("now:1")
    for _ in range(2):
        client.connection.get_buffer(-1)[: len(data)] = data
        client.connection.buffer_updated(len(data))
    assert client.answers == []
    await asyncio.sleep(0)
    assert client.answers == ["now:1", "now:1"]
    assert client.transport.write_count == 1


async def test_requests_of_one_read_are_answered_in_one_write() -> None:
    client = Client()
    client.ask("now:1", "now:2", "none", "now:3")
    assert client.answers == ["now:1", "now:2", "now:3"]
    assert client.transport.write_count == 1


@pytest.mark.parametrize("size", range(1, 12))
async def test_frames_may_be_split_anywhere(size: int) -> None:
    client = Client()
    data = frame("now:1") + frame("now:22")
    for position in range(0, len(data), size):
        client.transport.feed(data[position : position + size])
    assert client.answers == ["now:1", "now:22"]


async def test_a_thousand_requests_at_once_are_answered_in_order() -> None:
    client = Client()
    texts = [f"now:{number}" for number in range(1000)]
    client.ask(*texts)
    assert client.answers == texts


async def test_a_parked_answer_keeps_its_place_and_the_next_request_starts() -> None:
    client = Client()
    client.ask("park:1", "now:2", "park:3", "now:4")
    assert client.dispatcher.started == ["park:1", "now:2", "park:3", "now:4"]
    assert client.answers == []
    client.dispatcher.resolve("park:3")
    await settle()
    assert client.answers == []
    client.dispatcher.resolve("park:1")
    await settle()
    assert client.answers == ["park:1", "now:2", "park:3", "now:4"]


async def test_nothing_starts_behind_a_coroutine_before_it_ends() -> None:
    client = Client()
    client.ask("wait:1", "now:2", "wait:3", "now:4")
    await settle()
    assert client.dispatcher.started == ["wait:1"]
    assert not client.transport.is_reading_now
    client.dispatcher.resolve("wait:1")
    await settle()
    assert client.answers == ["wait:1", "now:2"]
    assert client.dispatcher.started == ["wait:1", "now:2", "wait:3"]
    client.dispatcher.resolve("wait:3")
    await settle()
    assert client.answers == ["wait:1", "now:2", "wait:3", "now:4"]
    assert client.transport.is_reading_now
    assert client.listener.network.memory.used == 0


async def test_nothing_waits_for_an_answer_that_a_coroutine_has_parked() -> None:
    client = Client()
    client.ask("both:1", "now:2", "both:3", "now:4")
    await settle()
    assert client.dispatcher.started == ["both:1"]
    client.dispatcher.resolve("both:1")
    await settle()
    assert client.dispatcher.started == ["both:1", "now:2", "both:3"]
    client.dispatcher.resolve("both:3")
    await settle()
    assert client.dispatcher.started[-1] == "now:4"
    assert client.transport.is_reading_now
    assert client.answers == []
    client.dispatcher.resolve("both:1")
    await settle()
    assert client.answers == ["both:1", "now:2"]
    client.dispatcher.resolve("both:3")
    await settle()
    assert client.answers == ["both:1", "now:2", "both:3", "now:4"]
    assert client.listener.network.memory.used == 0


async def test_requests_that_come_during_a_coroutine_wait_in_order() -> None:
    client = Client()
    client.ask("wait:1")
    await settle()
    assert client.transport.is_reading_now
    client.ask("now:2", "now:3")
    assert not client.transport.is_reading_now
    assert client.listener.network.memory.used == len("wait:1now:2now:3")
    client.dispatcher.resolve("wait:1")
    await settle()
    assert client.answers == ["wait:1", "now:2", "now:3"]


async def test_other_connections_do_not_wait_for_a_coroutine() -> None:
    first = Client()
    second = Client(first.listener)
    first.ask("wait:1")
    second.ask("now:2")
    assert second.answers == ["now:2"]


async def test_too_many_parked_requests_stop_the_reading() -> None:
    client = Client(queued_max_requests=3)
    client.ask("park:1", "park:2")
    assert client.transport.is_reading_now
    client.ask("park:3", "now:4", "now:5")
    assert not client.transport.is_reading_now
    assert client.dispatcher.started == ["park:1", "park:2", "park:3"]
    client.dispatcher.resolve("park:1")
    await settle()
    assert client.transport.is_reading_now is False, "now:4 took the free place"
    assert client.dispatcher.started[3:] == ["now:4"]
    client.dispatcher.resolve("park:2")
    client.dispatcher.resolve("park:3")
    await settle()
    assert client.answers == ["park:1", "park:2", "park:3", "now:4", "now:5"]
    assert client.transport.is_reading_now


async def test_too_many_parked_bytes_stop_the_reading() -> None:
    client = Client(connection_parked_max_bytes=15)
    client.ask("park:1")
    client.ask("park:22")
    assert client.transport.is_reading_now
    client.ask("park:333")
    assert not client.transport.is_reading_now
    client.dispatcher.resolve("park:1")
    await settle()
    assert not client.transport.is_reading_now
    client.dispatcher.resolve("park:22")
    await settle()
    assert client.transport.is_reading_now


async def test_answers_that_wait_for_their_turn_are_limited_too() -> None:
    client = Client(connection_unread_max_bytes=1000)
    client.ask("park:1", "big:700", "big:700", "now:4")
    assert client.dispatcher.started == ["park:1", "big:700", "big:700"]
    assert not client.transport.is_reading_now
    client.dispatcher.resolve("park:1")
    await settle()
    assert client.answers == ["park:1", "700", "700", "now:4"]
    assert client.transport.is_reading_now


async def test_a_fetch_does_not_start_before_the_answers_in_front_of_it() -> None:
    client = Client()
    fetch = "\x00\x01fetch"
    client.ask(fetch, "park:2", fetch, "now:4")
    assert client.dispatcher.started == [fetch, "park:2"]
    client.dispatcher.resolve("park:2")
    await settle()
    assert client.answers == [fetch, "park:2", fetch, "now:4"]


async def test_a_client_that_does_not_read_is_not_served() -> None:
    client = Client(connection_unread_max_bytes=1000)
    client.transport.client_reads = False
    client.ask("big:600", "big:600")
    client.ask("now:3", "park:4")
    assert client.dispatcher.started == ["big:600", "big:600"]
    assert not client.transport.is_reading_now
    client.transport.client_takes()
    await settle()
    client.dispatcher.resolve("park:4")
    await settle()
    assert client.answers == ["600", "600", "now:3", "park:4"]
    assert client.transport.is_reading_now


async def test_an_answer_too_big_for_the_client_blocks_those_of_the_same_read() -> None:
    client = Client(connection_unread_max_bytes=1000)
    client.transport.client_reads = False
    client.ask("big:300000", "now:2")
    assert client.dispatcher.started == ["big:300000"]
    client.transport.client_takes()
    await settle()
    assert client.answers == ["300000", "now:2"]


@pytest.mark.parametrize(
    "data",
    [
        frame("bad"),
        struct.pack(">i", -1),
        struct.pack(">i", -(1 << 31)),
        struct.pack(">i", 0),
        struct.pack(">i", (1 << 20) + 1),
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
async def test_what_is_no_request_closes_this_connection_alone(data: bytes) -> None:
    client = Client(socket_request_max_bytes=1 << 20)
    other = Client(client.listener)
    client.ask("now:1")
    client.transport.feed(data)
    client.transport.feed(frame("now:2"))
    await settle()
    assert client.answers == ["now:1"]
    assert client.transport.is_closing()
    assert client.listener.connections == {other.connection}
    assert len(client.log) == 1
    other.ask("now:3")
    assert other.answers == ["now:3"]


async def test_what_was_answered_before_the_bad_request_is_sent() -> None:
    client = Client()
    client.ask("now:1", "bad", "now:3")
    await settle()
    assert client.answers == ["now:1"]
    assert client.dispatcher.started == ["now:1", "bad"]
    assert client.transport.is_closing()


async def test_a_bad_request_in_the_backlog_closes_too() -> None:
    client = Client()
    client.ask("wait:1", "bad", "now:3")
    await settle()
    client.dispatcher.resolve("wait:1")
    await settle()
    assert client.answers == ["wait:1"]
    assert client.transport.is_closing()
    assert not client.listener.connections


async def test_a_handler_may_close_behind_its_answer() -> None:
    client = Client()
    client.ask("now:1", "bye:2", "now:3")
    assert not client.transport.is_closing()
    await settle()
    assert client.answers == ["now:1", "bye:2"]
    assert client.transport.is_closing()


async def test_finish_waits_for_what_is_under_way() -> None:
    client = Client()
    client.ask("park:1", "wait:2", "now:3")
    await settle()
    client.connection.finish()
    await settle()
    assert not client.transport.is_closing()
    client.dispatcher.resolve("park:1")
    client.dispatcher.resolve("wait:2")
    await settle()
    assert client.answers == ["park:1", "wait:2"]
    assert client.transport.is_closing()


async def test_a_lost_connection_lets_its_handlers_end() -> None:
    client = Client()
    client.ask("park:1", "wait:2", "now:3")
    client.transport.feed(b"\0\0")
    await settle()
    client.transport.lose()
    client.dispatcher.resolve("park:1")
    client.dispatcher.resolve("wait:2")
    await settle()
    assert client.answers == []
    assert client.dispatcher.started == ["park:1", "wait:2"]
    assert not client.listener.connections
    assert client.listener.network.memory.used == 0
    assert client.listener.network.admission.count == 0


async def test_a_refused_connection_leaves_no_trace() -> None:
    client = Client(max_connections=1)
    refused = Client(client.listener)
    await settle()
    assert refused.transport.is_aborted
    assert client.listener.connections == {client.connection}
    assert "refused" in client.log[0]
    assert client.listener.network.log.hits == {"max.connections": 1}
    client.transport.lose()
    assert client.listener.network.admission.count == 0


async def test_when_memory_is_full_half_received_requests_take_turns() -> None:
    client = Client(queued_max_request_bytes=100)
    others = [Client(client.listener) for _ in range(3)]
    big = "now:" + "x" * 76
    for one in (client, *others):
        one.transport.feed(frame(big)[:60])
    reading = [one.transport.is_reading_now for one in (client, *others)]
    assert reading == [True, True, False, False], "the second took it past the limit"
    others[0].transport.feed(frame(big)[60:])
    assert others[0].answers == [big]
    assert [one.transport.is_reading_now for one in others] == [True, True, False]
    others[1].transport.feed(frame(big)[60:])
    others[2].transport.feed(frame(big)[60:])
    client.transport.feed(frame(big)[60:])
    for one in (client, *others):
        assert one.answers == [big]
        assert one.transport.is_reading_now
    assert client.listener.network.memory.used == 0


async def test_small_requests_are_served_while_memory_is_full() -> None:
    client = Client(queued_max_request_bytes=10)
    small = Client(client.listener)
    client.transport.feed(frame("now:" + "x" * 80)[:60])
    small.ask("now:1", "now:2")
    assert small.answers == ["now:1", "now:2"]
    assert small.transport.is_reading_now


async def test_a_frame_that_is_too_long_is_a_limit_that_was_reached() -> None:
    client = Client(socket_request_max_bytes=100)
    other = Client(client.listener)
    client.transport.feed(struct.pack(">i", 101))
    other.transport.feed(struct.pack(">i", -1))
    await settle()
    assert not client.listener.connections
    assert client.listener.network.log.hits == {"socket.request.max.bytes": 1}
    assert "frame of 101 bytes, limit 100" in client.log[0]


async def test_a_muted_connection_waits_and_then_goes_on() -> None:
    client = Client()
    client.ask("mute:500", "now:a")
    assert client.answers == ["mute:500"]
    assert not client.transport.is_reading_now
    await client.clock.tick(499)
    assert client.answers == ["mute:500"]
    await client.clock.tick(1)
    assert client.answers == ["mute:500", "now:a"]
    assert client.transport.is_reading_now


async def test_the_whole_buffer_of_half_a_request_counts() -> None:
    client = Client()
    memory = client.listener.network.memory
    client.transport.feed(frame("now:" + "x" * 5000)[:2000])
    assert memory.used == client.connection._reader.held > 2000
    client.transport.lose()
    assert memory.used == 0


async def test_claims_of_those_who_were_large_before_stay_within_the_memory() -> None:
    limit = 1 << 20
    clients = [Client(queued_max_request_bytes=limit)]
    clients += [Client(clients[0].listener) for _ in range(9)]
    large = frame("now:" + "x" * 150_000)
    for client in clients:
        client.transport.feed(large)
    for client in clients:
        client.transport.feed(large[:9])
    memory = clients[0].listener.network.memory
    assert memory.used == sum(each.connection._reader.held for each in clients)
    assert memory.used <= limit
    for client in clients:
        client.transport.feed(large[9:])
        assert len(client.answers) == 2
    assert memory.used == 0


async def test_requests_may_be_given_to_somebody_else() -> None:
    client = Client()
    (connection,) = client.listener.connections
    own, seen = client.dispatcher.dispatch, []

    def other(connection: ConnectionInfo, frame: memoryview) -> Any:
        seen.append(bytes(frame))
        return own(connection, frame)

    connection.dispatch_by(other, own)  # it never had them
    connection.dispatch_by(own, other)
    client.ask("now:1")
    connection.dispatch_by(other, own)
    client.ask("now:2")
    assert seen == [b"now:1"]
    assert client.answers == ["now:1", "now:2"]
