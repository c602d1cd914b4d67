import asyncio
from pathlib import Path
from typing import Any

from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.producer_ids import RANGE_BITS, ProducerIds
from odradek.broker.metadata.topics import Topics
from odradek.protocol.errors import CoordinatorNotAvailable


class FakeTopics:
    def __init__(self, block_size: int) -> None:
        self.block_size = block_size
        self.next_id = 0
        self.errors: list[Exception] = []

    async def allocate_producer_id_block(self) -> range:
        first = self.next_id
        self.next_id += self.block_size
        await asyncio.sleep(0)
        if self.errors:
            raise self.errors.pop()
        return range(first, first + self.block_size)


async def test_ids_come_in_order_and_blocks_when_needed() -> None:
    topics: Any = FakeTopics(3)
    ids = ProducerIds(topics)
    assert ids.next_or_none() is None
    assert [await ids.next() for _ in range(4)] == [0, 1, 2, 3]
    assert (ids.next_or_none(), topics.next_id) == (4, 6)


async def test_no_id_is_given_twice_to_many_who_wait() -> None:
    topics: Any = FakeTopics(2)
    ids = ProducerIds(topics)
    given = await asyncio.gather(*(ids.next() for _ in range(20)))
    assert len(set(given)) == 20


async def test_who_waits_waits_for_the_same_block() -> None:
    topics: Any = FakeTopics(100)
    ids = ProducerIds(topics)
    given = await asyncio.gather(*(ids.next() for _ in range(100)))
    assert sorted(given) == list(range(100))
    assert topics.next_id == 100, "one block for all"


async def test_all_who_wait_hear_that_there_is_none() -> None:
    topics: Any = FakeTopics(100)
    ids = ProducerIds(topics)
    topics.errors = [CoordinatorNotAvailable()]
    wanted = [ids.next() for _ in range(3)]
    heard = await asyncio.gather(*wanted, return_exceptions=True)
    assert [type(each) for each in heard] == [CoordinatorNotAvailable] * 3
    assert await ids.next() == 100


async def test_with_records_of_another_cluster_ids_come_from_a_range(
    tmp_path: Path,
) -> None:
    catalog = Catalog.open(tmp_path)
    try:
        ids = ProducerIds(Topics(catalog))
        first = await ids.next()
        own = await ids.begin_range()
        drawn = await ids.next()
        assert (drawn, own.before) == (own.begin, first + 1000)
        assert own.begin % (1 << RANGE_BITS) == 0
        assert first in own
        assert drawn in own
        assert own.before not in own
        assert own.begin - 1 not in own
        assert own.begin + (1 << RANGE_BITS) not in own
        assert "1" not in own
        assert await ids.begin_range() == own  # drawn once
        assert await ids.next() == drawn + 1
    finally:
        await catalog.close()
