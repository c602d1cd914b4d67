from broker.config.broker_config import BrokerConfig
from broker.network.deadlines import Deadlines
from tests.fakes.client import Client
from tests.fakes.network import frame, settle


def test_a_frame_is_late_when_the_next_one_does_not_come() -> None:
    deadlines = Deadlines(BrokerConfig(request_arrival_timeout_ms=100), 0)
    assert not deadlines.is_frame_late(0, 5, is_excused=False)
    assert not deadlines.is_frame_late(99, 5, is_excused=False)
    assert deadlines.is_frame_late(100, 5, is_excused=False)
    assert not deadlines.is_frame_late(100, 6, is_excused=False)
    assert not deadlines.is_frame_late(200, 6, is_excused=True)
    assert not deadlines.is_frame_late(299, 6, is_excused=False)
    assert deadlines.is_frame_late(300, 6, is_excused=False)


def test_a_reader_is_stalled_when_the_rest_does_not_shrink() -> None:
    deadlines = Deadlines(BrokerConfig(connection_unread_timeout_ms=100), 0)
    assert not deadlines.is_reader_stalled(0, 1000)
    assert not deadlines.is_reader_stalled(99, 1000)
    assert not deadlines.is_reader_stalled(150, 999)
    assert deadlines.is_reader_stalled(250, 999)
    deadlines.forget_unread()
    assert not deadlines.is_reader_stalled(300, 999)


def test_a_connection_is_idle_when_nothing_is_asked_or_under_way() -> None:
    deadlines = Deadlines(BrokerConfig(connections_max_idle_ms=100), 0)
    assert not deadlines.is_idle(50, 1, is_busy=False)
    assert not deadlines.is_idle(149, 1, is_busy=False)
    assert not deadlines.is_idle(150, 1, is_busy=True)
    assert not deadlines.is_idle(249, 1, is_busy=False)
    assert deadlines.is_idle(250, 1, is_busy=False)


async def test_a_reader_that_stalls_is_cut_off() -> None:
    client = Client(connection_unread_max_bytes=1000)
    client.transport.client_reads = False
    client.ask("big:2000")
    client.pass_time(59_000)
    client.transport.client_takes(1)
    client.pass_time(59_000)
    assert not client.transport.is_aborted, "it made progress"
    client.pass_time(3_000)
    assert client.transport.is_aborted
    await settle()
    assert not client.listener.connections
    assert "its answers are not read" in client.log[0]


async def test_half_a_frame_has_a_deadline() -> None:
    client = Client()
    client.transport.feed(frame("now:1")[:6])
    client.pass_time(29_000)
    assert not client.transport.is_aborted
    client.transport.feed(frame("now:1")[6:7])
    client.pass_time(3_000)
    assert client.transport.is_aborted, "a byte now and then is no excuse"
    assert "took too long to arrive" in client.log[0]


async def test_the_deadline_is_of_each_frame_alone() -> None:
    client = Client()
    data = frame("now:1")
    for _ in range(5):
        client.transport.feed(data[:6])
        client.pass_time(20_000)
        client.transport.feed(data[6:])
    assert client.answers == ["now:1"] * 5
    assert not client.transport.is_aborted


async def test_while_we_do_not_read_no_deadline_runs() -> None:
    client = Client()
    client.ask("wait:1")
    client.transport.feed(frame("now:2") + frame("now:3")[:3])
    assert not client.transport.is_reading_now
    client.pass_time(120_000)
    assert not client.transport.is_aborted
    await settle()
    client.dispatcher.resolve("wait:1")
    await settle()
    assert client.answers == ["wait:1", "now:2"]
    client.pass_time(32_000)
    assert client.transport.is_aborted


async def test_what_waits_for_memory_is_cut_at_its_deadline() -> None:
    client = Client(queued_max_request_bytes=10)
    other = Client(client.listener)
    for one in (client, other):
        one.transport.feed(frame("now:" + "x" * 80)[:60])
    client.pass_time(32_000)
    assert client.transport.is_aborted
    assert other.transport.is_aborted
    await settle()
    assert client.listener.network.memory.used == 0


async def test_an_idle_connection_is_closed() -> None:
    client = Client(connections_max_idle_ms=60_000)
    busy = Client(client.listener)
    parked = Client(client.listener)
    parked.ask("park:1")
    for _ in range(7):
        busy.ask("now:1")
        client.pass_time(10_000)
        await settle()
    assert client.transport.is_closing()
    assert not busy.transport.is_closing()
    assert not parked.transport.is_closing()
