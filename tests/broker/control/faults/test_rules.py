"""Rules that come and go: T345."""

import asyncio
from pathlib import Path

import pytest

from odradek.broker.operate.admin_socket import AdminError
from tests.fakes.faulty import faulty
from tests.fakes.network import settle
from tests.fakes.traced import commit, fetch, produce

PRODUCE = {"api": "Produce"}
ERROR = {"code": "NOT_LEADER_OR_FOLLOWER"}


async def test_nothing_is_in_the_way_without_a_rule_that_may_hit(
    tmp_path: Path,
) -> None:
    async with faulty(tmp_path) as broker:
        assert broker.is_untouched
        rule = broker.arm(match=PRODUCE, when={"times": 1}, error=ERROR)
        assert not broker.is_untouched
        late = broker.connect()
        late.feed(produce(0))
        await settle()
        assert broker.codes(late) == [{0: 6}]
        assert broker.is_untouched  # it is used up
        assert [each.rule_id for each in broker.rules] == [rule.rule_id]
        broker.rules.clear([rule])
        assert not list(broker.rules)


async def test_requests_of_other_apis_take_their_short_ways(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        rule = broker.arm(match={"api": "OffsetCommit"}, drop={})
        await broker.send(produce(0))
        await broker.send(produce(0))
        [connection] = broker.listener.connections
        assert any(connection.info.short_ways.by_api.values())
        assert rule.count == 0


async def test_rules_are_at_work_one_within_the_other(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        held = broker.arm(match=PRODUCE, hold={})
        refused = broker.arm(match=PRODUCE, error=ERROR)
        await broker.send(produce(0))
        assert (held.count, refused.count) == (1, 0)
        broker.rules.clear([held])
        await settle()
        assert broker.codes() == [{0: 6}]
        assert refused.count == 1


async def test_a_request_that_cannot_be_read_is_nobodys(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        rule = broker.arm(drop={})
        frame = produce(0)
        await broker.send(frame[:30] + bytes(len(frame) - 30))
        assert rule.count == 0
        assert broker.transport.is_closing()


async def test_armed_and_cleared_under_load_answers_keep_their_order(
    tmp_path: Path,
) -> None:
    """T345: by their correlation ids; each request has one."""
    async with faulty(tmp_path) as broker:
        actions = [
            {"delay": {"ms": 1}},
            {"delay": {"ms": 1, "at": "after"}},
            {"hold": {}},
            {"error": ERROR},
            {"error": {**ERROR, "applied": True}},
            {"dribble": {"bytes": 40, "ms": 1}},
        ]
        transport = broker.connect()
        for number in range(1000):
            rule = broker.arm(match=PRODUCE, **actions[number % len(actions)])
            transport.feed(produce(0).replace(bytes((0, 0, 0, 77)), ident(2 * number)))
            transport.feed(
                produce(1).replace(bytes((0, 0, 0, 77)), ident(2 * number + 1))
            )
            await asyncio.sleep(0)
            broker.rules.clear([rule])
            if number % 50 == 49:
                await broker.broker.clock.tick(10)
        for _ in range(20):
            await broker.broker.clock.tick(10)
        assert broker.is_untouched
        assert idents(bytes(transport.sent)) == list(range(2000))


def ident(number: int) -> bytes:
    return number.to_bytes(4, "big")


def idents(sent: bytes) -> list[int]:
    found, position = [], 0
    while position < len(sent):
        size = int.from_bytes(sent[position : position + 4], "big")
        found.append(int.from_bytes(sent[position + 4 : position + 8], "big"))
        position += 4 + size
    return found


async def test_who_waits_for_a_rule_is_told(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        rule = broker.arm(match={"group": "g"}, delay={"ms": 0})
        waiting = asyncio.ensure_future(rule.fired(2))
        await broker.send(commit() + fetch(0, 0))
        assert not waiting.done()
        await broker.broker.clock.tick()
        await broker.send(commit())
        await broker.broker.clock.tick()
        await waiting
        assert rule.as_item()["count"] == 2


async def test_a_rule_that_is_not_there_is_refused(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        with pytest.raises(AdminError, match="there is no rule 9; armed: none"):
            broker.rules.known(9)
        rule = broker.arm(drop={})
        assert broker.rules.known(rule.rule_id) is rule
