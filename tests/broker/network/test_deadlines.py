from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.network.deadlines import Deadlines
from tests.fakes.client import Client
from tests.fakes.network import frame, settle


def test_a_frame_is_late_when_the_next_one_does_not_come() -> None:
    deadlines = Deadlines(BrokerConfig(request_arrival_timeout_ms=100), 0)
    assert not deadlines.is_frame_late(0, 5, 10, False, False)
    assert not deadlines.is_frame_late(99, 5, 10, False, False)
    assert deadlines.is_frame_late(100, 5, 10, False, False)
    assert not deadlines.is_frame_late(100, 6, 10, False, False)
    assert not deadlines.is_frame_late(200, 6, 10, True, False)
    assert not deadlines.is_frame_late(299, 6, 10, False, False)
    assert deadlines.is_frame_late(300, 6, 10, False, False)


def test_a_frame_may_take_long_when_it_gets_on() -> None:
    deadlines = Deadlines(BrokerConfig(request_arrival_timeout_ms=10_000), 0)
    assert not deadlines.is_frame_late(0, 5, 0, False, False)
    for second in range(10, 600, 10):
        came = second * 1024
        assert not deadlines.is_frame_late(second * 1000, 5, came, False, False)
    assert not deadlines.is_frame_late(599_999, 5, 1 << 20, False, False)
    assert deadlines.is_frame_late(600_000, 5, came + 10_239, False, False)


def test_a_frame_may_not_take_long_while_memory_is_full() -> None:
    deadlines = Deadlines(BrokerConfig(request_arrival_timeout_ms=10_000), 0)
    assert not deadlines.is_frame_late(0, 5, 0, False, True)
    assert not deadlines.is_frame_late(9_999, 5, 1 << 20, False, True)
    assert not deadlines.is_frame_late(10_000, 5, 1 << 20, False, False)
    assert deadlines.is_frame_late(10_001, 5, 2 << 20, False, True)


def test_a_reader_has_to_read_at_a_rate_while_memory_is_short() -> None:
    deadlines = Deadlines(BrokerConfig(connection_unread_timeout_ms=10_000), 0)
    assert not deadlines.is_reader_stalled(0, 100_000, True)
    assert not deadlines.is_reader_stalled(5_000, 99_000, True)
    assert not deadlines.is_reader_stalled(10_000, 100_000 - 10_240, True)
    assert not deadlines.is_reader_stalled(15_000, 80_000, False), "not short"
    assert not deadlines.is_reader_stalled(24_000, 79_000, True)
    assert deadlines.is_reader_stalled(25_000, 79_000, True)


def test_a_reader_is_stalled_when_the_rest_does_not_shrink() -> None:
    deadlines = Deadlines(BrokerConfig(connection_unread_timeout_ms=100), 0)
    assert not deadlines.is_reader_stalled(0, 1000, False)
    assert not deadlines.is_reader_stalled(99, 1000, False)
    assert not deadlines.is_reader_stalled(150, 999, False)
    assert deadlines.is_reader_stalled(250, 999, False)
    deadlines.forget_unread()
    assert not deadlines.is_reader_stalled(300, 999, False)


def test_a_connection_is_idle_when_nothing_is_asked_or_under_way() -> None:
    deadlines = Deadlines(BrokerConfig(connections_max_idle_ms=100), 0)
    assert not deadlines.is_idle(50, 1, is_busy=False)
    assert not deadlines.is_idle(149, 1, is_busy=False)
    assert not deadlines.is_idle(150, 1, is_busy=True)
    assert not deadlines.is_idle(249, 1, is_busy=False)
    assert deadlines.is_idle(250, 1, is_busy=False)


def test_what_begins_anew_is_not_late() -> None:
    options = BrokerConfig(
        request_arrival_timeout_ms=100,
        connection_unread_timeout_ms=100,
        connections_max_idle_ms=100,
    )
    deadlines = Deadlines(options, 0)
    for now_ms, is_over in ((0, False), (1000, False), (1099, False), (1100, True)):
        if now_ms == 1000:
            deadlines.begin_anew(now_ms)
        assert deadlines.is_frame_late(now_ms, 5, 10, False, False) is is_over
        assert deadlines.is_reader_stalled(now_ms, 1000, False) is is_over
        assert deadlines.is_idle(now_ms, 0, is_busy=False) is is_over


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


async def test_half_a_frame_that_gets_on_is_waited_for() -> None:
    client = Client()
    data = frame("now:" + "x" * 1_000_000)
    for position in range(0, len(data), 28_000):  # a second's worth
        client.transport.feed(data[position : position + 28_000])
        client.pass_time(1000)
    assert client.answers == [str(len(data) - 4)]
    assert not client.transport.is_aborted


async def test_half_a_frame_that_gets_on_is_cut_when_others_lack_the_memory() -> None:
    client = Client(queued_max_request_bytes=1_000_000)
    for _ in range(29):
        client.transport.feed(frame("x" * 2_000_000)[:28_000])
        client.pass_time(1000)
    other = Client(client.listener)
    other.transport.feed(frame("now:" + "x" * 500_000)[:300_000])
    client.pass_time(2000)
    assert client.transport.is_aborted
    assert not other.transport.is_aborted
