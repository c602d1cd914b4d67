"""Answers that leave piece by piece."""

from pathlib import Path

from tests.fakes.faulty import faulty
from tests.fakes.network import settle
from tests.fakes.traced import produce

MATCH = {"api": "Produce", "partition": 1}


async def test_an_answer_dribbles_and_the_next_one_waits(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        await broker.send(produce(1))
        size = len(broker.transport.sent)
        other = broker.connect()
        broker.arm(match=MATCH, when={"times": 1}, dribble={"bytes": 10, "ms": 20})
        other.feed(produce(1) + produce(0))
        await settle()
        assert other.sent == b""
        for count in range(1, size // 10 + 1):
            await broker.broker.clock.tick(20)
            assert len(other.sent) == 10 * count
        await broker.broker.clock.tick(20)
        assert broker.codes(other) == [{1: 0}, {0: 0}]


async def test_a_bandwidth_is_so_many_bytes_a_second(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        broker.arm(match=MATCH, bandwidth={"bytes": 200})
        await broker.send(produce(1))
        await broker.broker.clock.tick(50)
        await broker.broker.clock.tick(50)
        assert len(broker.transport.sent) == 20
        await broker.broker.clock.tick(1000)
        assert broker.codes() == [{1: 0}]


async def test_a_slow_bandwidth_is_a_byte_now_and_then(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        broker.arm(match=MATCH, bandwidth={"bytes": 2})
        await broker.send(produce(1))
        await broker.broker.clock.tick(500)
        assert len(broker.transport.sent) == 1


async def test_a_client_that_has_gone_gets_nothing_more(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        broker.arm(match=MATCH, dribble={})
        await broker.send(produce(1))
        await broker.broker.clock.tick(10)
        broker.transport.lose()
        await broker.broker.clock.tick(10)
        assert len(broker.transport.sent) == 1
        assert broker.broker.clock.timer_count == 0
