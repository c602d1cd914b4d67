"""Requests that are done later, or answered later: T337."""

from pathlib import Path

from tests.fakes.faulty import faulty
from tests.fakes.network import settle
from tests.fakes.traced import produce

MATCH = {"api": "Produce", "topic": "t", "partition": 1}


async def test_held_before_nothing_is_done_until_it_is_released(tmp_path: Path) -> None:
    """T337: others go on, those of the same connection wait."""
    async with faulty(tmp_path) as broker:
        rule = broker.arm(match=MATCH, hold={})
        await broker.send(produce(1) + produce(0))
        other = broker.connect()
        other.feed(produce(0))
        await settle()
        assert broker.codes() == []
        assert broker.codes(other) == [{0: 0}]
        assert rule.action.held == 1
        assert (broker.end_of(0), broker.end_of(1)) == (1, 0)
        assert broker.rules.release(rule, None) == 1
        await settle()
        assert broker.codes() == [{1: 0}, {0: 0}]
        assert broker.is_untouched


async def test_held_after_it_is_done_and_the_next_ones_too(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        rule = broker.arm(match=MATCH, hold={"at": "after"})
        await broker.send(produce(1) + produce(0))
        assert broker.codes() == []
        assert (broker.end_of(0), broker.end_of(1)) == (1, 1)
        broker.rules.clear([rule])
        await settle()
        assert broker.codes() == [{1: 0}, {0: 0}]


async def test_one_after_the_other_is_released(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        rule = broker.arm(match=MATCH, hold={"at": "after"})
        await broker.send(produce(1) * 3)
        assert broker.rules.release(rule, 2) == 2
        await settle()
        assert len(broker.codes()) == 2
        await broker.send(produce(1))  # the rule goes on
        assert rule.action.held == 2
        assert broker.rules.release(rule, None) == 2


async def test_a_delay_is_by_the_clock(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        before = broker.arm(match=MATCH, delay={"ms": 100})
        await broker.send(produce(1))
        assert broker.end_of(1) == 0
        await broker.broker.clock.tick(99)
        assert broker.end_of(1) == 0
        await broker.broker.clock.tick(1)
        assert (broker.end_of(1), broker.codes()) == (1, [{1: 0}])
        broker.rules.clear([before])
        broker.arm(match=MATCH, delay={"ms": 100, "jitter": 50, "at": "after"})
        await broker.send(produce(1))
        assert (broker.end_of(1), len(broker.codes())) == (2, 1)
        await broker.broker.clock.tick(150)
        assert len(broker.codes()) == 2


async def test_a_rule_that_is_cleared_holds_nothing(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        rule = broker.arm(match=MATCH, hold={})
        await broker.send(produce(1))
        broker.transport.lose()  # the client has gone meanwhile
        broker.rules.clear([rule])
        await settle()
        assert broker.end_of(1) == 1
